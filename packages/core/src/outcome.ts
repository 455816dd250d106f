/**
 * Outcome: how anything that was begun has ended. One closed union for steps, workers, questions and runs; never an
 * empty success.
 */
import { ReeveError, type ErrorCode } from './errors.ts'
import type { Failure } from './failure.ts'
import type { ActivationId } from './ids.ts'
import { asText, isObject, own, present, type Json, type JsonObject } from './json.ts'
import type { KeptResult } from './kept-result.ts'
import type { HistoryEntry, Message, HandoffRecord } from './message.ts'
import type { Usage } from './usage.ts'

/**
 * Which limit was reached: of an edge; or of a led conversation, whose leader may bound its rounds and its new plans.
 */
export type LimitName = 'turns' | 'depth' | 'usd' | 'tokens' | 'minutes' | 'transfers' | 'calls' | 'rounds' | 'resets'

/** The account of a leader whose limit was reached below it. */
export interface LimitedAccount {
  readonly activation: ActivationId
  readonly max: number
}

/** Where a task of a plan is. `waiting`: for other tasks. `awaiting_approval`: for a human. */
export type TaskStatus =
  'pending' | 'waiting' | 'awaiting_approval' | 'running' | 'succeeded' | 'failed' | 'skipped' | 'cancelled'

/** What came of one task of a plan, or of one recruit. */
export interface TaskResult {
  readonly task: string
  readonly member: string
  readonly role: string
  readonly status: TaskStatus
  /** Tries in all, those of its steps included. */
  readonly attempts: number
  readonly output?: Json
  readonly failure?: Failure
  /** Why it was skipped or cancelled. */
  readonly reason?: string
  readonly recruited?: true
  /** A human did it: the name, or `operator` if none was given. */
  readonly by?: string
  /** Of all its attempts and the workers below them. */
  readonly usage: Usage
}

/** What came of a plan: every task, whatever became of the whole (spec team R-11). */
export interface PlanResults {
  /** Tasks of the plan that succeeded, of all it has. Recruits do not count. */
  readonly coverage: { readonly succeeded: number; readonly planned: number }
  /** Something is missing. */
  readonly partial: boolean
  /** In the order of the plan, then recruits in the order in which they came. */
  readonly tasks: readonly TaskResult[]
}

/**
 * What the outcome of a planned team has besides. That of a team that was cancelled, or ran into a limit, has no
 * results: its view has them.
 */
interface WithPlanResults {
  readonly results?: PlanResults
}

/** A worker that did not complete, and whose leader went on without its answer. */
export interface WorkerFailure {
  /** The name of the agent. */
  readonly worker: string
  /** The code of its failure; `limit.reached` or `effect.timed-out` where it ended so. */
  readonly code: ErrorCode
}

/** What a completed activation or run has besides where workers below it, at any depth, did not complete. */
export interface WithWorkerFailures {
  /**
   * One for each delegation whose last attempt failed, timed out or ran into a limit; the first 20, in the order in
   * which they ended. Workers that were stopped are none.
   */
  readonly failures?: readonly WorkerFailure[]
  /** How many there are. Absent: all are in `failures`. */
  readonly failureCount?: number
}

/** One thing that a worker, or one below it, had done before it ended without an answer. */
export interface WorkDone {
  /** The tool, or the step of code. */
  readonly name: string
  readonly agent: string
  /** `in-doubt`: it had begun, and may have happened; or something was undone since, perhaps this. */
  readonly state: 'done' | 'in-doubt'
  /** Its arguments; what is too long is a text that is cut. */
  readonly input?: Json
  /** What it returned; what is too long is a text that is cut. */
  readonly result?: Json
}

/**
 * What the end of a worker that did not complete says of what it had done: effects of tools that do more than read, and
 * `once` steps of code. Of a failed one it stands in the details of the failure (`done`, `doneCount`).
 */
export interface WithWorkDone {
  /** The last 20, in the order in which they began. */
  readonly done?: readonly WorkDone[]
  /** How many there are. Absent: all are in `done`. */
  readonly doneCount?: number
}

