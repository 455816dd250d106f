/**
 * The run cache: which runs this process has in memory. Waking a run reads its journal again; dropping it makes what
 * memory held void.
 *
 * Owns: claiming, loading, dropping, adopting runs that no process drives. Does not own: the tick (driver.ts).
 * Holds: K2 (only a claimed run is loaded; a parked one costs no heap).
 */
import {
  andThen,
  caught,
  detached,
  jitter,
  ReeveError,
  runOf,
  stopwatch,
  isChildRun,
  type ActivationId,
  type Failure,
  type Now,
  type RunId,
} from '@reeve/core'
import { pathOf, type Caller } from '@reeve/journal'
import { Account } from '../replay/account.ts'
import type { Operation } from '../replay/operation.ts'
import type { Registry } from '../context.ts'
import { OriginDeeds } from '../replay/origin.ts'
import type { Moved } from '../mover.ts'
import {
  asideFor,
  noRun,
  type ClaimCandidate,
  type Claimed,
  type AgentVersion,
  type StoredRun,
  type ClaimFilter,
} from '../store.ts'
import type { EngineState } from './engine-state.ts'
import { receive, restorePause } from './inbox.ts'
import { LoadedActivation, LoadedRun } from './loaded-run.ts'
import { accountsOf } from './run-accounts.ts'
import { CrashLoopGuard } from './crash-loop-guard.ts'

/** Above this many runs in memory a quiet one leaves at once, and no more are adopted. */
export const cacheCap = 1_000
/** At most this many runs are claimed by id in one claim. */
const page = cacheCap
/** This many of the runs that a look finds are taken up even if the cache is full. */
const besideCap = 100
/** At most this many runs that no process holds are noted by one look at the store. */
const lookCap = 10 * cacheCap
/** How long another process is given to take a run whose code is missing here. Milliseconds. */
const patienceMs = 200
/** How long other processes are given to take a child run. Milliseconds. */
const spreadMs = 25

/** Which agents a process drives. Any version counts: a run may move to the version that is here. */
const driven =
  (registry: Registry) =>
  ({ agent }: AgentVersion): boolean =>
    registry.find(agent) !== undefined

/** The other processes have found the same runs: where there are many, each begins with another one. */
function turned(runs: readonly RunId[]): readonly RunId[] {
  const first = runs.length > besideCap ? Math.floor(jitter() * runs.length) : 0
  return first === 0 ? runs : [...runs.slice(first), ...runs.slice(0, first)]
}

/** The account as the store has it: nothing of it has to be written. */
function clean(account: Account): Account {
  account.dirty = false
  return account
}

/** Of child runs one at a time, and not everywhere the same first: so processes that hear of several share them. */
function spread(runs: readonly RunId[]): readonly RunId[] {
  const children = runs.filter(isChildRun)
  if (children.length < 2) return runs
  const one = children[Math.floor(jitter() * children.length)]
  return runs.filter((id) => id === one || !isChildRun(id))
}

export class RunCache {
  readonly #engine: EngineState
  /** Runs that this process has found to lack code, and in which registry. */
  readonly #lacking = new Map<RunId, Registry>()
  readonly crashLoops: CrashLoopGuard
  /** Runs that are to be claimed next; true: also if another process may have their code. */
  readonly #wanted = new Map<RunId, boolean>()
  /** Runs that a look has found and that are claimed when there is room. The next look finds them again. */
  #found: readonly RunId[] = []
  /**
   * What else is to be claimed next: runs that no process drives, then those of them that may have killed their
   * process.
   */
  #adopts: 'none' | 'orphans' | 'suspects' = 'none'
  #isClaiming = false
  #isLooking = false
  /** The answer to a claim was asynchronous: mail may have come in meanwhile. */
  #isLate = false
  #idle: (() => void)[] = []
  /** Claimed runs that stand behind another one of the same id, which is about to hear that it exists. */
  readonly #hidden = new Set<RunId>()
  /** There may be runs that no process drives and that this process had no room for. */
  #hasMore = false
  /** Runs that were lost with another process and that this one has taken up, since it began. */
  takenOver = 0
  /** When runs that no process drives were last looked for, by the stopwatch. */
  lastAdoption = -Infinity

