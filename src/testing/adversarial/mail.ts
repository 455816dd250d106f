/** What a row of an inbox means to an activation of the adversarial engine. */
import { rootActivation, type OpId } from '../../core/index.ts'
import { arrivalOfMail, by, commandId, divergedKey, happenedAs, ignored, said, whyIgnored, type Mail } from '../../engine/index.ts'
import type { Loaded, Site } from './site.ts'
import type { StoredRun } from './store.ts'

/** Gives an activation everything that is in its inbox and was not given to it yet. */
export function pull(site: Site, loaded: Loaded): void {
  for (const row of loaded.box.rows.values()) {
    if (row.taken || loaded.handed.has(row.key)) continue
    loaded.handed.add(row.key)
    give(site, loaded, row.key, JSON.parse(row.body) as Mail)
  }
}

function give(site: Site, loaded: Loaded, key: string, mail: Mail): void {
  const { activation } = loaded
  const use = (): void => {
    activation.taken.push(key)
    loaded.changed = true
  }
  switch (mail.type) {
    case 'cancel':
      loaded.box.stuck = undefined
      endPause(site, loaded, { at: 'cancelled', reached: true })
      return activation.arrive(arrivalOfMail(mail)!, undefined, key)
    case 'pause':
      use()
      return pause(site, loaded, mail)
    case 'resume':
      use()
      if (ignores(site, loaded, mail)) return
      if (mail.handBack === true) site.append(activation, { type: 'run.handed-back', ...said(mail), ...commandId(mail) }, site.now())
      site.append(activation, { type: 'run.resumed', ...said(mail), ...commandId(mail) }, site.now())
      endPause(site, loaded, undefined)
      return activation.fail()
    case 'settle-doubt':
      return settleDoubt(site, loaded, key, mail)
    case 'settle-divergence': {
      use()
      const { address, action, to, by } = mail
      site.append(
        activation,
        { type: 'replay.resolved', address, action, ...(to === undefined ? {} : { to }), ...(by === undefined ? {} : { by }) },
        site.now(),
      )
      loaded.closed.push(key.slice(divergedKey.length) as OpId)
      loaded.box.stuck = undefined
      loaded.reload = true
      return
    }
    default:
      return activation.arrive(arrivalOfMail(mail)!, undefined, key)
  }
}

/** True: nothing changes, and whoever looks can see why. */
function ignores(site: Site, { activation }: Loaded, mail: Extract<Mail, { type: 'pause' | 'resume' }>): boolean {
  const at = site.store.runs.get(mail.run)?.pause?.at
  const held = at === undefined || (at === 'cancelled' && mail.type === 'resume') ? 'nobody' : at === 'human' ? 'human' : 'pause'
  const why = whyIgnored(mail, held)
  if (why !== undefined && !activation.over) site.append(activation, ignored(mail, why), site.now())
  return why !== undefined
}

function pause(site: Site, root: Loaded, mail: Extract<Mail, { type: 'pause' }>): void {
  const run = site.store.runs.get(mail.run)!
  if (ignores(site, root, mail) || run.pause?.at === 'cancelled') return
  const reached = run.pause?.reached === true
  const { at, withinMs, takeover = false } = mail
  if (run.pause === undefined) {
    const event = { type: 'run.pausing', at, ...(withinMs === undefined ? {} : { withinMs }), ...said(mail), ...commandId(mail) } as const
    site.append(root.activation, event, site.now())
  }
  if (takeover) site.append(root.activation, { type: 'run.taken-over', ...said(mail), ...commandId(mail) }, site.now())
  const mine: NonNullable<StoredRun['pause']> = (run.pause = { at: takeover ? 'human' : at, reached })
  if (reached) return
  const callBack = (): void => {
    for (const op of site.out)
      if (op.effect !== 'once' && op.owner.id.startsWith(rootActivation(mail.run))) site.effects.abort(op, 'paused', true)
  }
  if (at === 'now') return callBack()
  site.effects.recall([...site.out].filter((op) => site.paused(op.owner.id, op)))
  if (mail.withinMs === undefined) return
  site.clock.timer(site.now() + mail.withinMs, () => {
    if (run.pause !== mine || mine.reached || site.dead) return
    if (mine.at !== 'human') mine.at = 'now'
    const now = site.rootOf(mail.run)
    if (now !== undefined) site.append(now.activation, { type: 'run.pausing', at: 'now', escalated: true, ...said(mail) }, site.now())
    callBack()
  })
}

/** Only the root's word ends a pause: a worker that is stopped alone stays under it. */
function endPause(site: Site, { activation }: Loaded, then: StoredRun['pause']): void {
  const run = [...site.store.runs.values()].find(({ id }) => rootActivation(id) === activation.id)
  if (run?.pause === undefined) return
  run.pause = then
  const mine = site.held.filter((op) => op.owner.id.startsWith(activation.id) && !site.paused(op.owner.id, op))
  site.held = site.held.filter((op) => !mine.includes(op))
  for (const op of mine) if (!op.owner.discarded) site.letOut(op)
}

function settleDoubt(site: Site, loaded: Loaded, key: string, mail: Extract<Mail, { type: 'settle-doubt' }>): void {
  const { activation } = loaded
  const op = activation.operations.get(mail.address)
  if (op?.doubt === undefined) {
    if (op === undefined ? activation.isOver(mail.address) : op.endRecorded || op.stopped !== undefined) {
      activation.taken.push(key)
      loaded.changed = true
      return
    }
    // the code has not come to this step yet: it will ask
    loaded.doubts.set(key, () => settleDoubt(site, loaded, key, mail))
    return
  }
  loaded.doubts.delete(key)
  activation.doubtEnded(op)
  if (mail.happened)
    return activation.arrive({ type: 'step.settled', address: op.address, outcome: happenedAs(op, mail.value) }, undefined, key)
  activation.taken.push(key)
  site.append(activation, { type: 'effect.cleared', address: op.address, ...by(mail) }, site.now())
  site.letOut(op)
}
