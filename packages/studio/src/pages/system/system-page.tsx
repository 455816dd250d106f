/**
 * System: how the installation is: runs by status, the processes that drive them, what waits for one, the store, and
 * this server. Read again as runs change, and every few seconds.
 */
import type { ReactNode } from 'react'
import type { RunRow, SystemDocument, SystemInstallation, SystemServer } from '@reeve/server/wire'
import { useWatched } from '../../data/polled.ts'
import { server } from '../../data/server.ts'
import { Link, runPath } from '../../router.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Figure } from '../../ui/figure.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading, Notice } from '../../ui/states.tsx'
import { durationText, Time, useNow } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import {
  bytesText,
  boundedText,
  delayTone,
  engineLabel,
  isLate,
  msText,
  ranked,
  storeKindText,
} from './system-labels.ts'

const everyMs = 5_000

type Backlog = SystemInstallation['backlog']
type Worker = SystemInstallation['workers'][number]

export function SystemPage() {
  const { data, error, reload } = useWatched((signal) => server.system({ signal }), ['system'], 'system', everyMs)
  return (
    <div className="page">
      <header>
        <h1>System</h1>
        {data !== undefined && error === undefined && <span className="muted">updated every 5 seconds</span>}
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="the system" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : (
        <>
          {error !== undefined && <Notice tone="wait">The server does not answer. This is what it said last.</Notice>}
          <Top system={data} />
          <div className="two-columns">
            <RunCounts runs={data.runs} />
            {data.installation !== undefined && <Lag backlog={data.installation.backlog} server={data.server} />}
          </div>
          {data.installation !== undefined && <Workers workers={data.installation.workers} />}
          {data.installation !== undefined && data.server !== undefined && (
            <div className="two-columns">
              <Panel title="Store">
                <Facts
                  facts={[
                    ['Kind', storeKindText(data.installation.store.kind)],
                    ['Where', <VisibleText key="w">{data.installation.store.name}</VisibleText>],
                  ]}
                />
              </Panel>
              <Panel title="This server">
                <Facts
                  facts={[
                    ['Reeve', data.version],
                    ['Node', data.server.node],
                    ['Process', String(data.server.pid)],
                  ]}
                />
              </Panel>
            </div>
          )}
        </>
      )}
    </div>
  )
}

function Top({ system: { version, installation, server } }: { readonly system: SystemDocument }) {
  return (
    <div className="figures">
      {installation !== undefined && (
        <>
          <Figure label="Engine" value={engineLabel(installation.engine)} />
          <Figure
            label="Worker processes"
            value={installation.workers.filter(({ isAlive }) => isAlive === true).length}
          />
          <Figure label="Runs that wait for a process" value={boundedText(installation.backlog.ready)} />
          <Figure label="Store" value={bytesText(installation.store.bytes)} />
        </>
      )}
      {server !== undefined && <Figure label="Up for" value={durationText(server.uptimeMs)} />}
      {server === undefined && <Figure label="Reeve" value={version} />}
    </div>
  )
}

