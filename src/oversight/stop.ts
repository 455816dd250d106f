/**
 * Stops: an operator ends the work of one delegation, and the run goes on.
 *
 * Owns: the message that asks for it, waiting for a worker in a way that hears it. Does not own: sending it (runtime), who else works for a leader (supervisor/worker/watch.ts).
 * Holds: K3: the leader hears of it by a message, so on replay it stops the same worker at the same point. Only messages from outside count: an agent stops nobody else's worker.
 */
import { isObject, type ActivationId, type Json } from '../core/index.ts'
import type { Arrival, Context } from '../engine/index.ts'

/** Persistent: stands in journals. */
const type = '$stop'

/** What is to be stopped, and why. */
export interface StopAsked {
  /** The worker's activation, the model's id of the call, or the leader's label for it. */
  readonly delegation: string
  readonly reason: string
}

/** The message by which a leader is asked to stop one of its workers. */
export const stopMessage = ({ delegation, reason }: StopAsked): Json => ({ type, delegation, reason })

/** Whether this asks for a stop; undefined if it does not. */
export function stopAsked(arrival: Arrival): StopAsked | undefined {
  if (arrival.type !== 'message' || arrival.from !== undefined || !isObject(arrival.body) || arrival.body['type'] !== type) return undefined
  const { delegation, reason } = arrival.body
  return typeof delegation === 'string' ? { delegation, reason: typeof reason === 'string' ? reason : 'stopped' } : undefined
}

/** Whether this is the word by which a stop is asked for, which nobody may say who only posts a message. */
export const isStopWord = (message: Json): boolean => isObject(message) && message['type'] === type

/** How the reason of a stop reads. */
export const stoppedBy = (reason: string | undefined, by: string | undefined): string => {
  const who = by === undefined ? 'the operator' : by
  return reason === undefined || reason === '' ? `stopped by ${who}` : `stopped by ${who}: ${reason}`
}

/** Waits for the end of a worker, and stops it if somebody outside asks for that. */
export async function workerEnd(ctx: Context, worker: ActivationId): Promise<Extract<Arrival, { readonly type: 'worker.settled' }>> {
  for (;;) {
    const arrival = await ctx.next((each) => each.id === worker || stopAsked(each)?.delegation === worker)
    if (arrival.type === 'worker.settled') return arrival
    ctx.stop(worker, stopAsked(arrival)?.reason ?? 'stopped')
  }
}
