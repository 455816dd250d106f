/**
 * Accounts: hard limits of a tree (K8, K11). Reserve before an effect starts, settle when its end is known: spent +
 * reserved + x <= limit.
 *
 * Owns: the arithmetic, for turns, tokens and US dollars, and the working-time clock for minutes.
 * Does not own: when it is checked (the host does so in the transaction that commits the intent), nor estimates
 * (edge/budget). Invariants: K11 (an unknown charge settles at its reserve and stays visible as unknown).
 */
import { failure, type ActivationId, type Failure, type Outcome } from '@reeve/core'
import type { Charge } from '@reeve/journal'
import type { AccountLimits } from '../context.ts'

const dimensions = ['turns', 'tokens', 'usd'] as const
type Dimension = (typeof dimensions)[number]

/**
 * What is stored of an account. `ms` is working time, `unknown` counts calls that settled without saying what they
 * used.
 */
export interface AccountState {
  readonly limits: AccountLimits
  readonly spent: Readonly<Record<Dimension, number>>
  readonly reserved: Readonly<Record<Dimension, number>>
  readonly ms: number
  readonly unknown: number
}

/** The account of one activation and everything below it. */
export class Account {
  readonly activation: ActivationId
  readonly limits: AccountLimits
  dirty = true
  /** Hears that it has changed since its state was last taken. */
  onChange: ((account: Account) => void) | undefined
  /** Calls off the alarm that `enter` asked for. */
  callOff: (() => void) | undefined
  readonly #limited: readonly Dimension[]
  readonly #spent: Record<Dimension, number>
  readonly #reserved: Record<Dimension, number>
  #ms: number
  #unknown: number
  #working = 0
  #since = 0

  constructor(activation: ActivationId, limits: AccountLimits, state?: AccountState) {
    this.activation = activation
    // what is stored shares nothing with the options of a caller
    this.limits = { ...limits }
    this.#limited = dimensions.filter((d) => limits[d] !== undefined)
    this.#spent = { turns: 0, tokens: 0, usd: 0, ...state?.spent }
    this.#reserved = { turns: 0, tokens: 0, usd: 0, ...state?.reserved }
    this.#ms = state?.ms ?? 0
    this.#unknown = state?.unknown ?? 0
  }

  /** The first limit that a charge does not fit into any more. */
  refusal(charge: Charge): Dimension | undefined {
    return this.#limited.find((d) => this.#isOver(d, charge, this.#reserved[d]))
  }

  /**
   * Whether a charge would fit if everything that is set aside were to end without having used any of it. Turns that
   * are set aside count as used: a call is one.
   */
  mayFit(charge: Charge): boolean {
    return !this.#limited.some((d) => this.#isOver(d, charge, d === 'turns' ? this.#reserved[d] : 0))
  }

