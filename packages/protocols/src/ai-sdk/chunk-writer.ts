/**
 * The writer of chunks: what is shown of a run as a UI message stream.
 *
 * Owns: steps, what is written again when a text is withdrawn, how a stream begins and ends. Does not own: what is shown
 * (../chat-feed), what a chunk may be (chunk.ts). Pure.
 * Holds: everything after a position can be written alone: a client that has what comes before it lays the rest over it.
 * No step begins while a call of the last one waits for a person: a client looks for answered approvals in the last
 * step only.
 */
import { describeOutcome, present, totalUsage, withoutHandoff, type Outcome, type Usage } from '@reeve/core'
import type { ChatChange, ChatItem } from '../chat-feed/index.ts'
import type { StreamEnd } from '../protocol-run/index.ts'
import type { AgentData, QuestionData, RunMessageMetadata, UiMessageChunk } from './chunk.ts'

/** A chunk of the step under way, and the block it belongs to. */
interface Written {
  readonly chunk: UiMessageChunk
  readonly block: string | undefined
}

type ClientCallItem = Extract<ChatItem, { readonly type: 'call' }> & { readonly question: string }

/** What a reader was sent before, and what it has sent. */
export interface WrittenBefore {
  readonly from?: number
  readonly answered?: Iterable<string>
  readonly known?: Iterable<string>
}

/** Writes the chunks for one reader. */
export class ChunkWriter {
  readonly #run: Pick<RunMessageMetadata, 'run' | 'agent'>
  readonly #from: number
  #step: Written[] | undefined
  readonly #blocks = new Map<string, 'text' | 'reasoning'>()
  /** Approvals that are not decided, by their calls. */
  readonly #waiting = new Set<string>()
  readonly #questions = new Map<string, QuestionData>()
  /** Calls that the client runs and has not answered, by their ids. */
  readonly #clientCalls = new Map<string, ClientCallItem>()
  readonly #answered: ReadonlySet<string>
  readonly #known: ReadonlySet<string>

  /**
   * `from`: what came at this position or before it is not written; 0 writes everything. `answered`, `known`: of calls
   * that the client runs, by their questions: those whose result it has just sent, and those that it works on.
   */
  constructor(
    run: Pick<RunMessageMetadata, 'run' | 'agent'>,
    { from = 0, answered = [], known = [] }: WrittenBefore = {},
  ) {
    this.#run = run
    this.#from = from
    this.#answered = new Set(answered)
    this.#known = new Set(known)
  }

