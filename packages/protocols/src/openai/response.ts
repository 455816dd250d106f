/**
 * Responses: what is shown of a run as the output of a response, whole or as events.
 *
 * Owns: the forms of a response, its items and its events; what stands for an approval and a question. Does not own:
 * requests, what is shown (../chat-feed). Pure.
 * Holds: the id of a response is that of its run. A response is `completed` only when its run is.
 */
import {
  describeOutcome,
  isObject,
  present,
  withoutHandoff,
  type Json,
  type JsonObject,
  type Outcome,
  type RunId,
} from '@reeve/core'
import { approvalsAmong, clientCallIn, type Question, type RunSummary } from '@reeve/runtime'
import { sseMessage, type ChatChange } from '../chat-feed/index.ts'
import type { StreamEnd } from '../protocol-run/index.ts'
import { outcomeError } from './errors.ts'
import { responseUsage } from './usage.ts'

const runPrefix = 'run_'
const responsePrefix = 'resp_'

/** The id of a run's response. */
export const responseIdOf = (run: string): string => responsePrefix + run.replace(runPrefix, '')

/** The run of a response; undefined for what is no id of a response. */
export const runIdOf = (response: string): RunId | undefined =>
  response.startsWith(responsePrefix) ? ((runPrefix + response.slice(responsePrefix.length)) as RunId) : undefined

/** What a run records of the request that started it: a member `openai` of its metadata. */
export interface ResponseRecord {
  readonly background: boolean
  readonly previous: string | null
  readonly metadata: JsonObject
}

/** The record of a run; what another way of starting has not recorded is as if it was not asked for. */
function recordIn({ caller: { metadata } }: RunSummary): ResponseRecord {
  const found = isObject(metadata) ? metadata['openai'] : undefined
  const { background, previous, metadata: own } = isObject(found) ? found : ({} as JsonObject)
  return {
    background: background === true,
    previous: typeof previous === 'string' ? previous : null,
    metadata: isObject(own) ? own : {},
  }
}

/** How a response stands: it goes on, waits for a person, or its run has ended. */
export type ResponseState = { readonly type: 'running' } | StreamEnd

interface TextItem {
  readonly id: string
  readonly index: number
  readonly block: string
  text: string
  isDone: boolean
  /** What it is taken from. */
  readonly sources: { readonly url: string; readonly title?: string }[]
}

const textPart = (text: string, sources: TextItem['sources'] = []): JsonObject => ({
  type: 'output_text',
  text,
  // of the whole text: no provider of Reeve's says of which part
  annotations: sources.map(({ url, title = url }) => ({
    type: 'url_citation',
    url,
    title,
    start_index: 0,
    end_index: text.length,
  })),
  logprobs: [],
})

const messageItem = ({ id, text, sources }: TextItem, status: string): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content: status === 'in_progress' ? [] : [textPart(text, sources)],
})

/** What asks for a person, as items that a client can answer. */
function askingItems(questions: readonly Question[]): readonly JsonObject[] {
  return questions.flatMap((question): readonly JsonObject[] => {
    if (question.kind === 'approval')
      return approvalsAmong([question]).map(({ id, path, tool, input }) => ({
        id,
        type: 'mcp_approval_request',
        server_label: path.join('/'),
        name: tool,
        arguments: JSON.stringify(input),
      }))
    if (question.kind !== 'interrupt' || !isObject(question.body)) return []
    const call = clientCallIn(question.body)
    if (call !== undefined)
      return [
        {
          id: `fc_${question.id}`,
          type: 'function_call',
          status: 'completed',
          call_id: question.id,
          name: call.tool,
          arguments: JSON.stringify(call.input),
        },
      ]
    const { question: asks = null, schema = null } = question.body
    return [
      {
        id: `fc_${question.id}`,
        type: 'function_call',
        status: 'completed',
        call_id: question.id,
        name: 'answer_question',
        arguments: JSON.stringify({ question: asks, schema }),
      },
    ]
  })
}

/** Writes the events of a response, and the response as it is then. */
export class ResponseWriter {
  readonly #summary: RunSummary
  readonly #items: TextItem[] = []
  #indices = 0
  #sequence = 0

  constructor(summary: RunSummary) {
    this.#summary = summary
  }

