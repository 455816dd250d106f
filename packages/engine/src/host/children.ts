/**
 * Child runs: workers that are placed apart, each a run of its own, and the rows that leader and worker send each other
 * through the store.
 *
 * Owns: which rows go from one to the other. Does not own: births (birth.ts), what a row means to its receiver
 * (inbox.ts).
 * Holds: K5 (a row leaves in the transaction of what it follows from), K7 (a leader waits for the ends of its child
 * runs, which are mail), K8 (a pause and a resume reach all of a run).
 */
import { parentOf, rootActivation, runOf, type Outcome, type RunId, type Usage } from '@reeve/core'
import type { Charge } from '@reeve/journal'
import { reasonAndAuthor, within, type InboxMail } from '../mail.ts'
import type { EngineState } from './engine-state.ts'
import type { LoadedRun } from './loaded-run.ts'

/**
 * Posts a command of an operator, or of its leader, to a child run. `key`: the same command under the same key counts
 * once.
 */
export function commandChild(
  engine: EngineState,
  leader: LoadedRun,
  child: RunId,
  key: string,
  mail: Extract<InboxMail, { readonly type: 'pause' | 'resume' | 'cancel' }>,
): void {
  const row = { act: rootActivation(child), target: 'run', kinds: undefined, from: leader.id } as const
  // a child run that has ended takes no more commands, and its end is on its way
  engine
    .post({ ...row, key: mail.type === 'cancel' ? '!cancel' : `!${mail.type}:${key}`, body: JSON.stringify(mail) })
    .catch(() => undefined)
}

/**
 * Passes a pause or a resume on. Where a human takes a run over, its child runs are paused. Each child run passes it on
 * to its own.
 */
export function commandChildren(
  engine: EngineState,
  run: LoadedRun,
  key: string,
  mail: Extract<InboxMail, { readonly type: 'pause' | 'resume' }>,
): void {
  for (const child of run.children) {
    if (leaderOf(child)?.run !== run.id) continue
    if (mail.type === 'resume')
      commandChild(engine, run, child, key, { type: 'resume', run: child, ...reasonAndAuthor(mail) })
    else {
      const at = mail.takeover === true ? 'next' : mail.at
      commandChild(engine, run, child, key, {
        type: 'pause',
        run: child,
        at,
        ...within(mail),
        ...reasonAndAuthor(mail),
      })
    }
  }
}

/**
 * A child run has ended: its leader gets the end in the same transaction. Nothing for a run that was started from
 * outside.
 */
export function reportEnd(
  engine: EngineState,
  { id }: LoadedRun,
  { outcome, usage, spent }: { readonly outcome: Outcome; readonly usage: Usage; readonly spent: Charge | undefined },
): void {
  const leader = leaderOf(id)
  if (leader === undefined) return
  const { act, address } = leader
  const end: InboxMail = {
    type: 'end',
    address,
    outcome,
    ...(usage.length === 0 ? {} : { usage }),
    ...(spent === undefined ? {} : { charge: spent }),
  }
  const row = { act, target: 'activation', kinds: undefined, from: id } as const
  engine.post({ ...row, key: `end:${address}`, body: JSON.stringify(end) }).catch(() => undefined)
}

const leaderOf = (
  child: RunId,
): { readonly act: ReturnType<typeof rootActivation>; readonly address: string; readonly run: RunId } | undefined => {
  const above = parentOf(rootActivation(child))
  return above === undefined ? undefined : { act: above.parent, address: above.address, run: runOf(above.parent) }
}
