/** The parts of a conversation, in order: what an agent said, and those who work for it where they began. Pure. */
import type { LiveActivation } from '@reeve/server/wire'
import type { ConversationRow } from '../run/conversation-rows.ts'

export type ChatPart =
  | { readonly type: 'row'; readonly row: ConversationRow }
  | { readonly type: 'worker'; readonly key: string; readonly view: LiveActivation }

const beganAt = (row: ConversationRow): number =>
  row.type === 'entry' || row.type === 'call' ? row.entry.at : row.type === 'given' ? -Infinity : Infinity

/** Each worker stands behind the last thing that was said or called before it began. */
export function partsOf(
  rows: readonly ConversationRow[],
  { activation }: Pick<LiveActivation, 'activation'>,
  all: readonly LiveActivation[],
): readonly ChatPart[] {
  const workers = all.filter(({ parent }) => parent === activation).toSorted((a, b) => a.startedAt - b.startedAt)
  const parts: ChatPart[] = []
  let next = 0
  for (const row of rows) {
    for (; next < workers.length && workers[next]!.startedAt < beganAt(row); next += 1)
      parts.push({ type: 'worker', key: workers[next]!.activation, view: workers[next]! })
    parts.push({ type: 'row', row })
  }
  for (const view of workers.slice(next)) parts.push({ type: 'worker', key: view.activation, view })
  return parts
}
