/**
 * Tool: something an agent can do. An *effect* (`execute`: one recorded step that cannot wait for the inbox) or an
 * *orchestration* (`run`: a child activation with the whole context).
 *
 * Owns: the definition, its defaults and checks, the adoption of AI SDK tools. Does not own: gating and running a call
 * (../approval/tool-gate.ts).
 * Holds: its part of K6: only its author says that a tool may run twice. One that says nothing is `once`.
 */
import type { RetryPolicy, StepIO } from '@reeve/engine'
import {
  choice,
  described,
  duration,
  either,
  expects,
  flag,
  hasNames,
  isFunction,
  isObject,
  jsonProblem,
  messageOf,
  mustBeOptions,
  nameCheck,
  number,
  object,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  required,
  unchecked,
  wholeNumber,
  type Checks,
  type Json,
  type JsonObject,
  type Rule,
  type Without,
} from '@reeve/core'
import {
  compileSchema,
  schemaMisfit,
  type AiSdkSchema,
  type Brief,
  type Grant,
  type Infer,
  type JsonSchema,
  type Limits,
  type Schema,
  type SchemaLike,
  type StandardSchema,
} from '@reeve/edge'
import type { Caller } from '@reeve/journal'
import type { Message, ToolCall, ToolSpec } from '@reeve/model'
import {
  untimedProblems,
  approvalTimeoutCheck,
  type ApprovalTimeout,
  type Risk,
  type UsedCapability,
} from '@reeve/oversight'
import { versionOf, type Agent } from '../definition.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { retryCheck } from '../retry-check.ts'
import { modelMessages } from './ai-sdk-messages.ts'
import { fromAiSdkProviderTool, isAiSdkProviderTool, type ProviderWork } from './provider-tool.ts'
import type { ModelOutputInput } from './model-output.ts'
import type { AgentContext } from '../code/agent-context.ts'

/** The second argument of `execute`. */
export interface ToolIO extends StepIO {
  /** The model's id of the call. */
  readonly callId: string
  /** The caller of the run. A read-only copy. */
  readonly caller: Caller
  /** The approval of this call, if it needed one. To let a service verify it, use `signCapability`. */
  readonly capability?: UsedCapability | undefined
  /** What was said before the answer that made this call, without instructions. Empty where code makes it. */
  readonly messages: readonly Message[]
}

/** When and how a call needs a human's approval. */
export interface ApprovalRule<I = unknown> {
  /** Pure. Default: always. If it throws, an approval is asked for. */
  readonly when?: (input: I) => boolean
  /** Default `high` for a sensitive tool, else `medium`. */
  readonly risk?: Risk
  /** Milliseconds. Default, and `'never'`: no deadline of its own, it waits for as long as it takes. */
  readonly timeoutMs?: ApprovalTimeout
  /** Default `reject`. `approve` needs a `timeoutMs`; it is refused for sensitive tools and for high and critical risk. */
  readonly onTimeout?: 'reject' | 'approve'
  /** The reason shown to the approver. */
  readonly reason?: string
  /**
   * Milliseconds after the decision within which the call, and each of its attempts, must begin. Later it does not run
   * and must be approved again. Default: a day.
   */
  readonly validForMs?: number
  /**
   * What the call would change, for the approver to see; recorded with the request as `context.preview`. Called with the
   * exact arguments before each request, as an effect that only reads: retried, and not repeated after a crash. At most
   * 256 kB as JSON. If it fails, is too large or takes over a minute, the request says so and is made all the same.
   */
  readonly preview?: (input: I, io: StepIO) => Preview | Promise<Preview>
}

/**
 * What a call would change. `{ before, after }` is shown as a difference, line by line where both are texts (a file, a
 * message); any other JSON as it is.
 */
export type Preview = { readonly before: Json; readonly after: Json } | Json

