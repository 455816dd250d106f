/** The runs: what each waits for, what failed and why, what it costs; found by what is known of it. */
import { useState } from 'react'
import type { RunRow } from '../../../../src/server/wire.ts'
import { readRuns, retryRuns, type RunsFilter } from '../../data/api.ts'
import { useRole } from '../../data/me.ts'
import { usePages } from '../../data/pages.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { navigate, runPath, Link, useParams } from '../../router.tsx'
import { Money, Tokens } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextInput } from '../../ui/field.tsx'
import { Empty, ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { Countdown, Duration, serverNow, Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import './runs.css'

/** A row with what the store knows of it where it has been indexed. */
type Row = RunRow & {
  readonly usage?: { readonly tokens?: number; readonly usd?: number }
  readonly waitsFor?: {
    readonly questions: number
    readonly oldest: { readonly kind: keyof typeof questionWords; readonly askedAt: number; readonly until?: number }
  }
}

const statuses: readonly (readonly [value: string, word: string])[] = [
  ['running', 'Running'],
  ['waiting', 'Waiting'],
  ['queued', 'Queued'],
  ['paused', 'Paused'],
  ['human_control', 'Taken over'],
  ['stuck', 'Stuck'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['limited', 'Limit reached'],
  ['timed-out', 'Timed out'],
  ['cancelled', 'Cancelled'],
  ['bailed', 'Bailed out'],
]

const hour = 3_600_000
const spans = {
  hour: ['the last hour', hour],
  day: ['the last day', 24 * hour],
  week: ['the last week', 168 * hour],
} as const

const questionWords = {
  approval: 'an approval',
  interrupt: 'an answer',
  'in-doubt': 'a doubt to be settled',
  diverged: 'a divergence to be settled',
} as const

/** What a run is at, in a sentence: what it waits for, or what went wrong. */
function Why({ row: { waitsFor, queued, failure, reason } }: { readonly row: Row }) {
  if (waitsFor !== undefined)
    return (
      <>
        waits for {questionWords[waitsFor.oldest.kind]}
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
  const text = reason ?? failure?.message
  return text === undefined ? null : (
    <span title={text.length > 60 ? text.slice(0, 1_000) : undefined}>
      <VisibleText>{text.slice(0, 300)}</VisibleText>
    </span>
  )
}

const columns: readonly Column<Row>[] = [
  { id: 'status', head: 'Status', width: '128px', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: 'run',
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

const names = ['status', 'agent', 'user', 'session', 'metadata', 'span', 'usdFrom'] as const

export function RunsPage() {
  const [params, setParams] = useParams()
  const given = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<
    (typeof names)[number],
    string
  >
  const key = names.map((name) => given[name]).join('\n')
  const filtered = key.trim() !== ''
  const { items, error, loadMore, reload } = usePages(`runs ${key}`, ['runs'], (page, signal) =>
    readRuns({ ...filterOf(given), ...page }, signal),
  )
  const [retrying, setRetrying] = useState(false)
  const mayRetry = useRole('operator') && given.status === 'failed'
  return (
    <div className="page fixed">
      <header>
        <h1>Runs</h1>
        {mayRetry && (items?.length ?? 0) > 0 && (
          <Button icon="play" onClick={() => setRetrying(true)}>
            Retry failed runs…
          </Button>
        )}
        {filtered && (
          <Button tone="quiet" onClick={() => setParams(Object.fromEntries(names.map((name) => [name, ''])))}>
            Clear filters
          </Button>
        )}
      </header>
      <search className="run-filters" aria-label="Filters">
        <Select aria-label="Status" value={given.status} onChange={({ target }) => setParams({ status: target.value })}>
          <option value="">Any status</option>
          {statuses.map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
        <FilterText label="Agent" value={given.agent} onSet={(agent) => setParams({ agent })} />
        <FilterText label="User" value={given.user} onSet={(user) => setParams({ user })} />
        <FilterText label="Session" value={given.session} onSet={(session) => setParams({ session })} />
        <FilterText
          label="Metadata key=value"
          value={given.metadata}
          onSet={(metadata) => setParams({ metadata: metadata === '' || metadata.includes('=') ? metadata : '' })}
        />
        <Select aria-label="Begun" value={given.span} onChange={({ target }) => setParams({ span: target.value })}>
          <option value="">Begun at any time</option>
          {Object.entries(spans).map(([value, [word]]) => (
            <option key={value} value={value}>
              Begun in {word}
            </option>
          ))}
        </Select>
        <FilterText
          label="Cost from, in $"
          value={given.usdFrom}
          onSet={(text) => setParams({ usdFrom: Number.isFinite(Number(text)) ? text : '' })}
        />
      </search>
      {items === undefined ? (
        error === undefined ? (
          <Loading what="runs" />
        ) : (
          <ErrorState error={error} onRetry={reload} />
        )
      ) : items.length === 0 ? (
        filtered ? (
          <Empty icon="search" title="No run matches">
            Take a filter away to see the others.
          </Empty>
        ) : (
          <Empty icon="runs" title="No runs yet">
            Runs appear here as soon as they begin: from code, from the command line, or by POST /api/runs.
          </Empty>
        )
      ) : (
        <div className="runs-table">
          <DataTable
            label="Runs"
            rows={items}
            rowKey={({ run }) => run}
            onOpen={({ run }) => navigate(runPath(run))}
            onEnd={loadMore}
            columns={columns}
          />
        </div>
      )}
      {retrying && <RetryDialog filter={filterOf(given)} onClose={() => setRetrying(false)} />}
    </div>
  )
}

function filterOf(given: Readonly<Record<(typeof names)[number], string>>): RunsFilter {
  const { status, agent, user, session, metadata, span, usdFrom } = given
  const equals = metadata.indexOf('=')
  return {
    status,
    agent,
    user,
    session,
    ...(equals > 0 ? { [`metadata.${metadata.slice(0, equals)}`]: metadata.slice(equals + 1) } : undefined),
    since: Object.hasOwn(spans, span) ? serverNow() - spans[span as keyof typeof spans][1] : undefined,
    usdFrom,
  }
}

/** A text that filters when it is finished: by Enter, or when the field is left. */
function FilterText(props: {
  readonly label: string
  readonly value: string
  readonly onSet: (value: string) => void
}) {
  const { label, value, onSet } = props
  const [typed, setTyped] = useState<string>()
  const finish = (): void => {
    if (typed !== undefined && typed.trim() !== value) onSet(typed.trim())
    setTyped(undefined)
  }
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      value={typed ?? value}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={finish}
      onKeyDown={({ key }) => key === 'Enter' && finish()}
    />
  )
}

function RetryDialog({ filter, onClose }: { readonly filter: RunsFilter; readonly onClose: () => void }) {
  const toast = useToast()
  const { run, busy, error } = useMutation(() => retryRuns(filter), {
    done() {
      toast.done('The failed runs go on from their last good point')
      changed(['runs'])
      onClose()
    },
  })
  const said = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  return (
    <Dialog
      title="Retry failed runs"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="accent" busy={busy} onClick={() => run(undefined)}>
            Retry all that match
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          Every run that matches is forked at its last good point and goes on from there. What was finished before is
          not done again.
        </p>
        <ul className="mono">
          {said.map(([name, value]) => (
            <li key={name}>
              <VisibleText>{`${name}: ${value}`}</VisibleText>
            </li>
          ))}
        </ul>
        {error !== undefined && <Notice tone="bad">{sentences(error).message}</Notice>}
      </div>
    </Dialog>
  )
}
