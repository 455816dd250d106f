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
  contentFiles,
  contentText,
  failed,
  failure,
  FailureError,
  filesProblem,
  handoffOf,
  isObject,
  optionProblems,
  present,
  refuseProblems,
  valid,
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
  dataOf,
  runCode,
  schemasOf,
  type AgentContext,
  type AgentKind,
  type AgentParts,
  type HandoffContext,
} from '@reeve/agent'
import { briefOf, type Edge, type EdgeMessage } from '@reeve/edge'
import { isLeaving, type Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { isDelegating, type VerbNames } from './delegation/options.ts'
import { refuseDelegation, type DelegationEntry, type LeaderState } from './delegation/delegations.ts'
import { leaderMembers, leaderPolicy, teamParts, type LeaderMembers, type LeaderPolicy } from './leader.ts'
import { isForwardable, nothingToForward } from './leader-tools.ts'
import { codeSupervisorChecks, leaderProblems, versionedOptions, type AnySupervisorOptions } from './options.ts'
import type { DelegationResult, LeaderFunction, LeaderTeam, TeamDelegateOptions } from './own-team.ts'
import { emptyRefusal, type Roster } from './roster.ts'
import { TeamToolbox } from './team-toolbox.ts'

const delegateChecks: Checks<TeamDelegateOptions> = { turns: wholeNumber(1), files: valid(filesProblem) }

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
    this.#leader = policy.options.name
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
    const { turns, files } = options
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
          { worker, brief, ...present({ turns, files }) },
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
    const entry =
      list.find(({ label }) => label === what) ??
      list.findLast((each: DelegationEntry) => each.worker === what && isForwardable(each))
    if (entry === undefined || !isForwardable(entry))
      throw new FailureError(failure('work.rejected', nothingToForward(what, list), 'validation'))
    this.#ctx.emit({ type: 'output.forwarded', worker: entry.worker, delegation: entry.id })
    return entry.output as never
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
          if (reader !== undefined || role === 'tool' || role === 'system') return []
          const text = contentText(content)
          const files = role === 'user' ? contentFiles(content) : []
          if (text === '' && files.length === 0) return []
          return role === 'user'
            ? [{ role, text, ...(files.length > 0 && { files }) }]
            : [{ role, text, ...present({ agent }) }]
        }),
        ...this.#calls.flatMap(({ id, name }) => answerTo({ role: 'tool', callId: id, name, content: null }) ?? []),
      ],
    }
  }
}

const unendedFailure = (why: string): Failure => failure('delegation.refused', why, 'internal')

export interface CodeLeaderParts<
  Options extends AnySupervisorOptions = AnySupervisorOptions,
> extends AgentParts<Options> {
  readonly policy: LeaderPolicy
  readonly run: LeaderFunction
}

/** `leading`: makes its function from its policy. */
export function codeLeaderParts<Options extends AnySupervisorOptions>(
  options: Options,
  leading: (policy: LeaderPolicy) => LeaderFunction,
  where = `supervisor "${options.name}"`,
): CodeLeaderParts<Options> {
  const schemas = schemasOf(options, where)
  const policy = leaderPolicy(options, schemas.outputSchema)
  const run = leading(policy)
  return { options, policy, run, ...schemas, ...teamParts(policy), parsesInput: true, hooked: ['delegation'] }
}

export const codeLeader: AgentKind<CodeLeaderParts, LeaderMembers> = {
  data: ({ options, policy: { roster } }, agent) => ({
    ...dataOf(agent, { workers: roster.names() }),
    ...versionedOptions(options),
  }),
  async orchestrate({ policy, run }, ctx, edge, agent) {
    const names = edge.team.roster ?? policy.roster.names()
    if (names.length === 0 && policy.roster.specialists.length === 0) return failed(emptyRefusal(agent.name))
    let team: CodeTeam | undefined
    const work = (agentCtx: AgentContext, brief: unknown, handoffContext: HandoffContext): unknown =>
      run(agentCtx, brief, (team = new CodeTeam(policy, names, agentCtx, edge, handoffContext)), handoffContext)
    const outcome = await runCode(agent, ctx, edge, work).catch(async (thrown: unknown) => {
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
  },
  related: ({ policy }) => policy.roster.everyWorker(),
  problems: ({ options, policy: { roster } }) => leaderProblems(options, roster, codeSupervisorChecks(roster)),
  more: ({ policy }) => leaderMembers(policy),
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
