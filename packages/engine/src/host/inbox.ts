/**
 * The inbox: what its rows mean to a run. All posts from outside the driving process reach a run as rows (K2).
 *
 * Owns: reading a row and giving it to its activation, or carrying out an operator's command.
 * Holds: K8 (pause delays effects and is invisible to orchestration; cancel is an arrival).
 */
import { parentOf, type ActivationId } from '@reeve/core'
import { arrivalOfMail, commandId, ignored, said, whyIgnored, within, by, type InboxMail } from '../mail.ts'
import { happenedAs } from '../replay/origin.ts'
import { divergedKey } from '../question-record.ts'
import type { InboxRow } from '../store.ts'
import type { EngineState } from './engine-state.ts'
import type { LoadedActivation, LoadedRun } from './loaded-run.ts'
import { commandChildren } from './children.ts'

/** Gives an unread row to its activation; keeps it if the activation is not in memory yet. */
export function receive(engine: EngineState, run: LoadedRun, row: InboxRow): void {
  const activation = run.activations.get(row.act)
  if (activation === undefined) return keepFor(engine, run, row)
  const mail = JSON.parse(row.body) as InboxMail
  switch (mail.type) {
    case 'cancel':
      return cancel(engine, run, activation, row.key, mail)
    case 'pause':
      engine.commands.useUp(activation, row.key)
      return pause(engine, run, activation, mail, row.key)
    case 'resume':
      engine.commands.useUp(activation, row.key)
      return resume(engine, run, activation, mail, row.key)
    case 'settle-doubt':
      return settleDoubt(engine, run, activation, row.key, mail)
    case 'settle-divergence':
      engine.commands.useUp(activation, row.key)
      return settleDivergence(engine, run, activation, row.key, mail)
    default:
      return activation.arrive(arrivalOfMail(mail)!, undefined, row.key)
  }
}

function keepFor(engine: EngineState, run: LoadedRun, row: InboxRow): void {
  const kept = run.mail.get(row.act)
  if (kept !== undefined) kept.push(row)
  else if (!isOver(run, row.act)) run.mail.set(row.act, [row])
  else {
    // Its end is in the log: this row will not be read, and left unread it would wake the run again and again.
    engine.batch.taken.push({ act: row.act, key: row.key })
    engine.touch(run)
  }
}

/**
 * Whether an activation that is not in memory has ended. If its leader's code has asked for it, it would be in memory;
 * otherwise the recorded past says how it ended.
 */
function isOver(run: LoadedRun, id: ActivationId): boolean {
  const above = parentOf(id)
  if (above === undefined) return false
  const leader = run.activations.get(above.parent)
  if (leader === undefined ? isOver(run, above.parent) : !leader.willAsk(above.address)) return !run.unborn.has(id)
  return run.past?.lastEvent(id)?.type === 'activation.settled'
}

/** Records why a command changes nothing (team C65). True if it changes nothing. */
function ignores(
  engine: EngineState,
  run: LoadedRun,
  root: LoadedActivation,
  mail: Extract<InboxMail, { type: 'pause' | 'resume' }>,
): boolean {
  // a resume brings a run back that was set aside
  if (mail.type === 'resume' && run.broughtBack === 'resume' && run.pause === undefined) return false
  const why = whyIgnored(mail, run.pause === undefined ? 'none' : run.pause.at === 'human' ? 'human' : 'pause')
  if (why !== undefined && !root.over) engine.commands.append(root, ignored(mail, why), engine.clock.now())
  return why !== undefined
}

function cancel(
  engine: EngineState,
  run: LoadedRun,
  activation: LoadedActivation,
  key: string,
  mail: Extract<InboxMail, { type: 'cancel' }>,
): void {
  // A paused run that is cancelled goes on to its end: what undoes it must be let out.
  if (run.pause !== undefined && activation === run.root) letGo(engine, run)
  if (run.stuck !== undefined) engine.commands.unstick(run)
  activation.arrive(arrivalOfMail(mail)!, undefined, key)
}

function pause(
  engine: EngineState,
  run: LoadedRun,
  root: LoadedActivation,
  mail: Extract<InboxMail, { type: 'pause' }>,
  key: string,
): void {
  if (ignores(engine, run, root, mail)) return
  if (run.pause === undefined) commandChildren(engine, run, key, mail)
  const reached = run.pause?.reached === true
  if (run.pause === undefined) {
    const event = { type: 'run.pausing', at: mail.at, ...within(mail), ...said(mail), ...commandId(mail) } as const
    engine.commands.append(root, event, engine.clock.now())
  } else run.pause.callOff?.()
  run.pause = { at: mail.takeover === true ? 'human' : mail.at, reached }
  if (mail.takeover === true)
    engine.commands.append(root, { type: 'run.taken-over', ...said(mail), ...commandId(mail) }, engine.clock.now())
  engine.batch.control.push({ run: run.id, state: mail.takeover === true ? 'human_control' : 'pausing' })
  if (reached) return
  if (mail.at === 'now') return callBack(engine, run)
  engine.effects.recall([...run.out].filter((op) => run.holds(op)))
  escalateAt(engine, run, run.pause, engine.clock.now(), mail)
}

