/**
 * Options of learning in a planned team: their check, and what of them is data.
 *
 * Owns: the types. Does not own: what any of them does (learning.ts).
 */
import {
  either,
  expects,
  fraction,
  functionCheck,
  hasNames,
  isFunction,
  object,
  type Checks,
  type Json,
} from '@reeve/core'
import type { Advisor, AdvisorOptions } from './advisor.ts'
import type { TeamMemory } from './memory.ts'

/** What a team says of learning. */
export interface LearningOptions {
  readonly name: string
  readonly memory?: TeamMemory | true
  readonly advisor?: Advisor | AdvisorOptions
}

/** The checks of these options. */
export const learningChecks: Checks<Omit<LearningOptions, 'name'>> = {
  memory: expects((given) => given === true || isTeamMemory(given), 'true or { recall, record }'),
  advisor: either(
    isFunction,
    object<AdvisorOptions>({ similarity: functionCheck, explore: fraction, accuracy: fraction }),
  ),
}
const isTeamMemory = (given: unknown): boolean =>
  hasNames(given) &&
  typeof (given as TeamMemory).recall === 'function' &&
  typeof (given as TeamMemory).record === 'function'

/** What of it is data, for the team's version. */
export function learningData({ memory, advisor }: LearningOptions): Json {
  const { explore = null, accuracy = null } = typeof advisor === 'object' ? advisor : {}
  return {
    memory: memory === true || (memory === undefined ? null : 'own'),
    advisor: typeof advisor === 'function' ? 'own' : [explore, accuracy],
  }
}
