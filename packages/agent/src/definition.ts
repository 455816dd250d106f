/**
 * Agent: a name, a description and a run. Model agents, rules, functions, teams and remote services all
 * implement this one interface.
 *
 * Owns: the interface, the rule for names, how a version is made of a declared part and a data part. Does not own: how
 * any kind of agent works (agent.ts, ../supervisor), the checks of a whole team (agent-checks.ts).
 */
import type { Context } from '@reeve/engine'
import { described, digestJson, isObject, listOf, type Json, type Outcome } from '@reeve/core'
import type { Edge, Limits, Oversight, Schema } from '@reeve/edge'
import type { Model, ToolSpec } from '@reeve/model'
import type { Assess } from './assessment.ts'

declare const types: unique symbol

/**
 * An agent: it takes work of type `I` and completes with an output of type `O` (types only). Definitions are immutable
 * and hold no state of a run. One agent may work under several leaders and in many runs at once.
 */
export interface Agent<Name extends string = string, I = unknown, O = unknown> {
  readonly kind: 'agent'
  readonly name: Name
  /** What it is good for. Leaders choose workers by it. May be empty only for agents without a leader. */
  readonly description: string
  /**
   * Declared version (default `1`), `+`, and 12 hexadecimal digits of a digest of its data and of the versions of all
   * agents that it can reach: a changed worker is a change of its leader. Recorded and pinned with every activation.
   */
  readonly version: string
  /** The version of its own data, in which other agents stand by name. Absent: `version` is. */
  readonly ownVersion?: string
  /** The source text of a code agent's function, for checks only. It is not part of the version. */
  source?(): string
  /** The schema of its input. With it, leaders give a typed input instead of instructions. */
  readonly inputSchema?: Schema<I>
  /**
   * Its work receives the parsed input, with defaults and transforms applied. Absent: it receives the input as given,
   * and the schema only validates it.
   */
  readonly parsesInput?: true
  /** The schema of its output. Absent: the output is a text. */
  readonly outputSchema?: Schema<O>
  /**
   * The work: deterministic orchestration (K3). Resolves to the outcome; a failure of the work is an outcome, not a
   * rejection. Rejects only with `Cancelled`, or for a defect in the code, which the engine records as a failure.
   */
  orchestrate(ctx: Context, edge: Edge): Promise<Outcome>
  /**
   * Loads the code of its work where its definition does not have it: what takes no part in defining it is read by those
   * alone who run it. A runtime awaits it before it drives, because work waits for nothing but its context (K3).
   * Idempotent. Absent: nothing is to be loaded.
   */
  load?(): Promise<void>
  /**
   * The agents to register with it: its current workers, and its orchestration tools as agents named `<agent>.<tool>`.
   */
  related(): readonly Agent[]
  /** Some of its tools work in the background. Then it does so too, unless its leader says otherwise. */
  readonly background?: true
  /**
   * The hooks of a start that it calls: those after its turns (`onIterationComplete`, `isComplete`) and those around
   * its delegations. Absent: none.
   */
  readonly hooked?: readonly StartHookKind[]
  /**
   * The agents it can reach are given as a function, because they may be defined later. It is not called before a
   * runtime is made.
   */
  readonly open?: true
  /** The problems of its definition; empty if it has none. Cheap enough to call at every build. */
  problems(): readonly AgentProblem[]
  /** The names of its current workers. Only leaders have it. The edge records them, so a later change breaks no run. */
  team?(): readonly string[]
  /** Its own tools, as its model is shown them. Only agents with a model have it. */
  tools?(): readonly ToolSpec[]
  /** The instructions of its model, as its definition says them. Only agents with a model have it. */
  instructions?(): string | undefined
  /**
   * How many tools its model must be able to take: those that it is offered when a run begins, Reeve's own included, and
   * room for those that it finds. Only agents with a model have it.
   */
  toolCount?(): number
  /** The names of those of its tools that its model finds by search. Absent: it has none. */
  searchableTools?(): readonly string[]
  /** Those of its tools that say nothing of their `effect`. Only agents with a model have it. */
  undeclaredTools?(): readonly string[]
  /** Its members, among whom control is handed on. Only flows have it. No member may occur again below itself. */
  members?(): readonly Agent[]
  /** Whether one turn of its limit is kept for the last answer. Absent: it takes no turns of its own. */
  readonly lastAnswer?: boolean
  /** The limits of its definition. They hold wherever it works. */
  readonly limits?: Limits
  /** How closely humans oversee its work and all work below it. */
  readonly oversight?: Oversight
  /** Names of channels for its notices, besides those of its oversight. */
  readonly channels?: readonly string[]
  /** How it assesses its own results. */
  readonly assess?: Assess
  /**
   * Its options that cap US dollars, besides its own limits, with the agents whose work each caps. Those agents and all
   * agents below them need prices. Default: none.
   */
  usdCaps?(): readonly UsdCap[]
  /**
   * Models that it calls besides `model`, such as the model of a planner. A limit in US dollars needs their prices too.
   */
  readonly otherModels?: readonly AgentModel[]
  /** The defaults when it runs as a root: its limits, and for model agents a limit of turns. */
  readonly defaults?: { readonly limits?: Limits }
  /** The session value that keeps its output whenever it completes. */
  readonly outputKey?: string
  /** Its model, if it has one. A limit in US dollars needs its price. */
  readonly model?: AgentModel
  readonly [types]?: { readonly input: I; readonly output: O }
}

