/**
 * Mail: what rows of an inbox mean to a seated activation. Everybody outside, and every other activation, speaks to it through them.
 *
 * Owns: giving a row to the activation, or carrying out an operator's command. Does not own: who wins a row (eventstore).
 * Holds: K8 (a pause is the run's, kept on its row by the root; it delays effects and orchestration does not see it; cancel is an arrival).
 */
import { arrivalOfMail, by, commandId, divergedKey, happenedAs, ignored, said, whyIgnored, type Mail } from '../../engine/index.ts'
import type { Control, InboxRow } from '../eventstore/index.ts'
import type { Desk } from './desk.ts'
import { hasHuman } from './held.ts'

type Of<T extends Mail['type']> = Extract<Mail, { readonly type: T }>

/** Gives an unread row, once per memory of the activation. */
export function give(seat: Desk, { key, body }: InboxRow): void {
  if (seat.handed.has(key)) return
  seat.handed.add(key)
  const mail = JSON.parse(body) as Mail
  switch (mail.type) {
    case 'pause':
      use(seat, key)
      return pause(seat, mail)
    case 'resume':
      use(seat, key)
      return resume(seat, mail)
    case 'settle-doubt':
      return settleDoubt(seat, key, mail)
    case 'settle-divergence':
      use(seat, key)
      return settleDivergence(seat, key, mail)
    case 'cancel':
      if (seat.control !== undefined && seat.isRoot) endPause(seat, { at: 'cancelled', reached: true })
      if (seat.activation.stuck !== undefined) seat.draft.stuck = null
      return seat.activation.arrive(arrivalOfMail(mail)!, undefined, key)
    default:
      return seat.activation.arrive(arrivalOfMail(mail)!, undefined, key)
  }
}

/** The row is used up with the next commit. */
function use(seat: Desk, key: string): void {
  seat.activation.taken.push(key)
  seat.touched()
}

/** Nothing changes, and whoever looks can see why (team C65). True: so it is. */
function ignores(seat: Desk, mail: Of<'pause' | 'resume'>): boolean {
  const { activation, control } = seat
  const held =
    control === undefined || (control.at === 'cancelled' && mail.type === 'resume') ? 'nobody' : hasHuman(control) ? 'human' : 'pause'
  const why = whyIgnored(mail, held)
  if (why !== undefined && !activation.over) seat.keeping.append(activation, ignored(mail, why), seat.keeping.now())
  return why !== undefined
}

function pause(seat: Desk, mail: Of<'pause'>): void {
  if (ignores(seat, mail) || seat.control?.at === 'cancelled') return
  const { at, withinMs, takeover = false } = mail
  const now = seat.keeping.now()
  const reached = seat.control?.reached === true
  const within = withinMs === undefined ? {} : { withinMs }
  if (seat.control === undefined)
    seat.keeping.append(seat.activation, { type: 'run.pausing', at, ...within, ...said(mail), ...commandId(mail) }, now)
  seat.escalateAt = reached || at === 'now' || withinMs === undefined ? undefined : { at: now + withinMs, ...said(mail) }
  if (takeover) seat.keeping.append(seat.activation, { type: 'run.taken-over', ...said(mail), ...commandId(mail) }, now)
  seat.setControl({ at: !takeover ? at : at === 'now' ? 'human-now' : 'human', reached }, true)
}

function resume(seat: Desk, mail: Of<'resume'>): void {
  if (ignores(seat, mail)) return
  const told = { ...said(mail), ...commandId(mail) }
  if (mail.handBack === true) seat.keeping.append(seat.activation, { type: 'run.handed-back', ...told }, seat.keeping.now())
  seat.keeping.append(seat.activation, { type: 'run.resumed', ...told }, seat.keeping.now())
  endPause(seat, undefined)
  seat.activation.fail()
}

/** A paused run that is cancelled goes on to its end: whoever knows of it may undo; what is held back elsewhere stays so until the cancel has come there. */
function endPause(seat: Desk, then: Control | undefined): void {
  seat.escalateAt = undefined
  seat.setControl(then, true)
}

function settleDoubt(seat: Desk, key: string, mail: Of<'settle-doubt'>): void {
  const { activation, keeping } = seat
  const op = activation.operations.get(mail.address)
  if (op?.doubt === undefined) {
    if (op === undefined ? activation.isOver(mail.address) : op.endRecorded || op.stopped !== undefined) return use(seat, key)
    // The code has not come to this step yet: it will ask.
    seat.doubts.set(key, () => settleDoubt(seat, key, mail))
    return
  }
  seat.doubts.delete(key)
  activation.doubtEnded(op)
  if (mail.happened)
    return activation.arrive({ type: 'step.settled', address: op.address, outcome: happenedAs(op, mail.value) }, undefined, key)
  use(seat, key)
  keeping.append(activation, { type: 'effect.cleared', address: op.address, ...by(mail) }, keeping.now())
  keeping.letOut(op)
}

function settleDivergence(seat: Desk, key: string, mail: Of<'settle-divergence'>): void {
  const { address, action, to } = mail
  const target = to === undefined ? {} : { to }
  seat.keeping.append(seat.activation, { type: 'replay.resolved', address, action, ...target, ...by(mail) }, seat.keeping.now())
  // its other questions are still asked
  seat.draft.closed.push(key.slice(divergedKey.length))
  seat.draft.stuck = null
  seat.reload = true
}
