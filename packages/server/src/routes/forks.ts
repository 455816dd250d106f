/** Routes that look at a run as a whole: fork, difference, delegations, audit. */
import type { AuditDocument, AuditReport, Run, RunDiff } from '@reeve/runtime'
import { jsonStream } from '../event-stream.ts'
import { diffOfRuns, auditJson } from '../whole-journals.ts'
import { ownRun, route, type Route } from '../route.ts'
import { forkVerbs } from '../verbs/further-runs.ts'
import { jsonObject, list, name, object, optional, view, whole } from '../wire-schema.ts'
import type { AuditAnswer } from '../wire.ts'
import { verbRoutes } from './verb-routes.ts'

type DelegationRow = Awaited<ReturnType<Run['delegations']>>[number]

export const forkRoutes: readonly Route[] = [
  ...verbRoutes(forkVerbs),
  route({
    method: 'GET',
    path: '/runs/{run}/diff/{other}',
    summary:
      'Where two runs differ: the first differences, at most 1,000 and about 2 million characters, and how many more there are.',
    answer: view<RunDiff>('RunDiff', { same: whole(), differences: list(jsonObject()), more: optional(whole()) }),
    async handle(context, { path }) {
      const [one, other] = [await ownRun(context, path.run), await ownRun(context, path.other)]
      return diffOfRuns(one, other, context.signal)
    },
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/delegations',
    summary: 'One row for each delegation so far, at any depth.',
    answer: list(view<DelegationRow>('DelegationRow', { worker: name() })),
    handle: async (context, { path }) => (await ownRun(context, path.run)).delegations(),
  }),
  route({
    method: 'GET',
    path: '/runs/{run}/audit',
    summary: 'Who decided what, when, and on what evidence; and what the check of that chain says.',
    answer: object<AuditAnswer>('AuditAnswer', {
      document: jsonObject<AuditDocument>(),
      report: jsonObject<AuditReport>(),
    }),
    async handle(context, { path }) {
      return jsonStream(context, auditJson(await ownRun(context, path.run), context.signal))
    },
  }),
]
