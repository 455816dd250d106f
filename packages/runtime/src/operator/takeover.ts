/**
 * Takeover: a human takes a run over, works by hand, and hands it back.
 *
 * Owns: posting these commands, reading their results from the journal, the error for each way in which one can fail
 * (spec team R-13). Does not own: what a takeover holds back (engine), the takeover context
 * (oversight/control/takeover.ts), the check of an edited plan (team/plan/edit-check.ts).
 * Holds: K1: results are facts in the journal, so any process may command and any may read. K2: a command with one id
 * counts once, however many processes send it.
 */
import {
  choice,
  expects,
  isObject,
  jsonCheck,
  isWithin,
  jsonProblem,
  newId,
  number,
  optionProblems,
  parentOf,
  present,
  ReeveError,
  refuseProblems,
  required,
  rootActivation,
  text,
  unchecked,
  type ActivationId,
  type Checks,
  type Json,
  type Outcome,
  type Rule,
  type RunId,
} from '@reeve/core'
import { checkOutput, teamMessage, type Agent } from '@reeve/agent'
import { unknownRun, type Engine, type PostResult, type Question } from '@reeve/engine'
import {
  delegationsIn,
  foldDelegations,
  newDelegationsFold,
  viewOf,
  type DelegationsFold,
  type IndexedActivation,
  type JournalEvent,
  type Recorded,
  type RunIndex,
} from '@reeve/journal'
import {
  controlState,
  foldControl,
  newControlFold,
  takeoverContext,
  type ControlFold,
  type ControlState,
  type TakeoverContext,
} from '@reeve/oversight'
import type { PlanEdit } from '@reeve/team'
import { unanswered } from './open-approvals.ts'
import { follow } from '../feed/run-feed.ts'
import { asItsEnd } from '../substitute.ts'
import { teamOf } from './find-team.ts'
import { workToComplete } from './find.ts'
import { delegationsFold, foldsOf, viewFold, type FoldKind } from '../feed/run-folds.ts'
import { runPages } from '../feed/whole-feed.ts'

/** What commands need. */
export interface ControlAccess {
  readonly engine: Engine
  readonly run: RunId
  /** An agent that is registered here, in this version. Without a version: the newest. */
  readonly find?: ((name: string, version?: string) => Agent | undefined) | undefined
}

/** How a run is to be paused. Default: before the next effect; effects in flight may end. */
export interface PauseOptions {
  readonly at?: 'next' | 'now' | 'after-model' | 'after-tools'
  /** Milliseconds after which effects in flight are stopped and repeated later. */
  readonly within?: number
  readonly reason?: string
  readonly by?: string
  /** Makes the command idempotent: repeating an id has no further effect. Default: a new id. */
  readonly id?: string
}

/** Who resumes a paused run, and why. */
export interface ResumeOptions {
  readonly by?: string
  readonly reason?: string
  /** Makes the command idempotent: repeating an id has no further effect. Default: a new id. */
  readonly id?: string
}

