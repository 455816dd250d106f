/**
 * Stops: an operator ends the work of one delegation, and the run goes on.
 *
 * Owns: the message that asks for it, waiting for a worker in a way that hears it. Does not own: sending it (runtime),
 * who else works for a leader (supervisor/worker/watch.ts).
 * Holds: K3: the leader hears of it by a message, so on replay it stops the same worker at the same point. Only
 * messages from outside count: an agent stops nobody else's worker.
 */
import type { ActivationId, Json } from '../../core/index.ts'
import { TypedChannel, type Arrival, type Context } from '../../engine/index.ts'

/** What is to be stopped, and why. */
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

/** Whether this asks for a stop; undefined if it does not. */
export const stopAsked = (arrival: Arrival): StopAsked | undefined => stops.in(arrival, 'outside')?.body

/** Whether this body asks for a stop, which a plain message may not do. */
export const isStopWord = (message: Json): boolean => stops.claims(message)

/** How the reason of a stop reads. */
export const stoppedBy = (reason: string | undefined, by: string | undefined): string => {
  const who = by === undefined ? 'the operator' : by
  return reason === undefined || reason === '' ? `stopped by ${who}` : `stopped by ${who}: ${reason}`
}

/** What is heard besides while a worker is waited for. */
export interface Listener {
  /** How to see to an arrival; undefined: it is none of the listener's. Pure. */
  readonly hears: (arrival: Arrival) => (() => Promise<void>) | undefined
}

/**
 * Waits for the end of a worker, and stops it if an operator asks for that. `listener`: sees to other arrivals, one
 * after the other.
 */
export async function workerEnd(
  ctx: Context,
  worker: ActivationId,
  listener?: Listener,
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
