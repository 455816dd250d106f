/**
 * Conversation: what has been said in a flow so far, and how much of it the next agent gets (spec collaboration 1.6).
 *
 * Owns: the policies by which history crosses, in both directions. Does not own: how an agent is shown what it got (edge/history.ts), who is next.
 * Lives in memory only; replay makes it again from the ends of the members (K1). Parallel branches are given copies and are joined in the order of their declaration.
 */
import { briefText, answersOnly, entriesOf, withoutTransfers, type Edge } from '../edge/index.ts'
import type { HistoryEntry, Message } from '../core/index.ts'

/** Makes the whole conversation that an agent is shown. Pure. If it throws, the agent is not started and counts as failed. */
export type HistoryRewriter = (entries: readonly HistoryEntry[], agent: string) => readonly Message[]

/**
 * How much of what was said before an agent gets. `conversation`: everything, its own words as they are and those of others retold. `answers`: what came from
 * outside and everybody's final answers. `input`: what came from outside. `brief`: what it is asked to do and nothing else. A function: what it makes of everything.
 */
export type HistoryPolicy = 'brief' | 'input' | 'answers' | 'conversation' | HistoryRewriter

/** How much of what an agent says the others get: everything, or its last words. */
export type Shares = 'conversation' | 'answer'

/** What one member gets. */
export interface Showing {
  readonly policy: HistoryPolicy
  /** Whether it sees that, and by which calls, control was handed on. */
  readonly transfers: 'shown' | 'hidden'
  readonly task?: string | undefined
}

interface Segment {
  readonly by: string
  readonly said: readonly HistoryEntry[]
  readonly shares: Shares
}

export class Conversation {
  readonly #begins: readonly HistoryEntry[]
  readonly #brief: string
  readonly #segments: Segment[]

  private constructor(begins: readonly HistoryEntry[], brief: string, segments: readonly Segment[]) {
    this.#begins = begins
    this.#brief = brief
    this.#segments = [...segments]
  }

  /** What the edge of whoever leads carries. */
  static of(edge: Edge): Conversation {
    return new Conversation(entriesOf(edge), briefText(edge.brief), [])
  }

  add(by: string, said: readonly HistoryEntry[], shares: Shares = 'conversation'): void {
    if (said.length > 0) this.#segments.push({ by, said, shares })
  }

  /** What was said in this flow, as others may see it. */
  get said(): readonly HistoryEntry[] {
    return this.#segments.flatMap((segment) => shared(segment, undefined))
  }

  /** What an agent gets. Throws what a rewriter throws. */
  for(agent: string, { policy, transfers, task }: Showing): readonly HistoryEntry[] {
    if (policy === 'brief') return [{ message: { role: 'user', content: task ?? this.#brief } }]
    if (policy === 'input') return this.#begins.filter((entry) => entry.agent === undefined)
    const all = [...this.#begins, ...this.#segments.flatMap((segment) => shared(segment, agent))]
    const entries = transfers === 'hidden' ? withoutTransfers(all) : all
    if (policy === 'conversation') return entries
    return policy === 'answers' ? answersOnly(entries) : policy(entries, agent).map((message) => ({ message }))
  }
}

/** Of an agent that shares its answer only, others get its last words, under its name; it sees all of its own. */
function shared({ by, said, shares }: Segment, reader: string | undefined): readonly HistoryEntry[] {
  if (shares === 'conversation' || by === reader) return said
  const last = answersOnly(said).at(-1)
  return last === undefined ? [] : [{ agent: by, message: last.message }]
}
