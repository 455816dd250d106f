/**
 * The turn loop: ask the model, do what it asked for, until it asks for nothing more. One loop for agents and supervisors, for live and replayed work,
 * with and without somebody watching.
 *
 * Owns: when there is another turn and how the work ends. Does not own: a turn (turn.ts), what is callable (binding.ts), the conversation (desk.ts) and its summaries
 * (around/compaction.ts), whether an answer is good enough (around/scoring.ts), what a hook makes of a turn (around/iteration.ts).
 * Holds: K3 (it waits only through its context), K7 (one outcome), DESIGN §3.3 (it goes on iff the model asked for calls).
 */
import {
  asText,
  canonical,
  completed,
  failed,
  failure,
  transferTool,
  withTrail,
  type Action,
  type Failure,
  type Json,
  type JsonObject,
  type LimitName,
  type Outcome,
} from '../core/index.ts'
import { briefValue, defaultLimits, howToLift, leavesTrail, type Edge, type Schema } from '../edge/index.ts'
import type { Context, RetryPolicy } from '../engine/index.ts'
import { answerMessage, type Model, type ModelAnswer, type ModelSettings } from '../model/index.ts'
import { withQuestions } from './asking.ts'
import { withReport } from './reporting.ts'
import { BackgroundWork } from './background.ts'
import { fixedToolbox, Lessened, refuse, type CallResult, type Opening, type Toolbox } from './binding.ts'
import { Compacting, type Compaction } from './around/compaction.ts'
import type { Completion } from './around/completion.ts'
import { isBlank } from './definition.ts'
import { Desk } from './desk.ts'
import { failureOf, Hooks } from './around/hooks.ts'
import {
  askIteration,
  follows,
  goOn,
  lastFollows,
  type Follows,
  type IterationWord,
  type OnIterationComplete,
  type Turned,
} from './around/iteration.ts'
import type { MiddlewareHooks } from './around/middleware.ts'
import { correction, fitting, outputOf } from './output.ts'
import { filled } from './templating.ts'
import { allOf, refusedAnswerText, refusedText, Scoring } from './around/scoring.ts'
import { bothSaid, startedCompletion, startedIteration } from './around/started.ts'
import { withTeam } from './teamwork/tools.ts'
import type { Tool } from './tool.ts'
import { outdone, withTransfer } from './transfer.ts'
import { askModel, offered, runCalls } from './turn.ts'

/** How often a model may correct an output that does not fit its schema. */
export const outputRepairs = 2

/** What a model is told when it is asked for the last time. */
export const lastTurn = 'This is your last turn, and there are no tools any more. Answer now, with what you have.'
const noTools = fixedToolbox([])

/** A mind: what the loop needs of a definition. */
export interface Mind {
  readonly agent: string
  readonly model: Model
  readonly settings: ModelSettings | undefined
  readonly retry: RetryPolicy | undefined
  readonly outputSchema: Schema | undefined
  /** Turns of one activation; those of the whole tree are the engine's account. */
  readonly maxTurns: number
  /** Its own, with what middlewares add. */
  readonly instructions: string | undefined
  /** Users' tools; with those of middlewares. */
  readonly tools: readonly Tool[]
  readonly middleware: readonly MiddlewareHooks[]
  /** Whether its instructions have places to be filled. */
  readonly templating: boolean
  /** Whether its last turn is for an answer only. */
  readonly lastAnswer: boolean
  /** What it is asked for, if that is not its work. */
  readonly purpose?: 'choice'
  /** Asked after each turn. */
  readonly onIterationComplete: OnIterationComplete | undefined
  /** What an answer must pass to be the end. */
  readonly isComplete: Completion | undefined
  /** What becomes of a conversation that grows too long. */
  readonly compaction: Compaction | undefined
  /** It has the tool by which it says how good its result is. */
  readonly reports?: boolean
  /** Called once per activation, with the instructions that hold in it: the whole system text and what is callable. Pure. */
  open(desk: Desk, instructions: string | undefined): Opening
}

