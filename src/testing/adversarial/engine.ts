/**
 * The adversarial engine: the same activations as everywhere, on the worst engine that still keeps its word. Every activation has a log of its own and
 * commits alone; births, ends, cancels, messages and answers travel over a network that loses, doubles and delays them, and are swept up later;
 * whatever rests may be put out of memory at any time. It proves that nothing in an activation relies on one process, one transaction or one order.
 *
 * Owns: the verbs of the Engine port. Does not own: what moves next (mover.ts). In memory: whoever is given its store goes on after a kill.
 */
import { copy, ReeveError, rootActivation, systemClock, type Clock, type Json, type RunId } from '../../core/index.ts'
import { decode, encode, type Recorded } from '../../journal/index.ts'
import {
  addressOfPost,
  streamFromOutside,
  birthOf,
  mustBeSameStart,
  openRun,
  unknownRun,
  type Engine,
  type ForkRun,
  type LivePart,
  type Post,
  type PostResult,
  type Question,
  type Registry,
  type RunEnd,
  type RunFilter,
  type RunStatus,
  type RunSummary,
  type StartRun,
  type StreamValues,
} from '../../engine/index.ts'
import { forkRun } from './fork.ts'
import { Mover } from './mover.ts'
import { badWeather, LossyNetwork, type Weather } from './network.ts'
import { AdversarialStore, type StoredRun } from './store.ts'

/** How hostile the engine is, and what it stands on. Everything has a default; equal seeds give equal weather. */
export interface AdversarialOptions {
  readonly seed?: string
  readonly clock?: Clock
  readonly strict?: boolean
  readonly weather?: Weather
  /** What an earlier engine has left. Default: nothing. */
  readonly store?: AdversarialStore
}

/**
 * A second engine, made to hurt: every activation has a log of its own, and whatever passes between activations is lost, doubled or late, until a sweep
 * delivers it. A team that passes on it depends on nothing that a distributed engine does not promise. For tests; nothing survives the process.
 */
export class AdversarialEngine implements Engine {
  readonly store: AdversarialStore
  readonly network: LossyNetwork
  readonly #mover: Mover
  readonly #clock: Clock
  readonly #listeners = new Map<RunId, Set<(part: LivePart) => void>>()
  #outcomes: { run: RunId; resolve: (end: RunEnd) => void; reject: (error: Error) => void }[] = []
  #watchers = new Set<{ run: RunId; from: number; resolve: () => void }>()
  #closed = false

