/**
 * Deeds: whether the code of an agent has done anything, for those who are to know whether it moved something though it said nothing.
 *
 * Owns: the view of a context that sees it: effects, workers, questions, messages and written values; not what only looks or waits. Does not own: what follows (../flow).
 * Holds: K3: what the code asks for is the same on replay, so this is.
 */
import type { ActivationId, Json, MessageId, OpId } from '../core/index.ts'
import {
  ContextView,
  type AskOptions,
  type Context,
  type SessionValues,
  type StartOptions,
  type StepIO,
  type StepOptions,
} from '../engine/index.ts'

/** Whether something was done so far. */
export interface Deeds {
  done: boolean
}

/** The same context, which notes what is done in it. */
export class SeenContext extends ContextView {
  readonly #deeds: Deeds

  constructor(ctx: Context, deeds: Deeds) {
    super(ctx)
    this.#deeds = deeds
  }

  protected of(ctx: Context): Context {
    return new SeenContext(ctx, this.#deeds)
  }

  override begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId {
    if (options?.effect !== 'read') this.#deeds.done = true
    return super.begin(name, effect, options)
  }

  override start(agent: string, input: Json, options?: StartOptions): ActivationId {
    this.#deeds.done = true
    return super.start(agent, input, options)
  }

  override ask(name: string, options?: AskOptions): OpId {
    if (options?.as !== undefined) this.#deeds.done = true
    return super.ask(name, options)
  }

  override send(to: ActivationId, body: Json): MessageId {
    this.#deeds.done = true
    return super.send(to, body)
  }

  override get values(): SessionValues {
    return this.#writing(super.values)
  }

  override stream(name: string): SessionValues {
    return this.#writing(super.stream(name))
  }

  #writing(values: SessionValues): SessionValues {
    const wrote = (): void => {
      this.#deeds.done = true
    }
    return {
      ...values,
      update: (key, change) => (wrote(), values.update(key, change)),
      set: (key, value) => (wrote(), values.set(key, value)),
      setAll: (all) => (wrote(), values.setAll(all)),
    }
  }
}
