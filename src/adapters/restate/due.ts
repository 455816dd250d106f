/**
 * Due: when an activation is to be looked at again though nobody calls, and what the clock then says.
 *
 * Owns: working minutes that are used up, a pause that runs out of patience. Does not own: deadlines of questions (they are rows; eventstore), timers
 * (Restate's). Holds: DESIGN §3.3 (working time), K8 (`pause({ withinMs })`).
 */
import { rootActivation, runOf } from '../../core/index.ts'
import { said } from '../../engine/index.ts'
import type { StoredAccount } from '../eventstore/index.ts'
import type { Desk } from './desk.ts'
import { callsBack, hasHuman } from './held.ts'

/** When the minutes of an account are used up if nothing stops working before. */
const minutesEnd = ({ state, since }: StoredAccount): number | undefined =>
  state.limits.minutes === undefined || since === null ? undefined : since + Math.max(0, state.limits.minutes * 60_000 - state.ms)

/** The next moment, of all that concern this activation. */
export function nextDue(seat: Desk, asked: number | undefined): number | undefined {
  const moments = seat.outlet.out.size === 0 ? [] : seat.stored.map(minutesEnd)
  const known = [asked, seat.isRoot ? seat.escalateAt?.at : undefined, ...moments].filter((at) => at !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Does what is due now. */
export function ring(seat: Desk): void {
  const now = seat.keeping.now()
  for (const account of seat.stored) {
    const end = minutesEnd(account)
    if (end === undefined || end > now || seat.outlet.out.size === 0 || seat.exhausted.has(account.activation)) continue
    seat.exhausted.add(account.activation)
    const mail = { type: 'cancel', reason: `worked for ${account.state.limits.minutes} minutes`, limit: 'minutes' } as const
    if (account.activation !== seat.activation.id) seat.keeping.post(account.activation, '!minutes', mail)
    else if (!seat.activation.cancelKnown) seat.activation.arrive({ ...mail, type: 'cancel.received' })
  }
  const escalate = seat.escalateAt
  if (escalate === undefined || escalate.at > now || seat.control === undefined) return
  seat.escalateAt = undefined
  if (seat.control.reached || callsBack(seat.control)) return
  seat.keeping.append(seat.activation, { type: 'run.pausing', at: 'now', escalated: true, ...said(escalate) }, now)
  seat.setControl({ at: hasHuman(seat.control) ? 'human-now' : 'now', reached: false }, true)
}

/** A pause that has outlived the memory in which it was asked for goes on as it was asked for. */
export function restoreEscalation(seat: Desk): void {
  const asked = seat.activation.pausing
  if (seat.control === undefined || seat.control.reached || asked?.event.withinMs === undefined || !seat.isRoot) return
  seat.escalateAt = { at: asked.at + asked.event.withinMs, ...said(asked.event) }
}

/** Nobody else works: `pausing` has become `paused` as soon as nothing of the root is out. Only the root can see that. */
export function notePaused(seat: Desk): void {
  const { control, activation } = seat
  if (!seat.isRoot || control === undefined || control.reached || seat.over) return
  if (seat.outlet.out.size > 0 || seat.ready || activation.hasLive) return
  seat.escalateAt = undefined
  seat.keeping.append(activation, { type: 'run.paused' }, seat.keeping.now())
  seat.setControl({ ...control, reached: true }, true)
}

/** True for the root of a run. */
export const isRoot = (id: Desk['id']): boolean => rootActivation(runOf(id)) === id
