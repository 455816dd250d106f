/**
 * Queue: which runs wait for their turn in their session, and behind which run.
 *
 * Owns: reading that from the session's line. Does not own: the line and whose turn it is (session.ts). A run in the
 * line that is not its first is queued; only the line says so, so nothing of it is recorded in the run. K2: any process
 * may ask.
 */
import type { RunId } from '../core/index.ts'
import { streamOf, type Engine, type RunFilter, type RunSummary } from '../engine/index.ts'
import type { RunView } from '../journal/index.ts'
import { hasEnded } from './feed/run-feed.ts'
import { lineKey, runsInLine } from './session.ts'

type Waits = Pick<RunSummary, 'run' | 'caller'>

/**
 * The run that has the session in which this one waits for its turn; undefined if it does not wait. Of a run that has
 * ended the line is about to be left: nobody waits behind it.
 */
export async function queuedBehind(engine: Engine, waits: Waits): Promise<RunId | undefined> {
  return waits.caller.session === undefined ? undefined : behindIn(engine, await sessionLine(engine, waits), waits.run)
}

/** The runs in the line of a run's session, in their order. */
const sessionLine = async (engine: Engine, { run, caller }: Waits): Promise<readonly RunId[]> =>
  runsInLine(await engine.stream(streamOf(caller, run)).get(lineKey))

async function behindIn(engine: Engine, [first, ...others]: readonly RunId[], run: RunId): Promise<RunId | undefined> {
  if (first === undefined || !others.includes(run)) return undefined
  const ahead = await engine.summary(first)
  return ahead === undefined || hasEnded(ahead.status) ? undefined : first
}

/** A run's view, as what it waits for in its session makes it. */
export async function withQueue(engine: Engine, view: RunView): Promise<RunView> {
  const behind = view.status === 'running' ? await queuedBehind(engine, view) : undefined
  return behind === undefined ? view : { ...view, status: 'queued', queued: { behind } }
}

/** Runs, newest first: to an engine a queued run is one that runs. */
export async function listRuns(engine: Engine, filter: RunFilter = {}): Promise<readonly RunSummary[]> {
  const { status, limit = mostListed } = filter
  const asked = status === undefined ? undefined : new Set(status)
  const isWhole = asked === undefined || asked.has('queued') === asked.has('running')
  const known = asked && [...new Set([...asked].map((each) => (each === 'queued' ? 'running' : each)))]
  const found = await engine.runs({
    ...filter,
    ...(known === undefined ? undefined : { status: known }),
    limit: isWhole ? limit : Math.max(limit, mostListed),
  })
  // one look at a line for all runs of its session
  const lines = new Map<string, Promise<readonly RunId[]>>()
  const lineFor = (waits: Waits): Promise<readonly RunId[]> => {
    const stream = streamOf(waits.caller, waits.run)
    const line = lines.get(stream) ?? sessionLine(engine, waits)
    lines.set(stream, line)
    return line
  }
  const told = await Promise.all(found.map((each) => queuedSummary(engine, each, lineFor)))
  return told.filter(({ status: each }) => asked?.has(each) ?? true).slice(0, limit)
}

async function queuedSummary(
  engine: Engine,
  summary: RunSummary,
  lineFor: (waits: Waits) => Promise<readonly RunId[]>,
): Promise<RunSummary> {
  const isInLine = summary.status === 'running' && summary.caller.session !== undefined
  const behind = isInLine ? await behindIn(engine, await lineFor(summary), summary.run) : undefined
  return behind === undefined ? summary : { ...summary, status: 'queued', queued: { behind } }
}

/** How many are listed at most, where nobody says. */
const mostListed = 1_000
