/**
 * Work: what a worker is asked to do, and what was said before.
 *
 * Owns: the group of the edge and how it crosses. Does not own: which part of a conversation crosses (../context.ts),
 * how one agent is shown it (../history.ts).
 */
import {
  asText,
  contentFiles,
  fileLabel,
  present,
  withLines,
  type Draft,
  type FilePart,
  type HistoryEntry,
  type Json,
  type Message,
} from '@reeve/core'
import { briefText, type Brief, type EdgeMessage } from '../brief.ts'
import type { LeaderGrant, RootGrant } from '../grant.ts'

/** What the worker is to do. */
export interface EdgeWork {
  readonly brief: Brief
  /** Files that its leader gives it with the brief. */
  readonly files?: readonly FilePart[]
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

/** The brief as later work remembers it: its files, and those of the messages that came with it, are named after it. */
export function workText({ brief, files = [], messages = [] }: Pick<EdgeWork, 'brief' | 'files' | 'messages'>): string {
  const sent = messages.flatMap((message) => (message.role === 'user' ? contentFiles(message.content) : []))
  const named = [...sent, ...files].map((file) => fileLabel(file))
  return asText(withLines(briefText(brief), named))
}

/** The work of a root. */
export const workOfRoot = (brief: Brief, { history = [], messages = [] }: RootGrant): EdgeWork => ({
  brief,
  ...(history.length === 0 ? undefined : { history }),
  ...(messages.length === 0 ? undefined : { messages }),
})

/** The work of a worker: what its leader gives it, and nothing of the leader's own. */
export function workOfWorker(brief: Brief, { context, entries, added, turns, files }: LeaderGrant): EdgeWork {
  const work: Draft<EdgeWork> = { brief }
  if (files !== undefined && files.length > 0) work.files = files
  if (context !== undefined && context.length > 0) work.context = context
  if (entries !== undefined) work.entries = entries
  if (added !== undefined) work.added = added
  if (turns !== undefined) work.turns = turns
  return work
}

/** The work of a member of a flow. A router's lead is the router, so it works as the router's leader has said. */
export const workOfMember = (
  { added, turns }: EdgeWork,
  brief: Brief,
  entries: readonly HistoryEntry[],
  isLead: boolean,
): EdgeWork => ({ brief, entries, ...(isLead ? present({ added, turns }) : undefined) })

/** The work of a tool: its input alone. */
export const workOfTool = (input: Json): EdgeWork => ({ brief: { input } })
