/**
 * The budget of a team: the estimate of a task is reserved before it begins (spec team R-20). Pure but for being
 * written to.
 *
 * Owns: the options, the ledger, the marks at 50, 80 and 100 percent. Does not own: what happens when it is used up
 * (spending.ts), the hard limit of the tree, which the engine's account keeps call by call, whatever was estimated.
 * Holds: K11: what was used counts as it was observed, also beyond what was set aside, also of attempts that failed; a
 * call of unknown usage counts at the estimate, and is shown as unknown.
 */
import { totalUsage, present, type Usage } from '@reeve/core'
import type { Limits } from '@reeve/edge'
import type { Estimate } from '../plan/plan.ts'

/** The budget of a team, for its tasks and recruits together. */
export interface BudgetOptions {
  /** Tokens, input and output together. Default: any number. */
  readonly tokens?: number
  /** US dollars. Default: any number. Refused at build for a model without a known price. */
  readonly usd?: number
  /**
   * `hard` (default): a task that does not fit waits until others use less than was reserved for them. It fails as soon
   * as it can never fit. Except with `onExhausted: 'ask'` the budget also limits the whole tree: a model call beyond it
   * is not made. `soft`: the task begins, with a warning.
   */
  readonly mode?: 'hard' | 'soft'
  /**
   * What happens when a hard budget is used up. `synthesise` (default): no task begins any more, running tasks end, and
   * the results so far make the answer. `abort`: all work is stopped, also when a task can never fit. `ask`: a human
   * grants more; tasks that do not fit wait for the answer, and running tasks go on beyond the limit. An answer that is
   * not a number above 0 grants nothing: then as with `synthesise`.
   */
  readonly onExhausted?: 'synthesise' | 'abort' | 'ask'
  /**
   * The estimate of a task without one; at most the whole budget. Default: nothing is reserved.
   */
  readonly perTask?: Estimate
}

/** What a budget counts. */
export type Counted = 'tokens' | 'usd'
/** So much of each. */
export type Amounts = Readonly<Record<Counted, number>>

/** Why a task does not fit. */
export interface Shortage {
  readonly of: Counted
  readonly limit: number
  readonly spent: number
  readonly reserved: number
  /** The estimate that was wanted. 0: nothing is left. */
  readonly wanted: number
}

/** A mark of the budget that was reached. */
export interface Crossing {
  readonly of: Counted
  readonly percent: 50 | 80 | 100
  readonly spent: number
  readonly limit: number
}

/** The state of a budget. */
export interface BudgetState {
  readonly limits: Partial<Amounts>
  readonly spent: Amounts
  /** Reserved for running tasks. */
  readonly reserved: Amounts
  /** Calls of unknown usage. */
  readonly unknown: number
}

const counted = ['tokens', 'usd'] as const
const percents = [50, 80, 100] as const
const nothing: Amounts = { tokens: 0, usd: 0 }

/**
 * Limits that a hard budget is for the whole tree; undefined if it is none. Those of one that a human may raise would
 * stand in the way.
 */
export function treeLimits(budget: BudgetOptions | undefined): Limits | undefined {
  const { tokens, usd, mode, onExhausted } = budget ?? {}
  if (mode === 'soft' || onExhausted === 'ask') return undefined
  const limits = { ...(isAmount(tokens) ? { tokens } : undefined), ...(isAmount(usd) ? { usd } : undefined) }
  return Object.keys(limits).length === 0 ? undefined : limits
}

export class TeamBudget {
  readonly #limits: { tokens?: number; usd?: number }
  readonly #perTask: Estimate | undefined
  readonly #reserves = new Map<string, Amounts>()
  readonly #marks = new Set<string>()
  #spent = nothing
  #unknown = 0
  #ranOut: Counted | undefined

  constructor({ tokens, usd, perTask }: BudgetOptions) {
    this.#limits = { ...present({ tokens, usd }) }
    this.#perTask = perTask
  }

