/**
 * The host: the Engine port over a store. Several processes may have the same store open; each moves the runs that it
 * holds.
 *
 * Owns: the Engine port for those outside a run, the one change watch and heartbeat of the process, opening and
 * closing.
 * Does not own: moving runs (driver.ts), replay (../replay/activation.ts), where anything is kept (../store.ts).
 */
import {
  andThen,
  caught,
  detached,
  flag,
  interval,
  present,
  isChildRun,
  redactionCheck,
  redactor,
  ReeveError,
  rootActivation,
  rootRun,
  runOf,
  Slices,
  stopwatch,
  systemClock,
  timerMs,
  unchecked,
  type Checks,
  type Clock,
  type Json,
  type Now,
  type Redaction,
  type RunId,
} from '@reeve/core'
import { decode, encode, eventShape, type JournalEvent, type Recorded } from '@reeve/journal'
import { RunContents } from '../contents.ts'
import type { ContentReader, Registry } from '../context.ts'
import type { Governor } from '../governor.ts'
import { asRecorded } from '../replay/scope.ts'
import { withAllBounds } from '../figures/counters.ts'
import { HeldIndex } from '../figures/held-index.ts'
import { asksIndex } from '../run-search.ts'
import { CausesFold, TotalsFold } from '../figures/totals.ts'
import { streamFromOutside } from '../streams.ts'
import {
  addressOfPost,
  birthOf,
  mustBeSameStart,
  mustHoldNoSecret,
  openRun,
  unknownRun,
  type Causes,
  type CloseOptions,
  type RunCounter,
  type Engine,
  type EngineStatus,
  type FeedPage,
  type FiguresFilter,
  type FiguresRow,
  type ForkRun,
  type PartListener,
  type PartListenerOptions,
  type Post,
  type PostResult,
  type ProcessReport,
  type Question,
  type QuestionFilter,
  type RecordedHere,
  type RunEnd,
  type RunFilter,
  type RunSummary,
  type StartRun,
  type StreamValues,
  type Totals,
  type TotalsOptions,
} from '../port.ts'
import type { Deadlines } from '../replay/effects.ts'
import type { Mover } from '../mover.ts'
import {
  isLost,
  isMistake,
  synced,
  type LogEntry,
  type Store,
  type StoreIndex,
  type StoreLease,
  type StoreReader,
} from '../store.ts'
import { warning } from '../warning.ts'
import type { CrashPoint, DriverOptions } from './engine-state.ts'
import { newRun, writeBirth } from './birth.ts'
import { digestsOf } from './digests.ts'
import { Driver } from './driver.ts'
import { contentsHost } from './effect-dispatcher.ts'
import { forkRun } from './fork.ts'
import { askerWaitsMs, Indexer } from './indexer.ts'
import { SchedulingDelay } from './scheduling-delay.ts'
import { Subscriptions } from './subscriptions.ts'
import { Outage } from './outage.ts'
import { patienceMs } from './placement.ts'
import { heldStalls, Reporter, stalledAfter, stallsIn } from './stalls.ts'
import { LoadedRun } from './loaded-run.ts'
import { updateValue } from './values.ts'

/** How runs are moved. Everything has a default. */
export interface HostOptions {
  readonly clock?: Clock
  /** In strict mode (for tests) a foreign await is an error. Default false: a warning. */
  readonly strict?: boolean
  /**
   * A run whose process dies so often in a row, each time within ten seconds of taking it up, is set aside (`stuck`,
   * `run.crash-loop`). At least 2, default 5.
   */
  readonly lossLimit?: number
  /**
   * A run that waits for the clock leaves memory after this time. Milliseconds, default 1,000. One that waits for
   * people leaves at once.
   */
  readonly parkAfterMs?: number
  /**
   * How long one compensation (`onCancel`) may work before it is given up and the next one runs. Milliseconds, default
   * 60,000.
   */
  readonly undoWithinMs?: number
  /**
   * How long a model call, a tool call and a function of yours may take if they set no timeout themselves. Defaults: 30
   * minutes, an hour, 5 minutes.
   */
  readonly deadlines?: Deadlines
  /** How often other processes' changes are looked for. Milliseconds, default 20. */
  readonly pollMs?: number
  /**
   * Ended runs are removed after this long. Milliseconds. Default: never. A store that is created with it gives the
   * space back to the file system; another one does after `compactStore`.
   */
  readonly retentionMs?: number
  /**
   * Removed before anything is recorded; live code sees the redacted value, too (K10). Secrets reach tools by
   * reference, not through the journal.
   */
  readonly redact?: Redaction
  /**
   * How long model calls, tool calls and steps that are under way have to end when the engine closes. What has not ended
   * by then is aborted and goes on with the next process. Milliseconds, default 25,000; 0: it is aborted at once. By
   * default a store in memory waits for no answers of models and of tools that only read: it could not keep them.
   */
  readonly graceMs?: number
  /**
   * Whether this process takes runs into the index by itself, behind the log: their texts, why they failed, who used
   * what. False: only when it is asked for them, for a moment. Default true.
   */
  readonly index?: boolean
  /** Limits the calls of models that refuse them. Default: one for all engines of this process that share a clock. */
  readonly governor?: Governor
  /** Receives warnings. Default: process.emitWarning. */
  readonly onWarning?: (code: string, message: string) => void
  /** For tests: return true to let the process "die" at this point. */
  readonly crash?: (point: CrashPoint) => boolean
}

