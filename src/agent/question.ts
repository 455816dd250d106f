/**
 * Question: a worker asks whoever gave it its work, and waits for the reply.
 *
 * Owns: both messages, asking by code, hearing. Does not own: asking by a model (asking.ts), how a leader comes by its answer (../supervisor, the code that delegates), whether questions
 * are taken at all: the edge says so.
 * Holds: K3: both sides wait for messages, so replay hears them in the recorded order. Whoever waits is refused if nobody is there, and never hangs: a leader that ends ends its workers.
 */
import { asText, isObject, type ActivationId, type MessageId } from '../core/index.ts'
import { readEdge } from '../edge/index.ts'
import type { Arrival, Context } from '../engine/index.ts'
import { stopAsked, workerEnd } from '../oversight/index.ts'

/** Persistent: they stand in journals. */
const asks = '$question'
const replies = '$reply'

/** How a question has ended. */
export interface Reply {
  /** False: nobody answers it, and `text` says why. */
  readonly answered: boolean
  readonly text: string
}

/** A question as a leader hears it. */
export interface Heard {
  readonly id: MessageId
  /** The worker, or somebody below it. */
  readonly from: ActivationId
  readonly text: string
}

/**
 * Asks whoever gave this agent its work, and waits for the reply. Only where the leader takes questions (`questions`, `onQuestion`); elsewhere, and where there were too many, the reply
 * is not `answered` and says why. Concurrent questions need no scopes of their own. Rejects only with `Cancelled`.
 */
export async function askSupervisor(ctx: Context, question: string): Promise<Reply> {
  const { asks: to } = readEdge(ctx.input)
  if (to === undefined) return { answered: false, text: 'whoever gave this work takes no questions' }
  const { leader } = to
  const id = ctx.send(leader, { type: asks, question })
  const arrival = await ctx.next((each) => (each.type === 'message.refused' && each.id === id) || replyIn(each, leader, id) !== undefined)
  return replyIn(arrival, leader, id) ?? { answered: false, text: 'whoever gave this work is not there any more' }
}

function replyIn(arrival: Arrival, leader: ActivationId, id: MessageId): Reply | undefined {
  if (arrival.type !== 'message' || arrival.from !== leader || !isObject(arrival.body)) return undefined
  const { type, to, answered, text } = arrival.body
  return type === replies && to === id ? { answered: answered === true, text: asText(text ?? '') } : undefined
}

/** Whether this is a question of a worker, or of somebody below it. */
export function questionIn(arrival: Arrival, worker: ActivationId): Heard | undefined {
  if (arrival.type !== 'message' || !isObject(arrival.body) || arrival.body['type'] !== asks) return undefined
  const { id, from, body } = arrival
  if (from === undefined || (from !== worker && !from.startsWith(`${worker}>`))) return undefined
  return { id, from, text: asText(body['question'] ?? '') }
}

/** Sends the reply to a question. */
export function replyTo(ctx: Context, { id, from }: Heard, { answered, text }: Reply): void {
  ctx.send(from, { type: replies, to: id, answered, text })
}

/** Waits for the end of a worker, and sees to it that its questions are answered, one after the other. Without `answer` it only waits. */
export async function endOf(ctx: Context, worker: ActivationId, answer: ((question: Heard) => Promise<Reply>) | undefined) {
  if (answer === undefined) return workerEnd(ctx, worker)
  for (;;) {
    const arrival = await ctx.next(
      (each) => each.id === worker || questionIn(each, worker) !== undefined || stopAsked(each)?.delegation === worker,
    )
    if (arrival.type === 'worker.settled') return arrival
    const stop = stopAsked(arrival)
    if (stop !== undefined) ctx.stop(worker, stop.reason)
    const question = questionIn(arrival, worker)
    if (question !== undefined) replyTo(ctx, question, await answer(question))
  }
}