/** How a run is to be taken over. */
export interface TakeOverOptions {
  readonly reason?: string
  /** The human who takes it over; recorded and shown with the run. */
  readonly by?: string
  /** `next` (default): steps in flight finish. `now`: they are stopped, and repeated after the hand back. */
  readonly at?: 'next' | 'now'
  /** Milliseconds after which steps still in flight are stopped, and repeated after the hand back. */
  readonly within?: number
  /** Makes the command idempotent: repeating an id has no further effect. Default: a new id. */
  readonly id?: string
  /** Ends the wait, not the takeover: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The result of a takeover: the context, and whether this command took the run over. */
export interface TakenOver extends TakeoverContext {
  /** False: another human (`owner`) had taken it over before and keeps it. */
  readonly takenOver: boolean
}

/** How a run continues. */
export interface HandBack {
  /** An edit of the plan. It is applied as a whole or not at all. */
  readonly plan?: PlanEdit
  /** The team of the plan: its activation, or its agent if that has one activation. Default: the root or only team. */
  readonly team?: string
  readonly reason?: string
  readonly by?: string
  /** Makes the command idempotent: repeating an id has no further effect. Default: a new id. */
  readonly id?: string
  /** Ends the wait, not the command: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** A step that a human has finished by hand. */
export interface CompleteByHand {
  /** A task of a planned team that has not ended, begun or not. Give either `task` or `delegation`. */
  readonly task?: string
  /**
   * A delegation in progress, at any depth: the worker's activation, the model's id of the call, or the leader's label
   * (`d1`); in a team, its member.
   */
  readonly delegation?: string
  /** The result, as if the worker had given it. */
  readonly output: Json
  /** The name of the human. Default `operator`. */
  readonly by?: string
  readonly reason?: string
  /** Ends the wait for the team's decision, not the command. */
  readonly signal?: AbortSignal
}

/** The end of a whole run by hand. */
export interface FinishByHand {
  readonly output: Json
  /** The name of the human. Default `operator`. */
  readonly by?: string
  readonly reason?: string
}

const who = { by: text, reason: text }
const within = number((given) => Number.isFinite(given) && given >= 0, 'milliseconds')
const output = required(jsonCheck)
const plan = expects(isObject, 'an edit of the plan')
const pauseChecks: Checks<PauseOptions> = {
  ...who,
  id: text,
  at: choice('next', 'now', 'after-model', 'after-tools'),
  within,
}
const resumeChecks: Checks<ResumeOptions> = { ...who, id: text }
const takeOverChecks: Checks<TakeOverOptions> = {
  ...who,
  id: text,
  at: choice('next', 'now'),
  within,
  signal: unchecked,
}
const handBackChecks: Checks<HandBack> = { ...who, id: text, plan, team: text, signal: unchecked }
const completeChecks: Checks<CompleteByHand> = {
  ...who,
  task: text,
  delegation: text,
  output,
  signal: unchecked,
}
const finishChecks: Checks<FinishByHand> = { ...who, output }

/** Pauses a run. Resolves when the command is durable. */
export async function pause(access: ControlAccess, given: PauseOptions = {}): Promise<void> {
  mustBe(given, pauseChecks, 'pause')
  const { at = 'next', within, reason, by, id } = given
  await posted(access, { type: 'pause', run: access.run, at, ...present({ withinMs: within, reason, by, id }) })
}

/** Resumes a paused run. Resolves when the command is durable. */
export async function resume(access: ControlAccess, options: ResumeOptions = {}): Promise<void> {
  mustBe(options, resumeChecks, 'resume')
  await mayResume(access, options.id)
  await posted(access, { type: 'resume', run: access.run, ...present(options) })
}

/** Takes a run over. Resolves with the takeover context once the takeover is in the journal. */
export async function takeOver(access: ControlAccess, given: TakeOverOptions = {}): Promise<TakenOver> {
  mustBe(given, takeOverChecks, 'takeOver')
  const { reason, by, at = 'next', within, id = newId('msg'), signal } = given
  await posted(access, {
    type: 'pause',
    run: access.run,
    takeover: true,
    at,
    id,
    ...present({ reason, by, withinMs: within }),
  })
  const noted = await firstEvent(access, signal, ({ event }) => isOf(event, id, 'run.taken-over', 'takeover'))
  if (noted === undefined) throw runEnded(access.run)
  return { takenOver: noted.type === 'run.taken-over', ...(await contextOf(access)) }
}

/** The takeover context of a run as of now, without a takeover. */
export async function contextOf({ engine, run }: ControlAccess): Promise<TakeoverContext> {
  const { fold, position } = await foldsOf(engine).of(contextFold, run)
  const view = { ...viewOf(fold.delegations.run), position }
  const delegations = delegationsIn(fold.delegations, view)
  return takeoverContext({ view, delegations, lastText: (activation) => fold.texts.of(activation) })
}

const contextFold: FoldKind<{ readonly delegations: DelegationsFold; readonly texts: LastTexts }> = {
  name: 'context',
  begin: () => ({ delegations: newDelegationsFold(), texts: new LastTexts() }),
  take({ delegations, texts }, recorded) {
    for (const each of foldDelegations(delegations, recorded))
      if (each.type === 'assistant') texts.said(each.activation, each.text)
    if (recorded.event.type === 'activation.settled') texts.ended(recorded.activation)
  },
  size: ({ delegations }) => delegationsFold.size(delegations),
}

/** What was said last by each activation at work, or by one below it that has ended. */
class LastTexts {
  readonly #texts = new Map<ActivationId, { readonly text: string; readonly n: number }>()
  #count = 0

  said(activation: ActivationId, text: string): void {
    this.#texts.set(activation, { text, n: this.#count++ })
  }

  ended(activation: ActivationId): void {
    const last = this.#texts.get(activation)
    this.#texts.delete(activation)
    const parent = parentOf(activation)?.parent
    if (last === undefined || parent === undefined) return
    const above = this.#texts.get(parent)
    if (above === undefined || above.n < last.n) this.#texts.set(parent, last)
  }