/** Their names, for those who take these options among others. */
/** The checks of these options. */
export const hostChecks: Checks<HostOptions> = {
  lossLimit: unchecked,
  clock: unchecked,
  strict: unchecked,
  parkAfterMs: unchecked,
  undoWithinMs: unchecked,
  deadlines: unchecked,
  pollMs: unchecked,
  retentionMs: unchecked,
  redact: redactionCheck,
  graceMs: interval,
  index: flag,
  governor: unchecked,
  onWarning: unchecked,
  crash: unchecked,
}

/** The default of `graceMs`: Kubernetes kills a process thirty seconds after it was told to stop. */
export const defaultGraceMs = 25_000

/** The default of `lossLimit`. */
export const defaultLossLimit = 5

/** Redaction of stored texts; identity where nothing is to be taken out, so that it costs nothing. */
function textRedactors(rules: Redaction | undefined): Pick<DriverOptions, 'redact' | 'redactEntry'> {
  const redact = redactor(rules)
  if (redact === undefined) return { redact: (text) => text }
  return {
    redact: (text, shape) => JSON.stringify(redact(JSON.parse(text) as Json, shape)),
    // shapes are of events, not of how these are packed
    redactEntry: (text, event, result) =>
      encode(redact(decode(text) as unknown as Json, eventShape(event, result)) as unknown as JournalEvent, Infinity),
  }
}

/** So many runs are read at once for figures. */
const rowsAtOnce = 2_000
/** Runs that the index lacks are counted up to here. */
const mostBehind = 100_000
/** So many runs that wait are looked for by a process that begins. */
const waitingAtOnce = 1_000
/** Less than the time between two looks for what news could miss. Milliseconds. */
const justNowMs = 500
/** How often a store that has failed is asked whether it is back. Milliseconds. */
const probeEveryMs = 500
/**
 * How often the store is tidied: runs are removed that are older than the retention, so many before other work has its
 * turn, and ended runs are archived. If there is more to do, it goes on soon. Milliseconds.
 */
const tidyEveryMs = 60_000
const tidyAgainMs = 100
const forgetAtOnce = 100

/**
 * An engine over a store, which it closes when it is closed: for `createRuntime({ engine })`. Nothing of the store is
 * called before the engine is.
 */
export const createEngine = (store: Store, options: HostOptions = {}): Engine => new HostEngine(store, options)