/** If the pause was given a time, what has not ended by then is called back. */
function escalateAt(
  engine: EngineState,
  run: LoadedRun,
  pausing: NonNullable<LoadedRun['pause']>,
  since: number,
  mail: { readonly withinMs?: number; readonly reason?: string; readonly by?: string },
): void {
  if (mail.withinMs === undefined) return
  pausing.callOff = engine.clock.timer(since + mail.withinMs, () => {
    if (run.pause !== pausing || pausing.reached || engine.runs.get(run.id) !== run) return
    if (pausing.at !== 'human') pausing.at = 'now'
    if (run.root !== undefined)
      engine.commands.append(
        run.root,
        { type: 'run.pausing', at: 'now', escalated: true, ...said(mail) },
        engine.clock.now(),
      )
    callBack(engine, run)
  })
}

/** A pause that has outlived the memory in which it was asked for goes on as it was asked for. */
export function restorePause(engine: EngineState, run: LoadedRun): void {
  const asked = run.root?.pausing
  if (run.pause === undefined || asked === undefined) return
  run.pause.at = asked.takenOver ? 'human' : asked.event.at
  run.pause.reached = asked.reached
  if (!run.pause.reached) escalateAt(engine, run, run.pause, asked.at, asked.event)
}

/** Aborts what is out and may be repeated; it runs again after the pause and loses no attempt by it. */
function callBack(engine: EngineState, run: LoadedRun): void {
  for (const op of run.out) if (op.effect !== 'once') engine.effects.abort(op, 'paused', true)
  engine.touch(run)
}

function letGo(engine: EngineState, run: LoadedRun): void {
  run.pause?.callOff?.()
  run.pause = undefined
  const held = run.held
  run.held = []
  engine.batch.control.push({ run: run.id, state: null })
  for (const op of held) engine.commands.letOut(op)
}

function resume(
  engine: EngineState,
  run: LoadedRun,
  root: LoadedActivation,
  mail: Extract<InboxMail, { type: 'resume' }>,
  key: string,
): void {
  if (ignores(engine, run, root, mail)) return
  commandChildren(engine, run, key, mail)
  if (mail.handBack === true)
    engine.commands.append(root, { type: 'run.handed-back', ...said(mail), ...commandId(mail) }, engine.clock.now())
  engine.commands.append(root, { type: 'run.resumed', ...said(mail), ...commandId(mail) }, engine.clock.now())
  letGo(engine, run)
  root.fail()
}

function settleDoubt(
  engine: EngineState,
  run: LoadedRun,
  activation: LoadedActivation,
  key: string,
  mail: Extract<InboxMail, { type: 'settle-doubt' }>,
): void {
  const op = activation.operations.get(mail.address)
  if (op?.doubt === undefined) {
    const over = op === undefined ? activation.isOver(mail.address) : op.endRecorded || op.stopped !== undefined
    if (over) return engine.commands.useUp(activation, key)
    // The code has not come to this step yet: it will ask.
    run.doubts.set(`${activation.id}:${key}`, () => settleDoubt(engine, run, activation, key, mail))
    return
  }
  run.doubts.delete(`${activation.id}:${key}`)
  activation.doubtEnded(op)
  if (mail.happened)
    return activation.arrive(
      { type: 'step.settled', address: op.address, outcome: happenedAs(op, mail) },
      undefined,
      key,
    )
  engine.commands.useUp(activation, key)
  engine.commands.append(activation, { type: 'effect.cleared', address: op.address, ...by(mail) }, engine.clock.now())
  activation.cleared(op)
}

function settleDivergence(
  engine: EngineState,
  run: LoadedRun,
  activation: LoadedActivation,
  key: string,
  mail: Extract<InboxMail, { type: 'settle-divergence' }>,
): void {
  const { address, action, to } = mail
  engine.commands.append(
    activation,
    { type: 'replay.resolved', address, action, ...(to === undefined ? {} : { to }), ...by(mail) },
    engine.clock.now(),
  )
  // its other questions are still asked
  engine.batch.closed.push({ act: activation.id, address: key.slice(divergedKey.length) })
  engine.commands.unstick(run)
  run.reload = true
  engine.touch(run)
}
