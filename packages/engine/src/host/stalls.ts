/**
 * Stalls: open runs that nothing moves. A run in memory stalls if nothing was recorded of it for longer than the delay of
 * its process explains, and no effect of it is under way. A process knows that of its own runs, and says it in its
 * report; the others see from the store which runs no process has taken up, and whose process stands still.
 *
 * Owns: when a run counts as stalled, and what it waits for. Does not own: how the report is kept (the stores), what is
 * shown of it (runtime/system.ts). Holds: a long call by a process that lives is no stall; nor is a wait for a person,
 * a timer or a pause.
 */
import { stopwatch, type RunId } from '@reeve/core'
import type { HeldStall, ProcessReport, StalledRun, StoredProcess, UnmovedRun } from '../port.ts'
import type { EngineState } from './engine-state.ts'
import type { LoadedRun } from './loaded-run.ts'

/** Nothing that moves takes longer between two steps of its own, on a machine without delay. Milliseconds. */
const stalledAfterMs = 5_000
/** Of a late process so many delays in a row explain that a run of it has not moved. */
const delaysExplained = 8
/** How often a process that holds runs reports; sooner if what it reports is another. Milliseconds. */
const reportEveryMs = 2_000

/** After how long without a step a run of a process with this delay counts as stalled. Milliseconds. */
export const stalledAfter = (delayMs: number): number => stalledAfterMs + delaysExplained * delayMs

/** The runs in memory that nothing moves. `isAway`: the store does not answer. */
export function heldStalls(
  engine: Pick<EngineState, 'runs' | 'effects' | 'store'>,
  delayMs: number,
  isAway: boolean,
): readonly HeldStall[] {
  const stalls: HeldStall[] = []
  const [now, time] = [stopwatch(), engine.store.time()]
  const longest = stalledAfter(delayMs)
  for (const run of engine.runs.values()) {
    const stillMs = now - run.movedAt
    if (stillMs < longest || isExplained(engine, run)) continue
    const since = Math.round(time - stillMs)
    stalls.push({ run: run.id, since, waitsFor: isAway ? 'store' : awaitsCode(run) ? 'code' : 'engine' })
  }
  return stalls
}

/** Whether it need not move: it is at rest, or an effect of it is under way. */
function isExplained({ effects }: Pick<EngineState, 'effects'>, run: LoadedRun): boolean {
  if (run.ended || run.stuck !== undefined || run.pause?.reached === true || run.quiet) return true
  for (const op of run.out) if (effects.isUnderWay(op)) return true
  return false
}

function awaitsCode(run: LoadedRun): boolean {
  for (const activation of run.activations.values()) if (activation.awaitsForeign) return true
  return false
}

/** All stalls that a store shows, at this moment of its time. None where no process that drives lives. */
export function stallsIn(
  processes: readonly StoredProcess[],
  unmoved: readonly UnmovedRun[],
  now: number,
): readonly StalledRun[] {
  // one that reports drives: others have a lease as well, to be told of news
  const drivers = processes.flatMap(({ isAlive, report }) => (isAlive === true && report !== undefined ? [report] : []))
  if (drivers.length === 0) return []
  const longest = stalledAfter(Math.max(...drivers.map(({ delayMs }) => delayMs)))
  // it is no stall that nothing moved before the first of them was there
  const first = Math.min(...drivers.map(({ begun }) => begun))
  const holders = new Map(processes.map((each) => [each.id, each]))
  return unmoved.flatMap(({ run, owner, since }): readonly StalledRun[] => {
    const holder = owner === null ? undefined : holders.get(owner)
    if (owner === null || holder === undefined || holder.isAlive === false)
      return now - Math.max(since, first) < longest
        ? []
        : [owner === null ? { run, since, waitsFor: 'worker' } : { run, since, waitsFor: 'takeover', holder: owner }]
    if (holder.report === undefined) return []
    const isStanding = now - holder.report.at >= reportEveryMs + stalledAfter(holder.report.delayMs)
    if (isStanding)
      return [{ run, since: Math.max(since, holder.report.at), waitsFor: 'event-loop', holder: holder.id }]
    const told = holder.report.stalled.find((each) => each.run === run)
    return told === undefined ? [] : [{ ...told, holder: holder.id }]
  })
}

/** So many stalls are in a report at most: one that says more is no clearer. */
const mostReported = 100

/** A process's word on itself: written when it is due, or when what it says of its runs has changed. */
export class Reporter {
  #said = ''
  #saidAt = -Infinity
  #lookedAt = -Infinity

  /** What is to be written now, if anything. */
  due(engine: Pick<EngineState, 'runs' | 'effects' | 'store'>, report: () => ProcessReport): string | undefined {
    const now = stopwatch()
    if (engine.runs.size === 0 && this.#said === '') return undefined
    const isFirst = this.#said === ''
    if (!isFirst && now - this.#lookedAt < reportEveryMs / 2) return undefined
    this.#lookedAt = now
    const said = report()
    const shown = JSON.stringify(said.stalled.map(({ run }): RunId => run))
    if (!isFirst && shown === this.#said && now - this.#saidAt < reportEveryMs) return undefined
    // one that holds nothing any more has said so, and is silent until it holds a run again
    this.#said = engine.runs.size === 0 ? '' : shown
    this.#saidAt = now
    return JSON.stringify({ ...said, stalled: said.stalled.slice(0, mostReported) })
  }
}