export class HostEngine<S extends Store = Store> implements Engine {
  readonly driver: Driver
  readonly deadlines?: Deadlines
  readonly #options: HostOptions
  readonly #clock: Clock
  readonly #mover: Mover | undefined
  readonly store: S
  readonly #reader: StoreReader
  readonly #lease: StoreLease
  /** Of a store that keeps none itself. */
  readonly #held: HeldIndex | undefined
  readonly #index: StoreIndex
  readonly #indexer: Indexer
  /** How many commits there were when the index in memory was last complete. */
  #heldAsOf = -1
  readonly #subscriptions: Subscriptions
  readonly #outage: Outage
  #lastProbe = 0
  readonly #pollMs: number
  #timer: ReturnType<typeof setInterval> | undefined
  // When each was last done, in real time: what other processes do has nothing to do with the clock of the runs.
  #lastMaintenance = -Infinity
  #lastSweep = -Infinity
  #lastWatch = -Infinity
  /** By the clock of the runs: it says how old they are. */
  #lastTidying = 0
  #burying = false
  readonly #starting = new Map<RunId, Promise<boolean>>()
  /** Since it was told to close: nothing new begins. */
  #isClosing = false
  readonly #closed = Promise.withResolvers<void>()
  /** The store has answered once. */
  #isReached = false
  #lastLook = -Infinity
  /** Of the event loop: how late the watch looks. */
  readonly delay = new SchedulingDelay()
  #nextTick = Infinity
  readonly #reporter = new Reporter()
  /** When it began to drive. */
  #begun = 0
  /** Why nothing can be done on this store any more. */
  #lost: ReeveError | undefined

  /**
   * Owns the store and the mover from here on: closes them when it is closed. `mover`: who sees to it that some process
   * takes a run up; without one every process that drives takes up what it finds.
   */
  constructor(store: S, options: HostOptions, mover?: Mover) {
    this.#options = options
    this.#mover = mover
    if (options.deadlines !== undefined) this.deadlines = options.deadlines
    this.#clock = options.clock ?? systemClock
    this.store = store
    this.#reader = store.reader
    this.#lease = store.lease
    this.#held = store.index === undefined ? new HeldIndex(store.queries) : undefined
    this.#index = this.#held ?? store.index!
    this.#indexer = new Indexer(store.reader, this.#index)
    this.driver = new Driver(
      {
        clock: this.#clock,
        strict: options.strict ?? false,
        ...textRedactors(options.redact),
        digests: digestsOf(options.redact),
        parkAfterMs: options.parkAfterMs ?? 1_000,
        undoWithinMs: options.undoWithinMs,
        lossLimit: options.lossLimit ?? defaultLossLimit,
        deadlines: options.deadlines,
        warn: options.onWarning ?? warning,
        crash: options.crash,
        governor: options.governor,
        mover,
      },
      store,
    )
    this.#outage = new Outage(store.name, this.driver.options.warn)
    this.#subscriptions = new Subscriptions(store, {
      synced: () => this.#synced(),
      redact: redactor(options.redact),
      onWaiting: (waits) => (waits ? this.#timer?.ref() : this.#timer?.unref()),
      isBeginning: (run) => this.#starting.has(run),
      isHeld: (run) => this.driver.runs.has(run) || this.#starting.has(run),
      tellShown: (id, hear) => this.driver.commands.dispatcher.tellShown(id, hear),
      // A store that was reached once is waited for. One that never was may not be there at all, and the first call
      // says so.
      mayPass: (error) => error.retryable && (this.#isReached || this.driver.commits > 0),
      warn: (error) => this.#outage.failed(error),
    })
    this.driver.onChange = this.#subscriptions.changed.bind(this.#subscriptions)
    this.driver.onEnd = this.#subscriptions.ended.bind(this.#subscriptions)
    this.driver.onPart = this.#subscriptions.part.bind(this.#subscriptions)
    this.driver.onStoreFailure = this.#storeFailed.bind(this)
    this.driver.onWritten = this.#outage.answered.bind(this.#outage, 'written')
    this.#pollMs = timerMs(options.pollMs ?? 20)
    this.#timer = setInterval(() => this.#look(), this.#pollMs)
    this.#timer.unref()
  }

  #storeFailed(error: ReeveError, runs: readonly RunId[]): void {
    if (isLost(error)) return this.#lose(error)
    // A failure while closing is always reported: it names the commit whose result is unknown.
    if (this.#isClosing) this.driver.options.warn(error.code, error.message)
    else this.#outage.failed(error)
    this.#subscriptions.storeFailed(error, runs)
  }

