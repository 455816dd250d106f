/**
 * Comparing two runs: where a fork went another way than its origin, or one run of a team than another.
 *
 * Owns: what counts as the same. Does not own: how a difference is shown (cli). Pure (K1). Entries are compared by
 * their place: the agent's place in its run, and the address of what it did (K4). What differs in any two runs is
 * passed over: ids, moments, what was used, what an engine noted on its own. An id is the same as another one that
 * stands in its place: where each came up first in its run. So two runs are compared by what they did, not by their
 * names.
 */
import { canonical, digest, isObject, rootActivation, type Json, type RunId } from '@reeve/core'
import { isArrival } from '../events/event-table.ts'
import { isCommand, type JournalEvent, type Recorded } from '../events/events.ts'

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
  /** All differences, in the order of the runs; with `more`, the first of them. */
  readonly differences: readonly RunDifference[]
  /** So many further differences are not listed. Absent: all are. */
  readonly more?: number
}

/** Compares two runs, each given by its events in the order of their positions. */
export function diffOf(one: Iterable<Recorded>, other: Iterable<Recorded>): RunDiff {
  const fold = new DiffFold<Recorded>()
  for (const recorded of one) fold.take('one', recorded, recorded)
  for (const recorded of other) fold.take('other', recorded, recorded)
  const { places, ...rest } = fold.result()
  return { ...rest, ...(places[0] === undefined ? {} : { first: places[0] }), differences: places }
}

/** A difference, with what was given for the entry of each run. */
export interface DifferencePlace<T> extends Omit<RunDifference, 'one' | 'other'> {
  readonly one?: T
  readonly other?: T
}

/** The comparison so far, with its first differences. */
export interface DiffResult<T> extends Pick<RunDiff, 'one' | 'other' | 'same' | 'more'> {
  readonly places: readonly DifferencePlace<T>[]
}

/** How much a comparison holds. */
export interface DiffBounds {
  /** Entries that stand further apart in the two runs than this are not found to be the same. Default: no bound. */
  readonly within?: number
  /** So many differences are listed. Default: all. */
  readonly listed?: number
}

interface Item<T> {
  readonly given: T
  /** Its number among the entries of its run that are compared. */
  readonly index: number
  readonly path: string
  readonly agent: string
  readonly address: string | undefined
  /** What it says, or a digest of that. */
  readonly text: string
}

/** Compares two runs while they are read, in step or one after the other. Holds what is not the same so far. */
export class DiffFold<T> {
  readonly #sides: { readonly one: DiffSide<T>; readonly other: DiffSide<T> }
  readonly #listed: number
  #same = 0
  /** Entries that are in both, and not the same. */
  #unlike = 0

  constructor({ within = Infinity, listed = Infinity }: DiffBounds = {}) {
    this.#listed = listed
    this.#sides = { one: new DiffSide(within, listed), other: new DiffSide(within, listed) }
  }

  /** Takes in the next event of a run. `given` stands for it in the result. */
  take(side: 'one' | 'other', recorded: Recorded, given: T): void {
    const [own, opposite] = side === 'one' ? [this.#sides.one, this.#sides.other] : [this.#sides.other, this.#sides.one]
    const found = own.next(recorded, given)
    if (found === undefined) return
    const [key, item] = found
    const counterpart = opposite.apart.get(key)
    if (counterpart?.text === item.text) {
      opposite.apart.delete(key)
      this.#same++
      return
    }
    if (counterpart !== undefined) this.#unlike++
    own.keep(key, item)
  }

  result(): DiffResult<T> {
    const { one, other } = this.#sides
    const [a, b] = [one.ranked(), other.ranked()]
    const items = {
      one: new Map(a.map(({ key, item }) => [key, item])),
      other: new Map(b.map((each) => [each.key, each.item])),
    }
    const keys = new Set([...a, ...b].sort((x, y) => x.rank - y.rank).map(({ key }) => key))
    const places = [...keys]
      .slice(0, this.#listed)
      .map((key) => placeOfDifference(items.one.get(key), items.other.get(key)))
    const more = one.count + other.count - this.#unlike - places.length
    return { one: one.run, other: other.run, same: this.#same, places, ...(more > 0 ? { more } : {}) }
  }
}

function placeOfDifference<T>(one: Item<T> | undefined, other: Item<T> | undefined): DifferencePlace<T> {
  const { path, agent, address } = (one ?? other)!
  return {
    path,
    agent,
    ...(address === undefined ? {} : { address }),
    ...(one === undefined ? {} : { one: one.given }),
    ...(other === undefined ? {} : { other: other.given }),
  }
}

/** One of the two runs. */
class DiffSide<T> {
  run: RunId | undefined
  /** What is not found in the other run so far, by its place. */
  readonly apart = new Map<string, Item<T>>()
  /** What is not looked for any more: the first of it, and how much it is. */
  readonly #given: (readonly [string, Item<T>])[] = []
  #givenUp = 0
  #index = 0
  readonly #within: number
  readonly #listed: number
  readonly #agents = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #named: IdNames = new Map()

  constructor(within: number, listed: number) {
    this.#within = within
    this.#listed = listed
  }

  /** How many entries are not the same as one of the other run. */
  get count(): number {
    return this.#givenUp + this.apart.size
  }

  /** The place of an event, and what is compared of it. Undefined: it is not compared. */
  next({ event, run, activation }: Recorded, given: T): readonly [string, Item<T>] | undefined {
    const root = rootActivation(run)
    const path = activation === root ? '' : activation.slice(root.length + 1)
    if (event.type === 'activation.started') this.#agents.set(path, event.agent)
    const place = placeOf(event)
    if (place === undefined) return undefined
    this.run ??= run
    const nth = this.#counts.get(`${path} ${place}`) ?? 0
    this.#counts.delete(`${path} ${place}`)
    this.#counts.set(`${path} ${place}`, nth + 1)
    const address = 'address' in event ? event.address : undefined
    const key = `${path} ${place} ${nth}`
    const text = textOf(event, run, this.#named, key)
    bound(this.#counts, this.#within)
    bound(this.#named, this.#within)
    const agent = this.#agents.get(path) ?? '?'
    return [
      key,
      { given, index: this.#index++, path, agent, address, text: text.length > 64 ? digest(text, 'base64url') : text },
    ]
  }

  keep(key: string, item: Item<T>): void {
    this.apart.set(key, item)
    if (this.apart.size <= this.#within) return
    const [oldest] = this.apart
    if (this.#given.length < this.#listed) this.#given.push(oldest!)
    this.apart.delete(oldest![0])
    this.#givenUp++
  }

  /** The first differences, each with how many entries of this run before it are the same. */
  ranked(): readonly { readonly key: string; readonly item: Item<T>; readonly rank: number }[] {
    const rest = [...this.apart].slice(0, this.#listed - this.#given.length)
    return [
      ...this.#given.map(([key, item], i) => ({ key, item, rank: item.index - i })),
      ...rest.map(([key, item], i) => ({ key, item, rank: item.index - this.#givenUp - i })),
    ]
  }
}

/** Forgets what came first. */
function bound(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return
    map.delete(key)
  }
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
