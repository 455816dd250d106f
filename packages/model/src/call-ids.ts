/**
 * Call ids: one id for each call of a conversation, and one call for what a provider or a proxy repeats.
 *
 * Owns: which calls of an answer are the same call, the id that a call gets whose own id is taken, the ids of a prompt
 * on its way out. Pure. Does not own: reading an answer (answer.ts), equal calls under different ids
 * (../agent/loop/equal-calls.ts).
 * Holds: K4: an id is decided where the answer is read, inside its step, and recorded; what is made of a prompt follows
 * from its messages.
 *
 * Sources: a proxy that streams a call twice under one id (github.com/skye-harris/hass_local_openai_llm issue 92,
 * github.com/langchain-ai/langchain issue 38969); servers that number calls from 0 in every turn, whose history the
 * Responses API refuses with "Duplicate function_call_output" (github.com/NousResearch/hermes-agent issue 111443).
 */
import { canonical, RollingHash, type Message, type ModelPart, type Reasoning, type ToolCall } from '@reeve/core'
import type { ModelAnswer } from './model.ts'

/** An id for a call that came without one: the same in every attempt of the same step. */
export const madeId = (key: string, index: number | string): string =>
  `call_${new RollingHash().add(key).add(String(index)).toString()}`

/** Whether two calls ask for the same: name and arguments are equal, whatever their ids. */
export const asksTheSame = (one: Omit<ToolCall, 'id'>, other: Omit<ToolCall, 'id'>): boolean =>
  one.name === other.name && one.invalid === other.invalid && canonical(one.input) === canonical(other.input)

/** The ids of one answer, beside those of its conversation. `key`: of its step. */
export class AnswerIds {
  readonly #isTaken: (id: string) => boolean
  readonly #key: string

  /** `isTaken`: whether a call of the conversation has this id. */
  constructor(isTaken: (id: string) => boolean, key: string) {
    this.#isTaken = isTaken
    this.#key = key
  }

  /** A part of the stream, under the id that its call will have. */
  part(part: ModelPart): ModelPart {
    if (!part.type.startsWith('tool-input') || !('id' in part)) return part
    const id = this.#free(part.id)
    return id === part.id ? part : { ...part, id }
  }

  /** The answer with ids that no call of the conversation has. A call that it repeats is there once. */
  answer(answer: ModelAnswer): ModelAnswer {
    // a model of one's own may answer anything: what is wrong with it is for the turn to say
    const calls = (answer as Partial<ModelAnswer> | null)?.calls as readonly ToolCall[] | null | undefined
    if (calls === undefined || calls === null || calls.length === 0) return answer
    if (calls.length === 1 && !this.#isTaken(calls[0]!.id)) return answer
    const { reasoning } = answer
    const kept: ToolCall[] = []
    const ids = new Map<string, string>()
    const given = new Map<string, readonly ToolCall[]>()
    for (const call of calls) {
      const same = given.get(call.id) ?? []
      if (same.some((each) => asksTheSame(each, call))) continue
      given.set(call.id, [...same, call])
      const id = same.length === 0 ? this.#free(call.id) : madeId(this.#key, `${call.id}/${kept.length}`)
      if (same.length === 0) ids.set(call.id, id)
      kept.push(id === call.id ? call : { ...call, id })
    }
    if (kept.length === calls.length && kept.every((call, i) => call === calls[i])) return answer
    return { ...answer, calls: kept, ...(reasoning === undefined ? {} : { reasoning: renamed(reasoning, ids) }) }
  }

  #free(id: string): string {
    return this.#isTaken(id) ? madeId(this.#key, id) : id
  }
}

/** The ids of the calls that a message makes or answers. */
export const callIdsOf = (message: Message): readonly string[] =>
  message.role === 'tool'
    ? [message.callId]
    : message.role === 'assistant'
      ? (message.calls ?? []).map(({ id }) => id)
      : []

const renamed = ({ parts, ...rest }: Reasoning, ids: ReadonlyMap<string, string>): Reasoning => ({
  ...rest,
  parts: parts.map((part) => (part.type === 'call' ? { ...part, callId: ids.get(part.callId) ?? part.callId } : part)),
})

/**
 * A conversation in which every call has an id of its own, and its results that of their call. The same list where that
 * is so already; messages that need no other id are the same objects. The same messages give the same ids, also with
 * more behind them.
 */
export function withDistinctIds(messages: readonly Message[]): readonly Message[] {
  const seen = new Set<string>()
  let ids: ReadonlyMap<string, string> = noIds
  let isSame = true
  const out = messages.map((message): Message => {
    const next = message.role === 'assistant' ? (ids = idsFor(message.calls, seen)) : ids
    if (next.size === 0) return message
    const made = withIds(message, next)
    if (made !== message) isSame = false
    return made
  })
  return isSame ? messages : out
}

const noIds: ReadonlyMap<string, string> = new Map()

/** New ids for those calls of a message whose ids were there before it. */
function idsFor(calls: readonly ToolCall[] | undefined, seen: Set<string>): ReadonlyMap<string, string> {
  if (calls === undefined || calls.length === 0) return noIds
  let ids: Map<string, string> | undefined
  for (const { id } of calls) {
    if (!seen.has(id)) continue
    let made = id
    for (let n = 2; seen.has(made); n++) made = madeId(id, n)
    ;(ids ??= new Map()).set(id, made)
  }
  for (const { id } of calls) seen.add(ids?.get(id) ?? id)
  return ids ?? noIds
}

function withIds(message: Message, ids: ReadonlyMap<string, string>): Message {
  if (message.role === 'tool') {
    const callId = ids.get(message.callId)
    return callId === undefined ? message : { ...message, callId }
  }
  if (message.role !== 'assistant') return message
  const { calls = [], reasoning } = message
  return {
    ...message,
    calls: calls.map((call) => ({ ...call, id: ids.get(call.id) ?? call.id })),
    ...(reasoning === undefined ? {} : { reasoning: renamed(reasoning, ids) }),
  }
}
