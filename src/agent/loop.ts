/**
 * The turn loop: ask the model, do what it asked for, until it asks for nothing more. One loop for agents and supervisors, for live and replayed work,
 * with and without somebody watching.
 *
 * Owns: when there is another turn and how the work ends. Does not own: a turn (turn.ts), what is callable (binding.ts), the conversation (desk.ts).
 * Holds: K3 (it waits only through its context), K7 (one outcome), DESIGN §3.3 (it goes on iff the model asked for calls).
 */
import { completed, failed, failure, withTrail, type LimitName, type Outcome } from '../core/index.ts'
import type { Edge, Schema } from '../edge/index.ts'
import type { Context, RetryPolicy } from '../engine/index.ts'
import { answerMessage, type Model, type ModelAnswer, type ModelSettings } from '../model/index.ts'
import type { Opening, Toolbox } from './binding.ts'
import { Desk } from './desk.ts'
import { correction, outputOf } from './output.ts'
import { outdone, withTransfer } from './transfer.ts'
import { askModel, offered, runCalls } from './turn.ts'

/** How often a model may correct an output that does not fit its schema. */
export const outputRepairs = 2

/** A mind: what the loop needs of a definition. */
export interface Mind {
  readonly agent: string
  readonly model: Model
  readonly settings: ModelSettings | undefined
  readonly retry: RetryPolicy | undefined
  readonly outputSchema: Schema | undefined
  /** Turns of one activation; those of the whole tree are the engine's account. */
  readonly maxTurns: number
  /** Called once per activation: instructions and what is callable. Pure, or through `desk.ctx`. */
  open(desk: Desk): Opening
}

/** Works on a brief until there is an answer, a failure or a limit. Rejects only with `Cancelled` or for a defect in the code. */
export async function think(mind: Mind, ctx: Context, edge: Edge): Promise<Outcome> {
  const desk = new Desk(mind.agent, ctx, edge)
  const outcome = await turns(mind, desk)
  return edge.flow === undefined ? outcome : withTrail(outcome, desk.trail())
}

async function turns(mind: Mind, desk: Desk): Promise<Outcome> {
  const { ctx, edge } = desk
  const { system, toolbox } = withTransfer(mind.open(desk), edge.flow?.to)
  desk.begin(system)
  const isVerb = (name: string): boolean => toolbox.find(name)?.verb === true
  let specs = offered(toolbox.specs, desk, isVerb)
  let offeredOf = toolbox.specs
  for (;;) {
    if (desk.turn >= mind.maxTurns) return desk.limited('turns', `${mind.maxTurns} turns are used up`)
    desk.turn++
    if (toolbox.specs !== offeredOf) {
      offeredOf = toolbox.specs
      specs = offered(offeredOf, desk, isVerb)
    }
    const turn = ctx.scope('turn')
    const asked = await askModel(mind, desk, turn, specs)
    if (asked.status !== 'completed') return unanswered(desk, asked)
    const answer = asked.output as unknown as ModelAnswer
    if (answer.text !== '') desk.text = answer.text
    desk.say(answerMessage(answer))
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

async function worked(desk: Desk, turn: Context, toolbox: Toolbox, answer: ModelAnswer): Promise<Outcome | undefined> {
  const results = await runCalls(desk, turn, toolbox, answer.calls)
  const last = results.findLastIndex(({ finish }) => finish !== undefined)
  results.forEach((result, i) => {
    const call = answer.calls[i]!
    const { content, isError } = i === last ? result : outdone(result, turn, call)
    const { id, name } = call
    desk.say(isError === true ? { role: 'tool', callId: id, name, content, isError } : { role: 'tool', callId: id, name, content })
    if (result.breaks === true) desk.breaks = true
  })
  const finish = results[last]?.finish
  desk.action = finish?.action
  return finish?.outcome
}

/** The answer as output; undefined if the model is to correct it. */
function concluded(mind: Mind, desk: Desk, text: string): Outcome | undefined {
  const output = outputOf(text, mind.outputSchema)
  if (output.ok) return completed(output.value)
  if (desk.repairs >= outputRepairs) {
    return failed(
      failure(
        'output.invalid',
        `the answer of "${mind.agent}" does not have the required form, after ${desk.repairs} corrections: ${output.problem}`,
        'validation',
      ),
    )
  }
  desk.repairs++
  desk.say({ role: 'user', content: correction(output.problem) })
  return undefined
}
