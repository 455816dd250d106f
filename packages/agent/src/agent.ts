/**
 * agent(): defines an agent with a model and tools, or an agent that is code.
 *
 * Owns: the public constructor, its options, their types and checks. Does not own: how a model agent works
 * (model-agent.ts, turn-loop.ts), leaders (../supervisor). Definitions are immutable: no run ever writes to one.
 */
import {
  completed,
  described,
  either,
  failed,
  failure,
  isFunction,
  jsonProblem,
  keptForm,
  mustBeOptions,
  optionProblems,
  present,
  ReeveError,
  unchecked,
  unknownNames,
  withHandoff,
  type Checks,
  type Failure,
  type Inferred,
  type Json,
  type Outcome,
  type Without,
} from '@reeve/core'
import {
  briefValue,
  leavesHandoff,
  type Edge,
  type Infer,
  type InferInput,
  type Schema,
  type SchemaLike,
} from '@reeve/edge'
import { isLeaving, thrownOutcome, type Context } from '@reeve/engine'
import { fixedToolbox } from './tool/binding.ts'
import { ActivityContext, type Activity } from './loop/activity.ts'
import { defineAgent, type AgentKind, type AgentParts } from './define-agent.ts'
import { agentsCheck, agentsIn, type Agent, type Undescribed } from './definition.ts'
import {
  dataOf,
  factChecks,
  factRule,
  meantByAgentOptions,
  modelAgentChecks,
  schemasOf,
  toolProblems,
  type AgentFacts,
  type ModelAgentFacts,
} from './facts.ts'
import { ToolBinding } from './approval/tool-gate.ts'
import {
  inputRefusal,
  modelAgentKind,
  modelParts,
  modelSetup,
  type ModelAgentMembers,
  type ModelAgentParts,
} from './model-agent.ts'
import { checkOutput } from './output.ts'
import { renamable } from './rename.ts'
import { CodeEnd, ActivationHandoffs, type HandoffContext } from './code/handoff-context.ts'
import { agentContext, type AgentContext } from './code/agent-context.ts'

/** The options of an agent with a model. */
export interface ModelAgentOptions<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
>
  extends AgentFacts<Name, In, Out>, ModelAgentFacts {}

/** The options of an agent that is code. */
export interface CodeAgentOptions<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
  O,
>
  extends AgentFacts<Name, In, Out>, Without<ModelAgentFacts> {
  /**
   * The work. It is orchestration, so every effect goes through `ctx` (`ctx.step`, `ctx.delegate`, `ctx.interrupt`,
   * `ctx.approve`, `ctx.sleep`). Returns the output. What it throws is the failure of the agent; a FailureError is
   * taken as it is. In a conversation of several agents, `handoffContext` holds the history, and the code may return
   * `transferTo`, `exit` or `breakLoop`.
   */
  readonly run: (ctx: AgentContext, brief: Infer<In>, handoffContext: HandoffContext) => O | Promise<O>
  /** The agents it may delegate to. They are registered with it. */
  readonly workers?: readonly Agent[] | (() => readonly Agent[])
}

type AnyModelOptions = ModelAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined>
type AnyCodeOptions = CodeAgentOptions<string, SchemaLike | undefined, SchemaLike | undefined, unknown>

/** What the function of a code agent may return: what its schema takes, or the end of a turn; without a schema anything. */
export type ReturnedBy<Out> = [Out] extends [undefined] ? unknown : InferInput<Out> | CodeEnd<InferInput<Out>>

/** The output type of an agent: that of its schema, else what its function returns, else a text. */
type AgentOutput<Out, O> = [Out] extends [undefined]
  ? [O] extends [never]
    ? string
    : ReturnedOutput<Awaited<O>>
  : Infer<Out>
type ReturnedOutput<O> = O extends CodeEnd<infer Answered> ? Answered : O

/**
 * Defines an agent. Throws `agent.invalid` for invalid options and `model.invalid-id` for an invalid model. Names,
 * descriptions and everything else that depends on the team are checked when a runtime is made.
 */
