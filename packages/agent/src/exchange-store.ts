/**
 * Exchange store: briefs and their answers, kept in session values for later prompts: the turns of a session, the
 * earlier work of a worker.
 *
 * Owns: the form of an exchange, the slots it is kept in, the answers that an external memory may give. Does not own:
 * when an exchange is kept (sessions: runtime; threads of workers: ../supervisor). Each exchange is stored once, so
 * storage grows by one exchange at a time. A FIFO lock lets only one writer count at a time (fifo-lock.ts).
 */
import { asText, isObject, withDeeds, type Json, type Outcome, type WorkDone } from '@reeve/core'
import { edgeMessagesProblem, type EdgeMessage } from '@reeve/edge'
import type { SessionValues } from '@reeve/engine'

/** One brief and its answer. */
export interface Exchange {
  readonly run: string
  /** The agent that answered. */
  readonly agent: string
  readonly input: string
  readonly answer: string
  /** How the work ended that gave no answer. */
  readonly ended?: UnansweredEnd
  /** What work that gave no answer had done: effects that happened, or may have. The last 20. */
  readonly done?: readonly WorkDone[]
  /** How many there are. Absent: all are in `done`. */
  readonly doneCount?: number
  /** Feedback of code to the agent while it worked. */
  readonly feedback?: readonly string[]
  /** The agent that received the feedback, if it is not the one that answered. */
  readonly told?: string
}

/** How work ended that gave no answer. `why`: the code of its failure, or the name of its limit. */
export interface UnansweredEnd {
  readonly status: Outcome['status']
  readonly why?: string
}

/** Codes are words of code. Others, which code may have made of what it was told, are not shown to models. */
const codeForm = /^[a-z][a-z0-9.-]{0,63}$/

/** How an outcome without an answer is remembered. */
export function unansweredEnd(outcome: Outcome): UnansweredEnd {
  const { status } = outcome
  const why = status === 'failed' ? outcome.failure.code : status === 'limited' ? outcome.limit : undefined
  return why !== undefined && codeForm.test(why) ? { status, why } : { status }
}

/** What models are told in the place of an answer. */
const endTexts: { readonly [Status in Outcome['status']]: string } = {
  completed: 'the run completed without an answer',
  failed: 'the run failed',
  limited: 'the run reached its limit',
  'timed-out': 'the run ran out of time',
  cancelled: 'the run was cancelled',
  bailed: 'the run was ended without an answer',
}
const endNotice = ({ status, why }: UnansweredEnd): string =>
  `[not answered: ${endTexts[status]}${why === undefined ? '' : ` (${why})`}]`

/**
 * The text by which an outcome is remembered: the answer, or the text so far if a hook or a limit ended the work.
 * Undefined: there is no answer to remember.
 */
export function rememberedAnswer(outcome: Outcome): string | undefined {
  if (outcome.status === 'completed') return asText(outcome.output)
  const text = outcome.status === 'bailed' ? outcome.text : outcome.status === 'limited' ? (outcome.partial ?? '') : ''
  return text.trim() === '' ? undefined : text
}

/** The keys of the values that hold exchanges: their count, and each exchange. Persistent format (K4). */
export interface ExchangeKeys {
  readonly count: string
  readonly slot: (nth: number) => string
}

/** The largest number of exchanges that a prompt shows. */
export const mostExchanges = 100
/**
 * One slot more than a prompt shows: the next exchange is written before it is counted, and must not overwrite one that
 * counts.
 */
export const exchangeSlots = mostExchanges + 1

/** The number of exchanges so far. */
export async function countExchanges(values: SessionValues, { count }: ExchangeKeys): Promise<number> {
  const value = await values.get(count)
  return typeof value === 'number' ? value : 0
}

/** Exchanges that were read before: their count, and the newest of them, oldest first. */
export interface KnownExchanges {
  readonly count: number
  readonly newest: readonly Exchange[]
}

/** The newest exchanges, oldest first. Reads only those that are not `known`, in one recorded read. */
export async function newestExchanges(
  values: SessionValues,
  { slot }: ExchangeKeys,
  count: number,
  most: number,
  known: KnownExchanges = { count: 0, newest: [] },
): Promise<readonly Exchange[]> {
  const shown = Math.min(count, most)
  const unread = Math.min(known.count > count ? count : count - known.count, shown)
  const missing = known.newest.length + unread < shown ? shown : unread
  const before = missing < shown ? known.newest.slice(missing - shown) : []
  if (missing === 0) return before
  const stored = await values.getAll(Array.from({ length: missing }, (_, i) => slot(count - missing + i)))
  return [...before, ...(stored.filter(isObject) as unknown as readonly Exchange[])]
}

/** Adds an exchange. Returns it as stored. */
export async function addExchange(
  values: SessionValues,
  { count, slot }: ExchangeKeys,
  before: number,
  exchange: Exchange,
): Promise<Exchange> {
  const kept = await values.update(slot(before), () => exchange as unknown as Json)
  await values.update(count, () => before + 1)
  return kept as unknown as Exchange
}

/** The exchanges as messages for an edge, in order. What has no answer is told as such, and not as the agent's word. */
export const exchangeMessages = (exchanges: readonly Exchange[]): readonly EdgeMessage[] =>
  exchanges.flatMap(
    ({ input, feedback = [], answer, ended, done = [], doneCount = 0, agent, told = agent }): EdgeMessage[] => [
      { role: 'user', text: input },
      ...feedback.map((text): EdgeMessage => ({ role: 'user', text, for: told })),
      ended === undefined
        ? { role: 'assistant', text: answer, agent }
        : { role: 'user', text: withDeeds(endNotice(ended), done, Math.max(0, doneCount - done.length)) },
    ],
  )

/** What an external memory may answer: messages, a text (shown as a user message), or nothing. */
export type RecalledMemory = readonly EdgeMessage[] | string | undefined | void

/** The problem with the answer of a memory; undefined if it is valid. */
export function recallProblem(word: Json): string | undefined {
  if (typeof word === 'string') return undefined
  return Array.isArray(word) ? edgeMessagesProblem(word) : 'it returned neither messages nor a text'
}

/** The answer of a memory, as messages. */
export function recalledMessages(word: RecalledMemory): readonly EdgeMessage[] {
  if (word === undefined || word === '') return []
  if (typeof word === 'string') return [{ role: 'user', text: word }]
  return word.map(({ role, text, agent }) => (agent === undefined ? { role, text } : { role, text, agent }))
}
