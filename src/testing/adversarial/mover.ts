/**
 * What moves next on the adversarial engine: one thing to one activation, one commit of one activation, in an order drawn by lot.
 *
 * Owns: loading, moving, committing and putting out of memory; the alarm. Does not own: the verbs of the port (engine.ts).
 */
import { copy, ReeveError, rootActivation, runOf, type ActivationId, type Clock, type Json, type RunId } from '../../core/index.ts'
import { decode, isNotice } from '../../journal/index.ts'
import { Account, Activation, noteHeld, type LivePart, type Registry, type RunEnd } from '../../engine/index.ts'
import { pull } from './mail.ts'
import type { LossyNetwork } from './network.ts'
import { PostOffice } from './post-office.ts'
import { Site, type Loaded } from './site.ts'
import type { AdversarialStore, Box } from './store.ts'

const drained = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
/** How often is looked for what was lost, in turns. */
const sweepEvery = 8

export interface MoverOptions {
  readonly clock: Clock
  readonly store: AdversarialStore
  readonly network: LossyNetwork
  readonly strict: boolean
  readonly onPart: (run: RunId, part: LivePart) => void
  readonly onNews: (run: RunId) => void
  readonly onEnd: (run: RunId, end: RunEnd) => void
}

export class Mover {
  readonly store: AdversarialStore
  readonly network: LossyNetwork
  readonly post: PostOffice
  readonly #site: Site
  readonly #options: MoverOptions
  readonly #clock: Clock
  #registry: Registry | undefined
  #turning = false
  #turns = 0
  #calm = 0
  #closed = false
  #callOffAlarm: (() => void) | undefined

  constructor(options: MoverOptions) {
    const { store, network, clock, strict, onPart } = options
    this.#options = options
    this.store = store
    this.network = network
    this.#clock = clock
    this.#site = new Site({ clock, store, strict, onPart, wake: () => this.wake() })
    this.post = new PostOffice(
      store,
      network,
      () => clock.now(),
      (id) => this.#notified(id),
    )
  }

  drive(registry: Registry): void {
    this.#registry = this.#site.registry = registry
    for (const box of this.store.boxes.values()) if (!box.settled && box.stuck !== undefined) this.#notified(box.id)
    this.#armAlarm()
    this.wake()
  }

