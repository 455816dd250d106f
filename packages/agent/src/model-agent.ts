/**
 * Model agent: the common part of plain agents and supervisors. Both run one model in the one turn loop; a supervisor
 * has more tools.
 *
 * Owns: the setup of the loop from the options, the kind that both build on. Does not own: the loop (turn-loop.ts), the
 * public constructors (agent.ts, ../supervisor).
 */
import { failed, failure, hasNames, own, recordedResult, toolAgent, type Failure, type Json } from '@reeve/core'
import { briefValue, turnsOf, type Edge, type Limits, type Schema, type SchemaLike } from '@reeve/edge'
import { modelsOf, resolveModel, settingProblems, type Model, type ModelRef } from '@reeve/model'
import { deadlineProblems } from '@reeve/oversight'
import type { Assess } from './assessment.ts'
import type { AgentKind, AgentParts } from './define-agent.ts'
import { usdCapOf, type Agent, type UsdCap } from './definition.ts'
import { dataOf, sideAgents, type AgentFacts, type Middleware, type ModelAgentFacts } from './facts.ts'
import { runModelAgent, worksInBackground } from './loop/model-activation.ts'
import { defaultTurns } from './conversation/turn-budget.ts'
import type { ModelSetup } from './loop/turn-loop.ts'
import { withMiddlewareInstructions, revisedSetup } from './model-revision.ts'
import { isSearched, offeredCount } from './tool/search-toolbox.ts'
import { toolsOf, type Tool } from './tool/tool.ts'
import { agentContext } from './code/agent-context.ts'

/** Builds the setup of the turn loop from the options of a model agent. */
export function modelSetup(
  name: string,
  options: ModelAgentFacts & { readonly assess?: Assess },
  outputSchema: Schema | undefined,
  limits: Limits | undefined,
): Omit<ModelSetup, 'open'> {
  const { settings, silenceMs, retry, templating = false, lastAnswer = false } = options
  // invalid middlewares are reported with all other problems
  const middleware = Array.isArray(options.middleware)
    ? (options.middleware as readonly Middleware[]).filter(hasNames)
    : []
  return {
    agent: name,
    model: modelOf(name, options.model),
    settings,
    silenceMs,
    retry,
    outputSchema,
    maxTurns: turnsOf(limits) ?? defaultTurns,
    instructions: withMiddlewareInstructions(options.instructions, middleware),
    tools: [options, ...middleware].flatMap(({ tools }) => toolsOf(tools)),
    templating,
    middleware,
    lastAnswer,
    onCut: options.onCut,
    onIterationComplete: options.onIterationComplete,
    isComplete: options.isComplete,
    compaction: options.compaction,
    reports: options.assess === 'report',
  }
}

/** The options of a model agent. A leader with this agent as its base takes them over. */
export type AnyModelAgentOptions = AgentFacts<string, SchemaLike | undefined, SchemaLike | undefined> & ModelAgentFacts

export interface ModelAgentParts<
  Options extends AnyModelAgentOptions = AnyModelAgentOptions,
> extends AgentParts<Options> {
  readonly setup: ModelSetup
  /** Its orchestration tools as agents, its scorers and its summarizer. */
  readonly toolAgents: readonly Agent[]
}

/** The members of model agents that other agents do not have. */
export interface ModelAgentMembers {
  /** The names of its tools, including those of middlewares. */
  readonly toolNames: readonly string[]
  /** The options of its definition, for a leader with this agent as its base. */
  definition(): AnyModelAgentOptions
  usdCaps(): readonly UsdCap[]
}

/** The parts that every model agent has of its setup, with those given. */
export const modelParts = <Parts extends Pick<ModelAgentParts, 'options' | 'setup'> & Partial<AgentParts>>(
  parts: Parts,
): NoInfer<Parts> & ModelAgentParts => ({
  outputSchema: parts.setup.outputSchema,
  model: parts.setup.model,
  hooked: ['turns'],
  background: worksInBackground(parts.setup),
  rootTurns: defaultTurns,
  lastAnswer: parts.setup.lastAnswer,
  toolAgents: [...toolAgents(parts.setup.agent, parts.setup.tools), ...sideAgents(parts.setup)],
  ...parts,
})

