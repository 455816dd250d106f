/**
 * The Restate engine: many processes, one Restate, one event store.
 *
 * Owns: the Engine port for those outside a run; opening, driving and closing. Does not own: moving activations (seat.ts, workflow.ts).
 * A word from outside is durable in the store before Restate is told; if telling fails, the sweeper tells (nothing that was accepted is lost).
 */
import { messageOf, ReeveError, rootActivation, stopwatch, systemClock, type Json, type RunId } from '../../core/index.ts'
import { callerShape, decode, encode, eventShape, mailShape, type Recorded } from '../../journal/index.ts'
import {
  addressOfPost,
  storeIsRedacted,
  storeMark,
  streamFromOutside,
  mustBeJson,
  mustBeSameFork,
  mustHoldNoSecret,
  birthOf,
  mustBeSameStart,
  openRun,
  planFork,
  redactedFork,
  unknownRun,
  type Deadlines,
  type Engine,
  type ForkRun,
  type LivePart,
  type Post,
  type PostResult,
  type Question,
  type Registry,
  type RunEnd,
  type RunFilter,
  type RunSummary,
  type StartRun,
  type StreamValues,
} from '../../engine/index.ts'
import { openEventStore, type EventStore } from '../eventstore/index.ts'
import { RestateClient } from './client.ts'
import type { Endpoint } from './endpoint.ts'
import { newFork } from './fork.ts'
import { register, stayKnown } from './known.ts'
import { keyOf } from './names.ts'
import { settingsOf, type RestateOptions, type Settings } from './options.ts'
import { Place } from './place.ts'
import { Sweeper } from './sweeper.ts'
import { readValue, updateValue, type ValueDesk } from './values.ts'

/** A process without rules looks for the mark of a redacted store again after so long. Milliseconds of real time. */
const lookForMarkMs = 1_000

/** How often is looked though no news has come. Milliseconds. */
const lookAgainMs = 2_000

/** Opens the engine. Nothing is connected to before the first call. Throws `config.invalid`. */
export function restate(options: RestateOptions): RestateEngine {
  return new RestateEngine(options)
}

/**
 * The engine that `restate()` gives. `client` speaks to the Restate server, for tools. Methods reject with `engine.*` if Restate, and with `store.*` if
 * the store cannot be reached; what was accepted before that is kept.
 */
export class RestateEngine implements Engine {
  readonly client: RestateClient
  readonly deadlines?: Deadlines
  readonly #options: RestateOptions
  readonly #settings: Settings
  readonly #store: EventStore
  readonly #place: Place
  readonly #sweeper: Sweeper
  readonly #closed = new AbortController()
  readonly #listeners = new Map<RunId, Set<(part: LivePart) => void>>()
  #opened: Promise<void> | undefined
  /** When the mark was last looked for, and what came of it: it rejects where this process may not write. */
  #looked: { readonly at: number; readonly marked: Promise<void> } | undefined
  #endpoint: Endpoint | undefined