/** Works on a brief until there is an answer, a failure or a limit. Rejects only with `Cancelled` or for a defect in the code. */
export async function think(mind: Mind, ctx: Context, edge: Edge): Promise<Outcome> {
  const desk = new Desk(mind.agent, ctx, edge, mind.compaction !== undefined)
  const outcome = await (mind.templating || mind.middleware.length > 0
    ? surrounded(mind, desk)
    : turns(mind, desk, added(mind.instructions, edge.added)))
  if (leavesTrail(edge)) return withTrail(outcome, desk.trail())
  // a session remembers it with the turn
  const isRemembered = desk.feedback.length > 0 && edge.depth === 0 && ctx.place.caller.session !== undefined
  return isRemembered ? withTrail(outcome, { said: [], feedback: desk.feedback }) : outcome
}

/** A leader may add to what its worker is told by its definition. */
const added = (own: string | undefined, more: string | undefined): string | undefined =>
  more === undefined || more === '' ? own : own === undefined || own === '' ? more : `${own}\n\n${more}`

/** The work with its instructions filled in, and middlewares around it. */
async function surrounded(mind: Mind, desk: Desk): Promise<Outcome> {
  const own = mind.instructions
  const instructions = added(mind.templating && own !== undefined ? await filled(own, desk.ctx) : own, desk.edge.added)
  if (mind.middleware.length === 0) return turns(mind, desk, instructions)
  const hooks = new Hooks(mind.middleware, desk, briefValue(desk.edge.brief))
  desk.hooks = hooks
  const ended = await begun(mind, desk, hooks, instructions).catch((thrown: unknown) => unfinished(desk, failed(failureOf(thrown))))
  const left = await hooks.end(ended)
  if (left.status !== 'completed') return unfinished(desk, left)
  // a middleware that gives back what it was given, if only a copy, has decided nothing
  if (ended.status === 'completed' && canonical(left.output) === canonical(ended.output)) return ended
  const fits = fitting(left.output, mind.outputSchema)
  return fits.ok ? answered(desk, fits.value) : unfinished(desk, failed(unfit(mind, `as a middleware left it: ${fits.problem}`)))
}

/** What a middleware has left as the output is what others are shown; and who answers does not hand control on. */
function answered(desk: Desk, output: Json): Outcome {
  if (desk.action?.type === 'transfer') kept(desk, desk.action)
  desk.leave(output)
  return completed(output)
}

/** Control stays here. A tool that handed it on besides doing something has its result already; the transfer itself has none yet. */
function kept(desk: Desk, { to, callId: id }: Extract<Action, { type: 'transfer' }>): void {
  desk.action = undefined
  const given = desk.messages.findLast((message) => message.role === 'tool' && message.callId === id)
  if (given?.role !== 'tool' || given.name !== transferTool) return
  const what = failure('transfer.refused', `a middleware has left an answer, so "${to}" does not take over`, 'policy')
  const call = { id: given.callId, name: transferTool, input: { agent_name: to } }
  const { content } = refuse(desk.ctx, call, what, `[not transferred: ${what.message}]`)
  desk.passOn(given, { ...given, content, isError: true })
}

async function begun(mind: Mind, desk: Desk, hooks: Hooks, instructions: string | undefined): Promise<Outcome> {
  const names = mind.tools.map(({ name }) => name)
  const begins = await hooks.begin({ instructions, tools: names })
  const missing = names.filter((name) => !begins.tools.includes(name))
  return turns(mind, desk, begins.instructions, missing)
}

/** Whoever does not complete has given no answer and decides nothing. */
function unfinished(desk: Desk, outcome: Outcome): Outcome {
  desk.action = desk.answer = undefined
  return outcome
}