/** What all model agents have in common. A kind of its own checks its options besides. */
export const modelAgentKind = {
  data: ({ options, setup: { instructions, model, tools } }, agent) =>
    dataOf(agent, { instructions, model: model.id, tools, options }),
  orchestrate: ({ setup }, ctx, edge, { name, inputSchema }) => {
    const refused = inputRefusal(name, inputSchema, edge)
    if (refused !== undefined) return Promise.resolve(failed(refused))
    // the revision that holds in this run
    const revision = own(edge.run.versions, name)
    return runModelAgent(revision === undefined ? setup : revisedSetup(setup, revision), ctx, edge)
  },
  related: ({ toolAgents }) => toolAgents,
  problems: ({ options, setup: { model, settings, tools } }, { name }) => [
    ...modelsOf(model)
      .flatMap(({ id, settingLimits = {} }) => settingProblems(settings, settingLimits, `"${id}"`))
      .map((problem) => `agent "${name}": ${problem}`),
    ...deadlineProblems(options.oversight?.approval, tools, `agent "${name}"`),
  ],
  more: ({ options, setup: { tools } }) => ({
    ...(tools.some(isSearched)
      ? { searchableTools: () => tools.filter(isSearched).map(({ name }) => name) }
      : undefined),
    toolNames: tools.map(({ name }) => name),
    tools: () => tools.map(({ spec }) => spec),
    instructions: () => options.instructions,
    toolCount: () => offeredCount(tools.length, tools),
    undeclaredTools: () =>
      tools.flatMap(({ name, work }) =>
        (work.kind === 'effect' || work.kind === 'client') && work.undeclared === true ? [name] : [],
      ),
    definition: () => options,
    // the caps of agents that it calls as tools
    usdCaps: () =>
      tools.flatMap(({ name, work }) =>
        work.kind === 'agent' ? usdCapOf(work.limits, `tools.${name}.limits`, [work.agent]) : [],
      ),
  }),
} satisfies AgentKind<ModelAgentParts, ModelAgentMembers>

/**
 * Resolves `model:`. An anonymous function is named after its agent, because the journal and usage reports show the id.
 */
function modelOf(agent: string, ref: ModelRef): Model {
  const unnamed = typeof ref === 'function' && (ref.name === '' || ref.name === 'model')
  return resolveModel(ref, unnamed ? { id: `rule/${agent}` } : {})
}

/** Why a brief does not fit the input schema of an agent; undefined if it fits. */
export function inputRefusal(agent: string, schema: Schema | undefined, edge: Edge): Failure | undefined {
  const checked = schema?.check(briefValue(edge.work.brief))
  return checked === undefined || checked.ok
    ? undefined
    : failure(
        'input.invalid',
        `the input does not fit the input schema of "${agent}": ${checked.problem}`,
        'validation',
      )
}

/** Orchestration tools as agents named `<agent>.<tool>`, so that the engine can start them. */
function toolAgents(agent: string, tools: readonly Tool[]): readonly Agent[] {
  return tools.flatMap((tool): Agent[] => {
    const work = tool.work
    if (work.kind === 'agent') return [work.agent]
    if (work.kind !== 'orchestration') return []
    return [
      {
        kind: 'agent',
        name: toolAgent(agent, tool.name),
        description: tool.spec.description,
        version: tool.version,
        async orchestrate(ctx, edge) {
          const checked = tool.input.check(briefValue(edge.work.brief))
          if (!checked.ok) return failed(failure('tool.invalid-input', checked.problem, 'validation'))
          return {
            status: 'completed',
            output: recordedResult((await work.run(agentContext(ctx), checked.value)) ?? null) as Json,
          }
        },
        related: () => [],
        problems: () => [],
      },
    ]
  })
}
