/** Two runs side by side: what they did the same, and where they went different ways. */
import { useState } from 'react'
import type { RunDiff } from '@reeve/server/wire'
import { Link, runPath } from '../../router.tsx'
import type { Json } from '../../data/json.ts'
import { countText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { ValueDiff } from '../../ui/diff.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { entryLine } from './journal-lines.ts'
import { usePolled } from '../../data/polled.ts'
import { useRun } from './run-context.tsx'

const shownAtFirst = 200

type RunDifference = RunDiff['differences'][number]

export function RunDiffView({ other }: { readonly other: string }) {
  const { api, live, go } = useRun()
  const { data, error, reload } = usePolled((signal) => api.diff(other, { signal }), live.head.endedAt, other)
  const [shown, setShown] = useState(shownAtFirst)
  const [open, setOpen] = useState<number>()
  return (
    <div className="run-fill">
      <div className="run-bar">
        <Button small icon="back" onClick={() => go(undefined, { with: undefined })}>
          Journal
        </Button>
        <span className="grow truncate">
          This run beside{' '}
          <Link to={runPath(other)}>
            <VisibleText>{other}</VisibleText>
          </Link>
        </span>
        {data !== undefined && (
          <span className="muted">
            {countText(data.same)} entries the same, {countText(data.differences.length + (data.more ?? 0))} different
          </span>
        )}
        <Button small onClick={reload}>
          Compare again
        </Button>
      </div>
      {data === undefined ? (
        error === undefined ? (
          <Loading what="the comparison" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : data.differences.length === 0 ? (
        <Empty icon="check" title="Both did the same">
          All {countText(data.same)} entries are the same, as far as both go.
        </Empty>
      ) : (
        <div className="run-scroll run-diff" role="region" aria-label="Differences" tabIndex={0}>
          <div className="run-diff-head" aria-hidden="true">
            <span>This run</span>
            <span>The other run</span>
          </div>
          <ol>
            {data.differences.slice(0, shown).map((difference, i) => (
              // differences have no identity but their place
              // oxlint-disable-next-line react/no-array-index-key
              <li key={i}>
                <button type="button" aria-expanded={open === i} onClick={() => setOpen(open === i ? undefined : i)}>
                  <span className="run-diff-place">
                    <Icon name={open === i ? 'down' : 'right'} />
                    <b>
                      <VisibleText>{difference.agent}</VisibleText>
                    </b>
                    {difference.address !== undefined && (
                      <code className="truncate">
                        <VisibleText>{difference.address}</VisibleText>
                      </code>
                    )}
                    {i === 0 && <span className="run-mark">first difference</span>}
                  </span>
                  <Side recorded={difference.one} agent={difference.agent} />
                  <Side recorded={difference.other} agent={difference.agent} />
                </button>
                {open === i && <Both difference={difference} />}
              </li>
            ))}
          </ol>
          {data.differences.length > shown && (
            <Button onClick={() => setShown(shown + 500)}>Show more ({data.differences.length - shown} left)</Button>
          )}
          {data.more !== undefined && (
            <p className="muted">
              The first {countText(data.differences.length)} differences are listed; {countText(data.more)} more are
              not.
              <code>reeve diff</code> lists all of them.
            </p>
          )}
        </div>
      )}
    </div>
  )
}

function Side({ recorded, agent }: { readonly recorded: RunDifference['one']; readonly agent: string }) {
  return (
    <span className={`run-diff-side${recorded === undefined ? ' none' : ''}`}>
      {recorded === undefined ? (
        'nothing here'
      ) : (
        <>
          <span className="run-type">{recorded.event.type}</span>{' '}
          <VisibleText>{entryLine({ ...recorded, agent })}</VisibleText>
        </>
      )}
    </span>
  )
}

const eventOf = (recorded: RunDifference['one']): Json =>
  recorded === undefined ? '' : (recorded.event as unknown as Json)

function Both({ difference: { one, other } }: { readonly difference: RunDifference }) {
  return <ValueDiff before={eventOf(one)} after={eventOf(other)} label="The event of this run and that of the other" />
}
