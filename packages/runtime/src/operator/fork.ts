/**
 * Forking a run from outside: turns the options of a caller into one request to the engine, or an error.
 *
 * Owns: the checks at this boundary, the meaning of `last`. Does not own: the content of a fork (engine/fork/fork.ts).
 * Holds: if a check fails, no run was forked.
 */
import {
  copy,
  described,
  expects,
  isObject,
  jsonCheck,
  mustNotBeReeveMessage,
  nearest,
  newId,
  object,
  optionProblems,
  ReeveError,
  refuseProblems,
  required,
  runId,
  secret,
  string,
  unchecked,
  wholeNumber,
  type Check,
  type Checks,
  type Json,
  type JsonObject,
  type Outcome,
  type OutcomeStatus,
  type Rule,
  type RunId,
} from '@reeve/core'
import type { Agent } from '@reeve/agent'
import { briefOf, type Revisions } from '@reeve/edge'
import { batchAgent, unknownRun, type Engine, type ForkRun } from '@reeve/engine'
import type { ActivationStarted, ForkEdit, Recorded, TrialEdit } from '@reeve/journal'
import { grantsKey } from '@reeve/oversight'
import { foldsOf, viewFold } from '../feed/run-folds.ts'
import { wholeFeed } from '../feed/whole-feed.ts'
import { sessionQueue } from '../session.ts'
import { checkedInput } from '../start.ts'
import { beginForkedSession, ownerKey } from './sessions.ts'
import { asEndAt } from '../substitute.ts'
import { trialChangeChecks, type TrialChange, type TrialChanges } from '../trials.ts'

/** A model call that is made again with a change of its agent. The fork is a trial: no effect of it leaves unasked. */
export interface TrialOfCall extends TrialChange {
  readonly type: 'trial'
  /** The position of the call in the journal: of its `model.requested`, or of the `step.settled` that ended it. */
  readonly call: number
  /** What the agent was asked, instead: a text, or what its input schema says. What it was told since stays. */
  readonly input?: Json
}

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
   * What is different. `outcome`: the event at `at`, the end of a step, a worker or a timer, says this instead. What a
   * person answered or decided cannot be said so: that question is open in the fork, for a person to answer. `input`:
   * the run begins with this. `message`: an agent at work is told this. `trial`: a model call is made again with another
   * prompt, model, version or input of its agent; the fork is a trial, and begins before that call. Default: nothing;
   * the fork differs by what is answered and decided in it, and by the code.
   */
  readonly edit?: Exclude<ForkEdit, TrialEdit> | TrialOfCall
  /** Recorded with it. */
  readonly reason?: string
  /** Who forks: recorded as the author of the fork, of an outcome and of a message that the edit gives. */
  readonly by?: string
}

const outcomeCheck = secret(isOutcome, 'is no outcome, such as { status: "completed", output: … }')

/** Members by which an outcome says what a person did: Reeve writes them itself. */
const personMembersCheck: Check = (given, where) =>
  ['by', 'reviewed'].flatMap((name) =>
    isObject(given) && Object.hasOwn(given, name)
      ? [`${where}.${name}: who gives an outcome is recorded by Reeve; say \`by\` of the fork`]
      : [],
  )

type Edit = NonNullable<ForkOptions['edit']>
const edits: { readonly [Type in Edit['type']]: Checks<Extract<Edit, { readonly type: Type }>> } = {
  outcome: {
    type: unchecked,
    outcome: required((given, where) => [...outcomeCheck(given, where), ...personMembersCheck(given, where)]),
  },
  input: { type: unchecked, input: required(unchecked) },
  message: {
    type: unchecked,
    to: required(expects((given) => typeof given === 'string', 'an activation of the run')),
    body: required(unchecked),
  },
  trial: { ...trialChangeChecks, type: unchecked, call: required(wholeNumber(1)), input: unchecked },
}
const editCheck: Check = (given, where) => {
  const type = isObject(given) ? given['type'] : undefined
  if (typeof type === 'string' && Object.hasOwn(edits, type))
    return [...object<object>(edits[type as Edit['type']])(given, where), ...jsonCheck(given, where)]
  const meant = typeof type === 'string' ? nearest(type, Object.keys(edits)) : undefined
  return [
    `${where}${typeof type === 'string' ? `.type is ${described(type)}` : ` is ${described(given)}`}, expected { type: "outcome", … }, { type: "input", … }, { type: "message", … } or { type: "trial", … }${meant === undefined ? '' : `: did you mean "${meant}"?`}`,
  ]
}
const checks: Checks<ForkOptions> = {
  run: required(expects((given) => typeof given === 'string' && given !== '', 'the id of a run')),
  at: expects(
    (given) => given === 'last' || (Number.isSafeInteger(given) && (given as number) > 0),
    'a position (a whole number from 1) or "last"',
  ),
  runId: unchecked, // by runId()
  edit: editCheck,
  reason: string,
  by: string,
}

const forkRule: Rule<ForkOptions> = ({ at, edit }, where) => [
  at !== undefined && edit?.type === 'trial' && `${where}: a trial begins before its call; leave \`at\` out`,
]

/** Throws `input.invalid` for what names no run, no position or no edit. */
export const mustBeForkOptions = (given: ForkOptions): void =>
  refuseProblems('input.invalid', optionProblems(checks, given, 'fork', forkRule), 'Nothing was forked.')

/**
 * Forks a run; resolves to the id of the fork when it is durable. `find`: an agent that is registered here; `tried`: the
 * versions that the changes of a trial come to.
 */