/** A compiled tool. Immutable; any number of agents may use it. */
export interface Tool<Name extends string = string> {
  readonly kind: 'tool'
  readonly name: Name
  /** Declared version (default `1`), `+`, and a digest of schema and effect. An approval holds for one version. */
  readonly version: string
  readonly spec: ToolSpec
  readonly input: Schema
  readonly sensitive: boolean
  readonly approval: ApprovalRule | undefined
  /** The cost of a call in US dollars, if known. */
  readonly costUsd?: number | ((input: unknown) => number)
  readonly work: EffectWork | ClientWork | OrchestrationWork | AgentWork | ProviderWork
  /** What a result does to the calling agent. */
  readonly action: ActionRule | undefined
  /** The caller does not wait for it. */
  readonly background?: true
  /** Whether equal calls of one answer of a model are each made. */
  readonly repeatable: boolean
  /** How much a model is shown of a result, in tokens. Undefined: as the run says. */
  readonly resultTokens?: number
  /**
   * Models are sent it only once they have found it, with a search that finds at most so many at once (`searchable`).
   * Absent: it is always sent.
   */
  readonly searchable?: { readonly limit: number }
}

/** Tools that models find by search (`searchable`), among the tools of an agent. */
export interface SearchableTools {
  readonly kind: 'searchable'
  readonly tools: readonly Tool[]
}

/**
 * What follows a result. `return`: it is the answer, and the model is not called again. `exit`: it is the answer of the
 * whole run (`{ exit: 'supervisor' }`: of the work under the nearest router or round table). `break`: the nearest loop
 * ends, the agent continues. `{ transfer }`: control goes to that agent.
 */
export type ToolAction =
  'return' | 'exit' | 'break' | { readonly exit: 'supervisor' } | { readonly transfer: string; readonly task?: string }

/** An action, several, or a pure function of the result and the input. A failed call has none. */
export type ActionRule<I = unknown> =
  ToolAction | readonly ToolAction[] | ((output: Json, input: I) => ToolAction | readonly ToolAction[] | undefined)

/**
 * Whether a tool may run again for the same call, after a crash or a throw: `read` changes nothing, `idempotent` may be
 * repeated with the same `io.key`, `once` is repeated only if an operator says so.
 */
export type ToolEffect = 'read' | 'idempotent' | 'once'

/** One step. */
export interface EffectWork {
  readonly kind: 'effect'
  readonly effect: ToolEffect
  /** Its author has not said what it is: it is taken for `once`. */
  readonly undeclared?: true
  readonly timeoutMs: number | undefined
  readonly retry: RetryPolicy | undefined
  readonly execute: (input: unknown, io: ToolIO) => Json | Promise<Json>
  readonly toModelOutput: ((given: ModelOutputInput) => unknown) | undefined
}

/** A question to the client, which runs the tool. */
export interface ClientWork {
  readonly kind: 'client'
  readonly effect: ToolEffect
  /** Its author has not said what it is: it is taken for `once`. */
  readonly undeclared?: true
  /** For the answer of the client, from the question on. Milliseconds. */
  readonly timeoutMs: number | undefined
  readonly output: Schema | undefined
  readonly toModelOutput: EffectWork['toModelOutput']
}

/** A child activation. */
interface OrchestrationWork {
  readonly kind: 'orchestration'
  readonly run: (ctx: AgentContext, input: unknown) => Promise<unknown>
}

/** Another agent as a tool. */
export interface AgentWork {
  readonly kind: 'agent'
  readonly agent: Agent
  /** Hard limits of each call. */
  readonly limits?: Limits
  /** Its input where the conversation has files, which it then takes by name. */
  readonly withFiles?: Schema
  /** What crosses to it; a text says what is wrong with the input. */
  readonly crossing: (
    input: Json,
    call: ToolCall,
    state: ConversationState,
  ) => ({ readonly brief: Brief } & Grant) | string
  /** What happens to the caller if it does not complete: the caller is told, or ends in the same way. */
  readonly onFailure: 'tell' | 'fail'
}

type ToolInput<S> = [S] extends [undefined] ? { readonly [name: string]: Json } : Infer<S>

