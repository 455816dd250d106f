/**
 * Facts: the options of every kind of agent (names, schemas, limits), and those of model agents.
 *
 * Owns: these options, their checks, the part of them that is data. Does not own: the constructors that take them
 * (agent.ts, flow, ../supervisor).
 */
import type { RetryPolicy } from '@reeve/engine'
import {
  askTool,
  choice,
  expects,
  functionCheck,
  isObject,
  jsonProblem,
  nameCheck,
  object,
  present,
  required,
  string,
  readTool,
  transferTool,
  twiceIn,
  unchecked,
  type Checks,
  type Json,
  type JsonObject,
  type Rule,
} from '@reeve/core'
import {
  compileSchema,
  limitsCheck,
  oversightCheck,
  type Limits,
  type Oversight,
  type Schema,
  type SchemaLike,
} from '@reeve/edge'
import type { ModelRef, ModelSettings } from '@reeve/model'
import { reportTool, type Assess } from './assessment.ts'
import { compactionCheck, compactionData, type Compaction } from './extensions/compaction.ts'
import { completionCheck, completionData, scorerAgents, type Completion } from './extensions/completion.ts'
import { isAgent, type Agent } from './definition.ts'
import type { OnIterationComplete } from './extensions/iteration.ts'
import type { OnCut } from './model-call/answer-end.ts'
import { middlewareCheck, type MiddlewareHooks } from './extensions/middleware.ts'
import { retryCheck, silenceCheck } from './retry-check.ts'
import { findTool } from './tool/tool-search.ts'
import type { Tool, ToolsLike } from './tool/tool.ts'

/** The option checks of every kind of agent. */
export interface AgentFacts<
  Name extends string,
  In extends SchemaLike | undefined,
  Out extends SchemaLike | undefined,
> {
  /**
   * A letter or `_`, then up to 63 letters, digits, `_` or `-`. Two different agents of a runtime may not share one.
   */
  readonly name: Name
  /** What it is good for. Leaders choose workers by it. Required for workers. */
  readonly description?: string
  /** The schema of its input. With it, a leader gives a typed input instead of instructions. Default: text. */
  readonly input?: In
  /** The schema of its output. Default: text. */
  readonly output?: Out
  /** Hard limits of it and all agents below it. Default: 20 turns where it is a root, and nothing else. */
  readonly limits?: Limits
  /**
   * How closely humans oversee its work and all work below it: what they are asked, who is asked, and over which
   * channels. Never less than its leader demands. Default: only tools and edges ask.
   */
  readonly oversight?: Oversight
  /**
   * How it assesses its own results: its confidence, the cost, the next action, what it cannot do. A function of the
   * output and the brief, run once as a recorded step; if it throws, there is no assessment and the journal has
   * `hook.failed`. `report`: its model gets the tool `report`. The assessment is recorded (`result.assessed`); with
   * `oversight`, a human may have to review the result before it counts. Default: no assessment.
   */
  readonly assess?: Assess
  /**
   * The session value that keeps its output whenever it completes, whatever produced the output: the model, the action
   * of a tool, code or the end of a flow. Written last, after every middleware hook. Agents that do not complete, or
   * hand control on, write nothing. Names that begin with `$` belong to Reeve.
   */
  readonly outputKey?: string
  /**
   * Declared version. Default `1`. All data of the definition is part of the version anyway; change it when functions
   * change their meaning.
   */
  readonly version?: string
}

/** A middleware: hooks around a model agent, with the instructions and tools that it adds. */
export interface Middleware extends MiddlewareHooks {
  /** Appended to the agent's instructions, after an empty line. */
  readonly instructions?: string
  /** Added to the agent's tools. A name that is already taken is an error when the team is built. */
  readonly tools?: ToolsLike
}

