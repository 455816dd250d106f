/**
 * human(): a person as an agent, who does the work or leads a team.
 *
 * Owns: the public constructor, and how a person leads: what they see and may answer. Does not own: how a person is
 * asked (../agent/human.ts), the steps of a delegation (code-supervisor.ts): a person who leads is a code leader whose
 * code asks the person.
 * Holds: K3: everything follows from recorded answers, in their order.
 */
import {
  described,
  FailureError,
  isObject,
  mustBeOptions,
  present,
  type Checks,
  type Json,
  type JsonObject,
  type Rule,
} from '@reeve/core'
import {
  answerBy,
  askHuman,
  channelsOf,
  checkOutput,
  outputAs,
  checkTree,
  defineAgent,
  humanAgent,
  humanChecks,
  humanData,
  humanRule,
  renamable,
  transferAnswer,
  type Agent,
  type AgentContext,
  type AgentKind,
  type AnyHuman,
  type CodeEnd,
  type HumanFacts,
  type HumanOptions,
  type NameOf,
  type HandoffContext,
} from '@reeve/agent'
import type { Checked, Infer, Schema, SchemaLike } from '@reeve/edge'
import { codeLeader, codeLeaderParts, type CodeLeaderParts } from './code-supervisor.ts'
import { leaderMembers, type LeaderMembers, type LeaderPolicy } from './leader.ts'
import { leaderProblems, teamChecks, type TeamFacts } from './options.ts'
import type { DelegationResult, LeaderFunction, LeaderTeam } from './own-team.ts'
import { describeWorker, type Roster } from './roster.ts'
import type { Supervisor } from './supervisor.ts'

/**
 * A person who leads a team. They answer `{ delegate: { worker, instructions } }` (with `input` for a worker that takes
 * one; a list runs at once), `{ forward: 'd1' }` or `{ answer }`.
 */
export interface LeadingHumanOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends
    HumanFacts<Name, In, Out>,
    Pick<TeamFacts<Workers, readonly Agent[]>, 'workers' | 'delegation' | 'concurrency'> {}

/** The output type of a person: the type of their schema, else any JSON value. */
type HumanAnswer<Out extends SchemaLike | undefined> = [Out] extends [undefined] ? Json : Infer<Out>

type AnyLeader = AnyHuman &
  Pick<TeamFacts<readonly Agent[], readonly Agent[]>, 'workers' | 'delegation' | 'concurrency'>

const leaderChecks = (roster: Roster): Checks<AnyLeader> => {
  const { workers, delegation, concurrency } = teamChecks(roster)
  return { ...humanChecks, workers, delegation, concurrency }
}

/**
 * Makes an agent of a person. It works wherever agents do: as a worker, a speaker at a round table, a step of a flow, a
 * task of a plan, a tool, a root; with `workers` as a leader. The person is asked by an interrupt and answers with
 * `run.answer`; an invalid answer is asked for again, with the problem. While the person thinks, the agent holds no
 * slot and no memory.
 *
 * Where control may be handed on, `{ transfer: 'name', task? }` hands it on. The name given with the answer (`by`) is
 * kept in the outcome. Throws `agent.invalid` for invalid options, and for a leader `team.empty` and `team.invalid`.
 * All other problems are reported together when a runtime is made.
 */
export function human<
  const Name extends string,
  const Workers extends readonly Agent[],
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(
  options: LeadingHumanOptions<Name, Workers, In, Out>,
): Supervisor<Name, Infer<In>, HumanAnswer<Out>, NameOf<Workers[number]>>
export function human<
  const Name extends string,
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(options: HumanOptions<Name, In, Out>): Agent<Name, Infer<In>, HumanAnswer<Out>>
export function human(given: object): Agent {
  mustBeOptions(given, 'human', 'agent.invalid')
  const options = given as AnyHuman & { readonly workers?: unknown }
  const made = options.workers === undefined ? humanAgent(options) : makeHumanLeader(given as AnyLeader)
  return renamable<Agent>(made, (name) => human({ ...given, name } as HumanOptions<string, undefined, undefined>))
}