async function turns(mind: Mind, desk: Desk, instructions: string | undefined, missing: readonly string[] = []): Promise<Outcome> {
  const { edge } = desk
  const opening = mind.open(desk, instructions)
  const whole = missing.length === 0 ? opening : { ...opening, toolbox: new Lessened(opening.toolbox, new Set(missing)) }
  const own = withReport(whole, mind.reports === true)
  const opened = withTransfer(withTeam(withQuestions(own, edge), desk), edge.flow?.to)
  const background = opened.background ?? (worksInBackground(mind) ? new BackgroundWork() : undefined)
  desk.background = background
  const ended = await turnsWith(background === undefined ? opened : { ...opened, background }, mind, desk)
  const left = (await background?.end(ended, desk)) ?? ended
  return left === ended ? ended : unfinished(desk, left)
}

/** Whether some of its tools go on while its model does something else. */
export const worksInBackground = ({ tools }: Pick<Mind, 'tools'>): boolean => tools.some(({ background }) => background === true)

async function turnsWith({ system, toolbox: given, background }: Opening, mind: Mind, desk: Desk): Promise<Outcome> {
  const { ctx, edge, hooks } = desk
  const { ownTurns = Infinity, turns: ofTree = Infinity } = edge.limits ?? {}
  const maxTurns = Math.min(edge.turns ?? mind.maxTurns, ownTurns, ofTree)
  const offer = new Offer(desk, given)
  const started = startedCompletion(ctx, edge)
  const scoring = allOf([
    mind.isComplete && new Scoring(mind.isComplete, desk, maxTurns),
    started && new Scoring(started, desk, maxTurns, 'start.isComplete'),
  ])
  const compacting = mind.compaction === undefined ? undefined : new Compacting(mind.compaction, mind, desk, background)
  let isLast = false // by the word of a hook
  let isOver = false // the turns of the tree are used up, but for the one that is kept
  let stood: Decided | undefined // an answer that a hook does not take for the end
  desk.begin(system)
  for (;;) {
    desk.sayLater()
    background?.deliver(desk)
    if (desk.ending !== undefined) return desk.ending
    if (desk.asked >= maxTurns) {
      const lift = maxTurns === defaultLimits.turns ? ` (${howToLift('turns', maxTurns)})` : ''
      return desk.limited('turns', `${maxTurns} turns are used up${lift}${scoring?.unmet ?? ''}`)
    }
    desk.turn++
    const turn = ctx.scope('turn')
    compacting?.refresh()
    if (compacting?.due(desk.asked < maxTurns) === true) await compacting.compact(turn)
    const isUsedUp = mind.lastAnswer && (isOver || desk.asked === maxTurns)
    if (isUsedUp) {
      await background?.rest()
      background?.deliver(desk)
      desk.note(lastTurn)
    }
    if (isUsedUp || isLast) offer.nothing()
    const shown = hooks === undefined ? undefined : await hooks.shown(turn, mind.settings)
    const asked = await askModel(mind, desk, turn, offer.specs, shown, {
      last: mind.lastAnswer && (isUsedUp || isLast),
      isVerb: offer.isVerb,
    })
    if (asked.status !== 'completed') {
      const max = exceeded(asked)
      if (mind.lastAnswer && !isUsedUp && max?.['limit'] === 'turns' && max['activation'] === ctx.place.activation) {
        isOver = true
        desk.turn--
        continue
      }
      return max === undefined || stood === undefined ? unanswered(desk, asked, scoring?.unmet) : stoodFor(stood)
    }
    let answer = asked.output as unknown as ModelAnswer
    let again: string | undefined
    const excess = tooMany(mind, edge, answer)
    if (excess !== undefined) return stood === undefined ? desk.limited('calls', excess) : stoodFor(stood)
    if (hooks !== undefined) ({ answer, again } = await hooks.heard(turn, answer))
    desk.say(answerMessage(answer))
    if (again === undefined && answer.text !== '') desk.text = answer.text
    let end: Outcome | undefined
    let decided: Decided | undefined // by a call
    if (again !== undefined) rejected(desk, turn, answer, again)
    else if (answer.calls.length > 0) end = (decided = await worked(desk, turn, offer.toolbox, answer))?.end
    else if (!isLast && (await background?.more()) === true) continue
    else end = concluded(mind, desk, answer.text)
    // a call that ends the work is no answer of the model's, unless that is what it is for
    const given = end?.status === 'completed' && decided?.answers !== false ? end : undefined
    if (given !== undefined && decided !== undefined) desk.text = asText(given.output)
    const scored = given && (await scoring?.measure(turn, decided === undefined ? answer.text : desk.text, given.output))
    if (scored?.passed === false) {
      decided?.refuse()
      desk.note(refusedText(scored), refusedAnswerText(scored))
      end = undefined
    }
    const turned: Turned = { answer, end, isAnswer: given !== undefined, scored }
    const word = await saidOf(mind, desk, turn, turned, maxTurns)
    const next: Follows = isLast ? lastFollows(turned, desk) : follows(word, turned, desk.asked < maxTurns, desk)
    if (next.end !== undefined) {
      if (next.end === decided?.end) decided.take()
      return next.end
    }
    stood = end === undefined ? undefined : standing(desk, end, decided)
    if (stood !== undefined) decided?.refuse()
    if (next.note !== undefined) desk.note(next.note)
    isLast = next.last === true
    desk.answer = undefined
  }
}

