/**
 * Messages of A2A: what a client sends, and how a question is put to it.
 *
 * Owns: reading a message by its own members, within bounds; the data part of a question, and that of its reply. Does
 * not own: what is asked, and what a reply means (../protocol-run).
 * Holds: no decision by the words of a text, but for a text that is exactly one of the decisions offered.
 */
import { fileInput, isObject, own, present, type FilePart, type Json, type JsonObject } from '@reeve/core'
import type { AskedQuestion, Reply } from '../protocol-run/index.ts'
import { A2aRefusal } from './protocol-error.ts'
import type { A2aPart } from './wire.ts'

/** What is read of the parameters of a message. */
export interface SentMessage {
  readonly messageId: string
  readonly taskId?: string
  readonly contextId?: string
  readonly texts: readonly string[]
  readonly data: readonly Json[]
  readonly files: readonly FilePart[]
  /** The answer does not wait. */
  readonly returnImmediately: boolean
  readonly historyLength?: number
}

const longestId = 256
const mostParts = 100

/** Reads the parameters of `SendMessage`. Throws an `A2aRefusal`. */
export function readMessage(params: JsonObject): SentMessage {
  mustHaveNoTenant(params)
  const message = own(params, 'message')
  if (!isObject(message)) throw invalid('message is missing')
  const messageId = textIn(message, 'messageId')
  if (messageId === undefined) throw invalid('message.messageId is missing')
  if (own(message, 'role') !== 'ROLE_USER') throw invalid('message.role is not "ROLE_USER"')
  const parts = own(message, 'parts')
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > mostParts)
    throw invalid(`message.parts is not a list of 1 to ${mostParts} parts`)
  const read = (parts as readonly Json[]).map(partIn)
  const configuration = own(params, 'configuration') ?? {}
  if (!isObject(configuration)) throw invalid('configuration is not an object')
  if ((own(configuration, 'taskPushNotificationConfig') ?? null) !== null)
    throw new A2aRefusal('PUSH_NOTIFICATION_NOT_SUPPORTED', 'push notifications are not supported')
  const returnImmediately = own(configuration, 'returnImmediately') ?? false
  if (typeof returnImmediately !== 'boolean') throw invalid('configuration.returnImmediately is not true or false')
  return {
    messageId,
    texts: read.flatMap((part) => ('text' in part ? [part.text] : [])),
    data: read.flatMap((part) => ('data' in part ? [part.data] : [])),
    files: read.flatMap((part) => ('file' in part ? [part.file] : [])),
    returnImmediately,
    ...present({
      taskId: textIn(message, 'taskId'),
      contextId: textIn(message, 'contextId'),
      historyLength: countIn(configuration, 'historyLength'),
    }),
  }
}

/** A tenant is that of the credential. */
export function mustHaveNoTenant(params: JsonObject): void {
  if ((own(params, 'tenant') ?? '') !== '') throw invalid('tenant: the card names none')
}

/** A text that is not empty; undefined: absent, or empty, as protocol buffers have it. */
export function textIn(object: JsonObject, name: string): string | undefined {
  const given = own(object, name) ?? ''
  if (typeof given !== 'string' || given.length > longestId)
    throw invalid(`${name} is not a text of at most ${longestId} characters`)
  return given === '' ? undefined : given
}

/** A whole number that is not negative; also as a text of digits, as a query has it. */
export function countIn(object: JsonObject, name: string): number | undefined {
  const given = own(object, name) ?? null
  if (given === null) return undefined
  const value = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw invalid(`${name} is not a whole number of at least 0`)
}

const invalid = (problem: string): A2aRefusal => new A2aRefusal('INVALID_PARAMS', problem)

function partIn(
  part: Json,
  i: number,
): { readonly text: string } | { readonly data: Json } | { readonly file: FilePart } {
  const where = `message.parts[${i}]`
  if (!isObject(part)) throw invalid(`${where} is not an object`)
  const [kind, ...more] = (['text', 'data', 'raw', 'url'] as const).filter((each) => own(part, each) !== undefined)
  if (kind === undefined || more.length > 0) throw invalid(`${where}: expected one of text, data, raw and url`)
  const value = own(part, kind)!
  if (kind === 'data') return { data: value }
  if (typeof value !== 'string') throw invalid(`${where}.${kind} is not a text`)
  if (kind === 'text') return { text: value }
  const said = present({ mediaType: textIn(part, 'mediaType'), filename: textIn(part, 'filename') })
  const content = kind === 'raw' ? { data: value } : { url: value }
  const file = fileInput({ ...content, ...said }, 'application/octet-stream')
  if ('problem' in file) throw invalid(`${where}: ${file.problem}`)
  return { file }
}

