/**
 * Facts: what agents are told of themselves, whatever kind they are: names, schemas, limits; and what model agents are told
 * besides.
 *
 * Owns: these options, their checks, the part of them that is data. Does not own: the constructors that take them
 * (agent.ts, flow, ../supervisor).
 */
import {
  askTool,
  described,
  functionCheck,
  isObject,
  jsonProblem,
  object,
  knownProblems,
  transferTool,
  unchecked,
  type Checks,
  type Json,
  type NamesOf,
} from '../core/index.ts'
import {
  compileSchema,
  limitProblems,
  oversightProblems,
  type Limits,
  type Oversight,
  type Schema,
  type SchemaLike,
} from '../edge/index.ts'
import type { RetryPolicy } from '../engine/index.ts'
import type { ModelRef, ModelSettings, Prices } from '../model/index.ts'
import { assessProblems, reportTool, type Assess } from './approval/assessment.ts'
import { compactionCheck, compactionData, type Compaction } from './extensions/compaction.ts'
import { completionData, completionProblems, scorerAgents, type Completion } from './extensions/completion.ts'
import { isAgent, isName, type Agent } from './definition.ts'
import type { OnIterationComplete } from './extensions/iteration.ts'
import { middlewareCheck, type MiddlewareHooks } from './extensions/middleware.ts'
import { retryCheck } from './retry-check.ts'
import type { Tool, ToolsLike } from './tool/tool.ts'

/** What every kind of agent is told. */
export interface AgentFacts<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> {
  /**
   * A letter or `_`, then up to 63 letters, digits, `_` or `-`. Two different agents of a runtime may not share one.
   */
  readonly name: Name
  /** What it is good for; leaders choose by it. Required for workers. */
  readonly description?: string
  /** What it takes. With it, a leader gives a typed input instead of instructions. Default: text. */
  readonly input?: In
  /** What it answers. Default: text. */
  readonly output?: Out
  /** Hard limits of it and everything below it. Default: 20 turns, and nothing else, where it is a root. */
  readonly limits?: Limits
  /**
   * How closely humans look at its work and everything below it: what they are asked, who is asked, over which
   * channels. Never less than whoever leads it says. Default: only what tools and edges ask for themselves.
   */
  readonly oversight?: Oversight
  /**
   * What it says of its own results: how sure it is, what one costs, what is to be done with it next, what it cannot
   * do. A function of the output and the brief, run once as a recorded step; one that throws says nothing, and the
   * journal has `hook.failed`. `report`: its model is offered the tool `report` and says so itself. What is said is
   * recorded (`result.assessed`), and where there is `oversight` a human may have to look before the result counts.
   * Default: it says nothing.
   */
  readonly assess?: Assess
  /**
   * The session value under which its output is kept whenever it completes, whatever made the output: a model's answer,
   * a tool's action, code, whoever ended a flow. Written last, after every hook of a middleware; who does not complete,
   * or hands control on, writes nothing. Names that begin with `$` are Reeve's own.
   */
  readonly outputKey?: string
  /**
   * Declared version. Default `1`. Everything that is data is part of the version anyway; raise it when functions
   * change their meaning.
   */
  readonly version?: string
}

/** What stands around a model agent, with what it adds to it. */
export interface Middleware extends MiddlewareHooks {
  /** Added to the agent's instructions, after an empty line. */
  readonly instructions?: string
  /** Added to the agent's tools. A name that is taken is refused when the team is built. */
  readonly tools?: ToolsLike
}

