/**
 * Comparing two runs: where a fork went another way than its origin, or one run of a team than another.
 *
 * Owns: what counts as the same. Does not own: how a difference is shown (cli). Pure (K1). Entries are compared by
 * their place: the agent's place in its run, and the address of what it did (K4). What differs in any two runs is
 * passed over: ids, moments, what was used, what an engine noted on its own. An id is the same as another one that
 * stands in its place: where each came up first in its run. So two runs are compared by what they did, not by their
 * names.
 */
import { canonical, isObject, rootActivation, type Json, type RunId } from '../../core/index.ts'
import { isArrival, isCommand, type JournalEvent, type Recorded } from '../events/events.ts'

/** An entry that is not the same in both runs. */
export interface RunDifference {
  /** The addresses from the root to the activation, joined by `>`; empty for the root. */
  readonly path: string
  readonly agent: string
  /** The address of the operation. Absent for the beginning and the end of the activation, and for arrivals. */
  readonly address?: string
  /** The event of each run at this place. Absent: there is none. */
  readonly one?: Recorded
  readonly other?: Recorded
}

/** The comparison of two runs. */
export interface RunDiff {
  readonly one: RunId | undefined
  readonly other: RunId | undefined
  /** How many entries are the same. */
  readonly same: number
  /** The first difference. Absent: the runs are the same as far as both go. */
  readonly first?: RunDifference
  /** All differences, in the order of the runs. */
  readonly differences: readonly RunDifference[]
}

interface Item {
  readonly recorded: Recorded
  readonly path: string
  readonly agent: string
  readonly address: string | undefined
  readonly text: string
}

/** Compares two runs, each given by its events in the order of their positions. */
export function diffOf(one: Iterable<Recorded>, other: Iterable<Recorded>): RunDiff {
  const [a, b] = [itemsOf(one), itemsOf(other)]
  const isSame = (key: string): boolean => a.get(key)?.text === b.get(key)?.text
  const ranked: { readonly rank: number; readonly key: string }[] = []
  for (const items of [a, b]) {
    let rank = 0
    for (const key of items.keys()) {
      if (isSame(key)) rank++
      else ranked.push({ rank, key })
    }
  }
  const keys = new Set(ranked.sort((x, y) => x.rank - y.rank).map(({ key }) => key))
  const differences = [...keys].map((key) => differenceOf(a.get(key), b.get(key)))
  return {
    one: runIn(a),
    other: runIn(b),
    same: [...a.keys()].filter(isSame).length,
    ...(differences[0] === undefined ? {} : { first: differences[0] }),
    differences,
  }
}

const runIn = (items: ReadonlyMap<string, Item>): RunId | undefined => items.values().next().value?.recorded.run

function differenceOf(one: Item | undefined, other: Item | undefined): RunDifference {
  const { path, agent, address } = (one ?? other)!
  return {
    path,
    agent,
    ...(address === undefined ? {} : { address }),
    ...(one === undefined ? {} : { one: one.recorded }),
    ...(other === undefined ? {} : { other: other.recorded }),
  }
}

/** What is compared of a run, by its place. */
function itemsOf(events: Iterable<Recorded>): ReadonlyMap<string, Item> {
  const items = new Map<string, Item>()
  const agents = new Map<string, string>()
  const counts = new Map<string, number>()
  const named: IdNames = new Map()
  for (const recorded of events) {
    const { event, run, activation } = recorded
    const root = rootActivation(run)
    const path = activation === root ? '' : activation.slice(root.length + 1)
    if (event.type === 'activation.started') agents.set(path, event.agent)
    const place = placeOf(event)
    if (place === undefined) continue
    const nth = counts.get(`${path} ${place}`) ?? 0
    counts.set(`${path} ${place}`, nth + 1)
    const address = 'address' in event ? event.address : undefined
    const key = `${path} ${place} ${nth}`
    items.set(key, { recorded, path, agent: agents.get(path) ?? '?', address, text: textOf(event, run, named, key) })
  }
  return items
}

/** Under what an entry is looked for in the other run. Undefined: an engine noted it. */
function placeOf(event: JournalEvent): string | undefined {
  if (isCommand(event)) return `does ${event.address}`
  if (isArrival(event)) return 'address' in event ? `gets ${event.address}` : event.type
  return event.type === 'activation.started' || event.type === 'activation.settled' ? event.type : undefined
}

/** Members that differ in any two runs. */
const passing: ReadonlySet<string> = new Set([
  'id',
  'until',
  'usage',
  'charge',
  'reserve',
  'lost',
  'attempts',
  'prompt',
  'renderer',
  'contentKey',
  'copied',
  'caller',
  'capability',
  'follows',
])

function textOf(event: JournalEvent, run: RunId, named: IdNames, key: string): string {
  const root = rootActivation(run)
  const told = Object.fromEntries(Object.entries(event).filter(([name]) => !passing.has(name))) as Json
  let count = 0
  const nameOf = (id: string): string => {
    const name = named.get(id) ?? `#${key} ${count++}`
    named.set(id, name)
    return name
  }
  for (const id of callIdsIn(told)) nameOf(id)
  // every activation is its path alone
  const pathOf = (text: string): string =>
    text === root || text.startsWith(`${root}>`) ? text.slice(root.length) : text
  return canonical(withoutIds(told, run, (text) => named.get(text) ?? pathOf(text).replace(made, nameOf)))
}

/** What ids are called here: after the entry in which they came up. */
type IdNames = Map<string, string>

/** Ids as Reeve makes them: random ones, derived ones. */
const made =
  /(?<![A-Za-z0-9])(?:run|msg|int|apr|cap|gra|ses|req|call|turn|result)_(?:[0-9a-f]{20}|[0-9a-hjkmnp-tv-z]{16})(?![A-Za-z0-9])/g

/** Ids of calls, however a provider writes them: where an answer makes a call, and where an event refers to one. */
function callIdsIn(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(callIdsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) => {
    if (name === 'callId' && typeof each === 'string' && each !== '') return [each]
    const calls = name === 'calls' && Array.isArray(each) ? (each as readonly Json[]) : []
    const own = calls.flatMap((call) =>
      isObject(call) && typeof call['id'] === 'string' && call['id'] !== '' && typeof call['name'] === 'string'
        ? [call['id']]
        : [],
    )
    return [...own, ...callIdsIn(each)]
  })
}

/** With every text as it is said of ids, and without the id of this run, also one that its caller chose. */
function withoutIds(value: Json, run: RunId, said: (text: string) => string): Json {
  if (typeof value === 'string') return said(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => withoutIds(each, run, said))
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      said(name),
      name === 'run' && each === run ? '' : withoutIds(each, run, said),
    ]),
  )
}
