/**
 * Metadata layer: the caller as one worker sees it, with what a leader added to the metadata for it and everybody below
 * it (spec delegation M20).
 *
 * Owns: the layer, the view of a context that has another caller. Does not own: the merging down the tree (the edge
 * carries it), the engine's context, which stays as it is. What it shows is a copy of its own and read-only, so nothing
 * that a worker does reaches its leader or its siblings. The metadata is in the recorded edge, so every engine and
 * every replay shows the same (K1).
 */
import { copy, deepFreeze, type JsonObject } from '@reeve/core'
import type { Layer } from '@reeve/edge'
import { ContextView, type Context, type Place } from '@reeve/engine'

/** The work sees the metadata that its edge adds. */
export const metadataLayer: Layer = (next) => (ctx, edge) =>
  next(edge.run.metadata === undefined ? ctx : withMetadata(ctx, edge.run.metadata), edge)

/** The same context with more metadata of the caller. What is in both is as the leader says. */
function withMetadata(ctx: Context, metadata: JsonObject): Context {
  const { caller } = ctx.place
  const merged = copy({ ...caller, metadata: { ...caller.metadata, ...metadata } })
  return new CallerView(ctx, deepFreeze(merged))
}

class CallerView extends ContextView {
  readonly #caller: Place['caller']
  readonly #place: Place

  constructor(ctx: Context, caller: Place['caller']) {
    super(ctx)
    this.#caller = caller
    this.#place = Object.freeze({ ...ctx.place, caller })
  }

  override get place(): Place {
    return this.#place
  }

  protected of(ctx: Context): Context {
    return new CallerView(ctx, this.#caller)
  }
}
