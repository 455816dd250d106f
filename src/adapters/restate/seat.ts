/**
 * A seat: one activation in the memory of one process, for one attempt of its workflow.
 *
 * Owns: claiming and restoring it, passes (deliver what came in until all rests, commit, say what is set free), leaving.
 * Does not own: replay (engine/activation.ts), what is written (keeper.ts, draft.ts), Restate's journal (workflow.ts).
 * Holds: K1 and K2 (the claim's epoch fences every commit), K5 (a failed commit voids this memory and begins again from the store; nothing of it was let out).
 */
import { failed, failure, systemClock, runOf, type ActivationId } from '../../core/index.ts'
import { isNotice, type Caller } from '../../journal/index.ts'
import { Account, awaitsForeign, type Activation } from '../../engine/index.ts'
import type { Control, EventStore, Pulled, StoredAccount } from '../eventstore/index.ts'
import { callWord } from './call.ts'
import type { Attempt, Desk, Surroundings } from './desk.ts'
import { Draft } from './draft.ts'
import { isRoot, nextDue, notePaused, restoreEscalation, ring } from './due.ts'
import { Keeper } from './keeper.ts'
import { give } from './mail.ts'
import { Outlet } from './outlet.ts'
import { restored } from './restored.ts'
import { entryMs, join, nothing, onlyEffect, Owed, type Release, released } from './release.ts'

/** Events per commit, before what is gathered is written. */
const commitCap = 2_000

/** Resolves when the microtask queue has run dry: a tick queued from a microtask runs after all of them and before any I/O or timer. */
const drained = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))

/** Another attempt has taken the activation: this memory is void. */
class Fenced extends Error {}

export class Seat implements Desk {
  readonly id: ActivationId
  readonly place: Surroundings
  readonly attempt: Attempt
  readonly keeping: Keeper
  readonly isRoot: boolean
  outlet: Outlet
  draft = new Draft()
  activation!: Activation
  caller: Caller = {}
  accounts: Account[] = []
  stored: readonly StoredAccount[] = []
  control: Control | undefined
  escalateAt: { readonly at: number; readonly reason?: string; readonly by?: string } | undefined
  readonly handed = new Set<string>()
  readonly doubts = new Map<string, () => void>()
  asked: ReadonlySet<string> = new Set()
  doneElsewhere: Desk['doneElsewhere']
  readonly exhausted = new Set<ActivationId>()
  ready = false
  reload = false
  lacksCode = false
  wasStuck = false
  over = false
  heardAt = 0
  epoch = 0
  #rests = false
  #othersRest = false
  #due: number | undefined
  #dirty = false
  #opened = false
  #foreign = false
  #left = false
  /** The store has said that another attempt has it. */
  #fenced = false
  /** It has been told of mail that it has not looked at. */
  #unread = false
  #queue: Promise<unknown> = Promise.resolve()
  readonly #owed = new Owed()

  constructor(place: Surroundings, id: ActivationId, attempt: Attempt) {
    this.place = place
    this.id = id
    this.attempt = attempt
    this.isRoot = isRoot(id)
    this.keeping = new Keeper(this)
    this.outlet = new Outlet(this)
  }

  touched(): void {
    this.#dirty = true
    // Code that awaits something foreign goes on when nobody passes.
    if (this.#foreign) this.note()
  }

  persist<T>(work: (store: EventStore) => Promise<T>): Promise<T> {
    return this.place.persist(work, this.attempt.signal)
  }

  async stillMine(): Promise<boolean> {
    const asked = this.place.clock.now()
    const holds = await this.persist((store) => store.holds(this.id, this.epoch))
    if (holds) this.heardAt = asked
    else this.#fenced = true
    return holds
  }

  // ---- what the workflow asks for --------------------------------------------------------------------------------------------------

  /** Takes the activation over if that is still to be done, looks at what has come in, and moves as far as it goes. */
  pass(): Promise<Release> {
    return this.#said(this.#alone(() => this.#freed(() => this.#pass())))
  }

  /** The first pass, and what follows it. */
  begin = (): Promise<Release> => this.#goOn(() => this.pass())
  /** Lets one effect out, waits for its end, and moves on. */
  fly = (address: string): Promise<Release> => this.#goOn(() => this.#flown(address))

  /** For a moment, the next effect need not wait for Restate if nothing else is set free: all that it depends on is in the store. */
  async #goOn(first: () => Promise<Release>): Promise<Release> {
    const until = systemClock.now() + entryMs
    let release = await first()
    for (let next; (next = onlyEffect(release)) !== undefined && systemClock.now() <= until;) release = await this.#flown(next)
    return release
  }