export async function forkRun(
  engine: Engine,
  options: ForkOptions,
  find: (name: string) => Agent | undefined,
  tried: (changes: TrialChanges) => Promise<Revisions>,
): Promise<{ readonly run: RunId; readonly created: boolean }> {
  const { at = 'last', reason, by } = options
  if (options.edit?.type === 'message') mustNotBeReeveMessage(options.edit.body, 'edit.body')
  const to = runId(options.runId ?? newId('run'))
  const run = options.run as RunId
  const [first] = await engine.read(run, 0, 1)
  if (first?.event.type !== 'activation.started') throw unknownRun(run)
  const trial = options.edit?.type === 'trial' ? await trialOf(engine, run, options.edit, find, tried) : undefined
  const last = async (): Promise<number> =>
    options.edit?.type === 'input' ? first.position : (await foldsOf(engine).of(viewFold, run)).position
  const position = trial?.at ?? (at === 'last' ? await last() : at)
  const other = options.edit?.type === 'trial' ? undefined : options.edit
  const edit = trial?.edit ?? (await editOf(engine, { run, at: position, edit: other }, first.event, find))
  const request: ForkRun = {
    run,
    at: position,
    to,
    ...(edit === undefined ? {} : { edit: copy(edit as unknown as Json) as unknown as ForkEdit }),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  }
  return { run: to, ...(await forkAt(engine, request)) }
}

/**
 * Forks without what a grant has noted for the origin, and with its own place in the queue of its session only, which is
 * a new one.
 */
export async function forkAt(engine: Engine, request: ForkRun): Promise<{ readonly created: boolean }> {
  // its input says whose runs it reaches
  if ((await engine.summary(request.run))?.agent === batchAgent)
    throw new ReeveError('fork.invalid', `${request.run} is a batch: it is neither forked nor retried`, {
      hint: 'Begin another one: runtime.batch(), or POST /api/batches. Nothing was forked.',
    })
  await beginForkedSession(engine, request)
  return engine.fork({ ...request, forget: [grantsKey, ownerKey], queue: sessionQueue })
}

/** The edit as the engine makes it. */
async function editOf(
  engine: Engine,
  { run, at, edit }: Pick<ForkRun, 'run' | 'at'> & { readonly edit: Exclude<ForkEdit, TrialEdit> | undefined },
  root: ActivationStarted,
  find: (name: string) => Agent | undefined,
): Promise<ForkEdit | undefined> {
  if (edit?.type === 'input') return inputEdit(edit.input, root.input, find(root.agent))
  return edit?.type === 'outcome' ? { ...edit, outcome: await asEndAt(engine, run, at, edit.outcome) } : edit
}

/** Where a trial of a model call begins, and the edit as the engine makes it. */
async function trialOf(
  engine: Engine,
  run: RunId,
  { call, input, type: _type, ...change }: TrialOfCall,
  find: (name: string) => Agent | undefined,
  tried: (changes: TrialChanges) => Promise<Revisions>,
): Promise<{ readonly at: number; readonly edit: TrialEdit }> {
  const feed = await wholeFeed(engine, run)
  const index = callAt(feed, call)
  const asked = feed[index]
  if (asked?.event.type !== 'model.requested' || asked.run !== run)
    throw new ReeveError('fork.invalid', `run ${run} has no model call at position ${call}`, {
      hint: `Name the position of a model call: reeve events ${run} --json`,
    })
  const { activation } = asked
  const born = feed.find((each) => each.activation === activation)?.event
  const name = born?.type === 'activation.started' ? born.agent : ''
  const agent = find(name)
  const versions = await tried({ [name]: change })
  const recorded = born?.type === 'activation.started' && isObject(born.input) ? born.input['brief'] : undefined
  const brief =
    input === undefined
      ? undefined
      : {
          ...(isObject(recorded) ? withoutRequest(recorded) : {}),
          ...briefOf(agent === undefined ? input : checkedInput(agent, input)),
        }
  return {
    at: feed[index - 1]!.position,
    edit: {
      type: 'trial',
      call,
      to: activation,
      ...(Object.keys(versions).length === 0 ? {} : { versions: versions as unknown as JsonObject }),
      ...(brief === undefined ? {} : { brief }),
    },
  }
}

/** Where the model call at a position begins: the position of the call, or of its end. -1: there is none. */
function callAt(feed: readonly Recorded[], at: number): number {
  const index = feed.findIndex(({ position }) => position === at)
  const found = feed[index]
  if (found?.event.type !== 'step.settled') return index
  const { activation, event } = found
  return feed
    .slice(0, index)
    .findLastIndex(
      (each) =>
        each.activation === activation && each.event.type === 'model.requested' && each.event.address === event.address,
    )
}

const withoutRequest = ({ instructions: _instructions, input: _input, ...rest }: JsonObject): JsonObject => rest

/** The same edge with another brief. */
function inputEdit(input: Json, recorded: Json, agent: Agent | undefined): ForkEdit {
  const brief = briefOf(agent === undefined ? input : checkedInput(agent, input))
  return { type: 'input', input: { ...(isObject(recorded) ? recorded : {}), brief: brief as unknown as Json } }
}

function isOutcome(value: unknown): value is Outcome {
  const statuses: Readonly<Record<OutcomeStatus, true>> = {
    completed: true,
    failed: true,
    limited: true,
    'timed-out': true,
    cancelled: true,
    bailed: true,
  }
  return (
    isObject(value) &&
    typeof value['status'] === 'string' &&
    value['status'] in statuses &&
    (value['status'] !== 'completed' || value['output'] !== undefined) &&
    (value['status'] !== 'failed' || isObject(value['failure']))
  )
}
