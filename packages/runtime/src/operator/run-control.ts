/**
 * What an operator does to a run: pause it, resume it, cancel it, take it over, settle what is in doubt.
 *
 * Owns: `run.control` and the cancel command. Does not own: the other commands (takeover.ts, stop-delegation.ts,
 * decisions.ts).
 * K1: the journal is the state. Any process may command a run.
 */
import { flag, optionProblems, present, refuseProblems, string, underName, type Checks, type RunId } from '@reeve/core'
import type { ControlState, TakeoverContext } from '@reeve/oversight'
import {
  settleDivergence,
  settleDoubt,
  type DecisionAccess,
  type DivergenceSettlement,
  type DoubtSettlement,
} from './decisions.ts'
import { stopDelegation, type StopDelegation } from './stop-delegation.ts'
import {
  complete,
  contextOf,
  controlOf,
  finish,
  handBack,
  mustBePosted,
  pause,
  resume,
  takeOver,
  type CompleteByHand,
  type ControlAccess,
  type FinishByHand,
  type HandBack,
  type PauseOptions,
  type ResumeOptions,
  type TakenOver,
  type TakeOverOptions,
} from './takeover.ts'

/** How a run is cancelled. */
export interface CancelOptions {
  /**
   * Whether what was done is undone, by `onCancel` and by the `undo` of planned teams. Default true. False: it stays;
   * only compensations with `always` run.
   */
  readonly undo?: boolean
}

/** What an operator does to a run. Every command is durable when it resolves, from any process. */
export interface RunControl {
  /** Pauses the run: nothing new begins until it is resumed. */
  pause(options?: PauseOptions): Promise<void>
  /**
   * Resumes a paused run. Rejects with `run.taken-over` while a human has it: they hand it back. Rejects with
   * `run.not-paused` while it waits for an answer, and says for which: then nothing is recorded.
   */
  resume(how?: string | ResumeOptions): Promise<void>
  /**
   * Cancels the run, also one that is paused or taken over. What is open is stopped. What was done is undone, unless
   * `undo` is false. Cancelling a cancelled run again changes nothing. Rejects with `input.invalid` for an argument of
   * another type: nothing is cancelled.
   */
  cancel(reason?: string, by?: string, options?: CancelOptions): Promise<void>
  /**
   * A human takes the run over, also while it is paused or waits: what is in flight ends, nothing new begins, until it
   * is handed back, finished or cancelled. Resolves to the takeover context once the takeover is in the journal. The
   * first owner keeps the run: for others `takenOver` is false and `owner` names the first one. Rejects with
   * `run.ended`.
   */
  takeOver(options?: TakeOverOptions): Promise<TakenOver>
  /** The document that `takeOver` would resolve to now. Nothing is taken over. */
  context(): Promise<TakeoverContext>
  /**
   * Hands a run back, with an edited plan if that is to be another one. Resolves when it goes on, so while no process
   * drives it, it waits. Rejects with `run.not-taken-over`, with `run.ended`, with `plan.invalid` for an invalid edit,
   * and with `input.invalid` for an edit of a run without a planned team: then nothing is done, and the human still has
   * the run.
   */
  handBack(how?: HandBack): Promise<void>
  /**
   * Finishes one step by hand: a worker at any depth, of any leader, or a task of a planned team that has not begun.
   * Its leader goes on with this output; nothing that was done for it is undone. Rejects with `delegation.unknown`,
   * `delegation.ended`, and `input.invalid` where several steps have this name, or where the agent is registered here
   * and the output does not fit its own.
   */
  complete(step: CompleteByHand): Promise<void>
  /**
   * Ends a run that a human has with their output; nothing is undone. Rejects with `run.not-taken-over`, `run.ended`,
   * and `input.invalid` as `complete` does.
   */
  finish(end: FinishByHand): Promise<void>
  /**
   * Stops one delegation that `run.delegations()` shows: pending, at work, between two attempts, in the background or
   * not. The run goes on, and its leader is told. While `onStart` or `filterMessages` is asked there is no delegation
   * yet: they have a deadline. Rejects with `delegation.unknown` and `delegation.ended`. A second stop changes nothing.
   */
  stop(delegation: StopDelegation): Promise<void>
  /** Says what became of an effect in doubt, so that the run goes on. */
  settleDoubt(settlement: DoubtSettlement): Promise<void>
  /** Says how a run goes on whose code no longer does what its journal says. */
  settleDivergence(settlement: DivergenceSettlement): Promise<void>
  /** Whether the run is paused or taken over, by whom, and every command so far with its result. Always answers. */
  state(): Promise<ControlState>
}

/** The commands of one run. Nothing is read until one is called. */
export function runControl(access: ControlAccess & DecisionAccess & { readonly run: RunId }): RunControl {
  return {
    pause: (options) => pause(access, underName(options)),
    resume: (how) => resume(access, underName(typeof how === 'string' ? { by: how } : how)),
    cancel: (reason, by, options) => cancel(access, reason, by, options),
    takeOver: (options) => takeOver(access, underName(options)),
    context: () => contextOf(access),
    handBack: (how) => handBack(access, underName(how)),
    complete: (step) => complete(access, underName(step)),
    finish: (end) => finish(access, underName(end)),
    stop: (given) => stopDelegation(access, underName(given)),
    settleDoubt: (settlement) => settleDoubt(access, underName(settlement)),
    settleDivergence: (settlement) => settleDivergence(access, underName(settlement)),
    state: () => controlOf(access),
  }
}

async function cancel(
  { engine, run }: ControlAccess,
  reason = 'cancelled by the operator',
  by?: string,
  options: CancelOptions = {},
): Promise<void> {
  mustBeCancel(reason, by, options)
  const result = await engine.post({
    type: 'cancel',
    run,
    reason,
    ...underName(present({ by })),
    ...(options.undo === false ? { keeps: true } : {}),
  })
  if (result !== 'closed' || (await engine.outcome(run)).outcome.status !== 'cancelled') mustBePosted(run, result)
}

const cancelChecks: Checks<CancelOptions> = { undo: flag }

/** Throws `input.invalid` for a reason or a name that is no text, and for unknown or invalid options. */
function mustBeCancel(reason: unknown, by: unknown, options: unknown): void {
  const call = 'run.control.cancel()'
  refuseProblems(
    'input.invalid',
    [
      ...string(reason, `${call}: reason`),
      ...(by === undefined ? [] : string(by, `${call}: by`)),
      ...optionProblems(cancelChecks, options, call),
    ],
    'Call it as cancel(reason, by, { undo }). Nothing was changed.',
  )
}
