/**
 * Control loop of a router: who has control, what became of it, who has it next. Run and resume are
 * this same loop.
 *
 * Owns: the decision after each turn at the work (by choice of the one who had control, else by rule), the limit and
 * the loop check of transfers, the facts that record them.
 * Does not own: the definition (router.ts), what crosses (member.ts, conversation.ts), how a model chooses
 * (agent/tool/transfer-tool.ts).
 * Holds: K3; K4 (a scope for every hop). Control is decided from recorded ends, never from the position of an event in
 * a stream.
 */
import {
  asText,
  completed,
  failed,
  failure,
  handoffOf,
  own,
  present,
  transferTool,
  withHandoff,
  type Action,
  type HistoryEntry,
  type Outcome,
} from '@reeve/core'
import { outputAs, type Agent } from '@reeve/agent'
import {
  denies,
  narrow,
  transferPair,
  formatWorkerResult,
  type Candidate,
  type Edge,
  type Schema,
  labelled,
} from '@reeve/edge'
import { LocalsView, type Context } from '@reeve/engine'
import { failureCounterOf, workerEnd } from '@reeve/oversight'
import { FlowConversation } from './conversation.ts'
import { turnEdge, edgeOf, startMember, type EdgeOptions, type MemberEdge, type MemberTurn } from './member.ts'
import { transferLoopOf, type Hop } from './transfer-loop.ts'

/** When a worker gives control back: by rule when it ends; if it chooses to; not at all. */
export type Returns = 'always' | 'on-request' | 'never'

/** What crosses between a router and one of its workers, and what becomes of control. */
export interface TransferEdge extends MemberEdge {
  /** Default `always`. */
  readonly returns?: Returns
  /**
   * Who works after it by rule, in this order, each once, those who follow them included; then control goes on as
   * `returns` says.
   */
  readonly followedBy?: readonly string[]
  /**
   * What becomes of a worker that does not complete: the router's lead is told and goes on (default), or the router
   * ends in the same way. A worker that never returns ends it.
   */
  readonly onFailure?: 'tell' | 'end'
}

/** A router, as its control loop needs it. */
export interface RouterParts {
  readonly name: string
  /** The agent that thinks for the router. */
  readonly lead: Agent
  readonly workers: readonly Agent[]
  readonly description: string
  readonly transfer: EdgeOptions<string, TransferEdge>
  /** The agents to which each may hand control, where it is not what `returns` says. */
  readonly routes: ReadonlyMap<string, readonly string[] | undefined>
  readonly output: Schema | undefined
}

/** How often control may be handed on in a run, by default. */
const defaultTransfers = 50

/** The agent whose turn is next. */
interface NextTurn {
  readonly name: string
  readonly path: readonly string[]
  readonly task?: string | undefined
}

/** One activation of a router. */
export class ControlLoop {
  readonly #routing: RouterParts
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #conversation: FlowConversation
  readonly #begunAt: number
  readonly #hops: Hop[] = []
  #count: number
  #breaks: string | undefined
  #did = false
  /** The agents that still work by rule, and those that have since an agent last chose. */
  #queue: readonly string[] = []
  readonly #ruled = new Set<string>()
  /** The agents to which the one at work may hand control. */
  #to: readonly Candidate[] = []
  /** The last agent that had control, and its path. */
  active: string
  #at: readonly string[] = []

  constructor(routing: RouterParts, ctx: Context, edge: Edge) {
    this.#routing = routing
    this.#ctx = ctx
    this.#edge = edge
    this.#conversation = FlowConversation.of(edge)
    this.#count = this.#begunAt = edge.flow?.hops ?? 0
    this.active = routing.name
  }