function makeHumanLeader(options: AnyLeader): Agent {
  const leading =
    ({ roster, output }: LeaderPolicy): LeaderFunction =>
    (ctx, brief, team, handoffContext) =>
      new HumanLeader(options, output, roster, ctx, team, handoffContext).work(brief)
  const made = defineAgent(humanLeader, codeLeaderParts(options, leading, whereOf(options)))
  if (typeof options.workers !== 'function') checkTree(made)
  return made
}

const whereOf = ({ name }: AnyLeader): string => `human "${name}"`

/** A person who leads is a code leader whose code asks the person. */
const humanLeader: AgentKind<CodeLeaderParts<AnyLeader>, LeaderMembers> = {
  ...codeLeader,
  data: (parts, agent) => ({ ...codeLeader.data(parts, agent), ...humanData(parts.options) }),
  problems: ({ options, policy: { roster, output } }) =>
    leaderProblems(options, roster, leaderChecks(roster), whereOf(options), humanRule(output) as Rule<object>),
  more: ({ options, policy }) => ({ ...leaderMembers(policy), channels: channelsOf(options) }),
}

/** A delegation that the person orders. */
interface HumanDelegation {
  readonly worker: string
  readonly brief: Json
  readonly turns?: number
}

/** The decision of a person who leads. */
type LeaderDecision =
  | { readonly type: 'delegate'; readonly orders: readonly HumanDelegation[] }
  | { readonly type: 'forward'; readonly what: string }
  | { readonly type: 'answer'; readonly answer: Json }
  | { readonly type: 'transfer'; readonly end: CodeEnd }

/** A person leading a team, for one activation. */
class HumanLeader {
  readonly #options: AnyLeader
  readonly #output: Schema | undefined
  readonly #roster: Roster
  readonly #ctx: AgentContext
  readonly #team: LeaderTeam
  readonly #handoffContext: HandoffContext
  readonly #results: DelegationResult[] = []

  constructor(
    options: AnyLeader,
    output: Schema | undefined,
    roster: Roster,
    ctx: AgentContext,
    team: LeaderTeam,
    handoffContext: HandoffContext,
  ) {
    this.#options = options
    this.#output = output
    this.#roster = roster
    this.#ctx = ctx
    this.#team = team
    this.#handoffContext = handoffContext
  }

  async work(brief: unknown): Promise<unknown> {
    let problem: string | undefined
    for (;;) {
      const { decision, by } = await this.#ask(brief, problem)
      problem = undefined
      if (decision.type === 'answer') return answerBy(decision.answer, by)
      if (decision.type === 'transfer') return decision.end
      if (decision.type === 'delegate') {
        // started in the order of the list (K3)
        this.#results.push(...(await Promise.all(decision.orders.map((order) => this.#delegate(order)))))
        if (this.#team.bailed !== undefined) return null // a hook has ended the work, so the return value is ignored
        continue
      }
      try {
        return this.#team.forward(decision.what as `d${number}`)
      } catch (thrown) {
        if (!(thrown instanceof FailureError)) throw thrown
        problem = thrown.failure.message
      }
    }
  }

  #delegate({ worker, brief, turns }: HumanDelegation): Promise<DelegationResult> {
    return this.#team.delegate(worker, brief, turns === undefined ? {} : { turns }) as Promise<DelegationResult>
  }