  async #flown(address: string): Promise<Release> {
    await this.#alone(() => this.#freed(undefined))
    this.#tell()
    await this.outlet.fly(address)
    return this.#said(this.#alone(() => this.#freed(() => this.#settle())))
  }

  /** A closing process says nothing to Restate but last words: what it holds back is for the next attempt to find in the store. */
  async #said(released: Promise<Release>): Promise<Release> {
    const release = await released
    return this.place.leaving && release.over !== true ? await new Promise<never>(() => {}) : release
  }

  /** Somebody has cancelled the invocation with Restate's own means: that is a cancel of this activation. */
  cancelled(): Promise<Release> {
    const cancel = (): Promise<Release> => {
      if (!this.over && !this.activation.cancelKnown)
        this.activation.arrive({ type: 'cancel.received', reason: 'its invocation was cancelled' })
      return this.#pass()
    }
    return this.#said(this.#alone(() => this.#freed(cancel, true)))
  }

  /** The next invocation goes on with it. No generation: there is nothing to go on with, or not yet. */
  handOver(): Promise<{ readonly release: Release; readonly generation?: number }> {
    return this.#alone(async () => {
      const release = await this.#freed(() => {
        this.outlet.noteUnreleased()
        return this.#settle()
      }, true)
      if (this.over || release.again === true) return { release }
      const generation = await this.persist((store) => store.handOver(this.id, this.epoch))
      return generation === undefined ? { release: { ...release, again: true } } : { release, generation }
    })
  }

  /** The engine closes in order: what has come in is recorded, and this memory is void. */
  close(): Promise<unknown> {
    return this.#alone(async () => {
      if (this.#opened && !this.over) {
        this.outlet.noteUnreleased()
        this.activation.recordAndLeave()
        await this.#commit().catch(() => undefined)
      }
      this.leave()
    })
  }

  /** This memory is void: whatever its code still does has no effect. */
  leave(): void {
    this.#left = true
    if (this.activation !== undefined) this.activation.discarded = true
    this.outlet.dismiss()
  }

  note(): void {
    void this.#alone(async () => this.#owed.add(await this.#settle())).then(
      () => this.#tell(),
      () => undefined,
    )
  }

  /** If more than time is owed, the next pass is to come soon. */
  #tell(): void {
    if (this.#owed.matters) this.place.poke(this.attempt)
  }

  /**
   * What was owed and what comes now, without effects that have ended or are held since. `always`: also if it has just been opened. Whoever finds that another
   * attempt has taken the activation takes nothing back by itself: Restate may not want this one any more, and then it never hears of it.
   */
  async #freed(work: (() => Promise<Release>) | undefined, always = false): Promise<Release> {
    const now = this.place.clock.now()
    try {
      const opened = await this.#open()
      if (work === undefined) return nothing(now)
      if (!opened || always) this.#owed.add(await work())
    } catch (thrown) {
      if (!(thrown instanceof Fenced)) throw thrown
      this.#void()
      this.#owed.take(now)
      return { now, again: true }
    }
    const all = this.#owed.take(now)
    const effects = all.effects?.filter((address) => this.outlet.isListed(address))
    return effects === undefined ? all : { ...all, effects }
  }

  setControl(control: Control | undefined, own = false): void {
    const before = this.control
    this.control = control
    if (own) this.draft.control = control ?? null
    if (own) this.touched()
    if (before?.at === control?.at && (before === undefined) === (control === undefined)) return
    this.outlet.controlled(control)
  }

  // ---- passes ----------------------------------------------------------------------------------------------------------------------

  /** One after the other; a memory that is void does nothing any more, and nobody waits for it. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#queue.then(() => (this.#left ? new Promise<never>(() => {}) : work()))
    this.#queue = mine.catch(() => undefined)
    return mine
  }

  /** What it sets free is for whoever passes first. True if it was to be done. */
  async #open(): Promise<boolean> {
    if (this.#opened) return false
    this.#owed.add(await this.#claim())
    this.#opened = true
    this.#owed.add(await this.#settle())
    return true
  }

  async #claim(): Promise<Release> {
    const now = this.place.clock.now()
    const { generation } = this.attempt
    const claimed = await this.persist((store) => store.claim(this.id, generation, this.#word, now, this.place.options.build))
    if (claimed === undefined || claimed.settled) {
      this.over = true
      return { now, over: true, wakes: claimed?.wakes ?? [] }
    }
    this.epoch = claimed.epoch
    this.caller = claimed.caller
    this.asked = new Set(claimed.asked)
    this.wasStuck = claimed.stuck
    this.doneElsewhere = claimed.doneElsewhere
    this.#hear(claimed.accounts)
    this.activation = restored(this.keeping, this.id, claimed)
    this.ready = true
    this.control = claimed.control
    restoreEscalation(this)
    this.#heard(claimed, now)
    const { unborn: births, wakes } = claimed
    return released(now, { births, wakes })
  }

  #hear(stored: readonly StoredAccount[]): void {
    this.stored = stored
    this.accounts = stored.map(({ activation, state }) => new Account(activation, state.limits, state))
  }

  async #pass(): Promise<Release> {
    if (this.over) return { now: this.place.clock.now(), over: true }
    // What it lacked may be here by now.
    const before = this.lacksCode ? await this.#again() : await this.#look()
    return join(before, await this.#settle())
  }

  /** Delivers and commits until nothing is left to do without the outside. */
  async #settle(): Promise<Release> {
    if (this.over && this.draft.isEmpty) return { now: this.place.clock.now(), over: true }
    if (this.#fenced) throw new Fenced()
    let release = nothing(this.place.clock.now())
    for (;;) {
      await this.#deliver()
      if (this.#othersRest) notePaused(this)
      const idle = !this.#dirty && this.draft.isEmpty && this.activation.taken.length === 0 && !this.outlet.listable
      if (idle && this.#rests === this.#resting) break
      release = join(release, await this.#commit())
      if (this.over && this.draft.isEmpty) return { ...release, over: true }
      if (this.#unread) release = join(release, await this.#look())
    }
    const due = nextDue(this, this.#due)
    if (due !== undefined) this.place.alarm(this.id, this.attempt, due)
    return due === undefined ? release : { ...release, due }
  }

  async #deliver(): Promise<void> {
    while (this.ready && this.draft.entries.length < commitCap && !this.reload) {
      this.ready = false
      if (!this.activation.advance()) continue
      await drained()
      if (this.activation.awaitsForeign) this.#foreignAwait()
    }
  }

  #foreignAwait(): void {
    this.#foreign = true
    this.activation.leaveCode(this.place.clock)
    const { agent } = this.activation.birth
    const message = awaitsForeign(agent)
    if (this.keeping.strict) this.activation.fail(failed(failure('orchestration.foreign-await', message, 'internal')))
    else this.place.warnOnce(agent, 'orchestration.foreign-await', message)
  }

  /** Nothing moves without the outside, the clock or others. */
  get #resting(): boolean {
    const { hasLive, replaying, stuck } = this.activation
    return this.outlet.out.size === 0 && !this.ready && (stuck !== undefined || (!hasLive && !replaying)) && !this.activation.awaitsForeign
  }

  async #commit(): Promise<Release> {
    const { place } = this
    const draft = this.draft
    this.draft = new Draft()
    this.#dirty = false
    draft.taken.push(...this.activation.taken.splice(0))
    const state = { working: this.outlet.out.size > 0 && !isNotice(this.activation.birth.agent), resting: this.#resting }
    const commit = draft.commit(this.id, this.epoch, place.clock.now(), state)
    if (place.options.crash?.('commit.before') === true) return place.die()
    // Whoever reads along has everything of a step before it sees its end.
    if (draft.steps.length > 0) await this.persist((store) => store.settleParts(runOf(this.id)))
    const committed = await this.persist(async (store) => store.commit({ ...commit, births: await draft.born(store, this.id) })).catch(
      (thrown: unknown) => {
        this.#void()
        throw thrown
      },
    )
    if (place.options.crash?.('commit.after') === true) return place.die()
    if (committed.status === 'fenced') throw new Fenced()
    if (committed.status !== 'written') {
      if (committed.status === 'moved') return this.#again()
      this.over = true
      return { now: commit.now, over: true }
    }
    this.heardAt = commit.now
    this.#unread = committed.unread
    this.#rests = state.resting
    for (const key of draft.steps) place.effects.forget(key)
    this.#othersRest = committed.othersRest
    this.#due = committed.due
    if (this.draft.accounts.length === 0) this.#hear(committed.accounts)
    if (this.draft.control === undefined) this.setControl(committed.control)
    const release = this.#release(draft, committed)
    return this.reload ? join(release, await this.#again()) : release
  }

  #release(draft: Draft, { wakes, generation }: { readonly wakes: readonly string[]; readonly generation: number }): Release {
    const effects = this.outlet.list()
    const births = draft.births.map(({ id }) => ({ id, generation }))
    return released(this.place.clock.now(), { effects, births, wakes })
  }

  /** This memory is ahead of the store, or behind it: nothing of it counts any more. */
  #void(): void {
    this.activation.discarded = true
    this.outlet.dismiss()
    this.outlet = new Outlet(this)
    this.draft = new Draft()
    this.handed.clear()
    this.doubts.clear()
    this.escalateAt = undefined
    this.ready = this.reload = this.lacksCode = this.over = false
    this.#dirty = this.#rests = this.#opened = this.#fenced = this.#unread = false
  }

  /** It is read again from the store. What was owed is owed again by the claim. */
  async #again(): Promise<Release> {
    this.#void()
    const claimed = await this.#claim()
    this.#opened = true
    return claimed
  }

  /** Under which word it is told next. */
  get #word(): string {
    return callWord(this.attempt.invocation, this.attempt.calls)
  }

  /** What has come in since. */
  async #look(): Promise<Release> {
    const now = this.place.clock.now()
    const pulled = await this.persist((store) => store.pull(this.id, this.epoch, now, this.#word))
    if (pulled === 'fenced') throw new Fenced()
    this.#heard(pulled, now)
    return nothing(now)
  }

  #heard(pulled: Pulled, asked: number): void {
    this.heardAt = asked
    this.#unread = false
    this.#othersRest = pulled.othersRest
    this.#due = pulled.due
    this.#rests = false
    if (this.draft.accounts.length === 0) this.#hear(pulled.accounts)
    this.setControl(pulled.control)
    for (const row of pulled.rows) give(this, row)
    ring(this)
  }
}
