/**
 * Output key: the session value under which the output of an agent is kept.
 *
 * Owns: when it is written, for every kind of agent alike: after humans have looked. Does not own: session values (the engine), how they look (overseen.ts).
 * Holds: K10 (the write is one recorded step; replay reads its end).
 */
import { trailOf, type Outcome } from '../core/index.ts'
import type { Edge } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { Agent } from './definition.ts'
import { overseen } from './overseen.ts'

/**
 * The work of an agent, and its output kept if it completes. Whoever hands control on has given no answer, and what a router's lead says is only the router's output once the
 * router has ended.
 */
export function workOf(agent: Agent, ctx: Context, edge: Edge): Promise<Outcome> {
  const { outputKey } = agent
  const work = overseen(agent, ctx, edge)
  return outputKey === undefined || edge.flow?.lead === true ? work : kept(outputKey, ctx, work)
}

async function kept(key: string, ctx: Context, work: Promise<Outcome>): Promise<Outcome> {
  const outcome = await work
  if (outcome.status === 'completed' && trailOf(outcome).action?.type !== 'transfer') {
    const { output } = outcome
    await ctx.scope('output-key').values.update(key, () => output)
  }
  return outcome
}
