/**
 * `reeve/mastra`: an agent of Mastra as an agent of Reeve. Imports nothing of Mastra: the agent is handed in.
 *
 * Owns: what a segment is: a stream of the agent, to its end or to a call that is suspended. Does not own: segments,
 * approvals, questions, usage (../external-agent), the snapshot of a suspended run (the storage of Mastra).
 * Holds: the run's id is the activation's, and is recorded with what it waits for.
 */
import type { Agent } from '@reeve/agent'
import { asText, isObject, present, type Json, type JsonObject } from '@reeve/core'
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

/** An agent of Mastra, as far as it is needed. Functions are called on it. */
export interface MastraAgentLike {
  stream(messages: never, options: never): Promise<object>
  resumeStream(value: never, options: never): Promise<object>
  approveToolCall(options: never): Promise<object>
  declineToolCall(options: never): Promise<object>
}

export interface MastraAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** The agent: `new Agent({ … })`, or `mastra.getAgent(…)`, with a storage where its tools ask or suspend. */
  readonly agent: MastraAgentLike
  /** Further options of each `stream`, such as `memory` or `maxSteps`. Default: none. */
  readonly call?: (io: Pick<StepIO, 'key' | 'signal'>) => object
}

/** What is read of a result of `stream`. */
interface MastraStream {
  readonly fullStream: AsyncIterable<{ readonly type?: string; readonly payload?: unknown }>
  readonly text: PromiseLike<string>
  readonly object?: PromiseLike<unknown>
}

/**
 * An agent of Mastra as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | approvals | `requireApproval` of its tools, one call at a time; one that was edited is declined, with the arguments that were approved as the reason |
 * | questions | `suspend(…)` of a tool: the payload is the question, the answer its `resumeData` |
 * | usage, text | of each model call; live |
 * | cancel, time limit | its `abortSignal`; tools get it |
 * | after a crash | what it did since its last approval or question is repeated with the same key (`currentSegment()`). A suspended run goes on from the storage of Mastra; with one in memory it fails |
 * | not honoured | edited arguments, permissions of the edge for its tools |
 *
 * `effect` default `idempotent`. Throws `agent.invalid` for invalid options.
 */
export function mastraAgent<const Name extends string>(options: MastraAgentOptions<Name>): Agent<Name, unknown, Json> {
  const { agent, call, ...facts } = options
  const segment = async (stream: object, run: string, io: StepIO): Promise<WorkSegment> => {
    const { asks, uses } = await streamedAsks(stream as MastraStream, io)
    if (asks.length > 0) return { status: 'asks', state: { run }, asks, uses }
    const { text, object } = stream as MastraStream
    const output = facts.output === undefined || object === undefined ? await text : jsonOf(await object)
    return { status: 'done', output, uses }
  }
  const given = (run: string, io: StepIO): object => ({
    ...call?.({ key: io.key, signal: io.signal }),
    runId: run,
    abortSignal: io.signal,
  })
  return externalAgent(facts, {
    effect: 'idempotent',
    begin: async (prompt, io, place) =>
      segment(await agent.stream(prompt as never, given(place, io) as never), place, io),
    proceed: async (state, replies, io) => {
      const { run } = state as { readonly run: string }
      const options = given(run, io)
      const uses: ExternalUse[] = []
      let last: WorkSegment | undefined
      // a run that waits for several calls is told of each for itself
      for (const reply of replies) {
        last = await segment(await resumed(agent, options, reply), run, io)
        uses.push(...(last.uses ?? []))
      }
      return { ...last!, uses }
    },
  })
}

function resumed(agent: MastraAgentLike, options: object, reply: ExternalReply): Promise<object> {
  const given = { ...options, toolCallId: reply.id }
  if (reply.type === 'answer') return agent.resumeStream(reply.value as never, given as never)
  if (reply.type === 'approved' && !reply.edited) return agent.approveToolCall(given as never)
  const reason = reply.type === 'refused' ? reply.feedback : `approved with other arguments: ${asText(reply.input)}`
  return agent.declineToolCall({ ...given, reason } as never)
}

/** Shows the text while it comes; says what it waits for, and what each model call has used. */
async function streamedAsks(
  { fullStream }: MastraStream,
  io: StepIO,
): Promise<{ readonly asks: readonly ExternalAsk[]; readonly uses: readonly ExternalUse[] }> {
  const uses: ExternalUse[] = []
  const asks = new Map<string, ExternalAsk>()
  let model = 'unknown'
  for await (const { type, payload: told } of heardFrom(fullStream, io.signal)) {
    const payload = (told ?? {}) as { readonly [name: string]: unknown }
    if (type === 'text-delta' && typeof payload['text'] === 'string')
      io.emit({ type: 'text.delta', text: payload['text'] })
    else if (type === 'error') throw errorOf(payload['error'])
    else if (type === 'step-finish') {
      const { output, metadata } = payload
      model = modelOf(jsonOf(metadata)) ?? model
      uses.push(useOf(model, jsonOf((output as { readonly usage?: unknown } | undefined)?.usage)))
    } else if (type === 'tool-call-approval' || type === 'tool-call-suspended') {
      const call = jsonOf(payload)
      const ask = isObject(call) ? askOf(type, call) : undefined
      if (ask !== undefined) asks.set(ask.id, ask)
    }
  }
  return { asks: [...asks.values()], uses }
}

function askOf(type: 'tool-call-approval' | 'tool-call-suspended', call: JsonObject): ExternalAsk | undefined {
  const { toolCallId: id, toolName, args, suspendPayload } = call
  if (typeof id !== 'string') return undefined
  const action = typeof toolName === 'string' ? toolName : 'tool'
  return type === 'tool-call-approval'
    ? { type: 'approval', id, action, input: args ?? {} }
    : { type: 'question', id, question: { tool: action, question: suspendPayload ?? null } }
}

const modelOf = (metadata: Json): string | undefined => {
  const id = isObject(metadata) ? metadata['modelId'] : undefined
  return typeof id === 'string' ? id : undefined
}

function useOf(model: string, counts: Json): ExternalUse {
  const { inputTokens, outputTokens, cachedInputTokens } = isObject(counts) ? counts : {}
  const used = usedOf({ input: inputTokens, output: outputTokens, cached: cachedInputTokens })
  return { model, ...present({ used }) }
}

const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new Error(
        asText((isObject(jsonOf(thrown)) ? (jsonOf(thrown) as JsonObject)['message'] : undefined) ?? jsonOf(thrown)),
      )
