/**
 * agent(): a model with tools, or code, as an `Agent`.
 *
 * Owns: the public constructor, its options and their types, its checks. Does not own: how a mind works (mind.ts, loop.ts), leaders (../supervisor).
 * Definitions are immutable: nothing of a run is ever written to one.
 */
import {
  completed,
  failed,
  failure,
  isObject,
  jsonProblem,
  ReeveError,
  transferTool,
  withTrail,
  type Failure,
  type Json,
  type Outcome,
} from '../core/index.ts'
import {
  briefValue,
  compileSchema,
  limitProblems,
  type Edge,
  type Infer,
  type Limits,
  type Schema,
  type SchemaLike,
} from '../edge/index.ts'
import type { Context, RetryPolicy } from '../engine/index.ts'
import type { ModelRef, ModelSettings, Prices } from '../model/index.ts'
import { fixedToolbox } from './binding.ts'
import { isName, versionOf, type Agent } from './definition.ts'
import { ToolBinding } from './gate.ts'
import { defaultTurns, inputRefusal, MindAgent, modelOf } from './mind.ts'
import { fitting } from './output.ts'
import { End, OwnTalk, type Talk } from './talk.ts'
import { toolsOf, type Tool, type ToolsLike } from './tool.ts'

/** What every kind of agent is told. */
export interface AgentFacts<Name extends string, In extends SchemaLike | undefined, Out extends SchemaLike | undefined> {
  /** A letter or `_`, then up to 63 letters, digits, `_` or `-`. Two different agents of a runtime may not share one. */
  readonly name: Name
  /** What it is good for; leaders choose by it. Required for workers. */
  readonly description?: string
  /** What it takes. With it, a leader gives a typed input instead of instructions. Default: text. */
  readonly input?: In
  /** What it answers. Default: text. */
  readonly output?: Out
  /** Hard limits of it and everything below it. Default: 20 turns, and nothing else, where it is a root. */
  readonly limits?: Limits
  /** Declared version. Default `1`. Everything that is data is part of the version anyway; raise it when functions change their meaning. */
  readonly version?: string
}

/** What every mind is told. */
export interface MindFacts {
  /** An id (`openai/gpt-5`), an AI SDK model object, a `Model`, or a function: a rule brain. */
  readonly model: ModelRef
  /** Its system text. Never crosses to a worker. */
  readonly instructions?: string
  readonly tools?: ToolsLike
  readonly settings?: ModelSettings
  /** Prices by model id, before the built-in list. */
  readonly prices?: Prices
  /** How often its model is asked again after a failure that may pass. Default: 3 attempts in all, 1 s doubling up to 30 s with jitter, never sooner than the provider says. */
  readonly retry?: RetryPolicy
}

/** An agent that thinks with a model. */
export interface ModelAgentOptions<Name extends string, In extends SchemaLike | undefined, Out extends SchemaLike | undefined>
  extends AgentFacts<Name, In, Out>, MindFacts {
  readonly run?: never
}

/** An agent that is code. */
export interface CodeAgentOptions<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  O,
> extends AgentFacts<Name, In, Out> {
  /**
   * The work: orchestration, so everything uncertain goes through `ctx` (`step`, `delegate`, `interrupt`, `approve`, `sleep`). Returns the output; what it throws is its failure,
   * a FailureError exactly that one. In a conversation of several agents `talk` has what was said before, and it may return `transferTo`, `exit` or `breakLoop`.
   */
  readonly run: (ctx: Context, brief: Infer<In>, talk: Talk) => O | Promise<O>
  /** Whom it may delegate to; they are registered along with it. */
  readonly workers?: readonly Agent[] | (() => readonly Agent[])
  readonly model?: never
}

/** What a code agent answers: what its schema says, else what its function returns. */
type Answer<Out, O> = [Out] extends [undefined] ? Exclude<Awaited<O>, End> : Infer<Out>

/**
 * Defines an agent. Throws `agent.invalid` for options that make no sense by themselves and `model.invalid-id` for a model that is none; names, descriptions and
 * everything else that depends on the team are checked together when a runtime is made.
 */
