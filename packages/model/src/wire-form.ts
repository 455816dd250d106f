/**
 * Wire form: a request in the form that its provider takes, and the answer back in the form that was asked for.
 *
 * Owns: how typed output is asked for (a format, words, a tool that is called with the answer), tools as they are sent,
 * what is said in words beside them, refusing what no form can carry; reading a wrapped answer, and one given by the tool.
 * Does not own: the limits (provider-limits.ts), the schemas (schema-dialect.ts), the fold of parts (answer.ts).
 * Holds: what is recorded does not depend on the form: an answer given by the tool, or inside the wrapper, is a text.
 */
import { beginning, failure, FailureError, isObject, type Json, type JsonObject } from '@reeve/core'
import type { ModelRequest, ToolSpec } from './model.ts'
import { formFor, otherModelOrTool, providerToolProblems } from './provider-tools.ts'
import type { ProviderLimits } from './provider-limits.ts'
import { outputSchema, toolSchema, wrapperMember, type WrittenOutput } from './schema-dialect.ts'
import type { SpecCallOptions, SpecMessage, SpecPart } from './spec.ts'

/** What is sent of a request beside its messages. */
export interface WireForm {
  readonly tools: NonNullable<SpecCallOptions['tools']>
  readonly responseFormat: SpecCallOptions['responseFormat']
  /** Whether the format's schema is strict. Undefined: no schema is sent in a format. */
  readonly strict: boolean | undefined
  /** What the system message says besides. */
  readonly instructions: readonly string[]
  /** Reads the parts of one attempt. */
  reader(): PartReader
}

/** Turns the provider's parts into those of the answer that was asked for. */
export interface PartReader {
  read(part: SpecPart): readonly SpecPart[]
}

/** The tool that a model calls with its typed answer, where the provider takes no format beside tools. */
const answerTool = 'final_answer'

/** The form of a request. Throws a `FailureError` (`tool.invalid`) for what the provider would refuse in any form. */
export function wireForm(request: ModelRequest, limits: ProviderLimits, model: string): WireForm {
  const { tools, outputSchema: output, toolChoice } = request
  const instructions: string[] = []
  const isAlone = mustRun(tools, limits, model)
  const sent: NonNullable<SpecCallOptions['tools']> = tools.map((tool) => toolOf(tool, limits, instructions))
  if (output === undefined) {
    mustFit(sent.length, limits, model)
    return { tools: sent, responseFormat: undefined, strict: undefined, instructions, reader: () => asItIs }
  }
  const callable = tools.length > 0 && toolChoice !== 'none'
  // neither a format nor a tool for the answer goes with tools that exclude others
  const asked = isAlone ? 'none' : callable ? limits.outputBesideTools : limits.output
  const written = outputSchema(output, limits.dialect, asked === 'strict')
  const way = written.tooLarge && asked !== 'json' ? (callable && !isAlone ? 'answer-tool' : 'none') : asked
  if (way === 'answer-tool') {
    const name = freeName(tools)
    sent.push({
      type: 'function',
      name,
      description: `Give your final answer with this tool, once your work is done. ${answerRule(written)}`,
      inputSchema: written.schema,
    })
    instructions.push(
      `When your work is done, give your final answer by calling the tool "${name}", and call no other tool with it. ` +
        `If you cannot call it, answer with nothing but JSON that conforms to this JSON Schema: ${JSON.stringify(output)}`,
    )
    mustFit(sent.length, limits, model)
    return {
      tools: sent,
      responseFormat: undefined,
      strict: undefined,
      instructions,
      reader: () => new AnswerToolReader(name, written.wrapped),
    }
  }
  mustFit(sent.length, limits, model)
  const isWrapped = way !== 'none' && written.wrapped
  if (way === 'none' || way === 'json' || limits.tellsSchema)
    instructions.push(outputInstructions(output, written.schema, isWrapped))
  const hasSchema = way === 'schema' || way === 'strict'
  return {
    tools: sent,
    responseFormat:
      way === 'none' ? undefined : { type: 'json', ...(hasSchema && { schema: written.schema, name: 'output' }) },
    strict: hasSchema ? written.strict : undefined,
    instructions,
    reader: () => (isWrapped ? new WrapperReader() : asItIs),
  }
}

