/**
 * Provider tools: tools that a provider runs inside the call of its model, such as its search of the web.
 *
 * Owns: which form of such a tool a model is sent, where a model has none, what a call of one costs, what is kept of what
 * it did. Does not own: the definition of a tool (agent/tool), the fold of an answer (answer.ts), what of an answer is
 * sent again (prompt.ts).
 * Holds: what a provider found is written once, among the opaque parts of the answer's reasoning. A summary is bounded.
 */
import {
  asText,
  cut,
  isObject,
  own,
  visibleLine,
  type Json,
  type JsonObject,
  type RanTool,
  type Source,
} from '@reeve/core'
import type { Model, ProviderToolForm, ToolSpec } from './model.ts'

/** The provider of a form: the first word of its id. */
export const providerOf = ({ id }: Pick<ProviderToolForm, 'id'>): string => id.slice(0, id.indexOf('.'))

/**
 * The tools of these providers by their ids without a date: those that read, and those that work in a room of the
 * provider's own. What acts outside (MCP servers of OpenAI's choice) has a gate of Reeve's instead. The package of OpenAI
 * leaves out a tool that it does not know without a word.
 */
const known: { readonly [provider: string]: ReadonlySet<string> } = {
  anthropic: new Set('web_search web_fetch code_execution'.split(' ')),
  openai: new Set('web_search web_search_preview file_search code_interpreter'.split(' ')),
  google: new Set(
    'google_search enterprise_web_search url_context code_execution file_search google_maps vertex_rag_store'.split(
      ' ',
    ),
  ),
}

const dated = /_\d{8}$/
const isKnown = (form: ProviderToolForm): boolean =>
  own(known, providerOf(form))?.has(form.id.slice(providerOf(form).length + 1).replace(dated, '')) ?? true

/** The form of a tool that a model's provider has; undefined if it has none. */
export const formFor = (
  { provider = [] }: Pick<ToolSpec, 'provider'>,
  runs: readonly string[] = [],
): ProviderToolForm | undefined => provider.find((form) => runs.includes(providerOf(form)) && isKnown(form))

/**
 * Why a model cannot be sent these tools, one sentence each. `models`: those of a chain, else the one. `count`: of all
 * tools, Reeve's own included.
 */
export function providerToolProblems(
  tools: readonly ToolSpec[],
  models: readonly Pick<Model, 'id' | 'providerTools'>[],
  count = tools.length,
): readonly string[] {
  const provided = tools.filter(({ provider }) => provider !== undefined)
  if (provided.length === 0) return []
  return models.flatMap(({ id, providerTools }) => [
    ...provided.flatMap((spec) => {
      if (formFor(spec, providerTools?.runs) !== undefined) return []
      return [`the provider of "${id}" does not run the tool "${spec.name}" (${idsOf(spec)})`]
    }),
    ...(providerTools?.alone === true && provided.length < count ? [aloneProblem(id, provided)] : []),
  ])
}

/** What to do where a provider does not run a tool. */
export const otherModelOrTool =
  'Use a model of that provider through its own API, give the tool a form for each provider of the chain, give it to a worker whose model takes it, or use a tool with an execute of your own.'

/** Why tools of a provider and others are not sent in one request. */
const aloneProblem = (model: string, [first]: readonly ToolSpec[]): string =>
  `"${model}" takes "${first!.name}", a tool that its provider runs, only without other tools: it would be sent no other one`

const idsOf = ({ provider = [] }: ToolSpec): string => provider.map(({ id }) => id).join(', ')

/**
 * List prices of a call, in US dollars, by the id without its date. Calls that are charged in another way (a container by
 * the hour or the session, a search by the query) have no price here.
 *
 * - Anthropic: 10 dollars for 1,000 searches; fetching costs the tokens alone
 *   (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool#usage-and-pricing,
 *   https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-fetch-tool#usage-and-pricing).
 * - OpenAI: 10 dollars for 1,000 searches (https://developers.openai.com/api/docs/pricing, "Built-in tools").
 */
const listedUsd: { readonly [id: string]: number } = {
  'anthropic.web_search': 0.01,
  'anthropic.web_fetch': 0,
  'openai.web_search': 0.01,
}

/** What one call costs in US dollars; undefined if that is not known. */
export const callPriceOf = ({ id, costUsd }: Pick<ProviderToolForm, 'id' | 'costUsd'>): number | undefined =>
  costUsd ?? own(listedUsd, id.replace(dated, ''))

/** The tools among these whose calls have no known price for a model. */
export const unpricedTools = (
  tools: readonly ToolSpec[],
  { providerTools }: Pick<Model, 'providerTools'>,
): readonly string[] =>
  tools.flatMap((spec) => {
    const form = formFor(spec, providerTools?.runs)
    return form !== undefined && callPriceOf(form) === undefined ? [spec.name] : []
  })

/** What is set aside for a tool that does not say how often it may be used in a call of its model. */
const usualUses = 5

/** What to set aside for a call of a model that may use these tools, in US dollars. */
export function feesAhead(tools: readonly ToolSpec[], { providerTools }: Pick<Model, 'providerTools'>): number {
  let usd = 0
  for (const spec of tools) {
    const form = formFor(spec, providerTools?.runs)
    if (form === undefined) continue
    const { maxUses } = form.args
    usd += (callPriceOf(form) ?? 0) * (typeof maxUses === 'number' ? maxUses : usualUses)
  }
  return usd
}

