/**
 * router(): a lead that hands control to its workers, with what was said so far. Eino's supervisor (control returns by
 * rule), and handoff (it does not).
 *
 * Owns: the public constructor, its options and their types, its checks, the agent that stays active over a session.
 * Does not own: the control loop (control-loop.ts), what crosses (member.ts), how a model hands over
 * (agent/tool/transfer-tool.ts).
 */
import {
  choice,
  either,
  expects,
  handoffOf,
  hasNames,
  isFunction,
  listOf,
  mustBeOptions,
  optionProblems,
  parentOf,
  present,
  recordOf,
  required,
  unchecked,
  withHandoff,
  withoutHandoff,
  type Checks,
  type Json,
} from '@reeve/core'
import {
  agent,
  agentsCheck,
  dataIn,
  dataOf,
  defineAgent,
  factChecks,
  isAgent,
  isBlank,
  modelAgentChecks,
  mustHaveModelOrCode,
  checkTree,
  renamable,
  ownVersionOf,
  type Agent,
  type AgentKind,
  type AgentParts,
  type AgentContext,
  type AgentFacts,
  type ModelAgentFacts,
  type HandoffContext,
} from '@reeve/agent'
import { leavesHandoff, type Infer, type SchemaLike } from '@reeve/edge'
import {
  edgeOf,
  edgesCheck,
  edgesOf,
  memberCaps,
  memberEdgeChecks,
  MemberList,
  membersOf,
  missingMember,
  unknownAgent,
  type EdgeOptions,
} from './member.ts'
import { ControlLoop, type RouterParts, type TransferEdge } from './control-loop.ts'

/** How a router is defined, whatever leads it. */
interface RouterFacts<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends AgentFacts<Name, In, Out> {
  /**
   * The agents to which control may go. Their names are unique in the whole tree. A function may name agents that are
   * defined later; it is asked once.
   */
  readonly workers: Workers | (() => Workers)
  /**
   * What crosses to the workers and back, and what becomes of control; exceptions by name. `agents.<router>` is for the
   * lead itself: permissions, and a context without what was answered, hold for it only if they stand there; limits of
   * its turns are those of the router.
   */
  readonly transfer?: EdgeOptions<Workers[number]['name'] | NoInfer<Name>, TransferEdge>
  /**
   * The agents to which each may hand control by choice, instead of: the lead to all workers, workers to the lead if
   * they return on request.
   */
  readonly routes?: {
    readonly [From in Workers[number]['name'] | NoInfer<Name>]?: readonly (Workers[number]['name'] | NoInfer<Name>)[]
  }
  /**
   * As a root: the next run of a session begins with the agent that had control when the last run completed. Below a
   * call each call begins with the lead. Default: with the lead.
   */
  readonly sticky?: boolean
}

/** A router led by a model, or by a rule in its place. */
export interface ModelRouterOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends RouterFacts<Name, Workers, In, Out>, ModelAgentFacts {
  readonly run?: never
}

/** A router led by code, which returns `transferTo(name)` or an answer. */
export interface CodeRouterOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends RouterFacts<Name, Workers, In, Out> {
  readonly run: (ctx: AgentContext, brief: Infer<In>, handoffContext: HandoffContext) => unknown
  readonly model?: never
}

/** Turns of a whole router as a root, by default. */
const defaultTurns = 100

/**
 * Defines a router. Throws `team.invalid` with everything that is wrong with it. By default every worker gives control
 * back when it ends (`returns: 'always'`), and the router answers when its lead answers without handing over.
 */
export function router<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(
  options: ModelRouterOptions<Name, Workers, In, Out> | CodeRouterOptions<Name, Workers, In, Out>,
): Agent<Name, Infer<In>, RouterAnswer<Out>> {
  const parts = routerAgentParts(options as unknown as AnyOptions)
  const made = defineAgent(routerAgent, parts)
  if (parts.members.known) checkTree(made)
  return renamable(made, (name) =>
    router(renamed(options as unknown as AnyOptions, name) as unknown as typeof options),
  ) as unknown as Agent<Name, Infer<In>, RouterAnswer<Out>>
}

/** The options under another name: where the router names itself, too. */
function renamed(options: AnyOptions, name: string): AnyOptions {
  const { transfer, routes } = options
  const nameNow = (each: string): string => (each === options.name ? name : each)
  const named = <T>(given: { readonly [name: string]: T }): [string, T][] =>
    Object.entries(given).map(([each, value]) => [nameNow(each), value])
  const agents = transfer?.agents
  return {
    ...options,
    name,
    ...(agents === undefined ? undefined : { transfer: { ...transfer, agents: Object.fromEntries(named(agents)) } }),
    ...(routes === undefined
      ? undefined
      : { routes: Object.fromEntries(named(routes).map(([from, to]) => [from, to?.map(nameNow)])) }),
  }
}

