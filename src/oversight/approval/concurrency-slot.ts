/**
 * Human waits: a worker that waits for a human holds no concurrency slot of its leader (spec team R-16, C85).
 *
 * Owns: the channel by which a worker says so. Does not own: giving slots (supervisor/worker/slots.ts), whom it tells
 * (`leader.slotOf` of the edge).
 * Holds: K3: the leader hears of it by messages, so slots go round in recorded order.
 */
import type { ActivationId, Json } from '../../core/index.ts'
import { recordedSlot } from '../../edge/index.ts'
import { TypedChannel, type Arrival, type Context } from '../../engine/index.ts'

/** A worker begins (true) or ceases to wait for a human. */
const humanWaits = new TypedChannel<{ readonly waits: boolean }>('$permit', (member) => ({
  waits: member('waits') === true,
}))

/** Waits for a human without the slot to work, if there is one; has it again afterwards. */
export async function withoutSlot<T>(ctx: Context, wait: () => Promise<T>): Promise<T> {
  const leader = recordedSlot(ctx.input)
  if (leader === undefined) return wait()
  humanWaits.send(ctx, leader, { waits: true })
  const end = await wait()
  humanWaits.send(ctx, leader, { waits: false })
  return end
}

/**
 * The message for the leader of a worker with this input, where the worker begins (true) or ceases to wait for an
 * operator. Undefined: no leader has to know.
 */
export function waitingWord(
  input: Json,
  waits: boolean,
): { readonly to: ActivationId; readonly body: Json } | undefined {
  const to = recordedSlot(input)
  return to === undefined ? undefined : { to, body: humanWaits.message({ waits }) }
}

/** A leader that gives slots of its own hears this in the place of its own leader: it passes it on. */
export function passOnWaiting(ctx: Context, waits: boolean): void {
  const leader = recordedSlot(ctx.input)
  if (leader !== undefined && leader !== ctx.place.activation) humanWaits.send(ctx, leader, { waits })
}

/**
 * Whether a worker, or one below it, says that it begins (true) or ceases (false) to wait; undefined: it says nothing
 * of it.
 */
export const waitsNow = (arrival: Arrival, worker: ActivationId): boolean | undefined =>
  humanWaits.in(arrival, { activation: worker, below: true })?.body.waits