/**
 * What the calls that a provider made cost, in US dollars; undefined if the price of one is not known. A tool that was
 * not offered by this name (a provider may name its own steps) costs what the only offered one does.
 */
export function feesOf(
  ran: readonly Pick<RanTool, 'tool'>[] | undefined,
  tools: readonly ToolSpec[],
  { providerTools }: Pick<Model, 'providerTools'>,
): number | undefined {
  const offered = tools.flatMap((spec) => {
    const form = formFor(spec, providerTools?.runs)
    return form === undefined ? [] : [{ name: spec.name, form }]
  })
  let usd = 0
  for (const { tool } of ran ?? []) {
    const of = offered.find(({ name }) => name === tool) ?? (offered.length === 1 ? offered[0] : undefined)
    const price = of && callPriceOf(of.form)
    if (price === undefined) return undefined
    usd += price
  }
  return usd
}

/**
 * Why a provider's package has left out a tool that it was to send, from the warnings of its answer; undefined if it has
 * left out none. The model would answer without it, and nobody would know.
 */
export function droppedTool(warnings: unknown): string | undefined {
  for (const warning of Array.isArray(warnings) ? (warnings as readonly unknown[]) : []) {
    if (!isObject(warning)) continue
    const { type, feature, details } = warning
    if (type === 'unsupported-tool') {
      const { tool } = warning
      if (isObject(tool) && tool['type'] === 'provider-defined') return `the tool ${asText(tool['id'] ?? '')}`
    } else if (type === 'unsupported' && typeof feature === 'string' && /provider-defined tool/.test(feature))
      return typeof details === 'string' ? `${feature}: ${details}` : feature
  }
  return undefined
}

/** How much is kept of what a tool was called with, and of what it said, in characters. */
const keptInput = 1_000
const keptSummary = 300
/** How many calls, and how many sources, are kept of one answer. */
export const mostRan = 100
const mostSources = 100
const longestUrl = 2_000
const longestTitle = 300

/** Input of a call of a provider: as it is, or the head of its text. */
export function keptInputOf(input: Json): Json {
  const text = asText(input)
  return text.length <= keptInput ? input : cut(text, keptInput)
}

/**
 * What Google searched for. Its searches are no calls: only the metadata of the answer tells of them
 * (https://ai.google.dev/gemini-api/docs/google-search#understanding_the_grounding_response).
 */
export function googleQueries(metadata: unknown): readonly string[] {
  const said = isObject(metadata) ? Object.values(metadata) : []
  return said.flatMap((of) => {
    const grounding = isObject(of) ? own(of, 'groundingMetadata') : undefined
    const queries = isObject(grounding) ? own(grounding, 'webSearchQueries') : undefined
    return Array.isArray(queries) ? queries.filter((each) => typeof each === 'string').slice(0, mostRan) : []
  })
}

/** One line on what a call brought: the code of an error, the number of results, or the head of the text. */
export function summaryOf(result: unknown): string | undefined {
  if (Array.isArray(result)) return countOf(result)
  if (typeof result === 'string') return lineOf(result)
  return isObject(result)
    ? (lineIn(result) ?? (isObject(result['action']) ? lineIn(result['action']) : undefined))
    : undefined
}

function lineIn(result: JsonObject): string | undefined {
  for (const member of ['errorCode', 'error', 'stderr', 'stdout', 'output', 'url', 'query', 'status'])
    if (typeof result[member] === 'string' && result[member].trim() !== '') return lineOf(result[member])
  for (const member of ['results', 'outputs', 'sources'])
    if (Array.isArray(result[member])) return countOf(result[member])
  return undefined
}

const countOf = ({ length }: readonly unknown[]): string => `${length} ${length === 1 ? 'result' : 'results'}`

const lineOf = (text: string): string => visibleLine(cut(text, keptSummary))

/** A source as a provider names it; undefined if it names none that can be shown. */
export function sourceOf(part: {
  readonly url?: unknown
  readonly title?: unknown
  readonly filename?: unknown
}): Source | undefined {
  const title = textOf(part.title)
  const said = title === undefined ? {} : { title }
  const url = urlOf(part.url)
  if (url !== undefined) return { url, ...said }
  // an address that is not one of the web is no place to send people to
  if (part.url !== undefined) return undefined
  const filename = textOf(part.filename)
  return title === undefined && filename === undefined ? undefined : { ...said, ...(filename && { filename }) }
}

function textOf(given: unknown): string | undefined {
  const text = typeof given === 'string' ? visibleLine(cut(given, longestTitle)) : ''
  return text === '' ? undefined : text
}

/** An http(s) address without a name and password; undefined for any other. */
function urlOf(given: unknown): string | undefined {
  if (typeof given !== 'string' || given.length > longestUrl || !URL.canParse(given)) return undefined
  const url = new URL(given)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  url.username = ''
  url.password = ''
  return url.href
}

/** The sources that a later part does not repeat. */
export function withSource(all: readonly Source[], next: Source | undefined): readonly Source[] {
  if (next === undefined || all.length >= mostSources) return all
  const known = all.some(({ url, title, filename }) =>
    next.url === undefined ? url === undefined && title === next.title && filename === next.filename : url === next.url,
  )
  return known ? all : [...all, next]
}

/** What makes two requests different of a tool that a provider runs: not its price. */
export const contentOfTool = (spec: ToolSpec): JsonObject | ToolSpec =>
  spec.provider === undefined
    ? spec
    : { name: spec.name, provider: spec.provider.map(({ id, args }) => ({ id, args })) }
