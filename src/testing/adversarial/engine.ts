/**
 * The adversarial engine: the same activations as everywhere, on the worst engine that still keeps its word. Every activation has a log of its own and
 * commits alone; births, ends, cancels, messages and answers travel over a network that loses, doubles and delays them, and are swept up later;
 * whatever rests may be put out of memory at any time. It proves that nothing in an activation relies on one process, one transaction or one order.
 *
 * Owns: the Engine port, and what moves next. In memory; `restart` shows what a kill leaves.
 */
import { canonical, copy, newId, ReeveError, rootActivation, runOf, systemClock, type ActivationId, type Clock, type Json, type RunId } from '../../core/index.ts'
import { decode, encode, type Recorded } from '../../journal/index.ts'
import { Account, Activation, type Engine, type LivePart, type Post, type PostResult, type Question, type Registry, type RunEnd, type RunFilter, type RunStatus, type RunSummary, type StartRun } from '../../engine/index.ts'
import { pull } from './mail.ts'
import { badWeather, LossyNetwork, type Weather } from './network.ts'
import { PostOffice } from './post-office.ts'
import { Site, type Loaded } from './site.ts'
import { AdversarialStore, type Box, type StoredRun } from './store.ts'

export interface AdversarialOptions {
  readonly seed?: string
  readonly clock?: Clock
  readonly strict?: boolean
  readonly weather?: Weather
  /** What an earlier engine has left. Default: nothing. */
  readonly store?: AdversarialStore
}

const drained = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)))
/** How often is looked for what was lost, in turns. */
const sweepEvery = 8

export class AdversarialEngine implements Engine {
  readonly store: AdversarialStore
  readonly network: LossyNetwork
  readonly #site: Site
  readonly #post: PostOffice
  readonly #clock: Clock
  readonly #listeners = new Map<RunId, Set<(part: LivePart) => void>>()
  #outcomes: { run: RunId; resolve: (end: RunEnd) => void; reject: (error: Error) => void }[] = []
  #watchers = new Set<{ run: RunId; from: number; resolve: () => void }>()
  #registry: Registry | undefined
  #turning = false
  #turns = 0
  #calm = 0
  #closed = false
  #callOffAlarm: (() => void) | undefined

  constructor(options: AdversarialOptions = {}) {
    this.store = options.store ?? new AdversarialStore()
    this.store.epoch++
    this.#clock = options.clock ?? systemClock
    this.network = new LossyNetwork(`${options.seed ?? 'seed'}:${this.store.epoch}`, options.weather ?? badWeather)
    const wake = (): void => this.#wake()
    const onPart = (run: RunId, part: LivePart): void => this.#listeners.get(run)?.forEach((hear) => hear(part))
    this.#site = new Site({ clock: this.#clock, store: this.store, strict: options.strict ?? false, onPart, wake })
    this.#post = new PostOffice(this.store, this.network, () => this.#clock.now(), (id) => this.#notified(id))
  }

  // ---- what moves ------------------------------------------------------------------------------------------------------------------

  #wake(): void {
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
    if (++this.#turns % sweepEvery === 0 && this.#post.sweep((box) => this.#drives(box), ({ id }) => site.loaded.has(id))) this.#calm = 0
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
    this.#wake()
  }

