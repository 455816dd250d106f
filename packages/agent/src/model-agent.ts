/**
 * Model agent: the common part of plain agents and supervisors. Both run one model in the one turn loop; a supervisor
 * has more tools.
 *
 * Owns: turning a model setup into an `Agent`. Does not own: the loop (turn-loop.ts), the public constructors
 * (agent.ts, ../supervisor).
 */
import { failed, failure, hasNames, own, toolAgent, type Failure, type Json, type Outcome } from '@reeve/core'
import { briefValue, turnsOf, type Edge, type Limits, type Oversight, type Schema, type SchemaLike } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { modelsOf, resolveModel, settingProblems, type Model, type ModelRef, type ToolSpec } from '@reeve/model'
import { deadlineProblems } from '@reeve/oversight'
import type { Assess } from './approval/assessment.ts'
import { DefinedAgent } from './defined-agent.ts'
import { usdCapOf, type Agent, type AgentProblem, type UsdCap } from './definition.ts'
import { sideAgents, type AgentFacts, type Middleware, type ModelAgentFacts } from './facts.ts'
import { runModelAgent, worksInBackground } from './loop/model-activation.ts'
import { defaultTurns } from './loop/turn-budget.ts'
import type { ModelSetup } from './loop/turn-loop.ts'
import { withMiddlewareInstructions, revisedSetup } from './model-revision.ts'
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

/** The definition of a model agent. A leader with this agent as its base takes it over. */
export type ModelAgentDefinition = AgentFacts<string, SchemaLike | undefined, SchemaLike | undefined> & ModelAgentFacts

/** The parts of a model agent. */
export interface ModelAgentParts {
  readonly definition: ModelAgentDefinition
  readonly description: string
  /** Called once, on first use of the version: workers may be declared later than their leader. */
  readonly version: () => string
  readonly setup: ModelSetup
  readonly inputSchema: Schema | undefined
  readonly limits: Limits | undefined
  readonly oversight?: Oversight | undefined
  readonly assess?: Assess | undefined
  readonly outputKey: string | undefined
  /** Its current workers. */
  readonly workers?: () => readonly Agent[]
  /** Its workers as given. */
  readonly reaches?: unknown
  /** The names of the workers offered from the start. */
  readonly team?: () => readonly string[]
  /** Why it cannot begin with this edge. */
  readonly refusal?: (edge: Edge) => Failure | undefined
  readonly problems: () => readonly AgentProblem[]
  /** How many tools its model is offered at the start of a run. Default: its own tools. */
  readonly toolCount?: () => number
}

/** A model agent. */
export class ModelAgent extends DefinedAgent {
  readonly #parts: ModelAgentParts
  /** Its orchestration tools as agents, its scorers and its summarizer. */
  readonly #own: readonly Agent[]

  constructor(parts: ModelAgentParts) {
    const { setup, description, inputSchema, limits, oversight, assess, outputKey, team, reaches } = parts
    const { agent: name, model, outputSchema } = setup
    super({
      name,
      description,
      model,
      inputSchema,
      outputSchema,
      limits,
      oversight,
      assess,
      outputKey,
      team,
      reaches,
      hooked: team === undefined ? ['turns'] : ['turns', 'delegation'],
      background: worksInBackground(setup),
      rootTurns: defaultTurns,
      lastAnswer: setup.lastAnswer,
    })
    this.#parts = parts
    this.#own = [...toolAgents(name, setup.tools), ...sideAgents(setup)]
  }

  /** The names of its tools, including those of middlewares. */
  get toolNames(): readonly string[] {
    return this.#parts.setup.tools.map(({ name }) => name)
  }

  tools(): readonly ToolSpec[] {
    return this.#parts.setup.tools.map(({ spec }) => spec)
  }

  undeclaredTools(): readonly string[] {
    return this.#parts.setup.tools.flatMap(({ name, work }) =>
      work.kind === 'effect' && work.undeclared === true ? [name] : [],
    )
  }

  get definition(): ModelAgentDefinition {
    return this.#parts.definition
  }

  protected madeVersion(): string {
    return this.#parts.version()
  }

  orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    const refused = this.#parts.refusal?.(edge) ?? inputRefusal(this.name, this.inputSchema, edge)
    return refused === undefined ? runModelAgent(this.#setup(edge), ctx, edge) : Promise.resolve(failed(refused))
  }

  /** The setup with the revision that holds in this run. */
  #setup({ run: { versions } }: Edge): ModelSetup {
    const { setup } = this.#parts
    const revision = own(versions, this.name)
    return revision === undefined ? setup : revisedSetup(setup, revision)
  }

  related(): readonly Agent[] {
    return [...(this.#parts.workers?.() ?? []), ...this.#own]
  }

  /** The caps of agents that it calls as tools. */
  usdCaps(): readonly UsdCap[] {
    return this.#parts.setup.tools.flatMap(({ name, work }) =>
      work.kind === 'agent' ? usdCapOf(work.limits, `tools.${name}.limits`, [work.agent]) : [],
    )
  }

  problems(): readonly AgentProblem[] {
    const { definition, setup, problems } = this.#parts
    const refused = modelsOf(setup.model).flatMap(({ id, settingLimits = {} }) =>
      settingProblems(setup.settings, settingLimits, `"${id}"`),
    )
    return [
      ...problems(),
      ...refused.map((problem) => `agent "${this.name}": ${problem}`),
      ...deadlineProblems(definition.oversight?.approval, setup.tools, `agent "${this.name}"`),
    ]
  }

  toolCount(): number {
    const { toolCount, setup } = this.#parts
    return toolCount?.() ?? setup.tools.length
  }
}

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
          return { status: 'completed', output: ((await work.run(agentContext(ctx), checked.value)) ?? null) as Json }
        },
        related: () => [],
        problems: () => [],
      },
    ]
  })
}
