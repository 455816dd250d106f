/** Routes of retries: runs that ended badly go on, one by its id or many by a filter. */
import { present, type RunId } from '@reeve/core'
import type { DiscardedWork, RetryFrom, RetryOptions, RetryResult, RetryScope } from '@reeve/runtime'
import { shownError } from '../error-status.ts'
import { answered, ownRun, route, type Route } from '../route.ts'
import { amount, choice, flag, list, name, object, optional, text, whole } from '../wire-schema.ts'
import type { RetriedRow, RetryAnswer, StartedRetry } from '../wire.ts'
import { equalTo, runsFilter, type RunsFilter } from './runs.ts'

type RetryBody = Omit<RetryOptions, 'by'>
type RetryAllBody = Pick<RetryOptions, 'reason'>

const reason = optional(text({ maxLength: 10_000, description: 'Recorded with it.' }))

const from = object<RetryFrom>(
  'RetryFrom',
  {
    position: amount(),
    agent: name(),
    redoes: choice(['model-call', 'effect', 'worker', 'question', 'code']),
  },
  { description: 'The first event of the origin that is not kept, and what the agent does again there.' },
)
const discarded = object<DiscardedWork>(
  'DiscardedWork',
  { modelCalls: whole({ minimum: 0 }), effects: whole({ minimum: 0 }) },
  { description: 'What the origin recorded and the retry does not keep.' },
)

const scopeOf = ({ from, discarded }: RetryScope): RetryScope => ({ from, discarded })

/** What became of one run, as it may be shown. */
const retriedRow = (result: RetryResult): RetriedRow => {
  if (result.status !== 'refused') return result
  const { status: _status, ...error } = shownError(result.error)
  return { run: result.run, status: 'refused', error }
}

export const retryRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/runs/retry',
    summary: 'Retry the runs that match, newest first, 100 if no limit says otherwise. Default: those that failed.',
    query: object<RunsFilter>('RetryQuery', runsFilter),
    body: object<RetryAllBody>('RetryAllBody', { reason }),
    answer: object<RetryAnswer>('RetryAnswer', {
      results: list(
        object<RetriedRow>('RetriedRow', {
          run: name<RunId>(),
          status: choice(['retried', 'before', 'refused']),
          retry: optional(name<RunId>()),
          from: optional(from),
          discarded: optional(discarded),
          error: optional(
            object<NonNullable<RetriedRow['error']>>('RetryError', {
              code: name(),
              message: text(),
              hint: optional(text()),
              retryable: flag(),
            }),
          ),
        }),
      ),
      partial: flag({ description: 'Some were refused, or more runs match than the limit allows.' }),
    }),
    async handle({ runtime, principal, signal }, { query: { limit = 100, metadata, ...filter }, body }) {
      const { results, partial } = await runtime.retryAll(
        { ...filter, ...present({ metadata: equalTo(metadata) }) },
        { ...body, limit, signal, by: principal.name },
      )
      return { results: results.map(retriedRow), partial }
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/retry',
    summary:
      'Go on with a run that ended badly, as a new run that begins before what failed. Once, unless it says again.',
    body: object<RetryBody>('RetryBody', {
      runId: optional(name({ description: 'The id of the new run. Makes the retry idempotent.' })),
      again: optional(flag({ description: 'Another retry, though it has been retried before.' })),
      reason,
    }),
    answer: object<StartedRetry>('StartedRetry', { run: name<RunId>(), from, discarded }),
    statuses: [201],
    async handle(context, { path, body }) {
      const { id } = await ownRun(context, path.run)
      const retry = await context.runtime.retry(id, { ...body, by: context.principal.name })
      const started: StartedRetry = { run: retry.id, ...scopeOf(retry) }
      return retry.created === false ? started : answered(201, started)
    },
  }),
]
