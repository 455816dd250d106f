/**
 * What a client sends: RunAgentInput of AG-UI 1.0, as far as Reeve reads it.
 *
 * Owns: reading it by its own members, within bounds. Does not own: the body's own limits (the server).
 * Holds: what is not read is not trusted: earlier messages, state, tools and context of the client are left out, because
 * the session has the conversation.
 */
import {
  fileInput,
  isObject,
  own,
  present,
  ReeveError,
  type ContentPart,
  type FilePart,
  type Json,
  type JsonObject,
} from '@reeve/core'
import type { ResumeEntry } from './interrupt.ts'

/** A request for a run. */
export interface AgUiRequest {
  readonly threadId: string
  readonly runId: string
  /** What the user says now: the last message. Absent where it resumes, and where the last message is no user's. */
  readonly said?: { readonly text: string; readonly files: readonly FilePart[] }
  /** The client has messages of the thread: it has seen what was shown before. */
  readonly hasMessages: boolean
  readonly resume: readonly ResumeEntry[]
  /** The last messages, where they are results of tools: of those that the client runs they are answers. */
  readonly results: readonly ClientResult[]
}

/** The message of a tool, as the client has it. */
export interface ClientResult {
  readonly toolCallId: string
  readonly content: string
  readonly error?: string
}

const longestId = 256
const mostEntries = 100

/** Reads a request. Throws `input.invalid`. */
export function readRunInput(body: Json | undefined): AgUiRequest {
  if (!isObject(body)) throw invalid('the body is not a RunAgentInput')
  const threadId = idIn(body, 'threadId')
  const runId = idIn(body, 'runId')
  const messages = own(body, 'messages')
  if (!Array.isArray(messages)) throw invalid('messages is not a list')
  const given = own(body, 'resume') ?? []
  if (!Array.isArray(given) || given.length > mostEntries)
    throw invalid(`resume is not a list of at most ${mostEntries} entries`)
  const resume = (given as readonly Json[]).map(entryIn)
  const twice = resume.find(({ interruptId }, i) => resume.findIndex((each) => each.interruptId === interruptId) < i)
  if (twice !== undefined) throw invalid(`resume names ${JSON.stringify(twice.interruptId)} twice`)
  const place = {
    threadId,
    runId,
    hasMessages: messages.length > 0,
    resume,
    results: resultsIn(messages as readonly Json[]),
  }
  const last = (messages as readonly Json[]).at(-1)
  if (resume.length > 0 || !isObject(last) || own(last, 'role') !== 'user') return place
  const content = contentIn(own(last, 'content'))
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return { ...place, said: { text, files: content.filter((part) => part.type === 'file') } }
}

/** The messages of tools at the end. */
function resultsIn(messages: readonly Json[]): readonly ClientResult[] {
  const isResult = (message: Json): boolean => isObject(message) && own(message, 'role') === 'tool'
  const last = messages.findLastIndex((message) => !isResult(message))
  return messages.slice(last + 1).flatMap((message) => {
    if (!isObject(message)) return []
    const [toolCallId, content, error] = ['toolCallId', 'content', 'error'].map((name) => own(message, name))
    if (typeof toolCallId !== 'string' || typeof content !== 'string') return []
    return [{ toolCallId, content, ...(typeof error === 'string' && error !== '' ? { error } : {}) }]
  })
}

function idIn(body: JsonObject, name: 'threadId' | 'runId'): string {
  const id = own(body, name)
  if (typeof id === 'string' && id !== '' && id.length <= longestId) return id
  throw invalid(`${name} is not a text of 1 to ${longestId} characters`)
}

function entryIn(given: Json, i: number): ResumeEntry {
  const where = `resume[${i}]`
  if (!isObject(given)) throw invalid(`${where} is not an object`)
  const interruptId = own(given, 'interruptId')
  const status = own(given, 'status')
  if (typeof interruptId !== 'string' || interruptId === '') throw invalid(`${where}.interruptId is not a text`)
  if (status !== 'resolved' && status !== 'cancelled')
    throw invalid(`${where}.status is neither "resolved" nor "cancelled"`)
  return { interruptId, status, ...present({ payload: own(given, 'payload') }) }
}

function contentIn(content: Json | undefined): readonly ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw invalid('the content of the last message is neither a text nor a list of parts')
  return (content as readonly Json[]).map(partIn)
}

const anyOf: Readonly<Record<string, string>> = {
  image: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
  document: 'application/octet-stream',
}

function partIn(part: Json, i: number): ContentPart {
  const where = `part ${i + 1} of the last message`
  if (!isObject(part)) throw invalid(`${where} is not an object`)
  const type = own(part, 'type')
  if (type === 'text') {
    const text = own(part, 'text')
    if (typeof text !== 'string') throw invalid(`${where} has no text`)
    return { type, text }
  }
  const source = own(part, 'source')
  if (typeof type !== 'string' || !Object.hasOwn(anyOf, type) || !isObject(source))
    throw invalid(`${where} is of no known type`)
  const value = own(source, 'value')
  const given = own(source, 'mimeType')
  const kind = own(source, 'type')
  if (typeof value !== 'string') throw invalid(`${where} has no source.value`)
  if (kind !== 'data' && kind !== 'url') throw invalid(`${where}: source.type is neither "data" nor "url"`)
  const content = kind === 'data' ? { data: value } : { url: value }
  const file = fileInput({ ...content, ...(typeof given === 'string' && { mediaType: given }) }, anyOf[type]!)
  if ('problem' in file) throw invalid(`${where}: ${file.problem}`)
  return file
}

export const invalid = (problem: string): ReeveError =>
  new ReeveError('input.invalid', problem, { hint: 'Nothing was started.' })
