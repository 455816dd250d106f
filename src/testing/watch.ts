/**
 * Watched code: the same orchestration, with every effect that runs and every address that is asked for told to somebody.
 *
 * Owns: wrapping a registry. The context that code gets has all its verbs; nothing is changed on the way.
 */
import type { ActivationId, Json, MessageId, OpId } from '../core/index.ts'
import type {
  Arrival,
  AskOptions,
  Context,
  DomainEvent,
  Matcher,
  Orchestration,
  Place,
  Registry,
  SessionValues,
  StartOptions,
  StepIO,
  StepOptions,
} from '../engine/index.ts'

/** What a watcher hears. */
export interface Watcher {
  /** An attempt of an effect begins. */
  readonly runs?: (key: string, attempt: number) => void
  /** The code asks for an operation: the address of a step or question, the activation id of a worker. */
  readonly asks?: (activation: ActivationId, id: string) => void
}

/** The same registry, watched. */
export function watched(registry: Registry, watcher: Watcher): Registry {
  const wrap = (orchestration: Orchestration | undefined): Orchestration | undefined =>
    orchestration && {
      name: orchestration.name,
      version: orchestration.version,
      run: (ctx, input) => orchestration.run(new WatchedContext(ctx, watcher), input),
    }
  return { onMissingVersion: registry.onMissingVersion, find: (name, version) => wrap(registry.find(name, version)) }
}

class WatchedContext implements Context {
  readonly #ctx: Context
  readonly #watcher: Watcher

  constructor(ctx: Context, watcher: Watcher) {
    this.#ctx = ctx
    this.#watcher = watcher
  }

  get place(): Place {
    return this.#ctx.place
  }
  get input(): Json {
    return this.#ctx.input
  }
  get carried(): Json | undefined {
    return this.#ctx.carried
  }
  get values(): SessionValues {
    return this.#ctx.values
  }

  #asked<T extends string>(id: T): T {
    this.#watcher.asks?.(this.#ctx.place.activation, id)
    return id
  }

  begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    const told = (io: StepIO): T | Promise<T> => {
      this.#watcher.runs?.(io.key, io.attempt)
      return effect(io)
    }
    return this.#asked(this.#ctx.begin(name, told, options))
  }
  start(agent: string, input: Json, options?: StartOptions): ActivationId {
    return this.#asked(this.#ctx.start(agent, input, options))
  }
  ask(name: string, options?: AskOptions): OpId {
    return this.#asked(this.#ctx.ask(name, options))
  }
  send(to: ActivationId, body: Json): MessageId {
    return this.#ctx.send(to, body)
  }
  stop(what: OpId | ActivationId, reason: string): void {
    this.#ctx.stop(what, reason)
  }
  next(match: OpId): Promise<Extract<Arrival, { id: OpId }>>
  next(match: ActivationId): Promise<Extract<Arrival, { type: 'worker.settled' }>>
  next(match?: Matcher): Promise<Arrival>
  next(match?: Matcher): Promise<Arrival> {
    return this.#ctx.next(match)
  }
  scope(name: string): Context {
    return new WatchedContext(this.#ctx.scope(name), this.#watcher)
  }
  emit(event: DomainEvent): void {
    this.#ctx.emit(event)
  }
  onCancel(name: string, undo: (ctx: Context) => Promise<void>): void {
    this.#ctx.onCancel(name, (ctx) => undo(new WatchedContext(ctx, this.#watcher)))
  }
  restart(state: Json): never {
    return this.#ctx.restart(state)
  }
  now(): Date {
    return this.#ctx.now()
  }
  random(): number {
    return this.#ctx.random()
  }
  id(prefix: string): string {
    return this.#ctx.id(prefix)
  }
}
