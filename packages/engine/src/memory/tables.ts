/**
 * What a store in memory holds: runs, activations with their logs and mail, questions, values; each under what it is
 * looked for by.
 *
 * Owns: these records and the order in which they stand. Does not own: what a batch means (batch.ts), questions to the
 * store (reader.ts). Holds: what is recorded are texts, so that nobody shares an object with the journal (K1).
 */
import { runOf, type ActivationId, type RunId, ChurnMap, ChurnSet } from '@reeve/core'
import { isEndEvent } from '@reeve/journal'
import type { AccountState } from '../replay/account.ts'
import type { ScannedQuestion, ScannedRun } from '../queries-over.ts'
import type { InboxRow, NewQuestion, NewRun, StoredRun } from '../store.ts'
import { runStream } from '../streams.ts'

/** An entry of a log. */
export interface EntryRecord {
  readonly position: number
  readonly act: ActivationRecord
  readonly seq: number
  readonly at: number
  readonly body: string
}

/** A row of an inbox. One that was taken keeps its key: answers compete for it. */
export interface MailRecord {
  readonly position: number
  readonly act: ActivationRecord
  readonly key: string
  body: string | undefined
}

export const inboxRow = ({ position, act, key, body }: MailRecord): InboxRow => ({
  position,
  act: act.id,
  key,
  body: body ?? 'null',
})

/** An open question. */
export interface HeldQuestion extends Omit<NewQuestion, 'until'> {
  /** Of one moment, the order in which they were asked. */
  readonly num: number
  readonly of: ActivationRecord
  until: number | null
  isClosed: boolean
}

/** An activation, or the log of a stream of values. */
export class ActivationRecord {
  readonly id: ActivationId
  /** In the order in which they began. */
  readonly num: number
  /** Absent: a stream. */
  readonly run: RunRecord | undefined
  readonly log: EntryRecord[] = []
  /** Of the last entry of its log; -1: it has none. */
  lastSeq = -1
  /** Parts of the log that a later entry stands for, in order. */
  summed: readonly { readonly from: number; readonly upTo: number }[] = []
  account: AccountState | undefined
  #inbox: Map<string, MailRecord> | undefined
  #questions: HeldQuestion[] | undefined

  constructor(id: ActivationId, num: number, run: RunRecord | undefined) {
    this.id = id
    this.num = num
    this.run = run
  }

