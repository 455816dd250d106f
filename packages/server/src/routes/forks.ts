/** Routes that look at a run as a whole: fork, difference, delegations, audit. */
import type { RunId } from '@reeve/core'
import type { AuditDocument, AuditReport, ForkOptions, Run, RunDiff } from '@reeve/runtime'
import { jsonStream } from '../event-stream.ts'
import { diffOfRuns, auditJson } from '../whole-journals.ts'
import { answered, ownRun, route, type Route } from '../route.ts'
import { anyOf, jsonObject, list, name, object, optional, text, view, whole } from '../wire-schema.ts'
import type { AuditAnswer, StartedRun } from '../wire.ts'

type DelegationRow = Awaited<ReturnType<Run['delegations']>>[number]
type ForkBody = Omit<ForkOptions, 'run' | 'by'>

export const forkRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/runs/{run}/fork',
    summary: 'Start a new run from a position of this one. 201 if it begins now, 200 if before.',
    body: object<ForkBody>('ForkBody', {
      at: optional(anyOf<number | 'last'>(whole({ minimum: 1 }), { schema: { const: 'last' } })),
      runId: optional(name({ description: 'Makes the fork idempotent.' })),
      edit: optional(jsonObject<NonNullable<ForkBody['edit']>>({ description: 'What is different in it.' })),
      reason: optional(text({ maxLength: 10_000 })),
    }),
    answer: object<StartedRun>('StartedRun', { run: name<RunId>() }),
    statuses: [201],
    async handle(context, { path, body }) {
      const { id } = await ownRun(context, path.run)
      const fork = await context.runtime.fork({ ...body, run: id, by: context.principal.name })
      return fork.created === false ? { run: fork.id } : answered(201, { run: fork.id } satisfies StartedRun)
    },
  }),
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
