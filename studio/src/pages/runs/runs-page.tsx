/** The runs. */
import { readRuns } from '../../data/api.ts'
import { useQuery } from '../../data/queries.ts'
import { navigate, runPath, useParams } from '../../router.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

export function RunsPage() {
  const [params] = useParams()
  const filter = Object.fromEntries(params)
  const { data, error, reload } = useQuery(`runs?${params.toString()}`, ['runs'], (signal) =>
    readRuns({ limit: 100, ...filter }, signal),
  )
  return (
    <div className="page fixed">
      <header>
        <h1>Runs</h1>
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="runs" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : data.items.length === 0 ? (
        <Empty icon="runs" title="No runs yet." />
      ) : (
        <DataTable
          label="Runs"
          rows={data.items}
          rowKey={({ run }) => run}
          onOpen={({ run }) => navigate(runPath(run))}
          columns={[
            { id: 'status', head: 'Status', width: '140px', cell: ({ status }) => <StatusBadge status={status} /> },
            {
              id: 'run',
              head: 'Run',
              width: 'minmax(160px, 1fr)',
              cell: ({ run }) => <VisibleText>{run}</VisibleText>,
            },
            { id: 'begun', head: 'Begun', width: '100px', cell: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
        />
      )}
    </div>
  )
}
