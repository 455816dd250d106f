/**
 * Slots and human waits: a worker that waits for a human holds no concurrency slot of its leader (team R-16, C85).
 *
 * Owns: when these messages are sent. Does not own: their form (engine/human-waits.ts), assigning slots (supervisor/worker/slots.ts), which leader is
 * notified (`leader.slotOf` of the edge).
 * Holds: K3: the leader learns of it by messages, so slots are reassigned in recorded order.
 */
import type { ActivationId, Json } from '@reeve/core'
import { recordedSlot } from '@reeve/edge'
import { humanWaits, type Arrival, type Context } from '@reeve/engine'

/** Frees the slot, if any, while waiting for a human, and takes it back afterwards. */
export async function withoutSlot<T>(ctx: Context, wait: () => Promise<T>): Promise<T> {
  const leader = recordedSlot(ctx.input)
  if (leader === undefined) return wait()
  humanWaits.send(ctx, leader, { waits: true })
  const end = await wait()
  humanWaits.send(ctx, leader, { waits: false })
  return end
}

/** The message to the leader when a worker begins (true) or stops waiting for an operator. Undefined: no leader. */
export function waitingMessage(
  input: Json,
  waits: boolean,
): { readonly to: ActivationId; readonly body: Json } | undefined {
  const to = recordedSlot(input)
  return to === undefined ? undefined : { to, body: humanWaits.message({ waits }) }
}

/** Forwards the message to the leader's own leader, if this leader assigns slots itself. */
export function passOnWaiting(ctx: Context, waits: boolean): void {
  const leader = recordedSlot(ctx.input)
  if (leader !== undefined && leader !== ctx.place.activation) humanWaits.send(ctx, leader, { waits })
}

/** Whether this arrival says that the worker, or one below it, begins (true) or stops (false) waiting. */
export const waitsNow = (arrival: Arrival, worker: ActivationId): boolean | undefined =>
  humanWaits.in(arrival, { activation: worker, below: true })?.body.waits