interface ToolOptions<Name extends string, S extends SchemaLike | undefined> {
  /** A letter or `_`, then up to 63 letters, digits, `_` or `-`. */
  readonly name: Name
  /** What it does and when to use it. The model reads this. */
  readonly description?: string
  /**
   * Standard Schema (zod, valibot, arktype, …), an AI SDK schema, or plain JSON Schema. Default: an object with
   * anything in it.
   */
  readonly input?: S
  /** The arguments as JSON Schema, for schema libraries that cannot produce it. */
  readonly parameters?: JsonSchema
  /** Every call needs an approval, and after a crash it is repeated only if a human says so. Default false. */
  readonly sensitive?: boolean
  /** Whether a call needs an approval. Default: only if the tool is sensitive. `false` does not undo `sensitive`. */
  readonly approval?: boolean | ((input: ToolInput<S>) => boolean) | ApprovalRule<ToolInput<S>>
  /**
   * The cost of a call in US dollars: an amount, or a pure function of the input. With oversight, humans review calls
   * that cost too much. Default: unknown. If it throws, they are asked.
   */
  readonly costUsd?: number | ((input: ToolInput<S>) => number)
  /** What a result does to the calling agent. Default: nothing, and its model is called again. */
  readonly action?: ActionRule<ToolInput<S>>
  /**
   * The caller does not wait: the call returns a placeholder, the agent continues, and the result replaces the
   * placeholder later. An answer given before that does not end the work. An approval is awaited in the background,
   * too. Default false. Not with an `action`.
   */
  readonly background?: boolean
  /**
   * Whether a call is made again that stands in the same answer of a model already, with equal arguments. `false`: it is
   * made once, and each of the calls has that result. Default: false for what may not be done twice (`effect: 'once'`, also
   * where nothing is declared, and `sensitive`), else true.
   */
  readonly repeatable?: boolean
  /**
   * How much a model is shown of a result, in tokens, as estimated; the rest is kept by reference, and the model reads on
   * with `read_large_result`. At least 100. Stands in the place of the default of a run (`limits.resultTokens`), and is not
   * more than a limit that an agent or a run has set. Default: as the run says.
   */
  readonly resultTokens?: number
  readonly version?: string
}

/** What is said of a tool that is one effect. */
interface EffectOfTool<S extends SchemaLike | undefined> {
  /**
   * Whether it may run again for the same call, after a crash or a throw: `read` changes nothing, `idempotent` may be
   * repeated with the same `io.key`, `once` is repeated only if an operator says so. Default `once`, and `idempotent`
   * with a `retry` of more than one attempt.
   */
  readonly effect?: ToolEffect
  /** For one attempt. Default: no limit. */
  readonly timeoutMs?: number
  /** Default: 3 attempts in all, with backoff; `once` has one. */
  readonly retry?: RetryPolicy
  /**
   * Runs the tool. Returns JSON (nothing is `null`). The model sees the message of a throw; a FailureError or
   * ReeveError says whether a retry may help.
   */
  readonly execute: (input: ToolInput<S>, io: ToolIO) => unknown
  /**
   * What the model is shown of a result, as `{ type: 'text' | 'json', value }` or another form of the AI SDK; called once
   * after `execute`, in the same step, and both are recorded. If it fails, the model is told that the tool is done, and
   * nothing of the result. Default: the whole result.
   */
  readonly toModelOutput?: (given: ModelOutputInput<ToolInput<S>>) => unknown
}

/** A tool that is one effect. */
export interface EffectToolOptions<Name extends string, S extends SchemaLike | undefined>
  extends ToolOptions<Name, S>, EffectOfTool<S> {}

/** A tool that is orchestration: it may ask, delegate and wait, and must be deterministic (K3). */
export interface OrchestrationToolOptions<Name extends string, S extends SchemaLike | undefined>
  extends ToolOptions<Name, S>, Without<EffectOfTool<S>> {
  readonly run: (ctx: AgentContext, input: ToolInput<S>) => Promise<unknown>
}