/** What a router answers: what its schema says, else the answer of the agent that had control last. */
type RouterAnswer<Out extends SchemaLike | undefined> = [Out] extends [undefined] ? Json : Infer<Out>

type AnyOptions = RouterFacts<string, readonly Agent[], SchemaLike | undefined, SchemaLike | undefined> &
  (ModelAgentFacts | { readonly run: CodeRouterOptions<string, readonly Agent[], undefined, undefined>['run'] })

type Own = Pick<AnyOptions, 'workers' | 'transfer' | 'routes' | 'sticky'>
const namesCheck = listOf(
  expects((given) => typeof given === 'string', 'a name'),
  'names',
)
const transferChecks: Checks<TransferEdge> = {
  ...memberEdgeChecks,
  returns: choice('always', 'on-request', 'never'),
  followedBy: namesCheck,
  onFailure: choice('tell', 'end'),
}

/** The options of a router itself, which leads by the `name`. The others are those of its lead. */
function ownChecks(name: string, workers: readonly Agent[]): Checks<Own> {
  const names = [name, ...workers.map((each) => each.name)]
  return {
    workers: required(either(isFunction, agentsCheck)),
    transfer: edgesCheck([...workers, missingMember(name)], transferChecks),
    routes: recordOf(namesCheck, 'lists of names by name', (from) =>
      names.includes(from) ? undefined : `router "${name}": routes: ${unknownAgent(from, names)}`,
    ),
    sticky: unchecked,
  }
}
const ownNames = ownChecks('', [])
const modelNames = { ...factChecks, ...modelAgentChecks }
const codeNames = { ...factChecks, run: unchecked }

interface RouterAgentParts extends AgentParts<AnyOptions> {
  readonly lead: Agent
  readonly members: MemberList
}

function routerAgentParts(options: AnyOptions): RouterAgentParts {
  mustBeOptions(options, 'router', 'team.invalid')
  mustHaveModelOrCode(options, `router "${options.name}"`, { ...modelNames, ...codeNames, ...ownNames })
  const lead = agent(leadOptions(options))
  const members = new MemberList(options.workers)
  return {
    options,
    lead,
    members,
    inputSchema: lead.inputSchema,
    outputSchema: lead.outputSchema,
    model: lead.model,
    team: () => members.names,
    reaches: options.workers,
    hooked: lead.hooked,
    rootTurns: defaultTurns,
  }
}

const routerAgent: AgentKind<RouterAgentParts> = {
  data: ({ options: { transfer, routes, sticky }, lead, members }) => ({
    lead: ownVersionOf(lead),
    ...dataOf({}, { workers: members.names }),
    ...present({ control: dataIn({ transfer, routes, sticky }) }),
  }),
  async orchestrate({ options, lead, members }, ctx, edge, { name, description, outputSchema }) {
    if (edge.flow?.lead === true) return lead.orchestrate(ctx, edge)
    const { sticky, transfer = {}, routes = {} } = options
    const workers = membersOf(edge, members.agents)
    const parts = { name, description, lead, workers, transfer, routes: routesOf(routes), output: outputSchema }
    const control = new ControlLoop(parts, ctx, edge)
    // below a call it answers the call: what it is asked next has nothing to do with that
    const isRoot = parentOf(ctx.place.activation) === undefined
    const isSticky = sticky === true && isRoot && ctx.place.caller.session !== undefined
    const key = activeKey(name)
    const before = isSticky ? await ctx.values.get(key) : null
    const outcome = await control.follow(workers.find((each) => each.name === before)?.name ?? name)
    const hasMoved = isSticky && control.active !== (before ?? name)
    const ended = hasMoved
      ? withHandoff(outcome, { ...handoffOf(outcome), keep: { key, value: control.active } })
      : outcome
    if (leavesHandoff(edge)) return ended
    const isRemembered = edge.bounds.depth === 0 && ctx.place.caller.session !== undefined // and with it who answered
    return isRemembered ? ended : withoutHandoff(ended)
  },
  related: ({ lead, members }) => [...members.agents, ...lead.related()],
  problems: ({ options, lead, members }) => {
    const workers = members.agents.filter(isAgent)
    const leadChecks = Object.fromEntries(Object.keys(namesOf(options)).map((name) => [name, unchecked] as const))
    return [
      ...optionProblems<object>(
        { ...leadChecks, ...ownChecks(options.name, workers) },
        { ...options, workers: members.given },
        `router "${options.name}"`,
      ),
      ...lead.problems(),
      ...routerProblems(options.name, workers, options),
    ]
  },
  more: ({ options, lead, members }) => ({
    members: () => members.agents,
    usdCaps: () => [...memberCaps(members.agents, options.transfer, 'transfer'), ...(lead.usdCaps?.() ?? [])],
  }),
}

