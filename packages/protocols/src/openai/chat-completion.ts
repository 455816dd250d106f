/**
 * Chat completions: what is shown of a run as one answer, whole or in chunks.
 *
 * Owns: the forms of a completion and its chunks, what is said of a run that waits for a person. Does not own: requests,
 * what is shown (../chat-feed). Pure.
 * Holds: an answer that is not the end of its run is never finished as `stop`.
 */
import { cut, visibleJson, visibleLine, withoutHandoff, type Json, type Outcome } from '@reeve/core'
import { approvalsAmong, type RunWaiting } from '@reeve/runtime'
import { sseMessage, type ChatChange } from '../chat-feed/index.ts'
import type { StreamEnd } from '../protocol-run/index.ts'
import { outcomeError, type OpenAiError } from './errors.ts'
import { chatUsage } from './usage.ts'

/** Which run a completion is of. */
export interface CompletionHead {
  readonly run: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
}

/** Between two texts that were said one after the other. */
const gap = '\n\n'

/** What was said, joined. */
function saidText(changes: readonly ChatChange[]): string {
  const blocks = new Map<string, string>()
  for (const change of changes)
    if (change.type === 'show' && change.item.type === 'text')
      blocks.set(change.item.block, (blocks.get(change.item.block) ?? '') + change.item.text)
  return [...blocks.values()].join(gap)
}

/** What waits, for programs: a member `reeve` of the completion. */
function waitingOf(run: string, { status, waiting, questions }: RunWaiting): Json {
  const approvals = waiting.map(({ id, tool, path, reason }) => ({ kind: 'approval', id, tool, path, reason }))
  const others = questions.filter(({ kind }) => kind !== 'approval').map(({ id, kind }) => ({ kind, id }))
  return { run, status, waiting: [...approvals, ...others] }
}

/** What waits, for people who read the answer. */
function waitingNotice(run: string, { status, questions }: RunWaiting): string {
  const approvals = approvalsAmong(questions).map(
    ({ id, path, tool, input, reason }) =>
      `- ${visibleLine(path.join(' > '))} asks to do ${visibleLine(tool)} with ${cut(visibleJson(input), 500)} (${cut(visibleLine(reason), 200)}); approval ${id}`,
  )
  const others = questions
    .filter(({ kind }) => kind !== 'approval')
    .map(({ id, kind, body }) => {
      const asks = typeof body === 'object' && body !== null && 'question' in body ? body.question : null
      return `- ${kind === 'interrupt' ? `a question: ${cut(visibleJson(asks), 500)}` : kind}; ${id}`
    })
  const head =
    questions.length === 0
      ? `[Not finished: run ${run} is ${status}.]`
      : `[Not finished: run ${run} waits for a person, who decides on the server.]`
  return [head, ...approvals, ...others].join('\n')
}

const finishOf = ({ status }: Outcome): 'stop' | 'length' => (status === 'limited' ? 'length' : 'stop')

/** The whole completion, or the error of a run that did not answer. */
export function completion(
  { run, model, created }: CompletionHead,
  changes: readonly ChatChange[],
  end: StreamEnd,
): Json | { readonly error: OpenAiError } {
  const said = saidText(changes)
  const form = (content: string, finish: string, more: { readonly [name: string]: Json }): Json => ({
    id: `chatcmpl-${run}`,
    object: 'chat.completion',
    created,
    model,
    choices: [
      { index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: finish, logprobs: null },
    ],
    ...more,
  })
  if (end.type === 'waiting') {
    const content = [said, waitingNotice(run, end.waiting)].filter((text) => text !== '').join(gap)
    return form(content, 'length', { reeve: waitingOf(run, end.waiting) })
  }
  const { run: _run, usage, ...outcome } = end.outcome
  const error = outcomeError(withoutHandoff(outcome as Outcome))
  if (error !== undefined) return { error }
  const used = chatUsage(usage)
  return form(said, finishOf(outcome), used === undefined ? {} : { usage: used })
}

/** Writes the chunks of a completion. */
export class CompletionWriter {
  readonly #head: CompletionHead
  readonly #includesUsage: boolean
  #block: string | undefined

  constructor(head: CompletionHead, includesUsage: boolean) {
    this.#head = head
    this.#includesUsage = includesUsage
  }

  begin(): string {
    return this.#chunk({ role: 'assistant', content: '', refusal: null }, null)
  }

  /** A text that was withdrawn cannot be taken back here: what follows it begins after a blank line. */
  take(change: ChatChange): readonly string[] {
    if (change.type !== 'show' || change.item.type !== 'text') return []
    const { block, text } = change.item
    const isNext = this.#block !== undefined && this.#block !== block
    this.#block = block
    return [this.#chunk({ content: (isNext ? gap : '') + text }, null)]
  }

  end(end: StreamEnd): readonly string[] {
    if (end.type === 'waiting') {
      const { run } = this.#head
      const notice = (this.#block === undefined ? '' : gap) + waitingNotice(run, end.waiting)
      const last = this.#chunk({ content: notice }, null)
      return [last, this.#chunk({}, 'length', { reeve: waitingOf(run, end.waiting) })]
    }
    const { run: _run, usage, ...outcome } = end.outcome
    const error = outcomeError(withoutHandoff(outcome as Outcome))
    if (error !== undefined) return [sseMessage({ error })]
    const used = this.#includesUsage ? [this.#usage(chatUsage(usage) ?? null)] : []
    return [this.#chunk({}, finishOf(outcome)), ...used]
  }

  #form(choices: Json, more: { readonly [name: string]: Json }): string {
    const { run, model, created } = this.#head
    return sseMessage({ id: `chatcmpl-${run}`, object: 'chat.completion.chunk', created, model, choices, ...more })
  }

  #chunk(delta: Json, finish: string | null, more: { readonly [name: string]: Json } = {}): string {
    const usage = this.#includesUsage ? { usage: null } : {}
    return this.#form([{ index: 0, delta, finish_reason: finish, logprobs: null }], { ...usage, ...more })
  }

  #usage(usage: Json): string {
    return this.#form([], { usage })
  }
}