  constructor(options: RestateOptions) {
    this.#options = options
    if (options.deadlines !== undefined) this.deadlines = options.deadlines
    this.#settings = settingsOf(options)
    const { tokens = {}, ingress = 'http://127.0.0.1:8080', admin = 'http://127.0.0.1:9070' } = options
    this.client = new RestateClient({
      ingress,
      admin,
      ...(tokens.ingress === undefined ? {} : { ingressToken: tokens.ingress }),
      ...(tokens.admin === undefined ? {} : { adminToken: tokens.admin }),
    })
    this.#store = openEventStore(options.store)
    const { place, names, sweepMs } = this.#settings
    this.#place = new Place(this.#store, place)
    this.#place.onPart = (run, part) => this.#part(run, part)
    this.#place.onPoke = (call) => void this.#ring([call])
    this.#sweeper = new Sweeper({
      store: this.#store,
      client: this.client,
      names,
      namespace: this.#settings.namespace,
      build: place.build,
      clock: place.clock,
      everyMs: sweepMs,
      retentionMs: options.retentionMs,
      stayKnown: () => this.#stayKnown(),
      ring: (calls) => this.#ring(calls),
      warn: place.warn,
    })
  }

  async #ready(): Promise<EventStore> {
    if (this.#closed.signal.aborted) throw new ReeveError('engine.closed', 'the engine is closed', { hint: 'Create a new runtime.' })
    await (this.#opened ??= this.#store.open().catch((thrown: unknown) => {
      this.#opened = undefined
      throw thrown
    }))
    return this.#store
  }

  /** For a word that is written: a process with rules marks the store, and one that has none writes nothing into a store that is marked. The mark stays. */
  async #writable(): Promise<EventStore> {
    const store = await this.#ready()
    const { rules, redacts } = this.#settings.place
    if (rules !== undefined && !redacts) return store
    if (this.#looked === undefined || (!redacts && stopwatch() - this.#looked.at > lookForMarkMs))
      this.#looked = { at: stopwatch(), marked: this.#look(store, redacts) }
    const { marked } = this.#looked
    await marked.catch((thrown: unknown) => {
      this.#looked = undefined
      throw thrown
    })
    return store
  }

  async #look(store: EventStore, redacts: boolean): Promise<void> {
    const { stream, key } = storeMark
    const isMarked = (await store.value(stream, key)).version > 0
    if (isMarked && !redacts) throw storeIsRedacted('the event store')
    if (isMarked || !redacts) return
    const event = encode({ type: 'value.updated', key, value: true, version: 1 })
    await store.writeValue({ stream, key, expected: 0, value: true, event, at: this.#settings.place.clock.now() })
  }

  // ---- driving ---------------------------------------------------------------------------------------------------------------------

  /** Listens, makes itself known to Restate, and begins to move what is left. Rejects with `engine.*`, `store.*` or `config.invalid`. */
  async drive(registry: Registry): Promise<void> {
    const store = await this.#writable()
    this.#place.registry = registry
    if (this.#endpoint === undefined) await this.#serve()
    this.#sweeper.start()
    // Perhaps they waited for the code that has come now.
    await this.#sweeper.welcome(await store.stuck(), ({ agent, version }) => registry.find(agent, version) !== undefined)
  }

  async #serve(): Promise<void> {
    const { names, patience, place, listen: where } = this.#settings
    const { listen, OpenLines, reeveServices } = await workerParts()
    const lines = new OpenLines()
    const services = reeveServices(this.#place, names, lines, patience)
    const endpoint = await listen(where, services, lines, this.#options.identityKeys ?? [], place.warn)
    try {
      if (this.#options.register !== false) await register(this.client, this.#options.advertise ?? endpoint.url, Object.values(names))
    } catch (thrown) {
      await endpoint.close()
      throw thrown
    }
    this.#endpoint = endpoint
  }

  async #stayKnown(): Promise<void> {
    if (this.#endpoint === undefined || this.#options.register === false) return
    const url = this.#options.advertise ?? this.#endpoint.url
    if (await stayKnown(this.client, url, Object.values(this.#settings.names)))
      this.#settings.place.warn(
        'engine.registered-again',
        `nobody answered for the services of ${url} any more: it has made itself known again`,
      )
  }

  /** Tells invocations to look again. What cannot be told now is told by the sweeper. */
  async #ring(calls: readonly string[]): Promise<void> {
    if (calls.length === 0 || this.#closed.signal.aborted) return
    try {
      await this.client.send(this.#settings.names.bell, 'ring', { calls })
    } catch (thrown) {
      if (ReeveError.is(thrown)) this.#settings.place.warn(thrown.code, `${thrown.message}; it will be told later`)
    }
  }

  #part(run: RunId, part: LivePart): void {
    this.#listeners.get(run)?.forEach((hear) => hear(part))
    this.#store.publish(run, [part])
  }

  // ---- the outside's word ----------------------------------------------------------------------------------------------------------

  /**
   * The run is durable in the store before Restate is told. If Restate cannot be told this rejects with `engine.unreachable` or `engine.no-worker`; the
   * run is kept, and begins when the same id is started again or, at the latest, when a worker sweeps.
   */
  async start(request: StartRun): Promise<{ readonly created: boolean }> {
    const store = await this.#writable()
    const { run, agent, version, input, caller, limits } = request
    mustBeJson(input, `the input of run ${run}`)
    mustHoldNoSecret(this.#settings.place.rules, request)
    const { redact, redactJson, clock } = this.#settings.place
    const event = birthOf(request)
    const first = redact(encode(event), eventShape(event))
    const created = await store.create({
      run,
      agent,
      version,
      caller: caller && (redactJson(caller as Json, callerShape) as typeof caller),
      limits,
      first,
      at: clock.now(),
    })
    if (!created) mustBeSameStart(await store.first(run), run, decode(first))
    await this.#begin(run)
    return { created }
  }

  /** As with `start`, the fork is durable before Restate is told: if Restate cannot be told, it is kept and begins later. */
  async fork(given: ForkRun): Promise<{ readonly created: boolean }> {
    const store = await this.#writable()
    const { redact, clock } = this.#settings.place
    const now = clock.now()
    const request = redactedFork(given, redact)
    const { run, to } = request
    const created = await store.fork(request, (origin) => newFork(planFork(request, origin, now), run, now, redact))
    if (!created) mustBeSameFork(await store.read(to, 0), request)
    await this.#begin(to)
    return { created }
  }

  /** Its root's workflow. One that has begun stays where it is: its build may be another one than ours. */
  async #begin(run: RunId): Promise<void> {
    const tip = await this.#store.tip(run)
    if (tip?.ended !== false || tip.begun) return
    const summons = { activation: rootActivation(run), generation: tip.generation }
    const { names, place } = this.#settings
    try {
      await this.client.send(names.activation, 'run', summons, { key: keyOf(summons) })
    } catch (thrown) {
      if (place.build !== undefined || !ReeveError.is(thrown, 'engine.no-worker')) throw thrown
      // Workers tell builds apart, and this process does not: the newest build is to begin it.
      await this.client.send(names.bell, 'begin', summons)
    }
  }

  async post(post: Post): Promise<PostResult> {
    const store = await this.#writable()
    const { redact, clock } = this.#settings.place
    const { result, wake } = await store.post({ ...addressOfPost(post), body: redact(JSON.stringify(post), mailShape), now: clock.now() })
    if (wake !== undefined) await this.#ring([wake])
    return result
  }

  // ---- reading ---------------------------------------------------------------------------------------------------------------------

  async outcome(run: RunId): Promise<RunEnd> {
    const store = await this.#ready()
    const ended = async (): Promise<RunEnd | undefined> => {
      const end = await store.end(run)
      if (end === undefined && (await store.tip(run)) === undefined) throw unknownRun(run)
      return end
    }
    return await this.#when(run, ended, { only: 'ends' })
  }

  async changed(run: RunId, from: number, signal?: AbortSignal): Promise<void> {
    if (this.#closed.signal.aborted) return
    const store = await this.#ready()
    const changed = async (): Promise<true | undefined> => {
      if (signal?.aborted === true) return true
      const tip = await store.tip(run)
      return tip === undefined || tip.ended || tip.position > from ? true : undefined
    }
    await this.#when(run, changed, { signal }).catch((thrown: unknown) => {
      if (!ReeveError.is(thrown, 'engine.closed')) throw thrown
    })
    // Whoever listens hears what was said before the news.
    if (this.#listeners.has(run)) await store.settleParts(run)
  }

  /** Asks again whenever there is news of the run, until there is an answer. `only`: nothing but its end is news. */
  async #when<T>(
    run: RunId,
    ask: () => Promise<T | undefined>,
    { signal, only }: { signal?: AbortSignal | undefined; only?: 'ends' },
  ): Promise<T> {
    const closed = this.#closed.signal
    const letGo = stayAlive()
    let news = (): void => {}
    const leave = this.#store.watch((of) => {
      if (of === 'all' || of === run) news()
    }, only)
    const hear = (): void => news()
    for (const ends of [closed, signal]) ends?.addEventListener('abort', hear)
    try {
      for (;;) {
        const heard = new Promise<void>((resolve) => (news = resolve))
        // A store that is away for a while is waited for.
        const answer = await this.#place.persist(ask, closed)
        if (answer !== undefined) return answer
        const callOff = systemClock.timer(systemClock.now() + lookAgainMs, news)
        if (!closed.aborted) await heard
        callOff()
        if (closed.aborted) {
          throw new ReeveError(
            'engine.closed',
            'the engine was closed before this run had ended; the run is kept and goes on elsewhere or later',
          )
        }
      }
    } finally {
      letGo()
      leave()
      for (const ends of [closed, signal]) ends?.removeEventListener('abort', hear)
    }
  }

  async summary(run: RunId): Promise<RunSummary | undefined> {
    return (await this.#ready()).summary(run)
  }
  async runs(filter: RunFilter = {}): Promise<readonly RunSummary[]> {
    return (await this.#ready()).summaries(filter)
  }
  async questions(filter: { readonly run?: RunId; readonly id?: string } = {}): Promise<readonly Question[]> {
    return (await this.#ready()).questions(filter)
  }
  async read(run: RunId, from = 0): Promise<readonly Recorded[]> {
    return (await this.#ready()).read(run, from)
  }

  listen(run: RunId, hear: (part: LivePart) => void): () => void {
    const heard = this.#listeners.get(run) ?? new Set()
    this.#listeners.set(run, heard)
    heard.add(hear)
    const leave = this.#store.overhear(run, hear)
    return () => {
      leave()
      heard.delete(hear)
      if (heard.size === 0) this.#listeners.delete(run)
    }
  }

  stream(name: string): StreamValues {
    const stream = streamFromOutside(name)
    const { clock, redact } = this.#settings.place
    const desk: ValueDesk = { clock, redact, persist: async (work) => work(await this.#ready()) }
    return {
      get: (key) => readValue(desk, stream, key),
      update: async (key, change) => {
        await this.#writable()
        return await updateValue(desk, stream, key, change, undefined)
      },
    }
  }

  async remove(run: RunId): Promise<void> {
    if (await (await this.#ready()).remove(run)) return
    throw openRun(run)
  }

  // ---- the end ---------------------------------------------------------------------------------------------------------------------

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return
    this.#closed.abort()
    this.#sweeper.stop()
    const letGo = stayAlive()
    try {
      await this.#place.close()
      await this.#endpoint?.close()
      if (this.#opened !== undefined) await this.#opened.catch(() => undefined)
      await this.#store.close()
    } finally {
      letGo()
    }
  }

  /** For tests: the process dies. What is not in the store or with Restate has never been. */
  async kill(): Promise<void> {
    this.#closed.abort()
    this.#sweeper.stop()
    this.#place.stop()
    await this.#endpoint?.close()
    await this.#store.close()
  }

  /** For tests and tools: looks now for what nobody moves. */
  sweep(): Promise<void> {
    return this.#sweeper.sweep()
  }
}

/** News do not keep a process alive; whoever waits for them does. Returns how to let it go. */
function stayAlive(): () => void {
  const hold = setInterval(() => {}, 1_000_000)
  return () => clearInterval(hold)
}

/** Loaded when somebody drives: whoever only starts, reads and decides needs no SDK. */
async function workerParts() {
  try {
    const [{ listen, OpenLines }, { reeveServices }] = await Promise.all([import('./endpoint.ts'), import('./workflow.ts')])
    return { listen, OpenLines, reeveServices }
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown
    throw new ReeveError('config.invalid', `a worker needs the package @restatedev/restate-sdk: ${messageOf(thrown)}`, {
      hint: 'npm install @restatedev/restate-sdk',
      cause: thrown,
    })
  }
}