function RunCounts({ runs }: { readonly runs: SystemDocument['runs'] }) {
  const shown = ranked(runs)
  return (
    <Panel title="Runs by status" flush>
      {shown.length === 0 ? (
        <Empty icon="runs" title="No runs yet">
          <Link to="/runs">Start the first one</Link>
        </Empty>
      ) : (
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col" className="num">
                Runs
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(([status, count]) => (
              <tr key={status}>
                <td>
                  <Link to={`/runs?status=${status}`}>
                    <StatusBadge status={status satisfies RunRow['status']} />
                  </Link>
                  {status === 'running' && <span className="muted"> with those that are queued</span>}
                </td>
                <td className="num">{boundedText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

const delayLabels = { ok: 'Keeps up', wait: 'Slow', bad: 'Overloaded' } as const

function Lag({ backlog, server }: { readonly backlog: Backlog; readonly server: SystemServer | undefined }) {
  const { ready, first, unheard } = backlog
  const late = isLate(first?.since, useNow())
  const loop = server?.eventLoop
  const facts: readonly (readonly [string, ReactNode])[] = [
    [
      'Wait for a process',
      <span key="r">
        {ready.count === 0 ? 'none' : `${boundedText(ready)} ${ready.count === 1 ? 'run' : 'runs'}`}{' '}
        {late && (
          <Badge tone="wait" icon="clock">
            for too long
          </Badge>
        )}
      </span>,
    ],
    [
      'Waits longest',
      first !== undefined && (
        <span key="f">
          <Link to={runPath(first.run)}>
            <VisibleText>{first.run}</VisibleText>
          </Link>
          , nothing recorded for <Time at={first.since} form="since" />
        </span>
      ),
    ],
    [
      'Have unread mail',
      unheard.count === 0 ? 'none' : `${boundedText(unheard)} ${unheard.count === 1 ? 'run' : 'runs'}`,
    ],
    [
      'This server',
      loop === undefined ? (
        'not measured yet'
      ) : (
        <span key="e">
          <Badge tone={delayTone(loop)} icon={delayTone(loop) === 'ok' ? 'check' : 'clock'}>
            {delayLabels[delayTone(loop)]}
          </Badge>{' '}
          <span className="muted">
            timers are {msText(loop.meanMs)} late on average, {msText(loop.p99Ms)} in the slowest 1 %, over the last{' '}
            {durationText(loop.overMs)}
          </span>
        </span>
      ),
    ],
  ]
  return (
    <Panel title="Is the work keeping up?">
      <Facts facts={facts} />
    </Panel>
  )
}

function Workers({ workers }: { readonly workers: readonly Worker[] }) {
  const narrow = useNarrow()
  return (
    <Panel title="Worker processes" flush>
      {workers.length === 0 ? (
        <Empty icon="system" title="No process drives runs">
          Runs wait until one does: <code>reeve work</code>, or a program with <code>createRuntime</code> on this store.
        </Empty>
      ) : (
        <div className="table-scroll" role="region" aria-label="Every worker process" tabIndex={0}>
          <table className={`plain-table wide${narrow ? ' cards' : ''}`}>
            <thead>
              <tr>
                <th scope="col">Process</th>
                <th scope="col">State</th>
                <th scope="col">Host</th>
                <th scope="col" className="num">
                  Pid
                </th>
                <th scope="col">Works on</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((worker) => (
                <tr key={worker.id}>
                  <td className="nowrap">
                    <code>
                      <VisibleText>{worker.id}</VisibleText>
                    </code>
                    {worker.isThis && <span className="muted"> this server</span>}
                  </td>
                  <td>
                    <Life isAlive={worker.isAlive} />
                  </td>
                  <td data-label="Host">
                    {worker.host === undefined ? <Unknown /> : <VisibleText>{worker.host}</VisibleText>}
                  </td>
                  <td className="num" data-label="Pid">
                    {worker.pid ?? <Unknown />}
                  </td>
                  <td data-label="Works on">
                    <Drives worker={worker} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}

const Unknown = () => <span className="muted">not known</span>

function Life({ isAlive }: { readonly isAlive: boolean | undefined }) {
  if (isAlive === undefined)
    return (
      <Badge
        tone="idle"
        icon="doubt"
        title="Its lease is over, and it is on another host: it has nothing to do, or it is dead."
      >
        Idle or gone
      </Badge>
    )
  return isAlive ? (
    <Badge tone="ok" icon="check">
      Alive
    </Badge>
  ) : (
    <Badge tone="bad" icon="cross" title="Another worker takes its runs over.">
      Gone
    </Badge>
  )
}

function Drives({ worker: { drives, isMore } }: { readonly worker: Worker }) {
  if (drives.length === 0) return <span className="muted">nothing</span>
  return (
    <ul>
      {drives.map(({ agent, version, runs }) => (
        <li key={`${agent}\n${version}`}>
          {runs} × <VisibleText>{agent}</VisibleText>{' '}
          <span className="muted">
            <VisibleText>{version}</VisibleText>
          </span>
        </li>
      ))}
      {isMore && <li className="muted">and more</li>}
    </ul>
  )
}
