/**
 * Batches: one verb for all runs that match a filter, as a run of its own.
 *
 * Owns: `runtime.batch` and `runtime.batches`. Does not own: the code of a batch (batch-agent.ts), its request
 * (request.ts), its view (batch-view.ts). Holds: a handle keeps nothing; any process may ask, and cancel.
 */
import {
  expects,
  mustBeId,
  newId,
  openObject,
  optionProblems,
  present,
  refuseProblems,
  required,
  runId,
  string,
  underName,
  unchecked,
  wholeNumber,
  type Checks,
  type Json,
  type RunId,
} from '@reeve/core'
import { briefOf, encodeEdge, rootEdge } from '@reeve/edge'
import { batchAgent, type Engine, type RunFilter } from '@reeve/engine'
import { follow } from '../feed/run-feed.ts'
import { listRuns } from '../session-queue.ts'
import type { Run } from '../run-handle.ts'
import type { BatchResult } from './batch-agent.ts'
import { batchSummary, batchView, resultIn, type BatchView } from './batch-view.ts'
import { batchRequest, type BatchFilter, type BatchOptions, type BatchVerb } from './request.ts'

/** A batch: a handle that keeps nothing. */
export interface BatchHandle {
  /** Of the batch, which is a run: `runtime.handle(id)` watches, pauses and audits it. */
  readonly id: RunId
  /** Of one that was begun here: false if the batch of this id was begun before. */
  readonly created?: boolean
  /** How far it is. Rejects with `run.unknown`. */
  view(): Promise<BatchView>
  /** The same when it has ended; waits for that. */
  outcome(): Promise<BatchView>
  /**
   * What became of each run, in the order in which they were done: those so far, then each as it comes, until the batch
   * has ended or the signal aborts. Leaving changes nothing.
   */
  results(options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<BatchResult, undefined>
  /** Cancels it: runs that it has not got to are left as they are. What was done stays. */
  cancel(reason?: string, by?: string): Promise<void>
}

/** Which batches to list. */
export interface BatchListOptions {
  readonly tenant?: string
  /** So many at most, the newest first. Default 20, at most 100. */
  readonly limit?: number
  /** Only batches after this one in the list: the last one of the page before. */
  readonly after?: Pick<BatchView, 'startedAt' | 'id'>
}

/** Batches, found again. */
export interface RuntimeBatches {
  /** The batch of this id. Nothing is read; an unknown id shows when it is used. Throws `input.invalid`. */
  of(id: string): BatchHandle
  /** Newest first. Throws `input.invalid`. */
  list(options?: BatchListOptions): Promise<readonly BatchView[]>
}

/** What batches need of their runtime. */
interface BatchAccess {
  readonly engine: Engine
  readonly handle: (id: string) => Run
}

const listChecks: Checks<BatchListOptions> = {
  tenant: string,
  limit: wholeNumber(1, 100),
  after: openObject<NonNullable<BatchListOptions['after']>>({
    startedAt: required(expects(Number.isFinite, 'a moment in milliseconds')),
    id: required(unchecked),
  }),
}

/** The batches of a runtime. */
export function runtimeBatches(access: BatchAccess): RuntimeBatches {
  return {
    of(id) {
      mustBeId(id, 'batches.of(): id')
      return batchHandle(access, id as RunId)
    },
    async list(options = {}) {
      refuseProblems('input.invalid', optionProblems(listChecks, options, 'batches.list()'))
      const { limit = 20, tenant, after } = options
      const place: RunFilter['after'] = after && { createdAt: after.startedAt, run: after.id }
      const found = await listRuns(access.engine, {
        agent: batchAgent,
        limit,
        ...present({ tenant, after: place }),
      })
      return Promise.all(found.map(({ run }) => batchView(access.engine, run)))
    },
  }
}

/** Begins a batch; resolves when it is durable. Throws `input.invalid`, `run.invalid-id`, `run.conflict`. */
export async function startBatch(
  access: BatchAccess,
  verb: BatchVerb,
  filter: BatchFilter,
  given: BatchOptions = {},
): Promise<BatchHandle> {
  const options = underName(given)
  const request = batchRequest(verb, filter, options)
  const id = runId(options.id ?? newId('batch'))
  const { by, scope } = request
  const { created } = await access.engine.start({
    run: id,
    agent: batchAgent,
    version: '1',
    input: encodeEdge(rootEdge(briefOf(request as unknown as Json))),
    caller: present({ user: by, tenant: scope?.tenant }),
  })
  return { ...batchHandle(access, id), created }
}

function batchHandle({ engine, handle }: BatchAccess, id: RunId): BatchHandle {
  const view = (): Promise<BatchView> => batchView(engine, id)
  return {
    id,
    view,
    async outcome() {
      await batchSummary(engine, id)
      await engine.outcome(id)
      return view()
    },
    async *results({ signal } = {}) {
      await batchSummary(engine, id)
      for await (const recorded of follow(engine, id, present({ signal }))) {
        const result = resultIn(recorded)
        if (result !== undefined) yield result
      }
      return undefined
    },
    async cancel(reason = 'the batch was stopped', by) {
      await batchSummary(engine, id)
      await handle(id).control.cancel(reason, by)
    },
  }
}
