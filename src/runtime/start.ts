/**
 * Starting a run: what a caller gives becomes one request to the engine, or an error that says what is wrong with it.
 *
 * Owns: the checks at this boundary (agent, JSON, schema, session, limits, permissions), the root's edge. Does not own:
 * idempotency by run id and `run.conflict` (the engine). When a check fails nothing was started.
 */
import { ownTurnsProblems, reachableAgents, capProblem, unpricedModels, usdCapOf, type Agent } from '../agent/index.ts'
import {
  copy,
  hasNames,
  isObject,
  jsonProblem,
  newId,
  present,
  ReeveError,
  runId,
  unknownNames,
  type Json,
  type JsonObject,
  type Message,
  type NamesOf,
  type SessionId,
} from '../core/index.ts'
import {
  accountLimits,
  briefOf,
  defaultLimits,
  encodeEdge,
  limitProblems,
  messageProblems,
  oversightProblems,
  permissionProblems,
  rootEdge,
  unsaid,
  type Limits,
  type Oversight,
  type Permissions,
  type Revisions,
  type StartHooks,
} from '../edge/index.ts'
import type { StartRun } from '../engine/index.ts'
import type { Caller } from '../journal/index.ts'
import { startHookProblems, type Hooks } from './hooks.ts'
import type { BusySession, RootContext, RootExtras } from './session.ts'
import {
  choiceProblems,
  revisedModel,
  statusProblems,
  type Chosen,
  type Resolved,
  type RevisionStatus,
  type VersionChoices,
} from './versions.ts'

/** How a run is started. */
export interface StartOptions extends StartHooks {
  /**
   * Makes the start idempotent: the same id again, with the same agent, input, caller and options, is the same run;
   * else `run.conflict`. Default: a new one.
   */
  readonly runId?: string
  /** The conversation that this run continues. */
  readonly session?: string
  /** What to do if another run has the session. Default `queue`. */
  readonly busySession?: BusySession
  /** Who asks; goes down the tree, read-only. */
  readonly user?: string
  readonly metadata?: JsonObject
  /** Session values that are set before the agent begins. */
  readonly values?: { readonly [key: string]: Json }
  /** Of the whole tree, hard; the tighter of these and the agent's own. */
  readonly limits?: Limits
  readonly permissions?: Permissions
  /** How closely humans look at the whole run; never less than its agents say. */
  readonly oversight?: Oversight
  /**
   * Versions of agents that hold in this run, before those of the runtime. Chosen once, now: what is published later
   * changes nothing.
   */
  readonly versions?: VersionChoices
  /** The revisions that hold for all other agents. Default: that of the runtime, else none: the code as it is. */
  readonly defaultStatus?: RevisionStatus
  /**
   * What was said before the input, oldest first; every agent in a flow is shown it unchanged, after its own
   * instructions. Pictures go here, in a user message.
   */
  readonly messages?: readonly Message[]
  /**
   * What it is shown of its session: the `conversation` (default), nothing but its `brief`, or what the hook of this
   * name lets through (`ContextHook`).
   */
  readonly context?: RootContext
}

const known: NamesOf<StartOptions> = {
  runId: true,
  session: true,
  busySession: true,
  user: true,
  metadata: true,
  values: true,
  limits: true,
  permissions: true,
  oversight: true,
  messages: true,
  versions: true,
  defaultStatus: true,
  delegation: true,
  onIterationComplete: true,
  isComplete: true,
  context: true,
}

/** What was chosen of versions for a run, and what it has come to. */
export interface Choice extends Resolved {
  readonly chosen: Chosen
}

/** What a start may name. */
export interface Named {
  readonly hooks?: Hooks | undefined
  readonly find?: (name: string) => Agent | undefined
}

/**
 * The request that starts this agent with this input. `agent` is the version that runs; `defaults`: the limits where
 * neither the caller nor the agent says any.
 */
