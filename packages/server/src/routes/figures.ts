/** Routes of runs in numbers: totals, causes of failures, metrics. */
import { present } from '@reeve/core'
import type { Causes, FailureGroup, FiguresGroup, FiguresOfTime, Percentiles, RunFigures, Totals } from '@reeve/runtime'
import { metricsText, metricsType } from '../metrics.ts'
import { route, type Route } from '../route.ts'
import { equalTo, runsFilter, type RunsFilter } from '../runs-filter.ts'
import { amount, choice, jsonObject, list, name, object, optional, text, view, whole } from '../wire-schema.ts'

const { limit: _limit, ...figuresFilter } = runsFilter

type FiguresQuery = Omit<RunsFilter, 'limit'>

interface TotalsQuery extends FiguresQuery {
  readonly by?: 'agent' | 'version' | 'model' | 'tenant' | 'user' | 'session' | 'code'
  readonly bucket?: 'hour' | 'day'
}

const percentiles = object<Percentiles>('Percentiles', { p50: amount(), p95: amount() })

const figures = {
  runs: whole(),
  ends: jsonObject<RunFigures['ends']>({ description: 'How many have ended, by how. The others are open.' }),
  usage: view<RunFigures['usage']>(
    'RunUsage',
    {
      calls: whole(),
      tokens: optional(whole()),
      usd: optional(amount()),
      unknown: optional(whole()),
      unpriced: optional(whole()),
    },
    { description: 'With unknown or unpriced: tokens or usd are at least so much. Absent: not known.' },
  ),
  durationMs: optional(percentiles),
  waitMs: optional(percentiles),
}

const overTime = optional(
  list(object<FiguresOfTime>('FiguresOfTime', { at: whole(), ...figures }), {
    description: 'By the hour or the day (UTC) in which runs began, oldest first.',
  }),
)
const behind = whole({ description: 'So many runs are not in the index yet, and not counted in full.' })
const more = optional(whole({ description: 'Groups that were left out. Absent: none.' }))

const totals = object<Totals>('Totals', {
  behind,
  all: object<RunFigures>('RunFigures', figures),
  groups: optional(
    list(
      object<FiguresGroup>('FiguresGroup', {
        key: { schema: { type: ['string', 'null'] } },
        agent: optional(text({ description: 'Of a version: its agent.' })),
        ...figures,
        overTime,
      }),
      { description: 'With by: the most expensive first. A key of null: of runs that have none.' },
    ),
  ),
  more,
  overTime,
})

const causes = object<Causes>('Causes', {
  behind,
  causes: list(
    object<FailureGroup>('FailureGroup', {
      cause: name({ description: 'For the filter cause.' }),
      code: name(),
      agent: text({ description: 'The agent that failed.' }),
      message: text({ description: 'The message of the newest.' }),
      runs: whole(),
      newest: name(),
      firstAt: whole(),
      lastAt: whole(),
    }),
    { description: 'The most frequent first.' },
  ),
  more,
})

export const figureRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/totals',
    summary: 'Runs in numbers: how many, how they ended, what they used, how long they took and waited.',
    query: object<TotalsQuery>('TotalsQuery', {
      ...figuresFilter,
      by: optional(
        choice(['agent', 'version', 'model', 'tenant', 'user', 'session', 'code'], {
          description: 'Groups. model: a run is in the group of each model that it called.',
        }),
      ),
      bucket: optional(choice(['hour', 'day'], { description: 'Also over time.' })),
    }),
    answer: totals,
    handle: ({ runtime }, { query: { by, bucket, metadata, ...filter } }) =>
      runtime.totals({ ...filter, ...present({ metadata: equalTo(metadata) }) }, present({ by, bucket })),
  }),
  route({
    method: 'GET',
    path: '/causes',
    summary: 'Why runs ended badly: equal failures together, the most frequent first.',
    query: object<FiguresQuery>('CausesQuery', figuresFilter),
    answer: causes,
    handle: ({ runtime }, { query: { metadata, ...filter } }) =>
      runtime.causes({ ...filter, ...present({ metadata: equalTo(metadata) }) }),
  }),
  route({
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics of the installation as Prometheus text (version 0.0.4). Not for a principal of one tenant.',
    answer: 'text',
    handle: async (context) => new Response(await metricsText(context), { headers: { 'Content-Type': metricsType } }),
  }),
]
