/**
 * The turn loop: ask the model, do what it asked for, until it asks for nothing more. One loop for agents and supervisors, for live and replayed work,
 * with and without somebody watching.
 *
 * Owns: when there is another turn and how the work ends. Does not own: a turn (turn.ts), what is callable (binding.ts), the conversation (desk.ts).
 * Holds: K3 (it waits only through its context), K7 (one outcome), DESIGN §3.3 (it goes on iff the model asked for calls).
 */
import {
  canonical,
  completed,
  failed,
  failure,
  transferTool,
  withTrail,
  type Action,
  type Failure,
  type Json,
  type LimitName,
  type Outcome,
} from '../core/index.ts'
import { briefValue, type Edge, type Schema } from '../edge/index.ts'
import type { Context, RetryPolicy } from '../engine/index.ts'
import { answerMessage, type Model, type ModelAnswer, type ModelSettings } from '../model/index.ts'
import { fixedToolbox, Lessened, refuse, type CallResult, type Opening, type Toolbox } from './binding.ts'
import { Desk } from './desk.ts'
import { failureOf, Hooks } from './hooks.ts'
import type { MiddlewareHooks } from './middleware.ts'
import { correction, fitting, outputOf } from './output.ts'
import { filled } from './templating.ts'
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
  /** Called once per activation, with the instructions that hold in it: the whole system text and what is callable. Pure. */
  open(desk: Desk, instructions: string | undefined): Opening
}

/** Works on a brief until there is an answer, a failure or a limit. Rejects only with `Cancelled` or for a defect in the code. */
export async function think(mind: Mind, ctx: Context, edge: Edge): Promise<Outcome> {
  const desk = new Desk(mind.agent, ctx, edge)
  const outcome = await (mind.templating || mind.middleware.length > 0 ? surrounded(mind, desk) : turns(mind, desk, mind.instructions))
  return edge.flow === undefined ? outcome : withTrail(outcome, desk.trail())
}

/** The work with its instructions filled in, and middlewares around it. */
async function surrounded(mind: Mind, desk: Desk): Promise<Outcome> {
  const own = mind.instructions
  const instructions = mind.templating && own !== undefined ? await filled(own, desk.ctx) : own
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
  const { ctx, edge, hooks } = desk
  const opening = mind.open(desk, instructions)
  const whole = missing.length === 0 ? opening : { ...opening, toolbox: new Lessened(opening.toolbox, new Set(missing)) }
  const { system, toolbox: given } = withTransfer(whole, edge.flow?.to)
  let toolbox = given
  desk.begin(system)
  const isVerb = (name: string): boolean => toolbox.find(name)?.verb === true
  let specs = offered(toolbox.specs, desk, isVerb)
  let offeredOf = toolbox.specs
  for (;;) {
    if (desk.turn >= mind.maxTurns) return desk.limited('turns', `${mind.maxTurns} turns are used up`)
    desk.turn++
    if (mind.lastAnswer && desk.turn === mind.maxTurns) {
      desk.say({ role: 'user', content: lastTurn })
      toolbox = noTools
    }
    if (toolbox.specs !== offeredOf) {
      offeredOf = toolbox.specs
      specs = offered(offeredOf, desk, isVerb)
    }
    const turn = ctx.scope('turn')
    const asked = await askModel(mind, desk, turn, specs, hooks === undefined ? undefined : await hooks.shown(turn, mind.settings))
    if (asked.status !== 'completed') return unanswered(desk, asked)
    let answer = asked.output as unknown as ModelAnswer
    let again: string | undefined
    if (hooks !== undefined) ({ answer, again } = await hooks.heard(turn, answer))
    desk.say(answerMessage(answer))
    if (again !== undefined) {
      rejected(desk, turn, answer, again)
      continue
    }
    if (answer.text !== '') desk.text = answer.text
    const ended = answer.calls.length === 0 ? concluded(mind, desk, answer.text) : await worked(desk, turn, toolbox, answer)
    if (ended !== undefined) return ended
  }
}

/** How a mind ends whose model did not answer: a used-up budget is a limit, everything else is what it is. */
function unanswered(desk: Desk, outcome: Exclude<Outcome, { status: 'completed' }>): Outcome {
  if (outcome.status !== 'failed' || outcome.failure.code !== 'budget.exceeded') return outcome
  const limit = outcome.failure.details?.['limit']
  return desk.limited((limit ?? 'turns') as LimitName, outcome.failure.message)
}

/** The model is to answer once more: its calls are refused, or what is wrong is said as a user. */
function rejected(desk: Desk, turn: Context, { calls }: ModelAnswer, why: string): void {
  for (const call of calls) {
    const content = `[not done: ${why}]`
    refuse(turn.scope('call'), call, failure('work.rejected', content, 'rejected'), content)
    desk.say({ role: 'tool', callId: call.id, name: call.name, content, isError: true })
  }
  if (calls.length === 0) desk.say({ role: 'user', content: why })
}

async function worked(desk: Desk, turn: Context, toolbox: Toolbox, answer: ModelAnswer): Promise<Outcome | undefined> {
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
  if (finish?.outcome.status === 'completed' && finish.action?.type !== 'transfer') {
    const { output } = finish.outcome
    desk.answer = desk.messages.at(last - results.length)
    // the result of a call may only say where its answer is
    if (output !== results[last]!.content) desk.leave(output)
  }
  return finish?.outcome
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
  desk.say({ role: 'user', content: correction(output.problem) })
  return undefined
}

const unfit = ({ agent }: Mind, why: string): Failure =>
  failure('output.invalid', `the answer of "${agent}" does not have the required form, ${why}`, 'validation')
