/**
 * The view of a batch: what it is for, how far it is, what was refused and why.
 *
 * Owns: the view and the results, as folds of its journal. Does not own: the steps (batch-agent.ts).
 * Holds: K1: nothing of it is kept beside the journal. What it holds is bounded, whatever is refused.
 */
import { present, type RunId } from '@reeve/core'
import { briefValue, readEdge } from '@reeve/edge'
import { batchAgent, unknownRun, type Engine, type RunStatus, type RunSummary } from '@reeve/engine'
import { isEdge, type Recorded } from '@reeve/journal'
import { foldsOf, type FoldKind } from '../feed/run-folds.ts'
import { resultOf, runStep, selectStep, type BatchResult, type SelectedPage } from './batch-agent.ts'
import type { BatchFilter, BatchRequest, BatchScope, BatchVerb } from './request.ts'

/** Why runs were refused. */
export interface BatchCause {
  readonly code: string
  /** That of the first one. */
  readonly message: string
  readonly hint?: string
  readonly count: number
  /** The first ten. */
  readonly runs: readonly RunId[]
}

/** A batch: one command for many runs, and how far it is. Times are milliseconds since 1970. */
export interface BatchView {
  /** The id of the batch, which is a run. */
  readonly id: RunId
  readonly verb: BatchVerb
  readonly filter: BatchFilter
  readonly by?: string
  readonly reason?: string
  /** Whose runs it reaches. Absent: all. */
  readonly scope?: BatchScope
  /** Of the batch: `running`, `paused`, `completed`, `cancelled`, … */
  readonly status: RunStatus
  readonly startedAt: number
  readonly endedAt?: number
  /** How many runs it is for. Absent: they are still being looked for. */
  readonly total?: number
  /** More runs match than its limit allows. */
  readonly more?: true
  /** Runs that got the command. */
  readonly done: number
  /** Runs that were so already. */
  readonly before: number
  readonly refused: number
  /** Runs that it has not got to; of a batch that was cancelled, those that it never gets to. */
  readonly left: number
  /** What was refused, by code: the most frequent first. */
  readonly causes: readonly BatchCause[]
}

interface Cause {
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
  count: number
  readonly runs: RunId[]
}

interface BatchFold {
  request: BatchRequest | undefined
  total: number
  isSelected: boolean
  more: boolean
  readonly counts: Record<BatchResult['status'], number>
  readonly causes: Map<string, Cause>
}

const runsOfCause = 10

const batchFold: FoldKind<BatchFold> = {
  name: 'batch',
  begin: () => ({
    request: undefined,
    total: 0,
    isSelected: false,
    more: false,
    counts: { done: 0, before: 0, refused: 0 },
    causes: new Map(),
  }),
  take(fold, recorded) {
    fold.request ??= requestIn(recorded)
    const page = pageIn(recorded)
    if (page !== undefined) {
      fold.total += page.runs.length
      fold.isSelected = page.next === null
      fold.more = page.more === true
    }
    const result = resultIn(recorded)
    if (result === undefined) return
    fold.counts[result.status]++
    if (result.status === 'refused') noteCause(fold.causes, result)
  },
  size: ({ causes }) => 10 + causes.size * runsOfCause,
}

function noteCause(
  causes: BatchFold['causes'],
  { run, error }: Extract<BatchResult, { readonly status: 'refused' }>,
): void {
  const { code, message, hint } = error
  const known = causes.get(code)
  if (known === undefined) causes.set(code, { code, message, hint, count: 1, runs: [run] })
  else {
    known.count++
    if (known.runs.length < runsOfCause) known.runs.push(run)
  }
}

function requestIn({ event }: Recorded): BatchRequest | undefined {
  if (event.type !== 'activation.started' || !isEdge(event.input)) return undefined
  return briefValue(readEdge(event.input).work.brief) as unknown as BatchRequest
}

function pageIn({ event }: Recorded): SelectedPage | undefined {
  if (event.type !== 'step.settled' || !isStep(event.address, selectStep)) return undefined
  return event.outcome.status === 'completed' ? (event.outcome.output as unknown as SelectedPage) : undefined
}

const isStep = (address: string, name: string): boolean => address === name || address.startsWith(`${name}#`)

/** The result that an event of a batch records; undefined for any other event. */
export function resultIn({ event }: Recorded): BatchResult | undefined {
  if (event.type !== 'step.settled' || !event.address.startsWith(runStep)) return undefined
  return resultOf(decodeURIComponent(event.address.slice(runStep.length)) as RunId, event.outcome)
}

/** The summary of a batch. Throws `run.unknown` for an id that is that of none. */
export async function batchSummary(engine: Engine, id: RunId): Promise<RunSummary> {
  const summary = await engine.summary(id)
  if (summary?.agent !== batchAgent) throw unknownRun(id)
  return summary
}

/** A batch as it is now. Throws `run.unknown`. */
export async function batchView(engine: Engine, id: RunId): Promise<BatchView> {
  await batchSummary(engine, id)
  const { fold, summary } = await foldsOf(engine).of(batchFold, id)
  const { request, total, isSelected, more, counts, causes } = fold
  if (request === undefined) throw unknownRun(id)
  const { verb, filter, by, reason, scope } = request
  const { status, createdAt, endedAt } = summary
  const gone = counts.done + counts.before + counts.refused
  return {
    id,
    verb,
    filter,
    ...present({ by, reason, scope }),
    status,
    startedAt: createdAt,
    ...present({ endedAt, total: isSelected ? total : undefined, more: more ? (true as const) : undefined }),
    ...counts,
    left: total - gone,
    causes: [...causes.values()]
      .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))
      .map(({ code, message, hint, count, runs }) => ({ code, message, ...present({ hint }), count, runs: [...runs] })),
  }
}
