/**
 * sequential, loop, parallel: agents in an order that is fixed beforehand. Agents themselves, so they nest in each
 * other and under routers at any depth.
 *
 * Owns: the three constructors and the order. Does not own: what crosses to a member and back (member.ts,
 * conversation.ts), control by choice (control-loop.ts).
 * Holds: K3, K4 (a scope for every step, iteration and branch). An exit ends everything above, a break the nearest
 * loop; both are read when a member has ended.
 */
import type { Context } from '../engine/index.ts'
import {
  completed,
  either,
  expects,
  handoffOf,
  isFunction,
  mustBeOptions,
  optionProblems,
  present,
  required,
  withHandoff,
  withoutHandoff,
  type Checks,
  type Json,
  type Outcome,
} from '../core/index.ts'
import {
  agentsCheck,
  composedChecks,
  dataIn,
  dataOf,
  DefinedAgent,
  factRule,
  isAgent,
  checkTree,
  renamable,
  versionOf,
  type Agent,
  type Assess,
  type UsdCap,
} from '../agent/index.ts'
import { leavesHandoff, type Edge, type Limits, type Oversight } from '../edge/index.ts'
import { FlowConversation } from './conversation.ts'
import {
  edgeOf,
  edgesCheck,
  memberCaps,
  memberEdgeChecks,
  MemberList,
  membersOf,
  runMember,
  type EdgeOptions,
} from './member.ts'

/** What every fixed order is told. */
export interface FlowOptions<Name extends string, Agents extends readonly Agent[]> {
  readonly name: Name
  /** What it is good for; needed where it is a worker or a tool of another agent. */
  readonly description?: string
  /**
   * The agents that work in it, in this order. The same agent may stand here more than once. A function may name agents
   * that are defined later; it is asked once.
   */
  readonly agents: Agents | (() => Agents)
  /**
   * What crosses to its agents and back. Default: the whole conversation both ways, without the messages of transfers.
   */
  readonly edge?: EdgeOptions<Agents[number]['name']>
  /** Hard limits of it and everything below it. Default: none of its own. */
  readonly limits?: Limits
  /** How closely humans look at it and everything below it. Default: only what tools and edges ask for themselves. */
  readonly oversight?: Oversight
  /** What it says of its own results: a function of the output and the brief. Default: nothing. */
  readonly assess?: Exclude<Assess, 'report'>
  /** The session value under which its output is kept whenever it completes. */
  readonly outputKey?: string
  /** Declared version. Default `1`. */
  readonly version?: string
}

const flowChecks = (members: readonly Agent[]): Checks<FlowOptions<string, readonly Agent[]>> => ({
  ...composedChecks,
  agents: required(either(isFunction, agentsCheck)),
  edge: edgesCheck(members.filter(isAgent), memberEdgeChecks),
})

/** How a loop is told. */
export interface LoopOptions<Name extends string, Agents extends readonly Agent[]> extends FlowOptions<Name, Agents> {
  /** How often at most. `Infinity` must be said; then only a break, an exit, a failure or a limit ends it. */
  readonly maxIterations: number
}

const loopChecks = (members: readonly Agent[]): Checks<LoopOptions<string, readonly Agent[]>> => ({
  ...flowChecks(members),
  maxIterations: required(
    expects(
      (given) => given === Infinity || (Number.isInteger(given) && (given as number) > 0),
      'a whole number of at least 1, or Infinity',
    ),
  ),
})

/**
 * One after another; each is shown what was said before it. Its output is that of the last one. An agent that does not
 * complete ends it in the same way. Throws `team.invalid` with everything that is wrong.
 */
export function sequential<const Name extends string, const Agents extends readonly Agent[]>(
  options: FlowOptions<Name, Agents>,
): Agent<Name, string, Json> {
  const flow = new FixedOrderAgent('sequential', options, (run) => run.line('pass'))
  return renamable(flow, (name) => sequential({ ...options, name })) as unknown as Agent<Name, string, Json>
}

/**
 * Again and again in the same order, until an agent breaks it or `maxIterations` are done. Its output is that of the
 * last agent. Throws `team.invalid`.
 */
export function loop<const Name extends string, const Agents extends readonly Agent[]>(
  options: LoopOptions<Name, Agents>,
): Agent<Name, string, Json> {
  mustBeOptions(options, 'loop', 'team.invalid')
  const { maxIterations } = options
  const flow = new FixedOrderAgent('loop', options, (run) => again(run, maxIterations), String(maxIterations))
  return renamable(flow, (name) => loop({ ...options, name })) as unknown as Agent<Name, string, Json>
}

/**
 * All at once, blind to each other. It waits for all of them; its output is the list of theirs in the order of
 * declaration, and what they said is joined in that order. If one does not complete, neither does it. Throws
 * `team.invalid`.
 */
export function parallel<const Name extends string, const Agents extends readonly Agent[]>(
  options: FlowOptions<Name, Agents>,
): Agent<Name, string, Json[]> {
  const flow = new FixedOrderAgent('parallel', options, (run) => run.branches())
  return renamable(flow, (name) => parallel({ ...options, name })) as unknown as Agent<Name, string, Json[]>
}

/** How a piece of the order has ended: with an output so far, or for the whole order (`ends`). */
interface OrderEnd {
  readonly outcome: Outcome
  readonly ends: boolean
  readonly breaks?: string | undefined
  /** Whose answer the output is, if it is that of one agent. */
  readonly answeredBy?: string
}

const completedSoFar = (output: Json): OrderEnd => ({ outcome: completed(output), ends: false })

