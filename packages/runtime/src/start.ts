/**
 * Starting a run: turns the options of a caller into one request to the engine, or an error.
 *
 * Owns: the checks at this boundary (agent, JSON, schema, session, limits, permissions), the root's edge. Does not own:
 * idempotency by run id and `run.conflict` (the engine).
 * Holds: if a check fails, no run was started.
 */
import {
  capProblem,
  isBlank,
  ownTurnsProblems,
  problemText,
  reachableAgents,
  unpricedModels,
  usdCapOf,
  type Agent,
} from '@reeve/agent'
import {
  choice,
  copy,
  described,
  formatTraceparent,
  hasNames,
  isObject,
  jsonCheck,
  jsonProblem,
  newId,
  optionProblems,
  parseTraceparent,
  personName,
  present,
  ReeveError,
  refuseProblems,
  runId,
  string,
  unchecked,
  type Check,
  type Checks,
  type Json,
  type JsonObject,
  type Message,
  type Rule,
  type RunKey,
  type SessionId,
} from '@reeve/core'
import type { Prices } from '@reeve/model'
import {
  accountLimits,
  boundsOfRoot,
  briefOf,
  defaultLimits,
  encodeEdge,
  limitsCheck,
  messageProblems,
  oversightCheck,
  permissionsCheck,
  rootEdge,
  unsaid,
  type Limits,
  type Oversight,
  type Permissions,
  type Revisions,
  type StartHooks,
} from '@reeve/edge'
import type { StartRun } from '@reeve/engine'
import type { Caller } from '@reeve/journal'
import { startHookChecks, startHookRule, type Hooks } from './hooks.ts'
import type { BusySession, RootContext, RootExtras } from './session.ts'
import { tenantCheck } from './tenants.ts'
import { reachedBy, trialCheck, type TrialChanges } from './trials.ts'
import {
  choicesCheck,
  revisedModel,
  statusCheck,
  type Chosen,
  type Resolved,
  type RevisionStatus,
  type VersionChoices,
} from './versions.ts'

/** The options of a start. */
export interface StartOptions extends StartHooks {
  /**
   * Makes the start idempotent: repeating an id with the same agent, input, caller and options returns the same run;
   * anything else is `run.conflict`. Default: a new id.
   */
  readonly runId?: string
  /** Instead of a `runId`: names the run by a key (`runKey`), under an id that no `runId` comes to. */
  readonly key?: RunKey
  /** The conversation that this run continues. */
  readonly session?: string
  /** What to do if another run has the session. Default `queue`. */
  readonly busySession?: BusySession
  /** The user; read-only for all agents of the tree. */
  readonly user?: string
  /** Who starts it for that user, where that is another person: the audit names them. Default: the user. */
  readonly by?: string
  /**
   * The customer, department or environment that the run and its child runs belong to: 1 to 128 letters, digits, `.`,
   * `_`, `:`, `@` or `-`. A session, and what is remembered of it, is the tenant's own: the same name in another tenant
   * is another session. Default: none.
   */
  readonly tenant?: string
  readonly metadata?: JsonObject
  /**
   * The W3C header `traceparent` of the request that starts it: the run is a part of that trace, and so are the model
   * calls and tools of it. A malformed one is ignored, as the W3C says. Default: the run has a trace of its own.
   */
  readonly traceparent?: string
  /** Session values that are set before the agent begins. */
  readonly values?: { readonly [key: string]: Json }
  /** Hard limits of the whole tree; the tighter of these and the agent's own holds. */
  readonly limits?: Limits
  readonly permissions?: Permissions
  /** The oversight of the whole run; never less strict than that of its agents. */
  readonly oversight?: Oversight
  /** Versions of agents for this run, before those of the runtime. They are resolved once, at the start. */
  readonly versions?: VersionChoices
  /**
   * The run is a trial, with these changes of agents: a prompt, a model or a version that is not published. No effect of
   * it leaves before a person has said so, nobody is notified, and it counts for no trust. It belongs to no session.
   * `{}`: a trial that changes nothing. Default: no trial.
   */
  readonly trial?: TrialChanges
  /** The status of revisions for all other agents. Default: that of the runtime, else none: the current code. */
  readonly defaultStatus?: RevisionStatus
  /**
   * Messages before the input, oldest first; every agent in a flow sees them unchanged, after its own instructions.
   * Images go here, in a user message.
   */
  readonly messages?: readonly Message[]
  /**
   * What the run sees of its session: the `conversation` (default), only its `brief`, or the selection of the hook of
   * this name (`ContextHook`).
   */
  readonly context?: RootContext
}

