/**
 * Answer: the one fold from a provider's parts to a `ModelAnswer`. Streams and finished results go through it; a stream
 * is the same fold with a sink.
 *
 * Owns: the commit rule: an answer exists only if a `finish` part arrived, and no error part. What a
 * provider emitted before it was cut off, a tool call with half its arguments above all, is never an answer.
 * Does not own: reading the provider (language-model.ts), why it stopped (finish.ts), classing its errors (faults.ts), the answers of rules, which are
 * whole (function-model.ts).
 */
import {
  cut,
  FailureError,
  readJson,
  isObject,
  jsonProblem,
  visibleLine,
  type CallUsage,
  type Draft,
  type FilePart,
  type Json,
  type JsonObject,
  type ModelPart,
  type RanTool,
  type Reasoning,
  type ReasoningPart,
  type Source,
  type ToolCall,
} from '@reeve/core'
import { asksTheSame, madeId } from './call-ids.ts'
import { cutOff } from './faults.ts'
import { fileOf } from './files.ts'
import { jsonObject } from './messages.ts'
import { readFinish, type AnswerFinish } from './finish.ts'
import type { ModelAnswer } from './model.ts'
import type { BilledUsage } from './price.ts'
import { googleQueries, keptInputOf, mostRan, sourceOf, summaryOf, withSource } from './provider-tools.ts'
import type { SpecGenerateResult, SpecPart, SpecVersion } from './spec.ts'
import { orphanThoughts, ThoughtSplitter, type TextPiece } from './thoughts.ts'
import { readUsage } from './usage.ts'

/** What the fold must know beside the parts. */
export interface FoldContext {
  /** The id of the model that was asked. */
  readonly model: string
  /** Whose reasoning it is (`Reasoning.model`). */
  readonly identity: string
  /** Makes ids for calls that came without one, the same in every attempt. */
  readonly key: string
  readonly version: SpecVersion
  /** Whether the parts come from a stream, which may end early, or from a finished result. */
  readonly streamed: boolean
  readonly emit: ((part: ModelPart) => void) | undefined
  /** What tokens, and calls of tools that the provider ran, cost in US dollars. */
  readonly cost: (usage: BilledUsage, ran: readonly RanTool[]) => number | undefined
}

interface TextBlock {
  readonly type: 'text' | 'reasoning'
  readonly id: string
  text: string
  metadata: JsonObject | undefined
  /** Its beginning was sent to the sink. */
  begun: boolean
  /** A thought that the text held. */
  readonly inText?: true
}

type Block = TextBlock | Extract<ReasoningPart, { type: 'call' | 'file' | 'opaque' }>

/** Whether a block says more than the text, the files and the calls of the answer do. */
const saysMore = (block: Block): boolean =>
  block.type === 'reasoning' || block.type === 'opaque' || (block.type !== 'file' && block.metadata !== undefined)

/** Whether a file stands before a text or behind a call, where the plain form of a message would not put it. */
function hasStrayFile(blocks: readonly Block[]): boolean {
  const first = blocks.findIndex((block) => block.type === 'file')
  if (first === -1) return false
  const last = blocks.findLastIndex((block) => block.type === 'file')
  return blocks.some((block, i) =>
    block.type === 'call' ? i < last : block.type === 'text' && block.text !== '' && i > first,
  )
}

const isText = (block: Block): block is TextBlock => block.type === 'text' || block.type === 'reasoning'

/** Folds parts into an answer. */
export class AnswerFold {
  readonly #context: FoldContext
  readonly #blocks: Block[] = []
  readonly #open = new Map<string, TextBlock>()
  readonly #thoughts = new ThoughtSplitter()
  /** The thought in the text that is being told. */
  #thought: TextBlock | undefined
  readonly #calls = new Map<string, ToolCall>()
  /** By the id that the provider gave. */
  readonly #given = new Map<string, readonly ToolCall[]>()
  readonly #files: FilePart[] = []
  /** By the provider's ids of calls. */
  readonly #ran = new Map<string, Draft<RanTool>>()
  /** Inputs that are being written of calls that the provider runs: nobody waits for a result of them. */
  readonly #running = new Set<string>()
  #sources: readonly Source[] = []
  #emit: ((part: ModelPart) => void) | undefined
  #finish: SpecPart | undefined
  #response: SpecPart | undefined
  #warnings: readonly string[] = []

  constructor(context: FoldContext) {
    this.#context = context
    this.#emit = context.emit
  }

  /** The id of the model that was asked. */
  get model(): string {
    return this.#context.model
  }