/** The options of every model agent. */
export interface ModelAgentFacts {
  /**
   * An id (`openai/gpt-5`), an AI SDK model object, a `Model`, or a function of rules; or a chain of them, of which the
   * next is asked when one is down, limited, denied, too small for the request, or too slow:
   * `['openai/gpt-5', 'anthropic/claude-sonnet-5']`, or with conditions `[a, { model: b, when: ['slow'] }]`.
   */
  readonly model: ModelRef
  /** Its system text. It never crosses to a worker. */
  readonly instructions?: string
  /** What it may call. Of very many, `searchable` lets its model search. Default: none. */
  readonly tools?: ToolsLike
  readonly settings?: ModelSettings
  /**
   * How long its model may send nothing after the first part of its answer, before the call is given up
   * (`model.silent`) and tried again; before the first part, five times as long. Whatever arrives counts, a ping, too.
   * Milliseconds; `Infinity` for no limit. Default: `deadlines.silenceMs` of the runtime, two minutes. It does not hold
   * for functions and `Model` objects of your own.
   */
  readonly silenceMs?: number
  /**
   * How often its model is called again after a temporary failure. Default: 3 attempts in all, with backoff from 1 s up
   * to 30 s and jitter, never sooner than the provider allows.
   */
  readonly retry?: RetryPolicy
  /** The middlewares around its work; the first is outermost. Default: none. */
  readonly middleware?: readonly Middleware[]
  /**
   * Fills `{key}` in its instructions, and in those of its middlewares, with session values read when it begins. Keys
   * without a value and all other braces stay as they are. Default false. The values become system text: keep in them
   * only what you would write into the instructions yourself.
   */
  readonly templating?: boolean
  /**
   * Reserves the last turn of `limits.turns` for an answer: the model is called without tools and told to answer with
   * what it has. So the work ends with an answer and not at its limit. Default false. Its workers cannot use this turn
   * if the limit is its own. If the limit of a leader is reached, the work ends at that limit, with the text so far.
   */
  readonly lastAnswer?: boolean
  /**
   * What follows a text that was cut off at the output limit. `continue` (default): the model is asked to go on where it
   * stopped, at most twice; each is a call of its own, and the parts are one answer. `fail`: the agent fails with
   * `model.length`. Typed output, decisions and calls of tools are never continued, nor is an answer that a budget has
   * cut off (`budget.answer-cut`).
   */
  readonly onCut?: OnCut
  /**
   * Called once after each turn, also across resume. Called after the scorers of `isComplete`, but not while an answer
   * waits for background work.
   *
   * | it returns | after a turn with calls | after an answer |
   * |---|---|---|
   * | nothing | another turn | the end; another turn if `isComplete` refused the answer |
   * | `{ continue: true }` | another turn | another turn if any is left: the model is told to go on |
   * | `{ continue: false }` | the end: `bailed`, with the last text | the end: the answer stands; `bailed` if `isComplete` refused it |
   * | `{ feedback }`, also with `continue: true` | another turn, with the feedback | another turn with the feedback, if any is left |
   * | `{ feedback, continue: false }` | one more turn without tools, with the feedback: its answer is the end | the end: the answer stands and the feedback is dropped; one more turn without tools if `isComplete` refused it |
   *
   * The answer of such a final turn must fit `output` and pass `isComplete`, else the work ends `bailed` with it. The
   * hook is called for that turn, but its reply changes nothing. Without a turn left, feedback is dropped. A forward is
   * an answer like any other. An exit, a transfer, the action of a tool, and an output that failed for good remain the
   * end. If the hook throws, or returns anything else, its reply is ignored and the journal has `hook.failed`.
   */
  readonly onIterationComplete?: OnIterationComplete
  /**
   * When an answer ends the work. Scorers measure it where the work would end with it: after an answer without a call,
   * or a forward. It must fit `output`, and no background work may be pending. An exit, a transfer and the action of a
   * tool are not measured. If it does not pass, the model is told the scores as a user's note and has another turn. If
   * no answer passes, the work ends at its limit of turns, with the last text. Default: every answer ends the work.
   */
  readonly isComplete?: Completion
  /**
   * Compacts a conversation that grows too long: before a turn, earlier messages are replaced by a summary. The
   * instructions and the brief always stay, and pending work is listed again after each summary. Only its own model
   * sees the summary; later agents, hooks and scorers see the full conversation. If a summary fails, the work continues
   * without it, and the journal has `hook.failed`. Middlewares do not see the summarizing call. Default: never
   * compacted.
   */
  readonly compaction?: Compaction
}

