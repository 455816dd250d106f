/**
 * sequential, loop, parallel: agents in an order that is fixed beforehand. Agents themselves, so they nest in each
 * other and under routers at any depth.
 *
 * Owns: the three constructors and the order. Does not own: what crosses to a member and back (member.ts,
 * conversation.ts), control by choice (control-loop.ts).
 * Holds: K3, K4 (a scope for every step, iteration and branch). An exit ends everything above, a break the nearest
 * loop; both are read when a member has ended.
 */
import type { Context, StepIO } from '@reeve/engine'
import {
  choice,
  completed,
  copy,
  described,
  either,
  expects,
  failed,
  failure,
  functionCheck,
  handoffOf,
  isFunction,
  mustBeOptions,
  optionProblems,
  present,
  required,
  withHandoff,
  withoutHandoff,
  type Checks,
  type Failure,
  type Json,
  type Outcome,
  type Rule,
} from '@reeve/core'
import {
  agentsCheck,
  callHook,
  composedChecks,
  dataIn,
  dataOf,
  defineAgent,
  factRule,
  isAgent,
  checkTree,
  renamable,
  type Agent,
  type AgentKind,
  type AgentParts,
  type Assess,
  type InputOf,
  type NameOf,
  type OutputOf,
} from '@reeve/agent'
import {
  leavesHandoff,
  schemaMisfit,
  type Brief,
  type Edge,
  type JsonSchema,
  type Limits,
  type Oversight,
  type Schema,
} from '@reeve/edge'
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
  /** How often at most. `Infinity` must be said; then only `until`, a break, an exit, a failure or a limit ends it. */
  readonly maxIterations: number
  /**
   * Asked after each iteration with its output, that of the last agent: `true` ends the loop with this output. Its
   * reply is recorded, so it may be asynchronous and read the world; it has a deadline (`deadlines.functionMs`). If it
   * throws, the loop fails with `hook.failed`. Default: no such question.
   */
  readonly until?: Until<LastOutput<Agents>>
  /**
   * What `maxIterations` without a `true` of `until` come to. `complete` (default): the loop completes with the last
   * output, and its outcome has `reached: false`. `fail`: it fails with `loop.not-reached`. Only with `until`.
   */
  readonly onBound?: 'complete' | 'fail'
}

/** Whether a loop has done enough. `iteration`: which one has just ended, from 0. */
export type Until<Output = Json> = (
  output: Output,
  about: { readonly iteration: number; readonly signal: AbortSignal },
) => boolean | Promise<boolean>

/** The input of a chain is that of its first agent. */
type FirstInput<Agents extends readonly Agent[]> = Agents extends readonly [infer First, ...unknown[]]
  ? InputOf<First>
  : string
/** The output of a chain is that of its last agent. */
type LastOutput<Agents extends readonly Agent[]> = Agents extends readonly [...unknown[], infer Last]
  ? OutputOf<Last>
  : Json
/** The input of agents that work at once: what all those take that have an input of their own. */
type SharedInput<Agents extends readonly Agent[]> = Agents extends readonly [infer First, ...infer Rest extends Agent[]]
  ? string extends InputOf<First>
    ? SharedInput<Rest>
    : Rest extends readonly []
      ? InputOf<First>
      : string extends SharedInput<Rest>
        ? InputOf<First>
        : InputOf<First> & SharedInput<Rest>
  : string
/** The outputs of agents that work at once, in their order. */
type AllOutputs<Agents extends readonly Agent[]> = number extends Agents['length']
  ? Json[]
  : { -readonly [Index in keyof Agents]: OutputOf<Agents[Index]> }

/** Stands in the place of an agent that does not take what the agent before it gives; compilers show its member. */
interface Misfit<Name extends string> {
  readonly 'its input does not take the output of the agent before it': Name
}
/** An agent after one with this output. One without an `input` takes everything: it reads what was said. */
type After<Before, Next> =
  string extends InputOf<Next>
    ? Next
    : unknown extends Before
      ? Next
      : Json extends Before
        ? Next
        : [Before] extends [InputOf<Next>]
          ? Next
          : Misfit<NameOf<Next>>
