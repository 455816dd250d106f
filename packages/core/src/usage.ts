/**
 * Usage: what models were asked to do and what it cost, as rows that roll up by adding (K11). Unknown stays unknown, it
 * is never 0.
 */
import { present } from './json.ts'

/** What one model call used. `undefined` means the provider did not say. Tokens are counted, `usd` is US dollars. */
export interface CallUsage {
  readonly input?: number
  /** Reasoning included. */
  readonly output?: number
  /** Of the output, what the model thought and did not say. Absent: not said; 0: none, said so. */
  readonly reasoning?: number
  /** Of the input, what was read from the provider's cache. */
  readonly cached?: number
  /** Of the input, what was written to the provider's cache, for whatever time. Absent: nothing, or not said. */
  readonly cacheWrite?: number
  /** Of that, what was written for an hour. Absent: nothing, or not said. */
  readonly cacheWrite1h?: number
  readonly usd?: number
}

/**
 * Usage of one agent with one model, added up. `unknown` counts calls whose tokens are not known, `unpriced` those
 * whose cost is not.
 */
export interface UsageRow {
  readonly agent: string
  readonly model: string
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly usd: number
  readonly unknown: number
  readonly unpriced: number
  /** Of the output: reasoning, of those calls whose provider told it. Absent: no provider told any. */
  readonly reasoning?: number
  /** Of the input: what was written to providers' caches, for whatever time. Absent: nothing, or not said. */
  readonly cacheWrite?: number
}

/** Usage of a whole tree: one row per agent and model. */
export type Usage = readonly UsageRow[]

/**
 * Adds rows; the result has one row per agent and model, in order of first appearance. Shares nothing with its inputs
 * when it changes them.
 */
export function addUsage(total: Usage, more: Usage): Usage {
  if (more.length === 0) return total
  if (total.length === 0) return more
  const rows = [...total]
  for (const row of more) {
    const at = rows.findIndex((mine) => mine.agent === row.agent && mine.model === row.model)
    rows[at < 0 ? rows.length : at] = at < 0 ? row : addRows(rows[at]!, row)
  }
  return rows
}

function addRows(a: UsageRow, b: UsageRow): UsageRow {
  return {
    agent: a.agent,
    model: a.model,
    calls: a.calls + b.calls,
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    usd: a.usd + b.usd,
    unknown: a.unknown + b.unknown,
    unpriced: a.unpriced + b.unpriced,
    ...present({
      reasoning: addKnown(a.reasoning, b.reasoning),
      cacheWrite: addKnown(a.cacheWrite, b.cacheWrite),
    }),
  }
}

/** Undefined if neither is known. */
const addKnown = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : a + b

const counts = ['input', 'output', 'reasoning', 'cached', 'cacheWrite', 'cacheWrite1h', 'usd'] as const

/** A count of tokens or dollars that can be one. */
const isCount = (count: unknown): boolean => typeof count === 'number' && Number.isFinite(count) && count >= 0

/**
 * What was used as it can be counted: what is no number, negative or infinite is not known. The same object if all of it
 * is sound; undefined if nothing is left.
 */
export function soundUsage(used: CallUsage): CallUsage | undefined {
  if (typeof used !== 'object' || used === null) return undefined
  if (counts.every((member) => used[member] === undefined || isCount(used[member]))) return used
  const sound: { -readonly [Member in keyof CallUsage]: CallUsage[Member] } = {}
  for (const member of counts) {
    const count = Object.hasOwn(used, member) ? used[member] : undefined
    if (isCount(count)) sound[member] = count!
  }
  return sound.input === undefined && sound.output === undefined ? undefined : sound
}

/** The row of one call. */
export function usageRow(agent: string, model: string, used: CallUsage | undefined): UsageRow {
  const known = used?.input !== undefined && used.output !== undefined
  return {
    agent,
    model,
    calls: 1,
    input: used?.input ?? 0,
    output: used?.output ?? 0,
    cached: used?.cached ?? 0,
    usd: used?.usd ?? 0,
    unknown: known ? 0 : 1,
    unpriced: used?.usd === undefined ? 1 : 0,
    ...present({ reasoning: used?.reasoning, cacheWrite: used?.cacheWrite }),
  }
}

/**
 * The sum over all rows. `unknown` > 0 says that the token figures are a lower bound; `unpriced` > 0 says the same of
 * `usd`.
 */
export function totalUsage(usage: Usage): Omit<UsageRow, 'agent' | 'model'> {
  const zero = usageRow('', '', { input: 0, output: 0, usd: 0 })
  const { agent: _a, model: _m, ...total } = usage.reduce(addRows, { ...zero, calls: 0 })
  return total
}