  #isOver(d: Dimension, charge: Charge, reserved: number): boolean {
    const kept = d === 'turns' && this.limits.keepsLast === true && charge.last !== this.activation ? 1 : 0
    return kept + this.#spent[d] + reserved + (charge[d] ?? 0) > this.limits[d]!
  }

  reserve(charge: Charge): void {
    const reserved = this.#reserved
    reserved.turns += charge.turns ?? 0
    reserved.tokens += charge.tokens ?? 0
    reserved.usd += charge.usd ?? 0
    this.#changed()
  }

  #changed(): void {
    if (this.dirty) return
    this.dirty = true
    this.onChange?.(this)
  }

  /**
   * `actual` undefined: the use is unknown, so the reserve counts as spent. Its missing members count as reserved, too.
   */
  settle(reserved: Charge, actual: Charge | undefined): void {
    for (const d of dimensions) {
      this.#reserved[d] -= reserved[d] ?? 0
      this.#spent[d] += actual?.[d] ?? reserved[d] ?? 0
    }
    if (actual === undefined) this.#unknown++
    this.#changed()
  }

  /** Counts what an attempt used that another one follows. What is set aside for the step stays set aside. */
  spend(charge: Charge, isKnown: boolean): void {
    for (const d of dimensions) this.#spent[d] += charge[d] ?? 0
    if (!isKnown) this.#unknown++
    this.#changed()
  }

  /** The first limit that has no room for this beside everything that is set aside, the turns not looked at. */
  overdrawn(charge: Charge): Dimension | undefined {
    return this.#limited.find(
      (d) => d !== 'turns' && this.#spent[d] + this.#reserved[d] + (charge[d] ?? 0) > this.limits[d]!,
    )
  }

  /**
   * An effect below this account starts to work. Returns the moment at which its minutes are used up, if it is the
   * first and there is a limit.
   */
  enter(now: number): number | undefined {
    if (this.#working++ > 0 || this.limits.minutes === undefined) return undefined
    this.#since = now
    return now + Math.max(0, this.limits.minutes * 60_000 - this.#ms)
  }

  /** An effect below this account has ended. True if it was the last one: the clock stands. */
  leave(now: number): boolean {
    if (--this.#working > 0 || this.limits.minutes === undefined) return false
    this.#ms += now - this.#since
    this.callOff?.()
    this.callOff = undefined
    this.#changed()
    return true
  }

  /** Whether working time has reached its limit. */
  minutesUsed(now: number): boolean {
    const running = this.#working > 0 ? now - this.#since : 0
    return this.limits.minutes !== undefined && this.#ms + running >= this.limits.minutes * 60_000
  }

  /** What is neither used nor set aside; Infinity where there is no limit. */
  free(d: Dimension): number {
    return (this.limits[d] ?? Infinity) - this.#spent[d] - this.#reserved[d]
  }

  /** What was used so far. */
  get spent(): Charge {
    return { ...this.#spent }
  }

  /** How many minutes of working time are left; undefined: as many as it takes. */
  minutesLeft(now: number): number | undefined {
    const running = this.#working > 0 ? now - this.#since : 0
    return this.limits.minutes === undefined
      ? undefined
      : Math.max(0, this.limits.minutes - (this.#ms + running) / 60_000)
  }

  state(): AccountState {
    this.dirty = false
    return {
      limits: this.limits,
      spent: { ...this.#spent },
      reserved: { ...this.#reserved },
      ms: this.#ms,
      unknown: this.#unknown,
    }
  }
}

/** Reserves a charge on all accounts, or on none; then returns the account and the limit that refuse it. */
export function reserveAll(
  accounts: readonly Account[],
  charge: Charge,
): { account: Account; limit: Dimension } | undefined {
  for (const account of accounts) {
    const limit = account.refusal(charge)
    if (limit !== undefined) return { account, limit }
  }
  for (const account of accounts) account.reserve(charge)
  return undefined
}

/**
 * Reserves a charge of an activation on all these accounts, or on none; then returns the limit that refuses it. `later`
 * among the details: only for now, because effects that are out have reserved the rest. Waiting for it cannot deadlock:
 * effects hold the reserves, and they wait for no account.
 */
export function reserveFor(
  activation: ActivationId,
  accounts: readonly Account[],
  charge: Charge,
): Failure | undefined {
  const refused = reserveAll(accounts, charge)
  if (refused === undefined) return undefined
  const { account, limit } = refused
  const max = account.limits[limit]!
  const details = { limit, activation: account.activation, max }
  if (accounts.every((each) => each.mayFit(charge))) {
    const message = `the limit of ${max} ${limit} has no room until what is under way has ended`
    return failure('budget.exceeded', message, 'budget', { details: { ...details, later: true } })
  }
  const message = account.limits.shares?.includes(limit)
    ? shareUsedUp(max, limit)
    : limitReached(max, limit, account.activation === activation)
  const byDefault = limit === 'turns' && account.limits.byDefault === true ? { byDefault: true } : undefined
  return failure('budget.exceeded', message, 'budget', { details: { ...details, ...byDefault } })
}

/**
 * Why a step may not be attempted again: what its attempts have used, `charge`, leaves no room for what is set aside for
 * it. `later` among the details, as in `reserveFor`. Undefined: it may.
 */
export function retryRefusal(
  activation: ActivationId,
  accounts: readonly Account[],
  charge: Charge,
  reserved: Charge,
): Failure | undefined {
  const limit = (account: Account): Dimension | undefined => account.overdrawn(charge)
  const account = accounts.find((each) => limit(each) !== undefined)
  if (account === undefined) return undefined
  const over = limit(account)!
  const max = account.limits[over]!
  const details = { limit: over, activation: account.activation, max }
  const both = { tokens: sum(charge.tokens, reserved.tokens), usd: sum(charge.usd, reserved.usd) }
  const whose = account.activation === activation ? 'its own' : `the ${over} limit of a leader`
  if (accounts.every((each) => each.mayFit(both))) {
    const message = `the limit of ${max} ${over} has no room for another attempt until what is under way has ended`
    return failure('budget.exceeded', message, 'budget', { details: { ...details, later: true } })
  }
  const message = account.limits.shares?.includes(over)
    ? shareUsedUp(max, over)
    : `the limit of ${max} ${over} is reached (${whose}): attempts that failed count, and another one has no room`
  return failure('budget.exceeded', message, 'budget', { details })
}

const sum = (a = 0, b = 0): number => a + b

/**
 * The turns of one activation of an agent by model whose limits say nothing of them: so many it takes at most, wherever
 * it works.
 */
export const usualTurns = 20

/** Enough for two calls of tools and an answer, with one to spare. */
const fewTurns = 4

/**
 * A worker that is placed apart and has no limit of its own may use one part of so many of what is free above it: so
 * there is room for the next one, however many there are.
 */
const parts = 10

/**
 * What is reserved for a worker that is placed apart: its use is not seen above it before it has ended. For every limit
 * above it its own limit; a share of what is free where least is, if it has none or one that would leave nothing, but
 * at least one model call. The share is a tenth. Of turns it is at least what a worker needs, as far as half of what is
 * free goes: under a small limit the usual ones, so that one or two workers have what they would have in any other
 * place; under a large one a few, so that there is room for many. More if it was given more (`turns`). Undefined: there
 * is no limit above it.
 */
export function sliceOf(accounts: readonly Account[], own: AccountLimits | undefined, turns = 0): Charge | undefined {
  const slice: { -readonly [D in Dimension]?: number } = {}
  for (const d of dimensions) {
    const free = Math.min(...accounts.map((account) => account.free(d)))
    if (free === Infinity) continue
    const limit = own?.[d] ?? Infinity
    const total = Math.min(...accounts.map(({ limits }) => limits[d] ?? Infinity))
    slice[d] = limit < free ? limit : shareOf(d, Math.max(0, free), total, turns)
  }
  return Object.keys(slice).length === 0 ? undefined : slice
}

/** The limits of a worker that is placed apart: its own, and what was reserved for it. */
export function limitsApart(own: AccountLimits | undefined, slice: Charge): AccountLimits {
  const shares = dimensions.filter((d) => slice[d] !== undefined && slice[d] !== own?.[d])
  const { last: _last, ...reserved } = slice
  return { ...own, ...reserved, ...(shares.length === 0 ? {} : { shares }) }
}

function shareOf(d: Dimension, free: number, total: number, turns: number): number {
  const tenth = free / parts
  if (d === 'usd') return tenth
  const needed = total < usualTurns * parts ? usualTurns : fewTurns
  const least = d === 'turns' ? Math.max(Math.min(needed, free / 2), Math.min(turns, free)) : 1
  return Math.max(1, Math.floor(Math.max(tenth, least)))
}

/** Whether it is only for now that there is no room for a step (`reserveFor`). */
export const isForNow = (outcome: Outcome): boolean =>
  outcome.status === 'failed' &&
  outcome.failure.code === 'budget.exceeded' &&
  outcome.failure.details?.['later'] === true

/** What a refused charge says, and so the outcome of the activation that it ends. */
const limitReached = (max: number, limit: Dimension, isOwn: boolean): string =>
  `the limit of ${max} ${limit} is reached (${isOwn ? 'its own' : `the ${limit} limit of a leader`})`

/** Of a worker that is placed apart, and of those below it: nobody has set this limit. */
const shareUsedUp = (max: number, limit: string): string =>
  `the share of ${max} ${limit} that was set aside for this work apart is used up; limits: { ${limit}: … } of the worker sets more aside`
