/**
 * Work: what a worker is asked to do, and what was said before.
 *
 * Owns: the group of the edge and how it crosses, briefs. Does not own: which part of a conversation crosses
 * (../context.ts), how one agent is shown it (../history.ts).
 */
import { asText, copy, present, type HistoryEntry, type Json, type Message } from '../../core/index.ts'
import type { LeaderGrant, RootGrant } from '../grant.ts'

/** What a worker is asked to do: a text, or a value that fits the worker's `input` schema. */
export type Brief = { readonly instructions: string } | { readonly input: Json }

/**
 * One message of an earlier conversation, as it crosses an edge. Text only: tool calls, tool results and system texts
 * never cross, so a worker sees what was said and not with what machinery.
 */
export interface EdgeMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** The agent that said it, for `assistant`. */
  readonly agent?: string
  /** In the history of a session: a note of its own code to this agent. Other agents are not shown it. */
  readonly for?: string
}

/** What the worker is to do. */
export interface EdgeWork {
  readonly brief: Brief
  /** What the context policy lets through; absent under the policy `brief`. */
  readonly context?: readonly EdgeMessage[]
  /** The whole conversation as it stands, the brief included; instead of history, messages and context. */
  readonly entries?: readonly HistoryEntry[]
  /** Earlier messages of the session, oldest first; only on a root. */
  readonly history?: readonly EdgeMessage[]
  /** Messages before the brief, as the caller gave them; only on a root. */
  readonly messages?: readonly Message[]
  /** What the leader adds to the worker's instructions, after an empty line. From the leader's code, never a model. */
  readonly added?: string
  /** Turns of this activation, in place of those that its definition states. */
  readonly turns?: number
}

/** The work of a root. */
export const workOfRoot = (brief: Brief, { history = [], messages = [] }: RootGrant): EdgeWork => ({
  brief,
  ...(history.length === 0 ? undefined : { history }),
  ...(messages.length === 0 ? undefined : { messages }),
})

/** The work of a worker: what its leader gives it, and nothing of the leader's own. */
export const workOfWorker = (brief: Brief, { context = [], entries, added, turns }: LeaderGrant): EdgeWork => ({
  brief,
  ...(context.length === 0 ? undefined : { context }),
  ...present({ entries, added, turns }),
})

/** The work of a member of a flow. A router's lead is the router, so it works as the router's leader has said. */
export const workOfMember = (
  { added, turns }: EdgeWork,
  brief: Brief,
  entries: readonly HistoryEntry[],
  isLead: boolean,
): EdgeWork => ({ brief, entries, ...(isLead ? present({ added, turns }) : undefined) })

/** The work of a tool: its input alone. */
export const workOfTool = (input: Json): EdgeWork => ({ brief: { input } })

/**
 * A text becomes instructions, anything else a typed input. The value is copied: a later change of the caller's object
 * changes nothing.
 */
export const briefOf = (given: Json): Brief =>
  typeof given === 'string' ? { instructions: given } : { input: copy(given) }

/** The brief as a model reads it: the instructions, or the input as JSON text. */
export const briefText = (brief: Brief): string => ('instructions' in brief ? brief.instructions : asText(brief.input))

/** The brief as code reads it: the text, or the value. */
export const briefValue = (brief: Brief): Json => ('instructions' in brief ? brief.instructions : brief.input)