async function again(run: FixedOrderRun, maxIterations: number): Promise<OrderEnd> {
  let last = completedSoFar(null)
  if (run.agents.length === 0) return last
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    const { breaks, ...ended } = await run.line('stop')
    last = ended
    if (last.ends) return last // whatever ended it, a break in it was meant for this loop
    if (breaks !== undefined) {
      run.ctx.emit({ type: 'loop.broken', from: breaks, iteration })
      return last
    }
  }
  return last
}

/** One activation of a fixed order. */
class FixedOrderRun {
  readonly ctx: Context
  readonly agents: readonly Agent[]
  readonly #edge: Edge
  readonly #options: EdgeOptions
  readonly #conversation: FlowConversation
  readonly #begunAt: number
  #path: readonly string[]
  #hops: number
  #did = false

  constructor(ctx: Context, edge: Edge, agents: readonly Agent[], options: EdgeOptions) {
    this.ctx = ctx
    this.agents = agents
    this.#edge = edge
    this.#options = options
    this.#conversation = FlowConversation.of(edge)
    this.#path = ctx.place.path
    this.#hops = this.#begunAt = edge.flow?.hops ?? 0
  }

  /**
   * One after another. `pass`: a break is for a loop further out, and the rest still works. `stop`: no agent works
   * after it.
   */
  async line(onBreak: 'pass' | 'stop'): Promise<OrderEnd> {
    let last = completedSoFar(null)
    let breaks: string | undefined
    for (const agent of this.agents) {
      this.#path = [...this.#path, agent.name]
      const outcome = await this.#work(this.ctx.scope('step'), agent, this.#path)
      this.#take(agent, outcome)
      const { answeredBy = agent.name, action, breaks: broken } = handoffOf(outcome)
      breaks ??= broken
      last = {
        outcome,
        answeredBy,
        ends: outcome.status !== 'completed' || action !== undefined,
      }
      if (last.ends || (breaks !== undefined && onBreak === 'stop')) break
    }
    return { ...last, breaks }
  }

  /** All at once. */
  async branches(): Promise<OrderEnd> {
    const outcomes = await Promise.all(
      this.agents.map((agent) => this.#work(this.ctx.scope('branch'), agent, [...this.#path, agent.name])),
    )
    this.agents.forEach((agent, i) => this.#take(agent, outcomes[i]!))
    const breaks = outcomes.map((outcome) => handoffOf(outcome).breaks).find((from) => from !== undefined)
    const bad = outcomes.find(({ status }) => status !== 'completed')
    if (bad !== undefined) return { outcome: bad, ends: true, breaks }
    const exited = outcomes.find((outcome) => handoffOf(outcome).action !== undefined)
    if (exited !== undefined) return { outcome: exited, ends: true, breaks }
    return {
      ...completedSoFar(outcomes.map((outcome) => (outcome.status === 'completed' ? outcome.output : null))),
      breaks,
    }
  }

  /** How all of it has ended, with what it leaves. */
  end({ outcome, breaks, answeredBy }: OrderEnd): Outcome {
    const { action } = handoffOf(outcome)
    return withHandoff(outcome, {
      said: this.#conversation.said,
      ...(answeredBy === undefined ? undefined : { answeredBy }),
      ...(this.#did ? { did: true as const } : undefined),
      ...(action === undefined ? undefined : { action }),
      ...(breaks === undefined ? undefined : { breaks }),
      ...(this.#hops === this.#begunAt ? undefined : { hops: this.#hops - this.#begunAt }),
    })
  }

  #work(ctx: Context, agent: Agent, path: readonly string[]): Promise<Outcome> {
    const policy = edgeOf(this.#options, agent.name)
    return runMember(ctx, this.#edge, agent, { path, policy, conversation: this.#conversation, hops: this.#hops })
  }

  #take(agent: Agent, outcome: Outcome): void {
    const { said, hops = 0, did = false } = handoffOf(outcome)
    this.#did ||= did
    this.#conversation.add(agent.name, said, edgeOf(this.#options, agent.name).shares, outcome)
    this.#hops += hops
  }
}

type Order = (run: FixedOrderRun) => Promise<OrderEnd>

class FixedOrderAgent extends DefinedAgent {
  readonly #given: FlowOptions<string, readonly Agent[]>
  readonly #order: Order
  readonly #word: string
  readonly #bound: string | undefined
  readonly #members: MemberList

  constructor(word: string, given: FlowOptions<string, readonly Agent[]>, order: Order, bound?: string) {
    mustBeOptions(given, word, 'team.invalid')
    const members = new MemberList(given.agents)
    super({ ...given, team: () => members.names, reaches: given.agents })
    this.#members = members
    this.#given = given
    this.#order = order
    this.#word = word
    this.#bound = bound
    if (members.known) checkTree(this)
  }

  members(): readonly Agent[] {
    return this.#members.agents
  }

  protected madeVersion(): string {
    const { limits, oversight, outputKey } = this
    return versionOf(this.#given.version, {
      ...(dataOf({ limits, oversight, outputKey, workers: this.#members.names }) as { readonly [name: string]: Json }),
      order: this.#word,
      ...present({ edge: dataIn(this.#given.edge) }),
      ...(this.#bound === undefined ? undefined : { bound: this.#bound }),
    })
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    const run = new FixedOrderRun(ctx, edge, membersOf(edge, this.members()), this.#given.edge ?? {})
    const ended = run.end(await this.#order(run))
    return leavesHandoff(edge) ? ended : withoutHandoff(ended)
  }

  related(): readonly Agent[] {
    return this.members()
  }

  usdCaps(): readonly UsdCap[] {
    return memberCaps(this.members(), this.#given.edge, 'edge')
  }

  problems(): readonly string[] {
    const checks: Checks<object> = (this.#word === 'loop' ? loopChecks : flowChecks)(this.members())
    const options = { ...this.#given, agents: this.#members.given }
    return optionProblems(checks, options, `${this.#word} "${this.name}"`, factRule)
  }
}
