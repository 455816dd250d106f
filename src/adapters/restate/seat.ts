/**
 * A seat: one activation in the memory of one process, for one attempt of its workflow.
 *
 * Owns: claiming and restoring it, passes (deliver what came in until all rests, commit, say what is set free), leaving.
 * Does not own: replay (engine/activation.ts), what is written (keeping.ts, draft.ts), Restate's journal (workflow.ts).
 * Holds: K1 and K2 (the claim's epoch fences every commit), K5 (a failed commit voids this memory and begins again from the store; nothing of it was let out).
 */
import { failed, failure, ReeveError, systemClock, runOf, type ActivationId } from '../../core/index.ts'
import type { Caller } from '../../journal/index.ts'
import { Account, Activation } from '../../engine/index.ts'
import type { Claimed, Control, EventStore, Pulled, StoredAccount } from '../eventstore/index.ts'
import { callWord } from './call.ts'
import type { Attempt, Desk, Surroundings } from './desk.ts'
import { Draft } from './draft.ts'
import { isRoot, nextDue, restoreEscalation, ring } from './due.ts'
import { Keeper } from './keeper.ts'
import { give } from './mail.ts'
import { Outlet } from './outlet.ts'
import { entryMs, isMore, join, nothing, onlyEffect, type Release } from './release.ts'

/** Events per commit, before what is gathered is written. */
const commitCap = 2_000