const answerRule = ({ wrapped }: WrittenOutput): string =>
  wrapped ? `The answer itself is its argument "${wrapperMember}".` : 'Its arguments are the answer.'

/** How a schema is told. Servers with a JSON mode want to read the word "JSON". */
const outputInstructions = (schema: JsonObject, wire: JsonObject, wrapped: boolean): string =>
  `Your final answer is one JSON value, with nothing before or after it and without a code fence. ` +
  `It conforms to this JSON Schema: ${JSON.stringify(wrapped ? wire : schema)}`

function mustFit(count: number, { tools: most }: ProviderLimits, model: string): void {
  const problem = toolCountProblem(count, most, `"${model}"`)
  if (problem === undefined) return
  throw new FailureError(
    failure('tool.invalid', problem, 'validation', { hint: fewerTools, details: { tools: count, max: most! } }),
    undefined,
    'nothing',
  )
}

/** Throws for a tool that its provider does not run. Returns whether the request has tools that exclude others. */
function mustRun(tools: readonly ToolSpec[], { providerTools }: ProviderLimits, model: string): boolean {
  const provided = tools.filter(({ provider }) => provider !== undefined)
  if (provided.length === 0) return false
  const [problem] = providerToolProblems(tools, [{ id: model, ...(providerTools !== undefined && { providerTools }) }])
  if (problem === undefined) return providerTools?.alone === true
  throw new FailureError(
    failure('model.unsupported', problem, 'validation', { hint: otherModelOrTool }),
    undefined,
    'nothing',
  )
}

/** What to do where there are too many tools. */
export const fewerTools =
  'Let the model find them: searchable(tools). Or divide them among workers; a worker with an input of its own is a tool as well.'

/** Why a provider refuses so many tools; undefined if it does not. */
export const toolCountProblem = (count: number, most: number | undefined, whose: string): string | undefined =>
  most === undefined || count <= most
    ? undefined
    : `${count} tools are offered, counting Reeve's own, and ${whose} takes at most ${most}`

const freeName = (tools: readonly ToolSpec[]): string => {
  let name = answerTool
  for (let i = 2; tools.some((tool) => tool.name === name); i++) name = `${answerTool}_${i}`
  return name
}

function toolOf(
  { name, description, parameters, provider }: ToolSpec,
  { description: most, dialect, providerTools }: ProviderLimits,
  instructions: string[],
): NonNullable<SpecCallOptions['tools']>[number] {
  const form = provider && formFor({ provider }, providerTools?.runs)
  if (form !== undefined) return { type: 'provider', id: form.id, name, args: form.args }
  const inputSchema = toolSchema(parameters, dialect)
  if (most === undefined || description.length <= most) return { type: 'function', name, description, inputSchema }
  instructions.push(`The whole description of the tool "${name}":\n${description}`)
  const head = beginning(description, most - continued.length)
  return { type: 'function', name, description: `${head}${continued}`, inputSchema }
}

/** Where a description goes on that is too long for its provider. */
const continued = ' […] (continued in the system message)'

/** A prompt whose system message also says these words. */
export function withInstructions(prompt: readonly SpecMessage[], instructions: readonly string[]): SpecMessage[] {
  if (instructions.length === 0) return [...prompt]
  const text = instructions.join('\n\n').toWellFormed()
  const [first, ...rest] = prompt
  if (first?.role === 'system') {
    const content = first.content.trim() === '' ? text : `${first.content}\n\n${text}`
    return [{ ...first, content }, ...rest]
  }
  return [{ role: 'system', content: text }, ...prompt]
}

const asItIs: PartReader = { read: (part) => [part] }

/** The parts of one text at once. */
function* textParts(id: string, text: string, ends: SpecPart): Generator<SpecPart> {
  if (text !== '') yield { type: 'text-delta', id, delta: text }
  yield ends
}

/** Takes texts out of their wrapper. A text is read when it has ended. */
class WrapperReader implements PartReader {
  readonly #texts = new Map<string, string>()

