/**
 * The adversarial engine: the host that every engine shares, over the worst store that still keeps its word. What holds
 * on it depends on no answer that is there at once, on no order of answers, and on no process that keeps what it has.
 *
 * Owns: asking again for callers where the store has failed. Does not own: what is bad (store.ts).
 */
import { jitter, ReeveError, systemClock, present, type Clock, type Json, type Now, type RunId } from '@reeve/core'
import type {
  FeedPage,
  ForkRun,
  Post,
  PostResult,
  Question,
  QuestionFilter,
  Registry,
  RunFilter,
  RunSummary,
  StartRun,
  StreamValues,
} from '@reeve/engine'
import { HostEngine, type HostOptions } from '@reeve/engine/host'
import { MemoryStore } from '@reeve/engine/memory'
import type { Mover } from '@reeve/engine/mover'
import type { Store } from '@reeve/engine/storage'
import type { Recorded } from '@reeve/journal'
import { AdversarialStore } from './store.ts'
import type { Weather } from './weather.ts'

/**
 * How hostile the engine is, and what it stands on. Everything has a default; equal seeds give equal weather, as far as
 * equal questions are asked.
 */
export interface AdversarialOptions extends Pick<HostOptions, 'clock' | 'strict' | 'parkAfterMs' | 'lossLimit'> {
  readonly seed?: string
  /** Default: all that a team must not notice (`badWeather`). */
  readonly weather?: Weather
  /**
   * The store that is made bad. It is not closed with the engine: the next one goes on with what this one has left.
   * Default: one in memory, which is.
   */
  readonly store?: Store
  /** Who sees to it that runs are taken up. Default: each process takes up what it finds. */
  readonly mover?: Mover
}

/**
 * An engine under bad weather. A failure of its store that passes is not told: what was asked is asked again. Outcomes
 * are the host's to wait for.
 */
export class AdversarialEngine extends HostEngine<AdversarialStore> {
  readonly #own: Store | undefined

  constructor({ seed, weather, store, mover, ...options }: AdversarialOptions = {}) {
    const own = store === undefined ? inMemory(options.clock) : undefined
    const given = { ...present({ seed, weather }) }
    super(new AdversarialStore(store ?? own!, given), { pollMs: 5, onWarning: () => {}, ...options }, mover)
    this.#own = own
  }

  override drive(registry: Registry): Promise<void> {
    return patiently(() => super.drive(registry))
  }
  override start(request: StartRun): Promise<{ readonly created: boolean }> {
    return patiently(() => super.start(request))
  }
  override fork(request: ForkRun): Promise<{ readonly created: boolean }> {
    return patiently(() => super.fork(request))
  }
  override post(post: Post): Promise<PostResult> {
    return patiently(() => super.post(post))
  }
  override summary(run: RunId): Promise<RunSummary | undefined> {
    return patiently(() => super.summary(run))
  }
  override runs(filter?: RunFilter): Promise<readonly RunSummary[]> {
    return patiently(() => super.runs(filter))
  }
  override questions(filter?: QuestionFilter): Promise<readonly Question[]> {
    return patiently(() => super.questions(filter))
  }
  override read(run: RunId, from?: number, limit?: number): Promise<readonly Recorded[]> {
    return patiently(() => super.read(run, from, limit))
  }
  override feed(from: number | 'now', limit: number): Promise<FeedPage> {
    return patiently(() => super.feed(from, limit))
  }
  override remove(run: RunId): Promise<void> {
    return patiently(() => super.remove(run))
  }
  override stream(name: string): StreamValues {
    const stream = super.stream(name)
    return {
      get: (key) => patiently(() => stream.get(key)),
      update: (key, change: (value: Json) => Json) => patiently(() => stream.update(key, change)),
    }
  }

  /** The process dies: what is not in the store has never been. */
  async kill(): Promise<void> {
    this.driver.stop()
    this.store.die()
    await this.close()
  }

  override async close(options?: Parameters<HostEngine['close']>[0]): Promise<void> {
    await super.close(options)
    await this.#own?.stop()
    await this.#own?.close()
  }
}

/** Opens an engine under bad weather. */
export const adversarialEngine = (options?: AdversarialOptions): AdversarialEngine => new AdversarialEngine(options)

const inMemory = (clock: Clock = systemClock): Store => new MemoryStore({ clock })

/** Does it, and again while the store says that it would help. */
async function patiently<T>(work: () => Now<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'store.unavailable') || !thrown.retryable) throw thrown
      await new Promise((resolve) => setTimeout(resolve, 1 + 5 * jitter()))
    }
  }
}
