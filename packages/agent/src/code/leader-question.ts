/**
 * Leader question: a worker asks its leader and waits for the reply.
 *
 * Owns: the channel, asking by code, receiving and answering. Does not own: asking by a model (ask-supervisor.ts), how
 * a leader finds its answer (../../supervisor, the code that delegates), whether questions are accepted: the edge says
 * so.
 * Holds: K3: both sides wait for messages, so replay receives them in recorded order. A worker whose leader is gone is
 * refused and never hangs: a leader that ends ends its workers.
 */
import { asText, type ActivationId, type MessageId } from '@reeve/core'
import { readEdge } from '@reeve/edge'
import { RequestChannel, type Arrival, type Context } from '@reeve/engine'
import { workerEnd, type ArrivalListener } from '@reeve/oversight'

/** The reply to a question. */
export interface Reply {
  /** False: there is no answer, and `text` says why. */
  readonly answered: boolean
  readonly text: string
}

/** A question as the leader receives it. */
export interface LeaderQuestion {
  readonly id: MessageId
  /** The worker, or an agent below it. */
  readonly from: ActivationId
  readonly text: string
}

/** How the leader answers. */
export type QuestionAnswerer = (question: LeaderQuestion) => Promise<Reply>

const questions = new RequestChannel<string, Reply, { readonly question: string }>(
  '$question',
  (member) => asText(member('question') ?? ''),
  {
    name: '$reply',
    read: (member) => ({ answered: member('answered') === true, text: asText(member('text') ?? '') }),
    write: ({ answered, text }) => ({ answered, text }),
    gone: { answered: false, text: 'the supervisor of this work has ended' },
  },
)

/**
 * Asks the leader of this agent and waits for the reply. Works only if the leader accepts questions (`questions`,
 * `onQuestion`). Otherwise, or after too many questions, the reply is not `answered` and says why. Concurrent questions
 * need no scopes of their own. Rejects only with `Cancelled`.
 */
export async function askSupervisor(ctx: Context, question: string): Promise<Reply> {
  const to = readEdge(ctx.input).leader.questionsTo
  if (to === undefined) return { answered: false, text: 'the supervisor of this work takes no questions' }
  return questions.request(ctx, to, { question })
}

/** Receives and answers the questions of a worker, and of the agents below it. */
export const questionListener = (ctx: Context, worker: ActivationId, answer: QuestionAnswerer): ArrivalListener => ({
  hears(arrival: Arrival) {
    const heard = questions.in(arrival, { activation: worker, below: true })
    if (heard?.from === undefined) return undefined
    const question = { id: heard.id, from: heard.from, text: heard.body }
    return async () => questions.answer(ctx, question, await answer(question))
  },
})

/**
 * Waits for the end of a worker and answers its questions meanwhile, one after the other. Without `answer` it only
 * waits.
 */
export const awaitWorker = (
  ctx: Context,
  worker: ActivationId,
  answer: QuestionAnswerer | undefined,
): ReturnType<typeof workerEnd> =>
  workerEnd(ctx, worker, answer === undefined ? undefined : questionListener(ctx, worker, answer))
