/** One trust record: its level, what it rests on, what is missing for the next one, and every change with who made it. */
import { useState } from 'react'
import { oversightModeRules } from '@reeve/core/oversight-mode'
import type { TrustView } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { server } from '../../data/server.ts'
import { useWatched } from '../../data/polled.ts'
import { Link, runPath } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading, Notice } from '../../ui/states.tsx'
import { exactTime, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { IncidentDialog, LevelDialog } from './trust-dialogs.tsx'
import { LevelBadge } from './trust-page.tsx'
import { changeText, nextText, rateText } from './trust-labels.ts'

export function TrustRecordPage({ name }: { readonly name: string }) {
  const { data, error, reload } = useWatched(
    (signal) => server.trust.of(name, { signal }),
    ['trust', 'runs'],
    `trust ${name}`,
  )
  const [open, setOpen] = useState<'level' | 'incident'>()
  const mayChange = useRole('admin')
  const close = (): void => setOpen(undefined)
  return (
    <div className="page">
      <header>
        <nav aria-label="Where you are" className="crumbs">
          <Link to="/trust">Trust</Link>
          <Icon name="right" />
        </nav>
        <h1>
          <VisibleText>{name}</VisibleText>
        </h1>
        {mayChange && data !== undefined && (
          <>
            <Button icon="edit" onClick={() => setOpen('level')}>
              Set the level…
            </Button>
            <Button icon="warn" tone="danger" onClick={() => setOpen('incident')}>
              Record an incident…
            </Button>
          </>
        )}
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="the trust record" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : (
        <>
          {!mayChange && <Notice>To set a level or record an incident, you need the role admin.</Notice>}
          <div className="two-columns">
            <Panel title="Level">
              <Facts facts={factsOf(data)} />
            </Panel>
            <Panel title="Rules" flush>
              <Rules record={data} />
            </Panel>
          </div>
          <Panel title="History" flush>
            <History record={data} />
          </Panel>
          {open === 'level' && <LevelDialog record={data} onClose={close} />}
          {open === 'incident' && <IncidentDialog record={data} onClose={close} />}
        </>
      )}
    </div>
  )
}

const factsOf = (record: TrustView): Parameters<typeof Facts>[0]['facts'] => {
  const { level, mode, completed, succeeded, startedAt, lastIncident } = record
  return [
    ['Level', <LevelBadge key="l" level={level} />],
    ['What it means', oversightModeRules[mode].title],
    [
      'Runs counted',
      completed === 0
        ? 'none yet'
        : `${countText(completed)}, of which ${countText(succeeded)} succeeded (${rateText(record)})`,
    ],
    ['Counted since', startedAt !== undefined && <Time key="s" at={startedAt} />],
    ['Last incident', lastIncident === undefined ? 'none' : <Time key="i" at={lastIncident} />],
    ['Next level', nextText(record)],
  ]
}

function Rules({ record: { rules } }: { readonly record: TrustView }) {
  return (
    <div className="table-scroll" role="region" aria-label="Rules of promotion" tabIndex={0}>
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">To become</th>
            <th scope="col" className="num">
              Runs
            </th>
            <th scope="col" className="num">
              Succeeded
            </th>
            <th scope="col" className="num">
              Days
            </th>
            <th scope="col" className="num">
              Days without incident
            </th>
          </tr>
        </thead>
        <tbody>
          {(['proficient', 'expert'] as const).map((level) => {
            const { tasks, rate, days, incidentDays } = rules[level]
            return (
              <tr key={level}>
                <th scope="row">{level}</th>
                <td className="num">{countText(tasks)}</td>
                <td className="num">{Math.round(rate * 1_000) / 10} %</td>
                <td className="num">{days}</td>
                <td className="num">{incidentDays}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function History({ record: { history } }: { readonly record: TrustView }) {
  const narrow = useNarrow()
  if (history.length === 0)
    return (
      <Empty icon="clock" title="Nothing has changed yet">
        The first run of an agent that names this record begins it, as a novice: a person approves each action.
      </Empty>
    )
  return (
    <div className="table-scroll" role="region" aria-label="Changes of the record" tabIndex={0}>
      <table className={`plain-table wide${narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Who</th>
            <th scope="col">Why</th>
            <th scope="col">Run</th>
            <th scope="col" className="num">
              Succeeded until then
            </th>
          </tr>
        </thead>
        <tbody>
          {history
            .map((entry, i) => ({ entry, i }))
            .toReversed()
            .map(({ entry, i }) => (
              <tr key={i}>
                <td className="nowrap">
                  <time dateTime={new Date(entry.at).toISOString()}>{exactTime(entry.at)}</time>
                </td>
                <td>{changeText(entry)}</td>
                <td className="nowrap" data-label="Who">
                  {entry.by === undefined ? (
                    <span className="muted">the rules</span>
                  ) : (
                    <VisibleText>{entry.by}</VisibleText>
                  )}
                </td>
                <td data-label={entry.note === undefined ? undefined : 'Why'}>
                  {entry.note !== undefined && <VisibleText lines>{entry.note}</VisibleText>}
                </td>
                <td data-label={entry.run === undefined ? undefined : 'Run'}>
                  {entry.run !== undefined && (
                    <Link to={runPath(entry.run)}>
                      <VisibleText>{entry.run}</VisibleText>
                    </Link>
                  )}
                </td>
                <td className="num nowrap" data-label="Succeeded until then">
                  {countText(entry.succeeded)} of {countText(entry.completed)}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}
