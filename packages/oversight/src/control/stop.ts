/**
 * Stops: an operator stops one delegation, and the run continues.
 *
 * Owns: the message that asks for it, a wait for a worker that reacts to it. Does not own: sending it (runtime), the
 * other workers of a leader (supervisor/worker/watch.ts).
 * Holds: K3: the leader learns of it by a message, so a replay stops the same worker at the same point. Only messages
 * from outside count: no agent can stop the worker of another leader.
 */
import type { ActivationId, Json } from '@reeve/core'
import { TypedChannel, type Arrival, type Context } from '@reeve/engine'

/** The delegation to stop, and why. */
export interface StopAsked {
  /** The worker's activation, the model's id of the call, or the leader's label for it. */
  readonly delegation: string
  readonly reason: string
}

const stops = new TypedChannel<StopAsked>('$stop', (member) => {
  const [delegation, reason] = [member('delegation'), member('reason')]
  return typeof delegation === 'string'
    ? { delegation, reason: typeof reason === 'string' ? reason : 'stopped' }
    : undefined
})

/** The message by which a leader is asked to stop one of its workers. */
export const stopMessage = ({ delegation, reason }: StopAsked): Json => stops.message({ delegation, reason })

/** The stop that this arrival asks for, if any. */
export const stopAsked = (arrival: Arrival): StopAsked | undefined => stops.in(arrival, 'outside')?.body

/** The reason of a stop in words. */
export const stoppedBy = (reason: string | undefined, by: string | undefined): string => {
  const who = by === undefined ? 'the operator' : by
  return reason === undefined || reason === '' ? `stopped by ${who}` : `stopped by ${who}: ${reason}`
}

/** Handles other arrivals while waiting for a worker. */
export interface ArrivalListener {
  /** The handler of an arrival; undefined: not for this listener. Pure. */
  readonly hears: (arrival: Arrival) => (() => Promise<void>) | undefined
}

/**
 * Waits for the end of a worker, and stops it if an operator asks for that. `listener` handles other arrivals in order.
 */
export async function workerEnd(
  ctx: Context,
  worker: ActivationId,
  listener?: ArrivalListener,
): Promise<Extract<Arrival, { readonly type: 'worker.settled' }>> {
  for (;;) {
    const arrival = await ctx.next(
      (each) => each.id === worker || stopAsked(each)?.delegation === worker || listener?.hears(each) !== undefined,
    )
    if (arrival.type === 'worker.settled') return arrival
    const stop = stopAsked(arrival)
    if (stop !== undefined) ctx.stop(worker, stop.reason)
    await listener?.hears(arrival)?.()
  }
}
