/**
 * The driver: moves runs forward. Per tick it delivers arrivals, commits everything learned and intended in one
 * transaction, and only then lets effects out: model calls and reads at once, all others, and whatever else an outside
 * can see, as soon as the store has it on disk.
 *
 * Owns: the tick, the commit and what follows from it, waking and parking runs.
 * Does not own: what activations ask for (command-handler.ts), the outside's verbs (engine.ts), how the store does it
 * (../store.ts).
 * Holds: K1 (one writer), K2 (fencing, discard), K5 (output commit and output sync, group commit), K6 (effects join what
 * is in flight).
 */
import {
  andThen,
  caught,
  detached,
  failureFrom,
  oneAtATime,
  present,
  ReeveError,
  runOf,
  stopwatch,
  type Clock,
  type Now,
  type RunId,
  ChurnMap,
  ChurnSet,
} from '@reeve/core'
import { mailShape } from '@reeve/journal'
import type { Registry } from '../context.ts'
import { Effects } from '../replay/effects.ts'
import { hasConsequences, type Operation } from '../replay/operation.ts'
import type { CloseOptions, LivePart, PartAuthor, PostResult, RunEnd } from '../port.ts'
import {
  emptyBatch,
  isEmpty,
  synced,
  type Batch,
  type BatchResult,
  type LogEntry,
  type NewRow,
  type StoreLog,
  type Unread,
  type ValueResult,
  type ValueWrite,
} from '../store.ts'
import { DeadlineAlarm } from './alarm.ts'
import type { CrashPoint, EngineState, DriverOptions } from './engine-state.ts'
import { CommandHandler } from './command-handler.ts'
import { receive } from './inbox.ts'
import { RunCache, cacheCap } from './run-cache.ts'
import type { LoadedActivation, LoadedRun } from './loaded-run.ts'
import { Placement } from './placement.ts'
import { usageSoFar } from './run-accounts.ts'
import { ReadyList } from './delivery-turn.ts'
import { joined, split, type Part, type SplitResult } from './split.ts'

/** Events per commit, and milliseconds before other work of the process gets its turn. */
const commitCap = 2_000
const yieldAfterMs = 5
/**
 * Where commits cost nothing, so many activations are given something before one: what the first of them want done
 * leaves while the others are still being told.
 */
const activationsPerCommit = 16
/** Effects are let out for so long before what has come in meanwhile is recorded. Milliseconds. */
const releaseForMs = 50
const retryCommitMs = [50, 100, 200, 500, 1_000, 2_000, 5_000]

/** What a commit has written. Nothing was refused of a batch that was written whole. */
type Written = Omit<SplitResult, 'refused'> & Partial<Pick<SplitResult, 'refused'>>

/** What a tick does next. */
type Stage = 'deliver' | 'delivered' | 'commit' | 'committed' | 'release' | 'released' | 'again'

const settled = Promise.resolve()

/** A caller that waits for what becomes of its part of a batch. */
interface Waiter<T> {
  readonly resolve: (result: T) => void
  readonly reject: (error: Error) => void
}

/** What is done when a batch is written. */
class FollowUp {
  /** Runs that it is about. */
  readonly touched = new Set<RunId>()
  /** In the order of the rows of the batch, and of its values. */
  readonly posts: Waiter<PostResult>[] = []
  readonly values: Waiter<ValueResult>[] = []
  /** Callers that wait for the beginning of a run. */
  readonly begun: (Waiter<boolean> & { readonly run: RunId })[] = []
  /** Activations that have settled: until then the store does not know that they are over. */
  readonly gone: LoadedActivation[] = []
  /** Keys of effects whose ends are in the batch. */
  readonly steps: { readonly run: RunId; readonly key: string }[] = []

  fail(error: Error): void {
    for (const { reject } of [...this.posts, ...this.values, ...this.begun]) reject(error)
  }
}

/** No run was refused. */
const noneRefused = (): undefined => undefined

/** Moves all of a list to the end of another one. */
function moveAll<T>(from: T[], to: T[]): void {
  if (from.length === 0) return
  for (let i = 0; i < from.length; i++) to.push(from[i]!)
  from.length = 0
}

/** Settles a promise with the result of its part of a batch, or with the store's refusal. */
function settle<T>(
  done: T | undefined,
  resolve: (done: T) => void,
  reject: (error: Error) => void,
  refused: ReeveError | undefined,
): void {
  if (done === undefined) reject(refused!)
  else resolve(done)
}

/** What an outside is told of a commit; `reject`: it cannot be told. */
interface StateReport {
  readonly tell: () => void
  readonly reject?: (error: Error) => void
}

