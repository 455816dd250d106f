/**
 * Stalls as commands show them: what a run waits for that nothing moves, since when, and which process holds it.
 *
 * Owns: the words. Does not own: what counts as stalled (engine).
 */
import { visible } from '@reeve/core'
import type { SystemView } from '@reeve/runtime'
import { timeText } from './request-text.ts'

type Installation = NonNullable<SystemView['installation']>
type Stall = NonNullable<Installation['stalled']>[number]

const causes: Readonly<Record<Stall['waitsFor'], string>> = {
  worker: 'no process has taken it up',
  takeover: 'its process is gone, and no other one has taken it over',
  'event-loop': 'the event loop of its process stands still',
  store: 'its process waits for the store',
  code: 'its code awaits something outside of a step',
  engine: 'its process does not move it',
}

/** A stall in one line, without the run. */
export function stallText({ waitsFor, since, holder }: Stall, { workers }: Pick<Installation, 'workers'>): string {
  const worker = workers.find(({ id }) => id === holder)
  const where = [
    ...(worker?.pid === undefined ? [] : [`pid ${worker.pid}`]),
    ...(worker?.host === undefined ? [] : [`on ${visible(worker.host)}`]),
    ...(worker?.delayMs === undefined ? [] : [`${worker.delayMs} ms late`]),
  ]
  const held =
    holder === undefined ? '' : `; held by ${visible(holder)}${where.length === 0 ? '' : ` (${where.join(', ')})`}`
  return `stalled since ${timeText(since)}: ${causes[waitsFor]}${held}`
}

/** The stalls of a run and of its child runs. */
export const stallsOf = (run: string, { stalled = [] }: Pick<Installation, 'stalled'>): readonly Stall[] =>
  stalled.filter((each) => each.run === run || each.run.startsWith(`${run}>`))
