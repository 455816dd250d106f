/**
 * Code supervisor: a supervisor led by a function. The leader's code receives its team as an object, where a model has
 * verbs.
 *
 * Owns: that object, the agent made of the function. Does not own: the steps of a delegation
 * (delegation/delegations.ts): hooks, filters and slots are the same for code and models; how code runs as an agent
 * (../agent).
 * Holds: K3: delegations are numbered in the order of the calls in the code, so replay gives them the same labels.
 */
import {
  asText,
  failed,
  failure,
  FailureError,
  handoffOf,
  isObject,
  optionProblems,
  refuseProblems,
  wholeNumber,
  withHandoff,
  type Checks,
  type Failure,
  type HistoryEntry,
  type Json,
  type Outcome,
  type ToolMessage,
} from '@reeve/core'
import {
  DefinedAgent,
  runCode,
  type Agent,
  type AgentProblem,
  type AgentContext,
  type InputOf,
  type NameOf,
  type OutputOf,
  type HandoffContext,
  type UsdCap,
} from '@reeve/agent'
import { briefOf, type Edge, type EdgeMessage, type Limits, type Oversight, type Schema } from '@reeve/edge'
import { isLeaving, type Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { delegationCaps, isDelegating, type VerbNames } from './delegation/options.ts'
import { refuseDelegation, type DelegationEntry, type LeaderState } from './delegation/delegations.ts'
import { emptyRefusal, type Roster } from './roster.ts'
import { TeamToolbox, type LeaderPolicy } from './team-toolbox.ts'
import { isForwardable, nothingToForward } from './leader-tools.ts'

/** The result of a delegation by code. */
export interface DelegationResult<O = Json> {
  readonly worker: string
  /** `d1` for the first, `d2` for the second, … in the order of the calls. */
  readonly delegation: string
  /** The worker's outcome. A worker that never began has failed, and the failure says why. */
  readonly outcome: Outcome<O>
  /**
   * The result as text, as a model in the leader's place would see it; `onComplete` may have replaced it. Never empty.
   */
  readonly text: string
  /** What a model in the leader's place would see besides: feedback of `onComplete`, questions of the worker. */
  readonly feedback?: string
}

/** Options of one delegation. */
export interface TeamDelegateOptions {
  /** The limit of turns for the worker. Never more than its definition allows. */
  readonly turns?: number
}

const delegateChecks: Checks<TeamDelegateOptions> = { turns: wholeNumber(1) }

type WorkerNamed<Worker extends Agent, Name> = Extract<Worker, { readonly name: Name }>

/** The team of a leader that is code. */
export interface OwnTeam<Worker extends Agent = Agent> {
  /** The members of the team, in the order in which they joined. */
  readonly names: readonly NameOf<Worker>[]
  /**
   * Gives a worker a brief and waits for its outcome, under everything that `delegation` says: hooks, filters, slots.
   * Several may run at once. A worker that fails or is refused is an outcome; only `Cancelled` rejects. Await every
   * call: work still pending when the code ends is stopped and ends `cancelled` before the leader does, `onComplete`
   * receives its end, and the journal names it (`fact.noted`, `delegations.left`). If `onComplete` bails, the call
   * still resolves, later delegations are refused, and the supervisor ends `bailed`, whatever the code returns.
   */
  delegate<const Name extends NameOf<Worker>>(
    worker: Name,
    brief: InputOf<WorkerNamed<Worker, Name>>,
    options?: TeamDelegateOptions,
  ): Promise<DelegationResult<OutputOf<WorkerNamed<Worker, Name>>>>
  /**
   * The output of a worker, to be returned unchanged; records that it was forwarded. A worker's name means its last
   * output in the order of the calls; a label such as `d1` means one delegation. Throws `work.rejected` if there is no
   * output.
   */
  forward<const Name extends NameOf<Worker>>(worker: Name): OutputOf<WorkerNamed<Worker, Name>>
  forward(delegation: `d${number}`): Json
  /** Adds a specialist to the team for the rest of this run. A failure says why not. */
  recruit(worker: NameOf<Worker>, reason: string): Failure | undefined
}

/** The team for Reeve's own leaders, which also need to know whether a hook has ended the work. */
export interface LeaderTeam extends OwnTeam {
  readonly bailed: Outcome | undefined
}

/** The function of a leader that is code. */
export type LeaderFunction = (
  ctx: AgentContext,
  brief: unknown,
  team: LeaderTeam,
  handoffContext: HandoffContext,
) => unknown

/** The team of one activation. */
class CodeTeam implements LeaderTeam {
  /** The calls and results as messages, for readers of the handoff record. */
  readonly said: HistoryEntry[] = []
  /** The outcome with which a hook ended the work. */
  bailed: Outcome | undefined
  readonly #leader: string
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #state: TeamToolbox
  readonly #roster: Roster
  readonly #verb: string
  readonly #handoffContext: HandoffContext
  #calls: ToolCall[] = []
  /** Pending delegations. */
  readonly #open = new Set<Promise<unknown>>()

  constructor(
    policy: LeaderPolicy,
    names: readonly string[],
    ctx: Context,
    edge: Edge,
    handoffContext: HandoffContext,
  ) {
    this.#leader = policy.leader
    this.#ctx = ctx
    this.#edge = edge
    this.#state = new TeamToolbox(policy, names)
    this.#roster = policy.roster
    this.#verb = policy.verbs.delegate
    this.#handoffContext = handoffContext
  }

  get names(): readonly string[] {
    return [...this.#state.names]
  }

  readonly delegate = (
    worker: string,
    given: unknown,
    options: TeamDelegateOptions = {},
  ): Promise<DelegationResult<never>> => {
    const work = this.#runDelegation(worker, given, options)
    this.#open.add(work)
    const ended = (): boolean => this.#open.delete(work)
    work.then(ended, ended)
    return work
  }

  /**
   * Ends the team with the code. Pending delegations are stopped, `onComplete` receives each end, and the journal names
   * them.
   */
  async close(): Promise<void> {
    if (this.#open.size === 0) return
    const left = this.#state.delegations.leave('its leader ended without waiting for it')
    if (left.length > 0) this.#ctx.emit({ type: 'fact.noted', name: 'delegations.left', data: { delegations: left } })
    await Promise.allSettled(this.#open)
  }

  async #runDelegation(worker: string, given: unknown, options: TeamDelegateOptions): Promise<DelegationResult<never>> {
    refuseProblems('input.invalid', optionProblems(delegateChecks, options, 'team.delegate'))
    const { turns } = options
    const brief = briefOf((given ?? '') as Json)
    const input: Json = 'input' in brief ? { worker, input: brief.input } : { worker, instructions: brief.instructions }
    const call: ToolCall = { id: `d${this.#calls.length + 1}`, name: this.#verb, input }
    this.#calls.push(call)
    const place = this.#state.delegations.place(call)
    const notes: string[] = []
    const scope = this.#ctx.scope('delegate')
    const { content, isError, finish, refused } = this.#state.names.includes(worker)
      ? await this.#state.delegate(
          scope,
          call,
          this.#leaderState(notes),
          { worker, brief, ...(turns === undefined ? undefined : { turns }) },
          place,
        )
      : refuseDelegation(scope, call, worker, this.#unknown(worker), place.label)
    if (finish?.outcome.status === 'bailed') this.bailed ??= finish.outcome
    this.#note(call, {
      role: 'tool',
      callId: call.id,
      name: call.name,
      content,
      ...(isError === true ? { isError } : undefined),
    })
    const outcome =
      refused === undefined && place.entry?.outcome !== undefined
        ? place.entry.outcome
        : failed(refused ?? unendedFailure(asText(content)))
    return {
      worker,
      delegation: place.label,
      outcome: outcome as Outcome<never>,
      text: asText(content),
      ...(notes.length === 0 ? undefined : { feedback: notes.join('\n\n') }),
    }
  }

  readonly forward = (what: string): never => {
    const { list } = this.#state.delegations
    const found =
      list.find(({ label }) => label === what) ??
      list.findLast((each: DelegationEntry) => each.worker === what && isForwardable(each))
    if (found === undefined || !isForwardable(found))
      throw new FailureError(failure('work.rejected', nothingToForward(what, list), 'validation'))
    this.#ctx.emit({ type: 'output.forwarded', worker: found.worker, delegation: found.id })
    return found.output as never
  }

  readonly recruit = (worker: string, reason: string): Failure | undefined => {
    const refused = this.#state.recruit(worker)
    if (refused === undefined) this.#ctx.emit({ type: 'worker.recruited', worker, reason })
    return refused
  }

  #unknown(worker: string): Failure {
    const names = this.#state.names.join(', ')
    const hint = this.#roster.find(worker) === undefined ? '' : ' It must be recruited first.'
    return failure(
      'delegation.unknown-worker',
      `unknown worker "${worker}". Workers are: ${names}.${hint}`,
      'validation',
    )
  }

  #note(call: ToolCall, result: ToolMessage): void {
    const agent = this.#leader
    this.said.push({ agent, message: { role: 'assistant', content: '', calls: [call] } }, { agent, message: result })
  }

  /** What a delegation needs of its leader: the conversation, and a place for notes. */
  #leaderState(notes: string[]): LeaderState {
    return {
      edge: this.#edge,
      turn: 1,
      tell: (text) => void notes.push(text),
      view: (answerTo) => [
        ...this.#handoffContext.history.flatMap(({ agent, for: reader, message: { role, content } }): EdgeMessage[] => {
          if (reader !== undefined || typeof content !== 'string' || content === '') return []
          if (role === 'user') return [{ role, text: content }]
          return role === 'assistant' ? [{ role, text: content, ...(agent === undefined ? undefined : { agent }) }] : []
        }),
        ...this.#calls.flatMap(({ id, name }) => answerTo({ role: 'tool', callId: id, name, content: null }) ?? []),
      ],
    }
  }
}

