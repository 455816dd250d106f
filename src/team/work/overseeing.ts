/**
 * Overseeing: what follows for a task of the humans who look at it: it begins, ends, or is done otherwise, and so is what it acts on (spec team R-16).
 *
 * Owns: where a task stands while somebody looks, and what a word comes to. Does not own: who is asked what (reviews.ts), beginning and ending (work.ts).
 * Holds: K3: everything follows from decisions, in recorded order. Whoever is asked about holds no permit, and keeps nobody from going on (C85).
 */
import type { Edge } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { TaskEndStatus } from '../../journal/index.ts'
import type { Directory } from '../staff/directory.ts'
import { hasEnded, type Book, type Entry } from './book.ts'
import { refusedBy, type TaskEnd } from './ends.ts'
import type { Patience } from './patience.ts'
import type { Queue } from './queue.ts'
import type { Readiness } from './readiness.ts'
import { Reviews, type Word } from './reviews.ts'
import { actedOn, reopen, tell } from './rework.ts'
import type { WorkListener } from './rules.ts'

type Ready = Extract<Readiness, { readonly type: 'ready' }>

/** What it has a say in. */
export interface Overseen {
  readonly book: Book
  readonly directory: Directory
  readonly queue: Queue
  readonly patience: Patience
  readonly listener: WorkListener
  readonly work: {
    readonly closed: () => string | undefined
    readonly hold: () => () => void
    readonly advance: () => void
    readonly leave: (thrown: unknown) => void
    readonly settle: (entry: Entry, status: TaskEndStatus, why: TaskEnd) => void
    readonly readinessOf: (entry: Entry) => Readiness
    readonly begin: (entry: Entry, state: Ready) => void
  }
}

export class Overseeing {
  readonly #ctx: Context
  readonly #parts: Overseen
  readonly #reviews: Reviews

  constructor(ctx: Context, edge: Edge, parts: Overseen) {
    this.#ctx = ctx
    this.#parts = parts
    this.#reviews = new Reviews({ ctx, edge, book: parts.book, asks: (entry, waits) => this.asks(entry, waits) })
  }

  /** How many permits are kept for those who may begin if nobody is asked about them. */
  get permits(): number {
    return this.#reviews.permits
  }

  /** Whether somebody looks at it, and nobody works on it meanwhile. */
  has(entry: Entry): boolean {
    return this.#reviews.has(entry)
  }

  /** A task has ended, whatever was asked about it. */
  ended(entry: Entry): void {
    this.#reviews.callOff(entry, 'its task has ended')
    this.#reviews.ended(entry)
  }

  /** A task may begin, as far as its permit and those before it go: begins it, or has it looked at first. */
  open(entry: Entry, state: Ready): void {
    const lapsed = this.#lapsed(entry)
    if (lapsed !== undefined) entry.looked = false
    if (lapsed === undefined && !this.#reviews.isDue(entry)) return this.#parts.work.begin(entry, state)
    if (state.satisfied) this.unblocked(entry)
    entry.backingOff = true
    this.#look(entry, this.#reviews.before(entry, lapsed), (word) => this.#mayBegin(entry, word))
  }

  /** Why a yes to a task that nobody has begun is not good any more: the run was held, or it waited, for too long. */
  #lapsed({ looked, lookedUntil }: Entry): string | undefined {
    return !looked || lookedUntil === undefined || this.#ctx.now().getTime() <= lookedUntil
      ? undefined
      : `it was approved before, but that was good until ${new Date(lookedUntil).toISOString()}, and nobody had begun`
  }

  /** A task has a result: it counts, or is looked at first. */
  done(entry: Entry): void {
    if (entry.task.review !== true) return this.#parts.work.settle(entry, 'succeeded', {})
    this.#look(entry, this.#reviews.after(entry), (word) => this.#mayCount(entry, word))
  }

  /** Somebody is asked about it, or about what is done for it (true); or not any more. */
  asks(entry: Entry, waits: boolean): void {
    const { patience, listener, work } = this.#parts
    if (!hasEnded(entry) && waits) entry.status = 'awaiting_approval'
    patience.asks(entry, waits)
    listener.progress()
    work.advance()
  }

  /** Everything that it waits for is there. */
  unblocked(entry: Entry): void {
    if (entry.begun === 0 && !entry.unblocked) this.#ctx.emit({ type: 'task.unblocked', task: entry.id })
    entry.unblocked = true
  }

  #look(entry: Entry, looking: Promise<Word>, heard: (word: Word) => void): void {
    const { hold, leave } = this.#parts.work
    const letGo = hold()
    const told = (word: Word): void => {
      entry.backingOff = false
      if (!hasEnded(entry)) this.#told(entry, word, heard)
      letGo()
    }
    looking.then(told).catch(leave)
  }

  #told(entry: Entry, word: Word, heard: (word: Word) => void): void {
    const { closed: closedFor, settle } = this.#parts.work
    const closed = closedFor()
    if (closed !== undefined || word.type === 'withdrawn')
      return settle(entry, 'cancelled', { reason: closed ?? 'nobody is asked any more' })
    if (word.type !== 'refused') return heard(word)
    this.refused(entry, word)
  }

  /** A human does not want it, or nobody has said in time that it may be. */
  refused(entry: Entry, word: Extract<Word, { readonly type: 'refused' }>): void {
    const { status, ...why } = refusedBy(entry, word)
    this.#parts.work.settle(entry, status, why)
  }

  #mayBegin(entry: Entry, word: Word): void {
    const { queue, work } = this.#parts
    entry.status = 'pending'
    if (word.type === 'again') return this.#rework(entry, word)
    const state = work.readinessOf(entry)
    // what it acts on is being changed, or was: it is asked about again
    entry.looked = word.type === 'given' && state.type === 'ready'
    entry.lookedUntil = word.type === 'given' ? word.until : undefined
    entry.approved = entry.looked && word.type === 'given' && word.asked
    // it has leave to begin already; after a human, who may have taken days, it asks for it again
    if (word.type === 'given' && !word.asked && state.type === 'ready') work.begin(entry, state)
    else queue.again(entry)
  }

  /** What it acts on is to be changed, and then it is looked at again. */
  #rework(entry: Entry, word: Extract<Word, { readonly type: 'again' }>): void {
    const { book, queue, listener } = this.#parts
    const before = actedOn(book, entry)
    if (before.length === 0) tell(entry, word.feedback)
    else entry.unblocked = false
    for (const each of before) {
      reopen(this.#ctx, each, word)
      listener.reopened(each)
      queue.again(each)
      for (const other of book.after(each)) other.looked = other.begun > 0
    }
    queue.again(entry)
  }

  #mayCount(entry: Entry, word: Word): void {
    const { directory, queue, work } = this.#parts
    if (word.type === 'given') {
      if (word.output !== undefined) entry.output = word.output
      return work.settle(entry, 'succeeded', {})
    }
    if (word.type === 'again') tell(entry, word.feedback)
    entry.status = 'pending'
    directory.move(entry.member, 'pending')
    queue.again(entry)
  }
}