  async #ask(
    brief: unknown,
    problem: string | undefined,
  ): Promise<{ readonly decision: LeaderDecision; readonly by: string | undefined }> {
    const shown = {
      type: 'lead',
      brief,
      handoffContext: this.#handoffContext,
      output: this.#output,
      more: this.#teamState(problem),
    } as const
    const { value, by } = await askHuman(
      this.#ctx,
      this.#options,
      shown,
      (answer) => this.#read(answer),
      (answer) => ({ type: 'answer', answer }),
    )
    return { decision: value as LeaderDecision, by }
  }

  /** The team and the results so far. */
  #teamState(problem: string | undefined): JsonObject {
    return {
      workers: this.#team.names.map((name) => {
        const worker = this.#roster.find(name)
        return {
          name,
          description: describeWorker(name, worker),
          ...(worker?.inputSchema === undefined ? undefined : { input: worker.inputSchema.json }),
        }
      }),
      results: this.#results.map(({ delegation, worker, outcome, text, feedback }) => ({
        delegation,
        worker,
        status: outcome.status,
        text,
        ...present({ feedback }),
      })),
      ...present({ problem }),
    }
  }

  /** Validates an answer. Pure. */
  #read(answer: Json): Checked<LeaderDecision> {
    const handed = transferAnswer(answer, this.#handoffContext.candidates)
    if (handed !== undefined) return handed.ok ? { ok: true, value: { type: 'transfer', end: handed.value } } : handed
    const [verb, ...others] = isObject(answer) ? Object.keys(answer) : []
    if (
      !isObject(answer) ||
      verb === undefined ||
      others.length > 0 ||
      !['delegate', 'forward', 'answer'].includes(verb)
    )
      return misfit('say { delegate: { worker, instructions } }, { forward: "d1" } or { answer }')
    if (verb === 'delegate') return this.#readOrders(answer[verb]!)
    if (verb === 'forward') return this.#readForward(answer[verb]!)
    const fits = checkOutput(answer[verb]!, this.#output)
    return fits.ok
      ? { ok: true, value: { type: 'answer', answer: answer[verb]! } }
      : misfit(`"answer": ${fits.problem}`)
  }

  #readOrders(given: Json): Checked<LeaderDecision> {
    const list: readonly Json[] = Array.isArray(given) ? (given as readonly Json[]) : [given]
    if (list.length === 0) return misfit('"delegate" is an empty list')
    const orders: HumanDelegation[] = []
    const problems: string[] = []
    for (const [i, each] of list.entries()) {
      const read = this.#readOrder(each)
      if (read.ok) orders.push(read.value)
      else problems.push(`${Array.isArray(given) ? `delegate[${i}]` : 'delegate'}: ${read.problem}`)
    }
    return problems.length > 0 ? misfit(problems.join('; ')) : { ok: true, value: { type: 'delegate', orders } }
  }

  #readOrder(given: Json): Checked<HumanDelegation> {
    if (!isObject(given)) return misfit(`it is ${described(given)}, expected { worker, instructions }`)
    const { worker, instructions, input, turns, ...others } = given
    const { names } = this.#team
    const [strange] = Object.keys(others)
    if (strange !== undefined) return misfit(`"${strange}" is unknown: say worker, instructions or input, and turns`)
    if (typeof worker !== 'string' || !names.includes(worker))
      return misfit(`"worker" is ${described(worker)}, expected one of ${names.join(', ')}`)
    if (turns !== undefined && !(Number.isInteger(turns) && (turns as number) > 0))
      return misfit(`"turns" is ${described(turns)}, expected a whole number of at least 1`)
    const most = turns === undefined ? undefined : { turns: turns as number }
    const schema = this.#roster.find(worker)?.inputSchema
    if (schema === undefined) {
      if (input !== undefined || typeof instructions !== 'string' || instructions.trim() === '')
        return misfit(`"${worker}" takes "instructions", a text that says what is to be done`)
      return { ok: true, value: { worker, brief: instructions, ...most } }
    }
    if (input === undefined || instructions !== undefined)
      return misfit(`"${worker}" takes an "input", and no instructions`)
    const checked = schema.check(input)
    return checked.ok
      ? { ok: true, value: { worker, brief: input, ...most } }
      : misfit(`the input of "${worker}": ${checked.problem}`)
  }

  #readForward(what: Json): Checked<LeaderDecision> {
    if (typeof what !== 'string')
      return misfit(`"forward" is ${described(what)}, expected a delegation, as "d1", or a worker`)
    const result =
      this.#results.find(({ delegation }) => delegation === what) ??
      this.#results.findLast(({ worker, outcome }) => worker === what && outcome.status === 'completed')
    if (result?.outcome.status !== 'completed') return misfit(`there is no output of "${what}" to forward`)
    const fits = outputAs(result.outcome.output, this.#output)
    return fits.ok
      ? { ok: true, value: { type: 'forward', what } }
      : misfit(`the output of "${what}" cannot be the answer: ${fits.problem}`)
  }
}

const misfit = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem })
