/**
 * The queue of a team at work: tasks without a working member, and which of them may begin next: in the order of the
 * plan, then recruits as they came (spec team R-4).
 *
 * Owns: who is looked at again, and when; who waits, and for whom. Does not own: whether a task may begin
 * (readiness.ts), slots and beginnings (scheduler.ts). A task that waits is looked at again when one of those it waits
 * for ends, and at once when one of them has not succeeded, or has nothing for its topic: so a plan of thousands is not
 * read anew at every end.
 */
import { hasEnded, inOrder, type TaskGraph, type Entry } from '../state/task-graph.ts'
import type { Readiness } from './readiness.ts'
import type { Topics } from '../state/topics.ts'

/** Why a task can never begin. */
export type Impossible = Extract<Readiness, { readonly type: 'impossible' }>

export class Queue {
  readonly #graph: TaskGraph
  readonly #readiness: (entry: Entry) => Readiness
  readonly #topics: Pick<Topics, 'has'>
  #seen = 0
  readonly #unlooked = new Set<Entry>()
  /** In order. */
  readonly #ready: Entry[] = []
  readonly #waiting = new Set<Entry>()
  /** By a task: who waits for it, and maybe for others. */
  readonly #watchers = new Map<Entry, Entry[]>()

  constructor(graph: TaskGraph, readinessOf: (entry: Entry) => Readiness, topics: Pick<Topics, 'has'>) {
    this.#graph = graph
    this.#readiness = readinessOf
    this.#topics = topics
  }

  /** Those that wait for others. */
  get waiting(): ReadonlySet<Entry> {
    return this.#waiting
  }

  /** It is looked at again: what it waits for, or its own state, is not what it was. */
  again(entry: Entry): void {
    this.#unlooked.add(entry)
  }

  /** A task has ended: it sets others free, or makes them impossible. */
  ended(entry: Entry): void {
    this.#leave(entry)
    const watchers = this.#watchers.get(entry) ?? []
    this.#watchers.delete(entry)
    for (const each of watchers) this.again(each)
    if (entry.status !== 'succeeded') for (const each of this.#graph.after(entry)) this.again(each)
    for (const topic of new Set(entry.task.produces)) this.#lacking(topic, entry)
  }

  /**
   * A producer of a topic has ended: if the topic is empty and has no other producer, its consumers are checked. Also
   * if the producer has succeeded: its entry may have been refused.
   */
  #lacking(topic: string, ended: Entry): void {
    if (this.#topics.has(topic)) return
    const [open, ...others] = this.#graph.producers(topic, ended).filter((each) => !hasEnded(each))
    if (others.length > 0) return
    for (const each of this.#graph.consumers(topic)) if (open === undefined || open === each) this.again(each)
  }

  /** The first entry of a topic is there. */
  published(topic: string): void {
    for (const each of this.#graph.consumers(topic)) this.again(each)
  }

  /** Checks all tasks marked for a check. `impossible` hears of those that can never begin, and ends them. */
  look(impossible: (entry: Entry, why: Impossible) => void): void {
    for (const entry of this.#graph.since(this.#seen)) {
      this.again(entry)
      for (const each of entry.recruit === undefined ? [] : this.#graph.after(entry)) this.again(each)
    }
    this.#seen = this.#graph.size
    while (this.#unlooked.size > 0) {
      for (const entry of [...this.#unlooked].sort(inOrder)) {
        this.#unlooked.delete(entry)
        const why = this.#file(entry)
        if (why !== undefined) impossible(entry, why)
      }
    }
  }

  /** How many may begin, as far as is known. */
  get ready(): number {
    return this.#ready.length
  }

  /** The next who may begin; it is in the queue no more. */
  next(): { readonly entry: Entry; readonly state: Extract<Readiness, { readonly type: 'ready' }> } | undefined {
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      const state = this.#readiness(entry)
      if (state.type === 'ready') return { entry, state }
      this.again(entry)
    }
    return undefined
  }

  #file(entry: Entry): Impossible | undefined {
    this.#leave(entry)
    if ((entry.status !== 'pending' && entry.status !== 'waiting') || entry.backingOff) return undefined
    const state = this.#readiness(entry)
    if (state.type === 'impossible') return state
    if (state.type === 'ready') {
      entry.status = 'pending'
      this.#ready.splice(placeIn(this.#ready, entry), 0, entry)
      return undefined
    }
    entry.status = 'waiting'
    this.#waiting.add(entry)
    // The last of those it waits for: of many, it is the one that is most likely to end last.
    const last = state.on.at(-1)
    if (last === undefined || hasEnded(last)) return undefined
    const watchers = this.#watchers.get(last)
    if (watchers === undefined) this.#watchers.set(last, [entry])
    else watchers.push(entry)
    return undefined
  }

  #leave(entry: Entry): void {
    this.#waiting.delete(entry)
    const at = placeIn(this.#ready, entry)
    if (this.#ready[at] === entry) this.#ready.splice(at, 1)
  }
}

/** Where an entry is, or belongs, in a list that is in order. */
function placeIn(list: readonly Entry[], entry: Entry): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (inOrder(list[middle]!, entry) < 0) low = middle + 1
    else high = middle
  }
  return low
}