  #load(box: Box): Loaded {
    const first = decode(box.log[0]!.body)
    if (first.type !== 'activation.started') throw new ReeveError('journal.hole', `${box.id} does not begin with its beginning`)
    const { agent, version, input } = first
    const accounts = this.#site.accounts(runOf(box.id))
    if (box.limits !== undefined && !accounts.some(({ activation }) => activation === box.id)) accounts.push(new Account(box.id, box.limits))
    const mine = accounts.filter(({ activation }) => box.id === activation || box.id.startsWith(`${activation}>`))
    const activation = new Activation(this.#site, { id: box.id, agent, version, input, path: box.path, accounts: mine, at: box.log[0]!.at })
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
    }
    for (const question of loaded.opened.splice(0)) box.questions.set(question.id, question)
    const closed = new Set<string>(loaded.closed.splice(0))
    for (const [id, { address }] of box.questions) if (closed.has(address)) box.questions.delete(id)
    for (const key of loaded.steps.splice(0)) this.#site.effects.forget(key)
    for (const account of activation.birth.accounts) if (account.activation === box.id) box.ms = account.state().ms
    const letters = loaded.letters.splice(0)
    for (const letter of letters) box.out.set(letter.key, letter)
    if (activation.over) this.#over(loaded)
    for (const letter of letters) this.#post.send(letter)
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
    this.#news(runOf(box.id))
    this.#wake()
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
    const end = this.#end(run.id)!
    const waiting = this.#outcomes.filter((one) => one.run === run.id)
    this.#outcomes = this.#outcomes.filter((one) => one.run !== run.id)
    for (const { resolve } of waiting) resolve(copy(end as unknown as Json) as unknown as RunEnd)
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
    if (works || this.#closed || loaded.changed || this.#site.moving.has(id) || activation.hasLive || activation.replaying || loaded.doubts.size > 0) return
    if (activation.over || !this.#site.loaded.has(id) || activation.awaitsForeign) return
    if (activation.outcome === undefined && this.network.random() < 0.5) this.#unload(loaded, false)
  }

  #unload({ activation, box }: Loaded, again: boolean): void {
    activation.discarded = true
    this.#site.loaded.delete(box.id)
    this.#site.moving.delete(box.id)
    for (const op of [...this.#site.out]) if (op.owner === activation) this.#site.out.delete(op)
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
      if (box !== undefined && this.store.put(box, question.key, { type: 'deadline', address: question.address })) this.#post.announce(box.id)
    }
    this.#armAlarm()
    this.#wake()
  }

  // ---- the port --------------------------------------------------------------------------------------------------------------------

  #open(): void {
    if (this.#closed) throw new ReeveError('engine.closed', 'the engine is closed')
  }

  drive(registry: Registry): void {
    this.#open()
    this.#registry = this.#site.registry = registry
    for (const box of this.store.boxes.values()) if (!box.settled && box.stuck !== undefined) this.#notified(box.id)
    this.#armAlarm()
    this.#wake()
  }

  async start(request: StartRun): Promise<{ readonly created: boolean }> {
    this.#open()
    const { run: id, agent, version, caller, limits } = request
    const input = copy(request.input)
    const known = this.store.runs.get(id)
    if (known !== undefined) {
      const first = decode(this.store.boxes.get(rootActivation(id))!.log[0]!.body)
      const same = first.type === 'activation.started' && first.agent === agent && canonical(first.input) === canonical(input)
      if (!same) throw new ReeveError('run.conflict', `run ${id} exists already, with another agent or input`)
      return { created: false }
    }
    const run: StoredRun = { id, agent, version, caller: JSON.stringify(caller ?? {}), createdAt: this.#clock.now(), order: this.store.runs.size, pause: undefined, ended: undefined }
    this.store.runs.set(id, run)
    const box = this.store.box(rootActivation(id), [agent], limits)
    this.store.append(box, this.#clock.now(), encode({ type: 'activation.started', agent, version, input, ...(caller === undefined ? {} : { caller }) }))
    this.#post.announce(box.id)
    this.#wake()
    return { created: true }
  }

  async post(post: Post): Promise<PostResult> {
    this.#open()
    const result = this.#put(copy(post as unknown as Json) as unknown as Post)
    const to = 'run' in post ? rootActivation(post.run) : post.activation
    if (result === 'accepted') this.#post.announce(to)
    this.#wake()
    return result
  }

  #put(post: Post): PostResult {
    const now = this.#clock.now()
    switch (post.type) {
      case 'answer':
        return this.store.answer(post.activation, post.address, ['approval', 'interrupt'], post, now)
      case 'settle-doubt':
        return this.store.answer(post.activation, post.address, ['in-doubt'], post, now)
      case 'settle-divergence': {
        const asked = this.store.questions().find((q) => q.activation === post.activation && q.kind === 'diverged')
        return this.store.answer(post.activation, asked?.address ?? post.address, ['diverged'], post, now)
      }
      case 'message': {
        const box = this.store.boxes.get(post.activation)
        if (box === undefined) return 'unknown'
        if (box.settled) return 'closed'
        this.store.put(box, `msg:${post.id}`, post)
        return 'accepted'
      }
      default: {
        const run = this.store.runs.get(post.run)
        if (run === undefined) return 'unknown'
        if (run.ended !== undefined) return 'closed'
        const key = post.type === 'cancel' ? '!cancel' : newId(`!${post.type}`)
        return this.store.put(this.store.boxes.get(rootActivation(post.run))!, key, post) ? 'accepted' : 'lost'
      }
    }
  }

  #end(run: RunId): RunEnd | undefined {
    const body = this.store.boxes.get(rootActivation(run))?.log.at(-1)?.body
    const event = body === undefined ? undefined : decode(body)
    return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
  }

  outcome(run: RunId): Promise<RunEnd> {
    const stored = this.store.runs.get(run)
    if (stored === undefined) return Promise.reject(new ReeveError('run.unknown', `there is no run ${run}`))
    if (stored.ended !== undefined) return Promise.resolve(this.#end(run)!)
    return new Promise((resolve, reject) => this.#outcomes.push({ run, resolve, reject }))
  }

  async summary(run: RunId): Promise<RunSummary | undefined> {
    const stored = this.store.runs.get(run)
    if (stored === undefined) return undefined
    const { id, agent, version, createdAt, ended } = stored
    const base = { run: id, agent, version, status: this.#status(stored), caller: this.store.caller(id), createdAt }
    return ended === undefined ? base : { ...base, endedAt: ended.at }
  }

  #status(run: StoredRun): RunStatus {
    if (run.ended !== undefined) return run.ended.status
    const boxes = this.store.boxesOf(run.id)
    if (boxes.some(({ stuck, settled }) => stuck !== undefined && !settled)) return 'stuck'
    if (run.pause !== undefined) return run.pause.reached ? 'paused' : 'pausing'
    const moves = this.#site.works(run.id) || boxes.some(({ id, rows }) => this.#site.moving.has(id) || [...rows.values()].some(({ taken }) => !taken))
    return !moves && this.store.questions(run.id).some(({ timer }) => !timer) ? 'waiting' : 'running'
  }

  async runs(filter: RunFilter = {}): Promise<readonly RunSummary[]> {
    const newest = [...this.store.runs.values()].sort((a, b) => b.order - a.order)
    const found: RunSummary[] = []
    for (const run of newest) {
      const summary = (await this.summary(run.id))!
      if ((filter.agent ?? run.agent) === run.agent && (filter.status?.includes(summary.status) ?? true)) found.push(summary)
    }
    return found.slice(0, filter.limit)
  }

  async questions(filter: { readonly run?: RunId; readonly id?: string } = {}): Promise<readonly Question[]> {
    const found = this.store.questions(filter.run).filter((q) => !q.timer && (filter.id === undefined || q.id === filter.id))
    return found.map(({ key: _key, timer: _timer, due: _due, ...question }) => copy(question as unknown as Json) as unknown as Question)
  }

  async read(run: RunId, from = 0): Promise<readonly Recorded[]> {
    return this.store.feed(run, from)
  }

  changed(run: RunId, from: number, signal?: AbortSignal): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.store.feed(run, from).length > 0 || this.store.runs.get(run)?.ended !== undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const watcher = { run, from, resolve }
      this.#watchers.add(watcher)
      signal?.addEventListener('abort', () => resolve())
    })
  }

