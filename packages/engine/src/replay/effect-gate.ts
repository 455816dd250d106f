/**
 * The effect gate: what the journal says of an effect between its intent and its release, and the end of one that was
 * never released.
 *
 * Owns: the notes `effect.held` and `effect.released`. Does not own: when effects leave (the engine).
 * Holds: K6 (a `once` effect is in doubt only if it may have left: a pause or an orderly close puts none in doubt), K11
 * (what never left used nothing).
 */
import type { StepSettled } from '@reeve/journal'
import type { ActivationHost } from './activation-host.ts'
import { lostUsage, nothingOut, nothingUsed, type Operation } from './operation.ts'

/**
 * Notes that an effect is held. For a `once` effect it is recorded, so that the next process need not ask whether it
 * happened; for a model call, so that it need not be counted as one that may have been made.
 */
export function noteHeld(host: ActivationHost, op: Operation): void {
  if (
    (op.effect !== 'once' && op.model === undefined) ||
    op.held ||
    op.left ||
    op.owner.outcome !== undefined ||
    host.inFlight(op)
  )
    return
  recordHeld(host, op)
}

/** The same of a call that waits for its turn among those of its model: its next attempt has not left. */
export function noteWaiting(host: ActivationHost, op: Operation): void {
  if (!op.held && !op.isOut && op.owner.outcome === undefined) recordHeld(host, op)
}

function recordHeld(host: ActivationHost, op: Operation): void {
  op.held = true
  host.append(op.owner, { type: 'effect.held', address: op.address }, host.now())
}

/**
 * Whether an effect may leave now. False: the journal says that it is held, and its release has to be durable first.
 */
export function mayLeave(host: ActivationHost, op: Operation): boolean {
  if (!op.held) return true
  op.held = false
  host.append(op.owner, { type: 'effect.released', address: op.address }, host.now())
  return false
}

/** The end of a step that was stopped before it was let out, or while it was not out. */
export function stoppedEnd(op: Operation): StepSettled {
  const charge = op.reserved !== undefined && nothingOut(op) ? { charge: nothingUsed } : {}
  const lost = lostUsage(op)
  const usage = lost.length === 0 ? {} : { usage: lost }
  return {
    type: 'step.settled',
    address: op.address,
    outcome: { status: 'cancelled', reason: op.stopped ?? 'stopped' },
    ...usage,
    ...charge,
  }
}
