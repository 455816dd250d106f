/** What a list of runs shows of each: its state, what it waits for, what went wrong, what it has cost. */
import type { RunRow, SummaryText } from '@reeve/server/wire'
import { Link, runPath } from '../../router.tsx'
import { countText, Money, Tokens } from '../../ui/amounts.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { TwoLines, type Column } from '../../ui/data-table.tsx'
import { Countdown, Duration, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

const questionLabels = {
  approval: 'an approval',
  interrupt: 'an answer',
  'in-doubt': 'a doubt to be settled',
  diverged: 'a divergence to be settled',
} as const

/** What a run is at, in a sentence: what it waits for, or what went wrong. */
function Why({ row: { waitsFor, queued, failure, reason, failures, failureCount } }: { readonly row: RunRow }) {
  if (waitsFor !== undefined)
    return (
      <>
        waits for {questionLabels[waitsFor.oldest.kind]}
        {waitsFor.questions > 1 && ` and ${waitsFor.questions - 1} more`},{' '}
        <Time at={waitsFor.oldest.askedAt} form="since" />
        {waitsFor.oldest.until !== undefined && (
          <>
            , <Countdown until={waitsFor.oldest.until} />
          </>
        )}
      </>
    )
  if (queued !== undefined)
    return (
      <>
        behind <VisibleText>{queued.behind}</VisibleText>
      </>
    )
  if (failures !== undefined) return <FailedWorkers failures={failures} count={failureCount ?? failures.length} />
  const text = reason ?? failure?.message
  return text === undefined ? null : (
    <span title={text.length > 60 ? text.slice(0, 1_000) : undefined}>
      <VisibleText>{text.slice(0, 300)}</VisibleText>
    </span>
  )
}

/** The workers that failed below a run that completed. */
export function FailedWorkers(props: { readonly failures: NonNullable<RunRow['failures']>; readonly count: number }) {
  const { failures, count } = props
  return (
    <>
      <Badge tone="wait" icon="warn">
        {workersText(count)}
      </Badge>{' '}
      <VisibleText>{failedText(failures, count)}</VisibleText>
    </>
  )
}

const workersText = (count: number): string => (count === 1 ? '1 worker failed' : `${countText(count)} workers failed`)

function failedText(failures: NonNullable<RunRow['failures']>, count: number): string {
  const names = failures.slice(0, 3).map(({ worker, code }) => `${worker} (${code})`)
  return [...names, ...(count > names.length ? [`${count - names.length} more`] : [])].join(', ')
}

/** What it was asked, and what came of it. */
function RequestCell({ row }: { readonly row: RunRow }) {
  const { run, input } = row
  return (
    <TwoLines
      first={
        <Link to={runPath(run)} tabIndex={-1} title={input === undefined ? undefined : textOf(input)}>
          <VisibleText>{input === undefined || input.text === '' ? run : textOf(input)}</VisibleText>
        </Link>
      }
      second={<CameOf row={row} />}
    />
  )
}

function CameOf({ row }: { readonly row: RunRow }) {
  const { output, failures, failureCount, status } = row
  if (status !== 'completed' || output === undefined) return <Why row={row} />
  return (
    <>
      {failures !== undefined && (
        <Badge tone="wait" icon="warn" title={failedText(failures, failureCount ?? failures.length)}>
          {workersText(failureCount ?? failures.length)}
        </Badge>
      )}
      <span title={textOf(output)}>
        <span aria-hidden="true">→ </span>
        <span className="sr-only">answered </span>
        <VisibleText>{textOf(output)}</VisibleText>
      </span>
    </>
  )
}

/** A text on one line, with what is left out said. */
const textOf = ({ text, cut }: SummaryText): string =>
  `${text.replaceAll(/\s+/g, ' ').trim()}${cut === true ? '…' : ''}`

/** The columns of a list of runs. */
export const runColumns: readonly Column<RunRow>[] = [
  {
    id: 'status',
    card: 'unnamed',
    head: 'Status',
    width: '136px',
    lines: 2,
    cell: ({ status, run, caller }) => (
      <TwoLines
        first={
          <>
            <StatusBadge status={status} />
            {caller.trial === true && <Badge tone="held">Trial</Badge>}
          </>
        }
        second={
          <span className="mono" title={run}>
            <VisibleText>{run}</VisibleText>
          </span>
        }
      />
    ),
  },
  {
    id: 'run',
    card: 'unnamed',
    head: 'Asked, and what came of it',
    width: 'minmax(240px, 4fr)',
    lines: 2,
    cell: (row) => <RequestCell row={row} />,
  },
  {
    id: 'agent',
    head: 'Agent',
    width: 'minmax(104px, 1fr)',
    lines: 2,
    cell: ({ agent, version }) => (
      <TwoLines first={<VisibleText>{agent}</VisibleText>} second={<VisibleText>{version}</VisibleText>} />
    ),
  },
  {
    id: 'for',
    head: 'For',
    width: 'minmax(96px, 1fr)',
    lines: 2,
    cell: ({ caller: { user, session, tenant } }) => (
      <TwoLines
        first={user !== undefined && <VisibleText>{user}</VisibleText>}
        second={
          (tenant ?? session) !== undefined && (
            <VisibleText>{[tenant, session].filter(Boolean).join(' · ')}</VisibleText>
          )
        }
      />
    ),
  },
  {
    id: 'cost',
    head: 'Cost',
    width: '72px',
    align: 'right',
    lines: 2,
    cell: ({ usage }) => (
      <TwoLines
        first={usage?.usd !== undefined && <Money usd={usage.usd} />}
        second={
          usage?.tokens !== undefined && (
            <>
              <Tokens tokens={usage.tokens} />
              <span className="sr-only"> tokens</span>
            </>
          )
        }
      />
    ),
  },
  {
    id: 'took',
    head: 'Took',
    width: '88px',
    align: 'right',
    lines: 2,
    cell: ({ createdAt, endedAt }) => (
      <TwoLines first={<Duration from={createdAt} to={endedAt} />} second={<Time at={createdAt} />} />
    ),
  },
]