/** Tells the runs that wait what a commit has come to, and returns what an outside is to be told of it. */
function answers(
  batch: Batch,
  { posts, values, begun }: FollowUp,
  result: Written,
  refused: (run: RunId | undefined) => ReeveError | undefined,
): StateReport[] {
  const reports: StateReport[] = []
  /** A run hears at once: what it does then depends on this commit and is written after it. */
  const answer = (from: RunId | undefined, report: StateReport): void => {
    if (from === undefined) reports.push(report)
    else report.tell()
  }
  for (const [i, { resolve, reject }] of posts.entries()) {
    const { from } = batch.rows[i]!
    answer(from, { tell: () => settle(result.posts[i], resolve, reject, refused(from)), reject })
  }
  for (const [i, { resolve, reject }] of values.entries()) {
    const from = batch.values[i]!.by?.run
    answer(from, { tell: () => settle(result.values[i], resolve, reject, refused(from)), reject })
  }
  for (const { run, resolve, reject } of begun) {
    const existed = refused(run) === undefined ? result.existed.includes(run) : undefined
    reports.push({ tell: () => settle(existed, resolve, reject, refused(run)), reject })
  }
  return reports
}

/** What waits until a commit is on disk. */
interface Unsynced {
  readonly effects: readonly Operation[]
  readonly reports: readonly StateReport[]
  readonly synced: Promise<void>
}

