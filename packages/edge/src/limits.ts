/**
 * Limits of an edge: what a worker and everything below it may use, and how the limits of leader, edge and worker
 * combine.
 *
 * Owns: the type, the arithmetic, the check of given values. Does not own: enforcement (the engine keeps the accounts;
 * depth is checked where a worker is started; a model agent counts its own turns).
 */
import type { AccountLimits } from '@reeve/engine'
import { amount, number, object, wholeNumber, type Checks, type Draft } from '@reeve/core'

/**
 * Limits of a whole tree: an agent and everything that works below it. All hard. An absent one is no limit of the
 * agent; in a run, `defaultLimits` hold where neither its start nor its root agent says anything.
 */
export interface Limits {
  /**
   * Model calls of the whole tree: the agent's own and those of all agents below it. Default of a run 10,000; of a root
   * agent that thinks with a model 20.
   */
  readonly turns?: number
  /**
   * Model calls of the agent itself; those of its workers do not count. For agents that think with a model, and for one
   * activation of it: it is not handed down.
   */
  readonly ownTurns?: number
  /** How many delegations may nest below the root. Default 4. */
  readonly depth?: number
  /**
   * US dollars. Refused with `budget.no-price` for a model without a known price: at build, at start, or before the
   * model is asked.
   */
  readonly usd?: number
  /** Tokens, input and output together. */
  readonly tokens?: number
  /**
   * How often agents may hand control on. Default 50. What is handed back by rule does not count. Parallel
   * branches, and agents that are called, each count from what was left when they began: what bounds the whole tree
   * exactly is `turns`.
   */
  readonly transfers?: number
  /**
   * Calls that one answer of a model may ask for. An answer with more ends its agent as limited, and none of its calls
   * is made. Default of a run 256.
   */
  readonly calls?: number
  /**
   * Tasks of one planned team: of its plan, and those that are added to it. A plan with more is refused as any plan
   * that cannot be carried out. Default of a run 2,000.
   */
  readonly tasks?: number
  /**
   * Tokens, as estimated, that a model is shown of one result: of a tool, a worker or an agent as a tool. The rest is kept
   * by reference, and the model reads on with `read_large_result`. At least 100. Default of a run 25,000: an eighth of a
   * window of 200,000 tokens.
   */
  readonly resultTokens?: number
  /** Minutes of working time: the clock stands while everything inside waits for a human. */
  readonly minutes?: number
}

/**
 * What keeps a runaway from costing without end. Holds for a run whose start, root agent and runtime all say nothing of
 * limits.
 */
export const defaultLimits = { turns: 10_000, calls: 256, tasks: 2_000, resultTokens: 25_000 } as const satisfies Limits

const count = number((given) => Number.isInteger(given) && given >= 0, 'a whole number of at least 0')
const checks: Checks<Limits> = {
  turns: count,
  ownTurns: count,
  depth: count,
  usd: amount,
  tokens: count,
  minutes: amount,
  transfers: count,
  calls: count,
  tasks: count,
  resultTokens: wholeNumber(100),
}
const names = Object.keys(checks) as readonly (keyof Limits)[]
/** The check of limits. */
export const limitsCheck = object(checks)

/** The smaller of both for each limit; undefined if neither limits anything. */
export function tighter(one: Limits | undefined, other: Limits | undefined): Limits | undefined {
  if (one === undefined) return other
  if (other === undefined) return one
  const both: Draft<Limits> = {}
  for (const name of names) {
    const a = one[name]
    const b = other[name]
    const least = a === undefined ? b : b === undefined ? a : Math.min(a, b)
    if (least !== undefined) both[name] = least
  }
  return both
}

/** Those of the defaults that these limits say nothing about; undefined if there are none. Pure. */
export function unsaid(limits: Limits | undefined, defaults: Limits): Limits | undefined {
  let filled: Draft<Limits> | undefined
  for (const name of names) {
    const usual = limits?.[name] === undefined ? defaults[name] : undefined
    if (usual !== undefined) (filled ??= {})[name] = usual
  }
  return filled
}

/** Where a limit of a run is changed, for those who have reached it. */
export const howToLift = (name: 'turns' | 'calls' | 'tasks', max: number): string =>
  `${max === defaultLimits[name] ? `${max} is the default of a run; ` : ''}limits: { ${name}: … } at the start, of the root agent or of createRuntime allows more`

/**
 * How much a model is shown of a result, in tokens. `own`: what the author of a tool says of its results, which may be more
 * than the default, and not more than another limit. Undefined: no limit; so in runs from before there was one.
 */
export function resultLimit(limits: Limits | undefined, own?: number): number | undefined {
  const most = limits?.resultTokens
  if (own === undefined || most === undefined) return most
  return most === defaultLimits.resultTokens ? own : Math.min(own, most)
}

/** The limits that hold below: an agent's own turns are not handed down. */
export function handedDown(limits: Limits | undefined): Limits | undefined {
  if (limits?.ownTurns === undefined) return limits
  const { ownTurns: _ownTurns, ...below } = limits
  return below
}

/** The turns that limits leave one activation, as they are written down. */
export const turnsOf = (limits: Limits | undefined): number | undefined => limits?.ownTurns ?? limits?.turns

/**
 * The part that the engine keeps an account for; undefined if there is none, so that no account is opened.
 * `lastAnswer`: one of its turns is kept for the agent's own last answer.
 */
export function accountLimits(limits: Limits | undefined, lastAnswer = false): AccountLimits | undefined {
  if (limits === undefined) return undefined
  const {
    depth: _depth,
    transfers: _transfers,
    ownTurns: _ownTurns,
    calls: _calls,
    tasks: _tasks,
    resultTokens: _result,
    ...account
  } = limits
  if (!Object.values(account).some((limit) => limit !== undefined)) return undefined
  return lastAnswer && account.turns !== undefined ? { ...account, keepsLast: true } : account
}
