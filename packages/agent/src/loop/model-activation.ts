/**
 * Model activation: one activation of a model agent, assembled from its definition, its edge and its start.
 *
 * Owns: the layers around the turn loop and the list of its extensions, both in order. Does not own: the loop
 * (turn-loop.ts), the extensions (../extensions, background.ts), the layers around agents of every kind
 * (../../runtime/layers.ts).
 * Holds: K4: the order below decides the order of scopes.
 *
 * From outside to inside: the handoff record; the instructions, filled in before middlewares see them; the middlewares,
 * which may change the beginning and the outcome; Reeve's own tools; the loop.
 */
import {
  canonical,
  completed,
  failed,
  failure,
  transferTool,
  withHandoff,
  type Action,
  type Json,
  type Outcome,
} from '@reeve/core'
import { briefValue, leavesHandoff, type Edge } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { Compactor } from '../extensions/compaction.ts'
import { middlewareFailure, MiddlewareChain } from '../extensions/middleware-chain.ts'
import { iteration } from '../extensions/iteration.ts'
import { lastAnswer } from '../extensions/last-answer.ts'
import { Scoring } from '../extensions/scoring.ts'
import { completionOfStart, hookNamed } from '../extensions/start-hooks.ts'
import { withQuestions } from '../tool/ask-supervisor.ts'
import { BackgroundWork, backgroundTurns } from './background.ts'
import { filteredToolbox, type Background, type Opening } from '../tool/binding.ts'
import { refuse } from '../tool/refusal.ts'
import { ConversationState } from '../conversation/conversation-state.ts'
import { combined, type Extension } from '../extensions/extension.ts'
import { turnLoop, type ModelSetup } from './turn-loop.ts'
import { checkOutput, outputMisfit } from '../output.ts'
import { withReport } from '../approval/report-tool.ts'
import { withTeam } from '../teamwork/team-tools.ts'
import { fillTemplate } from '../instruction-template.ts'
import { withFileArguments } from '../tool/file-arguments.ts'
import { withSearch } from '../tool/search-toolbox.ts'
import { withTransfer } from '../tool/transfer-tool.ts'
import { TurnBudget } from '../conversation/turn-budget.ts'

/**
 * The extensions of the turn loop that this activation uses, in the order in which they are called at each moment. A
 * new option is one more line.
 *
 * Compaction comes first, so that messages of the others are not summarized at once. Background work is told before the
 * last turn is announced, since nothing can be told after it. Middlewares see what was said before them. Scorers
 * measure the answer as middlewares left it. Hooks after a turn receive the scores. Extensions of the definition
 * precede those of the start.
 */
function extensionsOf(
  setup: ModelSetup,
  state: ConversationState,
  turns: TurnBudget,
  background: Background | undefined,
  hooks: MiddlewareChain | undefined,
): readonly Extension[] {
  const { max } = turns
  const { ctx, edge } = state
  const started = edge.run.hooks
  const all: Extension[] = []
  if (setup.compaction !== undefined) all.push(new Compactor(setup.compaction, setup, state, max, background))
  if (background !== undefined) all.push(backgroundTurns(background, state, turns))
  if (setup.lastAnswer) all.push(lastAnswer(state, turns))
  if (hooks !== undefined) all.push(hooks)
  if (setup.isComplete !== undefined) all.push(new Scoring(setup.isComplete, state, max))
  if (started?.isComplete !== undefined)
    all.push(new Scoring(completionOfStart(ctx, started.isComplete), state, max, 'start.isComplete'))
  if (setup.onIterationComplete !== undefined) all.push(iteration(setup.onIterationComplete, state, max))
  if (started?.onIterationComplete !== undefined)
    all.push(iteration(hookNamed(ctx, started.onIterationComplete), state, max, 'start.onIterationComplete'))
  return all
}

/**
 * Works on a brief until there is an answer, a failure or a limit. Rejects only with `Cancelled`, or for a defect in
 * the code.
 */
export function runModelAgent(setup: ModelSetup, ctx: Context, edge: Edge): Promise<Outcome> {
  const state = new ConversationState(setup.agent, ctx, edge, setup.compaction !== undefined)
  const work =
    setup.templating || setup.middleware.length > 0
      ? runWithMiddleware(setup, state)
      : runTurns(setup, state, appended(setup.instructions, edge.work.added))
  if (leavesHandoff(edge)) return work.then((outcome) => withHandoff(outcome, state.handoff()))
  // a session keeps feedback with the turn
  const isRemembered = edge.bounds.depth === 0 && state.place.caller.session !== undefined
  return isRemembered ? work.then((outcome) => withFeedback(outcome, state)) : work
}

const withFeedback = (outcome: Outcome, { feedback }: ConversationState): Outcome =>
  feedback.length === 0 ? outcome : withHandoff(outcome, { said: [], feedback })

/** The instructions with what a leader or a hook adds to them. */
const appended = (instructions: string | undefined, more: string | undefined): string | undefined =>
  more === undefined || more === ''
    ? instructions
    : instructions === undefined || instructions === ''
      ? more
      : `${instructions}\n\n${more}`

