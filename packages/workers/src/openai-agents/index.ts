/**
 * `reeve/openai-agents`: an agent of the OpenAI Agents SDK as an agent of Reeve. Imports nothing of the SDK: it is
 * handed in.
 *
 * Owns: what a segment is: a run of the SDK, to its end or to its interruptions. Does not own: segments, approvals,
 * usage (../external-agent).
 * Holds: the serialized `RunState` is in the journal, so no state of the process is needed.
 */
import type { Agent } from '@reeve/agent'
import { isObject, readJson, present, type Json, type JsonObject } from '@reeve/core'
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

/** What is needed of the SDK: `import * as sdk from '@openai/agents'` is it. */
export interface OpenAIAgentsLike {
  readonly run: (agent: never, input: never, options: never) => Promise<unknown>
  readonly RunState: { fromString(agent: never, state: string): Promise<object> }
}

export interface OpenAIAgentOptions<Name extends string = string> extends ExternalAgentOptions<Name> {
  /** The SDK. `run` may be that of a `Runner`: `{ run: runner.run.bind(runner), RunState }`. */
  readonly sdk: OpenAIAgentsLike
  /** The agent: `new Agent({ … })`, with its handoffs. */
  readonly agent: { readonly name: string; readonly model?: unknown }
  /**
   * Records each turn, a model call and the tools of its answer, for itself, at most so many. Default: recorded as a
   * whole, from one approval to the next, with the turn limit of the SDK.
   */
  readonly maxSteps?: number
}

/** What is read of a result of `run`. */
interface RunResult extends AsyncIterable<{ readonly type: string; readonly data?: unknown }> {
  readonly completed: Promise<void>
  readonly interruptions?: readonly Interruption[]
  readonly finalOutput?: unknown
  readonly rawResponses?: readonly { readonly usage?: unknown }[]
  readonly state: State
}
interface Interruption {
  readonly name?: string
  readonly arguments?: string
  readonly rawItem?: unknown
}
interface State {
  toString(): string
  getInterruptions(): Interruption[]
  approve(item: Interruption): void
  reject(item: Interruption, options: { message: string }): void
}

/** What is kept between segments. `heard`: how many answers of models are counted already. */
interface SerializedRun {
  readonly run: string
  readonly heard: number
  readonly turns: number
}

/**
 * An agent of the OpenAI Agents SDK as an agent of Reeve: in `workers:` of a supervisor, and wherever an agent is.
 *
 * | | |
 * |---|---|
 * | approvals | `needsApproval` of its tools, and of the tools of agents below it; also edited |
 * | usage, text | of each model call, by the name of the agent's model; live |
 * | cancel, time limit | its `signal`; tools get it in their `details` |
 * | after a crash | what it did since the last approval is repeated with the same key (`currentSegment()`); with `maxSteps`, its last turn alone |
 * | not honoured | questions (the SDK has none), permissions of the edge for its tools, a run context: tools close over what they need |
 *
 * `effect` default `idempotent`. Throws `agent.invalid` for invalid options.
 */
export function openAIAgent<const Name extends string>(options: OpenAIAgentOptions<Name>): Agent<Name, unknown, Json> {
  const { sdk, agent, maxSteps, ...facts } = options
  const model = typeof agent.model === 'string' && agent.model !== '' ? agent.model : 'unknown'
  const segment = async (input: unknown, kept: SerializedRun, io: StepIO): Promise<WorkSegment> => {
    const turns = kept.turns + 1
    const bound = maxSteps === undefined ? undefined : { maxTurns: turnOf(kept.run) + 1 }
    const options = { stream: true, signal: io.signal, ...bound }
    const result = (await sdk.run(agent as never, input as never, options as never)) as RunResult
    const stopped = await streamedText(result, maxSteps !== undefined, io)
    io.signal.throwIfAborted()
    const responses = result.rawResponses ?? []
    const uses = responses.slice(kept.heard).map(({ usage }) => useOf(model, usage))
    const state = (): Json => ({ run: result.state.toString(), heard: responses.length, turns }) satisfies SerializedRun
    if (stopped) {
      if (turns >= maxSteps!) throw new Error(`it has used all of its ${maxSteps!} turns`)
      return { status: 'on', state: state(), uses }
    }
    const asks = (result.interruptions ?? []).map(askOf)
    if (asks.length > 0) return { status: 'asks', state: state(), asks, uses }
    return { status: 'done', output: jsonOf(result.finalOutput), uses }
  }
  return externalAgent(facts, {
    effect: 'idempotent',
    begin: (prompt, io) => segment(prompt, { run: '', heard: 0, turns: 0 }, io),
    proceed: async (given, replies, io) => {
      const kept = given as unknown as SerializedRun
      const state = (await sdk.RunState.fromString(agent as never, edited(kept.run, replies))) as State
      for (const item of state.getInterruptions()) {
        const reply = replies.find(({ id }) => id === idOf(item))
        if (reply?.type === 'approved') state.approve(item)
        else state.reject(item, { message: reply?.type === 'refused' ? reply.feedback : 'not approved' })
      }
      return segment(state, kept, io)
    },
  })
}

