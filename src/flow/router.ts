/**
 * router(): a lead that hands control to its workers, with what was said so far. Eino's supervisor (control returns by rule), and handoff (it does not).
 *
 * Owns: the public constructor, its options and their types, its checks, the agent that stays active over a session.
 * Does not own: the control loop (routing.ts), what crosses (member.ts), how a model hands over (agent/transfer.ts).
 */
import { ReeveError, withoutTrail, type Json, type Outcome } from '../core/index.ts'
import { agent, dataOf, isAgent, versionOf, type Agent, type AgentFacts, type MindFacts, type Talk } from '../agent/index.ts'
import type { Edge, Infer, Limits, Schema, SchemaLike } from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import { edgeOf, memberProblems, membersOf, named, type EdgeOptions } from './member.ts'
import { Route, type Routing, type TransferEdge } from './routing.ts'

/** How a router is defined, whatever leads it. */
interface RouterFacts<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends AgentFacts<Name, In, Out> {
  /** To whom control may go. Their names are unique in the whole tree. A function may name agents that are defined later; it is asked once. */
  readonly workers: Workers | (() => Workers)
  /**
   * What crosses to the workers and back, and what becomes of control; exceptions by name. `agents.<router>` is for the lead itself: permissions, and a context without
   * what was answered, hold for it only if they stand there; limits of its turns are those of the router.
   */
  readonly transfer?: EdgeOptions<Workers[number]['name'] | NoInfer<Name>, TransferEdge>
  /** To whom each may hand control by choice, instead of: the lead to all workers, workers to the lead if they return on request. */
  readonly routes?: { readonly [From in Workers[number]['name'] | NoInfer<Name>]?: readonly (Workers[number]['name'] | NoInfer<Name>)[] }
  /** The next run of a session begins with whoever had control last. Default: with the lead. */
  readonly sticky?: boolean
}

/** A router led by a model, or by a rule in its place. */
export interface ModelRouterOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends RouterFacts<Name, Workers, In, Out>, MindFacts {
  readonly run?: never
}

/** A router led by code, which returns `transferTo(name)` or an answer. */
export interface CodeRouterOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> extends RouterFacts<Name, Workers, In, Out> {
  readonly run: (ctx: Context, brief: Infer<In>, talk: Talk) => unknown
  readonly model?: never
}

/** Turns of a whole router as a root, if nobody says. */
const defaultTurns = 100

/**
 * Defines a router. Throws `team.invalid` with everything that is wrong with it. By default every worker gives control back when it ends (`returns: 'always'`), and the
 * router answers when its lead answers without handing over.
 */
export function router<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(options: ModelRouterOptions<Name, Workers, In, Out> | CodeRouterOptions<Name, Workers, In, Out>): Agent<Name, Infer<In>, Answer<Out>> {
  return new RouterAgent(options as unknown as AnyOptions) as unknown as Agent<Name, Infer<In>, Answer<Out>>
}

/** What a router answers: what its schema says, else whatever the one answers who had control last. */
type Answer<Out extends SchemaLike | undefined> = [Out] extends [undefined] ? Json : Infer<Out>

type AnyOptions = RouterFacts<string, readonly Agent[], SchemaLike | undefined, SchemaLike | undefined> &
  (MindFacts | { readonly run: CodeRouterOptions<string, readonly Agent[], undefined, undefined>['run'] })

class RouterAgent implements Agent {
  readonly kind = 'agent'
  readonly name: string
  readonly description: string
  readonly inputSchema?: Schema
  readonly outputSchema?: Schema
  readonly limits?: Limits
  readonly defaults: { readonly limits: Limits }
  readonly model?: NonNullable<Agent['model']>
  readonly outputKey?: string
  readonly #options: AnyOptions
  readonly #lead: Agent
  #workers: readonly Agent[] | undefined
  #version: string | undefined

  constructor(options: AnyOptions) {
    const { workers, transfer: _transfer, routes: _routes, sticky: _sticky, ...lead } = options
    this.#options = options
    this.#lead = agent(lead as Parameters<typeof agent>[0])
    const { name, description, inputSchema, outputSchema, limits, model, outputKey } = this.#lead
    this.name = name
    this.description = description
    if (inputSchema !== undefined) this.inputSchema = inputSchema
    if (outputSchema !== undefined) this.outputSchema = outputSchema
    if (limits !== undefined) this.limits = limits
    if (model !== undefined) this.model = model
    if (outputKey !== undefined) this.outputKey = outputKey
    this.defaults = { limits: { turns: defaultTurns, ...limits } }
    if (typeof workers === 'function') return
    if (!Array.isArray(workers)) throw new ReeveError('team.invalid', `router "${name}": workers is no list of agents`)
    const found = this.problems()
    if (found.length > 0) throw new ReeveError('team.invalid', found.join('\n'))
  }

