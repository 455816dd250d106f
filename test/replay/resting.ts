/** Time for a scenario that dies and goes on: it moves only where nothing else does. */
import type { Runtime } from '@reeve/runtime'
import type { ManualClock } from '@reeve/testing'

/** What was open when a clock was moved last, and how often somebody has looked since. */
const moved = new WeakMap<ManualClock, { readonly seen: string; looks: number }>()

/**
 * Time goes on only where nothing else does: everybody who has not ended waits, for somebody who has not ended or for
 * the clock. Who waits for nothing that is recorded, such as the reply of its leader, does not rest.
 */
export async function outside(runtime: Runtime, clock: ManualClock): Promise<void> {
  const view = await runtime
    .handle('simulated')
    .view()
    .catch(() => undefined) // nothing is recorded yet
  const open = (view?.activations ?? []).filter(({ outcome }) => outcome === undefined).map((each) => each.open)
  const workers = open.flat().filter(({ kind }) => kind === 'worker').length
  const rests =
    workers === open.length - 1 &&
    open.every((all) => all.length > 0 && all.every(({ kind }) => kind === 'worker' || kind === 'timer'))
  const seen = JSON.stringify(open)
  const last = moved.get(clock)
  // What the clock has woken gets its turn before the clock moves again: another process may have to take the run over
  // first.
  const waits = last !== undefined && last.seen === seen && last.looks++ < 30
  if (!rests || waits || !open.flat().some(({ kind }) => kind === 'timer')) return
  moved.set(clock, { seen, looks: 0 })
  clock.advanceToNext()
}

/**
 * The same for those who wait for mail, of which nothing is recorded but that nothing moves: it goes on where nothing
 * has happened for a while.
 */
export async function patient(runtime: Runtime, clock: ManualClock): Promise<void> {
  const view = await runtime
    .handle('simulated')
    .view()
    .catch(() => undefined) // nothing is recorded yet
  const open = (view?.activations ?? []).flatMap(({ outcome, open: all }) => (outcome === undefined ? all : []))
  if (!open.every(({ kind }) => kind === 'worker' || kind === 'timer') || !open.some(({ kind }) => kind === 'timer'))
    return
  const seen = String(view?.position)
  const last = moved.get(clock)
  if (last?.seen !== seen) moved.set(clock, { seen, looks: 0 })
  else if (++last.looks >= 8) {
    moved.set(clock, { seen, looks: 0 })
    clock.advanceToNext()
  }
}
