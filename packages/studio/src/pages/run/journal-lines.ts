/**
 * Journal lines: an event of the journal as one line, and the family that it belongs to.
 *
 * Owns: which members of an event say most about it. Does not own: the whole event, which is shown as JSON beside it.
 * Pure. Texts are not escaped here: whoever draws them shows them through `visible`.
 */
import type { JournalRow } from '@reeve/server/wire'

type JournalEvent = JournalRow['event']

/** The family of an event: what stands before the first full stop of its type. */
export const familyOf = (type: string): string => type.split('.', 1)[0]!

/** Members that name what an event is about, the best first. */
const naming = [
  'tool',
  'model',
  'agent',
  'task',
  'member',
  'subject',
  'topic',
  'channel',
  'worker',
  'command',
  'capability',
  'key',
  'address',
  'id',
] as const

/** What an event is about and how it ended, on one line of at most so many characters. */
export function journalLine(event: JournalEvent, most = 240): string {
  const known = event as unknown as Readonly<Record<string, unknown>>
  const own = (name: string): unknown => (Object.hasOwn(known, name) ? known[name] : undefined)
  const parts: string[] = []
  const named = naming.find((name) => typeof own(name) === 'string')
  if (named !== undefined) parts.push(String(own(named)))
  const outcome = own('outcome')
  if (isObject(outcome)) parts.push(outcomeText(outcome))
  const failure = own('failure')
  if (isObject(failure) && typeof failure['message'] === 'string') parts.push(failure['message'])
  for (const name of ['reason', 'text', 'message', 'description', 'resolution', 'by'] as const) {
    const value = own(name)
    if (typeof value === 'string' && value !== '') parts.push(name === 'by' ? `by ${value}` : value)
  }
  for (const name of ['question', 'input', 'body', 'content'] as const) {
    const value = own(name)
    if (value !== undefined && parts.length < 3) parts.push(typeof value === 'string' ? value : JSON.stringify(value))
  }
  const line = parts.join(' · ').replace(/\s+/gu, ' ')
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function outcomeText(outcome: Readonly<Record<string, unknown>>): string {
  const status = typeof outcome['status'] === 'string' ? outcome['status'] : '?'
  const failure = outcome['failure']
  if (isObject(failure) && typeof failure['message'] === 'string') return `${status}: ${failure['message']}`
  if (typeof outcome['message'] === 'string') return `${status}: ${outcome['message']}`
  if (typeof outcome['reason'] === 'string') return `${status}: ${outcome['reason']}`
  const output = outcome['output']
  if (output === undefined) return status
  return `${status}: ${typeof output === 'string' ? output : JSON.stringify(output)}`
}

/** How a fork from this event may differ: its end may be another, or the whole input, or a message may be added. */
export function forkEdits(event: JournalEvent): readonly ('outcome' | 'input' | 'message')[] {
  const ends = event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled'
  if (event.type === 'activation.started') return ['input', 'message']
  return ends ? ['outcome', 'message'] : ['message']
}