/** The end of an operation, an activation or a run. `output` exists only on `completed`. */
export type Outcome<O = Json> =
  | ({
      readonly status: 'completed'
      readonly output: O
      /** A human gave it: the name. Absent if none was given. */
      readonly by?: string
      /** Of a loop with `until`: whether that was true; `false`: it stopped at its bound. */
      readonly reached?: boolean
      /**
       * The work is done, and its result is not JSON or too large: `output` is what could be recorded of it, and this
       * says what was changed. Absent: the output is the result.
       */
      readonly kept?: KeptResult
      /** What a person has changed of the work or its result, or said of it, in a sentence for the leader's model. */
      readonly reviewed?: string
    } & WithPlanResults &
      WithWorkerFailures)
  | ({ readonly status: 'failed'; readonly failure: Failure } & WithPlanResults)
  | ({
      readonly status: 'limited'
      readonly limit: LimitName
      readonly message: string
      readonly partial?: string
      /**
       * The leader's account that had no room. Absent: the limit is its own.
       */
      readonly account?: LimitedAccount
    } & WithPlanResults &
      WithWorkDone)
  | ({ readonly status: 'timed-out'; readonly message: string } & WithPlanResults & WithWorkDone)
  | ({ readonly status: 'cancelled'; readonly reason: string } & WithPlanResults & WithWorkDone)
  /**
   * A hook of its leader ended the work before its model was done: on purpose, so it is no failure; and not by an
   * answer, so it is no completion. `text` is what there was.
   */
  | ({ readonly status: 'bailed'; readonly message: string; readonly text: string } & WithPlanResults & WithWorkDone)

/** The words of `Outcome['status']`. */
export type OutcomeStatus = Outcome['status']

/** The end of a worker that did not complete, with what it had done; nothing if it did nothing. */
export function withWorkDone(outcome: Outcome, { done = [], doneCount }: WithWorkDone): Outcome {
  if (outcome.status === 'completed' || (done.length === 0 && doneBefore(outcome).done.length === 0)) return outcome
  const told = done.length === 0 ? {} : present({ done, doneCount })
  if (outcome.status === 'failed') {
    const { done: _done, doneCount: _count, ...details } = outcome.failure.details ?? {}
    return { ...outcome, failure: { ...outcome.failure, details: { ...details, ...(told as JsonObject) } } }
  }
  const { done: _done, doneCount: _count, ...end } = outcome
  return { ...end, ...told }
}

/** What the end of a worker says of what it had done, and how much more there was. */
export function doneBefore(outcome: Outcome): { readonly done: readonly WorkDone[]; readonly more: number } {
  if (outcome.status === 'completed') return nothingDone
  const { done, doneCount } = (outcome.status === 'failed' ? (outcome.failure.details ?? {}) : outcome) as WithWorkDone
  // code may have made the failure
  const all = Array.isArray(done) ? (done as readonly unknown[]).filter(isWorkDone) : []
  return { done: all, more: typeof doneCount === 'number' ? Math.max(0, doneCount - all.length) : 0 }
}

const nothingDone = { done: [], more: 0 } as const
const isWorkDone = (given: unknown): given is WorkDone =>
  isObject(given) &&
  typeof own(given, 'name') === 'string' &&
  typeof own(given, 'agent') === 'string' &&
  (own(given, 'state') === 'done' || own(given, 'state') === 'in-doubt')

/** Shorthand for a completed outcome. */
export const completed = <O>(output: O): Outcome<O> => ({ status: 'completed', output })
/** Shorthand for a failed outcome. */
export const failed = (what: Failure): Outcome<never> => ({ status: 'failed', failure: what })
/** Shorthand for a cancelled outcome. */
export const cancelled = (reason: string): Outcome<never> => ({ status: 'cancelled', reason })

/** Shorthand for the outcome of work that did not end in the time that it was given. */
export const timedOut = (ms: number): Outcome<never> => ({
  status: 'timed-out',
  message: `it did not end within ${ms} ms`,
})

/** The reason given to people when work is stopped at its time limit. Code reads `timedOutMs` of the cancel instead. */
export const lateReason = (ms: number): string => `out of time after ${ms} ms`

/**
 * The output of completed work. Throws a `ReeveError` for any other end: with the code and the hint of the failure, or
 * `run.not-completed` if it was stopped, cancelled or ended early.
 */