/** A tool that the client of the run runs: a page, an editor, a program. */
export interface ClientToolOptions<Name extends string, S extends SchemaLike | undefined> extends ToolOptions<Name, S> {
  /**
   * The schema of what the client sends back. An answer that does not fit is refused, and the call stays open. Default:
   * any JSON value.
   */
  readonly output?: SchemaLike
  /**
   * Milliseconds for the client to answer, from the question on, also over restarts. Then the model is told that the
   * client did not run it. Default: no limit, it waits for as long as it takes.
   */
  readonly timeoutMs?: number
  /**
   * Whether the client may be asked again for the same call in another attempt at the same work. `read` and
   * `idempotent`: it is. `once`: what the client has answered is not asked again. Default `once`.
   */
  readonly effect?: ToolEffect
  /** What the model is shown of an output, as for `tool()`. Default: the whole output. */
  readonly toModelOutput?: (given: ModelOutputInput<ToolInput<S>>) => unknown
}

const commonChecks: Checks<ToolOptions<string, undefined>> = {
  name: required(nameCheck),
  description: unchecked,
  input: unchecked,
  parameters: unchecked,
  sensitive: unchecked,
  approval: either(
    (given) => ['boolean', 'function'].includes(typeof given),
    object<ApprovalRule>({
      when: unchecked,
      risk: unchecked,
      timeoutMs: approvalTimeoutCheck,
      onTimeout: unchecked,
      reason: unchecked,
      validForMs: duration,
      preview: expects(isFunction, 'a function of the arguments'),
    }),
  ),
  costUsd: expects(
    (given) => typeof given === 'function' || (Number.isFinite(given) && (given as number) >= 0),
    'US dollars, or a function',
  ),
  action: either(isFunction, (given, where) =>
    [given].flat().flatMap((each) => (isAction(each) ? [] : actionCheck(each, where))),
  ),
  background: flag,
  repeatable: flag,
  resultTokens: wholeNumber(100),
  version: unchecked,
}
const actionCheck = expects(
  isAction,
  '"return", "exit", "break", { exit: "supervisor" }, { transfer: name } or a function',
)
const effectCheck = choice('read', 'idempotent', 'once')
const effectChecks: Checks<EffectToolOptions<string, undefined>> = {
  ...commonChecks,
  effect: effectCheck,
  timeoutMs: number((given) => given > 0, 'more than 0'),
  retry: retryCheck,
  execute: unchecked,
  toModelOutput: expects(isFunction, 'a function of the result'),
}
const orchestrationChecks: Checks<Omit<OrchestrationToolOptions<string, undefined>, keyof EffectOfTool<undefined>>> = {
  ...commonChecks,
  run: unchecked,
}
const clientChecks: Checks<ClientToolOptions<string, undefined>> = {
  ...commonChecks,
  output: unchecked,
  effect: effectCheck,
  timeoutMs: number((given) => given > 0, 'more than 0'),
  toModelOutput: expects(isFunction, 'a function of the result'),
}
const bothChecks = { ...effectChecks, ...orchestrationChecks }

/** What must hold between them. */
const toolRule: Rule<AnyTool> = (options, where) => {
  const { execute, run } = options
  return [
    (typeof execute === 'function') === (typeof run === 'function') &&
      (execute === undefined && run === undefined
        ? `${where}: give execute, or run; a tool that the page or the program of the user runs is a clientTool()`
        : `${where}: give either execute or run`),
    ...commonRule(options, where),
  ]
}
function commonRule(options: ToolOptions<string, SchemaLike>, where: string): readonly (string | false)[] {
  const { action, background, sensitive = false } = options
  const approval = approvalRule(options.approval, sensitive)
  return [
    background === true && action !== undefined && `${where}: a tool with background: true cannot have an action`,
    ...(approval === undefined ? [] : untimedProblems({ ...approval, sensitive }, where)),
  ]
}
type AnyTool = EffectToolOptions<string, SchemaLike> &
  Partial<Pick<OrchestrationToolOptions<string, SchemaLike>, 'run'>>

/** What people who know other frameworks mean by an option that tools do not have. */
const meantByToolOptions: Readonly<Record<string, string>> = {
  id: 'name',
  schema: 'input',
  inputSchema: 'input',
  requireApproval: 'approval',
  needsApproval: 'approval',
  handler: 'execute',
}

