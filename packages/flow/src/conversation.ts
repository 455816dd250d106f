/**
 * Conversation: what has been said in a flow so far, and how much of it the next agent gets (spec collaboration 1.6).
 *
 * Owns: the policies by which history crosses, in both directions. Does not own: how an agent is shown what it got
 * (edge/history.ts), who is next. Lives in memory only; replay makes it again from the ends of the members (K1).
 * Parallel branches are given copies and are joined in the order of their declaration.
 */
import { agentContext, HandedResults, type AgentContext } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { answersOnly, briefText, entriesOf, mayRead, messageProblems, withoutTransfers, type Edge } from '@reeve/edge'
import { asText, copy, oversizeText, type HistoryEntry, type Json, type Message, type Outcome } from '@reeve/core'

/**
 * Makes the whole conversation that an agent is shown, of a copy. Orchestration (K3): pure, or through `ctx`, whose
 * names are its own: a `step` that summarizes is made once, also across a crash. If it throws, the agent is not started
 * and counts as failed.
 */
export type HistoryRewriter = (
  entries: readonly HistoryEntry[],
  agent: string,
  ctx: AgentContext,
) => readonly Message[] | Promise<readonly Message[]>

/**
 * How much of what was said before an agent gets. `conversation`: everything, its own words as they are and those of
 * others retold. `answers`: what came from outside and the final answers of all agents. `input`: what came from
 * outside. `brief`: what it is asked to do and nothing else. A function: what it makes of everything.
 */
export type HistoryPolicy = 'brief' | 'input' | 'answers' | 'conversation' | HistoryRewriter

/** How much of what an agent says the others get: everything, or its last words. */
export type Shares = 'conversation' | 'answer'

/** What one member gets. */
export interface MemberHistory {
  readonly policy: HistoryPolicy
  /** Whether it sees that, and by which calls, control was handed on. */
  readonly transfers: 'shown' | 'hidden'
  readonly task?: string | undefined
}

interface Segment {
  readonly by: string
  readonly said: readonly HistoryEntry[]
  /** What others get instead; undefined: all of it. */
  readonly answer: readonly HistoryEntry[] | undefined
}

export class FlowConversation {
  readonly #begins: readonly HistoryEntry[]
  readonly #brief: string
  readonly #segments: Segment[]
  readonly #results = new HandedResults()

  private constructor(begins: readonly HistoryEntry[], brief: string, segments: readonly Segment[]) {
    this.#begins = begins
    this.#brief = brief
    this.#segments = [...segments]
  }

  /** What the edge of the flow carries. */
  static of(edge: Edge): FlowConversation {
    const task = edge.flow?.task
    const before = entriesOf(edge)
    return new FlowConversation(
      task === undefined ? before : [...before, { message: { role: 'user', content: task } }],
      briefText(edge.work.brief),
      [],
    )
  }

  /** What an agent has said in one turn at the work, and how that ended. */
  add(by: string, said: readonly HistoryEntry[], shares: Shares = 'conversation', outcome?: Outcome): void {
    const answer = shares === 'answer' ? answerOf(by, said, outcome) : undefined
    if (said.length > 0 || (answer ?? said).length > 0) this.#segments.push({ by, said, answer })
  }

  /** What was said in this flow, as others may see it. */
  get said(): readonly HistoryEntry[] {
    return this.#segments.flatMap((segment) => shared(segment, undefined))
  }

  /** All of it without the messages of transfers, as its leader is shown it. */
  whole(leader: string): readonly HistoryEntry[] {
    return withoutTransfers(this.#seenBy(leader))
  }

  #seenBy(agent: string): readonly HistoryEntry[] {
    return [...this.#begun(agent), ...this.#segments.flatMap((segment) => shared(segment, agent))]
  }

  #begun(agent: string): readonly HistoryEntry[] {
    return this.#begins.filter((entry) => mayRead(agent, entry))
  }

