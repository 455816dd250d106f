/**
 * Answer layer: an agent that says nothing of its own about how it got there leaves its answer to those who come after
 * it.
 *
 * Owns: that every outcome has a trail where the edge asks for one. Does not own: the trail of a model agent
 * (conversation-state.ts), of code (agent.ts) or of a flow, which write their own.
 */
import { hasTrail, withAnswer, type Outcome } from '../core/index.ts'
import { leavesTrail, type Layer } from '../edge/index.ts'
import type { Agent } from './definition.ts'

export const answerLayer =
  ({ name }: Agent): Layer =>
  (next) =>
  (ctx, edge) =>
    leavesTrail(edge) ? withOwnAnswer(name, next(ctx, edge)) : next(ctx, edge)

async function withOwnAnswer(name: string, work: Promise<Outcome>): Promise<Outcome> {
  const outcome = await work
  return hasTrail(outcome) ? outcome : withAnswer(name, outcome)
}
