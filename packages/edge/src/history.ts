/**
 * History: what an agent is shown of what others said before it (spec collaboration 1.6).
 *
 * Owns: the conversation that an edge carries, its rewriting for one agent (the words are those of the spec, so traces
 * compare), taking transfers out of it, the check of messages that other code has made.
 * Does not own: which part of a conversation crosses (context.ts), how it is sent to a provider (model/prompt.ts).
 * All of it is pure. An agent's own messages stay as they are, so a model never takes the words of others for its own.
 */
import {
  asText,
  formatSources,
  filesProblem,
  isObject,
  jsonProblem,
  present,
  transferred,
  transferTool,
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type HistoryEntry,
  type Json,
  type Message,
} from '@reeve/core'
import type { Edge } from './edge.ts'
import { briefText, withFileParts, type EdgeMessage } from './brief.ts'

/**
 * Everything that was said before, oldest first: what the edge carries, or, where it carries only a brief, the session,
 * what the leader let through, and the brief.
 */
export function entriesOf({ work }: Edge): readonly HistoryEntry[] {
  const { entries, history, messages, context, files } = work
  if (entries !== undefined) return entries
  const all: HistoryEntry[] = []
  if (history !== undefined) for (const each of history) all.push(entryOf(each))
  if (messages !== undefined) for (const message of messages) all.push({ message })
  if (context !== undefined) for (const each of context) all.push(entryOf(each))
  const brief = briefText(work.brief)
  // providers refuse a message without a word; a leader may let what was said before speak for itself
  if (brief !== '' || all.length === 0 || files !== undefined)
    all.push({ message: { role: 'user', content: withFileParts(brief, files) } })
  return all
}

function entryOf({ role, text, agent, for: reader, files }: EdgeMessage): HistoryEntry {
  const message: Message =
    role === 'user' ? { role, content: withFileParts(text, files) } : { role, content: text, ...present({ files }) }
  if (reader !== undefined) return { message, for: reader }
  return role === 'user' || agent === undefined ? { message } : { agent, message, answer: true }
}

/**
 * An entry of a conversation as one agent's model reads it. What comes from outside and what the agent said itself is
 * unchanged. Undefined: an answer or a result of which nothing is left, or one that is not meant for this agent.
 */
export function shownTo(agent: string, entry: HistoryEntry): Message | undefined {
  const { message } = entry
  if (!mayRead(agent, entry)) return undefined
  if (entry.agent === undefined) return message
  if (entry.agent === agent && message.role !== 'user') return saysNothing(message) ? undefined : message
  const content = retold(entry.agent, message)
  return content === undefined ? undefined : { role: 'user', content }
}

/** Whether it is meant for this agent too. */
export const mayRead = (agent: string, entry: HistoryEntry): boolean => entry.for === undefined || entry.for === agent

/** Whether it is an answer without a word: providers refuse such a message, and it says nothing. */
export const saysNothing = (message: Message): boolean => message.role === 'assistant' && isEmpty(message)

const isEmpty = ({ content, calls = [], files = [] }: AssistantMessage): boolean =>
  content.trim() === '' && calls.length === 0 && files.length === 0

/** A message of another agent, in the third person; undefined if nothing is left of it. */
function retold(agent: string, message: Message): string | readonly ContentPart[] | undefined {
  switch (message.role) {
    case 'assistant': {
      const { content, calls = [], files = [], sources } = message
      const from = sources === undefined ? '' : ` ${formatSources(sources)}`
      const said = content.trim() === '' ? '' : ` [${agent}] said: ${content}.${from}`
      const called = calls.map(
        ({ name, input, invalid }) =>
          ` [${agent}] called tool: \`${name}\` with arguments: ${invalid ?? asText(input)}.`,
      )
      const text = said + called.join('')
      if (files.length === 0) return text === '' ? undefined : `For context:${text}`
      return [
        { type: 'text', text: text === '' ? `For context: [${agent}] made this.` : `For context:${text}` },
        ...files,
      ]
    }
    case 'tool': {
      const { files = [] } = message
      const result = message.content === null ? '' : asText(message.content)
      if (result.trim() === '' && files.length === 0) return undefined
      const said = result.trim() === '' ? 'these files' : result
      return withFileParts(`For context: [${agent}] \`${message.name}\` tool returned result: ${said}.`, files)
    }
    case 'user':
      return message.content.length === 0 ? undefined : message.content
    case 'system':
      return undefined
  }
}