  /** To whom control may go. Asked once: what was checked is what runs. */
  members(): readonly Agent[] {
    const { workers } = this.#options
    return (this.#workers ??= Object.freeze([...(typeof workers === 'function' ? workers() : workers)]))
  }

  get version(): string {
    return (this.#version ??= versionOf(this.#options.version, {
      lead: this.#lead.version,
      ...(dataOf({ workers: this.members().map(({ name }) => name) }) as { readonly [name: string]: Json }),
    }))
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    if (edge.flow?.lead === true) return this.#lead.orchestrate(ctx, edge)
    const routing = this.#routing(edge)
    const route = new Route(routing, ctx, edge)
    const session = this.#options.sticky === true && edge.flow === undefined && ctx.place.caller.session !== undefined
    const before = session ? await ctx.values.get(activeKey(this.name)) : null
    const first = routing.workers.find(({ name }) => name === before)?.name ?? this.name
    const outcome = await route.follow(first)
    if (session && outcome.status === 'completed' && route.active !== (before ?? this.name))
      await ctx.values.update(activeKey(this.name), () => route.active)
    if (edge.flow !== undefined) return outcome
    const isRemembered = edge.depth === 0 && ctx.place.caller.session !== undefined // and with it who answered
    return isRemembered ? outcome : withoutTrail(outcome)
  }

  team(): readonly string[] {
    return this.members().map(({ name }) => name)
  }

  #routing(edge: Edge): Routing {
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

  problems(): readonly string[] {
    return [...this.#lead.problems(), ...routerProblems(this.name, this.members(), this.#options)]
  }
}

/** Who had control last, among the values of a session. */
const activeKey = (router: string): string => `$active.${router}`

const returning: ReadonlySet<unknown> = new Set([undefined, 'always', 'on-request', 'never'])
const failing: ReadonlySet<unknown> = new Set([undefined, 'tell', 'end'])

function routerProblems(name: string, workers: readonly Agent[], options: Pick<AnyOptions, 'transfer' | 'routes'>): string[] {
  const where = `router "${name}"`
  const { transfer = {}, routes = {} } = options
  const agents = workers.filter(isAgent)
  const names = agents.map((worker) => worker.name)
  const known = new Set([name, ...names])
  const twice = names.filter((each, i) => each === name || names.indexOf(each) !== i)
  const strangers = (list: readonly string[], what: string): string[] =>
    list.flatMap((each) => (known.has(each) ? [] : [`${where}: ${what} names "${each}", who does not work here`]))
  return [
    ...memberProblems(where, [...workers, named(name)], transfer),
    ...new Set(twice.map((each) => `${where}: "${each}" is named twice; a name belongs to one agent of a tree`)),
    ...agents.flatMap((worker) =>
      worker.description.trim() === ''
        ? [`${where}: the worker "${worker.name}" has no description, so nobody can choose it for what it is good for`]
        : [],
    ),
    ...[transfer, ...Object.values(transfer.agents ?? {})].flatMap((edge) => transferProblems(where, edge ?? {})),
    ...leadProblems(where, transfer.agents?.[name] ?? {}),
    ...[
      ['every worker', transfer] as const,
      ...Object.entries(transfer.agents ?? {}).map(([from, edge]) => [`"${from}"`, edge] as const),
    ].flatMap(([from, edge]) => [
      ...strangers(edge?.followedBy ?? [], `what follows ${from}`),
      ...(edge?.followedBy?.includes(name) === true
        ? [`${where}: what follows ${from} names the router; that control comes back is what returns says`]
        : []),
    ]),
    ...Object.entries(routes).flatMap(([from, to]) => [
      ...strangers([from], 'routes'),
      ...strangers(to ?? [], `the routes of "${from}"`),
      ...(to?.includes(from) === true ? [`${where}: the routes of "${from}" lead to itself`] : []),
    ]),
    ...unreachable(name, names, options).map((each) => `${where}: nobody can hand control to "${each}"`),
  ]
}

function transferProblems(where: string, { returns, onFailure, followedBy }: TransferEdge): string[] {
  return [
    ...(returning.has(returns) ? [] : [`${where}: returns is ${JSON.stringify(returns)}, expected "always", "on-request" or "never"`]),
    ...(failing.has(onFailure) ? [] : [`${where}: onFailure is ${JSON.stringify(onFailure)}, expected "tell" or "end"`]),
    ...(followedBy === undefined || new Set(followedBy).size === followedBy.length
      ? []
      : [`${where}: followedBy names somebody twice: ${followedBy.join(', ')}`]),
  ]
}

/** What can only be said of workers. The lead ends as the router does, and its limits are those of the router. */
function leadProblems(where: string, edge: TransferEdge): string[] {
  return (['returns', 'followedBy', 'onFailure', 'limits'] as const).flatMap((option) =>
    edge[option] === undefined ? [] : [`${where}: ${option} is said of the router itself, and means its workers`],
  )
}

/** An agent may be called like something that every object has. */
const routesOf = (routes: NonNullable<AnyOptions['routes']>): Routing['routes'] => new Map(Object.entries(routes))

/** Workers to whom nobody can hand control, by choice or by rule. */
function unreachable(
  name: string,
  names: readonly string[],
  { routes = {}, transfer = {} }: Pick<AnyOptions, 'transfer' | 'routes'>,
): string[] {
  const reached = new Set([name])
  const chosen = routesOf(routes)
  for (const from of reached) {
    const byChoice = chosen.get(from) ?? (from === name ? names : [])
    const byRule = from === name ? [] : (edgeOf(transfer, from).followedBy ?? [])
    for (const to of [...byChoice, ...byRule]) reached.add(to)
  }
  return names.filter((each) => !reached.has(each))
}
