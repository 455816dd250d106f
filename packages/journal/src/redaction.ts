/**
 * Redaction shapes: what of a stored value redaction may change (K10).
 *
 * Owns: the shape of everything that is stored: events, rows of inboxes, questions, edits, values. Does not own: the
 * members of an event (events/event-table.ts), what values are made of (events/value-shapes.ts), what a shape means, and the
 * rules (core/redact.ts).
 */
import { isObject, type Shape } from '@reeve/core'
import type { JournalEvent } from './events/events.ts'
import { eventPlace } from './events/event-row.ts'
import { eventTable } from './events/event-table.ts'
import {
  answer,
  answered,
  answerShape,
  body,
  inputShape,
  kept,
  outcomeOf,
  revisionsShape,
} from './events/value-shapes.ts'

const shapes = new Map<unknown, Shape>(
  Object.entries(eventTable).map(([type, { shape }]) => [type, { ...eventPlace, ...shape }]),
)

/** Of an event: `result` says what the result of the operation holds that has ended; default: payload. */
export function eventShape({ type }: { readonly type?: unknown }, result: Shape = 'payload'): Shape {
  const shape = shapes.get(type) ?? eventPlace
  // made only where something is taken out
  return type === 'step.settled' ? () => ({ ...(shape as object), outcome: outcomeOf(result) }) : shape
}

/** Of the edit of a fork. */
export const editShape = {
  type: 'kept',
  to: 'kept',
  input: inputShape,
  body,
  call: 'kept',
  versions: revisionsShape,
  brief: { input: 'payload' },
  outcome: outcomeOf((value) =>
    isObject(value) && Array.isArray(value['calls']) && typeof value['finish'] === 'string' ? answer : 'payload',
  ),
} satisfies Shape

/** The result of an operation: `stated` by the code that began it, else given by the event that opened it. */
export const resultShape = (opened: JournalEvent['type'] | undefined, stated: Shape | undefined): Shape =>
  stated ?? (opened === 'model.requested' ? answer : 'payload')

/**
 * The result of an operation in a log that is copied, where the code that began it does not say what it holds. Whether a
 * call is one of Reeve's own verbs is not known: their arguments keep their names. What a step of code returned may be
 * structure of Reeve's own, so members do not go by their names in it.
 */
export const copiedResultShape = (opened: JournalEvent['type'] | undefined): Shape =>
  opened === 'model.requested' ? answerShape(() => true) : opened === 'tool.called' ? 'payload' : 'text'

/** Of a row in an inbox: what was posted, or what an activation sent. */
export const mailShape: Shape = (value) => {
  const type = isObject(value) ? value['type'] : undefined
  return {
    ...kept('type run activation address id from to at limit action usage charge'),
    reason: type === 'refused' ? 'kept' : 'text',
    body,
    outcome: outcomeOf(type === 'answer' ? answered : 'payload'),
  }
}

/** Of an open question: the event that asked, or what is in doubt. */
export const questionShape: Shape = (value) =>
  isObject(value) && typeof value['type'] === 'string'
    ? eventShape(value)
    : {
        ...kept('address path round key unclaimed name'),
        input: 'payload',
        done: { '*': 'kept', outcome: outcomeOf('payload') },
      }

/** Of a value: those of users are payload. Reeve's own have keys that begin with `$`, or streams that outlive runs. */
export function valueShape(stream: string | undefined, key: string): Shape {
  if (key === '$line' || key === '$owner' || key.startsWith('$thread') || key.startsWith('$active.')) return 'kept'
  if (key === '$grants') return (value) => (Array.isArray(value) ? [grant] : { '*': grant })
  if (key === '$turns.owed') return [exchange]
  if (key.startsWith('$')) return exchange
  return stream !== undefined && /^(?:reg|trust|mem)_/.test(stream) ? 'text' : 'payload'
}
/** An exchange of a session or a thread: a question and its answer. */
const exchange = { run: 'kept', agent: 'kept', ended: 'kept' } satisfies Shape
const grant = { '*': 'kept', by: 'text', input: 'payload' } satisfies Shape

/** The result of reading several values at once. */
export const valuesShape = (stream: string | undefined, keys: readonly string[]): Shape =>
  keys.every((key) => valueShape(stream, key) !== 'payload')
    ? [(value) => (Array.isArray(value) ? [exchange] : exchange)]
    : 'payload'
