/**
 * Answer: the one fold from a provider's parts to a `ModelAnswer`. Streams and finished results go through it; a stream
 * is the same fold with a sink.
 *
 * Owns: the commit rule: an answer exists only if a `finish` part arrived that says so, and no error part. What a
 * provider emitted before it was cut off, a tool call with half its arguments above all, is never an answer.
 * Does not own: reading the provider (language-model.ts), classing its errors (faults.ts), the answers of rules, which are
 * whole (function-model.ts).
 */
import {
  FailureError,
  isObject,
  jsonProblem,
  RollingHash,
  type CallUsage,
  type FilePart,
  type Json,
  type JsonObject,
  type ModelPart,
  type Reasoning,
  type ReasoningPart,
  type ToolCall,
} from '../core/index.ts'
import { cutOff } from './faults.ts'
import { fileOf } from './files.ts'
import { jsonObject } from './messages.ts'
import type { FinishReason, ModelAnswer } from './model.ts'
import type { BilledUsage } from './price.ts'
import type { SpecGenerateResult, SpecPart, SpecVersion } from './spec.ts'
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
  /** What tokens cost, in US dollars. */
  readonly cost: (usage: BilledUsage) => number | undefined
}

interface TextBlock {
  readonly type: 'text' | 'reasoning'
  text: string
  metadata: JsonObject | undefined
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

const finishes: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'other',
])

/** Folds parts into an answer. */
export class AnswerFold {
  readonly #context: FoldContext
  readonly #blocks: Block[] = []
  readonly #open = new Map<string, TextBlock>()
  readonly #calls = new Map<string, ToolCall>()
  readonly #files: FilePart[] = []
  #emit: ((part: ModelPart) => void) | undefined
  #finish: SpecPart | undefined
  #response: SpecPart | undefined
  #warnings: readonly string[] = []