/** What is known of an agent's model before it is called. */
export type AgentModel = Pick<
  Model,
  'id' | 'price' | 'prepare' | 'mostTools' | 'providerTools' | 'settingLimits' | 'chain'
> & {
  readonly of?: string
}

/** A kind of hook that a start may give. */
export type StartHookKind = 'turns' | 'delegation'

/** An option that caps US dollars, and the agents whose work it caps. */
export interface UsdCap {
  readonly option: string
  readonly agents: readonly Agent[]
}

/**
 * The cap of an option that holds limits; empty if the limits do not cap US dollars. `option`: the name of the option.
 */
export const usdCapOf = (limits: Limits | undefined, option: string, agents: readonly Agent[]): readonly UsdCap[] =>
  typeof limits?.usd === 'number' ? [{ option: `${option}.usd`, agents }] : []

/** An agent that was defined without a description, for types only: no leader can choose it. */
export interface Undescribed {
  readonly description: ''
}
/** Stands in the place of a worker without a description; compilers show its member. */
export interface NeedsDescription<Name> {
  readonly 'a worker needs a description: its leader chooses by it': Name
}
/** What a list of workers with descriptions adds to the options: nothing. Of others nothing is known, or what they lack. */
export type DescribedWorkers<Workers extends readonly Agent[]> = [Extract<Workers[number], Undescribed>] extends [never]
  ? unknown
  : {
      readonly workers:
        | (() => readonly Agent[])
        | {
            readonly [At in keyof Workers]: Workers[At] extends Undescribed
              ? NeedsDescription<NameOf<Workers[At]>>
              : Workers[At]
          }
    }

/** The name of an agent, as a literal type. */
export type NameOf<A> = A extends Agent<infer Name, infer _I, infer _O> ? Name : never
/** The input type of an agent. */
export type InputOf<A> = A extends Agent<infer _N, infer I, infer _O> ? I : never
/** The output type of a completed agent. */
export type OutputOf<A> = A extends Agent<infer _N, infer _I, infer O> ? O : never

const orchestrationTool = /^[A-Za-z_][A-Za-z0-9_-]{0,63}\.[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** True for a blank text, and for a value that is not a text. */
export const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === ''

/** True for the names of orchestration tools as agents: `<agent>.<tool>`. */
export const isToolAgentName = (text: string): boolean => orchestrationTool.test(text)

/** The version of a definition by itself: the declared version and a digest of its data. */
export const versionOf = (declared: string | undefined, data: Json): string =>
  `${declared ?? '1'}+${digestJson(data).slice(0, 12)}`

/** The version of an agent by itself: of what it reaches, it has the names only. */
export const ownVersionOf = (agent: Agent): string => agent.ownVersion ?? agent.version

/** The version of a definition with all agents below it, in any order; by itself if there are none. */
export function versionOver(own: string, below: readonly Agent[]): string {
  if (below.length === 0) return own
  const versions = below.map((agent) => `${agent.name} ${ownVersionOf(agent)}`)
  return versionOf(own.slice(0, own.lastIndexOf('+')), [own, ...versions.sort()])
}

/** True for every value that implements `Agent`, from any copy of the package. */
export function isAgent(given: unknown): given is Agent {
  return (
    (isObject(given) || (typeof given === 'object' && given !== null)) &&
    'kind' in given &&
    given.kind === 'agent' &&
    'orchestrate' in given
  )
}

/** A problem of a definition, as one sentence; with the error code that is thrown if it is the only one. */
export type AgentProblem = string | CodedProblem

/** A problem whose error has a code of its own. */
export interface CodedProblem {
  readonly code: 'team.empty' | 'budget.no-price'
  readonly message: string
}

/** The sentence of a problem. */
export const problemText = (problem: AgentProblem): string => (typeof problem === 'string' ? problem : problem.message)

/** The check of a list of agents. */
export const agentsCheck = listOf(
  (given, where) =>
    isAgent(given)
      ? []
      : [
          `${where} is not an agent, but ${described(given)}${(given as { kind?: unknown } | null | undefined)?.kind === 'tool' ? ', which belongs in tools' : ''}`,
        ],
  'agents',
)

/** The given list of agents, or an empty one if it is not a list. `agentsCheck` reports that. */
export const agentsIn = (given: readonly Agent[] | undefined): readonly Agent[] =>
  Array.isArray(given) ? (given as readonly Agent[]) : []
