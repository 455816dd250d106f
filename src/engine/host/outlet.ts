/**
 * The outlet: effects on their way out, held back, called back, and ended.
 *
 * Owns: what is out of a run and what is held; pause as "do not empty this run's outbox".
 * Does not own: when a commit is through (driver.ts), attempts (../effects.ts), what the journal says of a held effect (../leaving.ts).
 * Holds: K6 (what is held is not in doubt), K8 (pause and stop are looked at before every effect).
 */
import { runOf, type ActivationId, type Clock, type Failure, type Json } from '../../core/index.ts'
import { encode, type StepSettled } from '../../journal/index.ts'
import { Effects, encodeEnd, type EffectsHost } from '../effects.ts'
import { mayLeave, noteHeld, stoppedEnd } from '../leaving.ts'
import type { Operation } from '../operation.ts'
import type { Desk } from './desk.ts'
import { enter, leave } from './ledger.ts'
import type { Run } from './run.ts'

export class Outlet implements EffectsHost {
  readonly #desk: Desk

  constructor(desk: Desk) {
    this.#desk = desk
  }

  get clock(): Clock {
    return this.#desk.clock
  }
  #run(activation: ActivationId): Run | undefined {
    return this.#desk.runs.get(runOf(activation))
  }

  letOut(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined) return
    run.out.add(op)
    enter(this.#desk, op.owner)
    this.#desk.outbox.push(op)
    this.#desk.schedule()
  }

  /** The log it depends on is durable. Pause and stop are looked at once more, then it leaves. */
  release(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || !run.out.has(op)) return
    const desk = this.#desk
    // What is in flight for an earlier memory of this run is joined, whatever holds the run back: its end is to come.
    if (desk.effects.has(op)) return desk.effects.release(op)
    if (op.stopped !== undefined) return this.#arrived(op, stoppedEnd(op))
    // One that is stuck half-way through its journal asks again when it is read again; until then a cancel finds here what it has to end.
    if (run.holds(op) || (op.owner.stuck !== undefined && op.owner.replaying)) return this.#hold(run, op)
    if (mayLeave(desk.keeper, op)) return desk.effects.release(op)
    desk.outbox.push(op)
  }

  #hold(run: Run, op: Operation): void {
    noteHeld(this.#desk.keeper, op)
    run.out.delete(op)
    run.held.push(op)
    leave(this.#desk, op.owner)
    this.#desk.touch(run)
    this.#desk.schedule()
  }

  /** The engine closes: what has not left by now will not. */
  noteUnreleased(ops: readonly Operation[]): void {
    for (const op of ops) noteHeld(this.#desk.keeper, op)
  }

  abort(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || op.endRecorded) return
    const held = run.held.indexOf(op)
    if (held < 0 && op.doubt === undefined) return this.#desk.callOff(op)
    if (held >= 0) run.held.splice(held, 1)
    if (op.doubt !== undefined) this.#desk.keeper.closeQuestion(op)
    op.doubt = undefined
    op.owner.arrive(stoppedEnd(op))
  }

  epochOf(op: Operation): number {
    return this.#run(op.owner.id)?.epoch ?? 0
  }

  attemptFailed(op: Operation, attempt: number, what: Failure, delayMs: number): void {
    const event = { type: 'step.attempt-failed', address: op.address, attempt, failure: what, delayMs } as const
    this.#desk.keeper.append(op.owner, event, this.#desk.clock.now())
  }

  mayRetry(op: Operation): boolean {
    const run = this.#run(op.owner.id)
    return run !== undefined && !op.owner.discarded && !run.holds(op) && !this.#desk.dead && this.#desk.store.lease.fresh
  }

  waits(op: Operation, waiting: boolean): void {
    if (this.#run(op.owner.id)?.out.has(op) !== true) return
    if (waiting) leave(this.#desk, op.owner)
    else enter(this.#desk, op.owner)
  }

  calledBack(op: Operation): void {
    const run = this.#run(op.owner.id)
    if (run === undefined || op.owner.discarded) return
    if (run.holds(op)) return this.#hold(run, op)
    this.#desk.outbox.push(op)
    this.#desk.schedule()
  }

  ended(op: Operation, event: StepSettled): void {
    if (!this.#desk.dead) this.#arrived(op, event)
  }

  #arrived(op: Operation, event: StepSettled): void {
    const run = this.#run(op.owner.id)
    if (run?.out.delete(op) === true) {
      leave(this.#desk, op.owner)
      this.#desk.touch(run)
    }
    if (op.owner.outcome !== undefined || op.ended) return this.#desk.effects.forget(Effects.key(op))
    const end = encodeEnd(event, encode)
    op.owner.arrive(end.event, end.text)
    if (run !== undefined) this.#desk.schedule()
  }

  part(op: Operation, attempt: number, part: Json, offset?: number): void {
    const { owner, address } = op
    const epoch = this.epochOf(op)
    const { id: activation } = owner
    this.#desk.onPart(
      runOf(activation),
      offset === undefined ? { activation, address, epoch, attempt, part } : { activation, address, epoch, attempt, offset, part },
    )
  }

  /** `pausing` has become `paused` as soon as nothing is out. A run that has ended instead is not paused: nothing follows its last word (K7). */
  notePaused(run: Run): void {
    const root = run.root
    if (run.ended || run.pause === undefined || run.pause.reached || run.out.size > 0 || root === undefined) return
    run.pause.reached = true
    run.pause.callOff?.()
    this.#desk.keeper.append(root, { type: 'run.paused' }, this.#desk.clock.now())
    this.#desk.batch.control.push({ run: run.id, state: run.pause.at === 'human' ? 'human_control' : 'paused' })
  }
}
