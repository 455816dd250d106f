/**
 * The batch: a run that gives one command to many others, run by run.
 *
 * Owns: its code: which runs match is recorded first, then one step for each of them, with its result. Does not own: what
 * a command does (../operator), the request (request.ts), what is told of it (batch-view.ts).
 * Holds: K1, K6: it goes on in any process after a crash and does no finished step again; a step that was under way is
 * safe to do again, because a command has an id that follows from the batch, and a retry one that follows from its run.
 * Every step looks at the run anew, within the scope of who began the batch. K4: the name of the agent, the names of its
 * steps and the form of their results are persistent format.
 */
import {
  completed,
  cut,
  derivedId,
  present,
  ReeveError,
  type Json,
  type OpId,
  type Outcome,
  type RunId,
} from '@reeve/core'
import { briefValue, readEdge } from '@reeve/edge'
import {
  batchAgent,
  unknownRun,
  type Context,
  type Orchestration,
  type RunFilter,
  type RunSummary,
} from '@reeve/engine'
import type { RetryOptions, RetryScope } from '../operator/retry.ts'
import { isInScope, mustGoOnPublished } from '../operator/run-scope.ts'
import type { Run } from '../run-handle.ts'
import type { RuntimeVersions } from '../versions.ts'
import type { BatchRequest, BatchVerb } from './request.ts'

/** Why a run was refused. */
export interface BatchRefusal {
  readonly code: string
  readonly message: string
  readonly hint?: string
}

/**
 * What became of one run. `before`: it was so already. Of a retry: the new run, where it goes on and what it does not
 * keep.
 */
export type BatchResult =
  | ({ readonly run: RunId; readonly status: 'done' | 'before'; readonly retry?: RunId } & Partial<RetryScope>)
  | { readonly run: RunId; readonly status: 'refused'; readonly error: BatchRefusal }

/** Where the next page of runs is looked for: in the list of which agent, after which run. */
interface PageStart {
  readonly agent: number
  readonly after?: NonNullable<RunFilter['after']>
}

/** A page of runs that match. `next: null`: it was the last one; `more`: there are more than the limit. */
export interface SelectedPage {
  readonly runs: readonly RunId[]
  readonly next: PageStart | null
  readonly more?: true
}

/** What a batch needs of its runtime. */
export interface BatchRuntime {
  readonly versions: RuntimeVersions
  handle(id: string): Run
  runs(filter: RunFilter): Promise<readonly RunSummary[]>
  retry(run: string, options: RetryOptions): Promise<Run & RetryScope>
}

/** The step that looks for a page of runs, and the beginning of the name of one that commands a run. */
export const selectStep = 'select'
export const runStep = 'run '

const pageSize = 1_000
/** So many runs are commanded at the same time. */
const atOnce = 16
const [longestMessage, attemptMs] = [1_000, 300_000]
const retry = { attempts: 8, backoffMs: 500, maxBackoffMs: 30_000 }

/** The batch as code for an engine. `runtime`: the one that drives it. */
export const batchCode = (runtime: () => BatchRuntime): Orchestration => ({
  name: batchAgent,
  version: '1',
  run: (ctx, input) => workOn(ctx, briefValue(readEdge(input).work.brief) as unknown as BatchRequest, runtime),
})

async function workOn(ctx: Context, request: BatchRequest, runtime: () => BatchRuntime): Promise<Outcome> {
  const runs: RunId[] = []
  let hasMore = false
  for (let at: PageStart | null = { agent: 0 }; at !== null;) {
    const start = at
    const room = request.limit - runs.length
    const page = await selected(ctx, () => selectPage(runtime(), request, start, room))
    if (page.status !== 'completed') return page
    const found = page.output as unknown as SelectedPage
    runs.push(...found.runs)
    hasMore = found.more === true
    at = found.next
  }
  const counts = { done: 0, before: 0, refused: 0 }
  const open = new Set<OpId>()
  for (let next = 0; next < runs.length || open.size > 0;) {
    for (; open.size < atOnce && next < runs.length; next++) open.add(begin(ctx, request, runs[next]!, runtime))
    const ended = await ctx.next((arrival) => arrival.type === 'step.settled' && open.has(arrival.id))
    if (ended.type !== 'step.settled') continue
    open.delete(ended.id)
    counts[resultStatus(ended.outcome)]++
  }
  return completed({ total: runs.length, ...counts, ...(hasMore ? { more: true } : {}) })
}

const resultStatus = (outcome: Outcome): BatchResult['status'] =>
  outcome.status === 'completed' ? (outcome.output as unknown as BatchResult).status : 'refused'

async function selected(ctx: Context, select: () => Promise<SelectedPage>): Promise<Outcome> {
  const id = ctx.begin(selectStep, async () => (await select()) as unknown as Json, {
    retry,
    timeoutMs: attemptMs,
    holds: 'kept',
  })
  return (await ctx.next(id)).outcome
}

