/**
 * Locals: what one run of the code of an activation keeps in memory, where every part of that code finds it.
 *
 * Owns: one value for each maker. Does not own: when a run of the code begins (activation.ts; agent/edge-override.ts,
 * where work is done again).
 * Holds: K3: nothing here is recorded. Every run of the code makes its values anew, so a replay makes the same ones
 * from the same arrivals.
 */
import { ChurnMap } from '@reeve/core'
import type { Context } from '../context.ts'
import { ContextView } from './context-view.ts'

export class Locals {
  readonly #values = new ChurnMap<() => unknown, unknown>()

  /** The value of this maker; made when it is first asked for. */
  of<T>(make: () => T): T {
    if (!this.#values.has(make)) this.#values.set(make, make())
    return this.#values.get(make) as T
  }
}

/** A context whose code has locals of its own: another run of the code in the same activation. */
export class LocalsView extends ContextView {
  protected readonly locals: Locals

  constructor(ctx: Context, locals: Locals = new Locals()) {
    super(ctx)
    this.locals = locals
  }

  override local<T>(make: () => T): T {
    return this.locals.of(make)
  }

  protected of(ctx: Context): Context {
    return new LocalsView(ctx, this.locals)
  }
}
