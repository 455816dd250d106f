/**
 * `reeve/langgraph`: a compiled graph of LangGraph as an agent of Reeve. Imports nothing of LangGraph: the graph is
 * handed in.
 *
 * Owns: what a segment is: a stretch of a thread of the graph, to its end or to its interrupts; what of an interrupt is
 * an approval. Does not own: segments, approvals, usage (../external-agent), the state of the graph (its checkpointer).
 * Holds: the thread is the activation's id, so after a crash the same thread goes on from its last checkpoint.
 */
import type { Agent } from '@reeve/agent'
import { isObject, present, type Json, type JsonObject } from '@reeve/core'
import type { StepIO } from '@reeve/engine'
import {
  externalAgent,
  heardFrom,
  jsonOf,
  usedOf,
  type ExternalAsk,
  type WorkSegment,
  type ExternalAgentOptions,
  type ExternalReply,
  type ExternalUse,
} from '../external-agent/index.ts'

export { currentSegment } from '../external-agent/index.ts'

/** A compiled graph, as far as it is needed. */
export interface LangGraphLike {
  stream(input: never, config: never): Promise<AsyncIterable<unknown>>
  getState(config: never): Promise<object>
  readonly checkpointer?: unknown
}

export interface LangGraphAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** The graph: `builder.compile({ checkpointer })`. Interrupts, and going on after a crash, need the checkpointer. */
  readonly graph: LangGraphLike
  /**
   * The input of the graph. Pure. Default: the prompt as a user's message, `{ messages: [{ role: 'user', content }] }`.
   */
  readonly graphInput?: (prompt: string) => object
  /**
   * The output, made of the last values of the graph. Default: the text of the last of its `messages`, else all values.
   */
  readonly graphOutput?: (values: JsonObject) => Json
  /** `configurable` values besides `thread_id`. */
  readonly configurable?: JsonObject
}

/** An interrupt of a thread. */
interface Raised {
  readonly id: string
  readonly value: Json
}

/**
 * A graph of LangGraph as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | approvals | interrupts in the form of LangChain's human-in-the-loop middleware (`{ actionRequests }`) and of `HumanInterrupt` (`[{ action_request }]`), also edited |
 * | questions | every other interrupt; the answer is the value that the graph resumes with |
 * | usage, text | of chat models of LangChain, of each call; live |
 * | cancel, time limit | its `signal`, and that of its nodes |
 * | after a crash | the thread goes on from its last checkpoint: nodes that had ended are not run again, the one in flight is, with the same key (`currentSegment()`). With a checkpointer in memory, or none, all of the segment is |
 * | not honoured | permissions of the edge for its tools; a checkpointer that has lost its threads: the work fails |
 *
 * `effect` default `idempotent`. Throws `agent.invalid` for invalid options.
 */
export function langGraphAgent<const Name extends string>(
  options: LangGraphAgentOptions<Name>,
): Agent<Name, unknown, Json> {
  const { graph, graphInput = asMessages, graphOutput = lastText, configurable, ...facts } = options
  const keeps = graph.checkpointer !== undefined && graph.checkpointer !== false
  const segment = async (fresh: (at: Snapshot) => unknown, io: StepIO, place: string): Promise<WorkSegment> => {
    const uses: ExternalUse[] = []
    const config = { configurable: { ...configurable, thread_id: place } }
    const at = keeps ? snapshotOf(await graph.getState(config as never)) : nothing
    const input = fresh(at)
    const end =
      input === undefined
        ? at
        : await streamed(
            graph,
            input,
            {
              ...config,
              signal: io.signal,
              streamMode: ['values', 'updates', 'messages'],
              callbacks: [counting(uses)],
              ...(keeps ? { durability: 'sync' } : undefined),
            },
            io,
          )
    if (end.interrupts.length === 0) return { status: 'done', output: jsonOf(graphOutput(end.values)), uses }
    return {
      status: 'asks',
      state: { interrupts: end.interrupts.map(({ id, value }) => ({ id, value })) },
      asks: end.interrupts.flatMap(asksOf),
      uses,
    }
  }
  return externalAgent(facts, {
    effect: 'idempotent',
    begin: (prompt, io, place) =>
      segment((at) => (at.hasBegun ? (at.isOpen ? null : undefined) : graphInput(prompt)), io, place),
    proceed: (state, replies, io, place) => {
      const { interrupts } = state as unknown as { readonly interrupts: readonly Raised[] }
      return segment(
        (at) => {
          if (!at.hasBegun) throw new Error('the checkpointer of the graph does not know this thread any more')
          // the process died after the graph had resumed: it goes on, or has ended, or asks something else
          const open = at.interrupts.some(({ id }) => interrupts.some((raised) => raised.id === id))
          if (!open) return at.isOpen ? null : undefined
          // by ids: a value that is false or empty would be none
          const resume = Object.fromEntries(interrupts.map((raised) => [raised.id, resumeWith(raised, replies)]))
          return new ResumeCommand(resume)
        },
        io,
        place,
      )
    },
  })
}

