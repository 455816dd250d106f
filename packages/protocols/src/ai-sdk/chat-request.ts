/**
 * What `useChat` sends.
 *
 * Owns: reading the body of a request, by own members only: the new message, answers to approvals and questions, what
 * the client has seen. Does not own: what is done with it (ui-messages.ts). Pure.
 * Holds: of the messages of a client only the last one counts: what was said before is in the session.
 */
import {
  described,
  fileInput,
  hasNames,
  isObject,
  own,
  ReeveError,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'

/** A message of a user. */
export interface ChatMessage {
  readonly type: 'message'
  readonly id: string
  readonly text: string
  readonly files: readonly FilePart[]
  /** It is asked again: `regenerate()`. */
  readonly again: boolean
}

/** Answers to what a message of a run has asked. */
export interface ChatAnswers {
  readonly type: 'answers'
  /** The id of the message: its run. */
  readonly run: string
  /** Up to where the client has seen the run; undefined if its message does not say. */
  readonly position: number | undefined
  readonly approvals: readonly { readonly id: string; readonly approved: boolean; readonly reason?: string }[]
  readonly answers: readonly { readonly id: string; readonly value: Json }[]
  /** What came of calls that the client has run, by their questions. */
  readonly results: readonly { readonly id: string; readonly value: Json }[]
  /** The questions of calls that the client has and has not answered. */
  readonly running: readonly string[]
}

/** A request of a chat. */
export interface ChatRequest {
  readonly chat: string
  readonly agent: string | undefined
  readonly said: ChatMessage | ChatAnswers
}

const invalid = (problem: string): ReeveError =>
  new ReeveError('input.invalid', `the body: ${problem}`, { hint: 'Nothing was done.' })

/** A member of an object that is its own. */
const member = (object: JsonObject, name: string): Json | undefined => own(object, name)

/** Reads the body of a request. Throws `input.invalid`. */
export function chatRequest(body: Json | undefined): ChatRequest {
  if (!isObject(body)) throw invalid(`it is ${described(body)}, expected what useChat sends: { id, messages }`)
  const chat = textIn(body, 'id', 'the id of the chat')
  const agent = member(body, 'agent')
  if (agent !== undefined && typeof agent !== 'string') throw invalid(`agent is ${described(agent)}, expected a name`)
  const messages = member(body, 'messages')
  const last = Array.isArray(messages) ? (messages as readonly Json[]).at(-1) : member(body, 'message')
  if (!isObject(last)) throw invalid('it has no message: expected messages, or message')
  const role = member(last, 'role')
  if (role === 'assistant') return { chat, agent, said: answersIn(body, last) }
  if (role !== 'user')
    throw invalid(`the role of the last message is ${described(role)}, expected "user" or "assistant"`)
  return { chat, agent, said: messageIn(last, member(body, 'trigger') === 'regenerate-message') }
}

function textIn(object: JsonObject, name: string, what: string): string {
  const value = member(object, name)
  if (typeof value === 'string' && value !== '' && value.length <= 256) return value
  throw invalid(`${name} is ${described(value)}, expected ${what}`)
}

const partsOf = (message: JsonObject): readonly JsonObject[] => {
  const parts = member(message, 'parts')
  if (!Array.isArray(parts)) throw invalid('the last message has no parts')
  return (parts as readonly Json[]).filter(isObject)
}

function messageIn(message: JsonObject, again: boolean): ChatMessage {
  const texts: string[] = []
  const files: FilePart[] = []
  for (const part of partsOf(message)) {
    const type = member(part, 'type')
    const text = member(part, 'text')
    if (type === 'text' && typeof text === 'string') texts.push(text)
    if (type === 'file') files.push(fileIn(part))
  }
  const text = texts.join('\n')
  if (text.trim() === '') throw invalid('the last message has no text')
  return { type: 'message', id: textIn(message, 'id', 'the id of the last message'), text, files, again }
}

/** A file of a message: its data, or an address that the provider of the model reads. */
function fileIn(part: JsonObject): FilePart {
  const mediaType = member(part, 'mediaType')
  const url = member(part, 'url')
  const name = member(part, 'filename')
  if (typeof mediaType !== 'string' || mediaType === '') throw invalid('a file has no media type')
  if (typeof url !== 'string') throw invalid('a file has no url')
  const file = fileInput({ url, mediaType, ...(typeof name === 'string' && { filename: name }) }, mediaType)
  if ('problem' in file) throw invalid(file.problem)
  return file
}

function answersIn(body: JsonObject, message: JsonObject): ChatAnswers {
  const approvals = partsOf(message).flatMap((part) => {
    const approval = member(part, 'approval')
    if (member(part, 'state') !== 'approval-responded' || !isObject(approval)) return []
    const [id, approved, reason] = ['id', 'approved', 'reason'].map((name) => member(approval, name))
    if (typeof id !== 'string' || typeof approved !== 'boolean') throw invalid('an approval has no id, or no answer')
    return [{ id, approved, ...(typeof reason === 'string' && reason !== '' ? { reason } : undefined) }]
  })
  const given = member(body, 'answers') ?? {}
  if (!hasNames(given) || !isObject(given)) throw invalid('answers is no object of answers by the ids of questions')
  const answers = Object.entries(given).map(([id, value]) => ({ id, value }))
  const calls = partsOf(message).flatMap(clientCallOf)
  const results = calls.flatMap(({ id, value }) => (value === undefined ? [] : [{ id, value }]))
  const running = calls.flatMap(({ id, value }) => (value === undefined ? [id] : []))
  if (approvals.length + answers.length + results.length === 0)
    throw invalid('the last message is of the assistant, and answers nothing')
  if (approvals.length + answers.length + results.length > 100) throw invalid('more than 100 answers at once')
  const metadata = member(message, 'metadata')
  const position = isObject(metadata) ? member(metadata, 'position') : undefined
  const isPosition = typeof position === 'number' && Number.isSafeInteger(position) && position >= 0
  return {
    type: 'answers',
    run: textIn(message, 'id', 'the id of the last message'),
    position: isPosition ? position : undefined,
    approvals,
    answers,
    results,
    running,
  }
}

/** A part of a call that the client runs, by the question that it was given with it. */
function clientCallOf(part: JsonObject): readonly { readonly id: string; readonly value?: Json }[] {
  const metadata = member(part, 'toolMetadata')
  const id = isObject(metadata) ? member(metadata, 'question') : undefined
  // those that are over are the server's
  if (typeof id !== 'string' || member(part, 'providerExecuted') === true) return []
  switch (member(part, 'state')) {
    case 'output-available':
      return [{ id, value: { output: member(part, 'output') ?? null } }]
    case 'output-error': {
      const error = member(part, 'errorText')
      return [{ id, value: { error: typeof error === 'string' ? error : '' } }]
    }
    default:
      return [{ id }]
  }
}