/** Runs the work with its template filled in and its middlewares around it. */
async function runWithMiddleware(setup: ModelSetup, state: ConversationState): Promise<Outcome> {
  const template = setup.instructions
  const instructions = appended(
    setup.templating && template !== undefined ? await fillTemplate(template, state.ctx) : template,
    state.edge.work.added,
  )
  if (setup.middleware.length === 0) return runTurns(setup, state, instructions)
  const hooks = new MiddlewareChain(setup.middleware, state, briefValue(state.edge.work.brief), setup.settings)
  state.hooks = hooks
  const ended = await beginWithHooks(setup, state, hooks, instructions).catch((thrown: unknown) =>
    withoutAnswer(state, failed(middlewareFailure(thrown))),
  )
  const left = await hooks.end(ended)
  if (left.status !== 'completed') return withoutAnswer(state, left)
  // a middleware that returns an equal output has changed nothing
  if (ended.status === 'completed' && canonical(left.output) === canonical(ended.output)) return ended
  const fits = checkOutput(left.output, setup.outputSchema)
  return fits.ok
    ? acceptAnswer(state, fits.value)
    : withoutAnswer(state, failed(outputMisfit(setup.agent, `as a middleware left it: ${fits.problem}`)))
}

/** Other agents see the output that a middleware left. An agent that answers hands no control on. */
function acceptAnswer(state: ConversationState, output: Json): Outcome {
  if (state.action?.type === 'transfer') refuseTransfer(state, state.action)
  state.leave(output)
  return completed(output)
}

/** Refuses a transfer. A tool that did more than transfer keeps its result; the transfer tool gets a refusal. */
function refuseTransfer(state: ConversationState, { to, callId: id }: Extract<Action, { type: 'transfer' }>): void {
  state.action = undefined
  const given = state.messages.findLast((message) => message.role === 'tool' && message.callId === id)
  if (given?.role !== 'tool' || given.name !== transferTool) return
  const what = failure('transfer.refused', `a middleware has left an answer, so "${to}" does not take over`, 'policy')
  const call = { id: given.callId, name: transferTool, input: { agent_name: to } }
  const { content } = refuse(state.ctx, call, what, `[not transferred: ${what.message}]`)
  state.passOn(given, { ...given, content, isError: true })
}

async function beginWithHooks(
  setup: ModelSetup,
  state: ConversationState,
  hooks: MiddlewareChain,
  instructions: string | undefined,
): Promise<Outcome> {
  const names = setup.tools.map(({ name }) => name)
  const begins = await hooks.begin({ instructions, tools: names })
  const missing = names.filter((name) => !begins.tools.includes(name))
  return runTurns(setup, state, begins.instructions, missing, hooks)
}

/** An agent that does not complete has no answer and transfers no control. */
function withoutAnswer(state: ConversationState, outcome: Outcome): Outcome {
  state.action = state.answer = undefined
  return outcome
}

/** Runs the loop with its tools and extensions, and lets the extensions change its outcome. */
function runTurns(
  setup: ModelSetup,
  state: ConversationState,
  instructions: string | undefined,
  missing: readonly string[] = [],
  hooks?: MiddlewareChain,
): Promise<Outcome> {
  const opened = openingOf(setup, state, instructions, missing)
  const background = opened.background ?? (worksInBackground(setup) ? new BackgroundWork() : undefined)
  state.background = background
  const budget = budgetOf(setup, state.edge)
  const extension = combined(extensionsOf(setup, state, budget, background, hooks))
  const ended = turnLoop(setup, state, opened, budget, extension)
  return extension.atEnd === undefined ? ended : ended.then((outcome) => changedAtEnd(extension, state, outcome))
}

/** The outcome as the extensions leave it. */
async function changedAtEnd(extension: Extension, state: ConversationState, ended: Outcome): Promise<Outcome> {
  const left = (await extension.atEnd?.(ended)) ?? ended
  return left === ended ? ended : withoutAnswer(state, left)
}

/** The tools of the agent, and Reeve's own. */
function openingOf(
  setup: ModelSetup,
  state: ConversationState,
  instructions: string | undefined,
  missing: readonly string[],
): Opening {
  const { leader, team, flow } = state.edge
  let opening = setup.open(state, instructions)
  if (missing.length > 0) opening = { ...opening, toolbox: filteredToolbox(opening.toolbox, new Set(missing)) }
  if (setup.reports === true) opening = withReport(opening)
  if (leader.questionsTo !== undefined) opening = withQuestions(opening)
  if (team.assignment !== undefined) opening = withTeam(opening, state, team.assignment)
  if (flow?.to !== undefined) opening = withTransfer(opening, flow.to)
  opening = withFileArguments(opening, setup.tools, state)
  // what is found stands behind all others
  return withSearch(opening, setup, state)
}

function budgetOf(setup: ModelSetup, { work: { turns: given }, bounds: { limits } }: Edge): TurnBudget {
  const { ownTurns = Infinity, turns: ofTree = Infinity } = limits ?? {}
  return new TurnBudget(Math.min(given ?? setup.maxTurns, ownTurns, ofTree), setup.lastAnswer)
}

/** Whether some of its tools work in the background. */
export const worksInBackground = ({ tools }: Pick<ModelSetup, 'tools'>): boolean =>
  tools.some(({ background }) => background === true)
