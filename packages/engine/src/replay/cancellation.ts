/**
 * Cancellation of one activation: why, what undoes its work, and what it ends as.
 *
 * Owns: the reason, the compensations, their order and their deadlines. Holds: K8 (last registered first, each once,
 * each in its own time).
 */
import { cancelled, failed, failure, failureFrom, timedOut, type Outcome } from '@reeve/core'
import type { CancelReceived } from '@reeve/journal'
import { Cancelled } from '../context.ts'
import { undoPath, type Operation } from './operation.ts'
import type { RecordedLog } from './recorded-log.ts'
import { RestartRequested, Scope, type Undo, type Undoing, type Verbs } from './scope.ts'
import type { PendingWaits } from './waits.ts'

/** How long one compensation may take by default. Milliseconds. */
const defaultUndoWithinMs = 60_000

/** What compensations need of their activation. */
interface Undoable extends Verbs {
  /** Since when it is in this memory. */
  readonly since: number
}

/** Where the deadlines of compensations are asked for. */
const clockPath = '!cancel!/'

export class Cancellation {
  #cause: Pick<CancelReceived, 'reason' | 'limit' | 'timedOutMs' | 'outcome' | 'keeps'> | undefined
  /** Why it was cancelled, if it was. */
  reason: string | undefined
  #undoing = false
  #compensations: { name: string; undo: Undo; always: boolean }[] | undefined

  /** The first cancel counts. False: there was one before. */
  begin(event: CancelReceived): boolean {
    if (this.#cause !== undefined) return false
    this.#cause = event
    this.reason = event.reason
    return true
  }

  register(name: string, undo: Undo, always: boolean): void {
    ;(this.#compensations ??= []).push({ name, undo, always })
  }

  forget(): void {
    this.#compensations = undefined
  }

  /** True once: from now on it is being undone. */
  beginUndoing(): boolean {
    if (this.#undoing) return false
    this.#undoing = true
    return true
  }

  /**
   * Undoes everything. Where what was done is to stay, or a human has finished the work, only what must happen in any
   * case does. One that fails or hangs does not keep the others from running; the first failure
   * is thrown at the end.
   */
  async undo(activation: Undoable, log: RecordedLog, waits: PendingWaits): Promise<void> {
    const stays = this.#cause?.keeps === true || this.#cause?.outcome !== undefined
    const base = new Scope(activation, undoPath, { expired: undefined }, activation.version)
    const thrown: unknown[] = []
    const due = (this.#compensations ?? []).filter(({ always }) => always || !stays).reverse()
    for (const [index, { name, undo }] of due.entries()) {
      const undoing: Undoing = { expired: undefined }
      const scope = base.scope(name, undoing)
      try {
        const work = new Promise<void>((resolve) =>
          resolve(undo(scope, thrown.length === 0 ? this.outcome : this.notUndone(thrown[0]))),
        )
        const late = (await outOfTime(activation, log, work, scope.path, index))
          ? `"${name}" was not undone in time`
          : undefined
        if (late === undefined) continue
        undoing.expired = late
        for (const operation of below(activation, scope.path)) activation.stop(operation.id, late)
        waits.rejectAll(new Cancelled(late))
        thrown.push(new Error(late))
      } catch (error) {
        thrown.push(error)
      }
    }
    if (thrown.length > 0) throw thrown[0]
  }

  /** What it ends as if something could not be undone. Where a human has finished it, nothing was to be undone. */
  notUndone(thrown: unknown): Outcome {
    if (this.#cause?.outcome !== undefined) return this.#cause.outcome
    const why = `while undoing after "${this.reason}": ${failureFrom(thrown, 'orchestration.threw').message}`
    return failed(failure('orchestration.threw', why, 'internal'))
  }

  /**
   * A cancel by a limit ends as `limited`, one by a leader whose time is up as `timed-out`, any other as `cancelled`,
   * or with the outcome that the human who finished it gave.
   */
  get outcome(): Outcome {
    const { reason, limit, timedOutMs, outcome } = this.#cause!
    if (outcome !== undefined) return outcome
    if (timedOutMs !== undefined) return timedOut(timedOutMs)
    return limit === undefined ? cancelled(reason) : { status: 'limited', limit, message: reason }
  }
}

const below = (activation: Undoable, path: string): Operation[] =>
  [...activation.operations.values()].filter(({ address }) => address.startsWith(path))

/** Waits for a compensation up to its deadline. True: it is out of time. Throws what it throws. */
async function outOfTime(
  activation: Undoable,
  log: RecordedLog,
  work: Promise<void>,
  path: string,
  index: number,
): Promise<boolean> {
  const clock = new Scope(activation, clockPath, { expired: undefined }, activation.version)
  const withinMs = activation.host.undoWithinMs ?? defaultUndoWithinMs
  for (let round = 0; ; round++) {
    const timer = clock.ask(round === 0 ? `${index}` : `${index}.${round}`, {
      until: new Date(clock.now().getTime() + withinMs),
    })
    // One arrival resumes one waiter, so this is no race: whichever is recorded first is first on replay, too.
    const rang = clock.next(timer).then(() => true)
    const done = work.then(() => false)
    if (!(await Promise.race([rang, done]).catch(() => false))) {
      clock.stop(timer, 'undone')
      await work
      return false
    }
    // On replay the journal shows the decision: another round began, or the next compensation did.
    if (!log.isOver(`${clockPath}${index}.${round + 1}`)) continue
    if (activation.replaying || log.outcome !== undefined || !log.isOver(`${clockPath}${index + 1}`)) return true
    // Only working time counts: it began again with this memory, and stands while a question is open.
    const asks = below(activation, path).some(
      (op) => !op.ended && (op.doubt !== undefined || (op.kind === 'ask' && op.type !== 'timer.set')),
    )
    if (!asks && activation.host.now() - activation.since >= withinMs) return true
  }
}

/**
 * Whether the engine threw this to make the code leave, after a cancel or for a restart. It is not a failure of the
 * code, which must let it pass.
 */
export const isLeaving = (thrown: unknown): boolean => thrown instanceof Cancelled || thrown instanceof RestartRequested

/** The outcome of code that threw. It is not retried: the same code would throw the same. */
export function thrownOutcome(thrown: unknown): Outcome {
  if (thrown instanceof Cancelled) return cancelled(thrown.reason)
  const what = failureFrom(thrown, 'orchestration.threw')
  return failed(what.class === 'unknown' ? { ...what, class: 'internal', retryable: false } : what)
}
