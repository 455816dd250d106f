/**
 * Model call: one step that asks a model, or the models of a chain in turn.
 *
 * Owns: the step, what is reserved for it, what it is charged. Does not own: what is asked and what follows from the
 * answer (../loop/turn-loop.ts, answer-end.ts). A call without room in a budget waits until other calls have used less
 * than they reserved. It holds nothing meanwhile, and reserves end by themselves, so it does not wait for ever.
 * Holds: K3, K11 (the usage of a call is recorded with its end). Streaming is only the sink of the step.
 */
import {
  failure,
  FailureError,
  soundUsage,
  withSignalOf,
  type CallUsage,
  type Draft,
  type Failure,
  type Json,
  type Outcome,
  type Shape,
} from '@reeve/core'
import { backoff, isForNow, type Context, type RetryPolicy, type StepIO, type StepOptions } from '@reeve/engine'
import { answerShape, type Charge } from '@reeve/journal'
import {
  AnswerIds,
  chainFrom,
  costOf,
  estimateTokens,
  fallbackOfAnswer,
  fallbackReason,
  feesAhead,
  feesOf,
  hasOwnTier,
  leastCostOf,
  modelCallContent,
  mustAnswer,
  nextLink,
  priceIn,
  priceOfModel,
  unpricedTools,
  type FallbackReason,
  type Model,
  type ModelAnswer,
  type ModelLink,
  type ModelPrice,
  type ModelRequest,
  type ModelSettings,
  type ToolSpec,
} from '@reeve/model'
import type { Prompt } from '../conversation/conversation-state.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { modelRulesOf } from '../model-call/model-rules.ts'
import { answerProblem } from '../model-call/answer-end.ts'
import { givenCap, outputCapOf, reserveFor, spentWith, type OutputCap } from '../conversation/output-cap.ts'

/** The caller of a model. Made once per definition. */
export interface ModelCaller {
  readonly agent: string
  readonly model: Model
  readonly settings: ModelSettings | undefined
  readonly retry: RetryPolicy | undefined
  readonly silenceMs?: number | undefined
  readonly outputSchema: { readonly json: ToolSpec['parameters'] } | undefined
  /** The purpose, if it is not a turn. Such an answer is not streamed. */
  readonly purpose?: 'summary' | 'choice'
}

/** How the call counts and is recorded. */
export interface ModelCallOptions {
  /** It may use the turn reserved for the last answer. */
  readonly last: boolean
  /** It goes on with an answer that was paused or cut off. */
  readonly continues?: boolean
  /** What of the answer is structure. */
  readonly holds: Shape
}

const oneTurn: Charge = { turns: 1 }

/** How a call is recorded. */
type AskedModel = Extract<NonNullable<StepOptions['as']>, { readonly type: 'model.requested' }>

/** A call by itself: no tools are offered, and it is not the last one. */
const plainCall: ModelCallOptions = { last: false, holds: answerShape(() => false) }
const nothingChangeable: readonly never[] = []

/** Calls the model once. Only the step itself retries; of a chain, the next model is asked where one cannot answer. */
export function askModel(
  asking: ModelCaller,
  state: ConversationState,
  turn: Context,
  specs: readonly ToolSpec[],
  prompt: Prompt = state,
  options: ModelCallOptions = plainCall,
): Promise<Outcome> {
  const { chain } = asking.model
  return chain === undefined
    ? askOne(asking, state, turn, specs, prompt, options)
    : askChain(chain, asking, state, turn, specs, prompt, options)
}

/** A model with another one behind it is not waited for longer than this. Milliseconds. */
const patienceWithin = 30_000

/**
 * Asks the models of a chain in turn, each in a step of its own, with its own retries, reserve and record. The one that
 * answered is the first to be asked the next time.
 */
async function askChain(
  chain: readonly ModelLink[],
  asking: ModelCaller,
  state: ConversationState,
  turn: Context,
  specs: readonly ToolSpec[],
  prompt: Prompt,
  options: ModelCallOptions,
): Promise<Outcome> {
  const from = state.answering.get(asking.model) ?? 0
  const order = chainFrom(chain, from)
  let instead: Instead | undefined
  for (let at = 0; ;) {
    const { model } = order[at]!
    const retry = at === order.length - 1 ? asking.retry : { maxWaitMs: patienceWithin, ...asking.retry }
    const isPassedOn = (answer: ModelAnswer): boolean => {
      const reason = fallbackOfAnswer(answer)
      return reason !== undefined && nextLink(order, at, reason) >= 0
    }
    const given = { ...options, isPassedOn, ...(instead !== undefined && { instead }) }
    const outcome = await askOne({ ...asking, model, retry }, state, turn, specs, prompt, given)
    const why = outcome.status === 'failed' ? fallbackReason(outcome.failure) : undefined
    const next = why === undefined ? -1 : nextLink(order, at, why)
    if (why === undefined || next < 0) {
      if (outcome.status === 'completed') state.answering.set(asking.model, (from + at) % order.length)
      return outcome
    }
    instead = { of: model.id, why }
    at = next
  }
}

