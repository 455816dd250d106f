/**
 * What a client of OpenAI's API sends.
 *
 * Owns: reading the bodies of chat completions and responses, by own members only, into what a run is started with. Does
 * not own: starting it (openai.ts). Pure.
 * Holds: what would change the answer and cannot be honoured is refused, with the name of the parameter; how to sample is
 * the agent's own business and is passed over.
 */
import {
  described,
  fileInput,
  isObject,
  own,
  ReeveError,
  type FilePart,
  type Json,
  type JsonObject,
  type Message,
} from '@reeve/core'
import { EarlierCalls, recordOf } from './earlier-calls.ts'

/** What a run is started with. */
export interface Asked {
  readonly agent: string
  readonly text: string
  /** Before the text, oldest first. */
  readonly messages: readonly Message[]
  readonly isStream: boolean
}

/** A request for a chat completion. */
export interface ChatAsked extends Asked {
  readonly includesUsage: boolean
}

/** Answers to what a response has asked. */
export interface ResponseAnswers {
  readonly approvals: readonly { readonly id: string; readonly approved: boolean; readonly reason?: string }[]
  readonly answers: readonly { readonly id: string; readonly value: string }[]
}

/** A request for a response. */
export interface ResponseAsked {
  readonly asked: Asked | undefined
  readonly answered: ResponseAnswers | undefined
  readonly previous: string | undefined
  readonly isStream: boolean
  readonly isBackground: boolean
  readonly metadata: JsonObject
}

/** An error that names the parameter, as OpenAI's do. */
export const invalidParameter = (parameter: string, problem: string): ReeveError =>
  new ReeveError('input.invalid', `${parameter}: ${problem}`, { hint: 'Nothing was started.' })

const member = (object: JsonObject, name: string): Json | undefined => own(object, name)
const listIn = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])

/** Whether a parameter was given a value that asks for something. */
const asksFor = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0)

/** What would change what the client has to do with the answer. */
const refused: Readonly<Record<string, string>> = {
  tools: 'an agent has its own tools; those of the client are not called',
  functions: 'an agent has its own tools; those of the client are not called',
  logprobs: 'the answer of an agent has no log probabilities',
  audio: 'the answer of an agent is a text',
  conversation: 'use previous_response_id',
  prompt: 'templates of prompts are not kept here',
}

function bodyOf(body: Json | undefined): JsonObject {
  if (!isObject(body)) throw invalidParameter('the body', `it is ${described(body)}, expected an object`)
  for (const [name, why] of Object.entries(refused)) if (asksFor(member(body, name))) throw invalidParameter(name, why)
  const count = member(body, 'n')
  if (count !== undefined && count !== null && count !== 1) throw invalidParameter('n', 'one answer is given')
  for (const [name, inside] of [
    ['response_format', member(body, 'response_format')],
    ['text.format', isObject(member(body, 'text')) ? member(member(body, 'text') as JsonObject, 'format') : undefined],
  ] as const) {
    const type = isObject(inside) ? member(inside, 'type') : undefined
    if (type !== undefined && type !== 'text')
      throw invalidParameter(name, 'the agent has an output schema of its own, or none')
  }
  return body
}

function flagIn(body: JsonObject, name: string): boolean {
  const value = member(body, name)
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw invalidParameter(name, `it is ${described(value)}, expected true or false`)
}

function agentIn(body: JsonObject): string {
  const model = member(body, 'model')
  if (typeof model === 'string' && model !== '') return model
  throw invalidParameter('model', `it is ${described(model)}, expected the name of an agent`)
}

/** Reads the body of a chat completion. Throws `input.invalid`. */
export function chatAsked(given: Json | undefined): ChatAsked {
  const body = bodyOf(given)
  const messages = member(body, 'messages')
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidParameter('messages', 'expected a list of messages')
  const options = member(body, 'stream_options')
  return {
    agent: agentIn(body),
    ...lastOf(messagesIn(messages as readonly Json[], 'messages'), 'messages'),
    isStream: flagIn(body, 'stream'),
    includesUsage: isObject(options) && member(options, 'include_usage') === true,
  }
}

/** Reads the body of a response. Throws `input.invalid`. */
export function responseAsked(given: Json | undefined): ResponseAsked {
  const body = bodyOf(given)
  const previous = member(body, 'previous_response_id') ?? undefined
  if (previous !== undefined && typeof previous !== 'string')
    throw invalidParameter('previous_response_id', `it is ${described(previous)}, expected the id of a response`)
  if (member(body, 'store') === false) throw invalidParameter('store', 'a run is always recorded')
  const metadata = member(body, 'metadata') ?? {}
  if (!isObject(metadata)) throw invalidParameter('metadata', `it is ${described(metadata)}, expected an object`)
  const input = member(body, 'input')
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listIn(input)
  if (items.length === 0)
    throw invalidParameter('input', `it is ${described(input)}, expected a text or a list of items`)
  const answered = answersIn(items)
  if (answered !== undefined && previous === undefined)
    throw invalidParameter('previous_response_id', 'it is missing: which response is answered?')
  const flags = { isStream: flagIn(body, 'stream'), isBackground: flagIn(body, 'background') }
  const more = { answered, previous, metadata, ...flags }
  if (answered !== undefined) return { asked: undefined, ...more }
  const instructions = member(body, 'instructions')
  const before: Message[] = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []
  const { text, messages: earlier } = lastOf(messagesIn(items, 'input'), 'input')
  const asked = { agent: agentIn(body), text, messages: [...before, ...earlier], isStream: flags.isStream }
  return { asked, ...more }
}

