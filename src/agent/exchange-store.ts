/**
 * Exchanges: what was asked and what was answered, kept on values so that somebody later is shown it: the turns of a
 * session, the work of one worker.
 *
 * Owns: their form, the slots that they are kept in, what a memory elsewhere may answer. Does not own: whose they are,
 * when one is kept (sessions: runtime, threads of workers: ../supervisor). An exchange is stored once; what grows with
 * every one is that one, not all of them. Nobody else may count while one is added: a line sees to that (fifo-lock.ts).
 */
import { asText, isObject, type Json, type Outcome } from '../core/index.ts'
import { edgeMessagesProblem, type EdgeMessage } from '../edge/index.ts'
import type { SessionValues } from '../engine/index.ts'

/** One brief and its answer. */
export interface Exchange {
  readonly run: string
  /** Who answered. */
  readonly agent: string
  readonly input: string
  readonly answer: string
  /** What code said to the one who answered, while it worked. */
  readonly feedback?: readonly string[]
  /** To whom that was said, if another one answered. */
  readonly told?: string
}

/**
 * The words by which an end is remembered: an answer, or what there was when a hook or a limit ended the work.
 * Undefined: nothing that should be taken for an answer later.
 */
export function rememberedAnswer(outcome: Outcome): string | undefined {
  if (outcome.status === 'completed') return asText(outcome.output)
  const text = outcome.status === 'bailed' ? outcome.text : outcome.status === 'limited' ? (outcome.partial ?? '') : ''
  return text.trim() === '' ? undefined : text
}

/** Under which keys exchanges are kept: how many there were, and each. Persistent format (K4). */
export interface ExchangeKeys {
  readonly count: string
  readonly slot: (nth: number) => string
}

/** The most that anybody is shown. */
export const mostExchanges = 100
/**
 * One slot more than are shown: the next one is written before it is counted, and must not overwrite one that counts.
 */
export const exchangeSlots = mostExchanges + 1

/** How many there were. */
export async function countExchanges(values: SessionValues, { count }: ExchangeKeys): Promise<number> {
  const value = await values.get(count)
  return typeof value === 'number' ? value : 0
}

/** What somebody knows of a shelf: how many there were, and the newest of them, oldest first. */
export interface KnownExchanges {
  readonly count: number
  readonly newest: readonly Exchange[]
}

/** The newest, oldest first: those that are not known, in one recorded read, behind those that are. */
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
  const found = await values.getAll(Array.from({ length: missing }, (_, i) => slot(count - missing + i)))
  return [...before, ...(found.filter(isObject) as unknown as readonly Exchange[])]
}

/** Keeps one more. Returns it as it is kept. */
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

/** As they cross an edge: what was said, in its order. */
export const exchangeMessages = (exchanges: readonly Exchange[]): readonly EdgeMessage[] =>
  exchanges.flatMap(({ input, feedback = [], answer, agent, told = agent }): EdgeMessage[] => [
    { role: 'user', text: input },
    ...feedback.map((text): EdgeMessage => ({ role: 'user', text, for: told })),
    { role: 'assistant', text: answer, agent },
  ])

/** What a memory elsewhere may answer: messages, a text (shown as a user's), or nothing. */
export type RecalledMemory = readonly EdgeMessage[] | string | undefined | void

/** What is wrong with what a memory has answered; undefined if nothing. */
export function recallProblem(word: Json): string | undefined {
  if (typeof word === 'string') return undefined
  return Array.isArray(word) ? edgeMessagesProblem(word) : 'it returned neither messages nor a text'
}

/** What a memory has answered, as messages. */
export function recalledMessages(word: RecalledMemory): readonly EdgeMessage[] {
  if (word === undefined || word === '') return []
  if (typeof word === 'string') return [{ role: 'user', text: word }]
  return word.map(({ role, text, agent }) => (agent === undefined ? { role, text } : { role, text, agent }))
}