/** A chain as the compiler checks it: each agent with an `input` takes what the one before it gives. */
type Chain<Agents extends readonly unknown[], Before = unknown> = Agents extends readonly [infer Next, ...infer Rest]
  ? readonly [After<Before, Next>, ...Chain<Rest, OutputOf<Next>>]
  : readonly []
/** What a list of agents that fit together adds to the options: nothing. Of a list without a fixed length nothing is known. */
type Fitting<Agents extends readonly Agent[], Before = unknown> = number extends Agents['length']
  ? unknown
  : Agents extends Chain<Agents, Before>
    ? unknown
    : { readonly agents: Chain<Agents, Before> }

const loopChecks = (members: readonly Agent[]): Checks<LoopOptions<string, readonly Agent[]>> => ({
  ...flowChecks(members),
  maxIterations: required(
    expects(
      (given) => given === Infinity || (Number.isInteger(given) && (given as number) > 0),
      'a whole number of at least 1, or Infinity',
    ),
  ),
  until: functionCheck,
  onBound: choice('complete', 'fail'),
})
const loopRule: Rule<Partial<LoopOptions<string, readonly Agent[]>>> = ({ onBound, until }, where) => [
  onBound !== undefined && until === undefined && `${where}: onBound without until: there is nothing to reach`,
]

/**
 * One after another. An agent with an `input` of its own takes the output of the one before it as its input; one
 * without is shown what was said. Its own input is that of the first agent, its output that of the last. An agent that
 * does not complete ends it in the same way. Throws `team.invalid` with everything that is wrong, an agent that cannot
 * take what the one before it gives among it.
 */
export function sequential<const Name extends string, const Agents extends readonly Agent[]>(
  options: FlowOptions<Name, Agents> & Fitting<Agents>,
): Agent<Name, FirstInput<Agents>, LastOutput<Agents>> {
  const order: FixedOrder = { name: 'sequential', run: (run) => run.oneByOne('pass') }
  return fixedOrder(options, order) as never
}

/**
 * Again and again in the same order, until `until` says so, an agent breaks it, or `maxIterations` are done: the `reached` of its outcome, or `onBound`, tells the two apart. From one
 * agent to the next as in `sequential`, and from the last to the first of the next iteration. Its output is that of the
 * last agent. Throws `team.invalid`.
 */
export function loop<const Name extends string, const Agents extends readonly Agent[]>(
  options: LoopOptions<Name, Agents> & Fitting<Agents, LastOutput<Agents>>,
): Agent<Name, FirstInput<Agents>, LastOutput<Agents>> {
  mustBeOptions(options, 'loop', 'team.invalid')
  const { maxIterations, onBound } = options
  const bound = onBound === 'fail' ? `${maxIterations} fail` : String(maxIterations)
  const rule: LoopRule = { maxIterations, until: options.until as Until | undefined, fails: onBound === 'fail' }
  const order: FixedOrder = { name: 'loop', bound, run: (run) => again(run, rule) }
  return fixedOrder(options, order) as never
}

/**
 * All at once, blind to each other; those with an `input` of their own take that of the whole. It waits for all of
 * them; its output is the list of theirs in the order of declaration, and what they said is joined in that order. If one
 * does not complete, neither does it. Throws `team.invalid`.
 */
export function parallel<const Name extends string, const Agents extends readonly Agent[]>(
  options: FlowOptions<Name, Agents>,
): Agent<Name, SharedInput<Agents>, AllOutputs<Agents>> {
  return fixedOrder(options, { name: 'parallel', run: (run) => run.branches() }) as never
}

/** One of the three orders. */
interface FixedOrder {
  readonly name: 'sequential' | 'loop' | 'parallel'
  readonly run: (run: FixedOrderRun) => Promise<OrderEnd>
  /** What its version holds besides. */
  readonly bound?: string
}