  #news(run: RunId): void {
    for (const watcher of [...this.#watchers]) {
      if (watcher.run !== run || this.store.feed(run, watcher.from).length === 0) continue
      this.#watchers.delete(watcher)
      watcher.resolve()
    }
  }

  listen(run: RunId, hear: (part: LivePart) => void): () => void {
    const heard = this.#listeners.get(run) ?? new Set()
    this.#listeners.set(run, heard)
    heard.add(hear)
    return () => void heard.delete(hear)
  }

  async remove(run: RunId): Promise<void> {
    const stored = this.store.runs.get(run)
    if (stored === undefined) throw new ReeveError('run.unknown', `there is no run ${run}`)
    if (stored.ended === undefined) throw new ReeveError('run.conflict', `run ${run} has not ended`)
    this.store.remove(run)
  }

  /** The process dies: what is not in the store has never been. */
  kill(): void {
    this.#site.dead = true
    this.#let()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#site.effects.drain()
    for (const loaded of [...this.#site.loaded.values()]) {
      loaded.activation.recordAndLeave()
      loaded.sealed.length = 0
      this.#commit(loaded)
    }
    this.#let()
  }

  #let(): void {
    this.#closed = true
    this.#callOffAlarm?.()
    this.network.clear()
    for (const { activation } of this.#site.loaded.values()) activation.discarded = true
    for (const box of this.store.boxes.values()) box.parked &&= !this.#site.loaded.has(box.id)
    for (const { reject } of this.#outcomes.splice(0)) reject(new ReeveError('engine.closed', 'the engine was closed before this run had ended'))
    for (const { resolve } of this.#watchers) resolve()
  }
}