/** How the call of one model of a chain differs. */
interface LinkOptions {
  readonly instead?: Instead
  /** Whether an answer that the model did not end is no answer, because the next model is asked. */
  readonly isPassedOn?: (answer: ModelAnswer) => boolean
}

/** Of a call of a later model of a chain: which one could not answer, and why. */
interface Instead {
  readonly of: string
  readonly why: FallbackReason
}

function askOne(
  asking: ModelCaller,
  state: ConversationState,
  turn: Context,
  specs: readonly ToolSpec[],
  prompt: Prompt,
  { last, holds, continues = false, instead, isPassedOn }: ModelCallOptions & LinkOptions,
): Promise<Outcome> {
  if (state.ending !== undefined) return Promise.resolve(state.ending)
  const { model, agent, purpose } = asking
  const rules = modelRulesOf(turn)
  const price = priceOfModel(model, rules.prices)
  // the turn was taken by the model that could not answer
  const turns = instead === undefined ? 1 : 0
  const { messages } = prompt
  const changeable = (purpose === undefined ? state.hooks?.changeable : undefined) ?? nothingChangeable
  const budget = budgetOf(asking, price, state, specs, prompt)
  const { settings, cap } = budget
  state.cap = cap
  const reserve = turns === 1 ? budget.reserve : { ...budget.reserve, turns }
  const as: Draft<AskedModel> = { type: 'model.requested', model: model.id, messages: messages.length }
  if (purpose !== undefined) as.purpose = purpose
  if (changeable.length > 0) as.changeable = changeable
  if (continues) as.continues = true
  if (instead !== undefined) as.instead = instead
  const options: Draft<StepOptions> = {
    effect: 'model',
    as,
    reserve: last ? { ...reserve, last: turn.place.activation } : reserve,
    settle: (answer) => modelCharge(agent, answer as unknown as ModelAnswer, turns, price),
    content: (sha256) =>
      modelCallContent(
        { model: model.id, tools: specs, settings, outputSchema: asking.outputSchema?.json, purpose },
        prompt.content(sha256),
        sha256,
      ),
    holds,
  }
  if (asking.retry !== undefined) options.retry = asking.retry
  // where nothing is counted, a rule that died half-way has cost nothing
  if (!state.counts && model.isRule === true) options.isFree = true
  const ask = (io: StepIO): Promise<Json> => {
    // inside the step: an answer that is recorded already needs no price
    if (state.edge.bounds.limits?.usd !== undefined && price === undefined)
      throw new FailureError(unpriced(agent, `"${model.id}"`, 'createRuntime({ prices })'))
    const [free] = state.edge.bounds.limits?.usd === undefined ? [] : unpricedTools(specs, model)
    if (free !== undefined)
      throw new FailureError(unpriced(agent, `a call of the tool "${free}"`, 'costUsd of the tool'))
    const request: Draft<ModelRequest> = withSignalOf(io, { messages, tools: specs, key: io.key })
    // a provider is told of a trace only where the caller has one
    if (state.place.caller.traceparent !== undefined) request.traceparent = io.traceparent
    // text that a middleware may still change is not streamed
    const ids = new AnswerIds((id) => state.hasCall(id, messages), io.key)
    const emit: ModelRequest['emit'] = (part) => io.emit(ids.part(part))
    if (purpose === undefined && !changeable.includes('answer')) request.emit = emit
    if (settings !== undefined) request.settings = settings
    if (asking.outputSchema !== undefined) request.outputSchema = asking.outputSchema.json
    if (price !== undefined) request.price = price
    const silenceMs = asking.silenceMs ?? rules.silenceMs
    if (silenceMs !== undefined) request.silenceMs = silenceMs
    const listedPrice = rules.prices && priceIn(rules.prices, model.id)
    return model.call(request).then((given) => {
      const sound = withSoundUsage(given)
      const answer = listedPrice === undefined ? sound : priced(sound, listedPrice, feesOf(sound.ran, specs, model))
      mustAnswer(answer, model.isRule === true)
      const unfinished = isPassedOn?.(answer) === true ? answerProblem(answer, { agent, cap }) : undefined
      // a failed step: what it showed is withdrawn, what it used counts
      if (unfinished !== undefined) throw new FailureError(unfinished, undefined, answer.usage ?? 'unknown')
      return ids.answer(answer) as unknown as Json
    })
  }
  const answered = onceThereIsRoom(turn, ask, options)
  if (!state.counts) return answered
  return answered.then((outcome) => {
    if (outcome.status === 'completed')
      state.spent = spentWith(state.spent, (outcome.output as unknown as ModelAnswer).usage)
    return outcome
  })
}

