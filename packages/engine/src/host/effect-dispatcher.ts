/**
 * The effect dispatcher: effects on their way out, held back, called back, and ended.
 *
 * Owns: what is out of a run and what is held; pause as "do not empty this run's outbox".
 * Does not own: when a commit is through (driver.ts), attempts (../replay/effects.ts), what the journal says of a held
 * effect (../replay/effect-gate.ts).
 * Holds: K6 (what is held is not in doubt), K8 (pause and stop are looked at before every effect).
 */
import { runOf, stopwatch, type Clock, type Failure, type Json, type RunId } from '@reeve/core'
import { encode, type AttemptFailed, type Charge, type StepSettled } from '@reeve/journal'
import { type ContentsHost, RunContents } from '../contents.ts'
import type { Contents } from '../context.ts'
import type { LivePart, PartListener } from '../port.ts'
import { encodeEnd, type EffectsHost, type FollowedAttempt } from '../replay/effects.ts'
import { mayLeave, noteHeld, noteWaiting, stoppedEnd } from '../replay/effect-gate.ts'
import { isKnownUse, type Operation } from '../replay/operation.ts'
import { sha256 } from './digests.ts'
import type { EngineState } from './engine-state.ts'
import { enter, leave, refusesRetry, spend } from './run-accounts.ts'
import type { LoadedActivation, LoadedRun } from './loaded-run.ts'

export class EffectDispatcher implements EffectsHost {
  readonly clock: Clock
  readonly #engine: EngineState

  constructor(engine: EngineState) {
    this.clock = engine.clock
    this.#engine = engine
  }

