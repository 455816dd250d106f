/**
 * Session queue: which runs wait for their session, and behind which run.
 *
 * Owns: reading that from the queue of the session. Does not own: the queue itself (session.ts). A run that is not
 * first is queued; only the queue says so, and the run records nothing of it. K2: any process may ask.
 */
import { Slices, type RunId } from '@reeve/core'
import { readEdge, workText } from '@reeve/edge'
import { mostListed, mustBeRunFilter, streamOf, type Engine, type RunFilter, type RunSummary } from '@reeve/engine'
import { isEdge, type RunView } from '@reeve/journal'
import { hasEnded } from './feed/run-feed.ts'
import { runsInLine, sessionQueue, turnOf, type EndOf } from './session.ts'

type Waits = Pick<RunSummary, 'run' | 'caller'>

/** The run that has the session that this run waits for; undefined if it does not wait, or that run has ended. */
export async function queuedBehind(engine: Engine, waits: Waits): Promise<RunId | undefined> {
  return waits.caller.session === undefined ? undefined : behindIn(engine, await sessionLine(engine, waits), waits.run)
}

/** The queue of a run's session, in order. */
const sessionLine = async (engine: Engine, { run, caller }: Waits): Promise<readonly RunId[]> =>
  runsInLine(await engine.stream(streamOf(caller, run)).get(sessionQueue.key))

async function behindIn(engine: Engine, [first, ...others]: readonly RunId[], run: RunId): Promise<RunId | undefined> {
  if (first === undefined || !others.includes(run)) return undefined
  const ahead = await engine.summary(first)
  return ahead === undefined || hasEnded(ahead.status) ? undefined : first
}

/** How a run of a session has ended that did not leave the queue: its turn, of its journal. Undefined: it goes on. */
export async function endOfRun(engine: Engine, run: RunId): ReturnType<EndOf> {
  const summary = await engine.summary(run)
  if (summary === undefined) return {}
  if (summary.endedAt === undefined) return undefined
  // one after the other: a closed engine refuses the second at once, and nobody would hear of the first
  const events = await engine.read(run, 0, 1)
  const end = await engine.outcome(run)
  const first = events[0]?.event
  if (first?.type !== 'activation.started' || !isEdge(first.input)) return {}
  return { turn: turnOf({ run, agent: first.agent }, workText(readEdge(first.input).work), end.outcome) }
}

/** The view of a run, with the status `queued` if it waits for its session. */
export async function withQueue(engine: Engine, view: RunView): Promise<RunView> {
  const behind = view.status === 'running' ? await queuedBehind(engine, view) : undefined
  return behind === undefined ? view : { ...view, status: 'queued', queued: { behind } }
}

/** The summary of a run, with the status `queued` if it waits for its session. */
export async function withPlaceInQueue(engine: Engine, summary: RunSummary): Promise<RunSummary> {
  const behind = summary.status === 'running' ? await queuedBehind(engine, summary) : undefined
  return behind === undefined ? summary : { ...summary, status: 'queued', queued: { behind } }
}

/** So many runs are read in one turn of the event loop. Child runs are read at once: each page looks at all of them. */
const runsAtOnce = 100

/**
 * Runs, newest first. For an engine, a queued run is a running one: where only one of the two is asked for, runs are
 * looked at until there are enough of it.
 */
export async function listRuns(engine: Engine, filter: RunFilter = {}): Promise<readonly RunSummary[]> {
  mustBeRunFilter(filter, 'runs()')
  const { status, limit = mostListed } = filter
  const asked = status === undefined ? undefined : new Set(status)
  const isWhole = asked === undefined || asked.has('queued') === asked.has('running')
  const known = asked && [...new Set([...asked].map((each) => (each === 'queued' ? 'running' : each)))]
  // one read of a queue for all runs of its session
  const lines = new Map<string, Promise<readonly RunId[]>>()
  const lineFor = (waits: Waits): Promise<readonly RunId[]> => {
    const stream = streamOf(waits.caller, waits.run)
    const line = lines.get(stream) ?? sessionLine(engine, waits)
    lines.set(stream, line)
    return line
  }
  const found: RunSummary[] = []
  const slices = new Slices()
  const most = filter.childrenOf === undefined ? runsAtOnce : Infinity
  const size = Math.min(isWhole ? limit : Math.max(limit, mostListed), most)
  for (let after = filter.after; ;) {
    await slices.giveWay()
    const page = await engine.runs({
      ...filter,
      ...(known === undefined ? undefined : { status: known }),
      ...(after === undefined ? undefined : { after }),
      limit: size,
    })
    const told = await Promise.all(page.map((each) => queuedSummary(engine, each, lineFor)))
    found.push(...told.filter(({ status: each }) => asked?.has(each) ?? true))
    if (found.length >= limit || page.length < size) return found.slice(0, limit)
    after = page.at(-1)!
  }
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
