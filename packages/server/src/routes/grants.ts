/** Routes of grants: approvals that hold for later calls, too. */
import type { RuntimeGrants } from '@reeve/runtime'
import { present, ReeveError } from '@reeve/core'
import { ownRun, route, type RequestContext, type Route } from '../route.ts'
import { list, name, object, optional, view, whole } from '../wire-schema.ts'

type GrantRow = Awaited<ReturnType<RuntimeGrants['of']>>[number]

interface GrantsQuery {
  readonly session?: string
  readonly tenant?: string
  readonly run?: string
}

interface RevokeQuery extends GrantsQuery {
  readonly grant?: string
}

interface Revoked {
  readonly revoked: number
}

/** Whose grants: exactly one of a session and a run, and the run must be the caller's. */
async function whose(
  context: RequestContext,
  { session, run, tenant }: GrantsQuery,
): Promise<{ run: string } | { session: string; tenant?: string }> {
  if ((session === undefined) === (run === undefined))
    throw new ReeveError('input.invalid', 'the query: expected either session or run', { hint: 'Nothing was changed.' })
  return session === undefined ? { run: (await ownRun(context, run!)).id } : { session, ...present({ tenant }) }
}

const of = {
  session: optional(name()),
  tenant: optional(name({ description: 'Whose session it is. Of a principal of a tenant always theirs.' })),
  run: optional(name()),
}

export const grantRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/grants',
    summary: 'What was granted for a session, or for a run without one, and still holds.',
    query: object<GrantsQuery>('GrantsQuery', of),
    answer: list(view<GrantRow>('Grant', { id: name(), tool: name(), at: whole() })),
    handle: async (context, { query }) => context.runtime.grants.of(await whose(context, query)),
  }),
  route({
    method: 'DELETE',
    path: '/grants',
    summary: 'Take back a grant, or all of a session or run.',
    query: object<RevokeQuery>('RevokeQuery', { ...of, grant: optional(name()) }),
    answer: object<Revoked>('Revoked', { revoked: whole() }),
    async handle(context, { query }) {
      const which = { ...(await whose(context, query)), ...present({ grant: query.grant }) }
      return { revoked: await context.runtime.grants.revoke(which) }
    },
  }),
]