export function agent<
  const Name extends string,
  In extends SchemaLike | undefined = undefined,
  Out extends SchemaLike | undefined = undefined,
  O extends ReturnedBy<Out> = never,
  About extends string | undefined = undefined,
>(
  options: (CodeAgentOptions<Name, In, Out, O> | ModelAgentOptions<Name, In, Out>) & { readonly description?: About },
): Agent<Name, Infer<In>, Inferred<AgentOutput<Out, O>>> & ([About] extends [undefined] ? Undescribed : unknown)
export function agent(options: AnyModelOptions | AnyCodeOptions): Agent {
  mustBeOptions(options, 'agent', 'agent.invalid')
  mustHaveModelOrCode(options, `agent "${options.name}"`, { ...modelChecks, ...codeChecks })
  const again = (name: string): Agent => agent({ ...options, name })
  return renamable('run' in options ? codeAgentOf(options) : modelAgent(options), again)
}

const codeAgentOf = (options: AnyCodeOptions): Agent =>
  defineAgent(codeAgent, {
    options,
    ...schemasOf(options, `agent "${options.name}"`),
    parsesInput: true,
    reaches: options.workers,
  })

/** The options of an agent that thinks with a model. */
const modelChecks: Checks<Omit<ModelAgentOptions<string, undefined, undefined>, 'run'>> = {
  ...factChecks,
  ...modelAgentChecks,
}
/** The options of an agent that is code. */
const codeChecks: Checks<Omit<CodeAgentOptions<string, undefined, undefined, unknown>, keyof ModelAgentFacts>> = {
  ...factChecks,
  run: unchecked,
  workers: either(isFunction, agentsCheck),
}

/**
 * Throws `agent.invalid` unless the options give exactly one of `model`, `run` and, if it is `known`, `base` (a model
 * may stand beside a base). The error also lists unknown options.
 */
export function mustHaveModelOrCode(options: object, where: string, known: Readonly<Record<string, unknown>>): void {
  const { model, run, base } = options as { readonly model?: unknown; readonly run?: unknown; readonly base?: unknown }
  const mayHaveBase = 'base' in known
  const problem =
    run !== undefined && typeof run !== 'function'
      ? `has run ${described(run)}, expected a function`
      : run !== undefined && (model ?? base) !== undefined
        ? `has both a ${model === undefined ? 'base' : 'model'} and a run`
        : (run ?? model ?? (mayHaveBase ? base : undefined)) === undefined
          ? `has ${mayHaveBase ? 'no model, no base and no run' : 'neither a model nor a run'}`
          : undefined
  if (problem === undefined) return
  throw new ReeveError(
    'agent.invalid',
    [`${where} ${problem}`, ...unknownNames(options, known, where, meantByAgentOptions(known))].join('\n'),
    {
      hint: `Give model: an id, a model object or a function; ${mayHaveBase ? 'base: an agent; ' : ''}or run: code.`,
    },
  )
}

/** A model agent with the tools of its definition. */
function modelAgent(options: AnyModelOptions): Agent {
  const { name, limits } = options
  const { inputSchema, outputSchema } = schemasOf(options, `agent "${name}"`)
  const setup = modelSetup(name, options, outputSchema, limits)
  const toolbox = fixedToolbox(setup.tools.map((each) => new ToolBinding(each, name, outputSchema)))
  return defineAgent(
    plainModelAgent,
    modelParts({ options, inputSchema, setup: { ...setup, open: (_state, system) => ({ system, toolbox }) } }),
  )
}

const plainModelAgent: AgentKind<ModelAgentParts, ModelAgentMembers> = {
  ...modelAgentKind,
  problems: (parts, made) => [
    ...optionProblems<object>(modelChecks, parts.options, `agent "${made.name}"`, {
      rule: factRule,
      meant: meantByAgentOptions(modelChecks),
    }),
    ...toolProblems(made.name, parts.setup.tools, undefined, parts.options.assess),
    ...modelAgentKind.problems(parts, made),
  ],
}