  /**
   * What an agent gets; in a promise where a rewriter takes its time. `ctx` is the rewriter's. Throws what a rewriter
   * throws.
   */
  for(
    agent: string,
    { policy, transfers, task }: MemberHistory,
    ctx: () => Context,
  ): readonly HistoryEntry[] | Promise<readonly HistoryEntry[]> {
    if (policy === 'brief') return [{ message: { role: 'user', content: task ?? this.#brief } }]
    if (policy === 'input') return this.#begun(agent).filter((entry) => entry.agent === undefined)
    const entries = transfers === 'hidden' ? withoutTransfers(this.#seenBy(agent)) : this.#seenBy(agent)
    if (policy === 'conversation') return entries
    return policy === 'answers' ? answersOnly(entries) : rewritten(policy, entries, agent, agentContext(ctx()))
  }

  /**
   * What others answered, within this limit, for an agent whose model reads it; the entries themselves, and no promise,
   * where all are within it. Its own words, what came from outside, and results of tools stay: a tool's were bounded when
   * they were told. `ctx` is where an answer above the limit is kept.
   */
  within(
    limit: number | undefined,
    agent: string,
    entries: readonly HistoryEntry[],
    ctx: () => Context,
  ): readonly HistoryEntry[] | Promise<readonly HistoryEntry[]> {
    if (limit === undefined || !entries.some((entry) => isOver(limit, agent, entry))) return entries
    return this.#bounded(limit, agent, entries, ctx())
  }

  async #bounded(
    limit: number,
    agent: string,
    entries: readonly HistoryEntry[],
    ctx: Context,
  ): Promise<readonly HistoryEntry[]> {
    const bounded: HistoryEntry[] = []
    for (const entry of entries)
      if (isOver(limit, agent, entry)) {
        const { agent: by, message } = entry
        const content = asText(await this.#results.keep(ctx, { by, value: message.content }, { limit }))
        bounded.push({ ...entry, message: { ...message, content } })
      } else bounded.push(entry)
    return bounded
  }
}

/** The answer of another agent, as a text. */
type AnswerEntry = HistoryEntry & {
  readonly agent: string
  readonly message: Extract<Message, { role: 'assistant' }> | { readonly role: 'user'; readonly content: string }
}

/** Whether it is the answer of another agent, and above the limit. */
const isOver = (limit: number, agent: string, entry: HistoryEntry): entry is AnswerEntry => {
  const { agent: by, message } = entry
  if (by === undefined || (message.role !== 'assistant' && message.role !== 'user')) return false
  if (by === agent && message.role === 'assistant') return false
  return typeof message.content === 'string' && oversizeText(message.content, limit) !== undefined
}

function rewritten(
  rewrite: HistoryRewriter,
  entries: readonly HistoryEntry[],
  agent: string,
  ctx: AgentContext,
): readonly HistoryEntry[] | Promise<readonly HistoryEntry[]> {
  const made = rewrite(copy(entries as unknown as Json) as unknown as readonly HistoryEntry[], agent, ctx) as unknown
  return made instanceof Promise ? made.then(entriesIn) : entriesIn(made)
}

function entriesIn(made: unknown): readonly HistoryEntry[] {
  const problems = messageProblems(made, 'what the rewriter returns')
  if (problems.length > 0) throw new TypeError(problems.join('; '))
  return (made as readonly Message[]).map((message) => ({ message }))
}

/** An agent that shares its answer only sees all of its own. */
const shared = ({ by, said, answer }: Segment, reader: string | undefined): readonly HistoryEntry[] =>
  answer === undefined || by === reader ? said : answer

/**
 * What an agent answered, under its name: its output, or where that is empty, its last words. Where it did not
 * complete, thinking aloud is no answer.
 */
function answerOf(by: string, said: readonly HistoryEntry[], outcome: Outcome | undefined): readonly HistoryEntry[] {
  const isDone = outcome === undefined || outcome.status === 'completed'
  const last = answersOnly(said).findLast((entry) => isDone || entry.answer === true)?.message
  const output = outcome?.status === 'completed' ? outcome.output : null
  const text = typeof output === 'string' ? output : output === null ? '' : JSON.stringify(output)
  const message: Message | undefined =
    text === '' || last?.content === text ? last : { role: 'assistant', content: text }
  return message === undefined ? [] : [{ agent: by, message, answer: true }]
}