  /** Takes the next part. Error parts are not for the fold: who reads the stream throws them. */
  add(part: SpecPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#text(part, part.type.startsWith('text') ? 'text' : 'reasoning')
      case 'tool-input-start':
        if (part.providerExecuted === true) return void this.#running.add(String(part.id))
        return this.#send({ type: 'tool-input.start', id: String(part.id), name: String(part.toolName) })
      case 'tool-input-delta':
        if (this.#running.has(String(part.id))) return
        return this.#send({ type: 'tool-input.delta', id: String(part.id), text: String(part.delta) })
      case 'tool-input-end':
        if (this.#running.has(String(part.id))) return
        return this.#send({ type: 'tool-input.end', id: String(part.id) })
      case 'tool-call':
        return this.#call(part)
      case 'file':
        return this.#file(part)
      case 'tool-result':
        this.#result(part)
        return this.#opaque(part)
      case 'custom':
        return this.#opaque(part)
      case 'source':
        this.#sources = withSource(this.#sources, sourceOf(part))
        return
      case 'stream-start':
        this.#warnings = warningTexts(part.warnings)
        return
      case 'response-metadata':
        this.#response = { ...this.#response, ...part }
        return
      case 'finish':
        this.#finish = part
        for (const query of googleQueries(part.providerMetadata))
          this.#ran.set(`google ${query}`, { tool: 'google_search', input: keptInputOf({ query }) })
        return
      default: // raw, ping, files of thoughts and what later versions bring: nothing an answer is made of
    }
  }

  /** What was used, as far as the provider has said: it may say so before it fails. */
  get used(): CallUsage | undefined {
    return this.#finish === undefined ? undefined : this.#usage()
  }

  #usage(): CallUsage | undefined {
    return readUsage(this.#finish?.usage, this.#finish?.providerMetadata, (usage) =>
      this.#context.cost(usage, [...this.#ran.values()]),
    )
  }

