/**
 * Turn loop: calls the model, runs the calls of its answer, and repeats until an answer has no calls. One loop for
 * agents and supervisors, live and replayed, streamed or not.
 *
 * Owns: when another turn follows, how the work ends, when each moment of an extension comes. Does not own: a turn
 * (turn.ts), what is callable (../tool/binding.ts), the conversation (conversation-state.ts), what an option does at a
 * moment (../extensions/extension.ts), what runs around the loop (model-activation.ts).
 * Holds: K3 (it waits only through its context), K7 (one outcome), spec collaboration 1.17 (it continues if and only if
 * the model made calls).
 */
import {
  asText,
  completed,
  cut,
  failed,
  failure,
  type ActivationId,
  type Failure,
  type LimitName,
  present,
  type Outcome,
  withNote,
} from '@reeve/core'
import { defaultLimits, howToLift, saysNothing, type Edge, type Schema } from '@reeve/edge'
import type { Context, RetryPolicy } from '@reeve/engine'
import { callScope } from '@reeve/journal'
import {
  answerMessage,
  joinedAnswer,
  type Message,
  type Model,
  type ModelAnswer,
  type ModelSettings,
} from '@reeve/model'
import type { Compaction } from '../extensions/compaction.ts'
import type { Completion } from '../extensions/completion.ts'
import { nextStep, goOn, nextStepAfterLast, type NextStep, type OnIterationComplete } from '../extensions/iteration.ts'
import { exceeded } from '../extensions/last-answer.ts'
import type { MiddlewareHooks } from '../extensions/middleware.ts'
import type { Opening } from '../tool/binding.ts'
import { readingToolbox } from '../tool/read-large-result.ts'
import { refuse } from '../tool/refusal.ts'
import { toolsMost } from '../tool/search-toolbox.ts'
import type { CallResult } from '../conversation/call-result.ts'
import { askModel } from '../model-call/model-call.ts'
import { isBlank } from '../definition.ts'
import { answerEnd, keptText, noParts, type OnCut } from '../model-call/answer-end.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { TurnView, type Extension } from '../extensions/extension.ts'
import { correction, outputOf, outputMisfit } from '../output.ts'
import type { Tool } from '../tool/tool.ts'
import { supersededTransfer } from '../tool/transfer-tool.ts'
import { OfferedTools } from './offered-tools.ts'
import { runCalls } from './turn.ts'
import { defaultTurns, type TurnBudget } from '../conversation/turn-budget.ts'

/** How often a model may correct an output that does not fit its schema. */
export const outputRepairs = 2

/** What the loop needs of a model agent. */
export interface ModelSetup {
  readonly agent: string
  readonly model: Model
  readonly settings: ModelSettings | undefined
  readonly retry: RetryPolicy | undefined
  /** How long its model may send nothing. Milliseconds. Default: as its runtime says. */
  readonly silenceMs?: number | undefined
  readonly outputSchema: Schema | undefined
  /** The limit of turns of one activation. The engine's account limits those of the whole tree. */
  readonly maxTurns: number
  /** Its own instructions with those of its middlewares. */
  readonly instructions: string | undefined
  /** The user's tools, including those of middlewares. */
  readonly tools: readonly Tool[]
  readonly middleware: readonly MiddlewareHooks[]
  /** Whether its instructions are a template. */
  readonly templating: boolean
  /** Whether its last turn is for an answer only. */
  readonly lastAnswer: boolean
  /** What it is called for, if not for its work. */
  readonly purpose?: 'choice'
  /** Called after each turn. */
  readonly onIterationComplete: OnIterationComplete | undefined
  /** What an answer must pass to end the work. */
  readonly isComplete: Completion | undefined
  /** What follows a text that was cut off. Default: the model goes on. */
  readonly onCut?: OnCut | undefined
  /** How a long conversation is compacted. */
  readonly compaction: Compaction | undefined
  /** It has the tool `report`. */
  readonly reports?: boolean
  /** Called once per activation with its instructions: returns the system text and the toolbox. Pure. */
  open(state: ConversationState, instructions: string | undefined): Opening
}

/** Where more turns come from, for those who have used up a default. */
function howToLiftTurns(max: number, { maxTurns }: ModelSetup): string {
  if (max === defaultLimits.turns) return ` (${howToLift('turns', max)})`
  if (max !== defaultTurns || max !== maxTurns) return ''
  return ` (${max} is the default; limits: { turns: … } of this agent allows more, of the root of a run at its start, too)`
}