const namesOf = (options: AnyOptions): Readonly<Record<string, unknown>> => ('run' in options ? codeNames : modelNames)

/** What the lead is told. Unknown names are refused by the router. */
const leadOptions = (options: AnyOptions): Parameters<typeof agent>[0] =>
  Object.fromEntries(
    Object.entries(options).filter(([name]) => Object.hasOwn(namesOf(options), name)),
  ) as unknown as Parameters<typeof agent>[0]

/** The key of the agent that had control last, among the values of a session. */
const activeKey = (router: string): string => `$active.${router}`

/** What must hold between the edges and the routes. */
function routerProblems(
  name: string,
  workers: readonly Agent[],
  options: Pick<AnyOptions, 'transfer' | 'routes'>,
): string[] {
  const where = `router "${name}"`
  const { all, agents: exceptions } = edgesOf<TransferEdge>(options.transfer)
  const names = workers.map((worker) => worker.name)
  const twice = names.filter((each, i) => each === name || names.indexOf(each) !== i)
  const edges = [['every worker', all] as const, ...exceptions.map(([from, edge]) => [`"${from}"`, edge] as const)]
  const routes = hasNames(options.routes) ? Object.entries(options.routes as { readonly [from: string]: unknown }) : []
  return [
    ...new Set(twice.map((each) => `${where}: "${each}" is named twice; a name belongs to one agent of a tree`)),
    ...workers.flatMap((worker) =>
      isBlank(worker.description)
        ? [`${where}: the worker "${worker.name}" has no description, so no agent can choose it`]
        : [],
    ),
    ...edges.flatMap(([from, edge]) => followProblems(where, from, namesIn(edge?.followedBy), name, names)),
    ...leadProblems(where, exceptions.find(([from]) => from === name)?.[1] ?? {}),
    ...routes.flatMap(([from, to]) =>
      namesIn(to).flatMap((each) => [
        ...(each === name || names.includes(each)
          ? []
          : [`${where}: the routes of "${from}": ${unknownAgent(each, [name, ...names])}`]),
        ...(each === from ? [`${where}: the routes of "${from}" lead to itself`] : []),
      ]),
    ),
    ...unreachable(name, names, options).map((each) => `${where}: no agent can hand control to "${each}"`),
  ]
}

/** What is wrong with who follows. `name` is the router, `workers` are those who may follow. */
const followProblems = (
  where: string,
  from: string,
  followedBy: readonly string[],
  name: string,
  workers: readonly string[],
): string[] => [
  ...(new Set(followedBy).size === followedBy.length
    ? []
    : [`${where}: followedBy names an agent twice: ${followedBy.join(', ')}`]),
  ...followedBy.flatMap((each) => {
    const follows = `${where}: what follows ${from}`
    if (from === `"${each}"`) return [`${follows} names that agent itself`]
    if (each === name) return [`${follows} names the router; that control comes back is what returns says`]
    return workers.includes(each) ? [] : [`${follows}: ${unknownAgent(each, workers)}`]
  }),
]

/** The names in it. */
const namesIn = (given: unknown): readonly string[] =>
  Array.isArray(given) ? (given as readonly unknown[]).filter((each) => typeof each === 'string') : []

/** What can only be said of workers. The lead ends as the router does, and its limits are those of the router. */
function leadProblems(where: string, edge: TransferEdge): string[] {
  return (['returns', 'followedBy', 'onFailure', 'limits'] as const).flatMap((option) =>
    edge[option] === undefined ? [] : [`${where}: ${option} is said of the router itself, and means its workers`],
  )
}

/** An agent may be called like something that every object has. */
const routesOf = (routes: NonNullable<AnyOptions['routes']>): RouterParts['routes'] => new Map(Object.entries(routes))

/** Workers that no agent can hand control to, by choice or by rule. */
function unreachable(
  name: string,
  names: readonly string[],
  options: Pick<AnyOptions, 'transfer' | 'routes'>,
): string[] {
  const reached = new Set([name])
  const chosen = routesOf(hasNames(options.routes) ? options.routes : {})
  const { all } = edgesOf<EdgeOptions<string, TransferEdge>>(options.transfer)
  for (const from of reached) {
    const to = chosen.get(from)
    const byChoice = to === undefined ? (from === name ? names : []) : namesIn(to)
    const byRule = from === name ? [] : namesIn(edgeOf(all, from).followedBy)
    for (const to of [...byChoice, ...byRule]) reached.add(to)
  }
  return names.filter((each) => !reached.has(each))
}