  of(activation: ActivationId): string | undefined {
    let last = this.#texts.get(activation)
    for (const [id, texts] of this.#texts)
      if (isWithin(id, activation) && (last === undefined || texts.n > last.n)) last = texts
    return last?.text
  }
}

/** The control state of a run, with every command so far. */
export const controlOf = async ({ engine, run }: ControlAccess): Promise<ControlState> =>
  controlState((await foldsOf(engine).of(controlFold, run)).fold)

const controlFold: FoldKind<ControlFold> = {
  name: 'control',
  begin: newControlFold,
  take: foldControl,
  size: ({ run, ops }) => viewFold.size(run) + ops.length,
}

/** Applies the edit of the plan, if any, and hands the run back. Resolves when both are in the journal. */
export async function handBack(access: ControlAccess, given: HandBack = {}): Promise<void> {
  mustBe(given, handBackChecks, 'handBack')
  const { plan, team, reason, by, id = newId('msg'), signal } = given
  await mustBeTaken(access)
  if (plan !== undefined) await edit(access, plan, { team, by, reason, id, signal })
  await posted(access, { type: 'resume', run: access.run, handBack: true, id, ...present({ reason, by }) })
  const noted = await firstEvent(access, signal, ({ event }) => isOf(event, id, 'run.handed-back', 'handback'))
  if (noted === undefined) throw runEnded(access.run)
  if (noted.type === 'control.ignored') throw notTaken(access.run)
}

/** Completes one step by hand. Resolves when that is durable; for a task not yet begun, when its team accepted it. */
export async function complete(access: ControlAccess, given: CompleteByHand): Promise<void> {
  mustBe(given, completeChecks, 'complete', (given, where) => [
    (given.task === undefined) === (given.delegation === undefined) &&
      `${where}: expected one of "task" and "delegation"`,
  ])
  const { task, delegation, output, by, reason, signal } = given
  const { fold } = await foldsOf(access.engine).of(delegationsFold, access.run)
  const found = workToComplete(fold, task ?? delegation!, task === undefined ? 'delegation' : 'task')
  if (found.type === 'pending') {
    const edited = { results: { [found.task]: output } }
    return edit(access, edited, { team: found.team, by, reason, id: newId('msg'), signal })
  }
  const fits = fittingOutput(access, fold.index.activations.get(found.activation), output)
  const said: Outcome = { status: 'completed', output: fits, by: by ?? unnamed }
  const outcome = await asItsEnd(access.engine, found.activation, said)
  const result = await access.engine.post({
    type: 'cancel',
    run: access.run,
    activation: found.activation,
    outcome,
    reason: doneBy(by, reason),
    by: by ?? unnamed,
  })
  if (result === 'unknown') throw unknownRun(access.run)
  if (result !== 'accepted')
    throw new ReeveError('delegation.ended', `the work of "${task ?? delegation}" has ended, or was stopped`, {
      hint: 'Nothing was changed.',
    })
}

/** Checks a value given by hand against the output schema of its agent, if registered here. Throws `input.invalid`. */
function fittingOutput({ find }: ControlAccess, activation: IndexedActivation | undefined, output: Json): Json {
  if (activation === undefined) return output
  const agent = find?.(activation.agent, activation.version) ?? find?.(activation.agent)
  const fits = checkOutput(output, agent?.outputSchema)
  if (fits.ok) return fits.value
  throw new ReeveError(
    'input.invalid',
    `the output does not fit the output schema of "${activation.agent}": ${fits.problem}`,
    {
      hint: 'Nothing was changed.',
    },
  )
}

/** Ends a run that was taken over, with this output. Resolves when that is durable. */
export async function finish(access: ControlAccess, given: FinishByHand): Promise<void> {
  mustBe(given, finishChecks, 'finish')
  const { output, by = unnamed, reason } = given
  const outcome = {
    status: 'completed',
    output: fittingOutput(access, (await mustBeTaken(access)).activations.get(rootActivation(access.run)), output),
    by,
  } as const
  await posted(access, { type: 'cancel', run: access.run, reason: doneBy(by, reason), by, outcome })
}

/** The default name of an operator. */
const unnamed = 'operator'
const doneBy = (by: string = unnamed, reason: string | undefined): string =>
  reason === undefined || reason === '' ? `finished by ${by}` : `finished by ${by}: ${reason}`

/** Refuses a resume of a run that was taken over, or that waits for a decision or an answer. */
async function mayResume({ engine, run }: ControlAccess, id: string | undefined): Promise<void> {
  const status = (await engine.summary(run))?.status
  if (status === 'waiting' && !(id !== undefined && (await wasSaid({ engine, run }, id))))
    throw notPaused(run, unanswered(await engine.questions({ run })))
  if (status !== 'human_control') return
  const { by } = (await foldsOf(engine).of(viewFold, run)).fold.takeover ?? {}
  throw new ReeveError('run.taken-over', `the run "${run}" is taken over by ${by ?? 'a human'}`, {
    hint: 'Hand it back with run.control.handBack(), or reeve handback <run>. Nothing was changed.',
  })
}

/** The activations of a run. Throws `run.not-taken-over` if no human has taken it over. */
async function mustBeTaken({ engine, run }: ControlAccess): Promise<RunIndex> {
  const { fold } = await foldsOf(engine).of(viewFold, run)
  const { status, outcome } = viewOf(fold)
  if (outcome !== undefined) throw runEnded(run)
  if (status !== 'human_control') throw notTaken(run)
  return fold.index
}

/** Whether a command with this id was given before. */
async function wasSaid({ engine, run }: Pick<ControlAccess, 'engine' | 'run'>, id: string): Promise<boolean> {
  for await (const page of runPages(engine, run))
    if (page.some(({ event }) => isOf(event, id, 'run.resumed', 'resume'))) return true
  return false
}

const notPaused = (run: RunId, questions: readonly Question[]): ReeveError =>
  new ReeveError(
    'run.not-paused',
    `the run "${run}" is not paused: it waits for ${questions.map(awaited).join(', ') || 'a decision that it has not read yet'}`,
    {
      hint: 'Decide or answer it, then the run continues: reeve show <run>, or run.until("waiting"). Nothing was recorded.',
    },
  )

const awaited = ({ kind, id }: Question): string =>
  `${kind === 'approval' ? 'an approval' : kind === 'interrupt' ? 'an answer' : 'the settlement of a doubt'} (${id})`

const runEnded = (run: RunId): ReeveError =>
  new ReeveError('run.ended', `the run "${run}" has ended`, {
    hint: 'Its outcome is final: reeve show <run>, or runtime.handle(id).outcome().',
  })
const notTaken = (run: RunId): ReeveError =>
  new ReeveError('run.not-taken-over', `the run "${run}" is not taken over`, {
    hint: 'Take it over first: run.control.takeOver(), or reeve takeover <run>. A paused run continues with run.control.resume(), or reeve resume <run>. Nothing was changed.',
  })

interface EditSaying {
  readonly team: string | undefined
  readonly by: string | undefined
  readonly reason: string | undefined
  readonly id: string
  readonly signal: AbortSignal | undefined
}

/** Sends an edit of the plan to its team and waits for the decision. Throws `plan.invalid` if the team refuses. */
async function edit(
  access: ControlAccess,
  plan: PlanEdit,
  { team: named, by, reason, id, signal }: EditSaying,
): Promise<void> {
  const problem = jsonProblem(plan, 'plan')
  if (problem !== undefined) throw new ReeveError('plan.invalid', problem, { hint: 'Nothing was changed.' })
  // no team can begin while the run is taken over
  const team = await teamOf(access.engine, access.run, named, signal, { mustBeThere: true })
  if (team === undefined || team.endedAt !== undefined) throw runEnded(access.run)
  const request = `edit:${id}`
  const body = teamMessage({ do: 'edit', request, edit: plan as unknown as Json, ...present({ reason }) })
  await access.engine.post({
    type: 'message',
    activation: team.id,
    id: request,
    body,
    command: true,
    ...present({ by }),
  })
  const decided = await firstEvent(access, signal, ({ activation, event }) => {
    if (activation !== team.id) return false
    if (event.type === 'activation.settled') return true
    return (event.type === 'plan.edited' || event.type === 'plan.edit-refused') && event.request === request
  })
  if (decided?.type === 'plan.edit-refused')
    throw new ReeveError('plan.invalid', `the plan was not edited: ${decided.problems.join('; ')}`, {
      hint: 'Nothing was changed, and the run was not handed back.',
    })
  if (decided?.type !== 'plan.edited') throw runEnded(access.run)
}

const isOf = (
  event: JournalEvent,
  id: string,
  type: 'run.taken-over' | 'run.handed-back' | 'run.resumed',
  command: 'takeover' | 'handback' | 'resume',
): boolean =>
  (event.type === type && event.id === id) ||
  (event.type === 'control.ignored' && event.command === command && event.id === id)

/** Waits for the first event of this kind; undefined if the run has ended without it. */
async function firstEvent(
  access: ControlAccess,
  signal: AbortSignal | undefined,
  is: (recorded: Recorded) => boolean,
): Promise<JournalEvent | undefined> {
  for await (const recorded of follow(access.engine, access.run, present({ signal })))
    if (is(recorded)) return recorded.event
  signal?.throwIfAborted()
  return undefined
}

async function posted({ engine, run }: ControlAccess, post: Parameters<Engine['post']>[0]): Promise<void> {
  mustBePosted(run, await engine.post(post))
}

/** Throws `run.unknown` or `run.ended` where a command has not reached its run. */
export function mustBePosted(run: RunId, result: PostResult): void {
  if (result === 'unknown') throw unknownRun(run)
  if (result === 'closed') throw runEnded(run)
}

/** All that is wrong with a command at once. */
const mustBe = <T extends object>(given: T, checks: Checks<T>, what: string, rule?: Rule<T>): void =>
  refuseProblems('input.invalid', optionProblems(checks, given, `run.${what}()`, rule), 'Nothing was changed.')