export function agent<
  const Name extends string,
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
>(options: ModelAgentOptions<Name, In, Out>): Agent<Name, Infer<In>, Infer<Out>>
export function agent<
  const Name extends string,
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O = unknown,
>(options: CodeAgentOptions<Name, In, Out, O>): Agent<Name, Infer<In>, Answer<Out, O>>
export function agent(
  options:
    | ModelAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined>
    | CodeAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined, unknown>,
): Agent {
  if (typeof options.run === 'function') return new CodeAgent(options)
  if ((options as { readonly model?: ModelRef }).model === undefined)
    throw new ReeveError('agent.invalid', `agent "${String(options.name)}" has neither a model nor a run`, {
      hint: 'Give model: an id, a model object or a function; or run: code.',
    })
  return modelAgent(options)
}

function modelAgent(options: ModelAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined>): Agent {
  const { name, description = '', instructions, limits } = options
  const model = modelOf(name, options.model, options.prices)
  const tools = toolsOf(options.tools)
  const inputSchema = schemaOf(options.input, `agent "${name}": input`)
  const outputSchema = schemaOf(options.output, `agent "${name}": output`)
  const opening = { system: instructions, toolbox: fixedToolbox(tools.map((tool) => new ToolBinding(tool, name, outputSchema))) }
  return new MindAgent({
    description,
    version: () =>
      versionOf(options.version, dataOf({ instructions, model: model.id, tools, input: inputSchema, output: outputSchema, limits })),
    mind: {
      agent: name,
      model,
      settings: options.settings,
      retry: options.retry,
      outputSchema,
      maxTurns: limits?.turns ?? defaultTurns,
      open: () => opening,
    },
    inputSchema,
    limits,
    tools,
    problems: () => [...factProblems(options), ...retryProblems(options.retry, `agent "${name}"`), ...toolProblems(name, tools)],
  })
}

/** A schema of the options, compiled. */
export const schemaOf = (given: SchemaLike | undefined, where: string): Schema | undefined =>
  given === undefined ? undefined : compileSchema(given, where)

/** The part of a definition that is data, for its version. */
export function dataOf(parts: {
  readonly instructions?: string | undefined
  readonly model?: string
  readonly tools?: readonly Tool[]
  readonly input?: Schema | undefined
  readonly output?: Schema | undefined
  readonly limits?: Limits | undefined
  readonly workers?: readonly string[]
}): Json {
  return {
    instructions: parts.instructions ?? null,
    model: parts.model ?? null,
    tools: (parts.tools ?? []).map((tool) => [tool.name, tool.version]),
    input: parts.input?.json ?? null,
    output: parts.output?.json ?? null,
    limits: (parts.limits ?? null) as Json,
    ...(parts.workers === undefined ? undefined : { workers: parts.workers }),
  }
}

/** What is wrong with the facts of one agent. */
export function factProblems(options: Pick<AgentFacts<string, undefined, undefined>, 'name' | 'limits'>): string[] {
  const { name, limits } = options
  const where = `agent "${name}"`
  return [
    ...(isName(name) ? [] : [`${where}: a name is a letter or "_", then up to 63 letters, digits, "_" or "-"`]),
    ...(limits === undefined ? [] : limitProblems(limits, where)),
  ]
}

/** What is wrong with how a model is to be asked again. */
export function retryProblems(retry: RetryPolicy | undefined, where: string): string[] {
  const { attempts = 1, backoffMs = 0, maxBackoffMs = 0 } = retry ?? {}
  return [
    ...(Number.isInteger(attempts) && attempts > 0
      ? []
      : [`${where}: retry.attempts is ${attempts}, expected a whole number of at least 1`]),
    ...(backoffMs >= 0 && maxBackoffMs >= 0 ? [] : [`${where}: retry.backoffMs and retry.maxBackoffMs are milliseconds, not below 0`]),
  ]
}