/** Defines a tool. Throws `tool.invalid` with all of its problems. */
export function tool<const Name extends string, S extends SchemaLike | undefined = undefined>(
  options: OrchestrationToolOptions<Name, S> | EffectToolOptions<Name, S>,
): Tool<Name>
export function tool(given: object): Tool {
  mustBeOptions(given, 'tool', 'tool.invalid')
  const options = given as AnyTool
  const where = `tool "${options.name}"`
  // with both, all option names are known, and giving both is the problem
  const both = options.execute !== undefined && options.run !== undefined
  const checks = both ? bothChecks : options.run === undefined ? effectChecks : orchestrationChecks
  const problems = optionProblems<AnyTool>(checks as Checks<AnyTool>, options, where, {
    rule: toolRule,
    meant: meantByToolOptions,
  })
  const input = schemaOf(options.input, options.parameters, where, problems)
  refuseProblems('tool.invalid', problems)
  const declared = declaredEffect(options)
  const effect = declared ?? 'once'
  return toolWith(
    options,
    input,
    typeof options.run === 'function'
      ? { kind: 'orchestration', run: options.run }
      : {
          kind: 'effect',
          effect,
          ...(declared === undefined ? { undeclared: true as const } : undefined),
          timeoutMs: options.timeoutMs,
          retry: options.retry,
          execute: options.execute as EffectWork['execute'],
          toModelOutput: options.toModelOutput,
        },
  )
}

/**
 * Defines a tool that the client runs, such as a page or an editor: a call is a question to the outside that waits for
 * the client's answer, on disk if need be. Throws `tool.invalid` with all of its problems.
 */
export function clientTool<const Name extends string, S extends SchemaLike | undefined = undefined>(
  options: ClientToolOptions<Name, S>,
): Tool<Name>
export function clientTool(given: object): Tool {
  mustBeOptions(given, 'clientTool', 'tool.invalid')
  const options = given as ClientToolOptions<string, SchemaLike>
  const where = `tool "${options.name}"`
  const problems = optionProblems<ClientToolOptions<string, SchemaLike>>(clientChecks, options, where, {
    rule: (given, at) => [
      'execute' in given && `${at}: the client runs a client tool; what this process runs is a tool()`,
      ...commonRule(given, at),
    ],
    meant: meantByToolOptions,
  })
  const input = schemaOf(options.input, options.parameters, where, problems)
  const output = outputSchema(options.output, where, problems)
  refuseProblems('tool.invalid', problems)
  const declared = declaredEffect(options)
  return toolWith(options, input, {
    kind: 'client',
    effect: declared ?? 'once',
    ...(declared === undefined ? { undeclared: true as const } : undefined),
    timeoutMs: options.timeoutMs,
    output,
    toModelOutput: options.toModelOutput,
  })
}

function outputSchema(given: SchemaLike | undefined, where: string, problems: string[]): Schema | undefined {
  try {
    return given === undefined ? undefined : compileSchema(given, `${where}: output`)
  } catch (thrown) {
    problems.push(messageOf(thrown))
    return undefined
  }
}

/** The tool of checked options. */
function toolWith(options: ToolOptions<string, SchemaLike>, input: Schema, work: Tool['work']): Tool {
  const { name, description = '', sensitive = false, background = false } = options
  const { costUsd, action } = options
  const effect = work.kind === 'effect' || work.kind === 'client' ? work.effect : undefined
  return {
    kind: 'tool',
    name,
    sensitive,
    approval: approvalRule(options.approval, sensitive),
    input,
    work,
    ...present({ costUsd, resultTokens: options.resultTokens }),
    action,
    ...(background ? { background: true as const } : undefined),
    repeatable: options.repeatable ?? !(sensitive || effect === 'once'),
    version: versionOf(options.version, {
      parameters: input.json,
      ...(effect === undefined ? undefined : { effect }),
      ...(work.kind === 'client' ? { client: true, ...present({ output: work.output?.json }) } : undefined),
      sensitive,
      ...(action === undefined || typeof action === 'function' ? undefined : { action: action as Json }),
      ...(typeof costUsd === 'number' ? { costUsd } : undefined),
      ...(background ? { background } : undefined),
      ...present({ resultTokens: options.resultTokens }),
    }),
    spec: { name, description: description === '' ? `Runs ${name}.` : description, parameters: input.json },
  }
}

