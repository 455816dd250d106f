/**
 * Mail: what inbox rows mean to a run. Everybody outside the driving process speaks to a run through them (K2).
 *
 * Owns: reading a row and giving it to its activation, or carrying out an operator's command.
 * Holds: K8 (pause delays effects and is invisible to orchestration; cancel is an arrival).
 */
import { parentOf, type ActivationId } from '../../core/index.ts'
import type { Activation } from '../activation.ts'
import { arrivalOfMail, commandId, ignored, said, whyIgnored, by, type Mail } from '../mail.ts'
import { happenedAs } from '../origin.ts'
import { divergedKey } from '../question.ts'
import type { InboxRow } from '../store.ts'
import type { Desk } from './desk.ts'
import type { Run } from './run.ts'
import { tellChildren } from './children.ts'

/** Gives an unread row to whom it is for; keeps it if they are not in memory yet. */
export function receive(desk: Desk, run: Run, row: InboxRow): void {
  const activation = run.activations.get(row.act)
  if (activation === undefined) return keepFor(desk, run, row)
  const mail = JSON.parse(row.body) as Mail
  switch (mail.type) {
    case 'cancel':
      return cancel(desk, run, activation, row.key, mail)
    case 'pause':
      use(desk, run, activation, row.key)
      return pause(desk, run, activation, mail, row.key)
    case 'resume':
      use(desk, run, activation, row.key)
      return resume(desk, run, activation, mail, row.key)
    case 'settle-doubt':
      return settleDoubt(desk, run, activation, row.key, mail)
    case 'settle-divergence':
      use(desk, run, activation, row.key)
      return settleDivergence(desk, run, activation, row.key, mail)
    default:
      return activation.arrive(arrivalOfMail(mail)!, undefined, row.key)
  }
}

function keepFor(desk: Desk, run: Run, row: InboxRow): void {
  const kept = run.mail.get(row.act)
  if (kept !== undefined) kept.push(row)
  else if (!isOver(run, row.act)) run.mail.set(row.act, [row])
  else {
    // Its last word is in the log: nobody will ever read this, and left unread it would wake the run again and again.
    desk.batch.taken.push({ act: row.act, key: row.key })
    desk.touch(run)
    desk.schedule()
  }
}

/** Whether an activation that is not in memory has had its last word. One that its leader has asked for would be in memory; what became of those that nobody has asked for yet the past tells. */
function isOver(run: Run, id: ActivationId): boolean {
  const above = parentOf(id)
  if (above === undefined) return false
  const leader = run.activations.get(above.parent)
  if (leader === undefined ? isOver(run, above.parent) : !leader.willAsk(above.address)) return !run.unborn.has(id)
  return run.past?.lastEvent(id)?.type === 'activation.settled'
}

/** The row is used up with the next commit. */
function use(desk: Desk, run: Run, activation: Activation, key: string): void {
  activation.taken.push(key)
  desk.touch(run)
  desk.schedule()
}

/** Nothing changes, and whoever looks can see why (team C65). True: so it is. */
function ignores(desk: Desk, run: Run, root: Activation, mail: Extract<Mail, { type: 'pause' | 'resume' }>): boolean {
  // a run that was set aside goes on by it
  if (mail.type === 'resume' && run.broughtBack === 'resume' && run.pause === undefined) return false
  const why = whyIgnored(mail, run.pause === undefined ? 'nobody' : run.pause.at === 'human' ? 'human' : 'pause')
  if (why !== undefined && !root.over) desk.keeper.append(root, ignored(mail, why), desk.clock.now())
  return why !== undefined
}

function cancel(desk: Desk, run: Run, activation: Activation, key: string, mail: Extract<Mail, { type: 'cancel' }>): void {
  // A paused run that is cancelled goes on to its end: what undoes it must be let out.
  if (run.pause !== undefined && activation === run.root) letGo(desk, run)
  if (run.stuck !== undefined) desk.keeper.unstick(run)
  activation.arrive(arrivalOfMail(mail)!, undefined, key)
}

function pause(desk: Desk, run: Run, root: Activation, mail: Extract<Mail, { type: 'pause' }>, key: string): void {
  if (ignores(desk, run, root, mail)) return
  if (run.pause === undefined) tellChildren(desk, run, key, mail)
  const reached = run.pause?.reached === true
  if (run.pause === undefined) {
    const event = { type: 'run.pausing', at: mail.at, ...within(mail), ...said(mail), ...commandId(mail) } as const
    desk.keeper.append(root, event, desk.clock.now())
  } else run.pause.callOff?.()
  run.pause = { at: mail.takeover === true ? 'human' : mail.at, reached }
  if (mail.takeover === true) desk.keeper.append(root, { type: 'run.taken-over', ...said(mail), ...commandId(mail) }, desk.clock.now())
  desk.batch.control.push({ run: run.id, state: mail.takeover === true ? 'human_control' : 'pausing' })
  if (reached) return
  if (mail.at === 'now') return callBack(desk, run)
  desk.effects.recall([...run.out].filter((op) => run.holds(op)))
  escalateAt(desk, run, run.pause, desk.clock.now(), mail)
}