/** Compiles a schema of the options. */
export const schemaOf = (given: SchemaLike | undefined, where: string): Schema | undefined =>
  given === undefined ? undefined : compileSchema(given, where)

/** The compiled schemas of an agent's input and output. `where`: how its problems begin. */
export const schemasOf = (
  { input, output }: { readonly input?: SchemaLike | undefined; readonly output?: SchemaLike | undefined },
  where: string,
): { readonly inputSchema: Schema | undefined; readonly outputSchema: Schema | undefined } => ({
  inputSchema: schemaOf(input, `${where}: input`),
  outputSchema: schemaOf(output, `${where}: output`),
})

/** The part of a definition that is data, for its version: members that every agent has, and what only some have. */
export function dataOf(
  agent: Partial<Pick<Agent, 'inputSchema' | 'outputSchema' | 'limits' | 'oversight' | 'outputKey'>>,
  more: {
    readonly instructions?: string | undefined
    readonly model?: string
    readonly tools?: readonly Tool[]
    readonly workers?: readonly string[]
    /** The options of a model agent that are data. */
    readonly options?: Pick<
      ModelAgentFacts,
      'middleware' | 'templating' | 'lastAnswer' | 'onCut' | 'isComplete' | 'compaction'
    > & {
      readonly assess?: Assess
    }
  } = {},
): JsonObject {
  const { inputSchema, outputSchema, limits, oversight, outputKey } = agent
  const { instructions, model, tools = [], workers } = more
  const {
    middleware = [],
    templating = false,
    lastAnswer = false,
    onCut = 'continue',
    isComplete,
    compaction,
    assess,
  } = more.options ?? {}
  const searched = tools.flatMap(({ name, searchable }) => (searchable === undefined ? [] : [[name, searchable.limit]]))
  return {
    instructions: instructions ?? null,
    model: model ?? null,
    tools: tools.map((tool) => [tool.name, tool.version]),
    ...(searched.length === 0 ? undefined : { searchable: searched }),
    input: inputSchema?.json ?? null,
    output: outputSchema?.json ?? null,
    limits: (limits ?? null) as Json,
    ...present({ workers, oversight: oversight as Json | undefined, outputKey }),
    ...(middleware.length === 0 ? undefined : { middleware: middleware.map(({ name }) => name) }),
    ...(templating ? { templating } : undefined),
    ...(lastAnswer ? { lastAnswer } : undefined),
    ...(onCut === 'continue' ? undefined : { onCut }),
    ...(isComplete === undefined ? undefined : { isComplete: completionData(isComplete) }),
    ...(compaction === undefined ? undefined : { compaction: compactionData(compaction) }),
    ...(assess === 'report' ? { assess } : undefined),
  }
}

/**
 * The part of these options that is data, for a version. An agent counts by its name, a function only by its presence.
 * Undefined if nothing is given, so that such a definition keeps its version.
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

/** The option checks of every kind of agent. */
export const factChecks: Checks<AgentFacts<string, undefined, undefined>> = {
  name: required(nameCheck),
  description: string,
  input: unchecked,
  output: unchecked,
  limits: limitsCheck,
  oversight: oversightCheck,
  assess: expects((given) => typeof given === 'function' || given === 'report', 'a function or "report"'),
  outputKey: expects(
    (given) => typeof given === 'string' && given !== '' && !given.startsWith('$'),
    'a name that is not empty and does not begin with "$"',
  ),
  version: unchecked,
}

const { input: _input, output: _output, ...composed } = factChecks
/** Those of every agent that is made of others: it takes and answers what they do. */
export const composedChecks: Checks<Omit<AgentFacts<string, undefined, undefined>, 'input' | 'output'>> = composed

