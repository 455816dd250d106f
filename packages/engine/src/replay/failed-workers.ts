/**
 * Failed workers: the delegations of one activation whose last attempt did not complete, and those below them.
 *
 * Owns: which ends count, and what the outcome of their leader says of them. Does not own: what a leader does with an
 * end.
 * Holds: K3: it follows from the ends that the leader was given, in that order, so replay says the same.
 */
import {
  isToolAgent,
  type ActivationId,
  type ErrorCode,
  type Outcome,
  type WithWorkerFailures,
  type WorkerFailure,
} from '@reeve/core'
import type { WorkerStarted } from '@reeve/journal'

/** How many are named. */
const mostNamed = 20

/** A failure, and the worker that this leader heard it from. */
interface HeardFailure extends WorkerFailure {
  readonly from: ActivationId | undefined
}

export class FailedWorkers {
  #heard: HeardFailure[] = []
  /** Those that are not named. */
  #more = 0
  #replaced: Set<ActivationId> | undefined

  /** What an earlier segment leaves. */
  static of({ failures = [], failureCount = failures.length }: WithWorkerFailures): FailedWorkers {
    const failed = new FailedWorkers()
    failed.#heard = failures.map((each) => ({ ...each, from: undefined }))
    failed.#more = failureCount - failures.length
    return failed
  }

  /** A worker has ended. A tool of the leader is none, nor is one that measures or summarizes its work. */
  ended(id: ActivationId, { agent: worker, purpose }: WorkerStarted, outcome: Outcome): void {
    if (purpose !== undefined || this.#replaced?.has(id) === true) return
    if (outcome.status === 'completed') {
      const { failures = [], failureCount = failures.length } = outcome
      for (const failure of failures) this.#heard.push({ ...failure, from: id })
      this.#more += failureCount - failures.length
      return
    }
    const code = codeOf(outcome)
    if (code !== undefined && !isToolAgent(worker)) this.#heard.push({ worker, code, from: id })
  }

  /** Another attempt follows this one, or the leader has no use for it: it counts no more. */
  replaced(id: ActivationId): void {
    ;(this.#replaced ??= new Set()).add(id)
    this.#heard = this.#heard.filter(({ from }) => from !== id)
  }

  /** What an outcome or the next segment says of them. */
  get told(): WithWorkerFailures {
    const count = this.#heard.length + this.#more
    if (count === 0) return {}
    const failures = this.#heard.slice(0, mostNamed).map(({ worker, code }) => ({ worker, code }))
    return count === failures.length ? { failures } : { failures, failureCount: count }
  }

  /** The outcome of the leader: that of a worker which it gives as its own says nothing of the workers below that. */
  in(outcome: Outcome): Outcome {
    if (outcome.status !== 'completed') return outcome
    const { failures: _failures, failureCount: _count, ...own } = outcome
    return { ...own, ...this.told }
  }
}

/** Undefined: it is no failure. */
function codeOf(outcome: Outcome): ErrorCode | undefined {
  if (outcome.status === 'failed') return outcome.failure.code
  if (outcome.status === 'limited') return 'limit.reached'
  return outcome.status === 'timed-out' ? 'effect.timed-out' : undefined
}
