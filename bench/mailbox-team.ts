/**
 * The team of the mailbox bench: one writes numbered mail, with a bound on what is not acknowledged yet; one reads it,
 * and keeps a digest of what it has read and where it stands, nothing else.
 */
import { agent, team, type Agent, type Json } from '@reeve/public'
import { teammate } from '@reeve/public/team'

/** How much may be under way without having been acknowledged: below what an inbox holds. */
const window = 150
/** So many are acknowledged at once. */
const acknowledged = 75
/**
 * After so many messages a member begins a new segment of its log: what it has to go through again after a crash is
 * bounded.
 */
const segment = 10_000

/** A message of a hundred bytes. */
const letter = (number: number): string => `${String(number).padStart(8, '0')} ${'abcdefghij'.repeat(9)}x`
const numberOf = (content: Json): number =>
  typeof content === 'string' && content.length === 100 ? Number(content.slice(0, 8)) : NaN

/** A digest of all numbers in their order. */
export const digestOf = (digest: number, number: number): number =>
  (Math.imul(digest ^ number, 0x01000193) + 0x9e3779b9) >>> 0

/** What a member knows. */
interface Writing {
  readonly sent: number
  readonly acked: number
}
interface Reading {
  readonly read: number
  readonly digest: number
  readonly acked: number
}

/** What the reader has to say at its end. */
export interface Read {
  readonly read: number
  readonly digest: number
}

/**
 * The team. `seen` hears of every message that is read, also while a run that was interrupted is gone through again.
 */
export function crew(messages: number, seen: (number: number) => void): Agent {
  const writer = agent({
    name: 'writer',
    description: 'Writes numbered mail.',
    run: async (ctx) => {
      const me = teammate(ctx)
      let { sent, acked } = (ctx.carried ?? { sent: 0, acked: 0 }) as unknown as Writing
      const until = Math.min(messages, sent + segment)
      while (sent < until) {
        for (; sent < until && sent - acked < window; sent++) me.post({ to: 'reader_1', content: letter(sent + 1) })
        if (sent - acked < window) continue
        for (const { content } of await me.nextMail({ from: 'reader_1' })) acked = content as number
      }
      return sent < messages ? ctx.restart({ sent, acked }) : sent
    },
  })
  const reader = agent({
    name: 'reader',
    description: 'Reads it.',
    run: async (ctx): Promise<Json> => {
      const me = teammate(ctx)
      let { read, digest, acked } = (ctx.carried ?? { read: 0, digest: 0, acked: 0 }) as unknown as Reading
      const from = read
      while (read < messages && read - from < segment) {
        for (const { content } of await me.nextMail({ from: 'writer_1' })) {
          const number = numberOf(content)
          if (number !== read + 1) throw new Error(`message ${number} where ${read + 1} was due`)
          read = number
          digest = digestOf(digest, number)
          seen(number)
        }
        if (read - acked < acknowledged) continue
        acked = read
        me.post({ to: 'writer_1', content: acked })
      }
      return read < messages ? ctx.restart({ read, digest, acked }) : { read, digest }
    },
  })
  return team({
    name: 'office',
    roles: { writer, reader },
    planner: { subtasks: ['writer', 'reader'].map((id) => ({ id, description: id, role: id })) },
    synthesize: () => 'done',
    retry: { backoffMs: 0 },
    tolerance: 0,
    timeoutMs: 0,
    mailbox: { maxExchanges: 0 },
  })
}
