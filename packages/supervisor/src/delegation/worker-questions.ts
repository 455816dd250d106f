/**
 * Worker questions: how a leader answers them. Its code is asked first, then its model in a side query. The current
 * turn continues, and no other worker waits.
 *
 * Owns: these options, the number of questions, what the leader's model sees and later learns of them. Does not own:
 * how questions and replies travel (../../agent), who receives them (../worker/watch.ts), when a worker may ask
 * (attempts.ts).
 * Holds: K3, K4 (a scope for every question), K10 (the hook is a step, the model's answer a recorded turn), K11 (it
 * counts as the leader's).
 */
import { either, functionCheck, isBoolean, object, wholeNumber, type HistoryEntry, type Outcome } from '@reeve/core'
import { askSideQuery, type ModelAccess, type ConversationState, type LeaderQuestion, type Reply } from '@reeve/agent'
import { isLeaving, type Context, type StepIO } from '@reeve/engine'
import type { Message } from '@reeve/model'
import { askHook, type DelegationMoment } from './delegation-hooks.ts'

/** What `onQuestion` receives. */
export interface DelegationQuestion extends DelegationMoment {
  readonly question: string
  /** The number of the question in this delegation, from 1. */
  readonly number: number
}

/** What a worker may ask while it works. */
export interface WorkerQuestions {
  /**
   * The number of questions that one delegation may ask, including all workers below it. Further ones are refused.
   * Default 3.
   */
  readonly max?: number
  /**
   * Answers in place of the leader's model. If it returns nothing, the model is asked. A recorded step. If it fails,
   * `hookErrors` decides: `strict` refuses the question, `lenient` asks the model.
   */
  readonly onQuestion?: (
    question: DelegationQuestion,
    io: StepIO,
  ) => string | undefined | void | Promise<string | undefined | void>
}

/** The check of these options. */
export const questionsCheck = either(
  isBoolean,
  object<WorkerQuestions>({ max: wholeNumber(1), onQuestion: functionCheck }),
)
const defaultMost = 3

/** Whether workers under this policy may ask. */
export const mayAsk = ({ questions }: { readonly questions?: boolean | WorkerQuestions }): boolean =>
  questions !== undefined && questions !== false

/** A delegation with a question. */
interface AskingDelegation {
  readonly ctx: Context
  /** A leader that is code has no conversation. */
  readonly state: Pick<ConversationState, 'edge' | 'tell'> & Partial<Pick<ConversationState, 'messages' | 'hooks'>>
  readonly entry: { readonly worker: string; readonly callId: string; readonly label: string }
  readonly policy: { readonly questions?: boolean | WorkerQuestions }
}

/** The answers of one leader. */
export class LeaderAnswers {
  readonly #access: ModelAccess | undefined
  readonly #strict: boolean
  #counts: WeakMap<AskingDelegation['entry'], number> | undefined

  /** Without a model, only code answers. */
  constructor(access: ModelAccess | undefined, strict: boolean) {
    this.#access = access
    this.#strict = strict
  }

  /** Answers one question of a delegation. */
  async answer(job: AskingDelegation, { text: question }: LeaderQuestion, moment: DelegationMoment): Promise<Reply> {
    const { entry, policy, state } = job
    const { max = defaultMost, onQuestion } = typeof policy.questions === 'object' ? policy.questions : {}
    const counts = (this.#counts ??= new WeakMap())
    const number = (counts.get(entry) ?? 0) + 1
    if (number > max)
      return unanswered(
        `you have asked ${max === 1 ? 'your one question' : `${max} questions`} already; go on with what you have`,
      )
    counts.set(entry, number)
    const ctx = job.ctx.scope('question')
    const about = { worker: entry.worker, callId: entry.callId, delegation: entry.label }
    const delegationQuestion: DelegationQuestion = { ...moment, question, number }
    const reply =
      (await this.#byCode(ctx, onQuestion, delegationQuestion)) ?? (await this.#byModel(ctx, job, delegationQuestion))
    ctx.emit({ type: 'fact.noted', name: 'question.answered', data: { ...about, question, ...reply } })
    state.tell(
      `While it worked, "${entry.worker}" (${entry.label}) asked you: ${question}\n${reply.answered ? 'You answered' : 'It was not answered'}: ${reply.text}`,
    )
    return reply
  }

  async #byCode(
    ctx: Context,
    onQuestion: WorkerQuestions['onQuestion'],
    asked: DelegationQuestion,
  ): Promise<Reply | undefined> {
    if (onQuestion === undefined) return undefined
    const { worker, callId, delegation } = asked
    const read = (reply: unknown): string | undefined => (typeof reply === 'string' ? undefined : 'it returned no text')
    const { reply, failure } = await askHook<string>(
      ctx,
      { hook: 'onQuestion', worker, callId, delegation },
      (io) => onQuestion(asked, io),
      read,
    )
    if (failure !== undefined) return this.#strict ? unanswered('your supervisor could not answer that') : undefined
    return reply === undefined ? undefined : { answered: true, text: reply }
  }

  async #byModel(ctx: Context, { state }: AskingDelegation, delegationQuestion: DelegationQuestion): Promise<Reply> {
    const access = this.#access
    if (access === undefined || state.messages === undefined) return unanswered('your supervisor has no answer to that')
    try {
      // middlewares hide the same messages from the model here as in its turns
      const { messages, settings = access.settings } = (await state.hooks?.shown(ctx, access.settings)) ?? {
        messages: state.messages,
      }
      const system = messages.find(({ role }) => role === 'system')?.content as string | undefined
      const said = conversationSoFar(access.agent, messages)
      return replyOf(
        await askSideQuery({ ...access, settings }, ctx, state.edge, {
          system,
          said,
          question: questionPrompt(delegationQuestion),
        }),
      )
    } catch (thrown) {
      if (isLeaving(thrown)) throw thrown
      return unanswered('your supervisor could not answer that')
    }
  }
}

const unanswered = (text: string): Reply => ({ answered: false, text })

function replyOf(outcome: Outcome): Reply {
  if (outcome.status === 'completed' && outcome.output !== '') return { answered: true, text: outcome.output as string }
  return unanswered(
    outcome.status === 'limited'
      ? `your supervisor could not answer that: ${outcome.message}`
      : 'your supervisor could not answer that',
  )
}

const questionPrompt = ({ worker, delegation, prompt, question }: DelegationQuestion): string =>
  `Your worker "${worker}" (${delegation}) asks you a question before it continues.
Its task:
${prompt}

Its question:
${question}

Answer briefly. The worker sees only your answer, and you have no tools now. If you do not know, say so, and say what the worker should assume.`

/**
 * The leader's conversation up to the current turn. Calls without results are left out, because providers refuse them.
 */
function conversationSoFar(leader: string, messages: readonly Message[]): readonly HistoryEntry[] {
  return messages.flatMap((message, i): HistoryEntry[] => {
    if (message.role === 'system') return []
    if (message.role === 'user') return [{ message }]
    if (message.role === 'tool' || i + 1 < messages.length || (message.calls ?? []).length === 0)
      return [{ agent: leader, message }]
    return message.content === '' ? [] : [{ agent: leader, message: { role: 'assistant', content: message.content } }]
  })
}
