/**
 * asTool(): any agent among the tools of any other. It is called with a brief and answers; control never leaves it.
 *
 * Owns: what crosses to it by each input mode. Does not own: running the call (agent/approval/tool-gate.ts): it is a
 * worker over the same edge as a delegation. An exit, a break or a transfer of it ends or moves only what is inside.
 * Its session values are those of the run.
 */
import {
  described,
  hasNames,
  isObject,
  ReeveError,
  unknownNames,
  type HistoryEntry,
  type Json,
  type NamesOf,
  type ToolCall,
} from '../core/index.ts'
import {
  isAgent,
  isBlank,
  tool,
  versionOf,
  type ActionRule,
  type Agent,
  type ApprovalRule,
  type ConversationState,
  type Tool,
} from '../agent/index.ts'
import {
  answersOnly,
  limitProblems,
  oversightProblems,
  permissionProblems,
  transferPair,
  withoutTransfers,
  type Limits,
  type Oversight,
  type Permissions,
  type SchemaLike,
} from '../edge/index.ts'

/** How an agent is made a tool. */
export interface AsToolOptions<Name extends string = string> {
  /** Default: the agent's name. */
  readonly name?: Name
  /** Default: the agent's description. */
  readonly description?: string
  /**
   * What the model gives. Default: the agent's own `input` schema, and if it has none a text, `request`. With a schema
   * of its own, an agent that takes text gets the arguments as JSON text.
   */
  readonly input?: SchemaLike
  /**
   * What it is shown besides: nothing (default), what was said and answered so far, or the caller's whole conversation,
   * in which the request comes last.
   */
  readonly context?: 'brief' | 'answers' | 'conversation'
  /** Whether it is shown how control was handed on, this call included. Default `hidden`. */
  readonly transfers?: 'shown' | 'hidden'
  /** What it may do. Never more than the caller may. */
  readonly permissions?: Permissions
  /** Hard limits of each call. */
  readonly limits?: Limits
  /** Approvers look more closely at its work for each call than they would. */
  readonly oversight?: Oversight
  /** When it does not complete: the model is told and goes on (default), or the caller ends in the same way. */
  readonly onFailure?: 'tell' | 'fail'
  /** Whether a call needs an approval. Default: no. */
  readonly approval?: boolean | ApprovalRule<Json>
  /** What a result makes of the work of the caller. Default: nothing. */
  readonly action?: ActionRule<Json>
  /** The caller does not wait for it: see `background` of a tool. Default false. */
  readonly background?: boolean
}

const request = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What is asked for, complete in itself.' } },
  required: ['request'],
  additionalProperties: false,
} as const

/**
 * Makes a tool of an agent. Throws `tool.invalid` if it has no description to be chosen by, or options that make no
 * sense.
 */
export function asTool<A extends Agent, const Name extends string = A['name']>(
  given: A,
  options: AsToolOptions<Name> = {},
): Tool<Name> {
  const problems = problemsOf(given, options)
  if (problems.length > 0) throw new ReeveError('tool.invalid', problems.join('\n'))
  const { name = given.name, description = given.description, input, context = 'brief', transfers = 'hidden' } = options
  const asked = input === undefined && given.inputSchema === undefined
  const schema = input ?? (given.inputSchema === undefined ? request : given.inputSchema.json)
  const made = tool({
    name,
    description,
    input: schema,
    run: () => Promise.reject(new Error('an agent runs by itself')),
    ...(options.approval === undefined ? undefined : { approval: options.approval as never }),
    ...(options.action === undefined ? undefined : { action: options.action as never }),
    ...(options.background === undefined ? undefined : { background: options.background }),
  })
  const onFailure = options.onFailure ?? 'tell'
  const grant = {
    ...(options.permissions === undefined ? undefined : { permissions: options.permissions }),
    ...(options.limits === undefined ? undefined : { limits: options.limits }),
    ...(options.oversight === undefined ? undefined : { oversight: options.oversight }),
  }
  return {
    ...(made as Tool<Name>),
    version: versionOf(undefined, {
      tool: made.version,
      agent: given.name,
      context,
      transfers,
      onFailure,
      grant: grant as Json,
    }),
    work: {
      kind: 'agent',
      agent: given,
      onFailure,
      ...(options.limits === undefined ? undefined : { limits: options.limits }),
      crossing: (value, call, state) => {
        const text = asked ? requestOf(value) : JSON.stringify(value)
        const brief = given.inputSchema === undefined ? { instructions: text } : { input: value }
        if (context === 'brief') return { ...grant, brief }
        return { ...grant, brief, entries: entriesBefore(state, call, given.name, text, context, transfers) }
      },
    },
  }
}

function problemsOf(given: Agent, options: AsToolOptions): string[] {
  if (!isAgent(given)) return [`asTool: the agent is ${described(given)}, expected an agent`]
  const where = `agent "${given.name}" as a tool`
  const unknown = unknownNames(options, optionNames, where)
  if (!hasNames(options)) return unknown
  const { description = given.description, permissions, limits, oversight } = options
  return [
    ...unknown,
    ...(isBlank(description) ? [`${where}: it has no description, so no model can choose it`] : []),
    ...Object.entries(choices).flatMap(([option, words]) => {
      const chosen = options[option as keyof typeof choices]
      return chosen === undefined || words.includes(chosen)
        ? []
        : [
            `${where}: ${option} is ${JSON.stringify(chosen)}, expected ${words.map((word) => `"${word}"`).join(' or ')}`,
          ]
    }),
    ...(permissions === undefined ? [] : permissionProblems(permissions, where)),
    ...(limits === undefined ? [] : limitProblems(limits, where)),
    ...oversightProblems(oversight, where),
  ]
}

const optionNames: NamesOf<AsToolOptions> = {
  name: true,
  description: true,
  input: true,
  context: true,
  transfers: true,
  permissions: true,
  limits: true,
  oversight: true,
  onFailure: true,
  approval: true,
  action: true,
  background: true,
}

const choices: Readonly<Record<'context' | 'transfers' | 'onFailure', readonly string[]>> = {
  context: ['brief', 'answers', 'conversation'],
  transfers: ['shown', 'hidden'],
  onFailure: ['tell', 'fail'],
}

const requestOf = (input: Json): string =>
  isObject(input) && typeof input['request'] === 'string' ? input['request'] : ''

/**
 * The caller's conversation up to this call, without its system text; the request comes last, so that nothing of the
 * call is lost.
 */
function entriesBefore(
  state: ConversationState,
  call: ToolCall,
  to: string,
  text: string,
  context: 'answers' | 'conversation',
  transfers: 'shown' | 'hidden',
): readonly HistoryEntry[] {
  const { agent, whole: messages } = state
  const here = messages.findLastIndex((message) => message.role === 'assistant')
  const before = messages.slice(0, here).flatMap((message): HistoryEntry[] => {
    if (message.role === 'system') return []
    return [message.role === 'user' ? { message } : { agent, message }]
  })
  const pair = transferPair(to, call.id).map((message) => ({ agent, message }))
  const entries = transfers === 'shown' ? [...before, ...pair] : withoutTransfers(before)
  return [...(context === 'answers' ? answersOnly(entries) : entries), { message: { role: 'user', content: text } }]
}