  constructor(engine: EngineState) {
    this.#engine = engine
    this.crashLoops = new CrashLoopGuard(engine.options.lossLimit)
  }

  /** Takes a run out of memory. `moved`: the answer to the mover; absent: the run is about to come back. */
  drop(id: RunId, moved?: Moved): void {
    if (moved !== undefined) this.#engine.placement.left(id, moved)
    const run = this.#engine.runs.get(id)
    if (run === undefined) return
    run.discard()
    for (const op of run.out) op.owner.discarded = true
    this.#engine.runs.delete(id)
    this.#engine.batch.epochs.delete(id)
    this.#engine.ends.delete(id)
    if (this.crashLoops.left(id)) this.#engine.store.lease.stretch(this.crashLoops.worst)
    this.#strike(id)
  }

  /** Takes everything of a dropped run out of the batch that is being filled. */
  #strike(id: RunId): void {
    this.#engine.abandonBirth(id)
    const b = this.#engine.batch
    const gone = new Set([id, ...b.runs.flatMap((run) => (run.from === id ? [run.id] : []))])
    const keep = <T>(list: T[], run: (item: T) => RunId): void => {
      if (list.some((item) => gone.has(run(item))))
        list.splice(0, list.length, ...list.filter((item) => !gone.has(run(item))))
    }
    keep(b.runs, (run) => run.from ?? noRun)
    keep(b.log, (entry) => entry.run)
    keep(b.acts, (act) => runOf(act))
    keep(b.summed, ({ act }) => runOf(act))
    keep(b.questions, (q) => runOf(q.act))
    keep(b.closed, (c) => runOf(c.act))
    keep(b.closedActs, (act) => runOf(act))
    keep(b.taken, (t) => runOf(t.act))
    keep(b.ended, (e) => e.run)
    keep(b.accounts, (a) => a.run)
    keep(b.parked, ({ run }) => run)
    keep(b.control, (c) => c.run)
    for (const [i, write] of b.values.entries())
      if (write.by?.run === id) b.values[i] = { ...write, by: { ...write.by, run: noRun } }
    // A caller holds a promise for each row by its index: the row stays, and one without a run is not written.
    for (const [i, row] of b.rows.entries()) if (row.from === id) b.rows[i] = { ...row, from: noRun }
  }

  /** The code of something in this run is missing here. */
  lacksCode(id: RunId): void {
    if (this.#engine.registry !== undefined) this.#lacking.set(id, this.#engine.registry)
  }

  /**
   * Brings runs into memory and goes on with them, as far as this process can drive them and no other process does.
   * `insist`: also those that another process may have the code for.
   */
  wake(runs: Iterable<RunId>, insist = false): void {
    for (const id of runs) {
      if (!this.#isClaiming && this.#engine.runs.has(id)) continue
      this.#wanted.set(id, insist || this.#wanted.get(id) === true)
    }
    this.#pursue()
  }

  /**
   * This run was written for any process that drives. With a mover, it has been woken. A child run is left to the other
   * processes for a moment.
   */
  offer(id: RunId): void {
    if (this.#engine.placement.hasMover) return
    if (!isChildRun(id) || this.#engine.store.isPrivate) this.wake([id])
    else setTimeout(() => this.wake([id]), spreadMs).unref()
  }

  /** Goes on with runs that no process holds, unless the mover comes first. */
  adopt(runs: readonly RunId[]): void {
    const ours = turned(runs).filter((id) => !this.#engine.runs.has(id) && this.#engine.placement.mayTakeUp(id))
    this.#found = ours.slice(besideCap)
    this.wake(ours.slice(0, besideCap))
  }

  /**
   * Goes on with runs that no process drives. With a mover they are only looked at first: a claim would lock them for
   * other processes.
   */
  adoptOrphans(): void {
    this.lastAdoption = stopwatch()
    if (!this.#engine.placement.hasMover) return this.#claimOrphans()
    if (this.#isLooking) return
    this.#isLooking = true
    const over = (): void => {
      this.#isLooking = false
    }
    // One that fails is made again in a second.
    detached(() => andThen(this.#look(), over), over)
  }

  #look(): Now<void> {
    const { registry, placement, store } = this.#engine
    if (registry === undefined) return
    return andThen(store.reader.ready(driven(registry), lookCap), (ready) => {
      const ours = turned(ready).filter((id) => placement.mayTakeUp(id))
      if (ours.length > 0) this.#claimOrphans()
    })
  }

  /** The same, if there may be some left for want of room. */
  adoptMore(): void {
    if (this.#hasMore) this.#claimOrphans()
  }

  #claimOrphans(): void {
    this.#adopts = 'orphans'
    this.#pursue()
  }

  /**
   * One claim at a time: two at once could both get a run, each under another epoch. What is to be woken meanwhile is
   * claimed with the next one.
   */
  #pursue(): void {
    if (this.#isClaiming) return
    this.#isClaiming = true
    const over = (): void => {
      this.#isClaiming = false
      for (const resolve of this.#idle.splice(0)) resolve()
      if (!this.#isLate) return
      // Mail that came in between was for a run that was not held yet: it is asked for again.
      this.#isLate = false
      if (!this.#engine.dead && !this.#engine.closing) this.#engine.fetchMail()
    }
    const claims = (): Now<void> => {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        const claimed = this.#claim(next)
        if (!(claimed instanceof Promise)) continue
        this.#isLate = true
        return claimed.then(claims)
      }
      over()
    }
    detached(claims, over)
  }

  #next(): { readonly wanted: ClaimFilter; readonly insist: boolean } | undefined {
    const { registry, runs } = this.#engine
    if (this.#engine.dead || this.#engine.closing || registry === undefined) {
      this.#wanted.clear()
      this.#found = []
      this.#adopts = 'none'
      return undefined
    }
    for (const id of this.#wanted.keys()) if (runs.has(id)) this.#wanted.delete(id)
    const [insist] = this.#wanted.values()
    if (insist !== undefined) {
      const wanted = spread([...this.#wanted].flatMap(([id, each]) => (each === insist ? [id] : []))).slice(0, page)
      for (const id of wanted) this.#wanted.delete(id)
      return { wanted, insist }
    }
    const room = Math.max(0, cacheCap + 1 - runs.size)
    const found = this.#found.slice(0, room).filter((id) => !runs.has(id))
    this.#found = this.#found.slice(room)
    if (this.#found.length > 0) this.#hasMore = true
    if (found.length > 0) return { wanted: found, insist: false }
    const drives = driven(registry)
    const { suspectFrom } = this.crashLoops
    const adopts = this.#adopts
    this.#adopts = adopts === 'orphans' ? 'suspects' : 'none'
    if (adopts === 'suspects') return { wanted: { drives, lossesFrom: suspectFrom, limit: cacheCap }, insist: false }
    if (adopts === 'none') return undefined
    this.#hasMore = room === 0
    return this.#hasMore ? undefined : { wanted: { drives, lossesBelow: suspectFrom, limit: room }, insist: false }
  }

  /** If the store fails, runs that were asked for by id are tried again; others are found by the next look. */
  #claim({ wanted, insist }: { readonly wanted: ClaimFilter; readonly insist: boolean }): Now<void> {
    const { store } = this.#engine
    const suspects: number[] = []
    const admits = (run: ClaimCandidate): boolean => {
      if (this.#engine.runs.has(run.id as RunId) || !this.#admits(run, insist, suspects)) return false
      if ('drives' in wanted && !this.#engine.placement.mayTakeUp(run.id as RunId)) return false
      if (run.losses >= this.crashLoops.suspectFrom) suspects.push(run.losses)
      return true
    }
    return caught(
      () =>
        andThen(store.claim(wanted, admits), (claimed) => {
          if (this.#engine.dead || this.#engine.closing) return
          if ('limit' in wanted && claimed.length >= wanted.limit) this.#hasMore = true
          for (const each of claimed) this.#load(each)
          if (!('drives' in wanted)) for (const id of wanted) this.#notTaken(id)
        }),
      (thrown) => {
        const error = store.errorOf(thrown)
        const named = 'drives' in wanted ? [] : wanted
        this.#engine.onStoreFailure(error, named)
        if (error.retryable) this.#engine.retryLater(named)
      },
    )
  }

  /** Answers the mover about a run that could not be taken up. */
  #notTaken(id: RunId): void {
    const { placement, store, runs } = this.#engine
    if (!placement.awaits(id) || runs.has(id)) return
    const tell = (row: StoredRun | undefined): void => {
      if (!runs.has(id)) placement.left(id, row === undefined || row.ended !== null ? 'ended' : 'elsewhere')
    }
    detached(
      () => andThen(store.reader.run(id), tell),
      () => placement.left(id, 'elsewhere'),
    )
  }

  /** Resolves when no claim is under way: then claimed runs can be released. */
  settled(): Promise<void> {
    return this.#isClaiming ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  #admits(run: ClaimCandidate, insist: boolean, suspects: readonly number[]): boolean {
    if (this.#engine.registry?.find(run.agent) === undefined) return false
    const aside = asideFor(run) !== undefined
    if (aside ? run.word === undefined : this.#leavesToOthers(run, insist)) return false
    // No other process takes up a run that is this process's own and only out of memory.
    if (aside || run.owner === this.#engine.store.lease.id) return true
    // one that a mover has brought here is taken up now
    const rests = !this.#engine.placement.awaits(run.id as RunId) && this.crashLoops.rests(run.id as RunId, run.losses)
    if (!rests && this.crashLoops.admits(run.losses, suspects)) return true
    this.#hasMore = true
    return false
  }

  #load({ run: row, epoch, accounts, questions, children, past, mail }: Claimed): void {
    const id = row.id as RunId
    // A caller has begun a run of this id, and will learn that it exists.
    if (this.#engine.runs.has(id)) return void this.#hidden.add(id)
    this.crashLoops.takenUp(id, row.losses)
    if (row.losses > 0) {
      this.takenOver++
      this.#engine.store.lease.stretch(this.crashLoops.worst)
    }
    const run = new LoadedRun(id, epoch, row.caller === null ? {} : (JSON.parse(row.caller) as Caller), past)
    for (const [activation, state] of accounts) run.addAccount(clean(new Account(activation, state.limits, state)))
    if (row.control !== null)
      run.pause = { at: row.control === 'human_control' ? 'human' : 'next', reached: row.control === 'paused' }
    if (asideFor(row) !== undefined) run.broughtBack = row.word
    run.questions = questions
    for (const child of children) run.children.add(child)
    this.#engine.runs.set(id, run)
    try {
      this.load(run, run.rootId, undefined)
    } catch (thrown) {
      return this.unreadable(run, thrown)
    }
    restorePause(this.#engine, run)
    if (row.stuck !== null) this.#engine.batch.stuck.push({ run: id, reason: null })
    for (const inbox of mail) {
      run.lastRow = inbox.position
      receive(this.#engine, run, inbox)
    }
    this.#engine.touch(run)
  }

  /** A run that was begun here exists already: it is read if it has come in meanwhile. */
  existed(id: RunId): void {
    if (this.#hidden.delete(id)) this.wake([id])
  }

  /**
   * Another process may have the code that is missing here (a rolling deploy). It gets a moment to take the run before
   * this process marks it stuck. A run that is known to be stuck here is left alone, except for a cancel, which needs
   * no code.
   */
  #leavesToOthers(row: ClaimCandidate, insist: boolean): boolean {
    const { registry, store } = this.#engine
    const id = row.id as RunId
    const known = this.#lacking.get(id) === registry
    if (!known && (registry?.onMissingVersion !== 'park' || registry.find(row.agent, row.version) !== undefined))
      return false
    if (known && row.stuck !== null && row.word !== 'cancel') return true
    if (insist || store.isPrivate) return false
    setTimeout(() => this.wake([id], true), patienceMs).unref()
    return true
  }

  /**
   * A journal that cannot be read stops this run only. It says why and waits for an operator, unless a retry may
   * succeed.
   */
  unreadable(run: LoadedRun, thrown: unknown): void {
    const error = this.#engine.store.errorOf(thrown)
    this.drop(run.id, error.retryable ? undefined : 'parked')
    if (error.retryable) {
      this.#engine.onStoreFailure(error, [run.id])
      return this.#engine.retryLater([run.id])
    }
    this.#engine.batch.stuck.push({ run: run.id, reason: `${error.code}: ${error.message}` })
    this.#engine.batch.parked.push({ run: run.id, heard: Number.MAX_SAFE_INTEGER })
    this.#engine.batch.epochs.set(run.id, run.epoch)
    this.#engine.onStoreFailure(error, [run.id])
    this.#engine.schedule()
  }

  /**
   * Sets a run aside: no process goes on with it until an operator resumes or cancels it. What is not recorded is void.
   */
  setAside(id: RunId, epoch: number, failure: Failure): void {
    const { batch, runs } = this.#engine
    const run = runs.get(id)
    const words = { upTo: run?.lastRow ?? 0, cancel: run?.broughtBack === 'cancel' }
    this.drop(id, 'parked')
    batch.stuck.push({ run: id, reason: JSON.stringify(failure), words })
    batch.parked.push({ run: id, heard: Number.MAX_SAFE_INTEGER })
    batch.epochs.set(id, epoch)
    const { code, message, hint } = failure
    this.#engine.onStoreFailure(new ReeveError(code, message, hint === undefined ? {} : { hint }), [id])
    this.#engine.schedule()
  }

  /** Reads an activation into memory. Undefined if the log does not have it. */
  load(run: LoadedRun, id: ActivationId, startedBy: Operation | undefined): LoadedActivation | undefined {
    let activation: LoadedActivation | undefined
    for (const { seq, at, event } of run.past?.activation(id) ?? []) {
      if (activation === undefined) {
        if (seq !== 0 || event.type !== 'activation.started')
          throw new ReeveError('journal.hole', `the journal of ${id} does not begin at its beginning`, {
            hint: 'Restore the store from a backup; other runs are not touched.',
          })
        const { agent, version, input, earlier } = event
        const path = pathOf(event, startedBy?.owner.birth.path ?? [])
        const accounts = accountsOf(run, id, startedBy?.owner)
        const birth = { id, agent, version, input, path, accounts, at, copied: event.copied, earlier }
        activation = new LoadedActivation(this.#engine.commands, birth, run, startedBy)
      }
      activation.restore(seq, at, event)
      if (event.type === 'run.forked')
        run.origin = new OriginDeeds(event, (one) => run.activations.get(one)?.birth.earlier?.attempts)
    }
    if (activation === undefined) return undefined
    run.activations.set(id, activation)
    const mail = run.mail.get(id)
    run.mail.delete(id)
    this.#engine.ready.add(activation)
    for (const row of mail ?? []) receive(this.#engine, run, row)
    return activation
  }

  /** Tries those that lacked code elsewhere: it may be here. */
  adoptStuck(): Now<void> {
    return andThen(this.#engine.store.reader.withoutCode(), (runs) =>
      this.wake(runs.filter((id) => this.#lacking.get(id) !== this.#engine.registry)),
    )
  }

  /** Notes which runs have shown that they do not kill their process. */
  noteSteady(): Now<void> {
    const steady = this.crashLoops.takeSteady()
    if (steady.length === 0) return
    this.#engine.store.lease.stretch(this.crashLoops.worst)
    return this.#engine.store.lease.resetLosses(steady)
  }
}
