/**
 * Packed entries: how the events that a delegation is made of are stored, and those of every step and message. Each is
 * a row that begins with the name of its form: what always holds of such an event, and what the rest of it tells, is
 * left out.
 *
 * Owns: the forms (persistent) and their inverse. Does not own: how members are packed (packing.ts), when an entry is
 * packed (codec.ts). Pure.
 * Holds: K12: what is read back is the event that was stored. An event that fits no form exactly is stored as an object.
 *
 * Rules: a form that was released may grow at the end of its rows, and changes in no other way; another one needs
 * another name. A form is of version 1 of its event. An older Reeve refuses a row: it has no `type`.
 */
import { isObject, usageRow, type CallUsage, type JsonObject, type Usage } from '@reeve/core'
import type { JournalEvent } from './events/events.ts'
import { packPath, unpackPath, type PackedPath } from './packed-path.ts'
import {
  always,
  around,
  json,
  list,
  newerPacking,
  number,
  optional,
  row,
  text,
  usually,
  value,
  zero,
  type Packing,
} from './packing.ts'
import { packHash, packKey, unpackHash, unpackKey } from './packed-digest.ts'

/** A text in a shorter form. */
const shortened = (shorten: (given: string) => string | undefined, restore: (packed: string) => string): Packing => ({
  pack: (given) => (typeof given === 'string' ? shorten(given) : undefined),
  unpack: (packed) => restore(text.unpack(packed) as string),
})

const path: Packing = {
  pack(given) {
    const names = list(text).pack(given) as readonly string[] | undefined
    return names && (packPath(names) ?? names)
  },
  unpack: (packed) => unpackPath(packed as PackedPath),
}

const usage = list(
  row({
    agent: text,
    model: text,
    calls: number,
    input: zero,
    output: zero,
    cached: zero,
    usd: zero,
    unknown: zero,
    unpriced: zero,
    reasoning: optional(number),
    cacheWrite: optional(number),
  }),
)
const charge = row({ turns: optional(number), tokens: optional(number), usd: optional(number), last: optional(text) })
const turn = { turns: 1 }
const oneTurn = usually(
  () => ({ ...turn }),
  (given) => isSame(given, turn),
  charge,
)

/** The outcome of what was completed, without more than its output. */
const completed = around({ status: always('completed'), output: json })

/** What an operation is found by. */
const keyed = {
  callId: optional(text),
  contentKey: optional(shortened(packKey, unpackKey)),
  inputHash: optional(shortened(packHash, unpackHash)),
}

const call = row({ id: text, name: text, input: json, invalid: optional(text) })
const answer = row({
  text,
  finish: text,
  model: text,
  usage: optional(
    row({
      input: optional(number),
      output: optional(number),
      usd: optional(number),
      cached: optional(number),
      cacheWrite: optional(number),
      cacheWrite1h: optional(number),
      reasoning: optional(number),
    }),
  ),
  calls: usually(
    () => [],
    (given) => Array.isArray(given) && given.length === 0,
    list(call),
  ),
  response: optional(value),
  reasoning: optional(value),
  files: optional(value),
  warnings: optional(value),
  providerMetadata: optional(value),
})

/** The input of a worker that a leader has delegated to: of an edge, what most of them have. */
const edge = row(
  {
    brief: value,
    depth: number,
    maxDepth: number,
    limits: optional(
      row(
        {
          turns: optional(number),
          calls: optional(number),
          tasks: optional(number),
          usd: optional(number),
          tokens: optional(number),
          resultTokens: optional(number),
        },
        { order: ['turns', 'usd', 'tokens', 'calls', 'tasks', 'resultTokens'] },
      ),
    ),
    delegation: optional(text),
    threads: optional(value),
    context: optional(value),
    metadata: optional(value),
  },
  // what was recorded of an edge is read as it was, to the byte
  { order: ['brief', 'depth', 'maxDepth', 'limits', 'context', 'threads', 'metadata', 'delegation'] },
)

/** What the end of a model call says of its use, as its answer tells it. */
interface Use {
  readonly usage: Usage
  /** Absent: its tokens are not known. */
  readonly charge?: JsonObject
}

/** Persistent: what this tells of an answer is not stored. */
function useOf(agent: string, answer: JsonObject): Use {
  const used = answer['usage'] as CallUsage | undefined
  const usage = [usageRow(agent, answer['model'] as string, used)] as const
  if (used?.input === undefined || used.output === undefined) return { usage }
  const usd = used.usd === undefined ? undefined : { usd: used.usd }
  return { usage, charge: { turns: 1, tokens: used.input + used.output, ...usd } }
}

/** Whether an object has the same members as one that holds no objects; or both are absent. */
function isSame(given: unknown, told: object | undefined): boolean {
  if (told === undefined || !isObject(given)) return given === told
  const expected = told as JsonObject
  let more = 0
  for (const name in expected) {
    if (given[name] !== expected[name]) return false
    more--
  }
  for (const _name in given) more++
  return more === 0
}