/** A question as parts: a sentence, and the exact action with the form of its reply. */
export function questionParts({
  id,
  kind,
  path,
  prompt,
  until,
  approval,
  call,
  question,
  answerSchema,
}: AskedQuestion): readonly A2aPart[] {
  const { inputSchema, ...asked } = approval ?? {}
  const schema =
    approval === undefined
      ? kind === 'in-doubt'
        ? form(id, { happened: { type: 'boolean' }, value: {} }, ['happened'])
        : call === undefined
          ? form(id, { value: answerSchema ?? {} }, ['value'])
          : resultForm(id, call.output)
      : form(
          id,
          {
            decision: { enum: approval.options },
            ...(approval.options.includes('edit')
              ? { input: { ...inputSchema, description: 'Of edit: all the arguments.' } }
              : {}),
            comment: { type: 'string', maxLength: 10_000 },
          },
          ['decision'],
        )
  const data = {
    id,
    kind: call === undefined ? kind : 'client-tool',
    path,
    ...present({ question, ...call, ...asked }),
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    schema,
  } as JsonObject
  return [
    { text: prompt, mediaType: 'text/plain' },
    { data, mediaType: 'application/json' },
  ]
}

/** What came of a call that the client has run, or why nothing did. */
const resultForm = (id: string, output: JsonObject | undefined): JsonObject => ({
  anyOf: [form(id, { output: output ?? {} }, ['output']), form(id, { error: { type: 'string' } }, ['error'])],
})

const form = (id: string, properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties: { id: { const: id }, ...properties },
  required,
  additionalProperties: false,
})

/** A reply, and the question that it names. */
export interface SentReply {
  /** Absent: the one that is open. */
  readonly id?: string
  readonly reply: Reply
}

/** The replies in a message. A text alone answers the question that is open, of this kind. */
export function repliesIn(
  { texts, data, files }: SentMessage,
  kind: AskedQuestion['kind'] | undefined,
): readonly SentReply[] {
  if (files.length > 0) throw invalid('a reply to a question has no files')
  if (data.length > 0) return data.map(replyIn)
  const said = texts.join('\n')
  if (kind === 'interrupt') return [{ reply: { type: 'answer', value: said } }]
  const word = said.trim().toLowerCase()
  if (kind === 'approval' && (word === 'approve' || word === 'reject'))
    return [{ reply: { type: 'decision', decision: word } }]
  throw invalid(
    'the task waits for a decision: send a data part as the schema of its question says, or exactly "approve" or "reject"',
  )
}

function replyIn(given: Json): SentReply {
  if (!isObject(given)) throw invalid('the data part of a reply is not an object')
  const names = Object.keys(given).filter((name) => name !== 'id')
  const named = present({ id: textIn(given, 'id') })
  const known = (...expected: readonly string[]): void => {
    const unknown = names.find((name) => !expected.includes(name))
    if (unknown !== undefined) throw invalid(`unknown member ${JSON.stringify(unknown)} of a reply`)
  }
  const decision = own(given, 'decision')
  const happened = own(given, 'happened')
  const value = own(given, 'value')
  if (decision !== undefined) {
    known('decision', 'input', 'comment')
    return { ...named, reply: decisionIn(decision, own(given, 'input'), own(given, 'comment')) }
  }
  if (happened !== undefined) {
    known('happened', 'value')
    if (typeof happened !== 'boolean') throw invalid('happened is not true or false')
    return { ...named, reply: { type: 'happened', happened, ...present({ value }) } }
  }
  const output = own(given, 'output')
  const error = own(given, 'error')
  if (output !== undefined || error !== undefined) {
    known('output', 'error')
    return { ...named, reply: { type: 'answer', value: present({ output, error }) } }
  }
  known('value')
  if (value === undefined) throw invalid('a reply has none of decision, value, output, error and happened')
  return { ...named, reply: { type: 'answer', value } }
}

function decisionIn(decision: Json, input: Json | undefined, comment: Json | undefined): Reply {
  if (comment !== undefined && typeof comment !== 'string') throw invalid('comment is not a text')
  const words = present({ comment })
  if (decision === 'edit') {
    if (input === undefined) throw invalid('decision "edit" needs the arguments as input')
    return { type: 'decision', decision, input, ...words }
  }
  if (input !== undefined) throw invalid('only decision "edit" takes input')
  if (decision === 'approve' || decision === 'reject' || decision === 'retry')
    return { type: 'decision', decision, ...words }
  throw invalid('decision is none of "approve", "reject", "edit" and "retry"')
}