/** What every model agent is told. */
export interface ModelAgentFacts {
  /** An id (`openai/gpt-5`), an AI SDK model object, a `Model`, or a function of rules. */
  readonly model: ModelRef
  /** Its system text. Never crosses to a worker. */
  readonly instructions?: string
  readonly tools?: ToolsLike
  readonly settings?: ModelSettings
  /** Prices by model id, before the built-in list. */
  readonly prices?: Prices
  /**
   * How often its model is asked again after a failure that may pass. Default: 3 attempts in all, 1 s doubling up to 30
   * s with jitter, never sooner than the provider says.
   */
  readonly retry?: RetryPolicy
  /** What stands around its work; the first is outermost. Default: nothing. */
  readonly middleware?: readonly Middleware[]
  /**
   * Fills `{key}` in its instructions, and in those that middlewares add, from session values, read when it begins.
   * Keys without a value and all other braces stay as they are. Default false. What stands in a value becomes system
   * text: keep there only what you would write into the instructions yourself.
   */
  readonly templating?: boolean
  /**
   * The last turn that its `limits.turns` allow is asked without tools, and with a note to answer from what it has, so
   * that it ends with an answer and not at its limit. Default false. Its workers cannot use that turn up where the
   * limit is its own; where a leader's is reached, it ends at that limit, with the text so far.
   */
  readonly lastAnswer?: boolean
  /**
   * Asked after each turn, once, also over resume; after the scorers of `isComplete`, and not while the model has
   * answered and work in the background is awaited.
   *
   * | it says | after a turn with calls | where the model has answered |
   * |---|---|---|
   * | nothing | another turn | the end; another turn if `isComplete` refused the answer |
   * | `{ continue: true }` | another turn | another turn while there are some left: the model is told to go on |
   * | `{ continue: false }` | the end: `bailed`, with the last text | the end: the answer stands; `bailed` if `isComplete` refused it |
   * | `{ feedback }`, also with `continue: true` | the model is told, another turn | the model is told, another turn while there are some left |
   * | `{ feedback, continue: false }` | the model is told, and has one more turn without tools: its answer is the end | the end: the answer stands, and nobody is asked again for the sake of a note; one more turn without tools if `isComplete` refused it |
   *
   * The answer of a turn granted so must fit `output` and pass `isComplete`, else the work ends `bailed` with it; the
   * hook is told of that turn, and its word changes nothing any more. Without a turn left, feedback is told to nobody:
   * what it is asked after counts. A forward is an answer like any other; an exit, a transfer, the action of a tool,
   * and an output that failed for good stay the end. A hook that throws, or says something else, has said nothing, and
   * the journal has `hook.failed`.
   */
  readonly onIterationComplete?: OnIterationComplete
  /**
   * When an answer is the end. It is measured where the work would end with it: words without a call, or a forward; it
   * fits `output`, and after words nothing goes on in the background. An exit, a transfer and the action of a tool are
   * not measured. If it does not pass, the model is told who said what, as a user's note, and has another turn; if it
   * never passes, the work ends at its limit of turns, with the last text. Default: every answer is the end.
   */
  readonly isComplete?: Completion
  /**
   * What becomes of a conversation that grows too long: before a turn it goes on as a summary and its last messages.
   * Its instructions and what it was asked to do always stay, and what is still under way is said again after each
   * summary. Only its own model is shown the summary: whoever comes after it, hooks and scorers see what was said. If a
   * summary fails, the work goes on without one, and the journal has `hook.failed`. Middlewares do not see the call
   * that summarizes. Default: it stays whole.
   */
  readonly compaction?: Compaction
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
  readonly oversight?: Oversight | undefined
  readonly outputKey?: string | undefined
  readonly workers?: readonly string[]
  /** What of a model agent's options is data. */
  readonly options?: Pick<ModelAgentFacts, 'middleware' | 'templating' | 'lastAnswer' | 'isComplete' | 'compaction'> & {
    readonly assess?: Assess
  }
}): Json {
  const {
    middleware = [],
    templating = false,
    lastAnswer = false,
    isComplete,
    compaction,
    assess,
  } = parts.options ?? {}
  return {
    instructions: parts.instructions ?? null,
    model: parts.model ?? null,
    tools: (parts.tools ?? []).map((tool) => [tool.name, tool.version]),
    input: parts.input?.json ?? null,
    output: parts.output?.json ?? null,
    limits: (parts.limits ?? null) as Json,
    ...(parts.workers === undefined ? undefined : { workers: parts.workers }),
    ...(parts.oversight === undefined ? undefined : { oversight: parts.oversight as Json }),
    ...(parts.outputKey === undefined ? undefined : { outputKey: parts.outputKey }),
    ...(middleware.length === 0 ? undefined : { middleware: middleware.map(({ name }) => name) }),
    ...(templating ? { templating } : undefined),
    ...(lastAnswer ? { lastAnswer } : undefined),
    ...(isComplete === undefined ? undefined : { isComplete: completionData(isComplete) }),
    ...(compaction === undefined ? undefined : { compaction: compactionData(compaction) }),
    ...(assess === 'report' ? { assess } : undefined),
  }
}

/**
 * The part of options that is data, for a version: who has control, what is shown, what is allowed. An agent is its
 * name; of a function, which is not durable, only that there is one counts. Undefined where nothing is said, so that a
 * definition that says nothing keeps its version.
 */
