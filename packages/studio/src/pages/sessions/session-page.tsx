/** One session: its runs, newest first, and what they have cost. */
import { useMemo } from 'react'
import { useWatched } from '../../data/polled.ts'
import { filled, server } from '../../data/server.ts'
import { Link, navigate, runPath, useParams } from '../../router.tsx'
import { countText, moneyText } from '../../ui/amounts.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { runColumns } from '../runs/run-columns.tsx'
import { sessionCost, unknownCost } from './session-cost.ts'
import './sessions.css'

const columns = runColumns.filter(({ id }) => id !== 'for')

export function SessionPage({ session }: { readonly session: string }) {
  const [params] = useParams()
  const user = params.get('user') ?? undefined
  const tenant = params.get('tenant') ?? undefined
  const { data, error, reload } = useWatched(
    (signal) => server.sessions.get(session, filled({ user, signal })),
    ['sessions'],
    JSON.stringify([session, user, tenant]),
  )
  // a session without a user is not that of a user who has one of the same name
  const runs = useMemo(
    () => data?.items.filter(({ caller }) => caller.user === user && caller.tenant === tenant),
    [data, user, tenant],
  )
  const cost = useMemo(() => sessionCost(runs ?? []), [runs])
  const unknown = unknownCost(cost)
  return (
    <div className="page fixed">
      <header className="session-head">
        <nav aria-label="Where you are" className="crumbs">
          <Link to="/sessions">Sessions</Link>
          <Icon name="right" />
        </nav>
        <h1>
          <VisibleText>{session}</VisibleText> <CopyButton text={session} what="the name of the session" />
        </h1>
      </header>
      {runs === undefined ? (
        error === undefined ? (
          <Loading what="the session" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : runs.length === 0 ? (
        <Empty icon="sessions" title="There is no run of this session">
          <Link to="/sessions">All sessions</Link>
        </Empty>
      ) : (
        <>
          <div className="figures">
            <Figure word="User" value={user === undefined ? 'none' : <VisibleText>{user}</VisibleText>} />
            {tenant !== undefined && <Figure word="Tenant" value={<VisibleText>{tenant}</VisibleText>} />}
            <Figure word="Runs" value={countText(runs.length)} />
            <Figure word="Last used" value={<Time at={runs[0]!.createdAt} />} />
            <Figure word="Tokens" value={cost.tokens === undefined ? 'not known' : countText(cost.tokens)} />
            <Figure word="Cost" value={cost.usd === undefined ? 'not known' : moneyText(cost.usd)} />
          </div>
          {unknown !== undefined && <p className="muted">{unknown}</p>}
          <div className="fill-table">
            <DataTable
              label="Runs of the session"
              rows={runs}
              rowKey={({ run }) => run}
              onOpen={({ run }) => navigate(runPath(run))}
              columns={columns}
            />
          </div>
        </>
      )}
    </div>
  )
}