/** What people who know other frameworks call the options of agents. */
const foreignNames: Readonly<Record<string, string>> = {
  id: 'name',
  prompt: 'instructions',
  system: 'instructions',
  systemPrompt: 'instructions',
  system_prompt: 'instructions',
  llm: 'model',
  agents: 'workers',
  subagents: 'workers',
  handoffs: 'workers',
  inputSchema: 'input',
  outputSchema: 'output',
  outputType: 'output',
  responseFormat: 'output',
  structuredOutput: 'output',
  maxSteps: 'limits.ownTurns',
  maxTurns: 'limits.ownTurns',
  recursionLimit: 'limits.turns',
  temperature: 'settings.temperature',
  hooks: 'delegation',
  onDelegationStart: 'delegation.onStart',
  onDelegationComplete: 'delegation.onComplete',
  messageFilter: 'delegation.filterMessages',
}

/** Of an agent with these options: what people who know other frameworks mean by an option that it does not have. */
export const meantByAgentOptions = (known: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(foreignNames).filter(([, own]) => Object.hasOwn(known, own.split('.')[0]!)))

/** What must hold between them: only a model can report. */
export const factRule: Rule<object> = (options, where) => [
  'assess' in options &&
    options.assess === 'report' &&
    !usesModel(options) &&
    `${where}: assess is "report", which needs a model`,
]

/** Whether these options define a model agent: they have a model, or a base that has one. */
const usesModel = (options: object): boolean =>
  !('run' in options && options.run !== undefined) &&
  (('model' in options && options.model !== undefined) || ('base' in options && options.base !== undefined))

/** The option checks of every model agent. Its model and tools are checked where they are made. */
export const modelAgentChecks: Checks<ModelAgentFacts> = {
  model: unchecked,
  instructions: unchecked,
  tools: unchecked,
  settings: object<ModelSettings>({
    temperature: unchecked,
    topP: unchecked,
    topK: unchecked,
    maxOutputTokens: unchecked,
    stop: unchecked,
    seed: unchecked,
    presencePenalty: unchecked,
    frequencyPenalty: unchecked,
    cache: unchecked,
    providerOptions: unchecked,
  }),
  silenceMs: silenceCheck,
  retry: retryCheck,
  middleware: middlewareCheck<Middleware>({ instructions: unchecked, tools: unchecked }),
  templating: unchecked,
  lastAnswer: unchecked,
  onCut: choice('continue', 'fail'),
  onIterationComplete: functionCheck,
  isComplete: completionCheck,
  compaction: compactionCheck,
}

/**
 * The agents that a model agent starts besides its tools and workers: scorers and summarizers. They are registered with
 * it.
 */
export const sideAgents = ({
  isComplete,
  compaction,
}: { readonly [Option in 'isComplete' | 'compaction']: ModelAgentFacts[Option] | undefined }): readonly Agent[] =>
  [...scorerAgents(isComplete), compaction?.summarize].filter(isAgent)

/** The problems of the tools of one agent. `taken`: the names that Reeve's verbs use there. */
export function toolProblems(
  agentName: string,
  tools: readonly Tool[],
  taken: ReadonlySet<string> = new Set(),
  assess?: Assess,
): string[] {
  const isTaken = (name: string): boolean =>
    [transferTool, askTool, readTool].includes(name) ||
    taken.has(name) ||
    (assess === 'report' && name === reportTool) ||
    (isSearched && name === findTool)
  const isSearched = tools.some(({ searchable }) => searchable !== undefined)
  const names = tools.map(({ name }) => name)
  const where = `agent "${agentName}"`
  return [
    ...(isSearched && taken.has(findTool)
      ? [`${where}: the name "${findTool}" of a verb is taken by the search of its searchable tools`]
      : []),
    ...names.filter(isTaken).map((name) => `${where}: the tool name "${name}" is taken by Reeve's own`),
    ...twiceIn(
      names.filter((name) => !isTaken(name)),
      where,
      'tools',
    ),
  ]
}