/** LangGraph's `Command` with answers. LangGraph knows it by its name; newer versions take a plain object for input. */
class ResumeCommand {
  readonly lg_name = 'Command'
  readonly resume: Readonly<Record<string, Json>>
  constructor(resume: Readonly<Record<string, Json>>) {
    this.resume = resume
  }
}

const asMessages = (prompt: string): object => ({ messages: [{ role: 'user', content: prompt }] })

/** Where a thread is. */
interface Snapshot {
  readonly hasBegun: boolean
  /** Nodes are to be run, and none of them waits for an answer. */
  readonly isOpen: boolean
  readonly interrupts: readonly Raised[]
  readonly values: JsonObject
}

const nothing: Snapshot = { hasBegun: false, isOpen: false, interrupts: [], values: {} }

function snapshotOf(state: object): Snapshot {
  const { values, next, tasks, createdAt } = state as {
    readonly values?: unknown
    readonly next?: readonly string[]
    readonly tasks?: readonly { readonly interrupts?: unknown }[]
    readonly createdAt?: string
  }
  if (createdAt === undefined) return nothing
  const interrupts = (tasks ?? []).flatMap((task) => raisedIn(task.interrupts))
  return {
    hasBegun: true,
    isOpen: (next ?? []).length > 0 && interrupts.length === 0,
    interrupts,
    values: valuesOf(values),
  }
}

const valuesOf = (values: unknown): JsonObject => {
  const json = jsonOf(plainMessages(values))
  return isObject(json) ? json : {}
}

/** Messages of LangChain as role and content; their own JSON is for LangChain. */
function plainMessages(values: unknown): unknown {
  const messages = (values as { readonly messages?: unknown } | undefined)?.messages
  if (!Array.isArray(messages)) return values
  return { ...(values as object), messages: messages.map(plainMessage) }
}

function plainMessage(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('getType' in message)) return message
  const { content, getType } = message as { readonly content: unknown; readonly getType: unknown }
  return { type: typeof getType === 'function' ? (getType.call(message) as unknown) : 'unknown', content }
}

const raisedIn = (interrupts: unknown): readonly Raised[] =>
  (Array.isArray(interrupts) ? (interrupts as readonly { readonly id?: string; readonly value?: unknown }[]) : []).map(
    ({ id, value }, at) => ({ id: id ?? String(at), value: jsonOf(value) }),
  )

/** Runs the graph, shows the text of its models, and returns where it has ended. */
async function streamed(graph: LangGraphLike, input: unknown, config: object, io: StepIO): Promise<Snapshot> {
  let values: unknown
  const interrupts = new Map<string, Raised>()
  for await (const chunk of heardFrom(await graph.stream(input as never, config as never), io.signal)) {
    const [mode, told] = chunk as [string, unknown]
    if (mode === 'messages') {
      const text = modelText((told as readonly unknown[])[0])
      if (text !== '') io.emit({ type: 'text.delta', text })
      continue
    }
    if (typeof told !== 'object' || told === null) continue
    const { __interrupt__: raised, ...rest } = told as { readonly __interrupt__?: unknown }
    for (const each of raisedIn(raised)) interrupts.set(each.id, each)
    if (mode === 'values') values = rest
  }
  return { hasBegun: true, isOpen: false, interrupts: [...interrupts.values()], values: valuesOf(values) }
}

/** The text of a piece of a model's message; that of other messages is not shown. */
function modelText(message: unknown): string {
  const { type, content } = plainMessage(message) as { readonly type?: unknown; readonly content?: unknown }
  return type === 'ai' ? contentText(content) : ''
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: unknown) => {
      const { type, text } = (typeof part === 'object' && part !== null ? part : {}) as {
        type?: unknown
        text?: unknown
      }
      return type === 'text' && typeof text === 'string' ? text : ''
    })
    .join('')
}

