/** Trust: how closely agents are overseen, by record; the way to change it is a record's own page. */
import { useState } from 'react'
import type { TrustView } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { server } from '../../data/server.ts'
import { useWatched } from '../../data/polled.ts'
import { Link, navigate, trustPath } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { LevelDialog } from './trust-dialogs.tsx'
import { levelTones, levelLabels, nextText, rateText } from './trust-labels.ts'

export function LevelBadge({ level }: { readonly level: TrustView['level'] }) {
  return (
    <Badge tone={levelTones[level]} icon="trust">
      {levelLabels[level]}
    </Badge>
  )
}

const columns: readonly Column<TrustView>[] = [
  {
    id: 'name',
    head: 'Name',
    width: 'minmax(144px, 1.5fr)',
    cell: ({ name }) => (
      <Link to={trustPath(name)} tabIndex={-1}>
        <VisibleText>{name}</VisibleText>
      </Link>
    ),
  },
  { id: 'level', head: 'Level', width: '112px', cell: ({ level }) => <LevelBadge level={level} /> },
  {
    id: 'completed',
    head: 'Runs counted',
    width: '96px',
    align: 'right',
    cell: ({ completed }) => countText(completed),
  },
  {
    id: 'rate',
    head: 'Succeeded',
    width: '80px',
    align: 'right',
    cell: (row) => rateText(row) ?? <span className="muted">none yet</span>,
  },
  {
    id: 'incident',
    head: 'Last incident',
    width: '104px',
    cell: ({ lastIncident }) =>
      lastIncident === undefined ? <span className="muted">none</span> : <Time at={lastIncident} />,
  },
  {
    id: 'next',
    card: 'line',
    head: 'Next level',
    width: 'minmax(200px, 2.5fr)',
    cell: (row) => <span title={nextText(row)}>{nextText(row)}</span>,
  },
]

export function TrustPage() {
  const { data, error, reload } = useWatched((signal) => server.trust.all({ signal }), ['trust', 'runs'], 'trust')
  const [setting, setSetting] = useState(false)
  const mayChange = useRole('admin')
  return (
    <div className="page fixed">
      <header>
        <h1>Trust</h1>
        {mayChange && data !== undefined && (
          <Button icon="plus" onClick={() => setSetting(true)}>
            Set a level…
          </Button>
        )}
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="trust records" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : data.length === 0 ? (
        <Empty icon="trust" title="No agent uses a trust record yet">
          <p>
            Trust records are optional. An agent names one with <code>{"oversight: { trust: 'refunds' }"}</code>: a
            person then approves each of its actions, until its record has earned a higher level. Agents that name none
            are not affected.
          </p>
        </Empty>
      ) : (
        <div className="fill-table">
          <DataTable
            label="Trust records"
            rows={data}
            rowKey={({ name }) => name}
            onOpen={({ name }) => navigate(trustPath(name))}
            columns={columns}
          />
        </div>
      )}
      {setting && <LevelDialog onClose={() => setSetting(false)} />}
    </div>
  )
}