async function selectPage(
  runtime: BatchRuntime,
  { filter, scope = {} }: BatchRequest,
  { agent: nth, after }: PageStart,
  room: number,
): Promise<SelectedPage> {
  const agents = agentsOf(filter.agent, scope.agents)
  if (nth >= agents.length) return { runs: [], next: null }
  const size = Math.min(room, pageSize)
  const found = await runtime.runs({
    ...filter,
    ...present({ agent: agents[nth], tenant: scope.tenant ?? filter.tenant, after }),
    // one more than is taken says whether there is another page
    limit: size + 1,
  })
  const page = found.slice(0, size)
  const runs = page.map(({ run }) => run)
  const last = page.at(-1)
  const isFull = found.length > size
  if (isFull && room <= size) return { runs, next: null, more: true }
  if (isFull && last !== undefined)
    return { runs, next: { agent: nth, after: { createdAt: last.createdAt, run: last.run } } }
  if (nth + 1 >= agents.length) return { runs, next: null }
  // full to the last place: whether another agent has more is not looked at
  return room > runs.length ? { runs, next: { agent: nth + 1 } } : { runs, next: null, more: true }
}

/** The agents whose runs are looked for, one after the other; `[undefined]`: those of all. */
function agentsOf(said: string | undefined, scope: readonly string[] | undefined): readonly (string | undefined)[] {
  if (scope === undefined) return [said]
  return said === undefined ? scope : scope.filter((each) => each === said)
}

function begin(ctx: Context, request: BatchRequest, run: RunId, runtime: () => BatchRuntime): OpId {
  const id = derivedId('msg', ctx.place.run, run)
  return ctx.begin(runStep + run, async () => (await command(runtime(), request, run, id)) as unknown as Json, {
    effect: 'idempotent',
    retry,
    timeoutMs: attemptMs,
    holds: { '*': 'kept', error: { '*': 'kept', message: 'text' } },
  })
}

async function command(runtime: BatchRuntime, request: BatchRequest, run: RunId, id: string): Promise<BatchResult> {
  try {
    const handle = runtime.handle(run)
    const { verb, scope = {}, by = 'batch' } = request
    const summary = await handle.summary()
    if (!isInScope(scope, summary)) throw unknownRun(run)
    if (verb === 'retry' && scope.publishedOnly === true) await mustGoOnPublished(runtime.versions, handle, by)
    return { run, ...(await commands[verb]({ runtime, handle, request, id, status: summary.status })) }
  } catch (thrown) {
    // what is wrong with one run is told with it; what is wrong with the store is tried again
    if (!ReeveError.is(thrown) || isOfStore(thrown)) throw thrown
    const { code, message, hint } = thrown
    return { run, status: 'refused', error: { code, message: cut(message, longestMessage), ...present({ hint }) } }
  }
}

const isOfStore = ({ code, retryable }: ReeveError): boolean =>
  retryable || code.startsWith('store.') || code.startsWith('engine.')

interface Commanded {
  readonly runtime: BatchRuntime
  readonly handle: Run
  readonly request: BatchRequest
  /** Of the command: the same whenever it is given. */
  readonly id: string
  /** Of the run, now. */
  readonly status: string
}
type CommandEnd = { readonly status: 'done' | 'before'; readonly retry?: RunId } & Partial<RetryScope>

const [done, before] = [{ status: 'done' } as const, { status: 'before' } as const]

/** What each verb does to a run: what the verb of one run does. */
const commands: Readonly<Record<BatchVerb, (run: Commanded) => Promise<CommandEnd>>> = {
  async retry({ runtime, handle, request: { by, reason } }) {
    const { id, created, from, discarded } = await runtime.retry(handle.id, present({ by, reason }))
    return { status: created === false ? 'before' : 'done', retry: id, from, discarded }
  },
  async cancel({ handle, request: { by, reason, undo }, status }) {
    await handle.control.cancel(reason, by, present({ undo }))
    return status === 'cancelled' ? before : done
  },
  async pause({ handle, request: { by, reason, at, within }, id, status }) {
    if (status === 'paused' || status === 'pausing') return before
    await handle.control.pause({ ...present({ by, reason, at, within }), id })
    return done
  },
  async resume({ handle, request: { by, reason }, id, status }) {
    if (status === 'running' || status === 'queued') return before
    await handle.control.resume({ ...present({ by, reason }), id })
    return done
  },
}

/** The result that the end of a step tells. `run`: that it was for. */
export function resultOf(run: RunId, outcome: Outcome): BatchResult | undefined {
  if (outcome.status === 'completed') return outcome.output as unknown as BatchResult
  // a batch that was cancelled has not got to it
  if (outcome.status === 'cancelled') return undefined
  if (outcome.status === 'failed') {
    const { code, message } = outcome.failure
    return { run, status: 'refused', error: { code, message } }
  }
  return {
    run,
    status: 'refused',
    error: { code: 'effect.timed-out', message: `the command ended as ${outcome.status}` },
  }
}
