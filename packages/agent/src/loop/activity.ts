/**
 * Activity: whether the code of an agent has done anything. A router needs to know that of a member that said nothing.
 *
 * Owns: the view of a context that notices effects, workers, questions, messages and written values, but not reads and
 * waits. Does not own: what follows (../../flow).
 * Holds: K3: code does the same on replay, so the result is the same.
 */
import type { ActivationId, Json, MessageId, OpId } from '@reeve/core'
import {
  ContextView,
  type AskOptions,
  type Context,
  type SessionValues,
  type StartWorkerOptions,
  type StepIO,
  type StepOptions,
} from '@reeve/engine'

/** Whether anything was done so far. */
export interface Activity {
  done: boolean
}

/** The same context, noting activity. */
export class ActivityContext extends ContextView {
  readonly #activity: Activity

  constructor(ctx: Context, activity: Activity) {
    super(ctx)
    this.#activity = activity
  }

  protected of(ctx: Context): Context {
    return new ActivityContext(ctx, this.#activity)
  }

  override begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    if (options?.effect !== 'read') this.#activity.done = true
    return super.begin(name, effect, options)
  }

  override start(agent: string, input: Json, options?: StartWorkerOptions): ActivationId {
    this.#activity.done = true
    return super.start(agent, input, options)
  }

  override ask(name: string, options?: AskOptions): OpId {
    if (options?.as !== undefined) this.#activity.done = true
    return super.ask(name, options)
  }

  override send(to: ActivationId, body: Json): MessageId {
    this.#activity.done = true
    return super.send(to, body)
  }

  override get values(): SessionValues {
    return this.#noteWrites(super.values)
  }

  override stream(name: string): SessionValues {
    return this.#noteWrites(super.stream(name))
  }

  #noteWrites(values: SessionValues): SessionValues {
    const wrote = (): void => {
      this.#activity.done = true
    }
    return {
      ...values,
      update: (key, change) => (wrote(), values.update(key, change)),
      set: (key, value) => (wrote(), values.set(key, value)),
      setAll: (all) => (wrote(), values.setAll(all)),
    }
  }
}
