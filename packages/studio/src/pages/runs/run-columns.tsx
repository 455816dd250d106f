/** What a list of runs shows of each: its state, what it waits for, what went wrong, what it has cost. */
import type { RunRow } from '@reeve/server/wire'
import { Link, runPath } from '../../router.tsx'
import { Money, Tokens } from '../../ui/amounts.tsx'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Countdown, Duration, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

/** A row with what the store knows of it where it has been indexed. */
type Row = RunRow & {
  readonly usage?: { readonly tokens?: number; readonly usd?: number }
  readonly waitsFor?: {
    readonly questions: number
    readonly oldest: { readonly kind: keyof typeof questionLabels; readonly askedAt: number; readonly until?: number }
  }
}

const questionLabels = {
  approval: 'an approval',
  interrupt: 'an answer',
  'in-doubt': 'a doubt to be settled',
  diverged: 'a divergence to be settled',
} as const

/** What a run is at, in a sentence: what it waits for, or what went wrong. */
function Why({ row: { waitsFor, queued, failure, reason, failures, failureCount } }: { readonly row: Row }) {
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
export function FailedWorkers(props: { readonly failures: NonNullable<Row['failures']>; readonly count: number }) {
  const { failures, count } = props
  const names = failures.slice(0, 3).map(({ worker, code }) => `${worker} (${code})`)
  const rest = count > names.length ? [`${count - names.length} more`] : []
  return (
    <>
      <Badge tone="wait" icon="warn">
        {count === 1 ? '1 worker failed' : `${count} workers failed`}
      </Badge>{' '}
      <VisibleText>{[...names, ...rest].join(', ')}</VisibleText>
    </>
  )
}

/** The columns of a list of runs. */
export const runColumns: readonly Column<Row>[] = [
  {
    id: 'status',
    head: 'Status',
    width: '128px',
    cell: ({ status, caller }) => (
      <>
        <StatusBadge status={status} />
        {caller.trial === true && <Badge tone="held">Trial</Badge>}
      </>
    ),
  },
  {
    id: 'run',
    card: 'unnamed',
    head: 'Run',
    width: 'minmax(152px, 1.2fr)',
    cell: ({ run }) => (
      <Link to={runPath(run)} tabIndex={-1}>
        <VisibleText>{run}</VisibleText>
      </Link>
    ),
  },
  { id: 'agent', head: 'Agent', width: 'minmax(96px, 1fr)', cell: ({ agent }) => <VisibleText>{agent}</VisibleText> },
  {
    id: 'for',
    head: 'For',
    width: 'minmax(80px, 1fr)',
    cell: ({ caller: { user } }) => user !== undefined && <VisibleText>{user}</VisibleText>,
  },
  {
    id: 'why',
    card: 'last',
    head: 'What it waits for, what went wrong',
    width: 'minmax(176px, 2.5fr)',
    cell: (row) => <Why row={row} />,
  },
  {
    id: 'tokens',
    head: 'Tokens',
    width: '64px',
    align: 'right',
    cell: ({ usage }) => usage?.tokens !== undefined && <Tokens tokens={usage.tokens} />,
  },
  {
    id: 'cost',
    head: 'Cost',
    width: '64px',
    align: 'right',
    cell: ({ usage }) => usage?.usd !== undefined && <Money usd={usage.usd} />,
  },
  {
    id: 'took',
    head: 'Took',
    width: '80px',
    align: 'right',
    cell: ({ createdAt, endedAt }) => <Duration from={createdAt} to={endedAt} />,
  },
  { id: 'begun', head: 'Begun', width: '80px', cell: ({ createdAt }) => <Time at={createdAt} /> },
]