  drive(registry: Registry): Now<void> {
    this.#open()
    this.store.mustHaveRules()
    // it may have been closed while its code was loaded
    return andThen(registry.load?.(), () => (this.#isClosing ? undefined : this.#driveLoaded(registry)))
  }

  #driveLoaded(registry: Registry): Now<void> {
    const begun = this.#inStore(() =>
      andThen(this.#clock === systemClock ? undefined : this.store.useOwnClock(), () =>
        andThen(this.#lease.beat(), () => andThen(this.#releaseDead(), () => this.#reader.left())),
      ),
    )
    const found = andThen(begun, (left) =>
      this.#mover === undefined
        ? left
        : andThen(
            this.#inStore(() => this.#findWaiting()),
            () => left,
          ),
    )
    return andThen(found, (left) => {
      // A store that connects late knows it only now.
      this.store.mustHaveRules()
      this.driver.registry = registry
      this.#begun = this.store.time()
      // before it holds a run: one that stands still from the first on is known to stand still
      this.#quietly(() => this.#lease.report?.(JSON.stringify(this.#report())))
      this.driver.cache.wake(left)
      this.#sweep()
      this.driver.schedule()
      return this.#mover?.open(this.driver.placement)
    })
  }

  /**
   * Runs that a mover has left for too long count from when something was last recorded of them, not from when this
   * process began; of those with unread mail that moment is not known, and nobody has read it so far.
   */
  #findWaiting(): Now<void> {
    const { placement } = this.driver
    const before = this.store.time() - patienceMs
    return andThen(this.#reader.unmoved?.(before, waitingAtOnce) ?? [], (unmoved) => {
      placement.haveWaited(unmoved.flatMap(({ run, owner }) => (owner === null ? [run] : [])))
      return andThen(this.#reader.withMail(), (runs) => placement.haveWaited(runs))
    })
  }

