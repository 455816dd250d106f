/**
 * Substitute outcome: an outcome given from outside in place of an agent's own.
 *
 * Owns: what later agents see of it. Does not own: giving it (takeover.ts, fork.ts), the handoff record (../core).
 */
import { childActivation, hasHandoff, handoffOf, withAnswer, type ActivationId, type Outcome } from '../core/index.ts'
import { leavesHandoff, readEdge } from '../edge/index.ts'
import { isEdge, type Recorded } from '../journal/index.ts'

/** The outcome as the end of this activation. Later agents see it as its answer, after the messages `before`. */
export function asItsEnd(
  events: readonly Recorded[],
  activation: ActivationId,
  outcome: Outcome,
  before?: Outcome,
): Outcome {
  const begun = events.find((each) => each.activation === activation && each.event.type === 'activation.started')?.event
  if (begun?.type !== 'activation.started' || !isEdge(begun.input) || !leavesHandoff(readEdge(begun.input)))
    return outcome
  return hasHandoff(outcome)
    ? outcome
    : withAnswer(begun.agent, outcome, before === undefined ? undefined : handoffOf(before))
}

/** The outcome of a fork in place of the end at this position. */
export function asEndAt(events: readonly Recorded[], at: number, outcome: Outcome): Outcome {
  const end = events.find(({ position }) => position === at)
  if (end?.event.type !== 'worker.settled') return outcome
  const { address, outcome: before } = end.event
  return asItsEnd(events, childActivation(end.activation, address), outcome, before)
}
