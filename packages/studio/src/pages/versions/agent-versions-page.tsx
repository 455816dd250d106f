/** The versions of one agent: which is used by default, all that are kept, how two differ, and which runs use which. */
import { useState } from 'react'
import type { KeptRevision } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { server } from '../../data/server.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { Link, runPath, versionsPath } from '../../router.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { StartDialog } from '../runs/start-dialog.tsx'
import { NewVersionDialog } from './new-version-dialog.tsx'
import { VersionDiff } from './version-diff.tsx'
import {
  agentVersions,
  currentOf,
  defaultVersion,
  countUses,
  usesOf,
  versionIn,
  type DefaultVersion,
} from './version-use.ts'
import { useVersions, type VersionsData } from './versions-data.ts'
import './versions.css'

type Action =
  | { readonly do: 'new' }
  | { readonly do: 'publish'; readonly kept: KeptRevision }
  | { readonly do: 'start'; readonly version: string }

export function AgentVersionsPage({ agent }: { readonly agent: string }) {
  const { data, error, reload } = useVersions()
  const [action, setAction] = useState<Action>()
  const mayPublish = useRole('admin')
  const found = data && agentVersions(data.agents, data.kept).find((each) => each.agent === agent)
  const close = (): void => setAction(undefined)
  return (
    <div className="page">
      <header>
        <nav aria-label="Where you are" className="crumbs">
          <Link to="/versions">Versions</Link>
          <Icon name="right" />
        </nav>
        <h1>
          <VisibleText>{agent}</VisibleText>
        </h1>
        {mayPublish && found?.code !== undefined && (
          <Button icon="plus" tone="accent" onClick={() => setAction({ do: 'new' })}>
            New version…
          </Button>
        )}
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="the versions" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : found === undefined ? (
        <Empty icon="versions" title="There is no such agent">
          It is not registered here, and no version of it is kept. <Link to="/versions">All agents</Link>
        </Empty>
      ) : (
        <>
          {!mayPublish && <Notice>To publish a version or keep a draft, you need the role admin.</Notice>}
          <Panel title="What runs use">
            <Facts
              facts={[
                [
                  'By default',
                  <DefaultText
                    key="d"
                    published={currentOf(found.kept, 'published')}
                    {...defaultVersion(agent, found.kept, data.uses.chosen)}
                  />,
                ],
                [
                  'Version in code',
                  found.code === undefined ? (
                    'not registered on this server'
                  ) : (
                    <VisibleText key="c">{found.code}</VisibleText>
                  ),
                ],
                [
                  'To pin',
                  <span key="p">
                    Name a version when a run starts, or for all runs in <code>createRuntime({'{ versions }'})</code>. A
                    run keeps to its end what it began with.
                  </span>,
                ],
              ]}
            />
          </Panel>
          <Panel title="Versions" flush>
            <KeptTable agent={agent} data={data} kept={found.kept} onAct={setAction} />
          </Panel>
          {found.kept.length > 0 && (
            <Panel title="Compare">
              <VersionDiff kept={found.kept} />
            </Panel>
          )}
          <Panel title="Newest runs" flush>
            <UsesTable agent={agent} data={data} />
          </Panel>
          {action?.do === 'new' && (
            <NewVersionDialog
              agent={data.agents.find(({ name }) => name === agent)!}
              kept={found.kept}
              onClose={close}
            />
          )}
          {action?.do === 'publish' && <PublishDialog agent={agent} kept={action.kept} onClose={close} />}
          {action?.do === 'start' && <StartDialog agent={agent} version={action.version} onClose={close} />}
        </>
      )}
    </div>
  )
}

function DefaultText({ version, by, published }: DefaultVersion & { readonly published: string | undefined }) {
  if (version === undefined)
    return (
      <>
        The code as it is: this installation chooses no version for runs that name none.
        {published !== undefined && (
          <>
            {' '}
            With <code>createRuntime({"{ defaultStatus: 'published' }"})</code> they would use{' '}
            <VisibleText>{published}</VisibleText>.
          </>
        )}
      </>
    )
  return (
    <>
      <b>
        <VisibleText>{version}</VisibleText>
      </b>
      {by === 'pinned'
        ? ', pinned by this installation.'
        : ', because this installation takes the newest of its status.'}
    </>
  )
}