  /** Something is going on in this run in this process. */
  works(run: RunId): boolean {
    return (
      this.#site.works(run) ||
      this.store.boxesOf(run).some(({ id, rows }) => this.#site.moving.has(id) || [...rows.values()].some(({ taken }) => !taken))
    )
  }

  /** How a run has ended. */
  end(run: RunId): RunEnd | undefined {
    const body = this.store.boxes.get(rootActivation(run))?.log.at(-1)?.body
    const event = body === undefined ? undefined : decode(body)
    return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
  }

  /** Records what has come in and lets everything go. `once` effects are waited for. */
  async finish(): Promise<void> {
    this.#closed = true
    await this.#site.effects.drain()
    for (const loaded of this.#site.loaded.values()) {
      for (const op of loaded.sealed) noteHeld(this.#site, op)
      loaded.activation.recordAndLeave()
      loaded.sealed.length = 0
      this.#commit(loaded)
    }
    this.stop()
  }

  /** Lets everything go at once: what is not in the store has never been. */
  stop(): void {
    this.#closed = this.#site.dead = true
    this.#callOffAlarm?.()
    this.network.clear()
    for (const { activation } of this.#site.loaded.values()) activation.discarded = true
    for (const box of this.store.boxes.values()) box.parked &&= !this.#site.loaded.has(box.id)
  }

  /** Something is to be done. */
  wake(): void {
    this.#calm = 0
    if (this.#turning || this.#closed || this.#registry === undefined) return
    this.#turning = true
    setImmediate(() => void this.#turn())
  }

  /** One turn: the network moves, one activation is given one thing, one commits. */
  async #turn(): Promise<void> {
    const site = this.#site
    this.network.turn()
    for (const run of this.store.runs.values()) if (run.pause?.reached === false) this.#notePaused(run.id)
    const ready = this.network.pick([...site.moving])
    if (ready !== undefined) {
      site.moving.delete(ready)
      await this.#advance(ready)
    }
    const dirty = this.network.pick([...site.loaded.values()].filter(({ changed }) => changed))
    if (dirty !== undefined && (ready === undefined || this.network.random() < 0.6)) this.#commit(dirty)
    if (
      ++this.#turns % sweepEvery === 0 &&
      this.post.sweep(
        (box) => this.#drives(box),
        ({ id }) => site.loaded.has(id),
      )
    )
      this.#calm = 0
    this.#turning = false
    const busy = site.moving.size > 0 || dirty !== undefined || !this.network.idle || ++this.#calm < 3 * sweepEvery
    if (busy && !this.#closed && !this.#turning) {
      this.#turning = true
      setImmediate(() => void this.#turn())
    }
  }

  async #advance(id: ActivationId): Promise<void> {
    const loaded = this.#site.loaded.get(id)
    if (loaded === undefined || !loaded.activation.advance()) return
    await drained()
    if (loaded.activation.awaitsForeign) this.#site.foreignAwait(loaded.activation)
  }

  #drives(box: Box): boolean {
    const run = this.store.runs.get(runOf(box.id))
    return run !== undefined && run.ended === undefined && this.#registry?.find(run.agent) !== undefined
  }

  #notified(id: ActivationId): void {
    const box = this.store.boxes.get(id)
    if (box === undefined || box.settled || this.#closed || !this.#drives(box)) return
    const loaded = this.#site.loaded.get(id) ?? this.#load(box)
    pull(this.#site, loaded)
    this.wake()
  }

  #load(box: Box): Loaded {
    const first = decode(box.log[0]!.body)
    if (first.type !== 'activation.started') throw new ReeveError('journal.hole', `${box.id} does not begin with its beginning`)
    const { agent, version, input, earlier } = first
    const accounts = this.#site.accounts(runOf(box.id))
    if (box.limits !== undefined && !accounts.some(({ activation }) => activation === box.id))
      accounts.push(new Account(box.id, box.limits))
    const mine = isNotice(agent) ? [] : accounts.filter(({ activation }) => box.id === activation || box.id.startsWith(`${activation}>`))
    const activation = new Activation(this.#site, {
      id: box.id,
      agent,
      version,
      input,
      path: box.path,
      accounts: mine,
      at: box.log[0]!.at,
      copied: first.copied,
      earlier,
    })
    activation.seq = 1
    for (const { seq, at, event } of this.store.events(box)) if (seq > 0) activation.restore(seq, at, event)
    const fresh = { entries: [], letters: [], opened: [], closed: [], sealed: [], steps: [], changed: false, reload: false }
    const loaded: Loaded = { activation, box, ...fresh, handed: new Set(), doubts: new Map() }
    box.parked = false
    this.#site.loaded.set(box.id, loaded)
    this.#site.moving.add(box.id)
    return loaded
  }

  // ---- a commit: of one activation alone --------------------------------------------------------------------------------------------

  #commit(loaded: Loaded): void {
    const { box, activation } = loaded
    loaded.changed = false
    for (const { at, text } of loaded.entries.splice(0)) this.store.append(box, at, text)
    for (const key of activation.taken.splice(0)) {
      const row = box.rows.get(key)
      if (row !== undefined) row.taken = true
      // it was known before its letter came: the letter must find it taken
      else box.rows.set(key, { key, body: 'null', taken: true })
    }
    for (const question of loaded.opened.splice(0)) box.questions.set(question.id, question)
    const closed = new Set<string>(loaded.closed.splice(0))
    for (const [id, { address }] of box.questions) if (closed.has(address)) box.questions.delete(id)
    for (const key of loaded.steps.splice(0)) this.#site.effects.forget(key)
    for (const account of activation.birth.accounts) if (account.activation === box.id) box.ms = account.state().ms
    const letters = loaded.letters.splice(0)
    for (const letter of letters) box.out.set(letter.key, letter)
    if (activation.over) this.#over(loaded)
    for (const letter of letters) this.post.send(letter)
    const sealed = loaded.sealed.splice(0)
    for (const op of sealed) {
      // what is still to be delivered may stop it
      if (!activation.replaying && !activation.hasLive) this.#site.release(op)
      else loaded.sealed.push(op)
    }
    if (loaded.sealed.length > 0) loaded.changed = true
    if (loaded.reload) this.#unload(loaded, true)
    this.#notePaused(runOf(box.id))
    this.#armAlarm()
    this.#rest(loaded)
    this.#options.onNews(runOf(box.id))
    this.wake()
  }

  #over({ box, activation }: Loaded): void {
    box.settled = true
    box.questions.clear()
    this.#site.loaded.delete(box.id)
    this.#site.moving.delete(box.id)
    activation.discarded = true
    const run = this.store.runs.get(runOf(box.id))
    if (run === undefined || rootActivation(run.id) !== box.id) return
    run.ended = { status: activation.outcome!.status, at: this.#clock.now() }
    run.pause = undefined
    this.#options.onEnd(run.id, copy(this.end(run.id) as unknown as Json) as unknown as RunEnd)
  }

  #notePaused(id: RunId): void {
    const run = this.store.runs.get(id)
    if (run?.pause === undefined || run.pause.reached || this.#site.works(id) || !this.#quiet(id)) return
    const box = this.store.boxes.get(rootActivation(id))!
    const root = this.#site.rootOf(id) ?? this.#load(box)
    run.pause.reached = true
    this.#site.append(root.activation, { type: 'run.paused' }, this.#clock.now())
  }

  /** Nothing of the run is on its way, neither in memory nor in the post. */
  #quiet(run: RunId): boolean {
    return this.store.boxesOf(run).every(({ id, rows, out }) => {
      const loaded = this.#site.loaded.get(id)
      if (loaded !== undefined && (loaded.changed || loaded.activation.hasLive || loaded.activation.replaying)) return false
      return !this.#site.moving.has(id) && [...rows.values()].every(({ taken }) => taken) && [...out.values()].every(({ acked }) => acked)
    })
  }