  /**
   * The answer, with why it ended. Throws a `FailureError` if the parts are none: `model.cut-off`, `model.calls-missing`,
   * `model.empty`.
   */
  answer(): ModelAnswer {
    // of a stream that did not end its text
    for (const block of this.#open.values()) if (block.type === 'text') this.#pieces(block, this.#thoughts.rest())
    this.#takeOrphans()
    const text = this.#blocks.reduce((all, block) => (block.type === 'text' ? all + block.text : all), '')
    const usage = this.#usage()
    const { finish, stopReason } = this.#complete(text, usage)
    const reasoning = this.#reasoning()
    const metadata = readMetadata(this.#finish?.providerMetadata)
    const response = responseOf(this.#response)
    return {
      text,
      calls: [...this.#calls.values()],
      ...(this.#files.length > 0 && { files: [...this.#files] }),
      finish,
      ...(stopReason !== undefined && { stopReason }),
      ...(usage !== undefined && { usage }),
      model: this.#context.model,
      ...(reasoning !== undefined && { reasoning }),
      ...(this.#ran.size > 0 && { ran: [...this.#ran.values()].slice(0, mostRan) }),
      ...(this.#sources.length > 0 && { sources: this.#sources }),
      ...(response !== undefined && { response }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
      ...(metadata !== undefined && { providerMetadata: metadata }),
    }
  }

  #complete(text: string, usage: CallUsage | undefined): AnswerFinish {
    const { model } = this.#context
    if (this.#finish === undefined) throw new FailureError(cutOff(model, 'the stream ended without a finish event'))
    const isBlank =
      text.trim() === '' && this.#files.length === 0 && !this.#blocks.some(({ type }) => type === 'opaque')
    const metadata = this.#finish.providerMetadata
    return readFinish(this.#finish.finishReason, this.#context, { calls: this.#calls.size, isBlank, metadata, usage })
  }

  #text(part: SpecPart, type: 'text' | 'reasoning'): void {
    const id = String(part.id)
    const key = `${type}:${id}`
    let block = this.#open.get(key)
    if (block === undefined && !part.type.endsWith('-end')) {
      block = { type, id, text: '', metadata: undefined, begun: false }
      this.#open.set(key, block)
      this.#blocks.push(block)
      // of a text it is not yet known whether it begins with a thought
      if (type === 'reasoning') this.#begin(block)
    }
    if (block === undefined) return
    block.metadata = jsonObject(part.providerMetadata) ?? block.metadata
    if (part.type.endsWith('-delta') && typeof part.delta === 'string' && part.delta !== '') {
      if (type === 'reasoning') this.#say(block, part.delta)
      else this.#pieces(block, this.#thoughts.take(part.delta))
    }
    if (part.type.endsWith('-end')) {
      this.#open.delete(key)
      if (type === 'text') this.#pieces(block, this.#thoughts.rest())
      this.#endThought()
      this.#begin(block)
      this.#send({ type: `${type}.end`, id })
    }
  }

  #begin(block: TextBlock): void {
    if (block.begun) return
    block.begun = true
    this.#send({ type: `${block.type}.start`, id: block.id })
  }

  #say(block: TextBlock, text: string): void {
    this.#begin(block)
    block.text += text
    this.#send({ type: `${block.type}.delta`, id: block.id, text })
  }

  /** A text as its pieces: thoughts become a block before it. */
  #pieces(block: TextBlock, pieces: readonly TextPiece[]): void {
    for (const { type, text } of pieces)
      if (type === 'text') {
        this.#endThought()
        this.#say(block, text)
      } else this.#say((this.#thought ??= this.#newThought(block)), text)
  }

  #newThought(before: TextBlock): TextBlock {
    const thought: TextBlock = {
      type: 'reasoning',
      id: `${before.id}-thought`,
      text: '',
      metadata: undefined,
      begun: false,
      inText: true,
    }
    this.#blocks.splice(this.#blocks.indexOf(before), 0, thought)
    return thought
  }

  #endThought(): void {
    if (this.#thought === undefined) return
    this.#send({ type: 'reasoning.end', id: this.#thought.id })
    this.#thought = undefined
  }

  /** What stands before a tag that only ends thoughts: found when the whole text is there. */
  #takeOrphans(): void {
    const block = this.#blocks.find((each) => each.type === 'text' && each.text.trim() !== '')
    if (block?.type !== 'text') return
    const found = orphanThoughts(block.text)
    if (found === undefined) return
    if (found.thoughts.trim() !== '') this.#newThought(block).text = found.thoughts
    block.text = found.text
  }

  #call(part: SpecPart): void {
    if (part.providerExecuted === true) {
      this.#runs(part)
      return this.#opaque(part)
    }
    const given = typeof part.toolCallId === 'string' ? part.toolCallId : ''
    const asked = { name: String(part.toolName), ...readInput(part.input, this.#context.identity) }
    const same = given === '' ? [] : (this.#given.get(given) ?? [])
    if (same.some((call) => asksTheSame(call, asked))) return // a proxy repeats it
    const id = given === '' || this.#calls.has(given) ? madeId(this.#context.key, this.#calls.size) : given
    const call: ToolCall = { id, ...asked }
    this.#calls.set(id, call)
    this.#given.set(given, [...same, call])
    const metadata = jsonObject(part.providerMetadata)
    this.#blocks.push({ type: 'call', callId: id, ...(metadata !== undefined && { metadata }) })
  }

  #runs({ toolCallId, toolName, input }: SpecPart): void {
    const read = readInput(input)
    const asked = keptInputOf(read.invalid ?? read.input)
    this.#ran.set(String(toolCallId), { tool: nameOf(toolName), input: asked })
  }

  #result({ toolCallId, result, isError, preliminary }: SpecPart): void {
    if (preliminary === true) return
    // the call may stand in an answer before, which was paused
    const call = this.#ran.get(String(toolCallId))
    if (call === undefined) return
    // OpenAI tells what was searched for with the result
    const action = isObject(result) ? result['action'] : undefined
    if (isObject(action) && isObject(call.input) && Object.keys(call.input).length === 0) {
      const { sources: _sources, ...asked } = action
      call.input = keptInputOf(asked)
    }
    const summary = summaryOf(result)
    if (summary !== undefined) call.summary = summary
    if (isError === true) call.isError = true
  }

  #file(part: SpecPart): void {
    const file = fileOf(part)
    if (file === undefined) return
    this.#files.push(file)
    this.#blocks.push({ type: 'file' })
  }

  /** What the provider did by itself: kept as it is, in the form of a prompt, to be shown to it again. */
  #opaque(part: SpecPart): void {
    if (part.preliminary === true || part.kind === 'anthropic.message_start') return // an announcement that only streams have, of what the finish says again
    const { toolCallId, toolName } = part
    const metadata = jsonObject(part.providerMetadata)
    const shown = jsonObject({
      ...(part.type === 'tool-call' && {
        type: 'tool-call',
        toolCallId,
        toolName,
        input: readInput(part.input).input,
        providerExecuted: true,
      }),
      ...(part.type === 'tool-result' && {
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: part.isError === true ? 'error-json' : 'json', value: part.result },
      }),
      ...(part.type === 'custom' && { type: 'custom', kind: part.kind }),
      ...(metadata !== undefined && { providerOptions: metadata }),
    })
    if (shown !== undefined) this.#blocks.push({ type: 'opaque', part: shown })
  }