  begin(): readonly string[] {
    const response = this.response({ type: 'running' })
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })]
  }

  take(change: ChatChange): readonly string[] {
    if (change.type === 'withdraw') return change.blocks.flatMap((block) => this.#withdraw(block))
    const { item } = change
    if (item.type === 'text') return this.#text(item.block, item.text)
    if (item.type === 'source') return this.#source(item)
    if (item.type !== 'block-end') return []
    const ended = this.#items.find(({ block }) => block === item.block)
    return ended === undefined ? [] : this.#done(ended, 'completed')
  }

  end(end: StreamEnd): readonly string[] {
    const open = this.#items.filter(({ isDone }) => !isDone).flatMap((item) => this.#done(item, 'incomplete'))
    const asking = (end.type === 'waiting' ? askingItems(end.waiting.questions) : []).flatMap((item) => {
      const output_index = this.#indices++
      return [
        this.#event('response.output_item.added', { output_index, item }),
        this.#event('response.output_item.done', { output_index, item }),
      ]
    })
    const response = this.response(end)
    const name = { completed: 'completed', failed: 'failed', cancelled: 'failed' }[response['status'] as string]
    return [...open, ...asking, this.#event(`response.${name ?? 'incomplete'}`, { response })]
  }

  /** The response. While its run goes on it is `in_progress`. */
  response(state: ResponseState): JsonObject {
    const { run, agent, createdAt, endedAt } = this.#summary
    const { background, previous, metadata } = recordIn(this.#summary)
    const outcome = state.type === 'ended' ? withoutHandoff(state.outcome as Outcome) : undefined
    const error = outcome === undefined ? undefined : outcomeError(outcome)
    const usage = state.type === 'ended' ? responseUsage(state.outcome.usage) : undefined
    const texts = this.#items.map((item) => messageItem(item, item.isDone ? 'completed' : 'incomplete'))
    return {
      id: responseIdOf(run),
      object: 'response',
      created_at: Math.floor(createdAt / 1000),
      completed_at: endedAt === undefined ? null : Math.floor(endedAt / 1000),
      status: statusOf(state, background),
      background,
      error: error === undefined ? null : { code: error.code, message: error.message },
      incomplete_details: incompleteDetails(state, background),
      instructions: null,
      max_output_tokens: null,
      model: agent,
      output: [...texts, ...(state.type === 'waiting' ? askingItems(state.waiting.questions) : [])],
      parallel_tool_calls: true,
      previous_response_id: previous,
      store: true,
      temperature: null,
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      truncation: 'disabled',
      usage: usage ?? null,
      metadata,
    }
  }

  /** A source of the last text. The whole response has it as an annotation. */
  #source({ url, title }: { readonly url: string; readonly title?: string }): readonly string[] {
    const item = this.#items.at(-1)
    if (item === undefined) return []
    item.sources.push({ url, ...present({ title }) })
    const annotation = { type: 'url_citation', url, title: title ?? url, start_index: 0, end_index: item.text.length }
    const annotation_index = item.sources.length - 1
    const place = { item_id: item.id, output_index: item.index, content_index: 0 }
    return [this.#event('response.output_text.annotation.added', { ...place, annotation_index, annotation })]
  }

  #event(type: string, members: JsonObject): string {
    return sseMessage({ type, sequence_number: this.#sequence++, ...members }, type)
  }

  #text(block: string, delta: string): readonly string[] {
    const found = this.#items.find((each) => each.block === block)
    const index = this.#indices
    const item = found ?? {
      id: `msg_${this.#summary.run}_${index}`,
      index,
      block,
      text: '',
      isDone: false,
      sources: [],
    }
    const place = { item_id: item.id, output_index: item.index, content_index: 0 }
    const begin: string[] = []
    if (found === undefined) {
      this.#indices++
      this.#items.push(item)
      begin.push(
        this.#event('response.output_item.added', { output_index: index, item: messageItem(item, 'in_progress') }),
        this.#event('response.content_part.added', { ...place, part: textPart('') }),
      )
    }
    item.text += delta
    return [...begin, this.#event('response.output_text.delta', { ...place, delta, logprobs: [] })]
  }

  #done(item: TextItem, status: 'completed' | 'incomplete'): readonly string[] {
    if (item.isDone) return []
    item.isDone = true
    const place = { item_id: item.id, output_index: item.index, content_index: 0 }
    return [
      this.#event('response.output_text.done', { ...place, text: item.text, logprobs: [] }),
      this.#event('response.content_part.done', { ...place, part: textPart(item.text) }),
      this.#event('response.output_item.done', { output_index: item.index, item: messageItem(item, status) }),
    ]
  }

  /** What an attempt said that failed is an incomplete item, and no part of the output. */
  #withdraw(block: string): readonly string[] {
    const at = this.#items.findIndex((each) => each.block === block)
    const [item] = at === -1 ? [] : this.#items.splice(at, 1)
    return item === undefined ? [] : this.#done(item, 'incomplete')
  }
}

/**
 * A request that waits for its answer ends when the run waits for a person: `incomplete`. In the background nothing has
 * to end: it goes on once a person has decided.
 */
function statusOf(state: ResponseState, isBackground: boolean): string {
  if (state.type === 'running') return 'in_progress'
  if (state.type === 'waiting') return isBackground ? 'in_progress' : 'incomplete'
  const { status } = state.outcome
  if (status === 'limited' || status === 'bailed') return 'incomplete'
  return status === 'timed-out' ? 'failed' : status
}

function incompleteDetails(state: ResponseState, isBackground: boolean): Json {
  if (state.type === 'waiting')
    return isBackground
      ? null
      : { reason: state.waiting.questions.length > 0 ? 'waiting_for_person' : state.waiting.status }
  if (state.type === 'running') return null
  const { outcome } = state
  if (outcome.status === 'limited') return { reason: 'max_output_tokens', message: describeOutcome(outcome) }
  return outcome.status === 'bailed' ? { reason: 'ended_early', message: describeOutcome(outcome) } : null
}