function fixedOrder(options: FlowOptions<string, readonly Agent[]>, order: FixedOrder): Agent {
  const parts = fixedOrderParts(options, order)
  const made = defineAgent(fixedOrderAgent, parts)
  if (parts.members.known) checkTree(made)
  return renamable(made, (name) => fixedOrder({ ...options, name }, order))
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

interface LoopRule {
  readonly maxIterations: number
  readonly until: Until | undefined
  /** It fails at its bound. */
  readonly fails: boolean
}

async function again(run: FixedOrderRun, { maxIterations, until, fails }: LoopRule): Promise<OrderEnd> {
  let last = completedSoFar(null)
  if (run.agents.length === 0) return last
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    const { breaks, ...ended } = await run.oneByOne('stop')
    last = ended
    if (last.ends) return last // whatever ended it, a break in it was meant for this loop
    if (breaks !== undefined) {
      run.ctx.emit({ type: 'loop.broken', from: breaks, iteration })
      return last
    }
    const enough = until === undefined ? false : await run.isEnough(until, last.outcome, iteration)
    if (enough === true) return asReached(last, true)
    if (enough !== false) return { outcome: failed(enough), ends: true }
  }
  if (until === undefined) return last
  return fails
    ? { outcome: failed(notReached(run.ctx.place.agent, maxIterations)), ends: true }
    : asReached(last, false)
}

const asReached = ({ outcome, ...end }: OrderEnd, reached: boolean): OrderEnd => ({
  ...end,
  outcome: outcome.status === 'completed' ? { ...outcome, reached } : outcome,
})