  constructor(options: AdversarialOptions = {}) {
    this.store = options.store ?? new AdversarialStore()
    this.store.epoch++
    this.#clock = options.clock ?? systemClock
    this.network = new LossyNetwork(`${options.seed ?? 'seed'}:${this.store.epoch}`, options.weather ?? badWeather)
    this.#mover = new Mover({
      clock: this.#clock,
      store: this.store,
      network: this.network,
      strict: options.strict ?? false,
      onPart: (run, part) => this.#listeners.get(run)?.forEach((hear) => hear(part)),
      onNews: (run) => this.#news(run),
      onEnd: (run, end) => this.#ended(run, end),
    })
  }

  #open(): void {
    if (this.#closed) throw new ReeveError('engine.closed', 'the engine is closed')
  }

  drive(registry: Registry): void {
    this.#open()
    this.#mover.drive(registry)
  }

  async start(request: StartRun): Promise<{ readonly created: boolean }> {
    this.#open()
    const { run: id, agent, version, caller, limits } = request
    const input = copy(request.input)
    const known = this.store.runs.get(id)
    if (known !== undefined) {
      const first = decode(this.store.boxes.get(rootActivation(id))!.log[0]!.body)
      mustBeSameStart(first, id, birthOf({ ...request, input }))
      return { created: false }
    }
    const run: StoredRun = {
      id,
      agent,
      version,
      caller: JSON.stringify(caller ?? {}),
      createdAt: this.#clock.now(),
      order: this.store.runs.size,
      pause: undefined,
      ended: undefined,
    }
    this.store.runs.set(id, run)
    const box = this.store.box(rootActivation(id), [agent], limits)
    this.store.append(box, this.#clock.now(), encode(birthOf({ ...request, input })))
    this.#mover.post.announce(box.id)
    this.#mover.wake()
    return { created: true }
  }

  async post(post: Post): Promise<PostResult> {
    this.#open()
    const result = this.#put(copy(post as unknown as Json) as unknown as Post)
    const { to } = addressOfPost(post)
    if (result === 'accepted') this.#mover.post.announce(to)
    this.#mover.wake()
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
        const { to, key } = addressOfPost(post)
        const box = this.store.boxes.get(to)
        if (box === undefined) return 'unknown'
        if (box.settled) return 'closed'
        return this.store.put(box, key, post) ? 'accepted' : 'lost'
      }
    }
  }

  outcome(run: RunId): Promise<RunEnd> {
    const stored = this.store.runs.get(run)
    if (stored === undefined) return Promise.reject(unknownRun(run))
    if (stored.ended !== undefined) return Promise.resolve(this.#mover.end(run)!)
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
    if (run.pause !== undefined && run.pause.at !== 'cancelled')
      return run.pause.at === 'human' ? 'human_control' : run.pause.reached ? 'paused' : 'pausing'
    const moves = this.#mover.works(run.id)
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
    return found.map(({ key, timer: _timer, due: _due, ...question }) => {
      const answered = this.store.boxes.get(question.activation)?.rows.has(key) === true ? ({ answered: true } as const) : {}
      return { ...(copy(question as unknown as Json) as unknown as Question), ...answered }
    })
  }

  async read(run: RunId, from = 0): Promise<readonly Recorded[]> {
    return this.store.feed(run, from)
  }

  changed(run: RunId, from: number, signal?: AbortSignal): Promise<void> {
    if (this.#closed || signal?.aborted === true || this.store.feed(run, from).length > 0 || this.store.runs.get(run)?.ended !== undefined)
      return Promise.resolve()
    return new Promise((resolve) => {
      const watcher = { run, from, resolve }
      this.#watchers.add(watcher)
      signal?.addEventListener('abort', () => resolve())
    })
  }

  #news(run: RunId): void {
    for (const watcher of this.#watchers) {
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

  stream(name: string): StreamValues {
    const stream = streamFromOutside(name)
    return {
      get: async (key) => this.store.value(stream, key).value,
      update: (key, change) => {
        this.#open()
        return this.store.update(stream, key, change, undefined)
      },
    }
  }

  async fork(request: ForkRun): Promise<{ readonly created: boolean }> {
    this.#open()
    const created = forkRun(this.store, request, this.#clock.now())
    for (const { id } of this.store.boxesOf(request.to)) this.#mover.post.announce(id)
    this.#mover.wake()
    return { created }
  }

  async remove(run: RunId): Promise<void> {
    const stored = this.store.runs.get(run)
    if (stored === undefined) throw unknownRun(run)
    if (stored.ended === undefined) throw openRun(run)
    this.store.remove(run)
  }

  #ended(run: RunId, end: RunEnd): void {
    const waiting = this.#outcomes.filter((one) => one.run === run)
    this.#outcomes = this.#outcomes.filter((one) => one.run !== run)
    for (const { resolve } of waiting) resolve(end)
  }

  /** The process dies: what is not in the store has never been. */
  kill(): void {
    this.#mover.stop()
    this.#let()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#mover.finish()
    this.#let()
  }

  #let(): void {
    this.#closed = true
    for (const { reject } of this.#outcomes.splice(0))
      reject(new ReeveError('engine.closed', 'the engine was closed before this run had ended'))
    for (const { resolve } of this.#watchers) resolve()
  }
}
