/**
 * What of a copied log is left out of a fork, so that the code asks for it anew.
 *
 * Owns: the rules about questions, approvals and notes. Does not own: what is copied at all, ids, seqs (fork.ts). Pure.
 *
 * - A question that is open at the fork point is not copied: the fork asks it under an id of its own, with the time
 *   that was left. One that a former segment of the log asked cannot be asked again by the code: it is copied under a
 *   new id and stays open (`carried`).
 * - Approvals do not carry over. One that was decided stays as far as it has led to something: a worker begun, a
 *   message sent, a tool, a model or another effect done in the scope in which it was asked. Where it has not, the
 *   question and the decision are left out, with everything in that scope that followed: it is asked again. The same
 *   holds for what a grant has let pass. A refusal stays, since it permits nothing; so does the approval of a plan, a
 *   recruit, mail or a result, since what it permits is done in the moment in which it is decided.
 * - Commands of operators are not copied: no pause of the origin holds in the fork. Doubts and divergences are found
 *   anew.
 */
import { isObject, type Outcome } from '../../core/index.ts'
import type { ApprovalRequested, JournalEvent, StepOpened } from '../../journal/index.ts'
import { isValueStep } from '../replay/value-steps.ts'

/** One entry of the origin's log. */
export interface OriginEntry {
  readonly position: number
  readonly at: number
  readonly event: JournalEvent
}

/** What is copied of a log that goes on. */
export interface Cut {
  readonly kept: readonly OriginEntry[]
  /** Addresses of questions of former segments that stay open. */
  readonly carried: ReadonlySet<string>
  /** Addresses of workers that are left out with everything below them. */
  readonly without: readonly string[]
}

const controls: ReadonlySet<string> = new Set<JournalEvent['type']>([
  'run.pausing',
  'run.paused',
  'run.resumed',
  'run.taken-over',
  'run.handed-back',
  'control.ignored',
  'run.forked',
  'replay.diverged',
])

/** The scope of an address: everything in it begins with this. */
const scopeOf = (address: string): string => address.slice(0, address.lastIndexOf('/') + 1)

/** An effect that a decision has permitted, rather than something that code reads on its way. */
const isWork = (event: StepOpened): boolean =>
  (event.type !== 'step.begun' || event.effect !== 'read') && !isValueStep(event.address)

const endOf = (event: JournalEvent): string | undefined =>
  event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled'
    ? event.address
    : undefined

/** Whether a decision permits something that is yet to be done. */
function permits({ kind, onTimeout }: ApprovalRequested, outcome: Outcome): boolean {
  if (kind !== undefined && kind !== 'task') return false
  if (outcome.status === 'timed-out') return onTimeout !== 'reject'
  if (outcome.status !== 'completed') return false
  const decision = isObject(outcome.output) ? outcome.output['decision'] : undefined
  return decision !== 'reject' && decision !== 'retry'
}

/** What is told beside a question, and what is told of its end. */
const isBeside = (event: JournalEvent): boolean =>
  (event.type === 'worker.started' && event.purpose === 'notice') ||
  event.type === 'notice.sent' ||
  event.type === 'notice.failed' ||
  event.type === 'approval.resolved'

class Log {
  readonly entries: readonly OriginEntry[]
  /** Where the last segment begins. */
  readonly #begin: number
  readonly #ends = new Map<string, number>()
  readonly #out = new Set<number>()
  readonly #addresses = new Set<string>()
  readonly carried = new Set<string>()

  constructor(entries: readonly OriginEntry[]) {
    this.entries = entries
    this.#begin = entries.findLastIndex(({ event }) => event.type === 'activation.restarted') + 1
    for (let i = this.#begin; i < entries.length; i++) {
      const address = endOf(entries[i]!.event)
      if (address !== undefined) this.#ends.set(address, i)
    }
  }

  cut(): Cut {
    this.#carry()
    for (let i = this.#begin; i < this.entries.length; i++) {
      const { event } = this.entries[i]!
      if (controls.has(event.type)) this.#out.add(i)
      else if ('op' in event && event.op === 'ask') this.#question(i, event.address)
      else if (event.type === 'approval.granted') this.#takeBack(scopeOf(event.address), this.#begin)
      else if ((event.type === 'effect.in-doubt' || event.type === 'effect.cleared') && !this.#ends.has(event.address))
        this.#out.add(i)
    }
    const isOut = ({ event }: OriginEntry, i: number): boolean =>
      this.#out.has(i) || (i >= this.#begin && 'address' in event && this.#addresses.has(event.address))
    const left = this.entries.filter(isOut)
    return {
      kept: this.entries.filter((entry, i) => !isOut(entry, i)),
      carried: this.carried,
      without: left.flatMap(({ event }) => (event.type === 'worker.started' ? [event.address] : [])),
    }
  }

  /** Questions of former segments that are open. */
  #carry(): void {
    const restarted = this.entries[this.#begin - 1]?.event
    for (const { address, op } of restarted?.type === 'activation.restarted' ? restarted.open : [])
      if (op === 'ask' && !this.#ends.has(address)) this.carried.add(address)
  }

  #question(i: number, address: string): void {
    const { event } = this.entries[i]!
    const end = this.#ends.get(address)
    if (end === undefined) return this.#askAnew(i, address)
    const ended = this.entries[end]!.event
    if (event.type !== 'approval.requested' || ended.type !== 'ask.settled' || !permits(event, ended.outcome)) return
    // what follows from a task's approval may stand in any scope of its team
    if (this.#takeBack(event.kind === 'task' ? '' : scopeOf(address), end + 1)) this.#askAnew(i, address)
  }

  /** The question is left out, and what was told beside it. */
  #askAnew(i: number, address: string): void {
    this.#addresses.add(address)
    const scope = scopeOf(address)
    for (let j = i + 1; j < this.entries.length; j++) {
      const { event } = this.entries[j]!
      if ('op' in event && event.address.startsWith(scope) && isBeside(event)) this.#addresses.add(event.address)
    }
  }

  /** Leaves out what this scope holds after a decision, if nothing was done yet. False: something was. */
  #takeBack(scope: string, from: number): boolean {
    const after = this.entries
      .slice(from)
      .flatMap(({ event }) => ('op' in event && event.address.startsWith(scope) ? [event] : []))
    const isDone = after.some(
      (event) =>
        (event.op === 'worker' && event.purpose !== 'notice') ||
        event.op === 'send' ||
        (event.op === 'step' && isWork(event) && this.#ends.has(event.address)),
    )
    if (!isDone) for (const { address } of after) this.#addresses.add(address)
    return !isDone
  }
}

/** What of the log of an activation that has not ended is copied. */
export const cutLog = (entries: readonly OriginEntry[]): Cut => new Log(entries).cut()