/** What the author of a tool has said of running it twice; undefined: nothing. */
function declaredEffect({
  effect,
  sensitive,
  retry,
}: Pick<Partial<AnyTool>, 'effect' | 'sensitive' | 'retry'>): ToolEffect | undefined {
  if (effect !== undefined) return effect
  if (sensitive === true) return 'once'
  return retry === undefined || retry.attempts === 1 ? undefined : 'idempotent'
}

/** A fixed action. The result of a function is checked when it is called. */
function isAction(given: unknown): boolean {
  if (!isObject(given)) return given === 'return' || given === 'exit' || given === 'break'
  const { exit, transfer, task, ...others } = given
  const isTransfer =
    typeof transfer === 'string' &&
    transfer !== '' &&
    exit === undefined &&
    (task === undefined || typeof task === 'string')
  const isExit = exit === 'supervisor' && transfer === undefined && task === undefined
  return Object.keys(others).length === 0 && (isTransfer || isExit)
}

function schemaOf(
  given: SchemaLike | undefined,
  parameters: JsonSchema | undefined,
  where: string,
  problems: string[],
): Schema {
  const anything: JsonSchema = { type: 'object', properties: {} }
  try {
    const schema = compileSchema(given ?? parameters ?? anything, where, parameters)
    if (schemaMisfit({ type: 'object' }, schema.json) !== undefined)
      problems.push(`${where}: the input must be an object, because that is what models send`)
    return schema.json['type'] === undefined ? { ...schema, json: { type: 'object', ...schema.json } } : schema
  } catch (thrown) {
    problems.push(messageOf(thrown))
    return compileSchema(anything, where)
  }
}

function approvalRule(
  given: boolean | ((input: never) => boolean) | ApprovalRule<never> | undefined,
  sensitive: boolean,
): ApprovalRule | undefined {
  const own =
    given === undefined || given === false
      ? undefined
      : given === true
        ? {}
        : typeof given === 'function'
          ? { when: given }
          : given
  if (own === undefined && !sensitive) return undefined
  const rule = { ...own, risk: own?.risk ?? (sensitive ? 'high' : 'medium') } as ApprovalRule
  if (!sensitive) return rule
  const { when: _when, ...always } = rule
  return always
}

/** A tool of the AI SDK (`tool()` of package `ai`, versions 5 to 7), with the members that Reeve uses. */
export interface AiSdkTool {
  readonly description?: unknown
  readonly inputSchema?: unknown
  readonly parameters?: unknown
  readonly execute?: unknown
  readonly needsApproval?: unknown
  /** As the option of Reeve's tools, which the AI SDK does not have: `{ ...search, effect: 'read' }`. Default `once`. */
  readonly effect?: unknown
  /** As the option of Reeve's tools. */
  readonly repeatable?: unknown
  /** As the option of Reeve's tools. */
  readonly resultTokens?: unknown
  readonly [other: string]: unknown
}

/**
 * The option `tools`: a list of Reeve's tools, in which `searchable` may stand; or a record of Reeve and AI SDK tools by
 * name; or `searchable` alone.
 */
export type ToolsLike =
  readonly (Tool | SearchableTools)[] | { readonly [name: string]: Tool | AiSdkTool } | SearchableTools

/**
 * The option `tools` as Reeve's tools. Throws `tool.invalid`. The key of a record is the name, also for Reeve's tools.
 */
export function toolsOf(given: ToolsLike | undefined): readonly Tool[] {
  if (given === undefined) return []
  if (Array.isArray(given)) return (given as readonly unknown[]).flatMap(toolsInList)
  if (isSearchable(given)) return given.tools
  if (!hasNames(given) || isTool(given))
    throw new ReeveError('tool.invalid', `tools is ${described(given)}, expected a list, or a record by name`, {
      hint: 'Give a list: tools: [search].',
    })
  return Object.entries(given as { readonly [name: string]: Tool | AiSdkTool }).map(([name, each]) =>
    hasNames(each) && isTool(each) ? renamed(each, name) : fromAiSdkTool(name, mustBeToolLike(each, name)),
  )
}