const unendedFailure = (why: string): Failure => failure('delegation.refused', why, 'internal')

/** The parts of a code supervisor. */
export interface CodeSupervisorParts {
  readonly name: string
  readonly description: string
  readonly version: () => string
  readonly run: LeaderFunction
  /** The definition, for a leader with this one as its base. */
  readonly definition: () => object
  readonly policy: LeaderPolicy
  readonly inputSchema: Schema | undefined
  readonly limits: Limits | undefined
  readonly oversight?: Oversight | undefined
  readonly assess?: Agent['assess'] | undefined
  readonly outputKey: string | undefined
  readonly problems: () => readonly AgentProblem[]
}

/** A leader that is code, as an agent. */
export class CodeSupervisor extends DefinedAgent {
  readonly #parts: CodeSupervisorParts

  constructor(parts: CodeSupervisorParts) {
    const { name, description, inputSchema, limits, oversight, assess, outputKey, policy } = parts
    const team = (): readonly string[] => policy.roster.workers().map((worker) => worker.name)
    const { reaches } = policy.roster
    super({
      name,
      description,
      inputSchema,
      parsesInput: true,
      outputSchema: policy.output,
      limits,
      oversight,
      assess,
      outputKey,
      team,
      reaches,
      hooked: ['delegation'],
    })
    this.#parts = parts
  }