export class Driver implements EngineState {
  readonly options: DriverOptions
  readonly clock: Clock
  readonly crash?: (point: CrashPoint) => boolean
  readonly store: StoreLog
  readonly effects: Effects
  readonly commands: CommandHandler
  readonly cache: RunCache
  readonly placement: Placement
  readonly alarm: DeadlineAlarm
  readonly runs = new ChurnMap<RunId, LoadedRun>()
  readonly ready = new ReadyList()
  registry: Registry | undefined
  batch: Batch
  readonly outbox: Operation[] = []
  /** Effects whose log is in the commit that is under way: they leave when it is through. */
  #sealed: Operation[] = []
  /**
   * Effects that are called off when what stops them is durable; in the second list, with the commit that is under way.
   * A memory that becomes void before has stopped nothing (K5).
   */
  readonly #stops: Operation[] = []
  #sealedStops: Operation[] = []
  /** Effects that nothing keeps any more: they leave now. */
  readonly #cleared: Operation[] = []
  readonly #unsynced = new ChurnSet<Unsynced>()
  dead = false
  /** Nothing is delivered, let out or woken any more; what is known is still recorded. */
  closing = false
  /** Called after every commit (`own`) and whenever another process has written. */
  onChange: (runs: ReadonlySet<RunId> | 'all', by: 'own' | 'another') => void = () => {}
  onEnd: (run: RunId, end: RunEnd) => void = () => {}
  onPart: (run: RunId, part: LivePart, author: PartAuthor) => void = () => {}
  onStoreFailure: (error: ReeveError, runs: readonly RunId[]) => void = () => {}
  /** Called after every commit, before `onChange`. */
  onWritten: () => void = () => {}
  /** Called with what a commit of this process has recorded. Undefined: nobody asks. */
  onRecorded: ((log: readonly LogEntry[]) => void) | undefined
  commits = 0
  /** Ends of runs that are in the batch. */
  readonly ends = new ChurnMap<RunId, RunEnd>()
  #followUp = new FollowUp()
  /** A tick is under way. */
  #pumping = false
  #scheduled = false
  #stage: Stage = 'deliver'
  /** Who was given something in this delivery. */
  #turn: readonly LoadedActivation[] = []
  /** How many activations were given something since the last commit. */
  #given = 0
  readonly #mostGiven: number
  /** When the tick lets other work of the process have its turn. */
  #until = 0
  #failures = 0
  /** Runs that could not be written or read: they are tried again later. */
  readonly #owed = new ChurnSet<RunId>()
  #resting = false
  /** The store could not say which runs are still this process's own: until it can, nothing is let out. */
  #blind = false
  /** While it closes and effects are awaited: done when something has come in. */
  #whileClosing: (() => Now<void>) | undefined
  /** Runs of which a cancel was known before it began to close. */
  readonly #isCancelled = new Set<RunId>()
  /** Reads that what is delivered now waits for. */
  #awaited: Promise<void>[] = []
  readonly #unreadMail = oneAtATime(
    () => (this.dead ? undefined : andThen(this.store.unread(this.runs), (unread) => this.#deliverMail(unread))),
    (thrown) => {
      const error = this.store.errorOf(thrown)
      this.onStoreFailure(error, [])
      if (error.retryable) this.retryLater([])
    },
  )

  constructor(options: DriverOptions, store: StoreLog) {
    this.options = options
    this.clock = options.clock
    const { crash } = options
    const crashes = (point: CrashPoint): boolean => {
      if (crash?.(point) !== true) return false
      this.dead = true
      store.lease.abandon()
      return true
    }
    if (crash !== undefined) this.crash = crashes
    this.store = store
    this.#mostGiven = store.commitsFree ? activationsPerCommit : Infinity
    this.batch = emptyBatch(store.lease.id)
    this.commands = new CommandHandler(this)
    this.cache = new RunCache(this)
    this.placement = new Placement(options.mover, (run) => this.#take(run))
    this.alarm = new DeadlineAlarm(this)
    this.effects = new Effects(this.commands.dispatcher, options.governor, options.deadlines)
    store.listen(() => this.checkNews())
  }

  schedule(): void {
    if (this.#scheduled || this.#pumping || this.dead) return
    this.#scheduled = true
    setImmediate(this.#begin)
  }

  readonly #begin = (): void => {
    this.#scheduled = false
    if (this.closing) return void this.#whileClosing?.()
    this.#pumping = true
    this.#until = performance.now() + yieldAfterMs
    this.#stage = 'deliver'
    this.#go()
  }

  /** True while something is left to do without the outside. */
  get busy(): boolean {
    const held = this.#sealed.length + this.#sealedStops.length + this.#cleared.length
    const leaving = this.outbox.length + this.#stops.length + held
    return this.ready.size > 0 || this.#followUp.touched.size > 0 || !isEmpty(this.batch) || leaving > 0
  }

  /**
   * Goes on with the tick until it is over, or has to wait: then it is called again. No async function, because between
   * two commits a tick waits for nothing but the microtask queue.
   */
  readonly #go = (): void => {
    try {
      this.#steps()
    } catch (thrown) {
      this.#broken(thrown)
    }
  }

  #steps(): void {
    for (;;) {
      switch (this.#stage) {
        case 'deliver':
          if (this.dead) return this.#rest()
          if (this.ready.size === 0 || this.batch.log.length >= commitCap || this.#given >= this.#mostGiven)
            this.#stage = 'commit'
          else if (this.#deliver()) return this.#whenDrained('delivered')
          break
        case 'delivered':
          for (const activation of this.#turn) if (activation.awaitsForeign) this.commands.foreignAwait(activation)
          this.#stage = 'deliver'
          // What was asked of the store is part of this delivery: a worker and the intent to start it ride in one
          // transaction.
          if (this.#awaited.length > 0) return this.#once(this.#awaitedDone())
          break
        case 'commit': {
          this.#stage = 'committed'
          const written = this.#commit()
          if (written === false) return this.#rest()
          if (written instanceof Promise) return this.#once(written)
          break
        }
        case 'committed':
          this.#stage = 'release'
          if (this.#awaited.length > 0) return this.#once(this.#awaitedDone())
          break
        case 'release': {
          this.#stage = 'released'
          const released = this.#release()
          if (released instanceof Promise) return this.#once(released)
          break
        }
        case 'released':
          this.#stage = 'again'
          if (this.outbox.length === 0 && this.ready.size === 0) return this.#whenDrained('again')
          break
        case 'again':
          if (!this.busy || this.closing || this.#blind || performance.now() >= this.#until) return this.#rest()
          this.#stage = 'deliver'
      }
    }
  }

  /** Goes on with the tick after this. Is the answer no, the tick is over. */
  #once(answer: Promise<unknown>): void {
    answer.then(
      (later) => (later === false ? this.#rest() : this.#go()),
      (thrown: unknown) => this.#broken(thrown),
    )
  }

  /**
   * Goes on when the microtask queue has run dry: what is queued with `nextTick` from a microtask runs after all of
   * them and before any I/O or timer.
   */
  #whenDrained(stage: Stage): void {
    this.#stage = stage
    settled.then(this.#drain, this.#drain)
  }
  readonly #drain = (): void => process.nextTick(this.#go)

  /** The tick is over. */
  #rest(): void {
    this.#pumping = false
    if (this.#blind ? this.ready.size > 0 || !isEmpty(this.batch) : this.busy) this.schedule()
  }

  #broken(thrown: unknown): void {
    this.#rest()
    this.onStoreFailure(this.store.errorOf(thrown), [])
  }

  /** One arrival to every activation whose turn it is. True if the code of one of them goes on. */
  #deliver(): boolean {
    this.#turn = this.ready.takeTurn(this.#mostGiven)
    this.#given += this.#turn.length
    let resumed = false
    for (const activation of this.#turn) {
      const { replaying, run } = activation
      resumed = activation.advance() || resumed
      // a commit in the middle of a replay found the run at work: whether it rests can be said only now
      if (replaying && !activation.replaying && !run.isVoid) this.touch(run)
    }
    return resumed
  }

  async #awaitedDone(): Promise<void> {
    while (this.#awaited.length > 0) await Promise.all(this.#awaited.splice(0))
  }

  await(work: Promise<void>): void {
    this.#awaited.push(work)
  }

  touch(run: LoadedRun): void {
    this.#followUp.touched.add(run.id)
    this.batch.epochs.set(run.id, run.epoch)
    if (!this.#pumping) this.schedule()
  }

  /** True if the process may go on (nothing to write, or written). */
  #commit(): Now<boolean> {
    this.#given = 0
    this.#prepare()
    const batch = this.batch
    const followUp = this.#followUp
    // What comes into the outbox while a commit is on its way depends on the next commit, not on this one.
    moveAll(this.outbox, this.#sealed)
    moveAll(this.#stops, this.#sealedStops)
    if (isEmpty(batch)) {
      followUp.touched.clear()
      this.#clear([])
      this.checkNews()
      return true
    }
    if (this.crash?.('commit.before') === true) return false
    this.batch = emptyBatch(this.store.lease.id)
    this.#followUp = new FollowUp()
    const written = this.#write(batch)
    return written instanceof Promise
      ? this.#whenWritten(batch, followUp, written)
      : this.#written(batch, followUp, written)
  }

  #whenWritten(batch: Batch, followUp: FollowUp, written: Promise<Written>): Promise<boolean> {
    return written.then(
      (result) => this.#written(batch, followUp, result),
      (thrown: unknown) => this.#commitFailed(this.store.errorOf(thrown), batch, followUp),
    )
  }

  /** The batch is written. False: the process is dead. */
  #written(batch: Batch, followUp: FollowUp, result: Written): boolean {
    const { touched, posts, values, begun, gone, steps } = followUp
    this.#failures = 0
    this.commits++
    this.onWritten()
    let isDone = false
    for (const { run, key } of steps) {
      isDone = this.effects.forget(key) || isDone
      this.cache.crashLoops.moved(run)
    }
    if (this.crash?.('commit.after') === true) return false
    if (result.fenced.length + result.existed.length > 0) {
      for (const run of [...result.fenced, ...result.existed]) this.#lose(run)
      for (const run of result.existed) this.cache.existed(run)
    }
    const refused = result.refused === undefined ? noneRefused : this.#refuse(batch, result.refused)
    if (this.onRecorded !== undefined) {
      const lost = new Set([...result.fenced, ...result.existed])
      this.onRecorded(batch.log.filter(({ run }) => !lost.has(run) && refused(run) === undefined))
    }
    const reports = posts.length + values.length + begun.length === 0 ? [] : answers(batch, followUp, result, refused)
    for (const { run, id } of gone) run.activations.delete(id)
    this.#afterCommit(batch, touched, result, reports)
    this.#clear(reports, isDone, batch.runs)
    return true
  }

  /**
   * A commit is through: model calls and reads may leave. Whatever else an outside can see of it waits until it is on
   * disk (K5). `isDone`: it records what an effect with consequences has come to, which is to be on disk soon. `begun`:
   * runs that begin with it. Their first effects leave when their callers are told, who may want to hear the first word.
   */
  #clear(reports: readonly StateReport[], isDone = false, begun: Batch['runs'] = []): void {
    const isUrgent = isDone || reports.length + this.#sealedStops.length > 0 || this.#sealed.some(hasConsequences)
    if (!isUrgent) return moveAll(this.#sealed, this.#cleared)
    const sealed = this.#sealed.splice(0)
    const stops = this.#sealedStops.splice(0)
    const told = (): void => {
      this.#carryOut(stops)
      for (const { tell } of reports) tell()
    }
    const durable = caught(
      () => synced(this.store),
      (thrown) => Promise.reject(thrown as Error),
    )
    if (!(durable instanceof Promise)) {
      moveAll(sealed, this.#cleared)
      return told()
    }
    const effects: Operation[] = []
    const isFirst = (op: Operation): boolean => begun.some(({ id }) => id === (op.owner as LoadedActivation).run.id)
    for (const op of sealed) (hasConsequences(op) || isFirst(op) ? effects : this.#cleared).push(op)
    const waiting: Unsynced = { effects, reports: reports, synced: durable }
    this.#unsynced.add(waiting)
    durable.then(
      () => {
        if (!this.#unsynced.delete(waiting)) return
        this.#cleared.push(...effects)
        told()
        if (effects.length > 0) this.schedule()
      },
      (thrown: unknown) => {
        if (this.#unsynced.has(waiting)) this.onStoreFailure(thrown as ReeveError, [])
      },
    )
  }

  /**
   * Writes the batch: whole, or, where the store refuses what is in it, every part that it takes (K5: each of them is
   * one transaction). Rejects if the store itself has failed.
   */
  #write(batch: Batch): Now<Written> {
    return caught<Written>(
      () => this.store.commit(batch),
      (thrown) => this.#writeParts(batch, thrown),
    )
  }

  async #writeParts(batch: Batch, refusal: unknown): Promise<SplitResult> {
    if (!this.store.isRefusal(refusal)) throw refusal
    const parts: { part: Part; done: BatchResult | { thrown: unknown } }[] = []
    for (const part of split(batch)) {
      try {
        parts.push({ part, done: await this.store.commit(part.batch) })
      } catch (thrown) {
        if (!this.store.isRefusal(thrown)) throw thrown
        parts.push({ part, done: { thrown } })
      }
    }
    return joined(batch, parts)
  }

  /**
   * What the store refuses would be refused again: its run is set aside. A run that has not begun is dropped, and its
   * caller gets the error. Returns what was refused, by run.
   */
  #refuse(batch: Batch, refused: SplitResult['refused']): (run: RunId | undefined) => ReeveError | undefined {
    const errors = new Map(refused.map(({ run, thrown }) => [run, this.store.refusedBy(thrown, run)] as const))
    for (const [run, error] of errors) {
      if (run === undefined) continue
      const epoch = batch.epochs.get(run)
      if (epoch === undefined || batch.runs.some(({ id }) => id === run)) this.cache.drop(run, 'elsewhere')
      else this.cache.setAside(run, epoch, failureFrom(error, error.code))
    }
    return (run) => errors.get(run)
  }

  /** Another process has taken the run over. */
  #lose(run: RunId, why?: string): void {
    this.cache.drop(run, 'elsewhere')
    this.effects.forgetAll(run, why)
    this.onChange(new Set([run]), 'another')
  }

  #prepare(): void {
    for (const id of this.#followUp.touched) {
      const run = this.runs.get(id)
      if (run === undefined) continue
      for (const account of run.dirty)
        this.batch.accounts.push({ act: account.activation, run: id, state: account.state() })
      run.dirty.length = 0
      // A closing engine's memory is void: the next process notes it.
      if (run.pause !== undefined && !this.closing) this.commands.dispatcher.notePaused(run, run.pause)
      if (!this.#mayPark(run)) continue
      this.batch.parked.push({ run: id, heard: run.lastRow, ...present({ usage: usageSoFar(run) }) })
      this.batch.epochs.set(id, run.epoch)
    }
  }

  /**
   * A quiet run parks in the transaction that makes it quiet if it waits for the outside; otherwise after a while,
   * because the clock may wake it soon.
   */
  #mayPark(run: LoadedRun): boolean {
    if (!run.quiet || this.#hasReady(run) || run.reload || this.closing) {
      run.quietSince = undefined
      return false
    }
    // What it writes to itself in this commit sets it going again.
    const isQuiet = !this.batch.rows.some(({ act, from }) => from === run.id && from === runOf(act))
    run.quietSince = (isQuiet ? run.quietSince : undefined) ?? this.clock.now()
    if (!isQuiet) return false
    return (
      run.questions > 0 ||
      run.stuck !== undefined ||
      run.pause !== undefined ||
      this.runs.size > cacheCap ||
      this.clock.now() - run.quietSince >= this.options.parkAfterMs
    )
  }

  #hasReady(run: LoadedRun): boolean {
    for (const { isReady } of run.activations.values()) if (isReady) return true
    return false
  }

  /** Looks again at runs that have been quiet for long enough to park. */
  parkQuiet(): void {
    const now = this.clock.now()
    for (const run of this.runs.values()) {
      if (run.quietSince !== undefined && now - run.quietSince >= this.options.parkAfterMs)
        this.#followUp.touched.add(run.id)
    }
    if (this.#followUp.touched.size > 0) this.schedule()
  }

  #afterCommit(
    batch: Batch,
    touched: ReadonlySet<RunId>,
    result: Pick<BatchResult, 'moved' | 'awake' | 'fenced' | 'existed'>,
    reports: StateReport[],
  ): void {
    const { awake } = result
    const now = stopwatch()
    const isLeft = batch.parked.length + batch.ended.length > 0
    const roused = isLeft ? this.#dropLeft(batch, awake, reports) : []
    for (const id of touched) {
      const run = this.runs.get(id)
      if (run !== undefined) run.movedAt = now
      if (run?.reload === true) {
        this.cache.drop(id)
        roused.push(id)
      }
    }
    if (roused.length > 0) this.cache.wake(roused)
    if (batch.runs.length > 0) this.#offerBegun(batch, result, reports)
    if (this.placement.hasMover) reports.push({ tell: () => this.#wakeElsewhere(batch) })
    const heard = result.moved || batch.rows.length + awake.length > 0 ? this.#unreadMail() : undefined
    // Mail posted in this commit is delivered before its effects leave: a pause holds back effects that began with it.
    if (heard instanceof Promise && batch.rows.length > 0) this.#awaited.push(heard)
    if (result.moved) this.#othersHaveWritten('all')
    if (batch.questions.length > 0) this.#arm(batch.questions)
    if (!result.moved) this.onChange(touched, 'own')
    if (isLeft) this.cache.adoptMore()
  }

  /** Runs that have parked or ended leave memory. Returns those that are to come back at once. */
  #dropLeft(batch: Batch, awake: readonly RunId[], reports: StateReport[]): RunId[] {
    const roused: RunId[] = []
    for (const { run, heard } of batch.parked) {
      if (awake.includes(run)) continue
      // What came in while the commit was on its way was given to a memory that is gone now.
      const isRoused = (this.runs.get(run)?.lastRow ?? 0) > heard
      if (isRoused) roused.push(run)
      this.cache.drop(run, isRoused ? undefined : 'parked')
    }
    for (const { run } of batch.ended) {
      const end = this.ends.get(run)
      this.cache.drop(run, 'ended')
      if (end !== undefined) reports.push({ tell: () => this.onEnd(run, end) })
    }
    return roused
  }

  /** Child runs that have begun with this commit are offered to all processes that drive. */
  #offerBegun(
    { runs }: Batch,
    { fenced, existed }: Pick<BatchResult, 'fenced' | 'existed'>,
    reports: StateReport[],
  ): void {
    const isLost = (run: RunId): boolean => fenced.includes(run) || existed.includes(run)
    for (const { id, from } of runs)
      if (from !== undefined && !isLost(from) && !isLost(id)) reports.push({ tell: () => this.cache.offer(id) })
  }

  #arm(questions: Batch['questions']): void {
    for (const { kind, until } of questions) if (until !== null) this.alarm.arm(kind === 'timer' ? until : until + 1)
  }

  /** Memory is ahead of the disk: all of this batch is void and read again; nothing of it was let out (K5). */
  #commitFailed(error: ReeveError, batch: Batch, followUp: FollowUp): false {
    const runs = [...batch.epochs.keys()]
    followUp.fail(error)
    for (const run of runs) this.cache.drop(run)
    this.onStoreFailure(error, runs)
    this.retryLater(runs)
    return false
  }

  /** The store has failed: these runs are read again after a while, and after a longer one if it fails again. */
  retryLater(runs: readonly RunId[]): void {
    for (const run of runs) this.#owed.add(run)
    if (this.#resting) return
    this.#resting = true
    const delay = retryCommitMs[Math.min(this.#failures++, retryCommitMs.length - 1)]!
    setTimeout(() => {
      this.#resting = this.#blind = false
      const owed = [...this.#owed]
      this.#owed.clear()
      this.cache.wake(owed)
      this.fetchMail()
      this.schedule()
    }, delay).unref()
  }

  callOff(op: Operation): void {
    this.#stops.push(op)
    this.schedule()
  }

  /** What stops them is durable. */
  #carryOut(stops: readonly Operation[]): void {
    for (const op of stops) if (!op.owner.discarded) this.effects.abort(op, op.stopped ?? 'stopped')
  }

  #release(): Now<void> {
    if (this.#cleared.length === 0 || this.closing || this.#blind) return
    if (this.store.lease.fresh) return this.#letOut()
    return andThen(this.#recheckLease(), (sees) => {
      if (sees && !this.closing) this.#letOut()
    })
  }

  /**
   * Code of an effect may block the event loop: then the others leave with the next tick, so that what has ended is
   * recorded before the next one blocks it.
   */
  #letOut(): void {
    const until = performance.now() + releaseForMs
    const leaving = this.#cleared.splice(0)
    for (const [i, op] of leaving.entries()) {
      if (i > 0 && performance.now() >= until) return void this.#cleared.unshift(...leaving.slice(i))
      if (op.owner.discarded) continue
      if (op.owner.replaying && op.owner.stuck === undefined) this.outbox.push(op)
      else if (this.crash?.('release') === true) return
      else this.commands.dispatcher.release(op)
    }
  }

  /**
   * This process stood still for longer than its lease: it checks which runs are still its own before an effect leaves.
   */
  #recheckLease(): Now<boolean> {
    // No other process can hold a run that is not written yet.
    const unwritten = new Set(this.batch.runs.map(({ id }) => id))
    const held = [...this.runs.values()].flatMap((run): [RunId, number][] =>
      unwritten.has(run.id) ? [] : [[run.id, run.epoch]],
    )
    return caught(
      () =>
        andThen(this.store.lease.reclaim(held), (owned) => {
          for (const [run, epoch] of held) if (!owned.has(run) && this.runs.get(run)?.epoch === epoch) this.#lose(run)
          return true
        }),
      (thrown) => {
        this.onStoreFailure(this.store.errorOf(thrown), [])
        this.#blind = true
        this.retryLater([])
        return false
      },
    )
  }

  post(row: Omit<NewRow, 'at'>): Promise<PostResult> {
    return new Promise((resolve, reject) => {
      this.batch.rows.push({ ...row, at: this.store.time(), body: this.options.redact(row.body, mailShape) })
      this.#followUp.posts.push({ resolve, reject })
      this.schedule()
    })
  }

  writeValue(write: ValueWrite): Promise<ValueResult> {
    return new Promise((resolve, reject) => {
      const run = write.by === undefined ? undefined : this.runs.get(write.by.run)
      if (run !== undefined) this.batch.epochs.set(run.id, run.epoch)
      this.batch.values.push(write)
      this.#followUp.values.push({ resolve, reject })
      this.schedule()
    })
  }

  /** Resolves when the run's first entry is durable; true if it existed already. */
  durable(run: RunId): Promise<boolean> {
    return new Promise((resolve, reject) => this.#followUp.begun.push({ run, resolve, reject }))
  }

  /**
   * A run that is dropped before it was written has not begun, and its caller gets the error: no row of it may stand
   * alone.
   */
  abandonBirth(id: RunId): void {
    const place = this.batch.runs.findIndex((run) => run.id === id)
    if (place < 0) return
    this.batch.runs.splice(place, 1)
    const error = new ReeveError('store.unavailable', `the run "${id}" was not begun: the store failed`, {
      retryable: true,
    })
    const { begun } = this.#followUp
    const told = begun.filter(({ run }) => run === id)
    moveAll(
      begun.splice(0).filter(({ run }) => run !== id),
      begun,
    )
    for (const { reject } of told) reject(error)
  }

  recordStep(run: RunId, key: string): void {
    this.#followUp.steps.push({ run, key })
  }

  /** A settled activation leaves memory after the commit; until then the store does not know that it is over. */
  forgetSettled(activation: LoadedActivation): void {
    this.#followUp.gone.push(activation)
  }

  /** Asks what other processes have written. */
  checkNews(): void {
    const moved = this.dead ? undefined : this.store.moved()
    if (moved !== undefined) this.storeChanged(moved)
  }

  /**
   * Another process has written: there may be mail, news for those who wait, and, if the runs are unknown, new runs to
   * take up.
   */
  storeChanged(runs: ReadonlySet<RunId> | 'all'): void {
    this.fetchMail()
    this.#othersHaveWritten(runs)
  }

  #othersHaveWritten(runs: ReadonlySet<RunId> | 'all'): void {
    this.onChange(runs, 'another')
    if (runs === 'all') this.cache.adoptOrphans()
  }

  fetchMail(): void {
    detached(
      () => this.#unreadMail(),
      () => undefined,
    )
  }

  #deliverMail({ rows, others }: Unread): void {
    const left = new Set(others)
    for (const row of rows) {
      const run = this.runs.get(runOf(row.act))
      if (run === undefined) left.add(runOf(row.act))
      else if (row.position > run.lastRow) {
        run.lastRow = row.position
        receive(this, run, row)
      }
    }
    // with a mover, the process that has written to them wakes them
    if (this.registry !== undefined && !this.placement.hasMover) this.cache.wake(left)
  }