function KeptTable(props: {
  readonly agent: string
  readonly data: VersionsData
  readonly kept: readonly KeptRevision[]
  readonly onAct: (action: Action) => void
}) {
  const { agent, data, kept, onAct } = props
  const mayPublish = useRole('admin')
  const mayStart = useRole('operator') && data.agents.some(({ name }) => name === agent)
  const counts = countUses(data.uses.runs, agent)
  const narrow = useNarrow()
  if (kept.length === 0)
    return (
      <Empty icon="versions" title="Only the version in code">
        A version of its own changes instructions, model, settings, tools or limits of the agent without a deploy.
        {mayPublish ? ' Begin one with “New version…”.' : ''}
      </Empty>
    )
  return (
    <div className="table-scroll" role="region" aria-label="Kept versions" tabIndex={0}>
      <table className={`plain-table wide${narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">State</th>
            <th scope="col">Changes</th>
            <th scope="col">By</th>
            <th scope="col">Kept</th>
            <th scope="col" className="num">
              Newest runs
            </th>
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {kept.toReversed().map((each) => {
            const { revision, status, current, by, at } = each
            return (
              <tr key={revision.version}>
                <th scope="row">
                  <VisibleText>{revision.version}</VisibleText>
                </th>
                <td className="nowrap">
                  <Badge
                    tone={status === 'published' ? (current ? 'ok' : 'idle') : 'info'}
                    icon={status === 'published' ? 'check' : 'edit'}
                  >
                    {status === 'published' ? (current ? 'Published, current' : 'Published before') : 'Draft'}
                  </Badge>
                </td>
                <td data-label="Changes">{changesIn(revision)}</td>
                <td data-label="By">
                  {by === undefined ? <span className="muted">not said</span> : <VisibleText>{by}</VisibleText>}
                </td>
                <td className="nowrap" data-label="Kept">
                  <Time at={at} />
                </td>
                <td className="num" data-label="Newest runs">
                  {counts.get(revision.version) ?? 0}
                </td>
                <td>
                  <div className="version-actions">
                    {mayPublish && !(status === 'published' && current) && (
                      <Button small onClick={() => onAct({ do: 'publish', kept: each })}>
                        {status === 'draft' ? 'Publish…' : 'Make current…'}
                      </Button>
                    )}
                    {mayStart && (
                      <Button small icon="play" onClick={() => onAct({ do: 'start', version: revision.version })}>
                        Start a run…
                      </Button>
                    )}
                  </div>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

const fields = ['instructions', 'model', 'settings', 'tools', 'limits', 'base'] as const
const changesIn = (revision: KeptRevision['revision']): string => {
  const said = fields.filter((field) => revision[field] !== undefined)
  return said.length === 0 ? 'nothing' : said.join(', ')
}

function UsesTable({ agent, data }: { readonly agent: string; readonly data: VersionsData }) {
  const runs = usesOf(data.uses.runs, agent)
  const narrow = useNarrow()
  const looked = `The newest ${data.uses.runs.length} runs were looked at; which versions older runs use is not shown.`
  if (runs.length === 0)
    return (
      <Empty icon="runs" title="No run among the newest ones">
        {looked}
      </Empty>
    )
  return (
    <>
      <div className="table-scroll version-runs" role="region" aria-label="Runs and their versions" tabIndex={0}>
        <table className={`plain-table wide${narrow ? ' cards' : ''}`}>
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">Status</th>
              <th scope="col">Version of this agent</th>
              <th scope="col">Run of</th>
              <th scope="col">Begun</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((use) => (
              <tr key={use.run}>
                {/* links have their text by VisibleText */}
                {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label */}
                <th scope="row">
                  <Link to={runPath(use.run)}>
                    <VisibleText>{use.run}</VisibleText>
                  </Link>
                </th>
                <td>
                  <StatusBadge status={use.status} />
                </td>
                <td data-label="Version">
                  {versionIn(use, agent) === undefined ? (
                    <span className="muted">
                      as in code{use.agent === agent && <VisibleText>{`, ${use.version}`}</VisibleText>}
                    </span>
                  ) : (
                    <VisibleText>{versionIn(use, agent)!}</VisibleText>
                  )}
                </td>
                {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label */}
                <td data-label="Run of">
                  <Link to={versionsPath(use.agent)}>
                    <VisibleText>{use.agent}</VisibleText>
                  </Link>
                </td>
                <td className="nowrap" data-label="Begun">
                  <Time at={use.createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="muted version-note">
        {looked} A run of a leader counts if it began with a version of this agent, also if it has not delegated to it.
      </p>
    </>
  )
}

function PublishDialog(props: { readonly agent: string; readonly kept: KeptRevision; readonly onClose: () => void }) {
  const { agent, kept, onClose } = props
  const { version } = kept.revision
  const toast = useToast()
  const { run, busy, error } = useMutation(() => server.versions.publish(agent, version), {
    done() {
      toast.done(`${version} of ${agent} is published`)
      changed(['versions'])
      onClose()
    },
  })
  return (
    <Dialog
      title={kept.status === 'draft' ? `Publish ${version}` : `Make ${version} current again`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="accent" busy={busy} onClick={() => run(undefined)}>
            {kept.status === 'draft' ? 'Publish it' : 'Make it current'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          Runs that begin from now on and take what is published use <b>{version}</b>. Runs that have begun go on as
          they began.
        </p>
        {kept.status === 'draft' && <p>A published version cannot change any more.</p>}
        {error !== undefined && <Notice tone="bad">{sentences(error).message}</Notice>}
      </div>
    </Dialog>
  )
}