  get definition(): object {
    return this.#parts.definition()
  }

  protected madeVersion(): string {
    return this.#parts.version()
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    const { policy, run } = this.#parts
    const names = edge.team.roster ?? policy.roster.workers().map((worker) => worker.name)
    if (names.length === 0 && policy.roster.specialists.length === 0) return failed(emptyRefusal(this.name))
    let team: CodeTeam | undefined
    const work = (own: AgentContext, brief: unknown, handoffContext: HandoffContext): unknown =>
      run(own, brief, (team = new CodeTeam(policy, names, own, edge, handoffContext)), handoffContext)
    const outcome = await runCode(this, ctx, edge, work).catch(async (thrown: unknown) => {
      if (isLeaving(thrown)) throw thrown
      await team?.close()
      if (team?.bailed === undefined) throw thrown
      return team.bailed
    })
    await team?.close()
    const { said, ...handoff } = handoffOf(outcome)
    const ended = team?.bailed ?? outcome
    if (edge.leader.report === true) return withHandoff(ended, { ...handoff, said: [...(team?.said ?? []), ...said] })
    return ended === outcome || edge.flow === undefined ? ended : withHandoff(ended, { said })
  }

  add(worker: Agent): void {
    this.#parts.policy.roster.add(worker)
  }

  remove(name: string): Agent | undefined {
    return this.#parts.policy.roster.remove(name)
  }

  related(): readonly Agent[] {
    return this.#parts.policy.roster.everyWorker()
  }

  usdCaps(): readonly UsdCap[] {
    const { delegation, roster } = this.#parts.policy
    return delegationCaps(delegation, roster.everyWorker())
  }

  problems(): readonly AgentProblem[] {
    return this.#parts.problems()
  }
}

/** The workers in a handoff record that returned a result, each once. */
export function delegatedWorkers(said: readonly HistoryEntry[], verbs: VerbNames): readonly string[] {
  const good = new Set(
    said.flatMap(({ message }) => (message.role === 'tool' && message.isError !== true ? [message.callId] : [])),
  )
  const calls = said.flatMap(({ message }) => (message.role === 'assistant' ? (message.calls ?? []) : []))
  return [...new Set(calls.flatMap((call) => (good.has(call.id) ? workersOfCall(call, verbs) : [])))]
}

/** The workers that a call delegates to. */
function workersOfCall({ name, input }: ToolCall, verbs: VerbNames): readonly string[] {
  const { worker, workers } = isObject(input) ? input : {}
  if (name === verbs.several) return Array.isArray(workers) ? workers.filter((each) => typeof each === 'string') : []
  if (name === verbs.delegate) return typeof worker === 'string' ? [worker] : []
  return isDelegating(name, verbs) ? [name.slice(verbs.delegate.length + 1)] : []
}