/** Shows the text while it comes. True if a run that is taken turn by turn has stopped after its turn. */
async function streamedText(result: RunResult, byTurns: boolean, io: StepIO): Promise<boolean> {
  try {
    for await (const { type, data } of heardFrom(result, io.signal)) {
      const event = type === 'raw_model_stream_event' ? jsonOf(data) : null
      if (isObject(event) && event['type'] === 'output_text_delta' && typeof event['delta'] === 'string')
        io.emit({ type: 'text.delta', text: event['delta'] })
    }
    await result.completed
    return false
  } catch (thrown) {
    if (byTurns && thrown instanceof Error && thrown.constructor.name === 'MaxTurnsExceededError') return true
    throw thrown
  }
}

/** The turn that a serialized run is in. */
function turnOf(run: string): number {
  if (run === '') return 0
  const { currentTurn } = JSON.parse(run) as { readonly currentTurn?: unknown }
  return typeof currentTurn === 'number' ? currentTurn : 0
}

function useOf(model: string, usage: unknown): ExternalUse {
  const counts = jsonOf(usage)
  const { inputTokens, outputTokens, inputTokensDetails, outputTokensDetails } = isObject(counts) ? counts : {}
  const cached = detailIn(inputTokensDetails, 'cached_tokens')
  const reasoning = detailIn(outputTokensDetails, 'reasoning_tokens')
  const used = usedOf({ input: inputTokens, output: outputTokens, cached, reasoning })
  return { model, ...present({ used }) }
}

/** A count among details, which come as one object or as a list of one for each request. */
function detailIn(given: Json | undefined, name: string): Json | undefined {
  const details = Array.isArray(given) ? (given as readonly Json[])[0] : given
  return isObject(details) ? details[name] : undefined
}

const rawOf = ({ rawItem }: Interruption): JsonObject => {
  const raw = jsonOf(rawItem)
  return isObject(raw) ? raw : {}
}

function idOf(item: Interruption): string {
  const { callId, id } = rawOf(item)
  return typeof callId === 'string' ? callId : typeof id === 'string' ? id : ''
}

function askOf(item: Interruption): ExternalAsk {
  const raw = rawOf(item)
  const given = item.arguments ?? raw['arguments']
  const { name } = raw
  const action = item.name ?? (typeof name === 'string' ? name : 'tool')
  return { type: 'approval', id: idOf(item), action, input: typeof given === 'string' ? parsed(given) : raw }
}

/** The arguments as the tool will read them; a text that is no JSON is shown as it is. */
function parsed(text: string): Json {
  const read = readJson(text)
  // numbers that would be rounded are shown as they were written
  return read.ok ? read.value : text
}

/** The serialized run with the arguments that an approver has edited, wherever it has the call. */
function edited(run: string, replies: readonly ExternalReply[]): string {
  const edits = new Map(
    replies.flatMap((reply) => (reply.type === 'approved' && reply.edited ? [[reply.id, reply.input]] : [])),
  )
  return edits.size === 0 ? run : JSON.stringify(withEdits(JSON.parse(run) as Json, edits))
}

function withEdits(value: Json, edits: ReadonlyMap<string, Json>): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((member) => withEdits(member, edits))
  if (!isObject(value)) return value
  const input =
    value['type'] === 'function_call' && typeof value['callId'] === 'string' ? edits.get(value['callId']) : undefined
  const members = Object.entries(value).map(([name, member]) => [name, withEdits(member, edits)] as const)
  return Object.fromEntries(input === undefined ? members : [...members, ['arguments', JSON.stringify(input)]])
}