/** Resolves when the microtask queue has run dry: a tick queued from a microtask runs after all of them and before any I/O or timer. */
const drained = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))

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
  readonly exhausted = new Set<ActivationId>()
  ready = false
  reload = false
  lacksCode = false
  wasStuck = false
  over = false
  heardAt = 0
  #epoch = 0
  #rests = false
  #othersRest = false
  #due: number | undefined
  #dirty = false
  #opened = false
  #foreign = false
  #left = false
  #queue: Promise<unknown> = Promise.resolve()
  #owed: Release | undefined

  constructor(place: Surroundings, id: ActivationId, attempt: Attempt) {
    this.place = place
    this.id = id
    this.attempt = attempt
    this.isRoot = isRoot(id)
    this.keeping = new Keeper(this)
    this.outlet = new Outlet(this)
  }

  get epoch(): number {
    return this.#epoch
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
    const holds = await this.persist((store) => store.holds(this.id, this.#epoch))
    if (holds) this.heardAt = this.place.clock.now()
    return holds
  }

  // ---- what the workflow asks for --------------------------------------------------------------------------------------------------

  /** Takes the activation over if that is still to be done, looks at what has come in, and moves as far as it goes. */
  pass(): Promise<Release> {
    return this.#alone(async () => this.#free((await this.#open()) ? undefined : await this.#pass()))
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
    await this.#alone(() => this.#open())
    this.#tell()
    await this.outlet.fly(address)
    return this.#alone(async () => this.#free((await this.#open()) ? undefined : await this.#settle()))
  }

  /** Somebody has cancelled the invocation with Restate's own means: that is a cancel of this activation. */
  cancelled(): Promise<Release> {
    return this.#alone(async () => {
      await this.#open()
      const cancel = { type: 'cancel.received', reason: 'its invocation was cancelled' } as const
      if (!this.over && !this.activation.cancelKnown) this.activation.arrive(cancel)
      return this.#pass()
    })
  }

  /** The next invocation goes on with it. Undefined: there is nothing to go on with. */
  handOver(): Promise<number | undefined> {
    return this.#alone(async () => {
      await this.#open()
      this.outlet.noteUnreleased()
      await this.#settle()
      return this.over ? undefined : await this.persist((store) => store.handOver(this.id, this.#epoch))
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
    void this.#alone(async () => this.#owe(await this.#settle())).then(
      () => this.#tell(),
      () => undefined,
    )
  }

  /** It is set free with the next pass. */
  #owe(release: Release): void {
    this.#owed = this.#owed === undefined ? release : join(this.#owed, release)
  }

  /** If more than time is owed, the next pass is to come soon. */
  #tell(): void {
    if (this.#owed !== undefined && isMore(this.#owed)) this.place.poke(this.attempt)
  }

  /** What was owed and what has come now, without effects that have ended or are held since. */
  #free(release: Release | undefined): Release {
    const owed = this.#owed
    this.#owed = undefined
    const all = owed === undefined ? release : release === undefined ? owed : join(owed, release)
    if (all === undefined) return nothing(this.place.clock.now())
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
    this.#owe(await this.#claim())
    this.#opened = true
    this.#owe(await this.#settle())
    return true
  }

  async #claim(): Promise<Release> {
    const { clock } = this.place
    const { generation } = this.attempt
    const claimed = await this.persist((store) => store.claim(this.id, generation, this.#word, clock.now(), this.place.options.build))
    this.heardAt = clock.now()
    if (claimed === undefined || claimed.settled) {
      this.over = true
      return { now: clock.now(), over: true }
    }
    this.#epoch = claimed.epoch
    this.caller = claimed.caller
    this.asked = new Set(claimed.asked)
    this.wasStuck = claimed.stuck
    this.#hear(claimed.accounts)
    this.#restore(claimed)
    this.control = claimed.control
    restoreEscalation(this)
    this.#heard(claimed)
    const { unborn: births, wakes } = claimed
    return { now: clock.now(), ...(births.length === 0 ? {} : { births }), ...(wakes.length === 0 ? {} : { wakes }) }
  }

  #restore({ log, agent, version, path }: Claimed): void {
    const first = log[0]
    if (first?.event.type !== 'activation.started')
      throw new ReeveError('journal.hole', `the log of ${this.id} does not begin with its beginning`)
    const { input } = first.event
    this.activation = new Activation(this.keeping, { id: this.id, agent, version, input, path, accounts: [], at: first.at })
    this.activation.seq = 1
    for (const { seq, at, event } of log) if (seq > 0) this.activation.restore(seq, at, event)
    this.ready = true
  }

  #hear(stored: readonly StoredAccount[]): void {
    this.stored = stored
    this.accounts = stored.map(({ activation, state }) => new Account(activation, state.limits, state))
  }

  async #pass(): Promise<Release> {
    if (this.over) return { now: this.place.clock.now(), over: true }
    let before: Release | undefined
    // What it lacked may be here by now.
    if (this.lacksCode) before = await this.#again(0)
    else {
      const pulled = await this.#pull()
      if (pulled === 'fenced') before = await this.#again()
      else this.#heard(pulled)
    }
    const release = await this.#settle()
    return before === undefined ? release : join(before, release)
  }

  /** Delivers and commits until nothing is left to do without the outside. */
  async #settle(): Promise<Release> {
    if (this.over && this.draft.isEmpty) return { now: this.place.clock.now(), over: true }
    let release = nothing(this.place.clock.now())
    for (;;) {
      await this.#deliver()
      this.#notePaused()
      const idle = !this.#dirty && this.draft.isEmpty && this.activation.taken.length === 0 && !this.outlet.listable
      if (idle && this.#rests === this.#resting) break
      release = join(release, await this.#commit())
      if (this.over && this.draft.isEmpty) return { ...release, over: true }
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
    const { agent } = this.activation.birth
    const message = `${agent} awaits something that is not of its context: after a crash nothing would bring it back. Put it into an effect: step(ctx, name, () => …).`
    if (this.keeping.strict) this.activation.fail(failed(failure('orchestration.foreign-await', message, 'internal')))
    else this.place.warnOnce(agent, 'orchestration.foreign-await', message)
  }

  /** Nothing moves without the outside, the clock or others. */
  get #resting(): boolean {
    const { hasLive, replaying, stuck } = this.activation
    return this.outlet.out.size === 0 && !this.ready && (stuck !== undefined || (!hasLive && !replaying)) && !this.activation.awaitsForeign
  }

  /** `pausing` has become `paused` as soon as nothing of the run is out. Only its root can see that. */
  #notePaused(): void {
    const { control } = this
    if (!this.isRoot || control === undefined || control.reached || !this.#othersRest || this.over) return
    if (this.outlet.out.size > 0 || this.ready || this.activation.hasLive) return
    this.escalateAt = undefined
    this.keeping.append(this.activation, { type: 'run.paused' }, this.keeping.now())
    this.control = this.draft.control = { ...control, reached: true }
  }

  async #commit(): Promise<Release> {
    const { place } = this
    const draft = this.draft
    this.draft = new Draft()
    this.#dirty = false
    draft.taken.push(...this.activation.taken.splice(0))
    const state = { working: this.outlet.out.size > 0, resting: this.#resting }
    const commit = draft.commit(this.id, this.#epoch, place.clock.now(), state)
    if (place.options.crash?.('commit.before') === true) return place.die()
    // Whoever reads along has everything of a step before it sees its end.
    if (draft.steps.length > 0) await this.persist((store) => store.settleParts(runOf(this.id)))
    const committed = await this.persist((store) => store.commit(commit)).catch((thrown: unknown) => {
      this.#void()
      throw thrown
    })
    if (place.options.crash?.('commit.after') === true) return place.die()
    if (committed.status === 'gone') {
      this.over = true
      return { now: place.clock.now(), over: true }
    }
    if (committed.status !== 'written') return this.#again(committed.status === 'moved' ? 0 : undefined)
    this.heardAt = place.clock.now()
    this.#rests = state.resting
    for (const key of draft.steps) place.effects.forget(key)
    this.#othersRest = committed.othersRest
    this.#due = committed.due
    if (this.draft.accounts.length === 0) this.#hear(committed.accounts)
    if (this.draft.control === undefined) this.setControl(committed.control)
    const release = this.#release(draft, committed)
    return this.reload ? join(release, await this.#again(0)) : release
  }

  #release(draft: Draft, { wakes, generation }: { readonly wakes: readonly string[]; readonly generation: number }): Release {
    const effects = this.outlet.list()
    const births = draft.births.map(({ id }) => ({ id, generation }))
    return {
      now: this.place.clock.now(),
      ...(effects.length === 0 ? {} : { effects }),
      ...(births.length === 0 ? {} : { births }),
      ...(wakes.length === 0 ? {} : { wakes }),
    }
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
    this.ready = this.reload = this.lacksCode = this.#dirty = this.#rests = this.#opened = false
  }

  /** It is read again from the store, unless nobody wants it any more. What was owed is owed again by the claim. */
  async #again(after = this.place.takeBackMs): Promise<Release> {
    this.#void()
    if (this.attempt.signal.aborted) return new Promise<never>(() => {})
    if (after > 0) await this.place.wait(after)
    // It may have been heard meanwhile that somebody else goes on: then nothing is taken back from them.
    if (this.attempt.signal.aborted) return new Promise<never>(() => {})
    const claimed = await this.#claim()
    this.#opened = true
    return claimed
  }

  /** Under which word it is told next. */
  get #word(): string {
    return callWord(this.attempt.invocation, this.attempt.calls)
  }

  #pull(): Promise<Pulled | 'fenced'> {
    return this.persist((store) => store.pull(this.id, this.#epoch, this.place.clock.now(), this.#word))
  }

  #heard(pulled: Pulled): void {
    this.heardAt = this.place.clock.now()
    this.#othersRest = pulled.othersRest
    this.#due = pulled.due
    this.#rests = false
    if (this.draft.accounts.length === 0) this.#hear(pulled.accounts)
    this.setControl(pulled.control)
    for (const row of pulled.rows) give(this, row)
    ring(this)
  }
}
