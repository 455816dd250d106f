/**
 * Residents: which runs are in memory. Waking is reading the journal again; dropping makes what memory held void.
 *
 * Owns: claiming, loading, dropping, adopting runs that nobody drives. Does not own: the tick (driver.ts).
 * Holds: K2 (only a claimed run is loaded), DESIGN §3.4 (parked runs cost no heap).
 */
import { ReeveError, rootActivation, runOf, type ActivationId, type Failure, type RunId } from '../../core/index.ts'
import { pathOf, type Caller } from '../../journal/index.ts'
import { Account } from '../account.ts'
import { Activation } from '../activation.ts'
import type { Registry } from '../context.ts'
import { doneBy } from '../origin.ts'
import { asideFor, nobody, type StoredRun } from '../store.ts'
import type { Desk } from './desk.ts'
import { receive, restorePause } from './mail.ts'
import { Run } from './run.ts'
import { Steadiness } from './steadiness.ts'

/** Above this many runs in memory a quiet one leaves at once, and no more are adopted. */
export const residentCap = 1_000
/** How long another process is given to take a run whose code is missing here. */
const patienceMs = 200

/** As it is in the store. */
function clean(account: Account): Account {
  account.dirty = false
  return account
}

export class Residents {
  readonly #desk: Desk
  /** Runs that this process has found to lack code, and in which registry. */
  readonly #lacking = new Map<RunId, Registry>()
  readonly #steadiness: Steadiness

  constructor(desk: Desk) {
    this.#desk = desk
    this.#steadiness = new Steadiness(desk.options.lossLimit)
  }

  drop(id: RunId): void {
    const run = this.#desk.runs.get(id)
    if (run === undefined) return
    run.discard()
    for (const op of run.out) op.owner.discarded = true
    this.#desk.runs.delete(id)
    this.#desk.batch.epochs.delete(id)
    this.#desk.ends.delete(id)
    if (this.#steadiness.left(id)) this.#desk.store.lease.stretch(this.#steadiness.worst)
    this.#strike(id)
  }

  /** Takes everything of a dropped run out of the batch that is being filled. */
  #strike(id: RunId): void {
    const b = this.#desk.batch
    const keep = <T>(list: T[], run: (item: T) => RunId): void => {
      if (list.some((item) => run(item) === id)) list.splice(0, list.length, ...list.filter((item) => run(item) !== id))
    }
    keep(b.log, (entry) => entry.run)
    keep(b.acts, (act) => runOf(act))
    keep(b.questions, (q) => runOf(q.act))
    keep(b.closed, (c) => runOf(c.act))
    keep(b.closedActs, (act) => runOf(act))
    keep(b.taken, (t) => runOf(t.act))
    keep(b.ended, (e) => e.run)
    keep(b.accounts, (a) => a.run)
    keep(b.parked, (run) => run)
    keep(b.control, (c) => c.run)
    for (const [i, write] of b.values.entries()) if (write.by?.run === id) b.values[i] = { ...write, by: { ...write.by, run: nobody } }
    // Somebody holds a promise for each row by its place: it stays, and nobody's word is not written.
    for (const [i, row] of b.rows.entries()) if (row.from === id) b.rows[i] = { ...row, from: nobody }
  }

