/**
 * Answer layer: hands on the answer of an agent that writes no handoff record of its own.
 *
 * Owns: that every outcome has a handoff record where the edge asks for one. Does not own: the records of model agents
 * (conversation-state.ts), of code (agent.ts) and of flows, which write their own.
 */
import { hasHandoff, withAnswer, type Outcome } from '@reeve/core'
import { leavesHandoff, type Layer } from '@reeve/edge'
import type { Agent } from './definition.ts'

export const answerLayer =
  ({ name }: Agent): Layer =>
  (next) =>
  (ctx, edge) =>
    leavesHandoff(edge) ? withOwnAnswer(name, next(ctx, edge)) : next(ctx, edge)

async function withOwnAnswer(name: string, work: Promise<Outcome>): Promise<Outcome> {
  const outcome = await work
  return hasHandoff(outcome) ? outcome : withAnswer(name, outcome)
}