  /** What this process has written for runs that it does not hold. */
  #wakeElsewhere(batch: Batch): void {
    const written = new Set([...batch.runs.map(({ id }) => id), ...batch.rows.map(({ act }) => runOf(act))])
    for (const run of written) if (!this.runs.has(run)) this.placement.wake(run)
  }

  /** A run that this process was told to move. */
  #take(run: RunId): void {
    if (this.registry === undefined || this.dead || (this.closing && !this.runs.has(run)))
      this.placement.left(run, 'elsewhere')
    else if (!this.closing) this.cache.wake([run])
  }

  /**
   * Gives what is out this long to end, records each end as it comes, and lets nothing new out; then aborts what is left.
   * Runs for which nothing is awaited are released at once, so that other processes go on with them meanwhile.
   * `onWaiting` is told what is awaited, whenever it changes. Milliseconds of real time.
   */
  async finish(graceMs: number, onWaiting?: CloseOptions['onWaiting']): Promise<void> {
    this.closing = true
    const begun = stopwatch()
    let told = ''
    const drained = this.effects.drain(graceMs, () => {
      const left = JSON.stringify(this.effects.underWay)
      if (onWaiting === undefined || left === told || this.dead) return
      told = left
      onWaiting(this.effects.underWay, Math.max(0, graceMs - (stopwatch() - begun)))
    })
    while (this.#pumping) await new Promise((resolve) => setImmediate(resolve))
    await this.cache.settled()
    const handOver = oneAtATime(
      () => this.#handOver(),
      (thrown) => this.onStoreFailure(this.store.errorOf(thrown), []),
    )
    for (const run of this.runs.values()) if (run.root?.cancelKnown === true) this.#isCancelled.add(run.id)
    // also what is stopped is called off before anything is waited for
    if (this.effects.isAwaited) await handOver()
    this.#whileClosing = handOver
    await drained
    this.#whileClosing = undefined
    // the last ends may be on their way to the store
    await handOver()
    if (this.dead) return
    this.#noteArrivals()
    for (const run of this.runs.values()) for (const activation of run.activations.values()) activation.discarded = true
    await this.#commit()
    await this.#synced()
  }

  /**
   * What has come in is recorded; the code is given it by the next process, so that it begins nothing here that would
   * not be let out.
   */
  #noteArrivals(): void {
    const unsynced = [...this.#unsynced].flatMap(({ effects }) => effects)
    this.commands.dispatcher.noteUnreleased([...this.#cleared, ...unsynced, ...this.#sealed, ...this.outbox])
    for (const run of this.runs.values()) for (const activation of run.activations.values()) activation.recordArrivals()
  }

  /** Records what has come in, and releases the runs for which nothing is awaited. */
  async #handOver(): Promise<void> {
    if (this.dead) return
    this.#noteArrivals()
    await this.#commit()
    if (this.store.isPrivate || this.dead) return
    const [idle, kept]: [RunId[], RunId[]] = [[], []]
    for (const run of this.runs.values()) {
      // the next process carries out a cancel that has come in meanwhile
      if (run.root?.cancelKnown === true && !this.#isCancelled.has(run.id)) this.effects.giveUp(run.id)
      const isKept = this.effects.awaits(run.id) || this.batch.epochs.has(run.id) || this.#hasReady(run)
      ;(isKept ? kept : idle).push(run.id)
    }
    // also runs whose claim was answered too late for them to be read
    await this.store.letGo(kept)
    for (const run of idle) {
      this.cache.drop(run, 'elsewhere')
      this.effects.forgetAll(run)
      this.placement.wake(run)
    }
  }

  /** Everything is on disk, and whoever was to be told of it has been told. */
  async #synced(): Promise<void> {
    try {
      await synced(this.store)
      while (this.#unsynced.size > 0) await Promise.all([...this.#unsynced].map((waiting) => waiting.synced))
    } catch (thrown) {
      this.onStoreFailure(this.store.errorOf(thrown), [])
    }
  }

  /** Nothing can be recorded any more: nothing is let out, and callers that wait for a commit get the error. */
  fail(error: ReeveError): void {
    this.stop()
    for (const { reports } of this.#unsynced) for (const { reject } of reports) reject?.(error)
    this.#unsynced.clear()
    this.#followUp.fail(error)
    this.#followUp = new FollowUp()
    for (const run of this.runs.keys()) this.#lose(run, error.message)
  }

  stop(): void {
    this.dead = true
    this.store.lease.abandon()
    this.alarm.stop()
    this.effects.stop()
  }
}