/** Makes the call. Where only the present use of a budget leaves no room for it, it is made again later. */
const onceThereIsRoom = (
  turn: Context,
  ask: (io: StepIO) => Promise<Json>,
  options: StepOptions,
  waited = 1,
): Promise<Outcome> =>
  turn
    .next(turn.begin('model', ask, options))
    .then(({ outcome }) =>
      isForNow(outcome)
        ? waitForRoom(turn.scope('room'), waited).then(() => onceThereIsRoom(turn, ask, options, waited + 1))
        : outcome,
    )

/** The delays before a call checks for room in its budget again. */
const roomWaits = { backoffMs: 500, maxBackoffMs: 60_000 } as const

/** Waits a while: pending calls may end and use less than they reserved. During a pause, nothing is checked. */
async function waitForRoom(ctx: Context, waited: number): Promise<void> {
  const ms = backoff(roomWaits, waited, undefined, () => ctx.random())
  await ctx.next(ctx.ask('until', { until: new Date(ctx.now().getTime() + ms) }))
  await ctx.next(ctx.begin('look', () => null, { effect: 'read' }))
}

const unpriced = (agent: string, what: string, give: string): Failure =>
  failure(
    'budget.no-price',
    `"${agent}" works under a limit in US dollars, and the price of ${what} is not known; give it with ${give}`,
    'validation',
  )

/** The answer without counts that are none: a model object of a user's may report anything. */
function withSoundUsage(answer: ModelAnswer): ModelAnswer {
  if (answer.usage === undefined) return answer
  const sound = soundUsage(answer.usage)
  if (sound === answer.usage) return answer
  const { usage: _usage, ...rest } = answer
  return sound === undefined ? rest : { ...rest, usage: sound }
}

/** An answer that says what was used, and not what that cost, of a model whose price this runtime knows. */
function priced(answer: ModelAnswer, price: ModelPrice, fees: number | undefined): ModelAnswer {
  const { usage } = answer
  const isPriced = usage === undefined || usage.usd !== undefined || hasOwnTier(usage)
  const tokens = isPriced ? undefined : costOf(usage, price)
  const usd = tokens === undefined || fees === undefined ? undefined : tokens + fees
  return usd === undefined ? answer : { ...answer, usage: { ...usage, usd } }
}

function modelCharge(
  agent: string,
  answer: ModelAnswer,
  turns: number,
  price: ModelPrice | undefined,
): { charge?: Charge; usage: { agent: string; model: string; used: CallUsage | undefined } } {
  const used = answer.usage
  const usage = { agent, model: answer.model, used }
  if (used?.input === undefined || used.output === undefined) return { usage }
  const charge: Draft<Charge> = { turns, tokens: used.input + used.output }
  // what is not known exactly counts with what it cost at least
  const usd = used.usd ?? (price && leastCostOf(used, price))
  if (usd !== undefined) charge.usd = usd
  return { usage, charge }
}

/** What is set aside for a call, and the settings that it is sent with: a budget may cap its answer. */
function budgetOf(
  asking: ModelCaller,
  price: ModelPrice | undefined,
  state: ConversationState,
  specs: readonly ToolSpec[],
  { tokens, settings = asking.settings }: Prompt,
): { reserve: Charge; settings: ModelSettings | undefined; cap: OutputCap } {
  const { model } = asking
  if (!state.counts) return { reserve: oneTurn, settings, cap: givenCap(settings) }
  const { limits } = state.edge.bounds
  const given = { model, price, settings, limits, input: tokens + estimateTokens([], specs), spent: state.spent }
  const cap = outputCapOf(given)
  const reserved = reserveFor(cap, given)
  const fees = feesAhead(specs, model)
  return {
    reserve: fees === 0 || reserved.usd === undefined ? reserved : { ...reserved, usd: reserved.usd + fees },
    settings: cap.byBudget === true ? { ...settings, maxOutputTokens: cap.tokens! } : settings,
    cap,
  }
}
