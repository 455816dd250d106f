/**
 * `reeve/ai-sdk/agent`: an agent of the AI SDK (`ToolLoopAgent`, or any that has its `stream`) as an agent of Reeve.
 * Imports nothing of the AI SDK: the agent is handed in.
 *
 * Owns: what a segment of such an agent is: messages in, messages out. Does not own: segments, approvals, usage
 * (../external-agent).
 * Holds: the conversation lives in the journal as the AI SDK's own messages, so no state of the agent's process is
 * needed.
 */
import type { Agent } from '@reeve/agent'
import { asText, isObject, type Json, type JsonObject } from '@reeve/core'
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
} from '@reeve/workers/external-agent'

export { currentSegment } from '@reeve/workers/external-agent'

/** An agent of the AI SDK, as far as it is needed: `ToolLoopAgent` is one. */
export interface AiSdkAgentLike {
  stream(options: never): PromiseLike<object>
}

/** The options of `aiSdkAgent`. */
export interface AiSdkAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** The agent: `new ToolLoopAgent({ … })`. Its `toolApproval` is asked as approvals of Reeve. */
  readonly agent: AiSdkAgentLike
  /**
   * Records each step of its loop, a model call and the tools of its answer, for itself, at most so many. Then its
   * `stopWhen` does not count, and its `prepareStep` sees one step at a time. Default: its loop is recorded as a whole,
   * from one approval or question to the next.
   */
  readonly maxSteps?: number
  /**
   * Further parameters of each call of `stream`, such as `options` for an agent with a `callOptionsSchema`. Default:
   * none.
   */
  readonly call?: (io: Pick<StepIO, 'key' | 'signal'>) => object
}

/** What is read of a result of `stream`. All of it is optional: it comes from another package, of whichever version. */
interface StreamResult {
  readonly stream?: AsyncIterable<StreamPart>
  readonly fullStream?: AsyncIterable<StreamPart>
  readonly responseMessages?: PromiseLike<unknown>
  readonly response?: PromiseLike<{ readonly messages?: unknown }>
  readonly text: PromiseLike<string>
  readonly output?: PromiseLike<unknown>
  readonly finishReason: PromiseLike<string>
}
interface StreamPart {
  readonly type: string
  readonly id?: string
  readonly text?: string
  readonly error?: unknown
  readonly usage?: unknown
  readonly response?: { readonly modelId?: string }
  readonly model?: unknown
}

/** What is kept between segments. */
interface AiSdkConversation {
  readonly messages: readonly Json[]
  readonly steps: number
}

/**
 * An agent of the AI SDK as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | approvals | its `toolApproval` (`user-approval`); the approver sees the arguments, and may edit them unless approvals are signed |
 * | questions | a call of a tool without `execute`; the answer is its result |
 * | usage, text | of each model call; live |
 * | cancel, time limit | its `abortSignal`; its tools get it, too |
 * | after a crash | what it did since the last approval or question is repeated with the same key (`currentSegment()`); with `maxSteps`, its last step alone |
 * | not honoured | permissions of the edge for its tools; middlewares and hooks of Reeve around its tools; generated files that are not base64 |
 *
 * `effect` default `idempotent`. Throws `agent.invalid` for invalid options.
 */
export function aiSdkAgent<const Name extends string>(options: AiSdkAgentOptions<Name>): Agent<Name, unknown, Json> {
  const { agent, maxSteps, call, ...facts } = options
  const segment = async (conversation: AiSdkConversation, io: StepIO): Promise<WorkSegment> => {
    const stopped = maxSteps === undefined ? undefined : { stopWhen: ({ steps }: Steps) => steps.length >= 1 }
    const result = (await agent.stream({
      ...call?.({ key: io.key, signal: io.signal }),
      ...stopped,
      messages: conversation.messages,
      abortSignal: io.signal,
    } as never)) as StreamResult
    const uses = await shown(result, io)
    const said = (await (result.responseMessages ?? result.response?.then(({ messages }) => messages))) ?? []
    const messages = [...conversation.messages, ...(jsonOf(said) as readonly Json[])]
    const state = { messages, steps: conversation.steps + 1 }
    const asks = openAsks(messages)
    if (asks.length > 0) return { status: 'asks', state, asks, uses }
    const goesOn =
      maxSteps !== undefined &&
      state.steps < maxSteps &&
      isObject(messages.at(-1)) &&
      roleOf(messages.at(-1)) === 'tool'
    if (goesOn) return { status: 'on', state, uses }
    return { status: 'done', output: await outputOf(result, facts.output !== undefined), uses }
  }
  return externalAgent(facts, {
    effect: 'idempotent',
    begin: (prompt, io) => segment({ messages: [{ role: 'user', content: prompt }], steps: 0 }, io),
    proceed: (state, replies, io) => {
      const { messages, steps } = state as unknown as AiSdkConversation
      return segment({ messages: answered(messages, replies), steps }, io)
    },
  })
}

interface Steps {
  readonly steps: readonly unknown[]
}

/** Shows the text while it comes, and says what each model call has used. Rejects with the error in the stream. */
async function shown(result: StreamResult, io: StepIO): Promise<readonly ExternalUse[]> {
  const uses: ExternalUse[] = []
  const stream = result.stream ?? result.fullStream
  if (stream === undefined) return uses
  for await (const part of heardFrom(stream, io.signal)) {
    if (part.type === 'text-delta' && typeof part.text === 'string')
      io.emit({ type: 'text.delta', id: part.id ?? '0', text: part.text })
    else if (part.type === 'finish-step') uses.push(useOf(part))
    else if (part.type === 'error') throw asError(part.error)
    else if (part.type === 'abort') throw new Error('the agent was stopped')
  }
  return uses
}