/** Runs turns until the work has ended. */
export async function turnLoop(
  setup: ModelSetup,
  state: ConversationState,
  { system, toolbox, labelsFiles }: Opening,
  turns: TurnBudget,
  at: Extension,
): Promise<Outcome> {
  const { ctx, edge } = state
  const offer = new OfferedTools(state, readingToolbox(toolbox, state, toolsMost(setup)))
  let isGranted = false // a hook granted this turn as the last one
  let stood: FinishingCall | undefined // an answer that a hook did not accept as the end
  const open = new OpenAnswer(setup, state)
  state.begin(system, labelsFiles)
  for (;;) {
    state.sayLater()
    at.beforeTurn?.()
    if (state.ending !== undefined) return state.ending
    if (state.asked >= turns.max) {
      const lift = howToLiftTurns(turns.max, setup)
      return state.limited('turns', `${turns.max} turns are used up${lift}${at.unmet?.() ?? ''}`)
    }
    state.turn++
    state.asked++
    const turn = new TurnView(ctx.scope('turn'))
    const waiting = at.beforeModel?.(turn)
    if (waiting !== undefined) await waiting
    const isLast = isGranted || turns.isLast(state.asked)
    if (isLast) offer.nothing()
    const withheld = offer.withhold(turn.ctx)
    if (withheld !== undefined) await withheld
    const called = await askModel(setup, state, turn.ctx, offer.specs, turn.prompt, {
      last: setup.lastAnswer && isLast,
      holds: offer.answerShape,
      continues: open.isBegun,
    })
    const answered = open.take(called)
    if ('status' in answered) {
      if (at.onUnanswered?.(answered) === true) continue
      return exceeded(answered) === undefined || stood === undefined
        ? modelFailure(state, ctx.place.activation, answered, at.unmet?.())
        : settleFor(stood)
    }
    if (answered.next === 'go-on') continue
    turn.answer = answered.answer
    if (answered.next === 'calls-again') {
      state.say(answerMessage(answered.answer))
      refuseCalls(state, turn.ctx, answered.answer, answered)
      continue
    }
    const excess = callLimitProblem(setup, edge, turn.answer)
    if (excess !== undefined) return stood === undefined ? state.limited('calls', excess) : settleFor(stood)
    if (at.afterModel !== undefined) await at.afterModel(turn)
    const { answer, again } = turn
    state.say(answerMessage(answer))
    if (again === undefined && answer.text !== '') state.text = answer.text
    let decided: FinishingCall | undefined // set if a call ends the work
    if (again !== undefined) rejectAnswer(state, turn.ctx, answer, again)
    else if (answer.calls.length > 0) {
      const results = await runCalls(state, turn.ctx, offer.toolbox, answer.calls)
      decided = finishingCall(state, turn.ctx, answer, results)
      turn.end = decided?.end
    } else if (!isGranted && at.beforeAnswer !== undefined && (await at.beforeAnswer())) continue
    else turn.end = outputAnswer(setup, state, turn.ctx, answer.text)
    // a call that ends the work is an answer of the model only if it is meant as one
    const given = turn.end?.status === 'completed' && decided?.answers !== false ? turn.end : undefined
    turn.isAnswer = given !== undefined
    if (given !== undefined && decided !== undefined) state.text = asText(given.output)
    const text = decided === undefined ? answer.text : state.text
    const refusal = given && at.onAnswer && (await at.onAnswer(turn, text, given.output))
    if (refusal !== undefined) {
      decided?.refuse()
      state.note(refusal.told, refusal.toWorkers)
      turn.end = undefined
    }
    if (at.afterTurn !== undefined) await at.afterTurn(turn)
    const next: NextStep = isGranted
      ? nextStepAfterLast(turn, state)
      : nextStep(turn.reply, turn, state.asked < turns.max, state)
    if (next.end !== undefined) {
      if (next.end === decided?.end) decided.take()
      return next.end
    }
    stood = turn.end === undefined ? undefined : standingAnswer(state, turn.end, decided)
    if (stood !== undefined) decided?.refuse()
    if (next.note !== undefined) state.note(next.note)
    isGranted = next.last === true
    state.answer = undefined
  }
}

/** An answer of which the model may have given only a part so far: one that was paused, or cut off. */
class OpenAnswer {
  readonly #setup: ModelSetup
  readonly #state: ConversationState
  readonly #isText: boolean
  #parts = noParts
  #answers: ModelAnswer[] = []
  /** What stands for them in the conversation. */
  #messages: Message[] = []

