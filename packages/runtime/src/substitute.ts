/**
 * Substitute outcome: an outcome given from outside in place of an agent's own.
 *
 * Owns: what later agents see of it. Does not own: giving it (takeover.ts, fork.ts), the handoff record (../core).
 */
import {
  childActivation,
  hasHandoff,
  handoffOf,
  runOf,
  withAnswer,
  type ActivationId,
  type Outcome,
  type RunId,
} from '@reeve/core'
import { leavesHandoff, readEdge } from '@reeve/edge'
import type { Engine } from '@reeve/engine'
import { isEdge, type ActivationStarted } from '@reeve/journal'
import { runPages } from './feed/whole-feed.ts'

/** The outcome as the end of this activation. Later agents see it as its answer, after the messages `before`. */
export async function asItsEnd(
  engine: Engine,
  activation: ActivationId,
  outcome: Outcome,
  before?: Outcome,
): Promise<Outcome> {
  if (hasHandoff(outcome)) return outcome
  const begun = await birthOf(engine, activation)
  if (begun === undefined || !isEdge(begun.input) || !leavesHandoff(readEdge(begun.input))) return outcome
  return withAnswer(begun.agent, outcome, before === undefined ? undefined : handoffOf(before))
}

async function birthOf(engine: Engine, activation: ActivationId): Promise<ActivationStarted | undefined> {
  for await (const page of runPages(engine, runOf(activation)))
    for (const { activation: of, event } of page)
      if (of === activation && event.type === 'activation.started') return event
  return undefined
}

/** The outcome of a fork in place of the end at this position. */
export async function asEndAt(engine: Engine, run: RunId, at: number, outcome: Outcome): Promise<Outcome> {
  const [end] = await engine.read(run, at - 1, 1)
  if (end?.position !== at || end.event.type !== 'worker.settled') return outcome
  const { address, outcome: before } = end.event
  return asItsEnd(engine, childActivation(end.activation, address), outcome, before)
}