/** What the hooks say after a turn: the agent's own, then that of the start. */
async function saidOf(mind: Mind, desk: Desk, turn: Context, turned: Turned, maxTurns: number): Promise<IterationWord | undefined> {
  const own = mind.onIterationComplete
  const first = own && (await askIteration(own, desk, turn, turned, maxTurns))
  const started = startedIteration(desk.ctx, desk.edge)
  return started === undefined
    ? first
    : bothSaid(first, await askIteration(started, desk, turn, turned, maxTurns, 'start.onIterationComplete'))
}

/** What the model may call, turn by turn. The same list again while nothing changes. */
class Offer {
  toolbox: Toolbox
  readonly #desk: Desk
  #known: Toolbox['specs'] | undefined
  #specs: Toolbox['specs'] = []

  /** Whether this is a verb of Reeve's own. */
  readonly isVerb = (name: string): boolean => this.toolbox.find(name)?.verb === true

  constructor(desk: Desk, toolbox: Toolbox) {
    this.#desk = desk
    this.toolbox = toolbox
  }

  get specs(): Toolbox['specs'] {
    const { specs } = this.toolbox
    if (specs !== this.#known) {
      this.#known = specs
      this.#specs = offered(specs, this.#desk, this.isVerb)
    }
    return this.#specs
  }

  /** From now on there is nothing to call. */
  nothing(): void {
    this.toolbox = noTools
  }
}

/** How a call ends the work. */
interface Decided {
  readonly end: Outcome
  /** The model answers by it. */
  readonly answers: boolean
  /** It is the end: what follows from it holds. */
  take(): void
  /** It is not: the model is told so. */
  refuse(): void
}

/** More was wanted than there is: what was there is the end. */
function stoodFor(stood: Decided): Outcome {
  stood.take()
  return stood.end
}

/** An answer from which the work goes on, should it turn out to be the last. */
function standing(desk: Desk, end: Outcome, decided: Decided | undefined): Decided {
  const { answer } = desk
  const take = (): void => {
    if (decided === undefined) desk.answer = answer
    else if (end.status === 'completed') desk.leave(end.output)
    decided?.take()
  }
  return { end, answers: true, take, refuse: () => undefined }
}

/** The limit, and whose it is, that did not let a call be made; undefined if it was something else. */
function exceeded(outcome: Outcome): JsonObject | undefined {
  return outcome.status === 'failed' && outcome.failure.code === 'budget.exceeded' ? (outcome.failure.details ?? {}) : undefined
}