  constructor(setup: ModelSetup, state: ConversationState) {
    this.#setup = setup
    this.#state = state
    this.#isText = setup.outputSchema === undefined && setup.purpose === undefined
  }

  /** Parts of it are there. */
  get isBegun(): boolean {
    return this.#answers.length > 0
  }

  /** What a model call has brought: the whole answer, a part of it, calls that were cut off, or why there is none. */
  take(
    asked: Outcome,
  ):
    | Exclude<Outcome, { readonly status: 'completed' }>
    | { readonly next: 'whole'; readonly answer: ModelAnswer }
    | { readonly next: 'go-on' }
    | { readonly next: 'calls-again'; readonly answer: ModelAnswer; readonly failure: Failure; readonly told: string } {
    if (asked.status !== 'completed') return this.#withParts(asked)
    const answer = asked.output as unknown as ModelAnswer
    const { agent, onCut = 'continue' } = this.#setup
    const { cap } = this.#state
    const end = answerEnd(answer, this.#parts, { agent, isText: this.#isText, onCut, cap })
    switch (end.next) {
      case 'whole':
        return { next: 'whole', answer: this.#close(answer) }
      case 'go-on':
        this.#parts = end.parts
        this.#keep(answer, end.note)
        return { next: 'go-on' }
      case 'calls-again': {
        const joined = this.#close(answer)
        this.#parts = { ...noParts, cutCalls: end.parts.cutCalls }
        return { next: 'calls-again', answer: joined, failure: end.failure, told: end.told }
      }
      case 'fail': {
        const text = this.#parts.text + answer.text
        if (text !== '') this.#state.text = text
        return { status: 'failed', failure: end.failure }
      }
    }
  }

  /** The model is to go on with what it said so far. */
  #keep(answer: ModelAnswer, note: string | undefined): void {
    const message = answerMessage(answer)
    this.#answers.push(answer)
    if (!saysNothing(message) || message.reasoning !== undefined) {
      this.#messages.push(message)
      this.#state.say(message)
    }
    if (note !== undefined) this.#messages.push(this.#state.note(note))
    if (this.#parts.text !== '') this.#state.text = this.#parts.text
  }

  /** One answer takes the place of its parts. */
  #close(last: ModelAnswer): ModelAnswer {
    this.#state.withdraw(this.#messages)
    const joined = joinedAnswer(this.#answers, last)
    this.#parts = noParts
    this.#answers = []
    this.#messages = []
    return joined
  }

  /** Whatever ended the answer, what was said of it is kept. */
  #withParts<E extends Outcome>(end: E): E {
    const { text } = this.#parts
    if (end.status !== 'failed' || text === '') return end
    const { failure: what } = end
    return { ...end, failure: { ...what, details: { ...what.details, partial: cut(text, keptText) } } }
  }
}

/** A call that ends the work. */
interface FinishingCall {
  readonly end: Outcome
  /** The call is an answer. */
  readonly answers: boolean
  /** Accepts the end: its effects hold. */
  take(): void
  /** Refuses the end: the model is told so. */
  refuse(): void
}

/** No further turn is possible: the earlier answer is the end. */
function settleFor(stood: FinishingCall): Outcome {
  stood.take()
  return stood.end
}

/** An answer that becomes the end if no better one follows. */
function standingAnswer(state: ConversationState, end: Outcome, decided: FinishingCall | undefined): FinishingCall {
  const { answer } = state
  const take = (): void => {
    if (decided === undefined) state.answer = answer
    else if (end.status === 'completed') state.leave(end.output)
    decided?.take()
  }
  return { end, answers: true, take, refuse: () => undefined }
}

/** Why none of the calls of an answer run; undefined if there are not too many of them. */
function callLimitProblem(
  { agent }: ModelSetup,
  { bounds: { limits } }: Edge,
  { calls }: ModelAnswer,
): string | undefined {
  const most = limits?.calls
  if (most === undefined || calls.length <= most) return undefined
  return `an answer of "${agent}" asks for ${calls.length} calls at once, and ${most} are allowed: none of them was made (${howToLift('calls', most)})`
}

/** How the agent ends if its model did not answer: a used-up budget is a limit, everything else stays as it is. */
function modelFailure(
  state: ConversationState,
  own: ActivationId,
  outcome: Exclude<Outcome, { status: 'completed' }>,
  unmet = '',
): Outcome {
  const max = exceeded(outcome)
  if (max === undefined || outcome.status !== 'failed') return outcome
  const lift = max['byDefault'] === true ? `; ${howToLift('turns', Number(max['max']))}` : ''
  const { activation, max: most } = max
  const isOwn = activation === own || typeof activation !== 'string' || typeof most !== 'number'
  const account = isOwn ? undefined : { activation: activation as ActivationId, max: most }
  return state.limited((max['limit'] ?? 'turns') as LimitName, outcome.failure.message + lift + unmet, account)
}

/** The model must answer again: its calls are refused, or the reason is sent as a user's note. */
function rejectAnswer(state: ConversationState, turn: Context, answer: ModelAnswer, why: string): void {
  const message = `[not done: ${why}]`
  refuseCalls(state, turn, answer, { told: message, failure: failure('work.rejected', message, 'rejected') })
  if (answer.calls.length === 0) state.note(isBlank(why) ? goOn : why)
}

/** None of the calls runs; the model is told why, as the result of each. */
function refuseCalls(
  state: ConversationState,
  turn: Context,
  { calls }: ModelAnswer,
  { told: content, failure: what }: { readonly told: string; readonly failure: Failure },
): void {
  for (const call of calls) {
    refuse(turn.scope(callScope), call, what, content)
    state.say({ role: 'tool', callId: call.id, name: call.name, content, isError: true })
  }
}

/** Tells the model the results of its calls. Returns the call that ends the work, if one does. */
function finishingCall(
  state: ConversationState,
  turn: Context,
  answer: ModelAnswer,
  results: readonly CallResult[],
): FinishingCall | undefined {
  const last = decisiveCall(results)
  for (let i = 0; i < results.length; i++) {
    const result = results[i]!
    const call = answer.calls[i]!
    const { isError, unknownTool, ...told } = i === last ? result : supersededTransfer(result, turn, call)
    const content = withNote(told.note, told.content)
    const { id, name } = call
    if (unknownTool === true) state.noteUnknownTool(id)
    const { files } = told
    const said: Message = {
      role: 'tool',
      callId: id,
      name,
      content,
      ...(isError === true && { isError }),
      ...(files !== undefined && files.length > 0 && { files }),
    }
    state.say(said)
    if (told.isNoteOwn === true) state.passOn(said, { ...said, content: told.content })
    if (result.breaks === true) state.breaks = true
  }
  const finish = results[last]?.finish
  state.action = finish?.action
  if (finish?.action?.type === 'exit')
    turn.emit({ type: 'exit.requested', scope: finish.action.scope, callId: answer.calls[last]!.id })
  if (finish === undefined) return undefined
  const { outcome: end, action, answers } = finish
  const message = state.messages.at(last - results.length)
  return {
    end,
    answers: answers !== undefined,
    take() {
      answers?.counts()
      // another message already holds its answer
      if (end.status !== 'completed' || action?.type === 'transfer' || state.answer !== undefined) return
      state.answer = message
      // the result of a call may only refer to the answer
      if (end.output !== results[last]!.content) state.leave(end.output)
    },
    refuse() {
      if (answers !== undefined && message?.role === 'tool')
        state.replace(message, { ...message, content: answers.otherwise, isError: true })
    },
  }
}

/** The call that ends the agent: the last of several, but a failed one takes precedence. */
function decisiveCall(results: readonly CallResult[]): number {
  let last = results.length - 1
  while (last >= 0 && results[last]!.finish === undefined) last--
  const bad =
    last <= 0
      ? last
      : results.findLastIndex(({ finish }) => finish !== undefined && finish.outcome.status !== 'completed')
  return bad === -1 ? last : bad
}

/** The answer as output; undefined if the model must correct it. */
function outputAnswer(setup: ModelSetup, state: ConversationState, turn: Context, text: string): Outcome | undefined {
  const output = outputOf(text, setup.outputSchema, setup.outputSchema === undefined ? [] : state.quotable())
  if (output.ok) {
    state.answer = state.messages.at(-1)
    return completed(output.value)
  }
  const { problem } = output
  const rejected = { type: 'output.rejected', problem, ...present({ purpose: setup.purpose }) } as const
  if (state.repairs >= outputRepairs) {
    turn.emit(rejected)
    return failed(outputMisfit(setup.agent, `after ${state.repairs} corrections: ${problem}`))
  }
  state.repairs++
  const told = correction(problem)
  turn.emit({ ...rejected, told })
  state.note(told)
  return undefined
}