/** What is wrong with the tools of one agent; `taken` are the names of Reeve's own verbs there. */
export function toolProblems(agentName: string, tools: readonly Tool[], taken: ReadonlySet<string> = new Set()): string[] {
  const seen = new Set<string>()
  return tools.flatMap(({ name }) => {
    const problem =
      taken.has(name) || name === transferTool
        ? [`agent "${agentName}": the tool name "${name}" is taken by Reeve's own`]
        : seen.has(name)
          ? [`agent "${agentName}": two tools are called "${name}"`]
          : []
    seen.add(name)
    return problem
  })
}

const nobodyToHandTo = (name: string, to: string): Failure =>
  failure('transfer.refused', `"${name}" hands over to "${to}", and there is nobody to hand over to`, 'validation', {
    hint: 'transferTo works for a worker of a router. Run the router, not the worker.',
  })

/** Code as an agent. */
class CodeAgent implements Agent {
  readonly kind = 'agent'
  readonly name: string
  readonly description: string
  readonly inputSchema?: Schema
  readonly outputSchema?: Schema
  readonly limits?: Limits
  readonly defaults?: { readonly limits: Limits }
  readonly #options: CodeAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined, unknown>
  #version: string | undefined

  constructor(options: CodeAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined, unknown>) {
    const { name, description = '', limits } = options
    this.#options = options
    this.name = name
    this.description = description
    const input = schemaOf(options.input, `agent "${name}": input`)
    const output = schemaOf(options.output, `agent "${name}": output`)
    if (input !== undefined) this.inputSchema = input
    if (output !== undefined) this.outputSchema = output
    if (limits !== undefined) {
      this.limits = limits
      this.defaults = { limits }
    }
  }

  get version(): string {
    const workers = this.related().map((worker) => worker.name)
    return (this.#version ??= versionOf(
      this.#options.version,
      dataOf({ input: this.inputSchema, output: this.outputSchema, limits: this.limits, workers }),
    ))
  }

  async orchestrate(ctx: Context, edge: Edge): Promise<Outcome> {
    const refused = inputRefusal(this.name, this.inputSchema, edge)
    if (refused !== undefined) return failed(refused)
    const checked = this.inputSchema?.check(briefValue(edge.brief))
    const talk = new OwnTalk(this.name, ctx, edge)
    const returned = await this.#options.run(ctx, checked?.ok === true ? checked.value : briefValue(edge.brief), talk)
    const end = returned instanceof End ? returned : undefined
    if (edge.flow === undefined && end?.action?.type === 'transfer') return failed(nobodyToHandTo(this.name, end.action.to))
    const outcome = this.#outcome(end === undefined ? (returned ?? null) : end.output, end)
    const trail = talk.trail(outcome.status === 'completed' ? outcome.output : null, end)
    return edge.flow === undefined ? outcome : withTrail(outcome, trail)
  }

  #outcome(output: unknown, end: End | undefined): Outcome {
    if (end?.action?.type === 'transfer' && output === null) return completed('')
    const problem = typeof output === 'string' ? undefined : jsonProblem(output, 'output')
    if (problem !== undefined)
      return failed(failure('output.invalid', `the output of "${this.name}" is not JSON: ${problem}`, 'validation'))
    const fits = fitting(output as Json, this.outputSchema)
    return fits.ok
      ? completed(fits.value)
      : failed(failure('output.invalid', `the output of "${this.name}" does not have the promised form: ${fits.problem}`, 'validation'))
  }

  related(): readonly Agent[] {
    const { workers } = this.#options
    return typeof workers === 'function' ? workers() : (workers ?? [])
  }

  problems(): readonly string[] {
    return [
      ...factProblems(this.#options),
      ...this.related().flatMap((worker) => (isAgent(worker) ? [] : [`agent "${this.name}": one of its workers is not an agent`])),
    ]
  }
}

/** True for anything that keeps the `Agent` interface, of any copy of the package. */
export function isAgent(given: unknown): given is Agent {
  return (
    (isObject(given) || (typeof given === 'object' && given !== null)) &&
    'kind' in given &&
    given.kind === 'agent' &&
    'orchestrate' in given
  )
}
