/**
 * Routes of sessions: conversations of several runs, as a page of runs shows them.
 *
 * A session belongs to the user of its first run; two tenants may have a session of one name: they are two sessions.
 */
import type { RunId } from '@reeve/core'
import { present, ReeveError } from '@reeve/core'
import { runStatuses, type RunSummary } from '@reeve/runtime'
import { route, type Route } from '../route.ts'
import { choice, list, name, object, optional, whole } from '../wire-schema.ts'
import { sessionAccess, sessionVerbs, tenantQuery } from '../verbs/sessions.ts'
import type { Page, RunRow, SessionRow } from '../wire.ts'
import { runRow, runsPage } from './runs.ts'
import { verbRoutes } from './verb-routes.ts'

interface SessionsQuery {
  readonly user?: string
  readonly limit?: number
  readonly after?: string
}

/** Runs of a page, if the query does not say. */
const runsShown = 1_000

const query = object<SessionsQuery>('SessionsQuery', {
  user: optional(name()),
  limit: optional(whole({ minimum: 1, maximum: runsShown, description: 'Runs of the page. Default 1,000.' })),
  after: optional(name({ description: '`next` of the page before.' })),
})

const sessionRow = object<SessionRow>('SessionRow', {
  session: name(),
  user: optional(name()),
  tenant: optional(name()),
  runs: whole(),
  lastRun: name<RunId>(),
  lastAt: whole(),
  status: choice(runStatuses),
})

function rowsOf(runs: readonly RunSummary[]): readonly SessionRow[] {
  const rows = new Map<string, SessionRow>()
  for (const { run, caller, createdAt, status } of runs) {
    const { session, user, tenant } = caller
    if (session === undefined) continue
    const key = JSON.stringify([tenant, user, session])
    const newest = rows.get(key) ?? {
      session,
      ...present({ user, tenant }),
      runs: 0,
      lastRun: run,
      lastAt: createdAt,
      status,
    }
    rows.set(key, { ...newest, runs: newest.runs + 1 })
  }
  return [...rows.values()]
}

export const sessionRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/sessions',
    summary:
      'Sessions of the newest 1,000 runs, or of limit, the one that was used last first. A session with older runs is on the pages of those, too.',
    query,
    answer: object<Page<SessionRow>>('SessionPage', { items: list(sessionRow), next: optional(name()) }),
    async handle({ runtime }, { query: { limit = runsShown, after, ...filter } }) {
      const { items, ...page } = await runsPage(runtime, filter, limit, after)
      return { items: rowsOf(items), ...page }
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/{session}',
    summary: 'The runs of a session, newest first.',
    query,
    answer: object<Page<RunRow>>('RunPage', { items: list(runRow), next: optional(name()) }),
    handle: ({ runtime }, { path: { session }, query: { limit = runsShown, after, ...filter } }) =>
      runsPage(runtime, { ...filter, session }, limit, after),
  }),
  route({
    method: 'GET',
    path: '/sessions/{session}/access',
    summary: 'Who may continue a session: its owner, and whom it is shared with.',
    query: tenantQuery,
    answer: sessionAccess,
    async handle({ runtime }, { path: { session }, query: { tenant } }) {
      const found = await runtime.sessions.access({ session, ...present({ tenant }) })
      if (found !== undefined) return found
      throw new ReeveError('session.unknown', `no run has begun in a session ${JSON.stringify(session)}`, {
        hint: 'A session begins with its first run.',
      })
    },
  }),
  ...verbRoutes(sessionVerbs),
]
