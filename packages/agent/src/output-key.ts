/**
 * Output key layer: keeps the output of an agent in a session value.
 *
 * Owns: when the value is written, for every kind of agent: after the review by humans. Does not own: session values
 * (the engine), the review (work-review.ts).
 * Holds: K10 (the write is one recorded step; replay reads its result).
 */
import { handoffOf, type Outcome } from '@reeve/core'
import type { Layer } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { Agent } from './definition.ts'

/**
 * Keeps the output of completed work. An agent that hands control on has no answer, and what the lead of a router says
 * is only an output once the router has ended.
 */
export const outputKeyLayer =
  ({ outputKey }: Agent): Layer =>
  (next) =>
    outputKey === undefined
      ? next
      : (ctx, edge) => (edge.flow?.lead === true ? next(ctx, edge) : kept(outputKey, ctx, next(ctx, edge)))

async function kept(key: string, ctx: Context, work: Promise<Outcome>): Promise<Outcome> {
  const outcome = await work
  if (outcome.status === 'completed' && handoffOf(outcome).action?.type !== 'transfer') {
    const { output } = outcome
    await ctx.scope('output-key').values.update(key, () => output)
  }
  return outcome
}