  /** What a task is expected to use that says this; what it does not say, as every task. */
  wanted(estimate: Estimate | undefined): Amounts {
    const unit = (what: Counted): number => [estimate?.[what], this.#perTask?.[what]].find(isAmount) ?? 0
    return { tokens: unit('tokens'), usd: unit('usd') }
  }

  /** Why there is no room for what is wanted; undefined if there is. */
  shortage(wanted: Amounts): Shortage | undefined {
    const reserved = this.#reserved
    return this.#firstShort((unit, limit) => isMore(this.#spent[unit] + reserved[unit] + wanted[unit], limit), wanted)
  }

  /**
   * Why there will be no room, even if all working members used nothing; undefined if there may be. `besides`: a task
   * whose reserve counts as spent.
   */
  never(wanted: Amounts, besides?: string): Shortage | undefined {
    const kept = (besides === undefined ? undefined : this.#reserves.get(besides)) ?? nothing
    return this.#firstShort((unit, limit) => isMore(this.#spent[unit] + kept[unit] + wanted[unit], limit), wanted)
  }

  /** Whether there is room for it now, or will be none. */
  isDecided(wanted: Amounts): boolean {
    return this.exhausted() !== undefined || this.shortage(wanted) === undefined || this.never(wanted) !== undefined
  }

  /** For whom something is set aside. */
  get holders(): readonly string[] {
    return [...this.#reserves].flatMap(([task, { tokens, usd }]) => (tokens > 0 || usd > 0 ? [task] : []))
  }

  /** What is used up, whatever is set aside; undefined if nothing is. */
  exhausted(): Shortage | undefined {
    return this.#firstShort((unit, limit) => unit === this.#ranOut || !isMore(limit, this.#spent[unit]), nothing)
  }

  /** A call did not fit into what was left: that counts as used up, because no smaller call is known. */
  ranOut(unit: Counted): Shortage | undefined {
    if (this.#limits[unit] !== undefined) this.#ranOut ??= unit
    return this.exhausted()
  }

  #firstShort(isShort: (unit: Counted, limit: number) => boolean, wanted: Amounts): Shortage | undefined {
    const reserved = this.#reserved
    for (const unit of counted) {
      const limit = this.#limits[unit]
      if (limit !== undefined && isShort(unit, limit))
        return { of: unit, limit, spent: this.#spent[unit], reserved: reserved[unit], wanted: wanted[unit] }
    }
    return undefined
  }

  /** Sets something aside for a task, whether there is room or not. */
  reserve(task: string, wanted: Amounts): void {
    this.#reserves.set(task, wanted)
  }

  /**
   * An attempt at a task has ended: what was set aside for it is free, and what it used is spent. Says what it counts,
   * and which marks are reached by it.
   */
  settle(task: string, usage: Usage): { readonly used: Amounts; readonly crossed: readonly Crossing[] } {
    const reserved = this.#reserves.get(task) ?? nothing
    this.#reserves.delete(task)
    const { input, output, usd, unknown, unpriced } = totalUsage(usage)
    const used = {
      tokens: observed(input + output, unknown, reserved.tokens),
      usd: observed(usd, unpriced, reserved.usd),
    }
    this.#spent = { tokens: this.#spent.tokens + used.tokens, usd: this.#spent.usd + used.usd }
    this.#unknown += unknown
    return { used, crossed: this.#crossed() }
  }

  #crossed(): readonly Crossing[] {
    const crossed: Crossing[] = []
    for (const unit of counted) {
      const limit = this.#limits[unit]
      if (limit === undefined) continue
      for (const percent of percents) {
        if (this.#marks.has(`${unit} ${percent}`) || isMore((limit * percent) / 100, this.#spent[unit])) continue
        this.#marks.add(`${unit} ${percent}`)
        crossed.push({ of: unit, percent, spent: this.#spent[unit], limit })
      }
    }
    return crossed
  }

  /** There is more. Marks that are not reached any more are told again when they are. */
  raise(unit: Counted, more: number): void {
    const limit = (this.#limits[unit] ?? 0) + more
    this.#limits[unit] = limit
    for (const percent of percents)
      if (isMore((limit * percent) / 100, this.#spent[unit])) this.#marks.delete(`${unit} ${percent}`)
  }

  state(): BudgetState {
    return { limits: { ...this.#limits }, spent: { ...this.#spent }, reserved: this.#reserved, unknown: this.#unknown }
  }

  get #reserved(): Amounts {
    const sum = { tokens: 0, usd: 0 }
    for (const { tokens, usd } of this.#reserves.values()) {
      sum.tokens += tokens
      sum.usd += usd
    }
    return sum
  }
}

const isAmount = (given: unknown): given is number => typeof given === 'number' && Number.isFinite(given) && given >= 0

/** What was used as it was observed; where something of it is not known, at least what was expected. */
const observed = (known: number, unknown: number, expected: number): number => {
  if (!isAmount(known)) return expected
  return unknown > 0 ? Math.max(known, expected) : known
}

/** Whether one is more than the other, but for what adding fractions of a cent gets wrong. */
const isMore = (one: number, other: number): boolean => one - other > Math.max(Math.abs(one), Math.abs(other)) * 1e-12