/** The text of the last message; without messages, all values. */
function lastText(values: JsonObject): Json {
  const { messages } = values
  const last = Array.isArray(messages) ? (messages as readonly Json[]).at(-1) : undefined
  return isObject(last) ? contentText(last['content']) : values
}

/** Hears the end of every model call in the graph. */
const counting = (uses: ExternalUse[]): object => ({
  handleLLMEnd({ generations }: { readonly generations?: readonly (readonly { readonly message?: unknown }[])[] }) {
    const message = jsonOf(generationOf(generations?.[0]?.[0]?.message))
    if (!isObject(message)) return
    const { usage, response } = message
    const counts = isObject(usage) ? usage : {}
    const details = counts['input_token_details']
    const spoken = counts['output_token_details']
    const used = usedOf({
      input: counts['input_tokens'],
      output: counts['output_tokens'],
      cached: isObject(details) ? details['cache_read'] : undefined,
      reasoning: isObject(spoken) ? spoken['reasoning'] : undefined,
    })
    const named = isObject(response) ? (response['model_name'] ?? response['model']) : undefined
    uses.push({ model: typeof named === 'string' ? named : 'unknown', ...present({ used }) })
  },
})

function generationOf(message: unknown): unknown {
  if (typeof message !== 'object' || message === null) return undefined
  const { usage_metadata: usage, response_metadata: response } = message as {
    readonly usage_metadata?: unknown
    readonly response_metadata?: unknown
  }
  return { usage: usage ?? null, response: response ?? null }
}

interface Action {
  readonly name: string
  readonly args: Json
  readonly description?: string
}

/** An action that is asked for; undefined if it has no name or no arguments. */
function actionOf(name: Json | undefined, args: Json | undefined, description: Json | undefined): Action | undefined {
  if (typeof name !== 'string' || args === undefined) return undefined
  return { name, args, ...(typeof description === 'string' ? { description } : undefined) }
}

/** The actions of an interrupt that asks for approvals, and nothing else; undefined if it asks for something else. */
function actionsOf(
  value: Json,
): { readonly style: 'middleware' | 'inbox'; readonly actions: readonly Action[] } | undefined {
  const requests = isObject(value) ? value['actionRequests'] : undefined
  const style = Array.isArray(requests) ? 'middleware' : 'inbox'
  const listed = (Array.isArray(requests) ? requests : Array.isArray(value) ? value : [value]) as readonly Json[]
  const actions = listed.flatMap((each) => {
    if (!isObject(each)) return []
    const { action_request: request, description } = each
    const found =
      style === 'middleware'
        ? actionOf(each['name'], each['args'] ?? each['arguments'], description)
        : isObject(request)
          ? actionOf(request['action'], request['args'], description)
          : undefined
    return found ?? []
  })
  return actions.length > 0 && actions.length === listed.length ? { style, actions } : undefined
}

function asksOf({ id, value }: Raised): readonly ExternalAsk[] {
  const asked = actionsOf(value)
  if (asked === undefined) return [{ type: 'question', id, question: value }]
  return asked.actions.map(({ name, args, description }, at) => ({
    type: 'approval',
    id: `${id}:${at}`,
    action: name,
    input: args,
    ...present({ description }),
  }))
}

/** What the graph resumes an interrupt with. */
function resumeWith({ id, value }: Raised, replies: readonly ExternalReply[]): Json {
  const asked = actionsOf(value)
  const replyTo = (askId: string): ExternalReply | undefined => replies.find((reply) => reply.id === askId)
  if (asked === undefined) {
    const reply = replyTo(id)
    return reply?.type === 'answer' ? reply.value : null
  }
  const { style, actions } = asked
  const decisions = actions.map(({ name }, at): Json => {
    const reply = replyTo(`${id}:${at}`)
    if (reply?.type !== 'approved') {
      const message = reply?.type === 'refused' ? reply.feedback : 'not approved'
      return style === 'middleware' ? { type: 'reject', message } : { type: 'response', args: message }
    }
    if (style === 'middleware')
      return reply.edited ? { type: 'edit', editedAction: { name, args: reply.input } } : { type: 'approve' }
    return reply.edited ? { type: 'edit', args: { action: name, args: reply.input } } : { type: 'accept', args: null }
  })
  return style === 'middleware' ? { decisions } : decisions
}