  get inbox(): Map<string, MailRecord> {
    return (this.#inbox ??= new Map())
  }
  get questions(): HeldQuestion[] {
    return (this.#questions ??= [])
  }
  /** Whether there is any mail, or was: asked without making room for it. */
  hasMail(key: string): boolean {
    return this.#inbox?.has(key) === true
  }
  /** Whether its last word is recorded; undefined without any word. */
  get isOver(): boolean | undefined {
    const last = this.log.at(-1)
    return last && isEndEvent(last.body)
  }

  entry(seq: number): EntryRecord | undefined {
    const found = this.log[seq]
    // a log has no gaps, as far as the host writes it
    return found?.seq === seq ? found : this.log.find((entry) => entry.seq === seq)
  }
}

/** A run, and what stands beside its journal. */
export class RunRecord implements ScannedRun {
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string | null
  readonly created: number
  /** Started from outside. */
  readonly isListed: boolean
  status = 'running'
  control: string | null = null
  stuck: string | null = null
  isParked = false
  epoch: number
  owner: string | null
  ended: number | null = null
  losses = 0
  usage: string | null = null
  why: string | null = null
  readonly activations: ActivationRecord[] = []
  /** Pieces of contents, by key. */
  readonly contents = new Map<string, string>()
  readonly feed: EntryRecord[] = []
  readonly unread = new ChurnSet<MailRecord>()
  readonly questions = new ChurnSet<HeldQuestion>()
  /** What it has written to streams: of each word the entry, under its stream and its key. */
  readonly done = new ChurnMap<string, number>()

  constructor({ id, agent, version, caller, at, epoch = 1, owner }: NewRun) {
    this.id = id
    this.agent = agent
    this.version = version
    this.caller = caller
    this.created = at
    this.epoch = epoch
    this.owner = owner
    this.isListed = !id.includes('>')
  }

  /** Questions to people. */
  get asked(): HeldQuestion[] {
    return [...this.questions].filter(({ kind }) => kind !== 'timer')
  }

  get parked(): 0 | 1 {
    return this.isParked ? 1 : 0
  }
  get asks(): readonly ScannedQuestion[] {
    return this.asked.map((each) => ({ ...each, answered: each.of.hasMail(each.key) }))
  }
  get mail(): readonly InboxRow[] {
    return [...this.unread].map(inboxRow)
  }
  get lastAt(): number {
    return Math.max(this.created, ...this.feed.slice(-100).map(({ at }) => at))
  }

  /** As it is now: a copy, which stays as it is. */
  row(): StoredRun {
    const { id, agent, version, status, control, stuck, parked, epoch, owner, caller, created, ended, losses } = this
    return { id, agent, version, status, control, stuck, parked, epoch, owner, caller, created, ended, losses }
  }
}

/** The values of a stream, and the log of what became of them. */
export interface Stream {
  readonly log: ActivationRecord
  readonly values: Map<string, { readonly version: number; readonly body: string }>
}

export class MemoryTables {
  readonly runs = new Map<RunId, RunRecord>()
  /** Child runs, by the run that was started from outside. */
  readonly children = new Map<string, Set<RunRecord>>()
  /** Neither ended nor parked. */
  readonly working = new Set<RunRecord>()
  /** Of these, those that no process holds. */
  readonly free = new Set<RunRecord>()
  readonly stuck = new Set<RunRecord>()
  /** That began under an owner who is not this process, the only one there is. */
  readonly strays = new Set<RunRecord>()
  /** With mail that was not read. */
  readonly unheard = new Set<RunRecord>()
  /** That ended, and were started from outside, in the order of their ends. */
  readonly ended = new Set<RunRecord>()
  readonly activations = new Map<ActivationId, ActivationRecord>()
  readonly streams = new Map<string, Stream>()
  readonly questions = new Map<string, HeldQuestion>()
  /** The feed of all runs. */
  readonly feed: EntryRecord[] = []
  readonly deadlines = new DeadlineHeap()
  /** Mail that came since this was last emptied. */
  arrivals: MailRecord[] = []
  position = 0
  lastMail = 0
  readonly #process: string
  #activations = 0
  #questions = 0

  /** `process`: the id of the one that has the store. */
  constructor(process: string) {
    this.#process = process
  }

  addRun(given: NewRun): RunRecord {
    const run = new RunRecord(given)
    this.runs.set(run.id, run)
    if (!run.isListed) {
      const first = run.id.slice(0, run.id.indexOf('>'))
      const family = this.children.get(first)
      if (family === undefined) this.children.set(first, new Set([run]))
      else family.add(run)
    }
    if (run.owner !== null && run.owner !== this.#process) this.strays.add(run)
    this.place(run)
    return run
  }

  /** Puts a run where it belongs after it has changed. */
  place(run: RunRecord): void {
    const works = run.ended === null && !run.isParked
    if (works) this.working.add(run)
    else this.working.delete(run)
    if (works && run.owner === null) this.free.add(run)
    else this.free.delete(run)
    if (run.stuck !== null && run.ended === null) this.stuck.add(run)
    else this.stuck.delete(run)
  }

  /** An activation, which begins now if there is none. */
  activation(id: ActivationId): ActivationRecord {
    const found = this.activations.get(id)
    if (found !== undefined) return found
    const run = this.runs.get(runOf(id))
    const made = new ActivationRecord(id, ++this.#activations, run)
    this.activations.set(id, made)
    run?.activations.push(made)
    return made
  }

  stream(name: string): Stream {
    const found = this.streams.get(name)
    if (found !== undefined) return found
    const made = { log: new ActivationRecord(name as ActivationId, ++this.#activations, undefined), values: new Map() }
    this.streams.set(name, made)
    return made
  }

  write(act: ActivationRecord, seq: number, at: number, body: string): void {
    const entry: EntryRecord = { position: ++this.position, act, seq, at, body }
    if (seq > act.lastSeq) {
      act.log.push(entry)
      act.lastSeq = seq
    } else insert(act.log, entry, (a, b) => a.seq - b.seq)
    if (act.run === undefined) return
    act.run.feed.push(entry)
    this.feed.push(entry)
  }

  /** False: there was one under this key. */
  mail(act: ActivationRecord, key: string, body: string): boolean {
    if (act.inbox.has(key)) return false
    const row: MailRecord = { position: ++this.lastMail, act, key, body }
    act.inbox.set(key, row)
    if (act.run !== undefined) {
      act.run.unread.add(row)
      this.unheard.add(act.run)
      this.arrivals.push(row)
    }
    return true
  }

  /** It was read: its key stays. */
  take(row: MailRecord): void {
    row.body = undefined
    this.#forget(row)
  }

  /** It is as if it had not come. */
  drop(row: MailRecord): void {
    row.act.inbox.delete(row.key)
    row.body = undefined
    this.#forget(row)
  }

  #forget(row: MailRecord): void {
    const { run } = row.act
    run?.unread.delete(row)
    if (run?.unread.size === 0) this.unheard.delete(run)
  }

  ask(given: NewQuestion): void {
    if (this.questions.has(given.id)) return
    const of = this.activation(given.act)
    const question: HeldQuestion = {
      ...given,
      num: ++this.#questions,
      of,
      isClosed: false,
    }
    this.questions.set(question.id, question)
    of.questions.push(question)
    of.run?.questions.add(question)
    if (question.until !== null) this.deadlines.add(question)
  }

  close(question: HeldQuestion): void {
    question.isClosed = true
    this.questions.delete(question.id)
    question.of.questions.splice(question.of.questions.indexOf(question), 1)
    question.of.run?.questions.delete(question)
  }

  /** What one run has under these keys, another one has, too. */
  share(from: RunId, to: RunId, keys: readonly string[]): void {
    const [source, target] = [this.runs.get(from)?.contents, this.runs.get(to)?.contents]
    for (const key of keys) {
      const body = source?.get(key)
      if (body !== undefined) target?.set(key, body)
    }
  }

  /** A run and its child runs, at any depth. */
  family(run: RunId): RunRecord[] {
    const own = this.runs.get(run)
    return [...(own === undefined ? [] : [own]), ...this.below(run)]
  }

  /** Child runs, at any depth. */
  below(run: RunId): RunRecord[] {
    const mark = run.indexOf('>')
    const all = this.children.get(mark === -1 ? run : run.slice(0, mark))
    return all === undefined ? [] : [...all].filter(({ id }) => id.startsWith(`${run}>`))
  }

  /** Removes runs and their child runs, with everything of them but what they did to their sessions' values. */
  remove(runs: readonly RunId[]): void {
    const gone = new Set(runs.flatMap((run) => this.family(run)))
    if (gone.size === 0) return
    for (const each of gone) {
      for (const act of each.activations) this.activations.delete(act.id)
      for (const question of each.questions) this.close(question)
      for (const set of [this.working, this.free, this.stuck, this.strays, this.unheard, this.ended]) set.delete(each)
      this.runs.delete(each.id)
      this.streams.delete(runStream(each.id))
      this.children.delete(each.id)
    }
    keep(this.feed, ({ act }) => !gone.has(act.run!))
  }
}

/** Takes out what is not to stay. */
function keep<T>(list: T[], stays: (item: T) => boolean): void {
  let size = 0
  for (const item of list) if (stays(item)) list[size++] = item
  list.length = size
}

/** The first place in an ordered list where something is not before. */
export function placeOf<T>(list: readonly T[], isBefore: (each: T) => boolean): number {
  let [from, to] = [0, list.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isBefore(list[middle]!)) from = middle + 1
    else to = middle
  }
  return from
}

function insert<T>(list: T[], item: T, compare: (a: T, b: T) => number): void {
  const last = list.at(-1)
  if (last === undefined || compare(last, item) <= 0) list.push(item)
  else
    list.splice(
      placeOf(list, (each) => compare(each, item) <= 0),
      0,
      item,
    )
}

/** Questions with a deadline, the first on top: a heap, whose questions may have been closed or answered since. */
class DeadlineHeap {
  readonly #heap: Deadline[] = []

  add(question: HeldQuestion): void {
    this.#push({ until: question.until!, question })
  }

  /** The first one. Of one moment, timers come first: their moment is it, that of a deadline is after it. */
  first(): HeldQuestion | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (isDue(top)) return top.question
      this.#pop()
    }
    return undefined
  }

  /** Those up to a moment, which stay. */
  upTo(moment: number): HeldQuestion[] {
    const found: HeldQuestion[] = []
    for (let top = this.first(); top !== undefined && top.until! <= moment; top = this.first()) {
      found.push(top)
      this.#pop()
    }
    for (const each of found) this.add(each)
    return found
  }

  #push(item: Deadline): void {
    const heap = this.#heap
    let at = heap.push(item) - 1
    for (let up = (at - 1) >> 1; at > 0 && isBefore(item, heap[up]!); up = (at - 1) >> 1) {
      heap[at] = heap[up]!
      at = up
    }
    heap[at] = item
  }

  #pop(): void {
    const heap = this.#heap
    const item = heap.pop()
    if (item === undefined || heap.length === 0) return
    let at = 0
    for (let down = 1; down < heap.length; down = 2 * at + 1) {
      if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down++
      if (!isBefore(heap[down]!, item)) break
      heap[at] = heap[down]!
      at = down
    }
    heap[at] = item
  }
}

interface Deadline {
  readonly until: number
  readonly question: HeldQuestion
}
const isDue = ({ until, question }: Deadline): boolean => !question.isClosed && question.until === until
const rank = ({ question }: Deadline): number => (question.kind === 'timer' ? 0 : 1)
const isBefore = (a: Deadline, b: Deadline): boolean => a.until < b.until || (a.until === b.until && rank(a) < rank(b))