  /** The code of something in this run is missing here. */
  lacks(id: RunId): void {
    if (this.#desk.registry !== undefined) this.#lacking.set(id, this.#desk.registry)
  }

  tryWake(id: RunId, insist = false): void {
    try {
      this.wake(id, insist)
    } catch (thrown) {
      const error = this.#desk.store.errorOf(thrown)
      this.#desk.onStoreFailure(error, [id])
      if (error.retryable) this.#desk.owe([id])
    }
  }

  /** Brings a run into memory and goes on with it, if this process can drive it and nobody else does. */
  wake(id: RunId, insist = false): Run | undefined {
    const here = this.#desk.runs.get(id)
    if (here !== undefined || this.#desk.dead || this.#desk.closing) return here
    const row = this.#desk.store.reader.run(id)
    if (row === undefined || row.ended !== null || this.#desk.registry?.find(row.agent) === undefined) return undefined
    const word = asideFor(row) === undefined ? undefined : this.#desk.store.reader.wordFor(id)
    if (asideFor(row) !== undefined ? word === undefined : this.#leavesToOthers(row, insist)) return undefined
    if (word === undefined && !this.#steadiness.admits(row.losses)) return undefined
    const epoch = this.#desk.store.lease.claim(id)
    if (epoch === undefined) return undefined
    this.#steadiness.takenUp(id, row.losses)
    if (row.losses > 0) this.#desk.store.lease.stretch(this.#steadiness.worst)
    const run = new Run(id, epoch, row.caller === null ? {} : (JSON.parse(row.caller) as Caller))
    for (const [activation, state] of this.#desk.store.reader.accounts(id))
      run.addAccount(clean(new Account(activation, state.limits, state)))
    if (row.control !== null) run.pause = { at: row.control === 'human_control' ? 'human' : 'next', reached: row.control === 'paused' }
    run.broughtBack = word
    run.questions = this.#desk.store.reader.questions({ run: id }).length
    this.#desk.runs.set(id, run)
    try {
      this.load(run, rootActivation(id), [])
    } catch (thrown) {
      this.unreadable(run, thrown)
      return undefined
    }
    restorePause(this.#desk, run)
    if (row.stuck !== null) this.#desk.batch.stuck.push({ run: id, reason: null })
    for (const inbox of this.#desk.store.reader.unreadOf(id)) {
      run.lastRow = inbox.position
      receive(this.#desk, run, inbox)
    }
    this.#desk.touch(run)
    this.#desk.schedule()
    return run
  }

  /**
   * A run whose code is missing here may be at home in another process (a rolling deploy): that one is given a moment to take it, so that it is not
   * kept waiting by who can only call it stuck. What is known to be stuck here is left alone, but for a cancel, which needs no code.
   */
  #leavesToOthers(row: StoredRun, insist: boolean): boolean {
    const { registry, store } = this.#desk
    const id = row.id as RunId
    const known = this.#lacking.get(id) === registry
    if (!known && (registry?.onMissingVersion !== 'park' || registry.find(row.agent, row.version) !== undefined)) return false
    if (known && row.stuck !== null && !store.reader.isToBeCancelled(id)) return true
    if (insist || store.isPrivate) return false
    setTimeout(() => this.tryWake(id, true), patienceMs).unref()
    return true
  }

  /** A journal that cannot be read stops this run only. It says why and waits for somebody, unless it may be readable in a moment. */
  unreadable(run: Run, thrown: unknown): void {
    const error = this.#desk.store.errorOf(thrown)
    this.drop(run.id)
    if (error.retryable) {
      this.#desk.onStoreFailure(error, [run.id])
      return this.#desk.owe([run.id])
    }
    this.#desk.batch.stuck.push({ run: run.id, reason: `${error.code}: ${error.message}` })
    this.#desk.batch.parked.push(run.id)
    this.#desk.batch.epochs.set(run.id, run.epoch)
    this.#desk.onStoreFailure(error, [run.id])
    this.#desk.schedule()
  }

  /** No process goes on with this run until an operator resumes or cancels it. Everything of it that is not recorded is void. */
  setAside(id: RunId, epoch: number, failure: Failure): void {
    const { batch, runs, store } = this.#desk
    const run = runs.get(id)
    const words = { upTo: run?.lastRow ?? store.reader.lastInboxPosition(), cancel: run?.broughtBack === 'cancel' }
    this.drop(id)
    batch.stuck.push({ run: id, reason: JSON.stringify(failure), words })
    batch.parked.push(id)
    batch.epochs.set(id, epoch)
    const { code, message, hint } = failure
    this.#desk.onStoreFailure(new ReeveError(code, message, hint === undefined ? {} : { hint }), [id])
    this.#desk.schedule()
  }

  /** Reads an activation into memory. Undefined if there is none. */
  load(run: Run, id: ActivationId, parentPath: readonly string[]): Activation | undefined {
    let activation: Activation | undefined
    for (const { seq, at, event } of this.#desk.store.reader.activation(id)) {
      if (activation === undefined) {
        if (seq !== 0 || event.type !== 'activation.started')
          throw new ReeveError('journal.hole', `the journal of ${id} does not begin at its beginning`, {
            hint: 'Restore the store from a backup; other runs are not touched.',
          })
        const { agent, version, input, earlier } = event
        activation = new Activation(this.#desk.keeper, {
          id,
          agent,
          version,
          input,
          path: pathOf(event, parentPath),
          accounts: this.#desk.keeper.accountsOf(run, id),
          at,
          copied: event.copied,
          earlier,
        })
        activation.seq = 1
      } else {
        activation.restore(seq, at, event)
        if (event.type === 'run.forked') run.doneElsewhere = doneBy(event)
      }
    }
    if (activation === undefined) return undefined
    run.activations.set(id, activation)
    const mail = run.mail.get(id)
    run.mail.delete(id)
    this.#desk.ready.add(activation)
    for (const row of mail ?? []) receive(this.#desk, run, row)
    return activation
  }

  /** Tries those that lacked code elsewhere: it may be here. */
  adoptStuck(): void {
    for (const id of this.#desk.store.reader.withoutCode()) if (this.#lacking.get(id) !== this.#desk.registry) this.tryWake(id)
  }

  /** Notes which runs have shown that they do not kill their process. */
  noteSteady(): void {
    const steady = this.#steadiness.takeSteady()
    for (const run of steady) this.#desk.store.lease.steady(run)
    if (steady.length > 0) this.#desk.store.lease.stretch(this.#steadiness.worst)
  }

  /** Goes on with runs that nobody drives. */
  adoptOrphans(): void {
    const { registry, runs } = this.#desk
    const { reader } = this.#desk.store
    if (registry === undefined || this.#desk.dead || runs.size > residentCap) return
    for (const kind of reader.orphanKinds()) {
      if (registry.find(kind.agent) === undefined) continue
      for (const id of reader.orphans(kind, this.#steadiness.suspectFrom, residentCap)) {
        if (runs.size > residentCap) return
        this.tryWake(id)
      }
    }
    for (const id of reader.suspects(this.#steadiness.suspectFrom, residentCap)) this.tryWake(id)
  }
}
