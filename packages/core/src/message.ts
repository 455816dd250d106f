/**
 * What is said to a language model and what it says back, in our own words; and who said it.
 *
 * Owns: the message types, the entries of a history, what an agent leaves to those who come after it (`HandoffRecord`).
 * They are JSON, so they can be journaled and cross an edge, and they never name a provider's format. Does not own: the
 * provider's prompt format (model/prompt.ts), what of it an agent is shown (edge/history.ts).
 */
import { canonical, type Json, type JsonObject } from './json.ts'

/** A model's request to call a tool. */
export interface ToolCall {
  /** Names the call inside its answer; unique there. The result of the call refers to it. */
  readonly id: string
  readonly name: string
  /** The arguments, not yet checked against the tool's schema. `null` if they were not JSON. */
  readonly input: Json
  /** The raw text of arguments that were not JSON. Such a call is never executed; the model receives the error. */
  readonly invalid?: string
}

/** A file: base64 data, or a URL that the provider fetches. `metadata` is the provider's own and opaque to us. */
export type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly metadata?: JsonObject
} & ({ readonly data: string } | { readonly url: string })

/** One piece of a user's message. */
export type ContentPart = { readonly type: 'text'; readonly text: string } | FilePart

/**
 * One piece of an assistant's answer, in the order the provider gave it. `metadata` is the provider's own and opaque to
 * us.
 */
export type ReasoningPart =
  | {
      readonly type: 'reasoning'
      readonly text: string
      readonly metadata?: JsonObject
      /** The model wrote it into its text, between tags. It is not sent again: no provider has signed it. */
      readonly inText?: true
    }
  | { readonly type: 'text'; readonly length: number; readonly metadata?: JsonObject }
  | { readonly type: 'call'; readonly callId: string; readonly metadata?: JsonObject }
  /** The next of the message's files. */
  | { readonly type: 'file' }
  | { readonly type: 'opaque'; readonly part: JsonObject }

/**
 * What a reasoning model needs to see again to go on thinking: thoughts, signatures, encrypted content, item ids, in
 * order. Texts, files and calls are not repeated here, only pointed to. It is shown only to the model that made it
 * (`model`); others get the plain answer.
 */
export interface Reasoning {
  readonly model: string
  readonly parts: readonly ReasoningPart[]
}

/** A place that an answer is taken from, as its provider names it: a page of the web by its `url`, else a document. */
export interface Source {
  /** `http` or `https`, without a name and password. */
  readonly url?: string
  readonly title?: string
  readonly filename?: string
}

/** A call of a tool that the provider ran inside the call of its model. */
export interface RanTool {
  /** The name of the tool; of a step of the provider's own, the provider's name for it. */
  readonly tool: string
  /** What it was called with; the first 1,000 characters of longer ones, as a text. */
  readonly input: Json
  /** It failed. The model was told so by its provider. */
  readonly isError?: true
  /** One line on what it brought. The whole stands in the answer's `reasoning`. */
  readonly summary?: string
}

/** Sources in words, for a model that is not shown how its predecessor found them. */
export const formatSources = (sources: readonly Source[]): string =>
  `[Sources: ${sources.map(({ url, title, filename }) => [title ?? filename, url && `<${url}>`].filter((each) => each !== undefined).join(' ')).join('; ')}]`

/** The numbers of the calls in a conversation, by their ids. */
export class CallNumbers {
  #byId: Map<string, number> | undefined
  #next = 0

