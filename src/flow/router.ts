/**
 * router(): a lead that hands control to its workers, with what was said so far. Eino's supervisor (control returns by
 * rule), and handoff (it does not).
 *
 * Owns: the public constructor, its options and their types, its checks, the agent that stays active over a session.
 * Does not own: the control loop (control-loop.ts), what crosses (member.ts), how a model hands over
 * (agent/tool/transfer-tool.ts).
 */
import {
  described,
  hasNames,
  mustBeOptions,
  parentOf,
  present,
  handoffOf,
  unknownNames,
  withoutHandoff,
  withHandoff,
  type Json,
  type NamesOf,
  type Outcome,
} from '../core/index.ts'
import {
  agent,
  dataIn,
  dataOf,
  factNames,
  isAgent,
  isBlank,
  DefinedAgent,
  listProblems,
  modelAgentChecks,
  mustHaveModelOrCode,
  checkTree,
  renamable,
  versionOf,
  type Agent,
  type AgentContext,
  type AgentFacts,
  type ModelAgentFacts,
  type Talk,
  type UsdCap,
} from '../agent/index.ts'
import { leavesHandoff, type Edge, type Infer, type SchemaLike } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import {
  MemberList,
  edgeOf,
  edgesOf,
  memberCaps,
  memberEdgeNames,
  memberProblems,
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
   * The agents to which control may go. Their names are unique in the whole tree. A function may name agents that are defined
   * later; it is asked once.
   */
  readonly workers: Workers | (() => Workers)
  /**
   * What crosses to the workers and back, and what becomes of control; exceptions by name. `agents.<router>` is for the
   * lead itself: permissions, and a context without what was answered, hold for it only if they stand there; limits of
   * its turns are those of the router.
   */
  readonly transfer?: EdgeOptions<Workers[number]['name'] | NoInfer<Name>, TransferEdge>
  /**
   * The agents to which each may hand control by choice, instead of: the lead to all workers, workers to the lead if they return on
   * request.
   */
  readonly routes?: {
    readonly [From in Workers[number]['name'] | NoInfer<Name>]?: readonly (Workers[number]['name'] | NoInfer<Name>)[]
  }
  /**
   * As a root: the next run of a session begins with the agent that had control when the last run completed. Below a call each
   * call begins with the lead. Default: with the lead.
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
  readonly run: (ctx: AgentContext, brief: Infer<In>, talk: Talk) => unknown
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
  const entry = new RouterAgent(options as unknown as AnyOptions)
  return renamable(entry, (name) =>
    router(renamed(options as unknown as AnyOptions, name) as unknown as typeof options),
  ) as unknown as Agent<Name, Infer<In>, RouterAnswer<Out>>
}

/** The options under another name: where the router names itself, too. */
function renamed(options: AnyOptions, name: string): AnyOptions {
  const { transfer, routes } = options
  const own = (each: string): string => (each === options.name ? name : each)
  const named = <T>(given: { readonly [name: string]: T }): [string, T][] =>
    Object.entries(given).map(([each, value]) => [own(each), value])
  const agents = transfer?.agents
  return {
    ...options,
    name,
    ...(agents === undefined ? undefined : { transfer: { ...transfer, agents: Object.fromEntries(named(agents)) } }),
    ...(routes === undefined
      ? undefined
      : { routes: Object.fromEntries(named(routes).map(([from, to]) => [from, to?.map(own)])) }),
  }
}

/** What a router answers: what its schema says, else the answer of the agent that had control last. */
type RouterAnswer<Out extends SchemaLike | undefined> = [Out] extends [undefined] ? Json : Infer<Out>

type AnyOptions = RouterFacts<string, readonly Agent[], SchemaLike | undefined, SchemaLike | undefined> &
  (ModelAgentFacts | { readonly run: CodeRouterOptions<string, readonly Agent[], undefined, undefined>['run'] })

const ownNames: NamesOf<Pick<AnyOptions, 'workers' | 'transfer' | 'routes' | 'sticky'>> = {
  workers: true,
  transfer: true,
  routes: true,
  sticky: true,
}
const modelNames: Readonly<Record<string, unknown>> = { ...factNames, ...modelAgentChecks, ...ownNames }
const codeNames: Readonly<Record<string, unknown>> = { ...factNames, ...ownNames, run: true }
const transferNames: NamesOf<TransferEdge> = { ...memberEdgeNames, returns: true, followedBy: true, onFailure: true }

class RouterAgent extends DefinedAgent {
  readonly #options: AnyOptions
  readonly #lead: Agent
  readonly #members: MemberList

  constructor(options: AnyOptions) {
    mustBeOptions(options, 'router', 'team.invalid')
    mustHaveModelOrCode(options, `router "${options.name}"`, { ...modelNames, ...codeNames })
    const lead = agent(leadOptions(options))
    const { name, description, inputSchema, outputSchema, limits, oversight, assess, model, outputKey } = lead
    const members = new MemberList(options.workers)
    super({
      name,
      description,
      inputSchema,
      outputSchema,
      limits,
      oversight,
      assess,
      model,
      outputKey,
      team: () => members.names,
      reaches: options.workers,
      hooked: lead.hooked,
      rootTurns: defaultTurns,
    })
    this.#options = options
    this.#lead = lead
    this.#members = members
    if (members.known) checkTree(this)
  }

  members(): readonly Agent[] {
    return this.#members.agents
  }

  protected madeVersion(): string {
    const { version, transfer, routes, sticky } = this.#options
    return versionOf(version, {
      lead: this.#lead.version,
      ...(dataOf({ workers: this.#members.names }) as { readonly [name: string]: Json }),
      ...present({ control: dataIn({ transfer, routes, sticky }) }),
    })
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    if (edge.flow?.lead === true) return this.#lead.orchestrate(ctx, edge)
    const routing = this.#routing(edge)
    const route = new ControlLoop(routing, ctx, edge)
    // below a call it answers the call: what it is asked next has nothing to do with that
    const isRoot = parentOf(ctx.place.activation) === undefined
    const session = this.#options.sticky === true && isRoot && ctx.place.caller.session !== undefined
    const key = activeKey(this.name)
    const before = session ? await ctx.values.get(key) : null
    const first = routing.workers.find(({ name }) => name === before)?.name ?? this.name
    const outcome = await route.follow(first)
    const moved = session && route.active !== (before ?? this.name)
    const left = moved ? withHandoff(outcome, { ...handoffOf(outcome), keep: { key, value: route.active } }) : outcome
    if (leavesHandoff(edge)) return left
    const isRemembered = edge.bounds.depth === 0 && ctx.place.caller.session !== undefined // and with it who answered
    return isRemembered ? left : withoutHandoff(left)
  }

  #routing(edge: Edge): RouterParts {
    const { transfer = {}, routes = {} } = this.#options
    return {
      name: this.name,
      description: this.description,
      lead: this.#lead,
      workers: membersOf(edge, this.members()),
      transfer,
      routes: routesOf(routes),
      output: this.outputSchema,
    }
  }

  related(): readonly Agent[] {
    return [...this.members(), ...this.#lead.related()]
  }

  usdCaps(): readonly UsdCap[] {
    return [...memberCaps(this.members(), this.#options.transfer, 'transfer'), ...(this.#lead.usdCaps?.() ?? [])]
  }

  problems(): readonly string[] {
    const where = `router "${this.name}"`
    return [
      ...unknownNames(this.#options, namesOf(this.#options), where),
      ...this.#lead.problems(),
      ...listProblems(this.#members.given, `${where}: workers`),
      ...routerProblems(this.name, this.members(), this.#options),
    ]
  }
}

const namesOf = (options: AnyOptions): Readonly<Record<string, unknown>> => ('run' in options ? codeNames : modelNames)

/** What the lead is told. Unknown names are refused by the router. */
const leadOptions = (options: AnyOptions): Parameters<typeof agent>[0] =>
  Object.fromEntries(
    Object.entries(options).filter(([name]) => Object.hasOwn(namesOf(options), name) && !Object.hasOwn(ownNames, name)),
  ) as unknown as Parameters<typeof agent>[0]

/** The key of the agent that had control last, among the values of a session. */
const activeKey = (router: string): string => `$active.${router}`

const returnValues: ReadonlySet<unknown> = new Set([undefined, 'always', 'on-request', 'never'])
const failureValues: ReadonlySet<unknown> = new Set([undefined, 'tell', 'end'])

function routerProblems(
  name: string,
  workers: readonly Agent[],
  options: Pick<AnyOptions, 'transfer' | 'routes'>,
): string[] {
  const where = `router "${name}"`
  const { all, agents: exceptions } = edgesOf<TransferEdge>(options.transfer)
  const agents = workers.filter(isAgent)
  const names = agents.map((worker) => worker.name)
  const twice = names.filter((each, i) => each === name || names.indexOf(each) !== i)
  const edges = [['every worker', all] as const, ...exceptions.map(([from, edge]) => [`"${from}"`, edge] as const)]
  return [
    ...memberProblems(where, [...agents, missingMember(name)], options.transfer, 'transfer', transferNames),
    ...new Set(twice.map((each) => `${where}: "${each}" is named twice; a name belongs to one agent of a tree`)),
    ...agents.flatMap((worker) =>
      isBlank(worker.description)
        ? [`${where}: the worker "${worker.name}" has no description, so no agent can choose it`]
        : [],
    ),
    ...edges.flatMap(([from, edge]) => (hasNames(edge) ? transferProblems(where, from, edge, name, names) : [])),
    ...leadProblems(where, exceptions.find(([from]) => from === name)?.[1] ?? {}),
    ...routeProblems(where, options.routes, [name, ...names]),
    ...unreachable(name, names, options).map((each) => `${where}: no agent can hand control to "${each}"`),
  ]
}

/** `name` is the router, `workers` are those who may follow. */
function transferProblems(
  where: string,
  from: string,
  edge: TransferEdge,
  name: string,
  workers: readonly string[],
): string[] {
  const { returns, onFailure } = edge
  const followedBy = namesIn(edge.followedBy)
  return [
    ...(returnValues.has(returns)
      ? []
      : [`${where}: returns is ${JSON.stringify(returns)}, expected "always", "on-request" or "never"`]),
    ...(failureValues.has(onFailure)
      ? []
      : [`${where}: onFailure is ${JSON.stringify(onFailure)}, expected "tell" or "end"`]),
    ...namesProblems(edge.followedBy, `${where}: what follows ${from}`),
    ...(new Set(followedBy).size === followedBy.length
      ? []
      : [`${where}: followedBy names an agent twice: ${followedBy.join(', ')}`]),
    ...followedBy.flatMap((each) =>
      each === name || workers.includes(each) ? [] : [`${where}: what follows ${from}: ${unknownAgent(each, workers)}`],
    ),
    ...(followedBy.some((each) => from === `"${each}"`)
      ? [`${where}: what follows ${from} names that agent itself`]
      : []),
    ...(followedBy.includes(name)
      ? [`${where}: what follows ${from} names the router; that control comes back is what returns says`]
      : []),
  ]
}

function routeProblems(where: string, given: unknown, names: readonly string[]): string[] {
  if (given === undefined) return []
  if (!hasNames(given)) return [`${where}: routes is ${described(given)}, expected lists of names by name`]
  return Object.entries(given as { readonly [from: string]: unknown }).flatMap(([from, to]) => [
    ...(names.includes(from) ? [] : [`${where}: routes: ${unknownAgent(from, names)}`]),
    ...namesProblems(to, `${where}: what "${from}" routes to`),
    ...namesIn(to).flatMap((each) =>
      names.includes(each) ? [] : [`${where}: the routes of "${from}": ${unknownAgent(each, names)}`],
    ),
    ...(namesIn(to).includes(from) ? [`${where}: the routes of "${from}" lead to itself`] : []),
  ])
}

/** What is wrong with a list of names as such. */
function namesProblems(given: unknown, where: string): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) return [`${where} is ${described(given)}, expected a list of names`]
  return (given as readonly unknown[]).flatMap((each) =>
    typeof each === 'string' ? [] : [`${where} has ${described(each)}, expected names`],
  )
}

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