export function unwrap<O>(outcome: Outcome<O>): O {
  if (outcome.status === 'completed') return outcome.output
  const { run } = outcome as { readonly run?: string }
  const message = `${run === undefined ? 'the work' : `the run "${run}"`} ${describeOutcome(outcome)}`
  if (outcome.status !== 'failed')
    throw new ReeveError('run.not-completed', message, {
      hint: 'Read `outcome.status` if this end is to be expected.',
    })
  const { code, retryable, hint } = outcome.failure
  throw new ReeveError(code, message, present({ retryable, hint }))
}

/** One sentence that says how something ended, for people and for models. Never empty. */
export function describeOutcome(outcome: Outcome<unknown>): string {
  switch (outcome.status) {
    case 'completed':
      return 'completed'
    case 'failed':
      return `failed: ${outcome.failure.message}`
    case 'limited':
      return `stopped at its limit of ${outcome.limit}: ${outcome.message}`
    case 'timed-out':
      return `timed out: ${outcome.message}`
    case 'cancelled':
      return `cancelled: ${outcome.reason}`
    case 'bailed':
      return `ended early: ${outcome.message}`
  }
}

type RecordedHandoff = { readonly trail?: HandoffRecord }
const nothingSaid: HandoffRecord = { said: [] }

/** An outcome with what its agent leaves to those who come after it. Recorded with it. */
export const withHandoff = <O>(outcome: Outcome<O>, trail: HandoffRecord): Outcome<O> =>
  Object.assign({ ...outcome }, { trail })

/** Whether its agent has left something to those who come after it, be it that it said nothing. */
export const hasHandoff = (outcome: Outcome<unknown>): boolean => 'trail' in outcome

/** What the agent of this outcome left; nothing if it handed on to no agent. */
export const handoffOf = (outcome: Outcome<unknown>): HandoffRecord => (outcome as RecordedHandoff).trail ?? nothingSaid

/**
 * The outcome as those who come after `agent` are shown it: its output is the answer, in the place of the one that it
 * had `before`. Who answers does not hand control on; who does not complete has given no answer and decides nothing.
 */
export function withAnswer(agent: string, outcome: Outcome, before: HandoffRecord = nothingSaid): Outcome {
  const { said, action, answeredBy: _answeredBy, ...rest } = before
  const at = said.findLastIndex((entry) => entry.answer === true)
  const old = said[at]?.message
  if (outcome.status !== 'completed') return withHandoff(outcome, { ...rest, said: unanswered(said) })
  const { output } = outcome
  const content = output === null ? '' : asText(output)
  const message: Message = old?.role === 'tool' ? { ...old, content: output } : { role: 'assistant', content }
  const answer: HistoryEntry = { agent, message, answer: true }
  const kept = action?.type === 'exit' ? { ...rest, action } : rest
  if (at !== -1) return withHandoff(outcome, { ...kept, said: said.with(at, answer) })
  return withHandoff(outcome, { ...kept, said: content === '' ? said : [...said, answer] })
}

/**
 * What was said without the answer that came of it: the last words go, the result of a tool stays what the tool has
 * said, and nothing is an answer.
 */
export function unanswered(said: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const last = said.findLast((entry) => entry.answer === true)
  return said.flatMap(({ answer: _answer, ...entry }, i) =>
    said[i] === last && entry.message.role !== 'tool' ? [] : [entry],
  )
}

/**
 * The outcome of a worker as its leader takes it for its own: without what it says of how the worker came to it. The
 * same object if it says nothing of that.
 */
export function withoutOwnWork<O>(outcome: Outcome<O>): Outcome<O> {
  if (outcome.status !== 'completed' || (outcome.reached === undefined && outcome.failures === undefined))
    return outcome
  const { reached: _reached, failures: _failures, failureCount: _count, ...answer } = outcome
  return answer
}

/** The outcome alone. The same object if there is no handoff record. */
export function withoutHandoff<O>(outcome: Outcome<O>): Outcome<O> {
  if (!('trail' in outcome)) return outcome
  const { trail: _trail, ...alone } = outcome as Outcome<O> & RecordedHandoff
  return alone
}
