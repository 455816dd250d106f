/**
 * The accounts of the runs in memory, and whose charges count on which.
 *
 * Owns: finding accounts, reserving and settling on all of them, the clock for working minutes. Does not own: the
 * arithmetic (../replay/account.ts).
 * Holds: K11 (a charge settles where it occurs; a clock stands while nothing below its account works).
 */
import { addUsage, runOf, type ActivationId, type Failure, type Usage } from '@reeve/core'
import { isNotice, type Charge } from '@reeve/journal'
import type { RunUsage } from '../port.ts'
import { reserveFor, retryRefusal, type Account } from '../replay/account.ts'
import type { Owner } from '../replay/operation.ts'
import { runUsage } from '../run-row.ts'
import type { EngineState } from './engine-state.ts'
import type { LoadedRun } from './loaded-run.ts'

/** The accounts that an activation's charges count on: those of its leader, and its own if it has one. */
export function accountsOf(run: LoadedRun, id: ActivationId, leader: Owner | undefined): readonly Account[] {
  const above = leader?.birth.accounts ?? []
  const own = run.accounts.get(id)
  return own === undefined ? above : above.concat(own)
}

/** Reserves a charge on all accounts above, or on none; then returns the limit that refuses it. */
export const reserve = (owner: Owner, charge: Charge): Failure | undefined =>
  reserveFor(owner.id, owner.birth.accounts, charge)

/** Ends a reservation with what was really used; undefined: unknown, so the reserve is spent. */
export function settle(owner: Owner, reserved: Charge, actual: Charge | undefined): void {
  for (const account of owner.birth.accounts) account.settle(reserved, actual)
}

/** Why a step that has used this has no room for another attempt; undefined if it has. */
export const refusesRetry = (owner: Owner, charge: Charge, reserved: Charge): Failure | undefined =>
  retryRefusal(owner.id, owner.birth.accounts, charge, reserved)

/** Counts what an attempt used that another one follows. */
export function spend(owner: Owner, charge: Charge, isKnown: boolean): void {
  for (const account of owner.birth.accounts) account.spend(charge, isKnown)
}

/**
 * An effect of this activation starts to work: clocks above it run, and end the work when its minutes are used up.
 * Telling people is no work.
 */
export function enter(engine: EngineState, owner: Owner): void {
  for (const account of owner.birth.accounts) {
    if (account.limits.minutes === undefined || isNotice(owner.birth.agent)) continue
    const until = account.enter(engine.clock.now())
    if (until !== undefined) endMinutesAt(engine, account, until)
  }
}

function endMinutesAt(engine: EngineState, account: Account, until: number): void {
  account.callOff = engine.clock.timer(until, () => endMinutes(engine, account))
}

export function leave(engine: EngineState, owner: Owner): void {
  for (const account of owner.birth.accounts)
    if (account.limits.minutes !== undefined && !isNotice(owner.birth.agent)) account.leave(engine.clock.now())
}

function endMinutes(engine: EngineState, account: Account): void {
  const activation = engine.runs.get(runOf(account.activation))?.activations.get(account.activation)
  if (activation === undefined || activation.cancelKnown) return
  const now = engine.clock.now()
  // a timer may ring some milliseconds early, and a clock may be set back
  if (!account.minutesUsed(now))
    return endMinutesAt(engine, account, now + Math.max(1, account.minutesLeft(now)! * 60_000))
  activation.arrive({
    type: 'cancel.received',
    reason: `worked for ${account.limits.minutes} minutes`,
    limit: 'minutes',
  })
}

/**
 * What a quiet run has used: each of its activations at work knows its own use, and that of its workers that have
 * ended. Undefined of a run that is stuck: not all of it may be in memory.
 */
export function usageSoFar(run: LoadedRun): RunUsage | undefined {
  if (run.stuck !== undefined) return undefined
  let used: Usage = []
  for (const { over, usage } of run.activations.values()) if (!over) used = addUsage(used, usage)
  return runUsage(used)
}