/** AI SDK tools have no names of their own, so a list cannot hold them. */
function toolsInList(given: unknown, i: number): Tool | readonly Tool[] {
  if (isSearchable(given)) return given.tools
  if (hasNames(given) && isTool(mustBeToolLike(given, 'name' in given ? String(given.name) : ''))) return given as Tool
  throw new ReeveError('tool.invalid', `tools[${i}] is not a tool, but ${described(given)}`, {
    hint: 'Make one with tool() or asTool(); tools of the AI SDK go into a record by name: tools: { search }.',
  })
}

/** An agent among the tools is the most likely mistake. */
function mustBeToolLike<T>(given: T, name: string): T {
  if (!hasNames(given))
    throw new ReeveError('tool.invalid', `"${name}" among the tools is ${described(given)}`, {
      hint: 'Make one with tool() or asTool().',
    })
  if ('kind' in given && given.kind === 'agent')
    throw new ReeveError('tool.invalid', `"${name}" among the tools is an agent`, {
      hint: 'Make a tool of it: asTool(agent).',
    })
  if (isSearchable(given))
    throw new ReeveError('tool.invalid', `"${name}" among the tools is a set of searchable tools`, {
      hint: 'Its tools have their own names. Put it into a list: tools: [searchable(…)].',
    })
  return given
}

/** True for what `searchable` returns. */
export const isSearchable = (given: unknown): given is SearchableTools =>
  hasNames(given) && 'kind' in given && given.kind === 'searchable' && 'tools' in given && Array.isArray(given.tools)

const isTool = (given: object): given is Tool => 'kind' in given && given.kind === 'tool' && 'work' in given

const renamed = (given: Tool, name: string): Tool =>
  given.name === name ? given : { ...given, name, spec: { ...given.spec, name } }

/** Options of an AI SDK tool that are obeyed: `undefined`, else why a tool that has it is refused. */
const aiSdkOptions: Readonly<Record<string, string | undefined>> = {
  description: undefined,
  inputSchema: undefined,
  parameters: undefined,
  execute: undefined,
  needsApproval: undefined,
  toModelOutput: undefined,
  inputExamples: undefined,
  onInputStart: undefined,
  onInputAvailable: undefined,
  // both are for a user interface, and say nothing to a model
  title: undefined,
  metadata: undefined,
  _meta: undefined,
  // the AI SDK does not check results by it either
  outputSchema: undefined,
  // of streams of arguments alone; Reeve hands arguments over when they are whole
  onInputDelta: undefined,
  effect: undefined,
  repeatable: undefined,
  resultTokens: undefined,
  type: undefined,
  contextSchema: 'Reeve gives tools no context of the AI SDK; let the tool read what it needs, for example io.caller',
  experimental_context: 'Reeve gives tools no context of the AI SDK',
  deferLoading: 'leave it out; searchable() around the tools does it for every provider',
  strict: 'whether a schema is strict follows from the schema and the provider; leave it out',
  providerOptions: 'options of a provider belong to the agent: settings.providerOptions',
}

/** Why an AI SDK tool cannot be adopted whole; undefined if it can. */
function aiSdkProblem(given: AiSdkTool): string | undefined {
  const { type, execute, description } = given
  if (type !== undefined && type !== 'function' && type !== 'dynamic') return `has the type ${described(type)}`
  if (execute !== undefined && typeof execute !== 'function')
    return `has an execute that is ${described(execute)}, expected a function`
  if (execute === undefined && (given.inputSchema ?? given.parameters) === undefined)
    return 'has neither an execute nor an inputSchema: expected a tool of the AI SDK; the client runs one without execute'
  if (execute === undefined && (given['onInputStart'] ?? given['onInputAvailable']) !== undefined)
    return 'has hooks for its input and no execute: the client runs it, so give the client what they do'
  if (typeof description === 'function') return 'has a description that is a function: give it as a text'
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (!Object.hasOwn(aiSdkOptions, name)) return `has ${JSON.stringify(name)}, which Reeve does not know`
    const why = aiSdkOptions[name]
    if (why !== undefined) return `has ${JSON.stringify(name)}: ${why}`
  }
  return undefined
}