  /** The first chunk. The message has the id of the run, whichever request asks for it. */
  begin(): readonly UiMessageChunk[] {
    return [{ type: 'start', messageId: this.#run.run, messageMetadata: this.#run }]
  }

  take(change: ChatChange): readonly UiMessageChunk[] {
    if (change.type === 'withdraw') {
      const taken = this.#withdraw(change.blocks)
      return change.position > this.#from ? taken : []
    }
    const { item } = change
    // the client has made these parts its own: what it sent must become the server's, or it is sent again and again
    const question = item.type === 'result' ? this.#clientCalls.get(item.call)?.question : undefined
    const isSent = question !== undefined && this.#answered.has(question)
    const chunks = this.#ofItem(item)
    return change.position > this.#from || isSent ? chunks : []
  }

  /** The last chunks: why nothing more is shown, and up to where it was shown. */
  end(end: StreamEnd): readonly UiMessageChunk[] {
    const { position } = end
    const asked = end.type === 'waiting' ? this.#clientRuns(end.waiting.questions.map(({ id }) => id)) : []
    const closed: UiMessageChunk[] = this.#step === undefined ? [] : [{ type: 'finish-step' }]
    if (end.type === 'waiting') {
      const { status } = end.waiting
      const metadata = { ...this.#run, status, position }
      const finishReason = status === 'waiting' ? 'tool-calls' : 'other'
      return [...asked, ...closed, { type: 'finish', finishReason, messageMetadata: metadata }]
    }
    const { run: _run, usage, ...outcome } = end.outcome
    const finish: UiMessageChunk = {
      type: 'finish',
      finishReason: finishReasons[outcome.status],
      messageMetadata: { ...this.#run, status: outcome.status, position, usage: usageOf(usage) },
    }
    const why = endReason(withoutHandoff(outcome as Outcome))
    return [...closed, finish, ...(why === undefined ? [] : [why])]
  }

  /**
   * What the client is to run now. It is written when the run waits, since the client sends nothing while it reads; so a
   * call that was answered is never given to a client that reads it again.
   */
  #clientRuns(open: readonly string[]): readonly UiMessageChunk[] {
    const runs = [...this.#clientCalls.values()].filter(
      ({ question }) => open.includes(question) && !this.#known.has(question),
    )
    return this.#write(
      runs.map(({ call: toolCallId, tool: toolName, input, path, question }) => ({
        type: 'tool-input-available',
        toolCallId,
        toolName,
        input,
        dynamic: true,
        toolMetadata: { path, question },
      })),
    )
  }

  #ofItem(item: ChatItem): readonly UiMessageChunk[] {
    switch (item.type) {
      case 'turn':
        return this.#turn()
      case 'text':
      case 'reasoning': {
        const { type, block, text } = item
        const begin = this.#blocks.has(block) ? [] : [{ type: `${type}-start`, id: block } as const]
        this.#blocks.set(block, type)
        return this.#write([...begin, { type: `${type}-delta`, id: block, delta: text }], block)
      }
      case 'block-end': {
        const type = this.#blocks.get(item.block)
        this.#blocks.delete(item.block)
        return type === undefined ? [] : this.#write([{ type: `${type}-end`, id: item.block }], item.block)
      }
      case 'file':
        return this.#write([{ type: 'file', mediaType: item.mediaType, url: item.url }])
      case 'source': {
        const { source: sourceId, url, title } = item
        return this.#write([{ type: 'source-url', sourceId, url, ...present({ title }) }])
      }
      case 'worker': {
        const { id, ...data } = item.worker
        return this.#write([{ type: 'data-agent', id, data: data satisfies AgentData }])
      }
      case 'question': {
        const { question: id, asks, path, schema } = item
        const data: QuestionData = {
          id,
          question: asks,
          path,
          status: 'open',
          ...(schema === undefined ? undefined : { schema }),
        }
        this.#questions.set(id, data)
        return this.#write([{ type: 'data-question', id, data }])
      }
      case 'answered': {
        const known = this.#questions.get(item.question)
        if (known === undefined) return []
        return this.#write([{ type: 'data-question', id: known.id, data: { ...known, status: 'closed' } }])
      }
      default:
        return this.#write(this.#ofCall(item))
    }
  }

  #ofCall(item: Extract<ChatItem, { readonly call: string }>): readonly UiMessageChunk[] {
    const { call: toolCallId } = item
    const ours = { toolCallId, dynamic: true, providerExecuted: true } as const
    switch (item.type) {
      case 'call': {
        const { tool: toolName, input, path, question } = item
        if (question !== undefined) {
          this.#clientCalls.set(toolCallId, { ...item, question })
          return []
        }
        return [{ type: 'tool-input-available', ...ours, toolName, input, toolMetadata: { path } }]
      }
      case 'result':
        return [
          ...this.#ranOnClient(toolCallId),
          item.isError === true
            ? { type: 'tool-output-error', ...ours, errorText: textOf(item.output) }
            : { type: 'tool-output-available', ...ours, output: item.output },
        ]
      case 'denied':
        return [{ type: 'tool-output-denied', toolCallId }]
      case 'approval':
        this.#waiting.add(toolCallId)
        return [{ type: 'tool-approval-request', approvalId: item.approval, toolCallId, reason: item.reason }]
      case 'decided': {
        const { approval: approvalId, approved, comment } = item
        this.#waiting.delete(toolCallId)
        const reason = comment === undefined ? undefined : { reason: comment }
        return [{ type: 'tool-approval-response', approvalId, approved, ...reason }]
      }
    }
  }

