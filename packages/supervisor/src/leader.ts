/**
 * Leader: what all leaders of workers have in common, whether a model, code or a person leads.
 *
 * Owns: their policy, their members as agents. Does not own: the team of one activation (team-toolbox.ts), the options
 * (options.ts).
 */
import { delegationCaps, verbsOf, type VerbNames } from './delegation/options.ts'
import type { Agent, AgentParts, Binding, ModelAccess, UsdCap } from '@reeve/agent'
import type { Schema } from '@reeve/edge'
import { VerbSpecs } from './leader-tools.ts'
import type { AnySupervisorOptions } from './options.ts'
import { Roster } from './roster.ts'

/** What a leader's definition says about its team. */
export interface LeaderPolicy {
  /** The options as given, without their defaults. */
  readonly options: AnySupervisorOptions
  readonly roster: Roster
  readonly verbs: VerbNames
  readonly output: Schema | undefined
  /** The model that answers questions of workers, if there is one. */
  readonly access?: ModelAccess
  /** The user's own tools. */
  readonly tools: readonly Binding[]
  readonly verbSpecs: VerbSpecs
}

/** `model`: the access to the model of a leader that has one, and its own tools. */
export const leaderPolicy = (
  options: AnySupervisorOptions,
  output: Schema | undefined,
  model?: Required<Pick<LeaderPolicy, 'access' | 'tools'>>,
): LeaderPolicy => ({
  options,
  roster: new Roster(options.name, options.workers, options.specialists ?? []),
  verbs: verbsOf(options.verbs),
  output,
  tools: [],
  verbSpecs: new VerbSpecs(),
  ...model,
})

/** The parts of an agent that say whom it leads. */
export const teamParts = ({ roster }: LeaderPolicy): Required<Pick<AgentParts, 'team' | 'reaches'>> => ({
  team: () => roster.names(),
  reaches: roster.reaches,
})

/** The members of leaders that other agents do not have. */
export interface LeaderMembers {
  add(worker: Agent): void
  remove(name: string): Agent | undefined
  /** The options with the current workers, for a leader with this one as its base. */
  definition(): AnySupervisorOptions
  usdCaps(): readonly UsdCap[]
}

export const leaderMembers = ({ options, roster }: LeaderPolicy): LeaderMembers => ({
  add: (worker) => roster.add(worker),
  remove: (name) => roster.remove(name),
  definition: () => ({
    ...options,
    workers: typeof options.workers === 'function' ? () => roster.workers() : roster.workers(),
  }),
  usdCaps: () => delegationCaps(options.delegation ?? {}, roster.everyWorker()),
})

/** The options of a definition that can be the base of a leader; undefined for agents without a model and teams. */
export const definitionOf = <Options extends object>(agent: Agent): Options | undefined =>
  'definition' in agent && typeof agent.definition === 'function'
    ? (agent.definition as () => Options).call(agent)
    : undefined