  /**
   * What news alone could miss: mail for runs whose owner died on it, runs without an owner, deadlines that a dead
   * process had armed.
   */
  #sweep(): void {
    const { cache, alarm } = this.driver
    this.#quietly(() => andThen(this.#reader.withMail(), (runs) => cache.adopt(runs)))
    this.driver.fetchMail()
    this.#quietly(() => cache.adoptStuck())
    // where news has had them looked for just now, they need not be looked for again
    if (stopwatch() - cache.lastAdoption >= justNowMs) cache.adoptOrphans()
    this.#quietly(() => andThen(this.#reader.nextDeadline(), (at) => alarm.arm(at)))
  }

  async start(request: StartRun): Promise<{ readonly created: boolean }> {
    this.#open()
    this.store.mustHaveRules()
    const { run: id } = request
    if (this.#starting.has(id) || this.driver.runs.has(id)) return await this.#again(request)
    const input = asRecorded(request.input, `the input of run ${id}`)
    this.mustRecord(request)
    const begun = this.#begin({ ...request, input })
    this.#starting.set(id, begun)
    try {
      if (await begun) return await this.#again(request)
      return { created: true }
    } finally {
      this.#starting.delete(id)
      // If it was not begun, callers that already wait for its end get the error.
      if (!this.driver.runs.has(id)) this.#subscriptions.askLater(id)
    }
  }

  mustRecord(names: Pick<StartRun, 'run' | 'caller'>): void {
    mustHoldNoSecret(this.#options.redact, names)
  }

  /** Resolves when it is durable; true if a run of this id existed already, of which nothing has changed then. */
  async #begin(request: StartRun): Promise<boolean> {
    const { run: id } = request
    const caller = request.caller ?? {}
    const driving =
      !this.driver.placement.hasMover && this.driver.registry?.find(request.agent, request.version) !== undefined
    // An idle process is near the end of its lease. Before anything is in the batch: if this fails, nothing has begun.
    const guarded = driving ? this.#inStore(() => this.#lease.guard()) : undefined
    if (guarded instanceof Promise) await guarded
    if (driving) {
      this.driver.batch.runs.push(newRun(this.driver, request, this.#lease.id))
      const run = new LoadedRun(id, 1, caller)
      this.driver.runs.set(id, run)
      this.driver.commands.birth(run, rootActivation(id), {
        agent: request.agent,
        version: request.version,
        input: request.input,
        startedBy: undefined,
        limits: request.limits,
        caller: request.caller,
      })
    } else writeBirth(this.driver, request)
    this.driver.schedule()
    const existed = await this.driver.durable(id)
    // another version of its agent may be here
    if (!existed && !driving) this.driver.cache.offer(id)
    return existed
  }

  /** The same id again: fine if it is the same request, else the caller has made a mistake. */
  async #again(request: StartRun): Promise<{ readonly created: boolean }> {
    await this.#starting.get(request.run)
    const event = await this.#read(() => this.#reader.birth(request.run))
    // what was recorded may be of before these rules of redaction
    const redacted = (one: JournalEvent): JournalEvent => {
      const text = encode(one)
      return decode(this.driver.options.redactEntry?.(text, one) ?? text)
    }
    mustBeSameStart(event && redacted(event), request.run, redacted(birthOf(request)))
    return { created: false }
  }

  async fork(request: ForkRun): Promise<{ readonly created: boolean }> {
    this.#open()
    this.store.mustHaveRules()
    return await this.#read(() => forkRun(this.driver, request))
  }

  async post(post: Post): Promise<PostResult> {
    this.#open()
    this.store.mustHaveRules()
    const { to, target, key, kinds } = addressOfPost(post)
    // Questions about a divergence have addresses that callers do not know.
    const questions =
      post.type === 'settle-divergence'
        ? await this.#inStore(() => this.store.queries.questions({ run: runOf(to) }))
        : []
    const asked = questions.find((q) => q.activation === to && q.kind === 'diverged')
    return this.driver.post({ act: to, target, key: asked?.address ?? key, kinds, body: JSON.stringify(post) })
  }

  now(): number {
    return this.store.time()
  }

  outcome(run: RunId): Promise<RunEnd> {
    this.#open()
    return this.#subscriptions.outcome(run)
  }

  async summary(run: RunId): Promise<RunSummary | undefined> {
    const summary = await this.#read(() => this.store.queries.summary(run))
    return summary && (this.#held?.withTexts(summary) ?? summary)
  }
  async runs(filter: RunFilter = {}): Promise<readonly RunSummary[]> {
    // nothing fills an index in memory but who asks
    if (this.#held !== undefined || asksIndex(filter)) await this.#catchUp()
    return this.#read(() => (this.#held ?? this.store.queries).summaries(filter))
  }
  async countRuns(filter: RunFilter, most: number): Promise<number> {
    if (!asksIndex(filter)) return this.#read(() => this.store.queries.count(filter, most))
    if (this.#held === undefined) {
      await this.#catchUp()
      return this.#read(() => this.store.queries.count(filter, most))
    }
    return (await this.runs({ ...filter, limit: most })).length
  }

  async totals(filter: FiguresFilter, options: TotalsOptions = {}): Promise<Totals> {
    const fold = new TotalsFold(options)
    const behind = await this.#eachRow(filter, options.agents, (row) => fold.take(row))
    return fold.totals(behind)
  }
  async causes(filter: FiguresFilter, { agents }: Pick<TotalsOptions, 'agents'> = {}): Promise<Causes> {
    const fold = new CausesFold()
    const behind = await this.#eachRow(filter, agents, (row) => fold.take(row))
    return fold.causes(behind)
  }
  async unindexed(tenant?: string): Promise<number> {
    await this.#catchUp()
    return this.#read(() => this.#index.countBehind(mostBehind, tenant))
  }
  async counters(): Promise<readonly RunCounter[]> {
    await this.#catchUp()
    return withAllBounds(await this.#read(() => this.#index.counters()))
  }

  /** Takes what the index lacks into it, for a moment. */
  async #catchUp(): Promise<void> {
    this.#open()
    const commits = this.driver.commits
    if (this.#held !== undefined && this.#heldAsOf === commits) return
    const isMore = await this.#inStore(() => this.#indexer.catchUp(askerWaitsMs))
    if (!isMore) this.#heldAsOf = commits
  }

  /** Every run of a filter, in pages, with other work in between. Returns how many the index lacks. */
  async #eachRow(
    filter: FiguresFilter,
    agents: readonly string[] | undefined,
    take: (row: FiguresRow) => void,
  ): Promise<number> {
    const { tenant } = filter
    const behind = await this.unindexed(tenant)
    const wanted = agents && new Set(agents)
    const slices = new Slices()
    // an index in memory looks at all runs for each page
    const limit = this.#held === undefined ? rowsAtOnce : Infinity
    for (let after: RunFilter['after']; ;) {
      const page = await this.#read(() =>
        this.#index.rows({ ...filter, ...(limit === Infinity ? {} : { limit }), ...present({ after }) }),
      )
      for (const row of page) if (wanted?.has(row.agent) ?? true) take(row)
      if (page.length < limit) return behind
      after = page.at(-1)!
      await slices.giveWay()
    }
  }
  async status(most: number): Promise<EngineStatus> {
    const { name, kind } = this.store
    const processes = await this.#read(() => this.store.queries.processes(this.store.time(), most))
    const backlog = await this.#read(() => this.store.queries.backlog(most))
    const bytes = await this.#read(() => this.store.queries.size())
    const now = this.store.time()
    const unmoved = await this.#read(() => this.#reader.unmoved?.(now - stalledAfter(0), most) ?? [])
    // what this process says of itself now is newer than what it has written
    const own = this.driver.registry === undefined ? {} : { report: this.#report() }
    const told = processes.map((each) => (each.id === this.#lease.id ? { ...each, ...own } : each))
    const stalled = stallsIn(told, unmoved, now)
    return {
      kind: this.#mover?.name ?? (kind === 'sqlite' || kind === 'memory' ? 'embedded' : kind),
      store: { kind, name, ...present({ bytes }) },
      process: this.#lease.id,
      processes: told,
      backlog,
      ...(stalled.length === 0 ? {} : { stalled }),
    }
  }
  questions(filter: QuestionFilter = {}): Promise<readonly Question[]> {
    return this.#read(() => this.store.queries.questions(filter))
  }
  read(run: RunId, from = 0, limit?: number, length?: number): Promise<readonly Recorded[]> {
    return this.#read(() => this.#reader.feed(run, from, limit, length))
  }

  feed(from: number | 'now', limit: number): Promise<FeedPage> {
    return this.#read(() => this.#reader.page(from, limit))
  }

  #inStore<T>(work: () => Now<T>): Now<T> {
    const reached = (answer: T): T => {
      this.#isReached = true
      return answer
    }
    return caught(
      () => andThen(work(), reached),
      (thrown) => {
        throw isMistake(thrown) ? thrown : this.store.errorOf(thrown)
      },
    )
  }

  /** What an outside is shown does not go back, whichever process has written it: it is on disk (K5). */
  async #read<T>(query: () => Now<T>): Promise<T> {
    this.#open()
    return await this.#inStore(() => andThen(query(), (answer) => andThen(this.#synced(), () => answer)))
  }
  /** What is read is shown only when it is on disk; where nobody knows, this process stops. */
  #synced(): Now<void> {
    return caught(
      () => synced(this.store),
      (thrown) => {
        if (!this.#isClosing) this.#lose(thrown as ReeveError)
        throw thrown
      },
    )
  }

  changed(run: RunId, from: number, signal?: AbortSignal): Promise<void> {
    return this.#isClosing || this.#lost !== undefined
      ? Promise.resolve()
      : this.#subscriptions.watch(run, from, signal)
  }
  recorded(hear: (entries: readonly RecordedHere[]) => void): () => void {
    const tell = (log: readonly LogEntry[]): void =>
      hear(log.map(({ act, run, seq, at, body }) => ({ activation: act, run, seq, at, event: decode(body) })))
    this.driver.onRecorded = tell
    return () => {
      if (this.driver.onRecorded === tell) this.driver.onRecorded = undefined
    }
  }

  feedChanged(from: number, signal?: AbortSignal): Promise<void> {
    return this.#isClosing || this.#lost !== undefined
      ? Promise.resolve()
      : this.#subscriptions.watch(null, from, signal)
  }
  listen(run: RunId, hear: PartListener, options?: PartListenerOptions): () => void {
    return this.#subscriptions.listen(run, hear, options)
  }

  #look(): void {
    if (this.driver.dead) return
    const now = stopwatch()
    this.delay.note(Math.max(0, now - this.#nextTick))
    this.#nextTick = now + this.#pollMs
    if (now - this.#lastLook >= 100) {
      this.#lastLook = now
      this.#quietly(() =>
        andThen(this.store.changed(), (changed) => (changed === undefined ? undefined : this.#lose(changed))),
      )
    }
    if (this.#lost !== undefined) return
    if (this.#outage.isOn && now - this.#lastProbe >= probeEveryMs) {
      this.#lastProbe = now
      this.#quietly(() => this.#probe())
    }
    this.#quietly(() => this.driver.checkNews())
    if (this.#options.index !== false && !this.#isClosing && this.#held === undefined)
      this.#quietly(() => this.#indexer.look(now, this.driver.runs.size > 0))
    if (this.driver.registry === undefined) return
    if (now - this.#lastMaintenance >= 100) {
      this.#lastMaintenance = now
      this.#quietly(() => this.#maintain(now))
    }
    if (this.#isClosing) return
    const time = this.#clock.now()
    if (time - this.#lastTidying > tidyEveryMs) {
      this.#lastTidying = time
      this.#quietly(() => this.#tidy(time))
    }
  }

  /** Checks whether an outage is over: an idle process would not notice. */
  #probe(): Now<void> {
    return andThen(this.#reader.nextDeadline(), () => this.#outage.answered('read'))
  }

  /** A failure here is retried soon, and reported only if a retry would not help. */
  #quietly(work: () => Now<void>): void {
    detached(work, (thrown) => {
      const error = this.store.errorOf(thrown)
      if (!error.retryable && !this.#isClosing) this.#outage.failed(error)
    })
  }

  /** This process can do nothing more with the store: the engine stops, every pending and later call gets the error. */
  #lose(error: ReeveError): void {
    // a process that has died has nothing to stop
    if (this.#lost !== undefined || this.driver.dead) return
    this.#lost = error
    clearInterval(this.#timer)
    this.driver.fail(error)
    this.#subscriptions.close(error)
    this.driver.options.warn(error.code, error.message)
  }

  /** What this process says of itself. */
  #report(): ProcessReport {
    const delayMs = this.delay.p99Ms
    return {
      at: this.store.time(),
      begun: this.#begun,
      delayMs,
      takenOver: this.driver.cache.takenOver,
      stalled: heldStalls(this.driver, delayMs, this.#outage.isOn),
    }
  }

  #maintain(now: number): void {
    if (!this.#isClosing) {
      this.driver.parkQuiet()
      this.driver.alarm.ringIfDue(this.#clock.now())
    }
    if (this.store.isPrivate) return
    const report = this.#reporter.due(this.driver, () => this.#report())
    if (report !== undefined) this.#quietly(() => this.#lease.report?.(report))
    this.#lease.moved(this.delay.p99Ms)
    this.#quietly(() => this.driver.cache.noteSteady())
    this.#quietly(() =>
      andThen(this.driver.runs.size > 0 && this.#lease.heartbeatDue ? this.#lease.beat() : undefined, () =>
        andThen(this.#isClosing ? 0 : this.#watch(now), (released) => {
          if (this.#isClosing || (released === 0 && now - this.#lastSweep < 1_000)) return
          this.#lastSweep = now
          this.driver.placement.tidy()
          if (released > 0) this.driver.cache.lastAdoption = -Infinity
          this.#sweep()
        }),
      ),
    )
  }

  /** Looks at the other processes if that is due. Returns how many of them were found dead. */
  #watch(now: number): Now<number> {
    if (now - this.#lastWatch < (this.#lease.watchEveryMs ?? 0)) return 0
    this.#lastWatch = now
    return this.#releaseDead()
  }

  /** Takes the runs of dead processes away from them. Returns of how many; one look at a time. */
  #releaseDead(): Now<number> {
    if (this.#burying) return 0
    this.#burying = true
    const done = <T>(result: T): T => {
      this.#burying = false
      return result
    }
    return caught(
      () =>
        andThen(this.#lease.releaseDead(), ({ owners, aside }) => {
          for (const { run, error } of aside) this.driver.onStoreFailure(error, [run])
          return done(owners)
        }),
      (thrown) => {
        throw done(thrown)
      },
    )
  }

  /** Ended runs that are old are removed or archived: some of them, and other work has its turn in between. */
  async #tidy(time: number): Promise<void> {
    const { retentionMs } = this.#options
    const isOld = retentionMs !== undefined && (await this.#forgetOld(time - retentionMs))
    if (this.#isClosing) return
    const isWhole = await this.store.archive(time)
    if (this.#isClosing) return
    const isLarge = await this.store.shrink()
    if (isOld || isWhole || isLarge) this.#lastTidying -= tidyEveryMs - tidyAgainMs
  }

  /** Removes some of the runs that ended before this moment. True: there may be more. */
  async #forgetOld(before: number): Promise<boolean> {
    const old = await this.#reader.endedBefore(before, forgetAtOnce)
    for (const run of old) {
      const removed = this.#remove(run)
      if (removed instanceof Promise) await removed
    }
    return old.length === forgetAtOnce
  }

  #remove(run: RunId): Now<void> {
    // Its end may have been heard before the commit that ended it has answered: until then this process has it in
    // memory, and would take a new run of this id for it.
    const leaving = this.driver.runs.has(run) ? this.driver.placement.move(run) : undefined
    return andThen<unknown, void>(leaving, () =>
      andThen(this.#endOf(run), (end) =>
        andThen(this.store.remove(run), () => {
          this.#held?.remove(run)
          // Callers that wait in this process may not have seen yet that it has ended elsewhere.
          if (end !== undefined) this.#subscriptions.ended(run, end)
        }),
      ),
    )
  }

  /** How a run ended; undefined where that cannot be read: what is damaged can still be removed. */
  #endOf(run: RunId): Now<RunEnd | undefined> {
    return caught(
      () => this.#reader.end(run),
      (thrown) => {
        if (!ReeveError.is(thrown, 'store.corrupt')) throw thrown
        return undefined
      },
    )
  }

  stream(name: string): StreamValues {
    const stream = streamFromOutside(name)
    return {
      get: (key) => this.#read(() => andThen(this.#reader.value(stream, key), ({ value }) => value)),
      update: async (key, change) => {
        this.#open()
        this.store.mustHaveRules()
        return updateValue(this.driver, stream, key, change, undefined)
      },
    }
  }

  contents(run: RunId): ContentReader {
    const contents = new RunContents(contentsHost(this.driver), run)
    const read = <T>(ask: () => Promise<T>): Promise<T> => this.#read(ask)
    return {
      find: (name) => read(() => contents.find(name)),
      slice: (name, from, to) => read(() => contents.slice(name, from, to)),
      async *pieces(name) {
        const pieces = contents.pieces(name)
        for (;;) {
          const { done, value } = await read(() => pieces.next())
          if (done === true) return undefined
          yield value
        }
      },
    }
  }

  remove(run: RunId): Promise<void> {
    return this.#read(async () => {
      if (isChildRun(run))
        throw new ReeveError('run.conflict', `${run} is a child run of ${rootRun(run)}`, {
          hint: 'It goes with that run: remove that one.',
        })
      const row = await this.#reader.run(run)
      if (row === undefined) throw unknownRun(run)
      if (row.ended === null) throw openRun(run)
      await this.#remove(run)
      this.#quietly(() => andThen(this.store.shrink(), () => undefined))
    })
  }

  #open(): void {
    if (this.#isClosing)
      throw new ReeveError('engine.closed', 'the engine is closed', {
        hint: 'Await what its runs resolve to before it is closed (`return await` in a block with `await using`), or create a new runtime.',
      })
    if (this.#lost !== undefined) throw this.#lost
  }

  close(options?: CloseOptions): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true
      this.#close(options).then(this.#closed.resolve, this.#closed.reject)
    } else if (options?.graceMs !== undefined) this.driver.effects.shorten(options.graceMs)
    return this.#closed.promise
  }

  async #close({ graceMs = this.#options.graceMs, onWaiting }: CloseOptions = {}): Promise<void> {
    const died = this.driver.dead
    this.store.leave(() => this.driver.effects.isAwaited)
    this.#mover?.retire?.()
    // the leases are kept, and commands are heard, for as long as an effect is awaited
    this.#timer?.ref()
    const finished = died ? undefined : this.driver.finish(graceMs ?? defaultGraceMs, onWaiting)
    // a store in memory ends with the process: no one could read these answers
    if (graceMs === undefined && this.store.isPrivate) this.driver.effects.giveUpAnswers()
    await finished
    clearInterval(this.#timer)
    await this.#indexer.close()
    const left = died ? [] : [...this.driver.runs.keys()]
    this.driver.placement.close()
    this.driver.stop()
    await this.store.stop()
    const closed = new ReeveError(
      'engine.closed',
      'the engine was closed before this run had ended; the run is kept and goes on when it is opened again',
    )
    this.#subscriptions.close(closed)
    try {
      if (!died) await this.store.release()
    } catch (thrown) {
      // Nothing is lost: the next process that drives takes over when the lease is over.
      this.#outage.failed(this.store.errorOf(thrown))
    } finally {
      await this.#mover?.close(left)
      await this.store.close()
    }
  }
}