/** The end of a model call, where it fits its row. */
interface AnsweredCall extends Use {
  readonly outcome: { readonly output: JsonObject }
}

/** The usage of one call, of which the answer tells all but the agent. */
const byAnswer: Packing = {
  pack: (usage) => (Array.isArray(usage) && usage.length === 1 ? text.pack((usage as Usage)[0]?.agent) : undefined),
  unpack: (agent) => agent,
}
/** What the answer tells: nothing is stored. */
const omitted: Packing = { pack: () => null, unpack: () => undefined, optional: true }

/** The end of a model call that says of its use what its answer tells. */
const withUse = ({ pack, unpack }: Packing): Packing => ({
  pack(given) {
    const packed = pack(given)
    if (packed === undefined) return undefined
    const { outcome, usage, charge } = given as AnsweredCall
    const use = useOf(usage[0]!.agent, outcome.output)
    // what is too large for a number of JSON is stored as it is
    if (use.charge !== undefined && !Number.isFinite(use.charge['tokens'])) return undefined
    return isSame(usage[0], use.usage[0]) && isSame(charge, use.charge) ? packed : undefined
  },
  unpack(packed) {
    const given = unpack(packed) as JsonObject
    const { outcome } = given as unknown as AnsweredCall
    return { ...given, ...useOf(given['usage'] as string, outcome.output) }
  },
})

/** One way in which events of one type are stored. */
interface Form extends Packing {
  readonly head: string
  readonly type: JournalEvent['type']
}

const form = (head: string, type: JournalEvent['type'], members: { readonly [name: string]: Packing }): Form => ({
  head,
  type,
  ...row({ type: always(type), ...members }, { head }),
})

const settled = { attempts: optional(number), madeBy: optional(text) }
const started = (input: Packing): { readonly [name: string]: Packing } => ({
  agent: text,
  version: text,
  input,
  path: optional(path),
  caller: optional(value),
  under: optional(value),
  earlier: optional(value),
})
const stepBegun = { op: always('step'), address: text }
const answered = form('answer', 'step.settled', {
  address: text,
  outcome: around({ status: always('completed'), output: answer }),
  usage: byAnswer,
  ...settled,
  charge: omitted,
})

/** Of one event the closest comes first. The heads are persistent. */
const forms: readonly Form[] = [
  form('task', 'activation.started', started(edge)),
  form('start', 'activation.started', started(json)),
  form('end', 'activation.settled', {
    outcome: completed,
    usage: optional(usage),
    open: optional(value),
    lost: optional(usage),
  }),
  form('model', 'model.requested', {
    ...stepBegun,
    effect: always('model'),
    model: text,
    messages: number,
    contentKey: keyed.contentKey,
    reserve: oneTurn,
    purpose: optional(text),
    changeable: optional(value),
    instead: optional(value),
  }),
  form('step', 'step.begun', { ...stepBegun, effect: text, reserve: optional(charge) }),
  form('tool', 'tool.called', {
    ...stepBegun,
    tool: text,
    effect: text,
    ...keyed,
    input: optional(value),
    capability: optional(text),
    again: optional(text),
    reserve: optional(charge),
  }),
  { ...answered, ...withUse(answered) },
  form('done', 'step.settled', {
    address: text,
    outcome: completed,
    usage: optional(usage),
    charge: optional(charge),
    ...settled,
  }),
  form('worker', 'worker.started', {
    op: always('worker'),
    address: text,
    agent: text,
    ...keyed,
    purpose: optional(text),
    toldBy: optional(text),
    version: optional(text),
    apart: optional(value),
    reserve: optional(charge),
  }),
  form('back', 'worker.settled', {
    address: text,
    outcome: completed,
    usage: optional(usage),
    apart: optional(value),
    charge: optional(charge),
  }),
  form('send', 'message.sent', { op: always('send'), address: text, to: text, id: text }),
  form('message', 'message.received', { id: text, body: json, from: optional(text) }),
]

const formsOf: ReadonlyMap<string, readonly Form[]> = Map.groupBy(forms, ({ type }) => type)
const formOf = new Map(forms.map((each) => [each.head, each]))

/** How the text of the last word of an activation begins, if it is packed. */
export const packedEnd = '["end"'

/** The row of an event of version 1; undefined if it fits no form. */
export function packEntry(event: JournalEvent): unknown {
  const known = formsOf.get(event.type)
  if (known === undefined) return undefined
  for (let i = 0; i < known.length; i++) {
    const packed = known[i]!.pack(event)
    if (packed !== undefined) return packed
  }
  return undefined
}

/** The event of a row. Throws `journal.unknown-event` for a row that a newer Reeve wrote. */
export function unpackEntry(packed: readonly unknown[]): unknown {
  const known = formOf.get(packed[0] as string)
  if (known === undefined) throw newerPacking(`a row of "${String(packed[0])}"`)
  return known.unpack(packed)
}