export function startRequest(
  agent: Agent,
  input: unknown,
  options: StartOptions,
  choice?: Choice,
  defaults: Limits = defaultLimits,
  { hooks = {}, find = () => undefined }: Named = {},
): StartRun {
  const problems = optionProblems(options, agent)
  if (hasNames(options)) problems.push(...startHookProblems(options, agent, hooks, find))
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: 'Nothing was started.' })
  const run = runId(options.runId ?? newId('run'))
  const brief = briefOf(checkedInput(agent, input))
  const { limits, permissions, oversight, values, busySession, messages, context } = options
  const { delegation, onIterationComplete, isComplete } = options
  const stated = present({ delegation, onIterationComplete, isComplete })
  const given = {
    ...(limits === undefined ? {} : { limits }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(oversight === undefined ? {} : { oversight }),
    ...(messages === undefined ? {} : { messages }),
    ...(choice?.revisions === undefined ? {} : { versions: choice.revisions }),
    ...(Object.keys(stated).length === 0 ? {} : { hooks: stated }),
  }
  const filled = unsaid(rootEdge(brief, given, agent).bounds.limits, defaults)
  const extras: RootExtras = {
    ...(values === undefined ? {} : { values }),
    ...(busySession === undefined ? {} : { busySession }),
    ...(context === undefined ? {} : { context }),
    ...(filled === undefined ? {} : { defaults: filled }),
    ...(choice === undefined ? {} : { chosen: choice.chosen }),
    ...(choice === undefined || choice.unknown.length === 0 ? {} : { unknown: choice.unknown }),
  }
  const grant = { ...given, ...(filled === undefined ? {} : { limits: { ...limits, ...filled } }) }
  const edge = rootEdge(
    brief,
    Object.keys(extras).length === 0 ? grant : { ...grant, extras: extras as JsonObject },
    agent,
  )
  const account = accountLimits(edge.bounds.limits, agent.lastAnswer)
  return {
    run,
    agent: agent.name,
    version: agent.version,
    input: copy(encodeEdge(edge)),
    caller: callerOf(options),
    ...(account === undefined
      ? {}
      : { limits: filled?.turns === undefined ? account : { ...account, byDefault: true } }),
  }
}

/** The defaults that a run was begun with, as they were recorded; none before there were any. */
export function defaultsIn(recorded: Json): Limits {
  const root = isObject(recorded) ? recorded['root'] : undefined
  const defaults = isObject(root) ? root['defaults'] : undefined
  return isObject(defaults) ? defaults : {}
}

/**
 * Throws `budget.no-price`: a start, or a version that it chose, caps US dollars over a model without a known price.
 * `measuring`: agents that the start lets measure.
 */
export function mustHavePrices(
  root: Agent,
  limits: Limits | undefined,
  revisions: Revisions = {},
  measuring: readonly Agent[] = [],
): void {
  const model = (each: Agent): Agent['model'] => revisedModel(each, revisions[each.name])
  const all = reachableAgents([root])
  const caps = [
    ...usdCapOf(limits, 'start: limits', [root, ...measuring]),
    ...usdCapOf(root.limits, `agent "${root.name}": limits`, measuring),
    ...all.flatMap((each) => usdCapOf(revisions[each.name]?.limits, `start: versions.${each.name}.limits`, [each])),
    // what a definition caps was looked at with the models of the definition
    ...(Object.keys(revisions).length === 0
      ? []
      : all.flatMap((each) => [
          ...usdCapOf(each.limits, `agent "${each.name}": limits`, [each]),
          ...(each.usdCaps?.() ?? []),
        ])),
  ]
  const problems = caps.flatMap(({ option, agents }) =>
    unpricedModels(agents, model).map((whose) => capProblem(option, whose)),
  )
  if (problems.length > 0)
    throw new ReeveError('budget.no-price', problems.join('; '), {
      hint: 'Nothing was started. A limit in tokens needs no price.',
    })
}

