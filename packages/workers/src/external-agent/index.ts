/**
 * External agents: an agent of another framework as an agent of Reeve. Not a door of the package; adapters of frameworks
 * import it.
 *
 * Owns: the segments of its work. A segment goes from the brief, or from the answers to what was asked, to the end, or
 * to the next thing that is asked; it is one recorded step. Between segments the approvals and questions are asked, all
 * at once.
 * Does not own: how a framework is called (the adapter of each).
 * Holds: K3 and K6: whatever the framework does is inside a step, so a segment that has ended is never repeated, and
 * one that was in flight is repeated with the same key, or is in doubt (`once`). What the framework returns is data
 * from outside: only what an adapter has read from it by name gets into the journal.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { agent, step, type Agent, type AgentContext, type ApproveOptions, modelRulesOf } from '@reeve/agent'
import {
  asText,
  filesByHandle,
  isObject,
  messageOf,
  readJson,
  withSignalOf,
  present,
  type CallUsage,
  type FilePart,
  type HistoryEntry,
  type Json,
} from '@reeve/core'
import type { Limits, Oversight, SchemaLike } from '@reeve/edge'
import { Cancelled, type RetryPolicy, type StepIO, type StepOptions } from '@reeve/engine'
import { priceOf, type Prices } from '@reeve/model'
import { mostAsks, mostContent, tooMuch } from './bounded.ts'
import { withSentFiles } from './sent-files.ts'

/** The options that every external agent has. */
export interface ExternalAgentOptions<Name extends string = string> {
  /** As of every agent: a letter or `_`, then up to 63 letters, digits, `_` or `-`. */
  readonly name: Name
  /** What it is good for. Leaders choose workers by it. Required for workers. */
  readonly description?: string
  /**
   * The schema of its input. With it, a leader gives a typed input; the external agent is told it as JSON. Default:
   * text.
   */
  readonly input?: SchemaLike
  /** The schema of its output. With it, its answer is read as JSON. Default: text. */
  readonly output?: SchemaLike
  /** Hard limits. `turns` and `tokens` are checked between segments, by what the framework has reported. */
  readonly limits?: Limits
  readonly oversight?: Oversight
  /** Change it when the external agent changes its meaning. Default `1`. */
  readonly version?: string
  /**
   * What it is told, made of the brief and, in a conversation of several agents, of what was said before. Default: the
   * brief as text. A line for each file of its conversation follows it. Pure.
   */
  readonly prompt?: (brief: unknown, history: readonly HistoryEntry[]) => string
  /**
   * What becomes of a segment that was in flight when its process died. `idempotent`: it is repeated with the same key.
   * `once`: it is in doubt until an operator says whether it happened. The default is named by each adapter.
   */
  readonly effect?: 'idempotent' | 'once'
  /** Milliseconds for one segment. Default: no limit of its own; the leader's `timeoutMs` stops it anyway. */
  readonly timeoutMs?: number
  /** How often a segment is tried. Default: once, because frameworks retry calls of models by themselves. */
  readonly retry?: RetryPolicy
  /** How approvals are asked: risk, deadline and the like, for every approval of this agent. */
  readonly approval?: Pick<ApproveOptions, 'risk' | 'sensitive' | 'timeoutMs' | 'onTimeout' | 'reason'>
}

/** Something that an external agent asks before it goes on. */
export type ExternalAsk =
  | {
      readonly type: 'approval'
      /** Unique within the segment. */
      readonly id: string
      /** The name of the action: that of the tool. */
      readonly action: string
      /** The exact arguments. */
      readonly input: Json
      readonly description?: string
      readonly context?: Json
    }
  | { readonly type: 'question'; readonly id: string; readonly question: Json }

/** The answer to one of them, by its id. */
export type ExternalReply =
  | { readonly type: 'approved'; readonly id: string; readonly input: Json; readonly edited: boolean }
  | { readonly type: 'refused'; readonly id: string; readonly feedback: string }
  | { readonly type: 'answer'; readonly id: string; readonly value: Json }

/** A model call within a segment. `model`: as `provider/model` if both are known. */
export interface ExternalUse {
  readonly model: string
  readonly used?: CallUsage
}

/** How a segment has ended. Recorded, so everything in it is JSON. */
export type WorkSegment =
  | { readonly status: 'done'; readonly output: Json; readonly uses?: readonly ExternalUse[] }
  /** `state`: what the framework needs to go on. */
  | {
      readonly status: 'asks'
      readonly state: Json
      readonly asks: readonly ExternalAsk[]
      readonly uses?: readonly ExternalUse[]
    }
  /** It is to go on at once; it ends here so that what it has done is recorded. */
  | { readonly status: 'on'; readonly state: Json; readonly uses?: readonly ExternalUse[] }

