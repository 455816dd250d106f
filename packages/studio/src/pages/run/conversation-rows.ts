/**
 * Conversation rows: what an agent was given, shown and said, as rows of a list, with the text that it streams at the end.
 *
 * Owns: which result belongs to which call, what streamed text is still to be shown. Does not own: drawing
 * (conversation.tsx), the pieces (live-text.ts). Pure.
 */
import type { ConversationEntry, ConversationPage } from '@reeve/server/wire'

export type ConversationRow =
  | {
      readonly key: string
      readonly type: 'given'
      readonly instructions?: string
      readonly input: ConversationPage['input']
    }
  | { readonly key: string; readonly type: 'entry'; readonly entry: ConversationEntry; readonly tookMs?: number }
  | {
      readonly key: string
      readonly type: 'call'
      readonly entry: ConversationEntry
      readonly result?: ConversationEntry
    }
  | { readonly key: string; readonly type: 'live'; readonly kind: 'text' | 'reasoning'; readonly address: string }

/** A text that an agent streams now. */
export interface LiveBlock {
  readonly address: string
  readonly kind: 'text' | 'reasoning'
}

/** The rows; a result stands with its call where the call is known, and by itself where it is not. */
export function conversationRows(
  { instructions, input, entries }: Pick<ConversationPage, 'instructions' | 'input' | 'entries'>,
  live: readonly LiveBlock[] = [],
): readonly ConversationRow[] {
  const results = new Map<string, ConversationEntry>()
  const calls = new Set<string>()
  for (const entry of entries) {
    if (entry.callId === undefined) continue
    if (entry.type === 'tool-call') calls.add(entry.callId)
    if (entry.type === 'tool-result') results.set(entry.callId, entry)
  }
  const rows: ConversationRow[] = [
    { key: 'given', type: 'given', input, ...(instructions === undefined ? {} : { instructions }) },
  ]
  for (const [i, entry] of entries.entries()) {
    const key = `${entry.position}.${i}`
    const { callId } = entry
    if (entry.type === 'tool-call') {
      const result = callId === undefined ? undefined : results.get(callId)
      rows.push({ key, type: 'call', entry, ...(result === undefined ? {} : { result }) })
    } else if (entry.type !== 'tool-result' || callId === undefined || !calls.has(callId))
      rows.push({ key, type: 'entry', entry })
  }
  for (const { address, kind } of live) rows.push({ key: `live ${address} ${kind}`, type: 'live', address, kind })
  return rows
}

/** The row of a moment: of what was said then, or first after it. -1: there is none. */
export function rowOfMoment(rows: readonly ConversationRow[], at: number): number {
  const moments = (row: ConversationRow): readonly number[] =>
    row.type === 'entry'
      ? [row.entry.at]
      : row.type === 'call'
        ? [row.entry.at, ...(row.result === undefined ? [] : [row.result.at])]
        : []
  const exact = rows.findIndex((row) => moments(row).includes(at))
  return exact >= 0 ? exact : rows.findIndex((row) => moments(row).some((each) => each >= at))
}