/**
 * The input as it was given, checked. The agent reads it through its schema itself, so that what is recorded is what
 * was given.
 */
export function checkedInput(agent: Agent, input: unknown): Json {
  const problem = jsonProblem(input, 'input')
  if (problem !== undefined)
    throw new ReeveError('input.not-json', problem, {
      hint: 'Give plain JSON: text, numbers, lists, plain objects. What is recorded is what was given.',
    })
  if (agent.inputSchema !== undefined) {
    const checked = agent.inputSchema.check(input as Json)
    if (!checked.ok)
      throw new ReeveError(
        'input.invalid',
        `the input does not fit the input schema of "${agent.name}": ${checked.problem}`,
        {
          hint: 'Nothing was begun.',
        },
      )
    return input as Json
  }
  if (Array.isArray(input) && input.length > 0 && input.every(isMessage))
    throw new ReeveError(
      'input.invalid',
      `the input is a list of ${input.length} messages, and "${agent.name}" takes what it is asked to do`,
      {
        hint: "Give the messages before the last one as { messages: [...] }, and the last one's text as the input.",
      },
    )
  if (input === '')
    throw new ReeveError('input.invalid', 'the input is an empty text', { hint: `Say what "${agent.name}" is to do.` })
  return input as Json
}

const roles: ReadonlySet<unknown> = new Set<Message['role']>(['system', 'user', 'assistant', 'tool'])

/** Whether it is a message of a conversation: a list of them is no brief. */
const isMessage = (each: unknown): boolean => isObject(each) && roles.has(each['role']) && each['content'] !== undefined

function callerOf({ user, metadata, session }: StartOptions): Caller {
  return {
    ...(user === undefined ? {} : { user }),
    ...(metadata === undefined ? {} : { metadata: copy(metadata) }),
    ...(session === undefined ? {} : { session: session as SessionId }),
  }
}

const sessionId = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

function optionProblems(options: StartOptions, agent: Agent): string[] {
  const problems = unknownNames(options, known, 'start')
  if (!hasNames(options)) return problems
  const { session, busySession, user, metadata, values, limits, permissions } = options
  if (session !== undefined && !sessionId.test(session)) {
    throw new ReeveError('session.invalid', `"${session}" is not a session id`, {
      hint: 'Use 1 to 128 letters, digits, ".", "_", ":", "@" or "-", beginning with a letter or digit.',
    })
  }
  if (busySession !== undefined && busySession !== 'queue' && busySession !== 'reject')
    problems.push(`busySession is ${JSON.stringify(busySession)}, expected "queue" or "reject"`)
  if (user !== undefined && typeof user !== 'string') problems.push('user must be a text')
  for (const [name, value] of Object.entries({ metadata, values })) {
    if (value === undefined) continue
    const problem = isObject(value) ? jsonProblem(value, name) : `${name} must be a plain object`
    if (problem !== undefined) problems.push(problem)
  }
  if (options.messages !== undefined) problems.push(...messageProblems(options.messages, 'messages'))
  for (const key of Object.keys(isObject(values) ? values : {}))
    if (key.startsWith('$')) problems.push(`values.${key}: names that begin with "$" belong to Reeve`)
  if (limits !== undefined)
    problems.push(...limitProblems(limits, 'start'), ...ownTurnsProblems(agent, limits, 'start'))
  problems.push(...statusProblems(options.defaultStatus, 'start'))
  if (options.versions !== undefined)
    problems.push(
      ...choiceProblems(options.versions, 'start', [...new Set(reachableAgents([agent]).map(({ name }) => name))]),
    )
  if (options.context !== undefined && session === undefined)
    problems.push('start: context says what is shown of the session, and this run belongs to none')
  problems.push(...oversightProblems(options.oversight, 'start'))
  if (permissions !== undefined) problems.push(...permissionProblems(permissions, 'start'))
  return problems
}