/** Adopts an AI SDK tool. Its author cannot declare an effect in the AI SDK, so it has one only if it was added. */
function fromAiSdkTool(name: string, given: AiSdkTool): Tool {
  if (isAiSdkProviderTool(given)) return fromAiSdkProviderTool(name, given)
  const problem = aiSdkProblem(given)
  if (problem !== undefined)
    throw new ReeveError('tool.invalid', `tool "${name}" ${problem}`, {
      hint: 'An AI SDK tool is taken whole or not at all.',
    })
  const { execute, needsApproval, toModelOutput, outputSchema: output } = given
  const schema = given.inputSchema ?? given.parameters
  const common = {
    name,
    description: describedWithExamples(given),
    ...(schema === undefined ? undefined : { input: schema as StandardSchema | AiSdkSchema }),
    ...(given.effect === undefined ? undefined : { effect: given.effect as ToolEffect }),
    ...(given.repeatable === undefined ? undefined : { repeatable: given.repeatable as boolean }),
    ...(given.resultTokens === undefined ? undefined : { resultTokens: given.resultTokens as number }),
    ...(needsApproval === undefined || needsApproval === false
      ? undefined
      : {
          approval: needsApproval === true ? true : { when: (input: unknown) => asksForApproval(needsApproval, input) },
        }),
    ...(toModelOutput === undefined
      ? undefined
      : { toModelOutput: (made: unknown) => (toModelOutput as (made: unknown) => unknown).call(given, made) }),
  }
  // without execute the client runs it, as in the AI SDK: what comes from there is checked
  if (execute === undefined)
    return clientTool({ ...common, ...(output === undefined ? undefined : { output: output as AiSdkSchema }) })
  return tool({
    ...common,
    execute: async (input: unknown, io) => {
      await announceInput(given, input, io)
      return lastYielded(callAiSdk(execute, given, input, io), io)
    },
  })
}

/** Few providers have a place for examples of their own; a description has one everywhere. */
function describedWithExamples({ description, inputExamples }: AiSdkTool): string {
  const said = typeof description === 'string' ? description : ''
  const examples = (Array.isArray(inputExamples) ? (inputExamples as readonly unknown[]) : [])
    .map((each) => (isObject(each) ? each['input'] : undefined))
    .filter((input) => jsonProblem(input) === undefined)
  return [said, ...examples.map((input) => `Example of its input: ${JSON.stringify(input)}`)]
    .filter((line) => line !== '')
    .join('\n')
}

/** The AI SDK allows an asynchronous answer. A question that cannot wait is answered with yes. */
function asksForApproval(needsApproval: unknown, input: unknown): boolean {
  return (
    typeof needsApproval !== 'function' ||
    (needsApproval as (input: unknown, options: unknown) => unknown)(input, { toolCallId: '', messages: [] }) !== false
  )
}

const aiSdkCall = (io: ToolIO): object => ({
  toolCallId: io.callId,
  messages: modelMessages(io.messages),
  abortSignal: io.signal,
})

/** The hooks of the AI SDK for arguments that are whole, in its order. */
async function announceInput(given: AiSdkTool, input: unknown, io: ToolIO): Promise<void> {
  for (const [name, more] of [
    ['onInputStart', {}],
    ['onInputAvailable', { input }],
  ] as const) {
    const hook = given[name]
    if (typeof hook === 'function')
      await (hook as (this: unknown, options: unknown) => unknown).call(given, { ...more, ...aiSdkCall(io) })
  }
}

function callAiSdk(execute: unknown, self: AiSdkTool, input: unknown, io: ToolIO): unknown {
  return (execute as (this: unknown, input: unknown, options: unknown) => unknown).call(self, input, aiSdkCall(io))
}

/** A tool that yields shows its progress; the last value it yields is the result. */
async function lastYielded(returned: unknown, io: ToolIO): Promise<unknown> {
  const result = await returned
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result
  let last: unknown = null
  for await (const part of result as AsyncIterable<unknown>) {
    last = part
    if (isObject(part) || typeof part === 'string')
      io.emit({ type: 'tool.progress', value: part as Json } satisfies JsonObject)
  }
  return last
}
