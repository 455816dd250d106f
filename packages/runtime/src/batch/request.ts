/**
 * The request of a batch: one verb for all runs that match a filter.
 *
 * Owns: the types, the checks of what a caller gives, what of it is recorded. Does not own: what a verb does to a run
 * (batch-agent.ts).
 * Holds: K4: `BatchRequest` is the input of the run and a persistent format. A filter that chooses nothing is refused:
 * by a slip it would be all runs there are.
 */
import {
  choice,
  choiceIn,
  flag,
  isObject,
  listOf,
  meantInstead,
  milliseconds,
  object,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  string,
  text,
  unchecked,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import { batchAgent, mustBeRunFilter, type RunFilter, type RunStatus } from '@reeve/engine'
import type { PauseOptions } from '../operator/takeover.ts'
import type { RunScope } from '../operator/run-scope.ts'
import { tenantCheck } from '../tenants.ts'

/** What is done to each run. */
export type BatchVerb = 'retry' | 'cancel' | 'pause' | 'resume'

/** Which runs: as of `runtime.runs`, without the members of a page. At least one condition. */
export type BatchFilter = Omit<RunFilter, 'limit' | 'after' | 'childrenOf'>

/** Who begins a batch reaches these runs alone. */
export interface BatchScope extends RunScope {
  /** A run goes on with published versions alone: who begins it may not publish others. */
  readonly publishedOnly?: true
}

/** How a batch is begun. */
export interface BatchOptions {
  /** Makes it idempotent: the same id with the same request is the same batch. Default: a new one. */
  readonly id?: string
  /** At most so many runs, the newest ones. Default and most: 10,000. */
  readonly limit?: number
  /** Recorded with every command. */
  readonly reason?: string
  /** Who commands; recorded with every command. */
  readonly by?: string
  /** Of `cancel`: whether what was done is undone. Default true. */
  readonly undo?: boolean
  /** Of `pause`. */
  readonly at?: PauseOptions['at']
  /** Of `pause`: milliseconds after which effects in flight are stopped. */
  readonly within?: number
  /** The runs that who begins it reaches; looked at again at each run. Default: all. */
  readonly scope?: BatchScope
}

/** A batch as it is recorded. */
export interface BatchRequest extends Omit<BatchOptions, 'id'> {
  readonly verb: BatchVerb
  readonly filter: BatchFilter & { readonly status: readonly RunStatus[] }
  readonly limit: number
}

/** At most so many runs in one batch. */
export const mostInBatch = 10_000

/** The statuses of runs that a verb can be for, and those that are meant where none is said. */
const verbs: Readonly<Record<BatchVerb, { readonly for: readonly RunStatus[]; readonly usual: readonly RunStatus[] }>> =
  {
    retry: { for: ['failed', 'limited', 'timed-out', 'cancelled'], usual: ['failed'] },
    cancel: open(['running', 'queued', 'waiting', 'pausing', 'paused', 'human_control', 'stuck']),
    pause: open(['running', 'queued', 'waiting']),
    resume: { for: ['paused', 'pausing', 'stuck'], usual: ['paused', 'pausing'] },
  }

function open(statuses: readonly RunStatus[]): (typeof verbs)[BatchVerb] {
  return { for: statuses, usual: statuses }
}

/** The verbs, by their names. */
export const batchVerbs = Object.keys(verbs) as readonly BatchVerb[]

const checks: Checks<BatchOptions> = {
  id: unchecked, // by runId()
  limit: wholeNumber(1, mostInBatch),
  reason: string,
  by: text,
  undo: flag,
  at: choice('next', 'now', 'after-model', 'after-tools'),
  within: milliseconds,
  scope: object<BatchScope>({
    tenant: tenantCheck,
    agents: listOf(text, 'names of agents'),
    publishedOnly: flag,
  }),
}

/** Options that belong to one verb. */
const ownOptions: Readonly<Partial<Record<keyof BatchOptions, BatchVerb>>> = {
  undo: 'cancel',
  at: 'pause',
  within: 'pause',
}

const nothing = 'Nothing was changed.'

/** The request that is recorded. Throws `input.invalid`. */
export function batchRequest(verb: BatchVerb, filter: BatchFilter, options: BatchOptions): BatchRequest {
  refuseProblems(
    'input.invalid',
    [
      ...choiceIn(verbs)(verb, 'batch(): verb'),
      ...filterProblems(filter),
      ...optionProblems(checks, options, 'batch()'),
      ...Object.entries(ownOptions).flatMap(([name, of]) =>
        isObject(options) && options[name] !== undefined && of !== verb
          ? [`batch(): ${name} is an option of "${of}", not of ${JSON.stringify(verb)}`]
          : [],
      ),
    ],
    nothing,
  )
  mustBeRunFilter(filter, 'batch(): filter')
  const { id: _id, limit = mostInBatch, ...said } = options
  return {
    verb,
    filter: { ...present(filter), status: statusesOf(verb, filter.status) },
    limit,
    ...present(said),
  }
}

const pageMembers = ['limit', 'after', 'childrenOf']

function filterProblems(filter: unknown): readonly string[] {
  if (!isObject(filter)) return ['batch(): filter is missing, expected an object of conditions, as of runtime.runs()']
  const said = Object.keys(present(filter))
  const strange = said.filter((name) => pageMembers.includes(name))
  if (strange.length > 0)
    return strange.map(
      (name) => `batch(): filter.${name}: a batch is of all runs that match; limit is an option of its own`,
    )
  if (filter['agent'] === batchAgent)
    return ['batch(): filter.agent: a batch is not for batches; cancel or pause one by its id']
  return said.length > 0 ? [] : ['batch(): the filter chooses nothing: say at least one condition, such as a status']
}

/** The statuses of the filter. Throws `input.invalid` for one of runs that this verb cannot be for. */
export function statusesOf(verb: BatchVerb, said: readonly RunStatus[] | undefined): readonly RunStatus[] {
  const { for: possible, usual } = verbs[verb]
  if (said === undefined) return usual
  const [strange] = said.filter((each) => !possible.includes(each))
  if (strange === undefined) return said
  throw new ReeveError(
    'input.invalid',
    `status ${strange}: nothing to ${verb} there${meantInstead(strange, possible, 'choose among')}`,
    {
      hint: nothing,
    },
  )
}