function useOf({ usage, response }: StreamPart): ExternalUse {
  const counts = jsonOf(usage)
  const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails, cachedInputTokens, reasoningTokens } =
    isObject(counts) ? counts : {}
  const cached = isObject(inputTokenDetails) ? inputTokenDetails['cacheReadTokens'] : cachedInputTokens
  const reasoning = isObject(outputTokenDetails) ? outputTokenDetails['reasoningTokens'] : reasoningTokens
  const used = usedOf({ input: inputTokens, output: outputTokens, cached, reasoning })
  return { model: response?.modelId ?? 'unknown', ...(used === undefined ? undefined : { used }) }
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(asText(jsonOf(thrown))))

async function outputOf(result: StreamResult, typed: boolean): Promise<Json> {
  const text = await result.text
  return typed && result.output !== undefined ? jsonOf(await result.output) : text
}

const roleOf = (message: Json | undefined): Json | undefined => (isObject(message) ? message['role'] : undefined)

/** The parts of the messages of a role, in order. */
const partsOf = (messages: readonly Json[], role: string): readonly JsonObject[] =>
  messages.flatMap((message) => {
    const content = isObject(message) && message['role'] === role ? message['content'] : undefined
    return Array.isArray(content) ? (content as readonly Json[]).filter(isObject) : []
  })

const idOf = (part: JsonObject, name: 'toolCallId' | 'approvalId'): string => asText(part[name] ?? '')

/** What the conversation waits for: approvals without a response, and calls that nothing has answered. */
function openAsks(messages: readonly Json[]): readonly ExternalAsk[] {
  const said = partsOf(messages, 'assistant')
  const heard = partsOf(messages, 'tool')
  const ended = new Set([...said, ...heard].filter(isResult).map((part) => idOf(part, 'toolCallId')))
  const responses = new Set(heard.filter(isResponse).map((part) => idOf(part, 'approvalId')))
  const calls = said.filter(({ type, providerExecuted }) => type === 'tool-call' && providerExecuted !== true)
  const open = calls.filter((part) => !ended.has(idOf(part, 'toolCallId')))
  const requests = said.filter(({ type }) => type === 'tool-approval-request')
  return open.flatMap((each): readonly ExternalAsk[] => {
    const callId = idOf(each, 'toolCallId')
    const request = requests.find((part) => idOf(part, 'toolCallId') === callId)
    const tool = asText(each['toolName'] ?? '')
    const input = each['input'] ?? {}
    if (request === undefined) return [{ type: 'question', id: callId, question: { tool, input } }]
    return responses.has(idOf(request, 'approvalId')) ? [] : [{ type: 'approval', id: callId, action: tool, input }]
  })
}

const isResult = ({ type }: JsonObject): boolean => type === 'tool-result'
const isResponse = ({ type }: JsonObject): boolean => type === 'tool-approval-response'

/** The conversation with the replies, as the AI SDK expects them: in one tool message. */
function answered(messages: readonly Json[], replies: readonly ExternalReply[]): readonly Json[] {
  if (replies.length === 0) return messages
  const said = partsOf(messages, 'assistant')
  const edits = new Map(
    replies.flatMap((reply) => (reply.type === 'approved' && reply.edited ? [[reply.id, reply.input]] : [])),
  )
  const content = replies.map((reply): Json => {
    const request = said.find(
      (part) => part['type'] === 'tool-approval-request' && idOf(part, 'toolCallId') === reply.id,
    )
    const approvalId = request === undefined ? '' : idOf(request, 'approvalId')
    if (reply.type === 'answer') return toolResult(said, reply.id, reply.value)
    // a signed request is good for the arguments that were signed, and nothing else
    if (reply.type === 'approved' && reply.edited && request?.['signature'] !== undefined)
      return responseTo(approvalId, false, `approved with other arguments: ${asText(reply.input)}`)
    return reply.type === 'approved' ? responseTo(approvalId, true) : responseTo(approvalId, false, reply.feedback)
  })
  return [...messages.map((message) => withEdits(message, edits)), { role: 'tool', content }]
}

const responseTo = (approvalId: string, approved: boolean, reason?: string): Json => ({
  type: 'tool-approval-response',
  approvalId,
  approved,
  ...(reason === undefined ? undefined : { reason }),
})

function toolResult(said: readonly JsonObject[], toolCallId: string, value: Json): Json {
  const call = said.find((part) => part['type'] === 'tool-call' && idOf(part, 'toolCallId') === toolCallId)
  const output = typeof value === 'string' ? { type: 'text', value } : { type: 'json', value }
  return { type: 'tool-result', toolCallId, toolName: call?.['toolName'] ?? '', output }
}

/** The calls of a message with the arguments that an approver gave them. */
function withEdits(message: Json, edits: ReadonlyMap<string, Json>): Json {
  if (edits.size === 0 || !isObject(message) || !Array.isArray(message['content'])) return message
  const content = (message['content'] as readonly Json[]).map((part) => {
    const input = isObject(part) && part['type'] === 'tool-call' ? edits.get(idOf(part, 'toolCallId')) : undefined
    return isObject(part) && input !== undefined ? { ...part, input } : part
  })
  return { ...message, content }
}
