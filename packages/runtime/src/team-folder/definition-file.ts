/**
 * What a file of a team folder may export as its default: the options of an agent, a leader or a tool without what the
 * folder says, or the finished agent or tool.
 *
 * Owns: the types, and the functions that only have types. Does not own: what is made of them (load-team.ts).
 */
import type {
  Agent,
  CodeAgentOptions,
  EffectToolOptions,
  ModelAgentOptions,
  OrchestrationToolOptions,
  ReturnedBy,
  SearchableTools,
  Tool,
  ToolsLike,
} from '@reeve/agent'
import type { SchemaLike } from '@reeve/edge'
import type { CodeSupervisorOptions, SupervisorOptions } from '@reeve/supervisor'

/** The tools of an agent in a folder: names of files in `tools/`, and tools as everywhere. */
export type FileTools = readonly (string | Tool | SearchableTools)[] | Exclude<ToolsLike, readonly unknown[]>

/** What the path of a file says. */
type Named = 'name'
type NamedWorkers = Named | 'workers'

/** The options of `agent` with a model, in a file. */
export interface AgentFile<In extends SchemaLike | undefined, Out extends SchemaLike | undefined> extends Omit<
  ModelAgentOptions<string, In, Out>,
  Named | 'tools'
> {
  readonly tools?: FileTools
}

/** The options of `agent` that is code, in a file. */
export type CodeAgentFile<In extends SchemaLike | undefined, Out extends SchemaLike | undefined, O = unknown> = Omit<
  CodeAgentOptions<string, In, Out, O>,
  Named
>

/** The options of `supervisor` with a model, in a file: `workers/` has its workers. */
export interface LeaderFile<In extends SchemaLike | undefined, Out extends SchemaLike | undefined> extends Omit<
  SupervisorOptions<string, readonly Agent[], In, Out>,
  NamedWorkers | 'tools'
> {
  readonly tools?: FileTools
}

/** The options of `supervisor` that is code, in a file. */
export type CodeLeaderFile<In extends SchemaLike | undefined, Out extends SchemaLike | undefined, O = unknown> = Omit<
  CodeSupervisorOptions<string, readonly Agent[], In, Out, O, readonly Agent[]>,
  NamedWorkers
>

/** The options of `tool` with `execute`, in a file. */
export type EffectToolFile<S extends SchemaLike | undefined> = Omit<EffectToolOptions<string, S>, Named>

/** The options of `tool` with `run`, in a file. */
export type OrchestrationToolFile<S extends SchemaLike | undefined> = Omit<OrchestrationToolOptions<string, S>, Named>

/** The options of an agent as they are, with their types: the default export of its file, which names it. */
export const defineAgent = <
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O extends ReturnedBy<Out> = never,
>(
  options: CodeAgentFile<In, Out, O> | AgentFile<In, Out>,
): typeof options => options

/** The options of a leader as they are, with their types: the default export of `leader.ts`. */
export const defineLeader = <
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O extends ReturnedBy<Out> = never,
>(
  options: CodeLeaderFile<In, Out, O> | LeaderFile<In, Out>,
): typeof options => options

/** The options of a tool as they are, with their types: the default export of its file, which names it. */
export const defineTool = <S extends SchemaLike | undefined = undefined>(
  options: OrchestrationToolFile<S> | EffectToolFile<S>,
): typeof options => options