  #reasoning(): Reasoning | undefined {
    const signed = this.#files.some((file) => file.metadata !== undefined) // then their model has to be known
    const isPlain = this.#sources.length === 0 && !signed
    if (isPlain && !this.#blocks.some(saysMore) && !hasStrayFile(this.#blocks)) return undefined
    const parts = this.#blocks.map((block): ReasoningPart => {
      if (!isText(block)) return block
      const metadata = block.metadata === undefined ? {} : { metadata: block.metadata }
      return block.type === 'text'
        ? { type: 'text', length: block.text.length, ...metadata }
        : { type: 'reasoning', text: block.text, ...metadata, ...(block.inText === true && { inText: true }) }
    })
    return { model: this.#context.identity, parts }
  }

  #send(part: ModelPart): void {
    try {
      this.#emit?.(part)
    } catch {
      this.#emit = undefined
    }
  }
}

const longestName = 100
/** What a provider calls a tool that it ran. */
const nameOf = (given: unknown): string => visibleLine(cut(String(given), longestName))

/** A finished result, as the parts a stream of it would have had. */
export function* partsOf(result: SpecGenerateResult): Generator<SpecPart> {
  yield { type: 'stream-start', warnings: result.warnings }
  yield { type: 'response-metadata', id: result.response?.id, modelId: result.response?.modelId }
  let index = 0
  for (const item of result.content) {
    if (item.type !== 'text' && item.type !== 'reasoning') {
      yield item
      continue
    }
    const id = String(index++)
    const { providerMetadata } = item
    yield { type: `${item.type}-start`, id, providerMetadata }
    yield { type: `${item.type}-delta`, id, delta: item.text }
    yield { type: `${item.type}-end`, id }
  }
  yield {
    type: 'finish',
    finishReason: result.finishReason,
    usage: result.usage,
    providerMetadata: result.providerMetadata,
  }
}

/**
 * Arguments as JSON, or the text that cannot be used as such: not JSON, or with a number that would be rounded. No text
 * at all means no arguments. `identity`: the model; several packages have read the text before, and written it anew.
 */
export function readInput(input: unknown, identity = ''): { readonly input: Json; readonly invalid?: string } {
  if (typeof input !== 'string')
    return jsonProblem(input) === undefined && input !== undefined
      ? { input: input as Json }
      : { input: null, invalid: String(input) }
  if (input.trim() === '') return { input: {} }
  const read = readJson(input, { reread: rereads.test(identity) })
  return read.ok ? { input: read.value } : { input: null, invalid: input }
}

/**
 * Providers whose packages give the arguments of a call as an object that they have parsed and written again: Google
 * sends `functionCall.args` as an object (https://ai.google.dev/api/caching#FunctionCall), Ollama's own API, too.
 */
const rereads = /^(?:google|vertex|ollama)\b/

/** Why arguments cannot be used (`ToolCall.invalid`), to follow "the arguments of …". Pure. */
export function argumentsProblem(invalid: string): string {
  const read = readJson(invalid, { path: '' })
  const problem = read.ok ? readJson(invalid, { path: '', reread: true }) : read
  if (problem.ok || problem.none === true) return `are not JSON: ${cut(invalid, 200)}`
  return `cannot be used: ${problem.problem.replace(/^\./, '').trimStart()}`
}

function responseOf(part: SpecPart | undefined): ModelAnswer['response'] {
  const id = typeof part?.id === 'string' ? { id: part.id } : {}
  const model = typeof part?.modelId === 'string' ? { model: part.modelId } : {}
  return 'id' in id || 'model' in model ? { ...id, ...model } : undefined
}

/** What a provider says of an answer besides; undefined if nothing. */
export const readMetadata = (given: unknown): JsonObject | undefined => {
  const metadata = jsonObject(given)
  return metadata && pruned(metadata)
}

/**
 * Metadata that is only for reading, without its nulls and empty objects: some providers send a form of many blank
 * fields.
 */
function pruned(metadata: JsonObject): JsonObject | undefined {
  const filled: [string, Json][] = []
  for (const [key, value] of Object.entries(metadata)) {
    const kept = isObject(value) ? pruned(value) : value
    if (kept !== null && kept !== undefined) filled.push([key, kept])
  }
  return filled.length > 0 ? Object.fromEntries(filled) : undefined
}

function warningTexts(warnings: unknown): readonly string[] {
  if (!Array.isArray(warnings)) return []
  return warnings.map((warning: { readonly [member: string]: unknown }) =>
    ['type', 'setting', 'feature', 'message', 'details']
      .map((key) => warning[key])
      .filter((word) => typeof word === 'string')
      .join(': '),
  )
}
