/**
 * Options of supervisors: their types, checks and data.
 *
 * Owns: these, for leaders with a model, leaders that are code, and those that build on another agent. Does not own: the
 * options of delegations (delegation/options.ts), what is taken over from a base (supervisor-base.ts), what an option
 * does: code that has a `LeaderPolicy` (leader.ts) reads it there.
 */
import {
  isObject,
  optionProblems,
  present,
  string,
  unchecked,
  wholeNumber,
  type Checks,
  type JsonObject,
  type Rule,
  type Without,
} from '@reeve/core'
import {
  dataIn,
  factChecks,
  factRule,
  meantByAgentOptions,
  modelAgentChecks,
  type Agent,
  type AgentContext,
  type AgentFacts,
  type AgentProblem,
  type HandoffContext,
  type ModelAgentFacts,
  type NameOf,
} from '@reeve/agent'
import type { Infer, SchemaLike } from '@reeve/edge'
import { codeDispatchProblems } from './delegation/dispatch.ts'
import { delegationCheck, type Delegation, type VerbNames } from './delegation/options.ts'
import type { LeaderFunction, OwnTeam } from './own-team.ts'
import type { Roster } from './roster.ts'

/** The options of every supervisor about its team. */
export interface TeamFacts<Workers extends readonly Agent[], Specialists extends readonly Agent[]> {
  /** Its workers. A function is called when a run begins, so it may name agents that are defined later. */
  readonly workers: Workers | (() => Workers)
  /** What crosses to the workers. Default: only the brief, with the leader's own permissions and limits. */
  readonly delegation?: Delegation<NameOf<Workers[number]>>
  /** Agents that may be recruited during a run. Default: none. */
  readonly specialists?: Specialists
  /** The largest number of workers, recruits included. A team that starts larger is not cut. Default 10. */
  readonly maxTeamSize?: number
  /** How many workers may work at once. Default: all. */
  readonly concurrency?: number
}

/** How the team is introduced to a model that leads it. */
export interface LeadFacts {
  /**
   * The text that introduces the team, after the instructions. `{workers}` is replaced by the list of workers with
   * their descriptions; without it the list follows the text. All other braces are plain text. Default: two sentences
   * on delegating.
   */
  readonly guidance?: string
  /**
   * Other names for its verbs `delegate` (and with it `delegate_<worker>`), `forward_message`, `recruit` and so on. Its
   * own tools may not use these names.
   */
  readonly verbs?: Partial<VerbNames>
}

/** The options of a supervisor with a model. */
export interface SupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends AgentFacts<Name, In, Out>, ModelAgentFacts, TeamFacts<Workers, readonly Agent[]>, LeadFacts {
  readonly base?: undefined
}

/** The options of a supervisor that builds on another agent. */
export interface BasedSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  Base extends Agent,
>
  extends AgentFacts<Name, In, Out>, Partial<ModelAgentFacts>, TeamFacts<Workers, readonly Agent[]>, LeadFacts {
  /**
   * The agent to build on: one with a model, another supervisor, or a `reflect()` of one. Its definition holds except
   * for its name and the options given here. The workers of a supervisor are kept, followed by those given here; its
   * `delegation`, `verbs` and `limits` are merged with those given here. A `reflect()` keeps reflecting, and its
   * wrapped agent leads the team as `<name>_lead`. Throws `team.invalid` for agents without a model: flows, routers and
   * code (code leads by `run`).
   */
  readonly base: Base
}

/** The options of a supervisor that is code. */
export interface CodeSupervisorOptions<
  Name extends string,
  Workers extends readonly Agent[],
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  O,
  Specialists extends readonly Agent[],
>
  extends AgentFacts<Name, In, Out>, TeamFacts<Workers, Specialists>, Without<ModelAgentFacts & LeadFacts> {
  /** The work. It is orchestration, as in `agent({ run })`, with a team to delegate to. Returns the output. */
  readonly run: (
    ctx: AgentContext,
    brief: Infer<In>,
    team: OwnTeam<Workers[number] | Specialists[number]>,
    handoffContext: HandoffContext,
  ) => O | Promise<O>
  readonly base?: undefined
}

/** All options of a supervisor, whether a model or code leads it. */
export type AnySupervisorOptions = AgentFacts<string, SchemaLike | undefined, SchemaLike | undefined> &
  Partial<ModelAgentFacts> &
  TeamFacts<readonly Agent[], readonly Agent[]> &
  LeadFacts & { readonly base?: Agent; readonly run?: LeaderFunction }

/** The checks of everybody who leads. `roster`: who may work for them; those who are known now. */
export function teamChecks(roster?: Roster): Checks<TeamFacts<readonly Agent[], readonly Agent[]>> {
  const everybody = roster?.everyWorker() ?? []
  return {
    workers: unchecked, // by the roster
    delegation: delegationCheck(
      new Set(everybody.map(({ name }) => name)),
      new Set(everybody.flatMap(({ name, background }) => (background === true ? [name] : []))),
    ),
    specialists: unchecked,
    maxTeamSize: wholeNumber(1),
    concurrency: wholeNumber(1),
  }
}
const leadChecks: Checks<LeadFacts> = { guidance: string, verbs: unchecked } // by verbProblems
export const modelSupervisorChecks = (roster?: Roster): Checks<Omit<AnySupervisorOptions, 'base' | 'run'>> => ({
  ...factChecks,
  ...modelAgentChecks,
  ...teamChecks(roster),
  ...leadChecks,
})
export const codeSupervisorChecks = (roster: Roster): Checks<object> => ({
  ...factChecks,
  ...teamChecks(roster),
  run: unchecked,
})
/** Every option that some supervisor has, by name. */
export const supervisorOptionNames = { ...modelSupervisorChecks(), base: unchecked, run: unchecked }

/** The problems of the options and the roster of a leader. `where`: how they begin. */
export const leaderProblems = (
  options: AnySupervisorOptions,
  roster: Roster,
  checks: Checks<object>,
  where = `supervisor "${options.name}"`,
  rule: Rule<object> = factRule,
): readonly AgentProblem[] => [
  ...optionProblems(checks, options, where, { rule, meant: meantByAgentOptions(checks) }),
  ...roster.problems(),
  ...(options.run === undefined ? [] : codeDispatchProblems(options.delegation, where)),
]

/**
 * The options of its team that are data of its version. Options that are not given add nothing, so that such definitions
 * keep their version.
 */
export const versionedOptions = ({ verbs, delegation }: AnySupervisorOptions): JsonObject => ({
  ...(isObject(verbs) ? { verbs } : undefined),
  ...present({ delegation: dataIn(delegation) }),
})