  /** Numbers the next call. */
  add(id: string): void {
    ;(this.#byId ??= new Map()).set(id, this.#next++)
  }

  /** The number of a call; of one that is not known, its id. */
  of(id: string): Json {
    return this.#byId?.get(id) ?? id
  }
}

/**
 * All that a message tells a model, as text: equal messages have equal text. A call has its number in the conversation
 * in the place of its id: ids differ whenever a model is asked, and say nothing. `numbers` knows the calls of the
 * messages before, and learns those of this one.
 *
 * It is made of every message of every conversation, and so written down member by member, without a copy. It begins
 * with the role; every member is JSON, and those that a message may lack have a label: no two messages run into one
 * text.
 */
export function messageContent(message: Message, numbers: CallNumbers): string {
  if (message.role === 'tool') {
    const { callId, name, content, isError = false, files } = message
    const text = `tool ${canonical(numbers.of(callId))} ${canonical(name)} ${isError} ${canonical(content)}`
    return files === undefined ? text : `${text} files ${canonical(files)}`
  }
  let text = `${message.role} ${canonical(message.content)}`
  if (message.role !== 'assistant') return text
  const { calls, files, reasoning, sources } = message
  for (const { id, name, input, invalid } of calls ?? []) {
    numbers.add(id)
    text += ` call ${canonical(name)} ${canonical(input)}`
    if (invalid !== undefined) text += ` invalid ${canonical(invalid)}`
  }
  if (files !== undefined) text += ` files ${canonical(files)}`
  if (reasoning !== undefined) {
    const parts = reasoning.parts.map((part) =>
      part.type === 'call' ? { ...part, callId: numbers.of(part.callId) } : part,
    )
    text += ` reasoning ${canonical({ ...reasoning, parts })}`
  }
  if (sources !== undefined) text += ` sources ${canonical(sources as unknown as Json)}`
  return text
}

/** One message of a conversation. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Instructions from the operator. */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

/** The message of a user, or of code that stands in for one. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly ContentPart[]
}

/** What the model answered. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly calls?: readonly ToolCall[]
  /** What it made besides text: pictures, sound. */
  readonly files?: readonly FilePart[]
  readonly reasoning?: Reasoning
  /** What it is taken from, as the provider says. */
  readonly sources?: readonly Source[]
}

/** The result of one tool call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: Json
  /** The call failed and `content` says why. Default false. */
  readonly isError?: boolean
  /** Pictures, sounds and documents of the result, beside what `content` says. */
  readonly files?: readonly FilePart[]
}

/** One message of a conversation of several agents. */
export interface HistoryEntry {
  /** Its author; absent for a message from outside, which every agent sees unchanged. */
  readonly agent?: string
  readonly message: Message
  /** With it its agent ended a turn at the work: an answer, or the result of a tool that is one. */
  readonly answer?: true
  /** Of the result of a call: there is no tool of its name. */
  readonly unknownTool?: true
  /** A note of its own code to this agent: no other agent sees it, and it crosses to no worker. */
  readonly for?: string
}

/**
 * What an agent wants done with the control it had. `transfer`: give it to `to`. `exit`: end the run (or only the work
 * under the nearest router or round table) with its output, whatever would follow. Both end the agent.
 */
export type Action =
  | {
      readonly type: 'transfer'
      readonly to: string
      /** What the next one is asked to do, in the words of this one. */
      readonly task?: string
      /** Of the call that asked for it; absent if code did. */
      readonly callId?: string
      /** Where the agent was that asked for it. */
      readonly path: readonly string[]
    }
  | { readonly type: 'exit'; readonly scope: 'run' | 'supervisor' }

/** The tool by which a model hands control on. Persistent: models and journals know it. */
export const transferTool = 'transfer_to_agent'
/** The tool by which a model asks its leader or its user. Persistent: models and journals know the name. */
export const askTool = 'ask_supervisor'
/** The tool result of an accepted transfer, as the model sees it. */
export const transferred = (to: string): string => `successfully transferred to agent [${to}]`

/**
 * What an agent leaves to those who come after it. Rides on the outcome of its activation where control is handed on,
 * and nowhere else.
 */
export interface HandoffRecord {
  /** What it and its workers said and did, oldest first. */
  readonly said: readonly HistoryEntry[]
  readonly action?: Action
  /** Who in it asked the nearest loop to end. */
  readonly breaks?: string
  /** Who in it gave the answer, where control was handed on. Absent: the agent itself. */
  readonly answeredBy?: string
  /** What it is in the session's values if the run completes. */
  readonly keep?: { readonly key: string; readonly value: Json }
  /** It has done something, though it may have said nothing of it. */
  readonly did?: true
  /** Transfers made inside. */
  readonly hops?: number
  /** What code has told its model agent of results, for the agent that continues the conversation. */
  readonly feedback?: readonly string[]
}