export function dataIn(given: unknown): Json | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'function') return 'a function'
  if (isAgent(given)) return given.name
  if (Array.isArray(given)) return given.map((each: unknown) => dataIn(each) ?? null)
  if (isObject(given)) {
    const members = Object.entries(given).flatMap(([name, member]) => {
      const data = dataIn(member)
      return data === undefined ? [] : [[name, data] as const]
    })
    return members.length === 0 ? undefined : Object.fromEntries(members)
  }
  return jsonProblem(given) === undefined ? (given as Json) : typeof given
}

/** The options of every kind of agent. */
export const factNames: NamesOf<AgentFacts<string, undefined, undefined>> = {
  name: true,
  description: true,
  input: true,
  output: true,
  limits: true,
  oversight: true,
  assess: true,
  outputKey: true,
  version: true,
}

const settingChecks: Checks<ModelSettings> = {
  temperature: unchecked,
  topP: unchecked,
  topK: unchecked,
  maxOutputTokens: unchecked,
  stop: unchecked,
  seed: unchecked,
  presencePenalty: unchecked,
  frequencyPenalty: unchecked,
  providerOptions: unchecked,
}

const middlewareNames: NamesOf<Middleware> = {
  name: true,
  instructions: true,
  tools: true,
  before: true,
  beforeModel: true,
  afterModel: true,
  wrapTool: true,
  after: true,
}

/** The options of every model agent; its model, tools and prices are looked at where they are made. */
export const modelAgentChecks: Checks<ModelAgentFacts> = {
  model: unchecked,
  instructions: unchecked,
  tools: unchecked,
  settings: object(settingChecks),
  prices: unchecked,
  retry: retryCheck,
  middleware: middlewareCheck(middlewareNames),
  templating: unchecked,
  lastAnswer: unchecked,
  onIterationComplete: functionCheck,
  isComplete: unchecked, // by completionProblems
  compaction: compactionCheck,
}

/** What is wrong with the facts of one agent. `where` begins each sentence: default `agent "name"`. */
export function factProblems(
  options: Pick<
    AgentFacts<string, undefined, undefined>,
    'name' | 'description' | 'limits' | 'oversight' | 'assess' | 'outputKey'
  >,
  where = `agent "${options.name}"`,
): string[] {
  const { name, description, limits, oversight, assess, outputKey } = options
  return [
    ...(isName(name) ? [] : [`${where}: a name is a letter or "_", then up to 63 letters, digits, "_" or "-"`]),
    ...(description === undefined || typeof description === 'string'
      ? []
      : [`${where}: description is ${described(description)}, expected a text`]),
    ...(limits === undefined ? [] : limitProblems(limits, where)),
    ...oversightProblems(oversight, where),
    ...assessProblems(assess, where, usesModel(options)),
    ...(outputKey === undefined || (typeof outputKey === 'string' && outputKey !== '' && !outputKey.startsWith('$'))
      ? []
      : [
          `${where}: outputKey is ${JSON.stringify(outputKey)}, expected a name that is not empty and does not begin with "$"`,
        ]),
  ]
}

/** Whether something of these options is a model agent: it has a model, or a base that has one. */
const usesModel = (options: object): boolean =>
  !('run' in options && options.run !== undefined) &&
  (('model' in options && options.model !== undefined) || ('base' in options && options.base !== undefined))

/** What is wrong with what a model agent is told, apart from its tools. */
export const modelAgentProblems = (options: ModelAgentFacts, where: string): string[] => [
  ...knownProblems(modelAgentChecks, options, where),
  ...completionProblems(options.isComplete, where),
]

/** Agents that a model agent starts besides its tools and workers: they are registered along with it. */
export const sideAgents = ({
  isComplete,
  compaction,
}: { readonly [Option in 'isComplete' | 'compaction']: ModelAgentFacts[Option] | undefined }): readonly Agent[] =>
  [...scorerAgents(isComplete), compaction?.summarize].filter(isAgent)

/** What is wrong with the tools of one agent; `taken` are the names of Reeve's own verbs there. */
export function toolProblems(
  agentName: string,
  tools: readonly Tool[],
  taken: ReadonlySet<string> = new Set(),
  assess?: Assess,
): string[] {
  const seen = new Set<string>()
  return tools.flatMap(({ name }) => {
    const problem =
      taken.has(name) || name === transferTool || name === askTool || (assess === 'report' && name === reportTool)
        ? [`agent "${agentName}": the tool name "${name}" is taken by Reeve's own`]
        : seen.has(name)
          ? [`agent "${agentName}": two tools are called "${name}"`]
          : []
    seen.add(name)
    return problem
  })
}
