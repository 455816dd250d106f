/**
 * Content keys: equal for equal operations, so that the same call, brief or question is found again in any run
 * (decision 0010).
 *
 * Owns: the content of the keys of workers and questions, their form, reading them from a journal. Does not own: the
 * content of the keys of calls (../agent), the digest (the engines).
 * Holds: a key is recorded once, with the event that opens the operation. No replay makes it again, and nothing is
 * decided by it.
 */
import {
  CallNumbers,
  canonical,
  isObject,
  messageContent,
  type HistoryEntry,
  type Json,
  type JsonObject,
} from '@reeve/core'
import { isEdge } from './events/value-shapes.ts'
import type { ApprovalRequested, InterruptRaised, JournalEvent, Recorded } from './events/events.ts'

/**
 * The scheme of a plain key. Another digest, or other content, needs another scheme: keys of different schemes cannot
 * be compared.
 */
const plainScheme = 'sha256-1'

/**
 * A key as it is recorded: its scheme, and the digest of the content as base64url, which is a third shorter than
 * hexadecimal digits.
 */
export const writtenKey = (value: string, scheme = plainScheme): string => `${scheme}:${value}`

/**
 * An event without the digests from which a short secret could be guessed. The journal of a redacted store has none, so
 * what is copied into it from before loses them. An approval keeps the hash that it holds for. Pure.
 */
export function withoutPlainDigests(event: JournalEvent): JournalEvent {
  if (!('op' in event)) return event
  const { contentKey, ...others } = event as { readonly contentKey?: string } & JournalEvent
  let rest: JournalEvent = contentKey?.startsWith(`${plainScheme}:`) === true ? others : event
  if (rest.type === 'tool.called' || rest.type === 'worker.started') {
    const { inputHash: _inputHash, ...unhashed } = rest
    rest = unhashed
  }
  return rest
}

/** What a worker is asked to do, under which policy: its agent and version, and what it was started with. Pure. */
export const workerContent = (agent: string, version: string, input: Json): string =>
  `worker ${canonical(agent)} ${canonical(version)} ${canonical(isEdge(input) ? edgeContent(input) : input)}`

/**
 * An edge without what differs in every run: ids, the label of the delegation, waits, earlier failures and approvals.
 */
function edgeContent(edge: JsonObject): Json {
  const { asks, assignment, entries } = edge
  const content: { readonly [member: string]: Json | undefined } = {
    ...edge,
    permit: undefined,
    delegation: undefined,
    threads: undefined,
    failures: undefined,
    admitted: undefined,
    asks: asks === undefined ? undefined : true,
    assignment: isObject(assignment) ? assignmentContent(assignment) : undefined,
    entries: Array.isArray(entries) ? entriesContent(entries) : undefined,
  }
  return content as JsonObject
}

function assignmentContent({ leader: _leader, member: _member, inputs, ...content }: JsonObject): Json {
  if (!isObject(inputs)) return content
  const withoutUsage = Object.entries(inputs).map(([task, input]) => {
    const { usage: _usage, ...content } = isObject(input) ? input : {}
    return [task, content] as const
  })
  return { ...content, inputs: Object.fromEntries(withoutUsage) }
}

function entriesContent(entries: readonly HistoryEntry[]): Json {
  const numbers = new CallNumbers()
  // a call of an unknown tool says so in its message
  return entries.map(({ unknownTool: _unknownTool, ...entry }) => ({
    ...entry,
    message: messageContent(entry.message, numbers),
  }))
}

/** The content of a question: all of it except its ids, its deadline and the schema of its answer. Pure. */
export function questionContent(event: Omit<InterruptRaised, 'address'> | Omit<ApprovalRequested, 'address'>): string {
  const { op: _op, id: _id, until: _until, contentKey: _contentKey, type, ...rest } = event
  const {
    v: _v,
    address: _address,
    callId: _callId,
    follows: _follows,
    inputHash: _inputHash,
    schema: _schema,
    ...shown
  } = rest as unknown as JsonObject
  return canonical({ kind: 'question', type, ...shown })
}

/**
 * The content keys of recorded operations, by the positions of the events that open them: model calls, tool calls,
 * workers, interrupts and approvals. `events`: those of a run. An operation without an entry has no known key. Pure.
 */
export function contentKeys(events: Iterable<Recorded>): ReadonlyMap<number, string> {
  const keys = new Map<number, string>()
  for (const { position, event } of events) {
    const key = keyIn(event)
    if (key !== undefined) keys.set(position, key)
  }
  return keys
}

const keyIn = (event: JournalEvent): string | undefined => ('contentKey' in event ? event.contentKey : undefined)

/**
 * Whether two operations have the same content, by their keys. Undefined: unknown, because a key is missing or the keys
 * were made in different ways, for example with different secrets. Pure.
 */
export function sameContent(one: string | undefined, other: string | undefined): boolean | undefined {
  if (one === undefined || other === undefined || schemeOf(one) !== schemeOf(other)) return undefined
  return one === other
}

const schemeOf = (key: string): string => key.slice(0, key.indexOf(':'))