const notReached = (name: string, iterations: number): Failure =>
  failure(
    'loop.not-reached',
    `"${name}": until was not true after ${iterations} ${iterations === 1 ? 'iteration' : 'iterations'}`,
    'validation',
    {
      details: { agent: name, iterations },
      hint: 'Raise maxIterations, or let the loop complete with its last output: set onBound to "complete".',
    },
  )

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
  /** The output of the agent that worked last, if one has. */
  #before: { readonly agent: string; readonly output: Json } | undefined

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
  async oneByOne(onBreak: 'pass' | 'stop'): Promise<OrderEnd> {
    let last = completedSoFar(null)
    let breaks: string | undefined
    for (const agent of this.agents) {
      this.#path = [...this.#path, agent.name]
      const outcome = await this.#step(agent)
      this.#take(agent, outcome)
      if (outcome.status === 'completed') this.#before = { agent: agent.name, output: outcome.output }
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

  /** The next agent of a chain: one with an input of its own takes what the one before it gave. */
  async #step(agent: Agent): Promise<Outcome> {
    const ctx = this.ctx.scope('step')
    const { inputSchema } = agent
    if (inputSchema === undefined || this.#before === undefined) return this.#work(ctx, agent, this.#path)
    const { agent: before, output } = this.#before
    const checked = inputSchema.check(output)
    if (checked.ok) return this.#work(ctx, agent, this.#path, { input: output })
    return failed(
      failure(
        'input.invalid',
        `"${agent.name}" does not take what "${before}" gave: ${checked.problem}`,
        'validation',
        {
          details: { agent: agent.name, before, path: [...this.#path] },
          hint: `Give "${before}" an \`output\` that fits the \`input\` of "${agent.name}".`,
        },
      ),
    )
  }

  /** Whether a loop has done enough; a failure if that could not be found out. */
  async isEnough(until: Until, outcome: Outcome, iteration: number): Promise<boolean | Failure> {
    if (outcome.status !== 'completed') return false
    const { output } = outcome
    const ask = ({ signal }: StepIO): unknown => until(copy(output), { iteration, signal })
    const read = (given: Json): string | undefined =>
      typeof given === 'boolean' ? undefined : `it returned ${described(given)}; expected true or false`
    const reply = await callHook<boolean>(this.ctx.scope('until'), 'until', ask, read)
    if (reply.failure === undefined) return reply.reply ?? false
    return {
      ...reply.failure,
      hint: 'Its error is in the journal, as `hook.failed`: run.events(), or reeve events <run>',
    }
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
      ...present({ answeredBy }),
      ...(this.#did ? { did: true as const } : undefined),
      ...present({ action, breaks }),
      ...(this.#hops === this.#begunAt ? undefined : { hops: this.#hops - this.#begunAt }),
    })
  }

  #work(ctx: Context, agent: Agent, path: readonly string[], brief?: Brief): Promise<Outcome> {
    const policy = edgeOf(this.#options, agent.name)
    const turn = { path, policy, conversation: this.#conversation, hops: this.#hops, ...present({ brief }) }
    return runMember(ctx, this.#edge, agent, turn)
  }

  #take(agent: Agent, outcome: Outcome): void {
    const { said, hops = 0, did = false } = handoffOf(outcome)
    this.#did ||= did
    this.#conversation.add(agent.name, said, edgeOf(this.#options, agent.name).shares, outcome)
    this.#hops += hops
  }
}

interface FixedOrderParts extends AgentParts<FlowOptions<string, readonly Agent[]>> {
  readonly order: FixedOrder
  readonly members: MemberList
}

function fixedOrderParts(options: FlowOptions<string, readonly Agent[]>, order: FixedOrder): FixedOrderParts {
  mustBeOptions(options, order.name, 'team.invalid')
  const members = new MemberList(options.agents)
  const known = members.known ? members.agents : []
  const isParallel = order.name === 'parallel'
  return {
    options,
    order,
    members,
    inputSchema: isParallel ? sharedInput(known) : known[0]?.inputSchema,
    outputSchema: isParallel ? undefined : known.at(-1)?.outputSchema,
    team: () => members.names,
    reaches: options.agents,
  }
}

const fixedOrderAgent: AgentKind<FixedOrderParts> = {
  data: ({ options, order, members }, { limits, oversight, outputKey }) => ({
    // its schemas are those of its members
    ...dataOf(present({ limits, oversight, outputKey }), { workers: members.names }),
    order: order.name,
    ...present({ edge: dataIn(options.edge), bound: order.bound }),
  }),
  async orchestrate({ options, order, members }, ctx, edge) {
    const run = new FixedOrderRun(ctx, edge, membersOf(edge, members.agents), options.edge ?? {})
    const ended = run.end(await order.run(run))
    return leavesHandoff(edge) ? ended : withoutHandoff(ended)
  },
  related: ({ members }) => members.agents,
  problems: ({ options, order: { name }, members }) => {
    const { agents } = members
    const checks: Checks<object> = (name === 'loop' ? loopChecks : flowChecks)(agents)
    const where = `${name} "${options.name}"`
    const rule: Rule<object> = (given, at) => [...factRule(given, at), ...(name === 'loop' ? loopRule(given, at) : [])]
    const problems = optionProblems(checks, { ...options, agents: members.given }, where, rule)
    if (name === 'parallel') return problems
    const { maxIterations = 1 } = options as Partial<LoopOptions<string, readonly Agent[]>>
    const steps = agents.map((next, i) => [i === 0 ? undefined : agents[i - 1], next] as const)
    if (maxIterations > 1) steps.push([agents.at(-1), agents[0]!])
    return [...problems, ...steps.flatMap(([before, next]) => misfit(before, next).map((why) => `${where}: ${why}`))]
  },
  more: ({ options, members }) => ({
    members: () => members.agents,
    usdCaps: () => memberCaps(members.agents, options.edge, 'edge'),
  }),
}

/** Why an agent cannot take what the one before it gives, as far as their schemas say. */
function misfit(before: Agent | undefined, next: Agent | undefined): readonly string[] {
  if (before === undefined || next?.inputSchema === undefined) return []
  const given = before.outputSchema === undefined ? textOf(before) : before.outputSchema.outputJson
  const why = given === undefined ? undefined : schemaMisfit(given, next.inputSchema.json)
  return why === undefined ? [] : [`"${next.name}" does not take what "${before.name}" before it gives: ${why}`]
}

/** An agent with a model and without an `output` gives a text. Of any other agent without one nothing is known. */
const textOf = (agent: Agent): JsonSchema | undefined =>
  agent.model !== undefined && agent.members === undefined ? { type: 'string' } : undefined

/** The input of agents that work at once: it has to fit all those that have one of their own. */
function sharedInput(agents: readonly Agent[]): Schema | undefined {
  const [first, ...rest] = agents.flatMap(({ inputSchema }) => (inputSchema === undefined ? [] : [inputSchema]))
  if (first === undefined || rest.length === 0) return first
  const all = [first, ...rest]
  return {
    json: { allOf: all.map(({ json }) => json) },
    check(value) {
      for (const schema of all) {
        const checked = schema.check(value)
        if (!checked.ok) return checked
      }
      return { ok: true, value }
    },
  }
}