  /** Works until an agent, a rule or a limit ends it. Resolves to the router's outcome, with its handoff record. */
  async follow(first: string): Promise<Outcome> {
    const { path } = this.#ctx.place
    let stop: NextTurn = { name: first, path: first === this.#routing.name ? path : [...path, first] }
    for (let isFirst = true; ; isFirst = false) {
      this.active = stop.name
      this.#at = stop.path
      const outcome = await this.#work(stop, isFirst)
      const { said, breaks, hops = 0, did = false } = handoffOf(outcome)
      this.#did ||= did
      this.#conversation.add(stop.name, said, this.#policy(stop.name).shares, outcome)
      this.#breaks ??= breaks
      this.#count += hops
      const next = this.#next(stop, outcome, said)
      if ('status' in next) return this.#end(next)
      stop = next
    }
  }

  /** The first turn of the lead is the router's own activation: one step of the path for one agent. */
  async #work(stop: NextTurn, isFirst: boolean): Promise<Outcome> {
    const { name, path, task } = stop
    const isLead = name === this.#routing.name
    const policy = this.#policy(name)
    // an agent that may not use the tool is not told of it either, and code may do no more than a model
    const may = narrow(this.#edge.bounds.permissions, policy.permissions)
    this.#to = may !== undefined && denies(may, transferTool) ? [] : this.#candidates(name)
    const turn: MemberTurn = { path, policy, conversation: this.#conversation, to: this.#to, hops: this.#count, task }
    const { inputSchema, model } = this.#routing.lead
    // its limits are those of the whole router, which has its account already
    const member = isLead ? { name, ...present({ inputSchema, model }) } : this.#worker(name)
    const edge = await turnEdge(this.#ctx, this.#edge, member, turn, isLead)
    if ('code' in edge) return failed(edge)
    if (isLead && isFirst)
      return labelled(await this.#routing.lead.orchestrate(new LocalsView(this.#ctx.scope('lead')), edge), name, path)
    const ctx = this.#ctx.scope('hop')
    const version = isLead ? ctx.place.version : undefined
    const outcome = labelled((await workerEnd(ctx, startMember(ctx, member, edge, turn, version))).outcome, name, path)
    if (!isLead) failureCounterOf(this.#ctx).note(outcome)
    return outcome
  }

  /** Who has control after this turn; an outcome if the router ends. */
  #next(stop: NextTurn, outcome: Outcome, said: readonly HistoryEntry[]): NextTurn | Outcome {
    const { action } = handoffOf(outcome)
    if (action?.type === 'exit') return outcome
    if (outcome.status !== 'completed') return this.#failed(stop, outcome)
    if (action !== undefined) {
      const allowed = this.#to.some(({ name }) => name === action.to)
      if (allowed) return this.#isMine(action.to) ? this.#chosen(stop, action, said, handoffOf(outcome).did) : outcome
      if (stop.name === this.#routing.name || !this.#returnsByRule(stop.name))
        return this.#failed(stop, failed(refused(stop, action, this.#to)))
    }
    return stop.name === this.#routing.name ? outcome : this.#byRule(stop, outcome, said)
  }

  /** By the choice of the agent that had control. It takes the place of every rule that is left. */
  #chosen(
    stop: NextTurn,
    action: Extract<Action, { type: 'transfer' }>,
    said: readonly HistoryEntry[],
    did = false,
  ): NextTurn | Outcome {
    this.#forget()
    const { to, task } = action
    // an agent further in may have chosen: it is from there that control goes on
    const from = action.path.at(-1) ?? stop.name
    const limit = this.#counted({ from, to, did: hasDone(said) || did, task }, action.path)
    if (limit !== undefined) return limit
    this.#record({
      from,
      path: action.path,
      to,
      by: action.callId === undefined ? 'code' : 'model',
      callId: action.callId,
      task,
    })
    return { name: to, path: [...action.path, to], task }
  }

  /** Those who follow by rule, then back to the lead, or the end. */
  #byRule(stop: NextTurn, outcome: Outcome, said: readonly HistoryEntry[]): NextTurn | Outcome {
    const { name, path } = stop
    const { followedBy = [], returns = 'always' } = this.#policy(name)
    if (!hasDone(said)) this.#tell(name, outcome)
    this.#ruled.add(name)
    // a rule may have been changed since, and name an agent that is not on this team
    const after = followedBy.filter(
      (each) => this.#isMine(each) && !this.#ruled.has(each) && !this.#queue.includes(each),
    )
    const [to, ...rest] = [...after, ...this.#queue]
    const limit = to === undefined ? undefined : this.#counted({ from: name, to, did: true }, path)
    if (limit !== undefined) return limit
    for (const each of after) this.#record({ from: name, path, to: each, by: 'rule' })
    this.#queue = rest
    if (to !== undefined) return { name: to, path: [...path, to] }
    if (returns !== 'always') return outcome
    return this.#back(stop, hasDone(said) || handoffOf(outcome).did === true)
  }

  /** The agent that had control has said nothing, or has failed: the others are told how it has ended. */
  #tell(name: string, outcome: Outcome): void {
    const { content } = formatWorkerResult(name, answersNothing(outcome) ? completed(null) : outcome)
    this.#conversation.add(name, [
      typeof content === 'string'
        ? { agent: name, message: { role: 'user', content } }
        : { agent: name, message: { role: 'assistant', content: asText(content) }, answer: true },
    ])
  }

  /** The rules that are left are void. */
  #forget(): void {
    this.#queue = []
    this.#ruled.clear()
  }

  /** Not counted, but part of the round that control makes. */
  #back({ name, path }: NextTurn, did: boolean): NextTurn {
    this.#forget()
    const to = this.#routing.name
    this.#hops.push({ from: name, to, did })
    this.#record({ from: name, path, to, by: 'rule' })
    return { name: to, path: [...path, to] }
  }

  /** A failure is content: the lead is told of it and goes on. */
  #failed(stop: NextTurn, outcome: Outcome): NextTurn | Outcome {
    const { returns = 'always', onFailure = 'tell' } = this.#policy(stop.name)
    if (stop.name === this.#routing.name || returns === 'never' || onFailure === 'end') return outcome
    this.#tell(stop.name, outcome)
    return this.#back(stop, true)
  }

  #end(outcome: Outcome): Outcome {
    const { action } = handoffOf(outcome)
    const passed = action?.type === 'exit' && action.scope === 'supervisor' ? undefined : action
    const by = handoffOf(outcome).answeredBy ?? this.active
    const handoff = {
      said: this.#conversation.said,
      ...(by === this.#routing.name ? undefined : { answeredBy: by }),
      ...(this.#did ? { did: true as const } : undefined),
      ...present({ action: passed }),
      ...(this.#breaks === undefined ? undefined : { breaks: this.#breaks }),
      ...(this.#count === this.#begunAt ? undefined : { hops: this.#count - this.#begunAt }),
    }
    // what leaves with an action is an answer of those further out, who see to it
    return withHandoff(passed !== undefined && this.#edge.flow !== undefined ? outcome : this.#fitted(outcome), handoff)
  }

  /** An answer of a worker must fit the output schema of the router, too. */
  #fitted(outcome: Outcome): Outcome {
    if (outcome.status !== 'completed' || this.active === this.#routing.name) return outcome
    const fits = outputAs(outcome.output, this.#routing.output)
    if (fits.ok) return completed(fits.value)
    const message = `the answer of "${this.active}" cannot be that of "${this.#routing.name}": ${fits.problem}`
    return failed(
      failure('output.invalid', message, 'validation', { details: { agent: this.active, path: [...this.#at] } }),
    )
  }

  /** Counts a transfer; an outcome if there may be no more. */
  #counted(hop: Hop, path: readonly string[]): Outcome | undefined {
    this.#hops.push(hop)
    const round = transferLoopOf(this.#hops)
    if (round !== undefined) {
      const message = `control goes round and no agent says anything: ${round.join(' > ')}`
      return failed(
        failure('transfer.loop', message, 'policy', {
          hint: 'Tell these agents who answers what, let them say what they did, or give them other routes.',
        }),
      )
    }
    const most = this.#edge.bounds.limits?.transfers ?? defaultTransfers
    if (this.#count >= most)
      return {
        status: 'limited',
        limit: 'transfers',
        message: `${most} transfers are used up: … ${[...path.slice(-4), hop.to].join(' > ')}`,
      }
    this.#count++
    return undefined
  }

  #record(transfer: {
    readonly from: string
    readonly path: readonly string[]
    readonly to: string
    readonly by: 'model' | 'code' | 'rule'
    readonly callId?: string | undefined
    readonly task?: string | undefined
  }): void {
    const { from, path, to, by, task, callId = this.#ctx.id('call') } = transfer
    this.#ctx.emit({
      type: 'agent.transferred',
      from,
      path,
      to,
      by,
      callId,
      ...present({ task }),
    })
    if (by !== 'model')
      this.#conversation.add(
        from,
        transferPair(to, callId).map((message) => ({ agent: from, message })),
      )
  }

  #returnsByRule(name: string): boolean {
    return (this.#policy(name).returns ?? 'always') === 'always'
  }

  #policy(name: string): TransferEdge {
    const { transfer, name: router } = this.#routing
    return name === router ? leadEdge(transfer, name) : edgeOf(transfer, name)
  }

  #isMine(name: string): boolean {
    return name === this.#routing.name || this.#routing.workers.some((worker) => worker.name === name)
  }

  #worker(name: string): Agent {
    return this.#routing.workers.find((worker) => worker.name === name)!
  }

  /**
   * The agents to which an agent may hand control. Default: the lead to every worker, and to the agents to which the
   * router itself may.
   */
  #candidates(name: string): readonly Candidate[] {
    const { name: router, workers, routes, description } = this.#routing
    const all = [...workers, { name: router, description }]
    const named = routes.get(name)?.flatMap((to) => all.filter((each) => each.name === to))
    if (name !== router)
      return listed(named ?? (this.#policy(name).returns === 'on-request' ? [{ name: router, description }] : []))
    return listed([...(named ?? workers), ...(this.#edge.flow?.to ?? [])])
  }
}

/**
 * What crosses to the lead. Permissions and a narrow context are meant for the workers: a lead that could not see their
 * answers could not lead.
 */
function leadEdge(transfer: RouterParts['transfer'], name: string): TransferEdge {
  const { agents, permissions: _permissions, limits: _limits, oversight: _oversight, context, ...all } = transfer
  const blind = context === undefined || context === 'brief' || context === 'input'
  return { ...all, ...(blind ? undefined : { context }), ...own(agents, name) }
}

/** Whether anything has come of a turn at the work besides handing it on. */
const hasDone = (said: readonly HistoryEntry[]): boolean =>
  said.some(
    ({ message }) =>
      (message.role === 'assistant' && (message.content !== '' || message.files !== undefined)) ||
      (message.role === 'tool' && message.name !== transferTool),
  )

/** Branches of which none has answered anything. */
const answersNothing = (outcome: Outcome): boolean =>
  outcome.status === 'completed' &&
  Array.isArray(outcome.output) &&
  outcome.output.every((each) => each === null || each === '')

/** Each name once; of two with one name the nearer one is meant. */
const listed = (candidates: readonly (Candidate & Pick<Agent, 'inputSchema'>)[]): readonly Candidate[] =>
  [...new Map(candidates.toReversed().map((each) => [each.name, described(each)])).values()].reverse()

const described = ({ name, description, inputSchema }: Candidate & Pick<Agent, 'inputSchema'>): Candidate => {
  const what = description.trim() === '' ? `An agent called ${name}.` : description.trim()
  // all that can be given with control is a text
  return {
    name,
    description:
      inputSchema === undefined ? what : `${what} Its task is JSON of this form: ${JSON.stringify(inputSchema.json)}`,
  }
}

const refused = ({ name, path }: NextTurn, { to }: Extract<Action, { type: 'transfer' }>, may: readonly Candidate[]) =>
  failure(
    'transfer.refused',
    `"${name}" hands over to "${to}", and may ${may.length === 0 ? 'not hand over at all' : `only to ${may.map((each) => each.name).join(', ')}`}`,
    'validation',
    { details: { agent: name, path: [...path] } },
  )