const noTransferTarget = (name: string, to: string): Failure =>
  failure('transfer.refused', `"${name}" cannot transfer to "${to}": no other agent can take over`, 'validation', {
    hint: 'transferTo works for a worker of a router. Run the router, not the worker.',
  })

/**
 * Runs code as the work of an agent. Rejects with `Cancelled`. Also rejects with whatever the code throws, if no other
 * agent reads its handoff record.
 */
export async function runCode(
  { name, inputSchema, outputSchema }: Pick<Agent, 'name' | 'inputSchema' | 'outputSchema'>,
  ctx: Context,
  edge: Edge,
  run: (ctx: AgentContext, brief: unknown, handoffContext: HandoffContext) => unknown,
): Promise<Outcome> {
  const refused = inputRefusal(name, inputSchema, edge)
  if (refused !== undefined) return failed(refused)
  const checked = inputSchema?.check(briefValue(edge.work.brief))
  const handoffContext = new ActivationHandoffs(name, ctx, edge)
  const activity: Activity = { done: false }
  const scope = edge.flow === undefined ? ctx : new ActivityContext(ctx, activity)
  let returned: unknown
  try {
    returned = await run(
      agentContext(scope),
      checked?.ok === true ? checked.value : briefValue(edge.work.brief),
      handoffContext,
    )
  } catch (thrown) {
    // without a handoff record there is nothing to add; and a cancel is not a failure of the code
    if (!leavesHandoff(edge) || isLeaving(thrown)) throw thrown
    return withHandoff(thrownOutcome(thrown), handoffContext.record(null, undefined))
  }
  const end = returned instanceof CodeEnd ? returned : undefined
  if (edge.flow === undefined && end?.action?.type === 'transfer') return failed(noTransferTarget(name, end.action.to))
  const made = codeOutcome(name, outputSchema, end === undefined ? (returned ?? null) : end.output, end)
  const outcome = made.status === 'completed' && end?.by !== undefined ? { ...made, by: end.by } : made
  const handoff = handoffContext.record(outcome.status === 'completed' ? outcome.output : null, end)
  return leavesHandoff(edge) ? withHandoff(outcome, activity.done ? { ...handoff, did: true } : handoff) : outcome
}

function codeOutcome(name: string, schema: Schema | undefined, output: unknown, end: CodeEnd | undefined): Outcome {
  if (end?.action?.type === 'transfer' && output === null) return completed('')
  const problem = typeof output === 'string' ? undefined : jsonProblem(output, 'output')
  // its work is done: only its form is another one
  const form = problem === undefined ? undefined : keptForm(output)
  const fits = checkOutput(form?.value ?? (output as Json), schema)
  return fits.ok
    ? { ...completed(fits.value), ...present({ kept: form?.kept }) }
    : failed(
        failure('output.invalid', `the output of "${name}" does not fit its schema: ${fits.problem}`, 'validation'),
      )
}

const workersOf = ({ workers }: AnyCodeOptions): readonly Agent[] =>
  agentsIn(typeof workers === 'function' ? workers() : workers)

const codeAgent: AgentKind<AgentParts<AnyCodeOptions>> = {
  data: ({ options }, made) => dataOf(made, { workers: workersOf(options).map(({ name }) => name) }),
  orchestrate: ({ options }, ctx, edge, made) => runCode(made, ctx, edge, options.run),
  related: ({ options }) => workersOf(options),
  problems: ({ options }) => {
    const where = `agent "${options.name}"`
    const { workers } = options
    return [
      ...optionProblems<object>(codeChecks, options, where, { rule: factRule, meant: meantByAgentOptions(codeChecks) }),
      ...(typeof workers === 'function' ? agentsCheck(workers(), `${where}: workers`) : []),
    ]
  },
  more: ({ options }) => ({ source: () => String(options.run) }),
}