  read(part: SpecPart): readonly SpecPart[] {
    const id = String(part.id)
    switch (part.type) {
      case 'text-start':
        this.#texts.set(id, '')
        return [part]
      case 'text-delta': {
        const known = this.#texts.get(id)
        this.#texts.set(id, (known ?? '') + (typeof part.delta === 'string' ? part.delta : ''))
        return known === undefined ? [{ ...part, type: 'text-start' }] : []
      }
      case 'text-end':
        return this.#ended(id, part)
      case 'finish':
        return [...[...this.#texts.keys()].flatMap((open) => this.#ended(open, { type: 'text-end', id: open })), part]
      default:
        return [part]
    }
  }

  #ended(id: string, end: SpecPart): readonly SpecPart[] {
    const text = this.#texts.get(id)
    this.#texts.delete(id)
    return text === undefined ? [end] : [...textParts(id, unwrapped(text), end)]
  }
}

/**
 * The value of a wrapper, as it was written: numbers keep all their digits. A text that is no wrapper stays as it is, and
 * so do thoughts in front of it.
 */
export function unwrapped(text: string): string {
  const end = Math.max(text.lastIndexOf('</think>'), text.lastIndexOf('</thinking>'))
  const thought = end === -1 ? '' : text.slice(0, text.indexOf('>', end) + 1)
  const body = unfenced(text.slice(thought.length).trim())
  if (!body.startsWith('{') || !body.endsWith('}')) return text
  const name = `"${wrapperMember}"`
  const inside = body.slice(1, -1).trimStart()
  const rest = inside.startsWith(name) ? inside.slice(name.length).trimStart() : ''
  if (!rest.startsWith(':')) return text
  const inner = rest.slice(1).trim()
  try {
    // with other members beside it this would be no JSON
    JSON.parse(inner)
    return `${thought}${inner}`
  } catch {
    return text
  }
}

const fence = '```'

const unfenced = (text: string): string =>
  text.startsWith(fence) && text.endsWith(fence) && text.includes('\n')
    ? text.slice(text.indexOf('\n') + 1, -fence.length).trim()
    : text

/**
 * Makes a text of a call of the answer tool. Until the answer has ended nobody knows whether it is one: texts are held
 * back, and those beside the final answer are left out. A call beside other calls is early: those come first.
 */
class AnswerToolReader implements PartReader {
  readonly #name: string
  readonly #wrapped: boolean
  readonly #held: SpecPart[] = []
  readonly #answers: string[] = []
  readonly #inputs = new Set<string>()
  #calls = 0

  constructor(name: string, wrapped: boolean) {
    this.#name = name
    this.#wrapped = wrapped
  }

  read(part: SpecPart): readonly SpecPart[] {
    switch (part.type) {
      case 'tool-input-start':
        if (part.toolName !== this.#name) break
        this.#inputs.add(String(part.id))
        return []
      case 'tool-input-delta':
      case 'tool-input-end':
        if (this.#inputs.has(String(part.id))) return []
        break
      case 'tool-call':
        if (part.toolName === this.#name && part.providerExecuted !== true) {
          this.#answers.push(argumentsOf(part.input))
          return []
        }
        if (part.providerExecuted !== true) this.#calls++
        break
      case 'finish':
        return this.#finished(part)
      default:
    }
    if (this.#held.length === 0 && !part.type.startsWith('text-')) return [part]
    this.#held.push(part)
    return []
  }

  #finished(finish: SpecPart): readonly SpecPart[] {
    const held = this.#held.splice(0)
    if (this.#answers.length === 0) return [...held, finish]
    if (this.#calls > 0) return [...held, finish]
    const others = held.filter(({ type }) => !type.startsWith('text-'))
    const id = 'final-answer'
    // a proxy may repeat a call
    const text = [...new Set(this.#answers)].map((each) => (this.#wrapped ? unwrapped(each) : each)).join('\n')
    return [
      ...others,
      { type: 'text-start', id },
      ...textParts(id, text, { type: 'text-end', id }),
      { ...finish, finishReason: stopped(finish.finishReason) },
    ]
  }
}

const argumentsOf = (input: unknown): string =>
  typeof input !== 'string' ? JSON.stringify(input ?? {}) : input.trim() === '' ? '{}' : input

/** The answer was the only call, so the model has ended with it. */
function stopped(reason: unknown): unknown {
  if (reason === 'tool-calls') return 'stop'
  return isObject(reason) && reason['unified'] === 'tool-calls' ? { ...reason, unified: 'stop' as Json } : reason
}
