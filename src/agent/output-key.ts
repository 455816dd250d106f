/**
 * Output key layer: the session value under which the output of an agent is kept.
 *
 * Owns: when it is written, for every kind of agent alike: after humans have looked. Does not own: session values (the
 * engine), how they look (work-review.ts).
 * Holds: K10 (the write is one recorded step; replay reads its end).
 */
import { trailOf, type Outcome } from '../core/index.ts'
import type { Layer } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { Agent } from './definition.ts'

/**
 * The output of the work is kept if it completes. Whoever hands control on has given no answer, and what a router's
 * lead says is only the router's output once the router has ended.
 */
export const outputKeyLayer =
  ({ outputKey }: Agent): Layer =>
  (next) =>
    outputKey === undefined
      ? next
      : (ctx, edge) => (edge.flow?.lead === true ? next(ctx, edge) : kept(outputKey, ctx, next(ctx, edge)))

async function kept(key: string, ctx: Context, work: Promise<Outcome>): Promise<Outcome> {
  const outcome = await work
  if (outcome.status === 'completed' && trailOf(outcome).action?.type !== 'transfer') {
    const { output } = outcome
    await ctx.scope('output-key').values.update(key, () => output)
  }
  return outcome
}
