/**
 * Forking a run from outside: turns the options of a caller into one request to the engine, or an error.
 *
 * Owns: the checks at this boundary, the meaning of `last`. Does not own: the content of a fork (engine/fork/fork.ts).
 * Holds: if a check fails, no run was forked.
 */
import {
  copy,
  described,
  hasNames,
  isObject,
  jsonProblem,
  nearest,
  newId,
  ReeveError,
  runId,
  unknownNames,
  type ActivationId,
  type Json,
  type NamesOf,
  type Outcome,
  type OutcomeStatus,
  type RunId,
} from '../../core/index.ts'
import type { Agent } from '../../agent/index.ts'
import { briefOf } from '../../edge/index.ts'
import { unknownRun, type Engine, type ForkRun } from '../../engine/index.ts'
import type { ActivationStarted, ForkEdit, Recorded } from '../../journal/index.ts'
import { grantsKey } from '../../oversight/index.ts'
import { lineKey } from '../session.ts'
import { checkedInput } from '../start.ts'
import { asEndAt } from '../substitute.ts'

/** How a run is forked. */
export interface ForkOptions {
  /** The origin. It may be running, wait, or have ended; it is not touched. */
  readonly run: string
  /**
   * A position of its journal: everything up to it is in the fork, nothing after it. Default `last`: all that there is;
   * with another input: the beginning.
   */
  readonly at?: number | 'last'
  /** Makes it idempotent: the same id again is the same fork. Default: a new one. */
  readonly runId?: string
  /**
   * What is different. `outcome`: the event at `at`, the end of a step, a worker or a question, says this instead; a
   * yes that is said so to an approval counts for nothing, it is asked again. `input`: the run begins with this.
   * `message`: somebody at work is told this. Default: nothing; the fork differs by what is answered and decided in it,
   * and by the code.
   */
  readonly edit?: ForkEdit
  /** Recorded with it. */
  readonly reason?: string
  readonly by?: string
}

const optionNames: NamesOf<ForkOptions> = { run: true, at: true, runId: true, edit: true, reason: true, by: true }

const editNames: Readonly<Record<ForkEdit['type'], Readonly<Record<string, unknown>>>> = {
  outcome: { type: true, outcome: true },
  input: { type: true, input: true },
  message: { type: true, to: true, body: true },
}

const statuses: NamesOf<Readonly<Record<OutcomeStatus, true>>> = {
  completed: true,
  failed: true,
  limited: true,
  'timed-out': true,
  cancelled: true,
  bailed: true,
}

/** Forks a run; resolves to the id of the fork when it is durable. `find`: an agent that is registered here. */
export async function forkRun(
  engine: Engine,
  options: ForkOptions,
  find: (name: string) => Agent | undefined,
): Promise<RunId> {
  const problems = forkProblems(options)
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: 'Nothing was forked.' })
  const { at = 'last', reason, by } = options
  const to = runId(options.runId ?? newId('run'))
  const run = options.run as RunId
  const events = await engine.read(run)
  const [first] = events
  if (first?.event.type !== 'activation.started') throw unknownRun(run)
  const last = options.edit?.type === 'input' ? first.position : events.at(-1)!.position
  const position = at === 'last' ? last : at
  const edit = editOf(options.edit, events, position, first.event, find)
  const request: ForkRun = {
    run,
    at: position,
    to,
    forget: [grantsKey, lineKey],
    ...(edit === undefined ? {} : { edit: copy(edit as unknown as Json) as unknown as ForkEdit }),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  }
  await engine.fork(request)
  return to
}

/** The edit as the engine makes it. */
function editOf(
  edit: ForkEdit | undefined,
  events: readonly Recorded[],
  at: number,
  root: ActivationStarted,
  find: (name: string) => Agent | undefined,
): ForkEdit | undefined {
  if (edit?.type === 'input') return inputEdit(edit.input, root.input, find(root.agent))
  return edit?.type === 'outcome' ? { ...edit, outcome: asEndAt(events, at, edit.outcome) } : edit
}

/** The same edge with another brief. */
function inputEdit(input: Json, recorded: Json, agent: Agent | undefined): ForkEdit {
  const brief = briefOf(agent === undefined ? input : checkedInput(agent, input))
  return { type: 'input', input: { ...(isObject(recorded) ? recorded : {}), brief: brief as unknown as Json } }
}

function forkProblems(options: unknown): string[] {
  const problems = unknownNames(options, optionNames, 'fork')
  if (!hasNames(options)) return problems.length > 0 ? problems : [`fork: ${described(options)}, expected options`]
  const { run, at, reason, by, edit } = options as { readonly [name: string]: unknown }
  if (typeof run !== 'string' || run === '') problems.push(`fork: run is ${described(run)}, expected the id of a run`)
  if (at !== undefined && at !== 'last' && !(typeof at === 'number' && Number.isSafeInteger(at) && at > 0))
    problems.push(`fork: at is ${described(at)}, expected a position (a whole number from 1) or "last"`)
  for (const [name, value] of Object.entries({ reason, by }))
    if (value !== undefined && typeof value !== 'string')
      problems.push(`fork: ${name} is ${described(value)}, expected a text`)
  return edit === undefined ? problems : [...problems, ...editProblems(edit)]
}

function editProblems(edit: unknown): string[] {
  const type = isObject(edit) ? edit['type'] : undefined
  if (!isObject(edit) || (type !== 'outcome' && type !== 'input' && type !== 'message'))
    return [
      `fork: edit${typeof type === 'string' ? `.type is ${described(type)}` : ` is ${described(edit)}`}, expected { type: "outcome", … }, { type: "input", … } or { type: "message", … }${typeof type === 'string' ? slip(type) : ''}`,
    ]
  const problems = unknownNames(edit, editNames[type], 'fork: edit')
  const json = jsonProblem(edit, 'edit')
  if (json !== undefined) problems.push(`fork: ${json}`)
  if (type === 'outcome' && !isOutcome(edit['outcome']))
    problems.push('fork: edit.outcome is no outcome, such as { status: "completed", output: … }')
  if (type === 'input' && edit['input'] === undefined) problems.push('fork: edit.input is missing')
  if (
    type === 'message' &&
    (typeof (edit['to'] as ActivationId | undefined) !== 'string' || edit['body'] === undefined)
  )
    problems.push('fork: edit needs `to`, an activation of the run, and `body`')
  return problems
}

function slip(type: string): string {
  const meant = nearest(type, Object.keys(editNames))
  return meant === undefined ? '' : `: did you mean "${meant}"?`
}

const isOutcome = (value: unknown): value is Outcome =>
  isObject(value) &&
  typeof value['status'] === 'string' &&
  value['status'] in statuses &&
  (value['status'] !== 'completed' || value['output'] !== undefined) &&
  (value['status'] !== 'failed' || isObject(value['failure']))