const within = (mail: { readonly withinMs?: number }): { withinMs?: number } =>
  mail.withinMs === undefined ? {} : { withinMs: mail.withinMs }

/** If the pause was given a time, what has not ended by then is called back. */
function escalateAt(
  desk: Desk,
  run: Run,
  pausing: NonNullable<Run['pause']>,
  since: number,
  mail: { readonly withinMs?: number; readonly reason?: string; readonly by?: string },
): void {
  if (mail.withinMs === undefined) return
  pausing.callOff = desk.clock.timer(since + mail.withinMs, () => {
    if (run.pause !== pausing || pausing.reached || desk.runs.get(run.id) !== run) return
    if (pausing.at !== 'human') pausing.at = 'now'
    if (run.root !== undefined)
      desk.keeper.append(run.root, { type: 'run.pausing', at: 'now', escalated: true, ...said(mail) }, desk.clock.now())
    callBack(desk, run)
  })
}

/** A pause that has outlived the memory in which it was asked for goes on as it was asked for. */
export function restorePause(desk: Desk, run: Run): void {
  const asked = run.root?.pausing
  if (run.pause === undefined || asked === undefined) return
  run.pause.at = asked.takenOver ? 'human' : asked.event.at
  run.pause.reached = asked.reached
  if (!run.pause.reached) escalateAt(desk, run, run.pause, asked.at, asked.event)
}

/** Aborts what is out and may be repeated; it runs again after the pause and loses no attempt by it. */
function callBack(desk: Desk, run: Run): void {
  for (const op of run.out) if (op.effect !== 'once') desk.effects.abort(op, 'paused', true)
  desk.touch(run)
  desk.schedule()
}

function letGo(desk: Desk, run: Run): void {
  run.pause?.callOff?.()
  run.pause = undefined
  const held = run.held
  run.held = []
  desk.batch.control.push({ run: run.id, state: null })
  for (const op of held) desk.keeper.letOut(op)
}

function resume(desk: Desk, run: Run, root: Activation, mail: Extract<Mail, { type: 'resume' }>, key: string): void {
  if (ignores(desk, run, root, mail)) return
  tellChildren(desk, run, key, mail)
  if (mail.handBack === true) desk.keeper.append(root, { type: 'run.handed-back', ...said(mail), ...commandId(mail) }, desk.clock.now())
  desk.keeper.append(root, { type: 'run.resumed', ...said(mail), ...commandId(mail) }, desk.clock.now())
  letGo(desk, run)
  root.fail()
}

function settleDoubt(desk: Desk, run: Run, activation: Activation, key: string, mail: Extract<Mail, { type: 'settle-doubt' }>): void {
  const op = activation.operations.get(mail.address)
  if (op?.doubt === undefined) {
    const over = op === undefined ? activation.isOver(mail.address) : op.endRecorded || op.stopped !== undefined
    if (over) return use(desk, run, activation, key)
    // The code has not come to this step yet: it will ask.
    run.doubts.set(`${activation.id}:${key}`, () => settleDoubt(desk, run, activation, key, mail))
    return
  }
  run.doubts.delete(`${activation.id}:${key}`)
  activation.doubtEnded(op)
  if (mail.happened)
    return activation.arrive({ type: 'step.settled', address: op.address, outcome: happenedAs(op, mail.value) }, undefined, key)
  use(desk, run, activation, key)
  desk.keeper.append(activation, { type: 'effect.cleared', address: op.address, ...by(mail) }, desk.clock.now())
  desk.keeper.letOut(op)
}

function settleDivergence(
  desk: Desk,
  run: Run,
  activation: Activation,
  key: string,
  mail: Extract<Mail, { type: 'settle-divergence' }>,
): void {
  const { address, action, to } = mail
  desk.keeper.append(
    activation,
    { type: 'replay.resolved', address, action, ...(to === undefined ? {} : { to }), ...by(mail) },
    desk.clock.now(),
  )
  // its other questions are still asked
  desk.batch.closed.push({ act: activation.id, address: key.slice(divergedKey.length) })
  desk.keeper.unstick(run)
  run.reload = true
  desk.touch(run)
}
