/**
 * Permits and humans: a worker that waits for somebody outside holds no permit of its leader (spec team R-16, C85).
 *
 * Owns: how a worker tells whoever gave it a permit. Does not own: giving permits (supervisor/worker/slots.ts), who gave it (the edge says so).
 * Holds: K3: the leader hears of it by messages, so permits go round in recorded order.
 */
import { isObject, type ActivationId, type Json } from '../core/index.ts'
import type { Arrival, Context } from '../engine/index.ts'

/** Persistent: stands in journals. */
const type = '$permit'

/** Waits for a human without the permit to work, if there is one; has it again afterwards. */
export async function withoutPermit<T>(ctx: Context, wait: () => Promise<T>): Promise<T> {
  const giver = isObject(ctx.input) ? ctx.input['permit'] : undefined
  if (typeof giver !== 'string') return wait()
  ctx.send(giver as ActivationId, { type, waits: true })
  const end = await wait()
  ctx.send(giver as ActivationId, { type, waits: false })
  return end
}

/** Who is told that somebody with this input begins (true) or ceases to wait for an operator: whoever gave them a permit. Undefined: nobody has to know. */
export function waitingWord(input: Json, waits: boolean): { readonly to: ActivationId; readonly body: Json } | undefined {
  const giver = isObject(input) ? input['permit'] : undefined
  return typeof giver === 'string' ? { to: giver as ActivationId, body: { type, waits } } : undefined
}

/** A leader that gives permits of its own hears this in the place of whoever gave it one: it says so in turn. */
export function passOnWaiting(ctx: Context, waits: boolean): void {
  const giver = isObject(ctx.input) ? ctx.input['permit'] : undefined
  if (typeof giver === 'string' && giver !== ctx.place.activation) ctx.send(giver as ActivationId, { type, waits })
}

/** Whether this is the word of a worker, or of somebody below it, that it begins (true) or ceases (false) to wait; undefined if it is not. */
export function waitsNow(arrival: Arrival, worker: ActivationId): boolean | undefined {
  if (arrival.type !== 'message' || !isObject(arrival.body) || arrival.body['type'] !== type) return undefined
  const { from, body } = arrival
  return from === worker || from?.startsWith(`${worker}>`) === true ? body['waits'] === true : undefined
}
