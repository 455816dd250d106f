/**
 * Provider tool: the definition of a tool that a provider runs inside the call of its model, such as its search of the
 * web.
 *
 * Owns: the two constructors, the adoption of the AI SDK's objects, their checks. Does not own: which form a model is
 * sent and what a call costs (../../model/provider-tools.ts), when such a tool is not offered (../loop/offered-tools.ts).
 * Holds: it is data. Nothing of it runs here, so nobody can be asked about a call of it.
 */
import {
  described,
  expects,
  isObject,
  jsonProblem,
  mustBeOptions,
  nameCheck,
  number,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  required,
  type Check,
  type Checks,
  type Json,
  type JsonObject,
  type Rule,
} from '@reeve/core'
import { compileSchema, type Schema } from '@reeve/edge'
import type { ProviderToolForm, ToolSpec } from '@reeve/model'
import { versionOf } from '../definition.ts'

/** The work of a tool that a provider runs. */
export interface ProviderWork {
  readonly kind: 'provider'
}

/** A tool that a provider runs: a `Tool` of which nothing runs here. Immutable; any number of agents may use it. */
export interface ProviderTool<Name extends string = string> {
  readonly kind: 'tool'
  readonly name: Name
  readonly version: string
  readonly spec: ToolSpec
  readonly input: Schema
  readonly sensitive: false
  readonly approval: undefined
  readonly work: ProviderWork
  readonly action: undefined
  readonly repeatable: true
}

/** A tool of one provider, by its id. */
export interface ProviderToolOptions<Name extends string = string> {
  /**
   * `provider.tool`, as the AI SDK names it: `anthropic.web_search_20250305`, `openai.code_interpreter`,
   * `google.google_search`.
   */
  readonly id: string
  /** Default: the part of the id after the provider, without a date. */
  readonly name?: Name
  /** What the provider is told of it, in the AI SDK's words: `{ maxUses: 5 }`. JSON. Default: nothing. */
  readonly args?: JsonObject
  /**
   * What one call costs, in US dollars. Default: the list price, where the provider lists one by the call; else unknown,
   * and a limit in US dollars refuses it. `0` for a tool that costs its tokens alone.
   */
  readonly costUsd?: number
}

/** The search of the web that the provider of the agent's model has. */
export interface WebSearchOptions<Name extends string = string> {
  /** Default `web_search`. */
  readonly name?: Name
  /** The most searches in one call of the model. Anthropic keeps it; others have no such limit. Default: none. */
  readonly maxUses?: number
  /**
   * The only domains that are searched, without `https://`. Google has no such list, so its models are refused with it.
   * Default: all.
   */
  readonly allowedDomains?: readonly string[]
  /** What one search costs, in US dollars. Default: the list price of Anthropic and OpenAI; unknown for Google. */
  readonly costUsd?: number
}

const costCheck = number((given) => Number.isFinite(given) && given >= 0, 'US dollars, not below 0')
const nobodyCanBeAsked: Check = expects(
  (given) => given === undefined || given === false,
  'nothing: the provider runs the tool inside the call of the model, where nobody can be asked',
)
/** Options of other tools that would promise what no provider keeps. */
const unkept = { approval: nobodyCanBeAsked, sensitive: nobodyCanBeAsked }
type Unkept = { readonly [Option in keyof typeof unkept]?: unknown }

