/**
 * Advice: what earlier runs of a session suggest for a question (spec team 1.12, R-12). Pure, and seeded: the same
 * memory, question and numbers give the same advice.
 *
 * Owns: what is remembered of plans and strategies, the rule. Does not own: what is remembered and where (memory.ts), how alike two questions are
 * (similarity.ts), when advice is asked for and obeyed (learning.ts).
 */
import type { TeamStrategy } from '@reeve/journal'
import type { Similarity } from '@reeve/supervisor'
import type { Advice, Subtask } from '../plan/plan.ts'

/** The record of one kind of question. */
export interface RememberedPlan {
  readonly question: string
  readonly strategy: TeamStrategy
  readonly subtasks: readonly Subtask[]
  /** How many runs, how many of them succeeded. */
  readonly runs: number
  readonly successes: number
}

/** The record of a strategy. Sums over all its runs. */
export interface StrategyRecord {
  readonly runs: number
  readonly successes: number
  readonly ms: number
  readonly tokens: number
}

/** The memory of a session. */
export interface Recollection {
  /** The first similar one counts. */
  readonly plans: readonly RememberedPlan[]
  readonly strategies: Readonly<Record<string, StrategyRecord>>
}

/**
 * Gives advice from memory, or none. `random` gives the same numbers when the same run asks again. A recorded step; one
 * that throws has no advice.
 */
export type Advisor = (recollection: Recollection, question: string, random: () => number) => Advice | undefined

/** Options of the built-in advisor. */
export interface AdvisorOptions {
  /**
   * Similarity of two questions, 0 to 1; called in a recorded step. Default: 1 if they are equal but for case, else the
   * words in common by those of the longer one.
   */
  readonly similarity?: Similarity
  /** How often, 0 to 1, it tries the least used strategy if no earlier case is similar. Default 0.1. */
  readonly explore?: number
  /**
   * Weight of success against speed, 0 to 1. Below 0.3 it always says `parallel`, above 0.8 always `sequential`.
   * Default 0.7.
   */
  readonly accuracy?: number
}

/** An earlier case counts if it is more alike than this, and succeeded more often than that. */
const alikeAbove = 0.8
const succeededAbove = 0.7
/** Advice is followed above this confidence. */
const overridesAbove = 0.8
/** A run of so many milliseconds has no speed at all. */
const slowMs = 30_000

/** In the order in which they are tried. */
export const strategies: readonly TeamStrategy[] = ['parallel', 'sequential', 'hybrid']

/** What in a question tells of failures to come. */
const patterns: readonly {
  readonly name: string
  readonly words: readonly string[]
  readonly warning: string
  readonly sequential?: true
}[] = [
  {
    name: 'rate_limit',
    words: ['quickly', 'fast', 'urgent', 'asap', 'immediately'],
    warning: 'high parallelism runs into rate limits; consider sequential',
    sequential: true,
  },
  {
    name: 'context_overflow',
    words: ['analyze', 'review', 'entire codebase', 'all files', 'everything'],
    warning: 'there may be more to read than a model can hold; consider smaller tasks',
  },
  {
    name: 'ambiguous_request',
    words: ['something', 'somehow', 'maybe', 'probably', 'i think'],
    warning: 'it is not clear what is wanted; say in the tasks what is assumed',
  },
]

/** Whether advice decides. */
export const overrides = ({ confidence }: Advice): boolean => confidence > overridesAbove

/**
 * The built-in advisor. Pure. `alike`: the similarity of each remembered question. Draws one random number if none is
 * similar enough.
 */
export function advise(
  recollection: Recollection,
  question: string,
  random: () => number,
  {
    alike,
    explore = 0.1,
    accuracy = 0.7,
  }: Pick<AdvisorOptions, 'explore' | 'accuracy'> & { readonly alike: readonly number[] },
): Advice {
  const asked = question.toLowerCase()
  const found = patterns.filter(({ words }) => words.some((word) => asked.includes(word)))
  const at = recollection.plans.findIndex((past, i) => (alike[i] ?? 0) > alikeAbove && rateOf(past) > succeededAbove)
  const past = recollection.plans[at]
  let strategy = past?.strategy ?? drawn(recollection, random, explore, accuracy)
  if (found.some(({ sequential }) => sequential)) strategy = 'sequential'
  if (accuracy < 0.3) strategy = 'parallel'
  if (accuracy > 0.8) strategy = 'sequential'
  return {
    strategy,
    confidence: past === undefined ? 0.5 : exactly(rateOf(past) * (alike[at] ?? 0)),
    ...(past === undefined ? undefined : { subtasks: past.subtasks, source: past.question }),
    warnings: found.map(({ name, warning }) => `${name}: ${warning}`),
  }
}

const rateOf = ({ runs, successes }: Pick<StrategyRecord, 'runs' | 'successes'>): number =>
  runs > 0 ? successes / runs : 0

/** A product as it is on paper: 0.8 is not above 0.8 because computers count in halves. */
const exactly = (product: number): number => Math.min(1, Math.max(0, Math.round(product * 1e12) / 1e12))

/** The strategy that did best, or, now and then, the one that was used least. */
function drawn(
  { strategies: known }: Recollection,
  random: () => number,
  explore: number,
  accuracy: number,
): TeamStrategy {
  const runsOf = (strategy: TeamStrategy): number => recordOf(known, strategy)?.runs ?? 0
  if (random() < explore) return strategies.reduce((least, each) => (runsOf(each) < runsOf(least) ? each : least))
  const used = strategies.filter((each) => runsOf(each) > 0)
  const worth = (strategy: TeamStrategy): number => {
    const record = recordOf(known, strategy)!
    const speed = Math.max(0, 1 - record.ms / record.runs / slowMs)
    return rateOf(record) * accuracy + speed * (1 - accuracy)
  }
  return used.length === 0 ? 'parallel' : used.reduce((best, each) => (worth(each) > worth(best) ? each : best))
}

const recordOf = (known: Recollection['strategies'], strategy: TeamStrategy): StrategyRecord | undefined =>
  Object.hasOwn(known, strategy) ? known[strategy] : undefined