/** How a framework is called. */
export interface ExternalWork {
  /**
   * The first segment. `place`: an id of this work that no other has, the same for all its segments and in every
   * process. `files`: those of its conversation.
   */
  readonly begin: (prompt: string, io: StepIO, place: string, files: readonly FilePart[]) => Promise<WorkSegment>
  /** Another segment, with the replies to what was asked, in the order in which it was asked. */
  readonly proceed: (
    state: Json,
    replies: readonly ExternalReply[],
    io: StepIO,
    place: string,
    files: readonly FilePart[],
  ) => Promise<WorkSegment>
  /** It names the files in the prompt itself, by `withSentFiles`. Default: they are named as not sent. */
  readonly takesFiles?: true
  /** The effect of a segment if the options say nothing. */
  readonly effect: 'idempotent' | 'once'
  /** The effect of the first segment, whatever the options say. Default: as of the others. */
  readonly beginEffect?: 'idempotent'
  /** How often a later segment is tried, if the options say nothing. Default: once, as the first one. */
  readonly proceedRetry?: RetryPolicy
  /**
   * Tells a remote side that is still at work to stop, once the work is cancelled or out of time. What it returns is
   * recorded. It undoes nothing.
   */
  readonly abandon?: (state: Json, io: StepIO, place: string) => Promise<Json>
}

/** An agent whose work is done by a framework. Throws `agent.invalid` as `agent` does. */
export function externalAgent<const Name extends string>(
  options: ExternalAgentOptions<Name>,
  work: ExternalWork,
): Agent<Name, unknown, Json> {
  const { name, prompt, effect = work.effect, timeoutMs, retry, approval, ...facts } = options
  const stepOptions = (
    agentName: string,
    prices: Prices | undefined,
    tries?: RetryPolicy,
    of: ExternalAgentOptions['effect'] = effect,
  ): StepOptions => ({
    effect: of,
    retry: retry ?? tries ?? { attempts: 1 },
    reserve: { turns: 1 },
    settle: (segment) => charged(agentName, (segment as unknown as WorkSegment).uses ?? [], prices),
    ...present({ timeoutMs }),
  })
  const run = async (
    ctx: AgentContext,
    brief: unknown,
    { history }: { readonly history: readonly HistoryEntry[] },
  ): Promise<Json> => {
    const files = [...filesByHandle(history.map(({ message }) => message)).values()]
    const asked = asText(prompt?.(brief, history) ?? (brief as Json))
    const told = work.takesFiles === true ? asked : withSentFiles(asked, files).text
    const place = ctx.place.activation
    const { prices } = modelRulesOf(ctx)
    const recorded = (go: (io: StepIO) => Promise<WorkSegment>, options: StepOptions): Promise<WorkSegment> =>
      step(ctx, 'work', async (io) => checked(await going(go, withBoundedText(io))), options)
    let segment = await recorded(
      (io) => work.begin(told, io, place, files),
      stepOptions(ctx.place.agent, prices, undefined, work.beginEffect),
    )
    let watched = false
    for (;;) {
      if (segment.status === 'done') return readOutput(segment.output, options.output !== undefined)
      const { state } = segment
      if (work.abandon !== undefined && !watched) {
        watched = true
        const { abandon } = work
        ctx.onCancel(
          'abandon',
          async (undoing) => {
            await step(undoing, 'abandon', (io) => abandon(state, io, place), { retry: { attempts: 1 } })
          },
          { always: true },
        )
      }
      const asks = segment.status === 'asks' ? segment.asks : []
      const replies = await Promise.all(asks.map((ask) => replyTo(ctx, ask, approval)))
      segment = await recorded(
        (io) => work.proceed(state, replies, io, place, files),
        stepOptions(ctx.place.agent, prices, work.proceedRetry),
      )
    }
  }
  return agent({ ...facts, name, run } as never) as Agent<Name, unknown, Json>
}

export { Allowance, heardFrom, mostAsks, mostContent, orAborted, tooMuch } from './bounded.ts'
export { withSentFiles } from './sent-files.ts'

const segments = new AsyncLocalStorage<StepIO>()

/**
 * The segment that the calling code works in, for tools of an external agent in this process. `key` is the idempotency
 * key of the segment: the same when the segment is repeated after a crash, so a tool may derive its own from it.
 * Undefined elsewhere.
 */
export const currentSegment = (): Pick<StepIO, 'key' | 'epoch' | 'signal' | 'emit'> | undefined => segments.getStore()

