/**
 * Comparing two runs: where a fork went another way than its origin, or one run of a team than another.
 *
 * Owns: what counts as the same. Does not own: how a difference is shown (cli). Pure (K1).
 * Entries are compared by their place: the agent's place in its run, and the address of what it did (K4). What differs in any two runs is passed over: ids, moments, what was used, what an
 * engine noted on its own.
 */
import { canonical, rootActivation, type Json, type RunId } from '../core/index.ts'
import { isArrival, isCommand, type JournalEvent, type Recorded } from './events.ts'

/** Something that is not the same in both runs. */
export interface RunDifference {
  /** Whose: the addresses from the root to the activation, joined by `>`; empty for the root. */
  readonly path: string
  readonly agent: string
  /** Of what it did; absent for its own beginning, its end, and what came in. */
  readonly address?: string
  /** What each run has there; absent: nothing. */
  readonly one?: Recorded
  readonly other?: Recorded
}

/** What two runs have in common, and what not. */
export interface RunDiff {
  readonly one: RunId | undefined
  readonly other: RunId | undefined
  /** How many entries are the same. */
  readonly same: number
  /** Where they part. Absent: they are the same as far as both go. */
  readonly first?: RunDifference
  /** Everything that is not the same, what came first first. */
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
    items.set(`${path} ${place} ${nth}`, { recorded, path, agent: agents.get(path) ?? '?', address, text: textOf(event, root) })
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
  'copied',
  'caller',
  'capability',
  'follows',
])

function textOf(event: JournalEvent, root: string): string {
  const told = Object.fromEntries(Object.entries(event).filter(([name]) => !passing.has(name))) as Json
  return canonical(withoutRun(told, root))
}

/** With every activation as its path alone. */
function withoutRun(value: Json, root: string): Json {
  if (typeof value === 'string') return value === root || value.startsWith(`${root}>`) ? value.slice(root.length) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => withoutRun(each, root))
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutRun(each, root)]))
}