  constructor(context: FoldContext) {
    this.#context = context
    this.#emit = context.emit
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
        return this.#send({ type: 'tool-input.start', id: String(part.id), name: String(part.toolName) })
      case 'tool-input-delta':
        return this.#send({ type: 'tool-input.delta', id: String(part.id), text: String(part.delta) })
      case 'tool-input-end':
        return this.#send({ type: 'tool-input.end', id: String(part.id) })
      case 'tool-call':
        return this.#call(part)
      case 'file':
        return this.#file(part)
      case 'tool-result':
      case 'custom':
        return this.#opaque(part)
      case 'stream-start':
        this.#warnings = warningTexts(part.warnings)
        return
      case 'response-metadata':
        this.#response = { ...this.#response, ...part }
        return
      case 'finish':
        this.#finish = part
        return
      default: // raw, ping, sources, files of thoughts and what later versions bring: nothing an answer is made of
    }
  }

  /** What was used, as far as the provider has said: it may say so before it fails. */
  get used(): CallUsage | undefined {
    return this.#finish === undefined ? undefined : this.#usage()
  }

  #usage(): CallUsage | undefined {
    return readUsage(this.#finish?.usage, this.#finish?.providerMetadata, this.#context.cost)
  }

  /** The answer. Throws a `FailureError` (`model.cut-off`) if the parts do not make a complete one. */
  answer(): ModelAnswer {
    const finish = this.#complete()
    const text = this.#blocks.reduce((all, block) => (block.type === 'text' ? all + block.text : all), '')
    const usage = this.#usage()
    const reasoning = this.#reasoning()
    const metadata = readMetadata(this.#finish?.providerMetadata)
    const response = responseOf(this.#response)
    return {
      text,
      calls: [...this.#calls.values()],
      ...(this.#files.length > 0 && { files: [...this.#files] }),
      finish,
      ...(usage !== undefined && { usage }),
      model: this.#context.model,
      ...(reasoning !== undefined && { reasoning }),
      ...(response !== undefined && { response }),
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
      ...(metadata !== undefined && { providerMetadata: metadata }),
    }
  }

  #complete(): FinishReason {
    const { model } = this.#context
    if (this.#finish === undefined) throw new FailureError(cutOff(model, 'the stream ended without a finish event'))
    return readFinish(this.#finish.finishReason, this.#context)
  }

  #text(part: SpecPart, type: 'text' | 'reasoning'): void {
    const id = String(part.id)
    const key = `${type}:${id}`
    let block = this.#open.get(key)
    if (block === undefined && !part.type.endsWith('-end')) {
      block = { type, text: '', metadata: undefined }
      this.#open.set(key, block)
      this.#blocks.push(block)
      this.#send({ type: `${type}.start`, id })
    }
    if (block === undefined) return
    block.metadata = jsonObject(part.providerMetadata) ?? block.metadata
    if (part.type.endsWith('-delta') && typeof part.delta === 'string' && part.delta !== '') {
      block.text += part.delta
      this.#send({ type: `${type}.delta`, id, text: part.delta })
    }
    if (part.type.endsWith('-end')) {
      this.#open.delete(key)
      this.#send({ type: `${type}.end`, id })
    }
  }

  #call(part: SpecPart): void {
    if (part.providerExecuted === true) return this.#opaque(part)
    const given = typeof part.toolCallId === 'string' ? part.toolCallId : ''
    const id = given === '' || this.#calls.has(given) ? madeId(this.#context.key, this.#calls.size) : given
    this.#calls.set(id, { id, name: String(part.toolName), ...readInput(part.input) })
    const metadata = jsonObject(part.providerMetadata)
    this.#blocks.push({ type: 'call', callId: id, ...(metadata !== undefined && { metadata }) })
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
    if (!signed && !this.#blocks.some(saysMore) && !hasStrayFile(this.#blocks)) return undefined
    const parts = this.#blocks.map((block): ReasoningPart => {
      if (!isText(block)) return block
      const metadata = block.metadata === undefined ? {} : { metadata: block.metadata }
      return block.type === 'text'
        ? { type: 'text', length: block.text.length, ...metadata }
        : { type: 'reasoning', text: block.text, ...metadata }
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

/** An id for a call that came without one: the same in every attempt of the same step. */
export const madeId = (key: string, index: number): string =>
  `call_${new RollingHash().add(key).add(String(index)).toString()}`

/** Arguments as JSON, or the text that was not. No text at all means no arguments. */
export function readInput(input: unknown): { readonly input: Json; readonly invalid?: string } {
  if (typeof input !== 'string')
    return jsonProblem(input) === undefined && input !== undefined
      ? { input: input as Json }
      : { input: null, invalid: String(input) }
  if (input.trim() === '') return { input: {} }
  try {
    const parsed = JSON.parse(input) as Json
    return jsonProblem(parsed) === undefined ? { input: parsed } : { input: null, invalid: input }
  } catch {
    return { input: null, invalid: input }
  }
}

/** Why a model stopped. Throws a `FailureError` (`model.cut-off`) if that is no end of an answer. */
export function readFinish(
  reason: unknown,
  { model, version, streamed }: Pick<FoldContext, 'model' | 'version' | 'streamed'>,
): FinishReason {
  const { unified, raw } = reasonOf(reason)
  // Before v4 there was no word for "interrupted": providers keep their initial value when a stream ends early.
  const silent =
    (version === 'v2' && unified === 'unknown') || (version === 'v3' && unified === 'other' && raw === undefined)
  if (silent) {
    if (streamed) throw new FailureError(cutOff(model, 'the stream ended without a reason to finish'))
    return 'other'
  }
  if (finishes.has(unified)) return unified as FinishReason
  throw new FailureError(cutOff(model, `it finished with "${String(unified)}"${raw === undefined ? '' : ` (${raw})`}`))
}

function reasonOf(reason: unknown): { readonly unified: unknown; readonly raw: string | undefined } {
  if (typeof reason !== 'object' || reason === null) return { unified: reason, raw: undefined }
  const { unified, raw } = reason as { readonly unified?: unknown; readonly raw?: unknown }
  return { unified, raw: typeof raw === 'string' ? raw : undefined }
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