/** The versions chosen for a run, and their revisions. */
export interface StartChoice extends Resolved {
  readonly chosen: Chosen
}

/** The hooks and agents that a start may name. */
export interface StartNames {
  readonly hooks?: Hooks | undefined
  readonly find?: (name: string) => Agent | undefined
}

/**
 * The request that starts an agent. `agent`: the version that runs; `defaults`: limits if caller and agent set none.
 */
export function startRequest(
  agent: Agent,
  input: unknown,
  options: StartOptions,
  choice?: StartChoice,
  defaults: Limits = defaultLimits,
  { hooks = {}, find = () => undefined }: StartNames = {},
): StartRun {
  mustBeStart(options, agent, hooks, find)
  const run = options.key?.id ?? runId(options.runId ?? newId('run'))
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
  const filled = unsaid(boundsOfRoot(given, agent).limits, defaults)
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

/** The recorded default limits of a run; empty where none came from defaults. */
export function defaultsIn(recorded: Json): Limits {
  const root = isObject(recorded) ? recorded['root'] : undefined
  const defaults = isObject(root) ? root['defaults'] : undefined
  return isObject(defaults) ? defaults : {}
}

/**
 * Throws `budget.no-price` if a start, or a chosen version, sets a `usd` limit over a model without a known price.
 * `measuring`: agents that score answers in this run.
 */
export function mustHavePrices(
  root: Agent,
  limits: Limits | undefined,
  revisions: Revisions = {},
  measuring: readonly Agent[] = [],
  prices?: Prices,
): void {
  const isRevised = Object.keys(revisions).length > 0
  // limits of a definition were checked with the models of the definition
  if (limits?.usd === undefined && !isRevised && measuring.length === 0) return
  const model = (each: Agent): Agent['model'] => revisedModel(each, revisions[each.name])
  const all = reachableAgents([root])
  const caps = [
    ...usdCapOf(limits, 'start: limits', [root, ...measuring]),
    ...usdCapOf(root.limits, `agent "${root.name}": limits`, measuring),
    ...all.flatMap((each) => usdCapOf(revisions[each.name]?.limits, `start: versions.${each.name}.limits`, [each])),
    ...(isRevised
      ? all.flatMap((each) => [
          ...usdCapOf(each.limits, `agent "${each.name}": limits`, [each]),
          ...(each.usdCaps?.() ?? []),
        ])
      : []),
  ]
  const problems = caps.flatMap(({ option, agents }) =>
    unpricedModels(agents, prices, model).map((whose) => capProblem(option, whose)),
  )
  if (problems.length > 0)
    throw new ReeveError('budget.no-price', problems.map(problemText).join('; '), {
      hint: 'Nothing was started. A limit in tokens needs no price.',
    })
}

/** The checked input, unchanged: the recorded input is the given one, and the agent applies its schema when it runs. */
export function checkedInput(agent: Agent, input: unknown): Json {
  const problem = jsonProblem(input, 'input')
  if (problem !== undefined)
    throw new ReeveError('input.not-json', problem, {
      hint: 'Give plain JSON: strings, numbers, arrays, plain objects.',
    })
  if (agent.inputSchema !== undefined) {
    const checked = agent.inputSchema.check(input as Json)
    if (!checked.ok)
      throw new ReeveError(
        'input.invalid',
        `the input does not fit the input schema of "${agent.name}": ${checked.problem}`,
        {
          hint: 'Nothing was started.',
        },
      )
    return input as Json
  }
  if (Array.isArray(input) && input.length > 0 && input.every(isMessage))
    throw new ReeveError(
      'input.invalid',
      `the input is an array of ${input.length} messages; "${agent.name}" takes one request`,
      {
        hint: 'Give earlier messages as { messages: [...] }, and the text of the last one as the input.',
      },
    )
  if (typeof input === 'string' && isBlank(input))
    throw new ReeveError('input.invalid', 'the input is an empty text', {
      hint: `Describe the task of "${agent.name}".`,
    })
  return input as Json
}

const roles: ReadonlySet<unknown> = new Set<Message['role']>(['system', 'user', 'assistant', 'tool'])

/** Whether a value is a message of a conversation; an array of them is not a brief. */
const isMessage = (each: unknown): boolean => isObject(each) && roles.has(each['role']) && each['content'] !== undefined

function callerOf({ user, by, metadata, session, tenant, traceparent, trial }: StartOptions): Caller {
  const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return {
    ...(user === undefined ? {} : { user }),
    ...(by === undefined || by === user ? {} : { by: personName(by) }),
    ...(metadata === undefined ? {} : { metadata: copy(metadata) }),
    ...(session === undefined ? {} : { session: session as SessionId }),
    ...present({ tenant, traceparent: parent === undefined ? undefined : formatTraceparent(parent) }),
    ...(trial === undefined ? {} : { trial: true as const }),
  }
}

/** Throws `session.invalid` for what is not the id of a session. */
export function mustBeSession(session: string): void {
  if (sessionId.test(session)) return
  throw new ReeveError('session.invalid', `"${session}" is not a session id`, {
    hint: 'Use 1 to 128 letters, digits, ".", "_", ":", "@" or "-", beginning with a letter or digit.',
  })
}

const sessionId = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/

const plainJson: Check = (given, where) =>
  isObject(given) ? jsonCheck(given, where) : [`${where} is ${described(given)}, expected a plain object`]

const startChecks = (agent: Agent, hooks: Hooks, find: (name: string) => Agent | undefined): Checks<StartOptions> => ({
  ...startHookChecks(hooks, find),
  runId: unchecked, // by runId()
  key: unchecked, // by runKey()
  session: unchecked, // by mustBeSession()
  busySession: choice('queue', 'reject'),
  user: string,
  by: string,
  tenant: tenantCheck,
  traceparent: string, // what it says, or nothing: parseTraceparent()
  metadata: plainJson,
  values: plainJson,
  limits: limitsCheck,
  permissions: permissionsCheck,
  oversight: oversightCheck,
  messages: messageProblems,
  versions: (given, where) =>
    choicesCheck([...new Set(reachableAgents([agent]).map(({ name }) => name))])(given, where),
  trial: (given, where) => trialCheck(reachedBy(agent))(given, where),
  defaultStatus: statusCheck,
})

/** What people who know other frameworks mean by an option that a start does not have. */
const meantByStartOptions: Readonly<Record<string, string>> = {
  thread: 'session',
  threadId: 'session',
  thread_id: 'session',
  conversationId: 'session',
  resource: 'user',
  resourceId: 'user',
  requestContext: 'metadata',
  maxSteps: 'limits.ownTurns',
  maxTurns: 'limits.ownTurns',
  recursionLimit: 'limits.turns',
}

/** What must hold between them. */
const startRule =
  (agent: Agent): Rule<StartOptions> =>
  (options, where) => [
    ...startHookRule(agent)(options, where),
    ...Object.keys(isObject(options.values) ? options.values : {}).map(
      (key) => key.startsWith('$') && `${where}: values.${key}: names that begin with "$" belong to Reeve`,
    ),
    ...(options.limits === undefined ? [] : ownTurnsProblems(agent, options.limits, where)),
    options.trial !== undefined &&
      options.session !== undefined &&
      `${where}: a trial belongs to no session; give what was said before as messages`,
    options.key !== undefined && options.runId !== undefined && `${where}: expected either runId or key`,
    options.context !== undefined &&
      options.session === undefined &&
      `${where}: context says what is shown of the session, and this run belongs to none`,
  ]

function mustBeStart(
  options: StartOptions,
  agent: Agent,
  hooks: Hooks,
  find: (name: string) => Agent | undefined,
): void {
  const { session } = hasNames(options) ? options : ({} as StartOptions)
  if (session !== undefined) mustBeSession(session)
  refuseProblems(
    'input.invalid',
    optionProblems(startChecks(agent, hooks, find), options, 'start', {
      rule: startRule(agent),
      meant: meantByStartOptions,
    }),
    'Nothing was started.',
  )
}
