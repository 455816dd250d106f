/**
 * Routes of sessions: conversations of several runs, as the newest 1,000 runs show them.
 *
 * Two users, and two tenants, may have a session of one name: they are two sessions.
 */
import type { RunId } from '../../core/index.ts'
import { present } from '../../core/index.ts'
import { runStatuses, type RunSummary } from '../../runtime/index.ts'
import { route, type RequestContext, type Route } from '../route.ts'
import { choice, list, name, object, optional, whole } from '../wire-schema.ts'
import type { Page, RunRow, SessionRow } from '../wire.ts'
import { runRow } from './runs.ts'

interface SessionsQuery {
  readonly user?: string
}

const query = object<SessionsQuery>('SessionsQuery', { user: optional(name()) })

const sessionRow = object<SessionRow>('SessionRow', {
  session: name(),
  user: optional(name()),
  tenant: optional(name()),
  runs: whole(),
  lastRun: name<RunId>(),
  lastAt: whole(),
  status: choice(runStatuses),
})

/** The newest runs with a session that the caller may see. */
async function runsOfSessions({ runtime }: RequestContext, { user }: SessionsQuery): Promise<readonly RunSummary[]> {
  const runs = await runtime.runs()
  return runs.filter(({ caller }) => caller.session !== undefined && (user === undefined || caller.user === user))
}

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
    role: 'viewer',
    summary: 'Sessions of the newest 1,000 runs, the one that was used last first.',
    query,
    answer: object<Page<SessionRow>>('SessionPage', { items: list(sessionRow), next: optional(name()) }),
    handle: async (context, { query: asked }) => ({ items: rowsOf(await runsOfSessions(context, asked)) }),
  }),
  route({
    method: 'GET',
    path: '/sessions/{session}',
    role: 'viewer',
    summary: 'The runs of a session, newest first.',
    query,
    answer: object<Page<RunRow>>('RunPage', { items: list(runRow), next: optional(name()) }),
    async handle(context, { path, query: asked }) {
      const runs = await runsOfSessions(context, asked)
      return { items: runs.filter(({ caller }) => caller.session === path.session) }
    },
  }),
]
