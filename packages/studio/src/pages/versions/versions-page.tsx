/** Versions: of each agent the code, what is published over it, and which version the newest runs use. */
import { useMemo } from 'react'
import { Link, navigate, versionsPath } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { agentVersions, currentOf, defaultVersion, countUses, type AgentVersions } from './version-use.ts'
import { useVersions, type VersionsData } from './versions-data.ts'

export function VersionsPage() {
  const { data, error, reload } = useVersions()
  const rows = useMemo(() => (data === undefined ? [] : agentVersions(data.agents, data.kept)), [data])
  const columns = useMemo(() => (data === undefined ? [] : columnsFor(data)), [data])
  return (
    <div className="page fixed">
      <header>
        <h1>Versions</h1>
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="versions" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : rows.length === 0 ? (
        <Empty icon="versions" title="No agents here">
          This server has no agents, and no version is kept in its store. Name a config with agents when it is started:
          <code> reeve studio --config reeve.config.ts</code>.
        </Empty>
      ) : (
        <>
          <div className="fill-table">
            <DataTable
              label="Agents"
              rows={rows}
              rowKey={({ agent }) => agent}
              onOpen={({ agent }) => navigate(versionsPath(agent))}
              columns={columns}
            />
          </div>
          <p className="muted">
            Runs are counted among the newest {countText(data.uses.runs.length)}.
            {haveEqualCode(rows) &&
              ' The version in code is computed from what an agent declares, not from its functions: agents that declare the same have the same version.'}
          </p>
        </>
      )}
    </div>
  )
}

/** Whether several agents have one version of code, which looks like a mistake and is none. */
const haveEqualCode = (rows: readonly AgentVersions[]): boolean => {
  const codes = rows.flatMap(({ code }) => (code === undefined ? [] : [code]))
  return new Set(codes).size < codes.length
}

const columnsFor = ({ uses }: VersionsData): readonly Column<AgentVersions>[] => [
  {
    id: 'agent',
    head: 'Agent',
    width: 'minmax(136px, 1.5fr)',
    cell: ({ agent }) => (
      <Link to={versionsPath(agent)} tabIndex={-1}>
        <VisibleText>{agent}</VisibleText>
      </Link>
    ),
  },
  {
    id: 'default',
    card: 'line',
    head: 'Used by default',
    width: 'minmax(136px, 1fr)',
    cell: ({ agent, kept }) => {
      const { version, by } = defaultVersion(agent, kept, uses.chosen)
      return version === undefined ? (
        <span className="muted">as in code</span>
      ) : (
        <>
          <VisibleText>{version}</VisibleText>
          {by === 'pinned' && <span className="muted"> pinned</span>}
        </>
      )
    },
  },
  {
    id: 'published',
    head: 'Published',
    width: 'minmax(96px, 1fr)',
    cell: ({ kept }) => <Named version={currentOf(kept, 'published')} />,
  },
  {
    id: 'draft',
    head: 'Draft',
    width: 'minmax(96px, 1fr)',
    cell: ({ kept }) => <Named version={currentOf(kept, 'draft')} />,
  },
  {
    id: 'kept',
    card: 'hidden',
    head: 'Versions',
    width: '72px',
    align: 'right',
    cell: ({ kept }) => countText(kept.length),
  },
  {
    id: 'code',
    card: 'line',
    head: 'Version in code',
    width: 'minmax(136px, 1fr)',
    cell: ({ code }) =>
      code === undefined ? (
        <span className="muted">not on this server</span>
      ) : (
        <span title="Computed from what the agent declares: instructions, model, tools, limits, workers">
          <VisibleText>{code}</VisibleText>
        </span>
      ),
  },
  {
    id: 'uses',
    card: 'line',
    head: 'Newest runs',
    width: 'minmax(160px, 1.5fr)',
    cell: ({ agent }) => {
      const counts = [...countUses(uses.runs, agent)]
      return counts.length === 0 ? (
        <span className="muted">none</span>
      ) : (
        <VisibleText>
          {counts.map(([version, count]) => `${count} × ${version ?? 'as in code'}`).join(', ')}
        </VisibleText>
      )
    },
  },
]

function Named({ version }: { readonly version: string | undefined }) {
  return version === undefined ? <span className="muted">none</span> : <VisibleText>{version}</VisibleText>
}
