/**
 * The history of a chat: its runs as messages of the AI SDK.
 *
 * Owns: the parts of a message, made of what is shown of a run. Does not own: what is shown (../chat-feed), chunks of a
 * stream (chunk-writer.ts), which say the same while it happens. Pure but for reading the runs.
 */
import { isObject, own, present, type Json, type JsonObject } from '@reeve/core'
import { hasEnded, type Run, type RunSummary } from '@reeve/runtime'
import { ChatFeed, runInput, type FindRun } from '../chat-feed/index.ts'
import { ChunkWriter } from './chunk-writer.ts'
import type { UiMessageChunk } from './chunk.ts'

/** A message as `useChat({ messages })` takes it. */
export interface UiChatMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: readonly JsonObject[]
  readonly metadata?: JsonObject
}

/** The member of a run's metadata that names the message it was started with. */
export const messageKey = 'chatMessage'

/**
 * The messages of these runs, which are of one chat, oldest first. Of a message that was asked again, the last answer. A
 * run that goes on has no answer here yet: its stream is resumed.
 */
export async function chatMessages(
  runs: readonly RunSummary[],
  handle: (id: string) => Run,
  signal: AbortSignal,
): Promise<readonly UiChatMessage[]> {
  const byMessage = new Map<string, RunSummary>()
  for (const summary of runs) byMessage.set(messageIdOf(summary), summary)
  const messages: UiChatMessage[] = []
  for (const [id, summary] of byMessage) {
    const run = handle(summary.run)
    messages.push({ id, role: 'user', parts: [{ type: 'text', text: await runInput(run) }] })
    if (hasEnded(summary.status) || summary.waitsFor !== undefined)
      messages.push(await answerOf(run, summary.agent, handle, signal))
  }
  return messages
}

/** The id of the message that a run was started with; of one that no chat started, its own id. */
function messageIdOf({ run, caller: { metadata } }: RunSummary): string {
  const id = isObject(metadata) ? own(metadata, messageKey) : undefined
  return typeof id === 'string' ? id : `${run}-input`
}

async function answerOf(run: Run, agent: string, handle: FindRun, signal: AbortSignal): Promise<UiChatMessage> {
  const writer = new ChunkWriter({ run: run.id, agent })
  const message = new MessageParts()
  for await (const change of new ChatFeed(run, handle).read(signal)) {
    if (change.type === 'show' || change.type === 'withdraw') message.take(writer.take(change))
    else message.take(writer.end(change))
  }
  return { id: run.id, role: 'assistant', parts: message.parts, metadata: message.metadata }
}

/** Lays chunks into the parts of a message, as the AI SDK does. */
class MessageParts {
  readonly parts: { [name: string]: Json }[] = []
  metadata: JsonObject = {}
  readonly #open = new Map<string, { [name: string]: Json }>()

  take(chunks: readonly UiMessageChunk[]): void {
    for (const chunk of chunks) this.#take(chunk)
  }

  #take(chunk: UiMessageChunk): void {
    switch (chunk.type) {
      case 'start-step':
        return this.#add({ type: 'step-start' })
      case 'reset-step':
        this.parts.splice(this.parts.findLastIndex(({ type }) => type === 'step-start') + 1)
        return
      case 'text-start':
      case 'reasoning-start':
        return this.#add(
          { type: chunk.type === 'text-start' ? 'text' : 'reasoning', text: '', state: 'streaming' },
          chunk.id,
        )
      case 'text-delta':
      case 'reasoning-delta':
        return this.#change(chunk.id, (part) => ({ text: `${part['text'] as string}${chunk.delta}` }))
      case 'text-end':
      case 'reasoning-end':
        return this.#change(chunk.id, () => ({ state: 'done' }))
      case 'file':
        return this.#add({ type: 'file', mediaType: chunk.mediaType, url: chunk.url })
      case 'source-url': {
        const { sourceId, url, title } = chunk
        return this.#add({ type: 'source-url', sourceId, url, ...present({ title }) })
      }
      case 'data-agent':
      case 'data-question': {
        const known = this.parts.find(({ type, id }) => type === chunk.type && id === chunk.id)
        const data = chunk.data as unknown as Json
        if (known === undefined) return this.#add({ type: chunk.type, id: chunk.id, data })
        known['data'] = data
        return
      }
      case 'finish':
        this.metadata = chunk.messageMetadata as unknown as JsonObject
        return
      default:
        if ('toolCallId' in chunk) this.#tool(chunk)
        else if (chunk.type === 'tool-approval-response') this.#approved(chunk)
    }
  }

  #tool(chunk: Extract<UiMessageChunk, { readonly toolCallId: string }>): void {
    const { toolCallId } = chunk
    if (chunk.type === 'tool-input-available') {
      const { toolName, input, toolMetadata, providerExecuted } = chunk
      const part = { type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input }
      const where = { toolMetadata: { ...toolMetadata } }
      const given = { ...part, ...where, ...present({ providerExecuted }) }
      if (this.#open.has(toolCallId)) return this.#change(toolCallId, () => given)
      return this.#add(given, toolCallId)
    }
    this.#change(toolCallId, () => {
      switch (chunk.type) {
        case 'tool-output-available':
          return { state: 'output-available', output: chunk.output }
        case 'tool-output-error':
          return { state: 'output-error', errorText: chunk.errorText }
        case 'tool-output-denied':
          return { state: 'output-denied' }
        default:
          return { state: 'approval-requested', approval: { id: chunk.approvalId, requestReason: chunk.reason } }
      }
    })
  }

  #approved({
    approvalId,
    approved,
    reason,
  }: Extract<UiMessageChunk, { readonly type: 'tool-approval-response' }>): void {
    for (const part of this.parts) {
      const { approval } = part
      if (!isObject(approval) || approval['id'] !== approvalId) continue
      part['state'] = 'approval-responded'
      part['approval'] = { ...approval, approved, ...(reason === undefined ? undefined : { reason }) }
    }
  }

  #add(part: { [name: string]: Json }, id?: string): void {
    this.parts.push(part)
    if (id !== undefined) this.#open.set(id, part)
  }

  #change(id: string, members: (part: JsonObject) => JsonObject): void {
    const part = this.#open.get(id)
    if (part !== undefined) Object.assign(part, members(part))
  }
}