  /** A call that was answered, as one that a client which has not seen it leaves alone. */
  #ranOnClient(toolCallId: string): readonly UiMessageChunk[] {
    const known = this.#clientCalls.get(toolCallId)
    if (known === undefined) return []
    this.#clientCalls.delete(toolCallId)
    const { tool: toolName, input, path, question } = known
    const ours = { toolCallId, dynamic: true, providerExecuted: true } as const
    return [{ type: 'tool-input-available', ...ours, toolName, input, toolMetadata: { path, question } }]
  }

  #turn(): readonly UiMessageChunk[] {
    if (this.#waiting.size > 0 || (this.#step !== undefined && this.#step.length === 0)) return []
    const closed: UiMessageChunk[] = this.#step === undefined ? [] : [{ type: 'finish-step' }]
    this.#step = []
    return [...closed, { type: 'start-step' }]
  }

  #write(chunks: readonly UiMessageChunk[], block?: string): readonly UiMessageChunk[] {
    if (chunks.length === 0) return []
    const begin: UiMessageChunk[] = this.#step === undefined ? [{ type: 'start-step' }] : []
    this.#step ??= []
    for (const chunk of chunks) keep(this.#step, { chunk, block })
    return [...begin, ...chunks]
  }

  /** A step can only be taken back whole: what else it has is written again. */
  #withdraw(blocks: readonly string[]): readonly UiMessageChunk[] {
    const gone = new Set(blocks)
    const kept = this.#step?.filter(({ block }) => block === undefined || !gone.has(block))
    for (const block of blocks) this.#blocks.delete(block)
    // of a step that is over nothing can be taken back
    if (kept === undefined || kept.length === this.#step?.length) return []
    this.#step = kept
    return [{ type: 'reset-step' }, ...kept.map(({ chunk }) => chunk)]
  }
}

/** Keeps what a step shows: pieces of a text joined, of a worker or a question the newest data. */
function keep(step: Written[], written: Written): void {
  const { chunk, block } = written
  const last = step.at(-1)
  if ('delta' in chunk && last !== undefined && 'delta' in last.chunk && last.block === block) {
    step[step.length - 1] = { block, chunk: { ...chunk, delta: last.chunk.delta + chunk.delta } }
    return
  }
  const at =
    'data' in chunk ? step.findIndex(({ chunk: other }) => other.type === chunk.type && other.id === chunk.id) : -1
  if (at === -1) step.push(written)
  else step[at] = written
}

const finishReasons = {
  completed: 'stop',
  bailed: 'stop',
  limited: 'length',
  failed: 'error',
  'timed-out': 'error',
  cancelled: 'other',
} as const

/** What is said of a run that did not answer. */
function endReason(outcome: Outcome): UiMessageChunk | undefined {
  switch (outcome.status) {
    case 'failed':
      return { type: 'error', errorText: errorText(outcome.failure.code, outcome.failure.message) }
    case 'limited':
      return { type: 'error', errorText: errorText('limit.reached', describeOutcome(outcome)) }
    case 'timed-out':
      return { type: 'error', errorText: errorText('limit.reached', describeOutcome(outcome)) }
    case 'cancelled':
      return { type: 'abort', reason: outcome.reason }
    default:
      return undefined
  }
}

/** An error as the stream says it: Reeve's code, then what is wrong. */
export const errorText = (code: string, message: string): string => `${code}: ${message}`

const textOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output))

function usageOf(usage: Usage): NonNullable<RunMessageMetadata['usage']> {
  const { input, output, cached, reasoning, usd, calls, unknown, unpriced } = totalUsage(usage)
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    cachedInputTokens: cached,
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
    usd,
    calls,
    unknown,
    unpriced,
  }
}
