/**
 * Prompt: from our messages to the prompt of a provider.
 *
 * Owns: the conversion, the differences between specification versions in it, its memory (a message is converted once
 * per model).
 * Does not own: which messages are sent (agent/).
 */
import {
  formatSources,
  asText,
  fileLabel,
  isLabelled,
  isObject,
  wellFormed,
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type Json,
  type JsonObject,
  type Message,
  type ReasoningPart,
  type ToolCall,
  type ToolMessage,
} from '@reeve/core'
import { withDistinctIds } from './call-ids.ts'
import type { ProviderLimits } from './provider-limits.ts'
import { isTaken, sendableFile, sentCallId } from './request-limits.ts'
import type { SpecMessage, SpecVersion } from './spec.ts'

type SpecContent = { readonly type: string; readonly [member: string]: unknown }

/** The model that a prompt is for. */
export interface PromptTarget {
  readonly version: SpecVersion
  /** What the model object calls itself: only its own reasoning may be shown to it again. */
  readonly identity: string
  /** The model's id, for messages. */
  readonly id: string
  readonly limits: Pick<ProviderLimits, 'callId' | 'files' | 'resultFiles' | 'picture' | 'thoughts' | 'prefill'>
}

/** Converts conversations for one model. */
export class PromptRenderer {
  readonly #target: PromptTarget
  readonly #known = new WeakMap<Message, SpecMessage | undefined>()
  /** Files of results that have no place in them. */
  readonly #beside = new WeakMap<Message, readonly SpecContent[]>()

  constructor(target: PromptTarget) {
    this.#target = target
  }