const idForm = /^[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*$/
const idCheck = expects(
  (given) => typeof given === 'string' && idForm.test(given) && given.length <= 100,
  'provider.tool, such as "anthropic.web_search_20250305"',
)
const argsCheck: Check = (given, where) => {
  const problem = isObject(given)
    ? jsonProblem(given, where)
    : `${where} is ${described(given)}, expected an object of JSON`
  return problem === undefined ? [] : [problem]
}

const providerToolChecks: Checks<ProviderToolOptions & Unkept> = {
  id: required(idCheck),
  name: nameCheck,
  args: argsCheck,
  costUsd: costCheck,
  ...unkept,
}

const webSearchChecks: Checks<WebSearchOptions & Unkept> = {
  name: nameCheck,
  maxUses: number((given) => Number.isInteger(given) && given > 0, 'a whole number above 0'),
  allowedDomains: expects(
    (given) => Array.isArray(given) && given.length > 0 && given.every((each) => typeof each === 'string'),
    'a list of domains',
  ),
  costUsd: costCheck,
  ...unkept,
}

/** Tools that a provider defines and the caller runs: no provider runs them. */
const runByCaller =
  /^(?:anthropic\.(?:bash|computer|text_editor|memory|computer_toolset)|openai\.(?:local_shell|shell|apply_patch|computer|custom))(?:_\w+)?$/

const callerRule: Rule<ProviderToolOptions & Unkept> = ({ id }, where) => [
  typeof id === 'string' &&
    runByCaller.test(id) &&
    `${where}: the provider defines "${id}" and does not run it; give a tool with an execute of your own`,
]

/**
 * A tool that the provider of a model runs inside the call of the model. Throws `tool.invalid`. An agent whose model's
 * provider does not have it is refused when it is made.
 */
export function providerTool<const Name extends string = string>(options: ProviderToolOptions<Name>): ProviderTool<Name>
export function providerTool(options: ProviderToolOptions & Unkept): ProviderTool {
  mustBeOptions(options, 'provider tool', 'tool.invalid')
  const where = `provider tool "${String(options.name ?? options.id)}"`
  refuseProblems('tool.invalid', optionProblems(providerToolChecks, options, where, { rule: callerRule }))
  const { id, name = usualName(id), args = {}, costUsd } = options
  return toolOfForms(name, [{ id, args, ...present({ costUsd }) }])
}

/**
 * The search of the web that the provider of the agent's model runs: Anthropic, OpenAI (not over chat completions) or
 * Google. Each model of a chain uses that of its own. Throws `tool.invalid`.
 */
export function webSearch<const Name extends string = 'web_search'>(
  options?: WebSearchOptions<Name>,
): ProviderTool<Name>
export function webSearch(options: WebSearchOptions & Unkept = {}): ProviderTool {
  mustBeOptions(options, 'webSearch', 'tool.invalid')
  refuseProblems('tool.invalid', optionProblems(webSearchChecks, options, 'webSearch', { rule: noRule }))
  const { name = 'web_search', maxUses, allowedDomains, costUsd } = options
  const price = present({ costUsd })
  const domains = allowedDomains === undefined ? undefined : { allowedDomains: [...allowedDomains] }
  return toolOfForms(name, [
    { id: 'anthropic.web_search_20250305', args: { ...present({ maxUses }), ...domains }, ...price },
    { id: 'openai.web_search', args: domains === undefined ? {} : { filters: domains }, ...price },
    ...(domains === undefined ? [{ id: 'google.google_search', args: {}, ...price }] : []),
  ])
}

const noRule: Rule<object> = () => []

/** `anthropic.web_search_20250305` is called `web_search`. */
const usualName = (id: string): string => id.slice(id.indexOf('.') + 1).replace(/_\d{8}$/, '')

const anything = { type: 'object', properties: {} } as const

function toolOfForms(name: string, provider: readonly ProviderToolForm[]): ProviderTool {
  return {
    kind: 'tool',
    name,
    version: versionOf(undefined, { provider: provider as unknown as Json }),
    spec: { name, description: `Runs at the provider of the model.`, parameters: anything, provider },
    input: compileSchema(anything, `tool "${name}"`),
    sensitive: false,
    approval: undefined,
    work: { kind: 'provider' },
    action: undefined,
    repeatable: true,
  }
}

/** A tool of a provider as the AI SDK makes it: `anthropic.tools.webSearch_20250305({ maxUses: 5 })`. */
interface AiSdkProviderTool {
  readonly type: 'provider' | 'provider-defined'
  readonly id: unknown
  readonly args: unknown
  readonly isProviderExecuted?: unknown
}

/** Whether an object is a tool of a provider, of any version of the AI SDK. */
export const isAiSdkProviderTool = (given: object): given is AiSdkProviderTool =>
  'type' in given && (given.type === 'provider' || given.type === 'provider-defined')

/** Adopts a tool of a provider. `costUsd` may be added to it. Throws `tool.invalid`. */
export function fromAiSdkProviderTool(
  name: string,
  given: AiSdkProviderTool & { readonly costUsd?: unknown },
): ProviderTool {
  const { id, isProviderExecuted, costUsd } = given
  if (isProviderExecuted === false || typeof id !== 'string')
    throw new ReeveError(
      'tool.invalid',
      `tool "${name}" is a tool of a provider that the provider does not run: ${described(id)}`,
      { hint: 'Give a tool with an inputSchema and an execute of your own.' },
    )
  const args = isObject(given.args) ? withoutUndefined(given.args) : {}
  const { approval, sensitive, needsApproval } = given as Unkept & { readonly needsApproval?: unknown }
  const asked = approval ?? needsApproval
  return providerTool({
    name,
    id,
    args,
    ...(costUsd === undefined ? undefined : { costUsd: costUsd as number }),
    ...(asked === undefined ? undefined : { approval: asked }),
    ...present({ sensitive }),
  })
}

const withoutUndefined = (args: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => (value as unknown) !== undefined))