/** A segment that is aborted ends as stopped, whatever the framework makes of it; the rest is its own failure. */
async function going(go: (io: StepIO) => Promise<WorkSegment>, io: StepIO): Promise<WorkSegment> {
  try {
    const segment = await segments.run(io, () => go(io))
    io.signal.throwIfAborted()
    return segment
  } catch (thrown) {
    if (io.signal.aborted) throw io.signal.reason instanceof Error ? io.signal.reason : new Cancelled(messageOf(thrown))
    throw thrown
  }
}

/** The text that it shows is bounded, whoever shows it. */
function withBoundedText(io: StepIO): StepIO {
  let shown = 0
  const emit = (part: Json): void => {
    const text = isObject(part) ? part['text'] : undefined
    if (typeof text === 'string' && (shown += text.length) > mostContent)
      throw tooMuch(`more than ${mostContent} characters of text`)
    io.emit(part)
  }
  const { key, epoch, attempt, now, traceparent, contents } = io
  return withSignalOf(io, { key, epoch, attempt, now, traceparent, contents, emit })
}

/**
 * What it says at its end is bounded, and the ids of what it asks are unique, so that every reply finds its request.
 */
function checked(segment: WorkSegment): WorkSegment {
  if (segment.status === 'on') return segment
  const said = segment.status === 'done' ? segment.output : (segment.asks as unknown as Json)
  if (JSON.stringify(said).length > mostContent) throw tooMuch(`more than ${mostContent} characters of JSON`)
  if (segment.status === 'done') return segment
  if (segment.asks.length > mostAsks) throw tooMuch(`more than ${mostAsks} requests at once`)
  const ids = new Set<string>()
  for (const { id } of segment.asks) {
    if (ids.has(id)) throw new Error(`it asks twice under the id ${JSON.stringify(id)}`)
    ids.add(id)
  }
  if (ids.size === 0) throw new Error('it stopped without an answer, and asks nothing')
  return segment
}

async function replyTo(
  ctx: AgentContext,
  ask: ExternalAsk,
  options: ExternalAgentOptions['approval'],
): Promise<ExternalReply> {
  const { id } = ask
  if (ask.type === 'question') return { type: 'answer', id, value: await ctx.interrupt(ask.question) }
  const { action, input, description, context } = ask
  const answer = await ctx.approve(action, {
    ...options,
    input,
    ...present({ description, context }),
  })
  return answer.approved
    ? { type: 'approved', id, input: answer.input, edited: answer.edited }
    : { type: 'refused', id, feedback: answer.feedback }
}

/** What a segment has used, a row for each model call. Without a report, it took one turn of unknown usage. */
function charged(
  agentName: string,
  uses: readonly ExternalUse[],
  prices: Prices | undefined,
): NonNullable<ReturnType<NonNullable<StepOptions['settle']>>> {
  const usage = uses.map(({ model, used }) => ({ agent: agentName, model, used: used && priced(model, used, prices) }))
  const known = usage.flatMap(({ used }) => (used?.input === undefined || used.output === undefined ? [] : [used]))
  const dollars = known.flatMap(({ usd }) => usd ?? [])
  if (known.length < usage.length || usage.length === 0) return { usage }
  return {
    usage,
    charge: {
      turns: usage.length,
      tokens: known.reduce((sum, { input = 0, output = 0 }) => sum + input + output, 0),
      ...(dollars.length < known.length ? undefined : { usd: dollars.reduce((sum, usd) => sum + usd, 0) }),
    },
  }
}

function priced(model: string, used: CallUsage, prices: Prices | undefined): CallUsage {
  const usd = used.usd ?? priceOf(model, used, prices)
  return usd === undefined ? used : { ...used, usd }
}

/** With a schema, an answer that is a JSON text is what that text says. */
function readOutput(output: Json, typed: boolean): Json {
  if (!typed || typeof output !== 'string') return output
  const read = readJson(output)
  return read.ok ? read.value : output
}

/** A value of another framework as JSON: what JSON would change or lose is left out. `null` if nothing is left. */
export function jsonOf(value: unknown): Json {
  try {
    return (JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null
  } catch {
    return null
  }
}

/** A count that another framework has reported; undefined if it is none. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** What a model call used, of counts that may be missing. */
export function usedOf(counts: {
  readonly input: unknown
  readonly output: unknown
  readonly cached?: unknown
  readonly reasoning?: unknown
}): CallUsage | undefined {
  const input = countOf(counts.input)
  const output = countOf(counts.output)
  const cached = countOf(counts.cached)
  const reasoning = countOf(counts.reasoning)
  if (input === undefined && output === undefined) return undefined
  return {
    ...present({ input, output, cached, reasoning }),
  }
}
