/**
 * Watched code: reports every effect that runs and every address that the code asks for.
 *
 * Owns: wrapping a registry. The context of the code has all its verbs, unchanged.
 */
import type { ActivationId, Json, OpId } from '@reeve/core'
import {
  ContextView,
  type AskOptions,
  type Context,
  type Orchestration,
  type Registry,
  type StartWorkerOptions,
  type StepIO,
  type StepOptions,
} from '@reeve/engine'

/** The callbacks of a watcher. */
export interface Watcher {
  /** The code of an agent is run, from its beginning. */
  readonly begins?: (agent: string) => void
  /** An attempt of an effect begins. */
  readonly runs?: (key: string, attempt: number) => void
  /** The code asks for an operation: the address of a step or question, the activation id of a worker. */
  readonly asks?: (activation: ActivationId, id: string) => void
}

/** Wraps a registry with a watcher. */
export function watched(registry: Registry, watcher: Watcher): Registry {
  const wrap = (orchestration: Orchestration | undefined): Orchestration | undefined =>
    orchestration && {
      ...orchestration,
      run: (ctx, input) => {
        watcher.begins?.(orchestration.name)
        return orchestration.run(new WatchedContext(ctx, watcher), input)
      },
    }
  return {
    onMissingVersion: registry.onMissingVersion,
    load: () => registry.load?.(),
    find: (name, version) => wrap(registry.find(name, version)),
    workerVersion: (leader, version, worker) => registry.workerVersion?.(leader, version, worker),
  }
}

class WatchedContext extends ContextView {
  readonly #watcher: Watcher

  constructor(ctx: Context, watcher: Watcher) {
    super(ctx)
    this.#watcher = watcher
  }

  protected of(ctx: Context): Context {
    return new WatchedContext(ctx, this.#watcher)
  }

  #asked<T extends string>(id: T): T {
    this.#watcher.asks?.(this.place.activation, id)
    return id
  }

  override begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    const told = (io: StepIO): T | Promise<T> => {
      // not by its idempotency key, which other attempts at the same work share
      this.#watcher.runs?.(`${this.place.activation}:${id}`, io.attempt)
      return effect(io)
    }
    const id: OpId = super.begin(name, told, options)
    return this.#asked(id)
  }

  override start(agent: string, input: Json, options?: StartWorkerOptions): ActivationId {
    return this.#asked(super.start(agent, input, options))
  }

  override ask(name: string, options?: AskOptions): OpId {
    return this.#asked(super.ask(name, options))
  }
}