/** Answers to approvals and questions; undefined if the items are messages. The output of a call among them is history. */
function answersIn(items: readonly Json[]): ResponseAnswers | undefined {
  const earlier = new EarlierCalls()
  const approvals: ResponseAnswers['approvals'][number][] = []
  const answers: ResponseAnswers['answers'][number][] = []
  for (const item of items) {
    if (!isObject(item)) continue
    const type = member(item, 'type')
    if (type === 'mcp_approval_response') {
      const [id, approved, reason] = ['approval_request_id', 'approve', 'reason'].map((name) => member(item, name))
      if (typeof id !== 'string' || typeof approved !== 'boolean')
        throw invalidParameter('input', 'an mcp_approval_response has approval_request_id and approve')
      approvals.push({ id, approved, ...(typeof reason === 'string' && reason !== '' ? { reason } : undefined) })
    } else if (type === 'function_call_output') {
      const [id, value] = ['call_id', 'output'].map((name) => member(item, name))
      if (earlier.knows(id)) continue
      if (typeof id !== 'string' || typeof value !== 'string')
        throw invalidParameter('input', 'a function_call_output has call_id and output')
      answers.push({ id, value })
    } else earlier.item(item)
  }
  const count = approvals.length + answers.length
  if (count === 0) return undefined
  if (count < items.length) throw invalidParameter('input', 'answers and messages cannot be sent together')
  if (count > 100) throw invalidParameter('input', 'more than 100 answers at once')
  return { approvals, answers }
}

/** The last message is what is asked; files of it go before it. */
function lastOf(all: readonly Message[], parameter: string): Pick<Asked, 'text' | 'messages'> {
  const last = all.at(-1)
  if (last?.role !== 'user') throw invalidParameter(parameter, 'the last message is not of the role user')
  const parts = typeof last.content === 'string' ? [{ type: 'text' as const, text: last.content }] : last.content
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const files = parts.filter((part) => part.type === 'file')
  if (text.trim() === '') throw invalidParameter(parameter, 'the last message has no text')
  const before: Message[] = files.length === 0 ? [] : [{ role: 'user', content: files }]
  return { text, messages: [...all.slice(0, -1), ...before] }
}

/** The messages of a history. Calls of tools and their results become records, each where it was. */
function messagesIn(items: readonly Json[], parameter: string): readonly Message[] {
  const messages: Message[] = []
  const calls = new EarlierCalls()
  let lines: string[] = []
  for (const [i, item] of items.entries()) {
    const where = `${parameter}[${i}]`
    if (!isObject(item)) throw invalidParameter(where, `it is ${described(item)}, expected a message`)
    const found = messageIn(item, where, calls)
    if (found === undefined) continue
    const { said, called } = typeof found === 'string' ? { said: [], called: [found] } : found
    // what came of a call stands before what is said next
    if (said.length > 0 && lines.length > 0) {
      messages.push(recordOf(lines))
      lines = []
    }
    messages.push(...said)
    lines.push(...called)
  }
  if (lines.length > 0)
    throw invalidParameter(
      parameter,
      'it ends with calls of tools or their results, expected a message of the role user',
    )
  return messages
}

/** A message with the calls that it makes; a line of the record; undefined: it is passed over. */
function messageIn(
  message: JsonObject,
  where: string,
  calls: EarlierCalls,
): { readonly said: readonly Message[]; readonly called: readonly string[] } | string | undefined {
  const type = member(message, 'type')
  if (type === 'reasoning') return undefined
  if (type !== undefined && type !== 'message') {
    const line = calls.item(message)
    if (line !== undefined) return line
    throw invalidParameter(where, `items of type ${described(type)} are not taken`)
  }
  const role = member(message, 'role')
  if (role === 'tool' || role === 'function') return calls.result(message)
  const content = contentIn(member(message, 'content'), where)
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  switch (role) {
    case 'system':
    case 'developer':
      return { said: [{ role: 'system', content: text }], called: [] }
    case 'assistant':
      return { said: text === '' ? [] : [{ role: 'assistant', content: text }], called: calls.inMessage(message) }
    case 'user':
      return { said: [{ role: 'user', content }], called: [] }
    default:
      throw invalidParameter(
        where,
        `the role is ${described(role)}, expected system, developer, user, assistant or tool`,
      )
  }
}

type Content = { readonly type: 'text'; readonly text: string } | FilePart

function contentIn(content: Json | undefined, where: string): readonly Content[] {
  if (content === null || content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw invalidParameter(where, 'its content is neither a text nor a list of parts')
  return (content as readonly Json[]).map((part) => {
    const type = isObject(part) ? member(part, 'type') : undefined
    if (!isObject(part)) throw invalidParameter(where, 'a part of its content is no object')
    const text = member(part, 'text')
    if (typeof text === 'string' && (type === 'text' || type === 'input_text' || type === 'output_text'))
      return { type: 'text', text }
    const refusal = member(part, 'refusal')
    if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal }
    const image = member(part, 'image_url')
    const url = isObject(image) ? member(image, 'url') : image
    if ((type === 'image_url' || type === 'input_image') && typeof url === 'string') return imageIn(url, where)
    throw invalidParameter(where, `parts of type ${described(type)} are not taken`)
  })
}

function imageIn(url: string, where: string): FilePart {
  const file = fileInput({ url }, 'image/*')
  if ('problem' in file) throw invalidParameter(where, file.problem)
  if (file.mediaType.startsWith('image/')) return file
  throw invalidParameter(where, `the url of an image has data of the type ${file.mediaType}`)
}