  letOut(op: Operation): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid) return
    run.out.add(op)
    enter(this.#engine, op.owner)
    this.#engine.outbox.push(op)
    this.#engine.schedule()
  }

  /** The log it depends on is durable. Pause and stop are looked at once more, then it leaves. */
  release(op: Operation): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid || !run.out.has(op)) return
    const engine = this.#engine
    // What is in flight for an earlier memory of this run is joined, whatever holds the run back: its end is to come.
    if (engine.effects.has(op)) return engine.effects.release(op)
    if (op.stopped !== undefined) return this.#arrived(op, stoppedEnd(op))
    // One that is stuck half-way through its journal asks again when it is read again; until then a cancel finds here
    // what it has to end.
    if (run.holds(op) || (op.owner.stuck !== undefined && op.owner.replaying)) return this.#hold(run, op)
    if (mayLeave(engine.commands, op)) return engine.effects.release(op)
    engine.outbox.push(op)
  }

  #hold(run: LoadedRun, op: Operation): void {
    noteHeld(this.#engine.commands, op)
    run.out.delete(op)
    run.held.push(op)
    leave(this.#engine, op.owner)
    this.#engine.touch(run)
  }

  neverLeft(op: Operation): void {
    noteWaiting(this.#engine.commands, op)
  }

  /** The engine closes: what has not left by now will not. */
  noteUnreleased(ops: readonly Operation[]): void {
    for (const op of ops) noteHeld(this.#engine.commands, op)
  }

  contents(op: Operation, isStopped: () => boolean): Contents {
    return new RunContents(contentsHost(this.#engine), runOf(op.owner.id), isStopped)
  }

  abort(op: Operation): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid || op.endRecorded) return
    const held = run.held.indexOf(op)
    if (held < 0 && op.doubt === undefined) return this.#engine.callOff(op)
    if (held >= 0) run.held.splice(held, 1)
    if (op.doubt !== undefined) this.#engine.commands.closeQuestion(op)
    op.doubt = undefined
    op.owner.arrive(stoppedEnd(op))
  }

  /** Of its run as this process has it now: it may have been read again since, or be out of memory. */
  epochOf(op: Operation): number {
    const { run } = op.owner as LoadedActivation
    return run.isVoid ? (this.#engine.runs.get(run.id)?.epoch ?? 0) : run.epoch
  }

  callersTrace(op: Operation): string | undefined {
    return (op.owner as LoadedActivation).run.caller.traceparent
  }

  attemptFailed(op: Operation, attempt: FollowedAttempt): void {
    const { owner, address } = op
    const event: AttemptFailed = { type: 'step.attempt-failed', address, ...attempt }
    this.#engine.commands.append(owner, event, this.#engine.clock.now())
    owner.noteAttempt(event)
    if (event.charge !== undefined) spend(owner, event.charge, isKnownUse(event))
  }

  refusesRetry({ owner, reserved }: Operation, charge: Charge): Failure | undefined {
    return reserved === undefined ? undefined : refusesRetry(owner, charge, reserved)
  }

  mayRetry(op: Operation): boolean {
    const { run } = op.owner as LoadedActivation
    return !run.isVoid && !op.owner.discarded && !run.holds(op) && !this.#engine.dead && this.#engine.store.lease.fresh
  }

  waits(op: Operation, waiting: boolean): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid || !run.out.has(op)) return
    if (waiting) leave(this.#engine, op.owner)
    else enter(this.#engine, op.owner)
  }

  calledBack(op: Operation): void {
    const { run } = op.owner as LoadedActivation
    if (run.isVoid || op.owner.discarded) return
    if (run.holds(op)) return this.#hold(run, op)
    this.#engine.outbox.push(op)
    this.#engine.schedule()
  }

  ended(op: Operation, event: StepSettled): void {
    if (!this.#engine.dead) this.#arrived(op, event)
  }

  #arrived(op: Operation, event: StepSettled): void {
    const { run } = op.owner as LoadedActivation
    run.movedAt = stopwatch()
    if (!run.isVoid && run.out.delete(op)) {
      leave(this.#engine, op.owner)
      this.#engine.touch(run)
    }
    if (op.owner.outcome !== undefined || op.ended) {
      this.#engine.effects.forget(op.effectKey)
      return
    }
    const end = encodeEnd(event, encode, op)
    op.owner.arrive(end.event, end.text)
  }

  part(op: Operation, attempt: number, part: Json, offset?: number): void {
    const { run, birth } = op.owner as LoadedActivation
    this.#engine.onPart(run.id, this.#livePart(op, attempt, part, offset), birth)
  }

  /** Tells a listener the text that the attempts of a run that are under way have shown so far. */
  tellShown(run: RunId, hear: PartListener): void {
    for (const op of this.#engine.runs.get(run)?.out ?? []) {
      const shown = this.#engine.effects.shownBy(op)
      if (shown === undefined) continue
      for (const { part, offset } of shown.text.deltas())
        hear(this.#livePart(op, shown.attempt, part, offset), op.owner.birth)
    }
  }

  #livePart(op: Operation, attempt: number, part: Json, offset: number | undefined): LivePart {
    const { owner, address } = op
    const activation = owner.id
    const epoch = this.epochOf(op)
    return offset === undefined
      ? { activation, address, epoch, attempt, part }
      : { activation, address, epoch, attempt, offset, part }
  }

  /**
   * `pausing` has become `paused` as soon as nothing is out. A run that has ended instead is not paused: nothing
   * follows its last word (K7).
   */
  notePaused(run: LoadedRun, pause: NonNullable<LoadedRun['pause']>): void {
    const root = run.root
    if (run.ended || pause.reached || run.out.size > 0 || root === undefined) return
    pause.reached = true
    pause.callOff?.()
    this.#engine.commands.append(root, { type: 'run.paused' }, this.#engine.clock.now())
    this.#engine.batch.control.push({ run: run.id, state: pause.at === 'human' ? 'human_control' : 'paused' })
  }
}

/** What contents need of this engine. */
export const contentsHost = ({ store, options }: Pick<EngineState, 'store' | 'options'>): ContentsHost => ({
  store,
  sha256,
  ...(options.redactEntry === undefined ? {} : { redact: options.redact }),
})