/** The pair of messages that stands for a transfer that no model asked for. */
export function transferPair(to: string, callId: string): readonly [Message, Message] {
  return [
    { role: 'assistant', content: '', calls: [{ id: callId, name: transferTool, input: { agent_name: to } }] },
    { role: 'tool', callId, name: transferTool, content: transferred(to) },
  ]
}

/**
 * Takes every transfer out: its call, its result, and a message of which nothing is left. Whatever else was said or
 * called in the same message stays. Both are known by the name of the tool, because models repeat ids.
 */
export function withoutTransfers(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return entries.flatMap((entry) => {
    const { message } = entry
    if (entry.agent === undefined) return [entry]
    if (message.role === 'tool') return message.name === transferTool ? [] : [entry]
    if (message.role !== 'assistant' || message.calls?.some(({ name }) => name === transferTool) !== true)
      return [entry]
    const kept = withoutCalls(message)
    return kept === undefined ? [] : [{ ...entry, message: kept }]
  })
}

/** The order of its parts names the calls, so it goes with them; the plain form is sent instead. */
function withoutCalls({
  calls = [],
  reasoning: _reasoning,
  ...message
}: AssistantMessage): AssistantMessage | undefined {
  const kept = calls.filter(({ name }) => name !== transferTool)
  if (kept.length > 0) return { ...message, calls: kept }
  return isEmpty(message) ? undefined : message
}

/**
 * Of everything that agents said, only the last words of each turn at the work: no traffic with tools, no thinking
 * aloud. Where no entry is marked as the answer of a turn, it is what its agent said last before another did.
 */
export function answersOnly(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const answers: HistoryEntry[] = []
  let later: string | undefined // the agent that said something after this entry
  for (const entry of entries.toReversed()) {
    const { agent, message } = entry
    if (agent === undefined || message.role === 'user') answers.push(entry)
    else if (entry.answer === true || (message.role === 'assistant' && later !== agent)) {
      const said = plain(message)
      if (isEmpty(said)) continue
      answers.push({ ...entry, message: said })
    } else continue
    later = agent
  }
  return answers.reverse()
}

/** A message as nothing but words and files. A tool's result that is an answer becomes its agent's own words. */
function plain(message: Exclude<Message, { role: 'user' }>): AssistantMessage {
  if (message.role === 'assistant') {
    const { content, files, sources } = message
    return { role: 'assistant', content, ...present({ files, sources }) }
  }
  const { content, files } = message as { readonly content: Json; readonly files?: readonly FilePart[] }
  return { role: 'assistant', content: content === null ? '' : asText(content), ...present({ files }) }
}

const roles: ReadonlySet<unknown> = new Set<Message['role']>(['system', 'user', 'assistant', 'tool'])

/** What is wrong with messages that other code has made, one sentence each. Pure. */
export function messageProblems(given: unknown, where: string): readonly string[] {
  if (!Array.isArray(given)) return [`${where} must be a list of messages`]
  return given.flatMap((message: unknown, i) => messageProblem(message, `${where}[${i}]`) ?? [])
}

function messageProblem(message: unknown, where: string): string | undefined {
  if (!isObject(message) || !roles.has(message['role'])) return `${where} has no role: system, user, assistant or tool`
  const { role, content, callId, name } = message
  if (content === undefined) return `${where} has no content`
  if (role === 'tool' && (typeof callId !== 'string' || typeof name !== 'string'))
    return `${where} does not say which call it is the result of: callId and name`
  if (role !== 'tool' && typeof content !== 'string' && !(role === 'user' && Array.isArray(content)))
    return `${where}.content is no text`
  const files = role === 'user' ? partFiles(content) : message['files']
  const problem = files === undefined ? undefined : filesProblem(files)
  return problem === undefined ? jsonProblem(message, where) : `${where}: its files ${problem}`
}

/** The parts of a content that are files. */
const partFiles = (content: unknown): readonly unknown[] =>
  Array.isArray(content)
    ? (content as readonly unknown[]).filter((part) => isObject(part) && part['type'] === 'file')
    : []
