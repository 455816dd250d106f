/** Sessions: conversations that several runs continue, the one that was used last first. */
import type { SessionRow } from '@reeve/server/wire'
import { useMe } from '../../data/me.ts'
import { filled, server } from '../../data/server.ts'
import { useWatched } from '../../data/polled.ts'
import { Link, navigate, sessionPath, useParams } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { FilterText } from '../../ui/filter-text.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import './sessions.css'

const columns: readonly Column<SessionRow>[] = [
  {
    id: 'session',
    head: 'Session',
    width: 'minmax(160px, 2fr)',
    cell: (row) => (
      <Link to={sessionPath(row)} tabIndex={-1}>
        <VisibleText>{row.session}</VisibleText>
      </Link>
    ),
  },
  {
    id: 'user',
    card: 'line',
    head: 'User',
    width: 'minmax(120px, 1.5fr)',
    cell: ({ user }) =>
      user === undefined ? <span className="muted">no user</span> : <VisibleText>{user}</VisibleText>,
  },
  { id: 'runs', head: 'Runs', width: '64px', align: 'right', cell: ({ runs }) => countText(runs) },
  { id: 'status', head: 'Last run', width: '128px', cell: ({ status }) => <StatusBadge status={status} /> },
  { id: 'last', head: 'Last used', width: '96px', cell: ({ lastAt }) => <Time at={lastAt} /> },
]

const tenantColumn: Column<SessionRow> = {
  id: 'tenant',
  head: 'Tenant',
  width: 'minmax(96px, 1fr)',
  cell: ({ tenant }) => tenant !== undefined && <VisibleText>{tenant}</VisibleText>,
}

export function SessionsPage() {
  const [params, setParams] = useParams()
  const user = params.get('user') ?? ''
  const { data, error, reload } = useWatched(
    (signal) => server.sessions.list(filled({ user, signal })),
    ['sessions'],
    `sessions ${user}`,
  )
  const rows = data?.items
  const ofTenants = useMe()?.tenant === undefined && (rows?.some(({ tenant }) => tenant !== undefined) ?? false)
  return (
    <div className="page fixed">
      <header>
        <h1>Sessions</h1>
        <search className="session-filter">
          <FilterText label="User, exact name" value={user} onSet={(next) => setParams({ user: next })} />
        </search>
      </header>
      {rows === undefined ? (
        error === undefined ? (
          <Loading what="sessions" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : rows.length === 0 ? (
        user === '' ? (
          <Empty icon="sessions" title="No sessions yet">
            <p>
              A session is one conversation over several runs. A run belongs to it if its start names it:{' '}
              <code>session: &apos;thread-1&apos;</code>.
            </p>
            <p>
              <Link to="/runs">Start a run with a session</Link>
            </p>
          </Empty>
        ) : (
          <Empty icon="search" title="This user has no session">
            <p>Users are found by their exact name.</p>
            <Button small onClick={() => setParams({ user: '' })}>
              Show all sessions
            </Button>
          </Empty>
        )
      ) : (
        <>
          <div className="fill-table">
            <DataTable
              label="Sessions"
              rows={rows}
              rowKey={({ tenant, user: whose, session }) => JSON.stringify([tenant, whose, session])}
              onOpen={(row) => navigate(sessionPath(row))}
              columns={ofTenants ? [...columns.slice(0, 2), tenantColumn, ...columns.slice(2)] : columns}
            />
          </div>
          <p className="muted">{countText(rows.length)} sessions, found among the newest 1,000 runs.</p>
        </>
      )}
    </div>
  )
}