  /** What rests is put out of memory, now and then: whatever comes in brings it back. */
  #rest(loaded: Loaded): void {
    const { activation, box } = loaded
    const id = box.id
    const works = [...this.#site.out, ...this.#site.held].some((op) => op.owner === activation)
    if (
      works ||
      this.#closed ||
      loaded.changed ||
      this.#site.moving.has(id) ||
      activation.hasLive ||
      activation.replaying ||
      loaded.doubts.size > 0
    )
      return
    if (activation.over || !this.#site.loaded.has(id) || activation.awaitsForeign) return
    if (activation.outcome === undefined && this.network.random() < 0.5) this.#unload(loaded, false)
  }

  #unload({ activation, box }: Loaded, again: boolean): void {
    activation.discarded = true
    this.#site.loaded.delete(box.id)
    this.#site.moving.delete(box.id)
    for (const op of this.#site.out) if (op.owner === activation) this.#site.out.delete(op)
    box.parked = !again
  }

  // ---- time ------------------------------------------------------------------------------------------------------------------------

  #armAlarm(): void {
    if (this.#registry === undefined || this.#closed) return
    const due = this.store.questions().flatMap((q) => (q.due === undefined ? [] : [q.due]))
    this.#callOffAlarm?.()
    if (due.length > 0) this.#callOffAlarm = this.#clock.timer(Math.min(...due), () => this.#ring())
  }

  #ring(): void {
    if (this.#closed) return
    const due = this.store.questions().filter((q) => q.due !== undefined && q.due <= this.#clock.now())
    for (const question of due.sort((a, b) => a.due! - b.due!)) {
      question.due = undefined
      const box = this.store.boxes.get(question.activation)
      if (box !== undefined && this.store.put(box, question.key, { type: 'deadline', address: question.address }))
        this.post.announce(box.id)
    }
    this.#armAlarm()
    this.wake()
  }
}
