/**
 * asTool(): any agent among the tools of any other. It is called with a brief and answers; control never leaves it.
 *
 * Owns: what crosses to it by each input mode. Does not own: running the call (agent/approval/tool-gate.ts): it is a
 * worker over the same edge as a delegation. An exit, a break or a transfer of it ends or moves only what is inside.
 * Its session values are those of the run.
 */
import {
  choice,
  described,
  filesNamed,
  isObject,
  optionProblems,
  own,
  present,
  refuseProblems,
  unchecked,
  type Checks,
  type HistoryEntry,
  type Json,
  type ToolCall,
} from '@reeve/core'
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
} from '@reeve/agent'
import {
  answersOnly,
  compileSchema,
  limitsCheck,
  oversightCheck,
  permissionsCheck,
  transferPair,
  withoutTransfers,
  type Limits,
  type Oversight,
  type Permissions,
  type Schema,
  type SchemaLike,
  type StandardSchema,
} from '@reeve/edge'

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

/** The same for a caller whose conversation has files. */
const requestWithFiles = compileSchema(
  {
    ...request,
    properties: {
      ...request.properties,
      files: {
        type: ['array', 'string', 'null'],
        items: { type: 'string' },
        description:
          'Files of this conversation that it is to see: their handles (file-…, as in the labels before them) or their names. It sees no others.',
      },
    },
  },
  'asTool',
)

/**
 * Makes a tool of an agent. Throws `tool.invalid` if it has no description to be chosen by, or options that make no
 * sense.
 */
export function asTool<A extends Agent, const Name extends string = A['name']>(
  given: A,
  options: AsToolOptions<Name> = {},
): Tool<Name> {
  refuseProblems('tool.invalid', problemsOf(given, options))
  const { name = given.name, description = given.description, input, context = 'brief', transfers = 'hidden' } = options
  const takesRequest = input === undefined && given.inputSchema === undefined
  const schema = input ?? (given.inputSchema === undefined ? request : asGiven(given.inputSchema))
  const made = tool({
    name,
    description,
    input: schema,
    run: () => Promise.reject(new Error('an agent runs by itself')),
    ...(options.approval === undefined ? undefined : { approval: options.approval as never }),
    ...(options.action === undefined ? undefined : { action: options.action as never }),
    ...present({ background: options.background }),
  })
  const onFailure = options.onFailure ?? 'tell'
  const grant = {
    ...present({ permissions: options.permissions, limits: options.limits, oversight: options.oversight }),
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
      ...present({ limits: options.limits }),
      // a conversation that crosses has its files with it
      ...(takesRequest && context === 'brief' && { withFiles: requestWithFiles }),
      crossing: (value, call, state) => {
        const text = takesRequest ? requestOf(value) : JSON.stringify(value)
        const brief = given.inputSchema === undefined ? { instructions: text } : { input: value }
        if (context === 'brief') {
          const named = takesRequest && isObject(value) ? own(value, 'files') : undefined
          const files = filesNamed(named, state.files, 'this conversation')
          return typeof files === 'string' ? files : { ...grant, brief, ...(files.length > 0 && { files }) }
        }
        return { ...grant, brief, entries: entriesBefore(state, call, given.name, text, context, transfers) }
      },
    },
  }
}

/**
 * The schema of an agent, without what it makes of a value: the agent does that itself. Where JSON Schema has no words
 * for what its library takes, the library decides.
 */
function asGiven(schema: Schema): StandardSchema {
  const shown = compileSchema(schema.json, 'asTool', undefined, { unread: 'leave' })
  return {
    '~standard': {
      version: 1,
      vendor: 'reeve',
      validate: (value) => {
        const checked = shown.check(value as Json)
        if (checked.ok || schema.check(value as Json).ok) return { value: checked.ok ? checked.value : value }
        return { issues: [{ message: checked.problem }] }
      },
      jsonSchema: { input: () => schema.json },
    },
  }
}

const checks: Checks<AsToolOptions> = {
  name: unchecked, // this one and those below without a check by tool()
  description: unchecked,
  input: unchecked,
  context: choice('brief', 'answers', 'conversation'),
  transfers: choice('shown', 'hidden'),
  permissions: permissionsCheck,
  limits: limitsCheck,
  oversight: oversightCheck,
  onFailure: choice('tell', 'fail'),
  approval: unchecked,
  action: unchecked,
  background: unchecked,
}

const problemsOf = (given: Agent, options: AsToolOptions): readonly string[] =>
  isAgent(given)
    ? optionProblems(
        checks,
        options,
        `agent "${given.name}" as a tool`,
        ({ description = given.description }, where) => [
          isBlank(description) && `${where}: it has no description, so no model can choose it`,
        ],
      )
    : [`asTool: the agent is ${described(given)}, expected an agent`]

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