  /**
   * The prompt, as every provider takes it: the system text once and first, then a message of the user, neighbours of
   * one role as one message, no message and no text without a word.
   */
  render(messages: readonly Message[]): SpecMessage[] {
    const system: string[] = []
    const prompt: SpokenMessage[] = []
    let beside: SpecContent[] = []
    const showBeside = (): void => {
      if (beside.length > 0) add(prompt, { role: 'user', content: beside })
      beside = []
    }
    for (const message of withDistinctIds(messages)) {
      const next = this.#one(message)
      if (next === undefined) continue
      // all results of an answer follow it directly
      if (next.role !== 'tool' && next.role !== 'system') showBeside()
      if (next.role === 'system') system.push(next.content)
      else if (prompt.length === 0 && next.role !== 'user') prompt.push(opening, next)
      else add(prompt, next)
      beside.push(...(this.#beside.get(message) ?? []))
    }
    showBeside()
    const last = prompt.at(-1)
    if (this.#target.limits.prefill === false && last?.role === 'assistant' && endsInText(last.content))
      prompt.push(goOn)
    return system.length === 0 ? prompt : [{ role: 'system', content: system.join(apart) }, ...prompt]
  }

  /** Undefined: it says nothing, and providers refuse such a message. */
  #one(message: Message): SpecMessage | undefined {
    if (this.#known.has(message)) return this.#known.get(message)
    const made = wellFormed(this.#convert(message))
    if (message.role === 'tool' && message.files !== undefined)
      this.#beside.set(message, wellFormed(filesBeside(message, this.#target)))
    this.#known.set(message, made)
    return made
  }

  #convert(message: Message): SpecMessage | undefined {
    switch (message.role) {
      case 'system':
        return isBlank(message.content) ? undefined : { role: 'system', content: message.content }
      case 'user':
        return { role: 'user', content: userContent(message.content, this.#target) }
      case 'assistant': {
        const content = assistantContent(message, this.#target)
        // thoughts alone are no answer
        return content.every(({ type }) => type === 'reasoning') ? undefined : { role: 'assistant', content }
      }
      case 'tool':
        return { role: 'tool', content: [toolResult(message, this.#target)] }
    }
  }
}

/** What stands between texts that become one. */
const apart = '\n\n'
/** What stands in the place of a text without a word. */
const nothingSaid = '[empty message]'
const noOutput = '[no output]'
/** Chat templates, and some providers, want a user to begin. */
const opening: SpokenMessage = { role: 'user', content: [{ type: 'text', text: '[What was said before:]' }] }

/** A turn that was paused goes on where it stopped: behind a tool of the provider's own without a word of ours. */
const goOn: SpokenMessage = { role: 'user', content: [{ type: 'text', text: '[Go on where you stopped.]' }] }
const endsInText = (content: readonly SpecContent[]): boolean =>
  ['text', 'reasoning', 'file'].includes(content.at(-1)?.type ?? 'text')

const isBlank = (text: string): boolean => text.trim() === ''

type SpokenMessage = Exclude<SpecMessage, { role: 'system' }>

/** Adds a message to those before it: to the last one, if that is of the same role and no call of it is left open. */
function add(prompt: SpokenMessage[], next: SpokenMessage): void {
  const last = prompt.at(-1)
  const joins =
    last !== undefined &&
    last.role === next.role &&
    (last.role !== 'assistant' || !last.content.some(({ type }) => type === 'tool-call'))
  if (joins) prompt[prompt.length - 1] = { role: last.role, content: joined(last.content, next.content) }
  else prompt.push(next)
}

/** Two contents as one. Texts that meet are one text: several templates take no list of texts. */
function joined(first: readonly SpecContent[], second: readonly SpecContent[]): readonly SpecContent[] {
  const [end, begin] = [first.at(-1), second[0]]
  if (!isPlainText(end) || !isPlainText(begin)) return [...first, ...second]
  return [...first.slice(0, -1), { type: 'text', text: end.text + apart + begin.text }, ...second.slice(1)]
}

const isPlainText = (part: SpecContent | undefined): part is { readonly type: 'text'; readonly text: string } =>
  part?.type === 'text' && typeof part['text'] === 'string' && part['providerOptions'] === undefined

function userContent(content: string | readonly ContentPart[], target: PromptTarget): SpecContent[] {
  const parts: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const said = parts.filter((part) => part.type !== 'text' || !isBlank(part.text))
  if (said.length === 0) return [{ type: 'text', text: nothingSaid }]
  return said.map((part, i) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    // the model knows a labelled file by its label, and may hand it on unseen
    if (isLabelled(said, i) && isUnsendable(part, target.limits))
      return { type: 'text', text: `[${placeNotes.nowhere}]` }
    return filePart(sendableFile(part, target.limits, target.id), target, part.metadata)
  })
}

const isUnsendable = (file: FilePart, { files, picture }: PromptTarget['limits']): boolean =>
  files !== undefined && !isTaken(file, files, picture)

function filePart(part: FilePart, { version }: PromptTarget, metadata: JsonObject | undefined): SpecContent {
  const { mediaType, filename } = part
  const more = { ...(filename !== undefined && { filename }), ...withMetadata(metadata) }
  if ('url' in part) {
    const url = new URL(part.url)
    return { type: 'file', mediaType, ...more, data: version === 'v4' ? { type: 'url', url } : url }
  }
  return { type: 'file', mediaType, ...more, data: version === 'v4' ? { type: 'data', data: part.data } : part.data }
}

function assistantContent(message: AssistantMessage, target: PromptTarget): SpecContent[] {
  const { reasoning } = message
  const isAnothers = reasoning !== undefined && reasoning.model !== target.identity
  if (reasoning !== undefined && !isAnothers && fits(message, reasoning.parts))
    return reasonedContent(message, reasoning.parts, target)
  // how they were found is shown to the model that found them alone
  const sources = isAnothers && message.sources !== undefined ? formatSources(message.sources) : ''
  const text = [message.content, sources].filter((each) => !isBlank(each)).join(apart)
  return [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...(message.files ?? []).map((file) => filePart(file, target, isAnothers ? undefined : file.metadata)),
    ...(message.calls ?? []).map((call) => callContent(call, undefined, target)),
  ]
}

/**
 * Whether the order of parts still describes the message: it may have been edited or redacted since, and then the plain
 * form is sent.
 */
function fits(message: AssistantMessage, parts: readonly ReasoningPart[]): boolean {
  let length = 0
  let files = 0
  const ids = new Set(message.calls?.map((call) => call.id))
  for (const part of parts) {
    if (part.type === 'text') length += part.length
    if (part.type === 'file') files++
    if (part.type === 'call' && !ids.delete(part.callId)) return false
  }
  return length === message.content.length && files === (message.files?.length ?? 0) && ids.size === 0
}

function reasonedContent(
  message: AssistantMessage,
  parts: readonly ReasoningPart[],
  target: PromptTarget,
): SpecContent[] {
  const content: SpecContent[] = []
  const files = message.files?.values()
  let at = 0
  for (const part of parts) {
    switch (part.type) {
      case 'reasoning':
        if (part.inText !== true && target.limits.thoughts !== false)
          content.push({ type: 'reasoning', text: part.text, ...withMetadata(part.metadata) })
        break
      case 'text': {
        const text = message.content.slice(at, at + part.length)
        at += part.length
        if (!isBlank(text) || carries(part.metadata))
          content.push({ type: 'text', text, ...withMetadata(part.metadata) })
        break
      }
      case 'call': {
        const call = message.calls?.find((each) => each.id === part.callId)
        if (call !== undefined) content.push(callContent(call, part.metadata, target))
        break
      }
      case 'file': {
        const file = files?.next().value
        if (file !== undefined) content.push(filePart(file, target, file.metadata))
        break
      }
      case 'opaque':
        if (typeof part.part.type === 'string') content.push({ ...part.part, type: part.part.type })
        break
    }
  }
  return content
}

/**
 * Whether a text without a word has to be sent for what its metadata hold: the signature of thoughts (Google), the place
 * of an item (OpenAI Responses). Anthropic takes no such text.
 */
const carries = (metadata: JsonObject | undefined): boolean =>
  Object.values(metadata ?? {}).some(
    (each) => isObject(each) && (Object.hasOwn(each, 'thoughtSignature') || Object.hasOwn(each, 'itemId')),
  )

const withMetadata = (metadata: JsonObject | undefined) => (metadata === undefined ? {} : { providerOptions: metadata })

/** Providers want the arguments of a call to be an object, also of a call that had none. */
function callContent(call: ToolCall, metadata: JsonObject | undefined, { limits }: PromptTarget): SpecContent {
  const input = isObject(call.input) ? call.input : {}
  return {
    type: 'tool-call',
    toolCallId: sentCallId(call.id, limits),
    toolName: call.name,
    input,
    ...withMetadata(metadata),
  }
}

function toolResult(message: ToolMessage, target: PromptTarget): SpecContent {
  return {
    type: 'tool-result',
    toolCallId: sentCallId(message.callId, target.limits),
    toolName: message.name,
    output: message.files === undefined ? plainOutput(message) : outputWithFiles(message, message.files, target),
  }
}

function plainOutput({ content, isError }: ToolMessage): { readonly type: string; readonly value: Json } {
  const kind: 'text' | 'json' = typeof content === 'string' ? 'text' : 'json'
  const isNothing = typeof content === 'string' && isBlank(content)
  return { type: isError === true ? `error-${kind}` : kind, value: isNothing ? noOutput : content }
}

/** Where a file of a result is shown: in the result, in a message of the user after it, or nowhere. */
type FilePlace = 'inside' | 'after' | 'nowhere'

/**
 * An error has no place for files. Packages of earlier specifications turn what they do not know in a result into text:
 * they are given nothing but text in it.
 */
function placeOf(file: FilePart, { isError }: ToolMessage, { version, limits }: PromptTarget): FilePlace {
  if (version === 'v4' && isError !== true && isTaken(file, limits.resultFiles, limits.picture)) return 'inside'
  return isTaken(file, limits.files, limits.picture) ? 'after' : 'nowhere'
}

const placeNotes: Readonly<Record<FilePlace, string | undefined>> = {
  inside: undefined,
  after: 'shown after the results',
  nowhere: 'not shown: this model takes no such file, or none so large',
}

/** A result with a line for each file. The files that it takes follow their lines. */
function outputWithFiles(
  message: ToolMessage,
  files: readonly FilePart[],
  target: PromptTarget,
): { readonly type: string; readonly value: unknown } {
  const text = asText(message.content)
  const parts: SpecContent[] = isBlank(text) ? [] : [{ type: 'text', text }]
  for (const file of files) {
    const place = placeOf(file, message, target)
    addText(parts, fileLabel(file, placeNotes[place]))
    if (place === 'inside') parts.push(filePart(file, target, undefined))
  }
  if (parts.some(({ type }) => type === 'file')) return { type: 'content', value: parts }
  return plainOutput({ ...message, content: parts.map(({ text: line }) => line).join('\n') })
}

/** Adds a line to the text before it, if there is one. */
function addText(parts: SpecContent[], line: string): void {
  const last = parts.at(-1)
  if (isPlainText(last)) parts[parts.length - 1] = { type: 'text', text: `${last.text}\n${line}` }
  else parts.push({ type: 'text', text: line })
}

/** The files of a result that follow it, each after its label. */
const filesBeside = (message: ToolMessage, target: PromptTarget): readonly SpecContent[] =>
  (message.files ?? [])
    .filter((file) => placeOf(file, message, target) === 'after')
    .flatMap((file) => [
      { type: 'text', text: fileLabel(file, `of the result of ${message.name}`) },
      filePart(file, target, undefined),
    ])