/** Why nothing of what an answer asks for is done; undefined if it does not ask for too much at once. */
function tooMany({ agent }: Mind, { limits }: Edge, { calls }: ModelAnswer): string | undefined {
  const most = limits?.calls
  if (most === undefined || calls.length <= most) return undefined
  return `an answer of "${agent}" asks for ${calls.length} calls at once, and ${most} are allowed: none of them was made (${howToLift('calls', most)})`
}

/** How a mind ends whose model did not answer: a used-up budget is a limit, everything else is what it is. */
function unanswered(desk: Desk, outcome: Exclude<Outcome, { status: 'completed' }>, unmet = ''): Outcome {
  const max = exceeded(outcome)
  if (max === undefined || outcome.status !== 'failed') return outcome
  const lift = max['byDefault'] === true ? `; ${howToLift('turns', Number(max['max']))}` : ''
  return desk.limited((max['limit'] ?? 'turns') as LimitName, outcome.failure.message + lift + unmet)
}

/** The model is to answer once more: its calls are refused, or what is wrong is said as a user. */
function rejected(desk: Desk, turn: Context, { calls }: ModelAnswer, why: string): void {
  for (const call of calls) {
    const content = `[not done: ${why}]`
    refuse(turn.scope('call'), call, failure('work.rejected', content, 'rejected'), content)
    desk.say({ role: 'tool', callId: call.id, name: call.name, content, isError: true })
  }
  if (calls.length === 0) desk.note(isBlank(why) ? goOn : why)
}

async function worked(desk: Desk, turn: Context, toolbox: Toolbox, answer: ModelAnswer): Promise<Decided | undefined> {
  const results = await runCalls(desk, turn, toolbox, answer.calls)
  const last = decisive(results)
  results.forEach((result, i) => {
    const call = answer.calls[i]!
    const { content, isError } = i === last ? result : outdone(result, turn, call)
    const { id, name } = call
    desk.say(isError === true ? { role: 'tool', callId: id, name, content, isError } : { role: 'tool', callId: id, name, content })
    if (result.breaks === true) desk.breaks = true
  })
  const finish = results[last]?.finish
  desk.action = finish?.action
  if (finish?.action?.type === 'exit') turn.emit({ type: 'exit.requested', scope: finish.action.scope, callId: answer.calls[last]!.id })
  if (finish === undefined) return undefined
  const { outcome: end, action, answers } = finish
  const message = desk.messages.at(last - results.length)
  return {
    end,
    answers: answers !== undefined,
    take() {
      answers?.counts()
      // it has answered already: with something else that stands in its place
      if (end.status !== 'completed' || action?.type === 'transfer' || desk.answer !== undefined) return
      desk.answer = message
      // the result of a call may only say where its answer is
      if (end.output !== results[last]!.content) desk.leave(end.output)
    },
    refuse() {
      if (answers !== undefined && message?.role === 'tool')
        desk.replace(message, { ...message, content: answers.otherwise, isError: true })
    },
  }
}

/** The call by which the agent ends: of several the last, but nothing ends well what has failed. */
function decisive(results: readonly CallResult[]): number {
  const last = results.findLastIndex(({ finish }) => finish !== undefined)
  const bad = last <= 0 ? last : results.findLastIndex(({ finish }) => finish !== undefined && finish.outcome.status !== 'completed')
  return bad === -1 ? last : bad
}

/** The answer as output; undefined if the model is to correct it. */
function concluded(mind: Mind, desk: Desk, text: string): Outcome | undefined {
  const output = outputOf(text, mind.outputSchema)
  if (output.ok) {
    desk.answer = desk.messages.at(-1)
    return completed(output.value)
  }
  if (desk.repairs >= outputRepairs) {
    return failed(unfit(mind, `after ${desk.repairs} corrections: ${output.problem}`))
  }
  desk.repairs++
  desk.note(correction(output.problem))
  return undefined
}

const unfit = ({ agent }: Mind, why: string): Failure =>
  failure('output.invalid', `the answer of "${agent}" does not have the required form, ${why}`, 'validation')
