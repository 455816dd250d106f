/** The runs: what each waits for, what failed and why, what it costs; found by what is known of it. */
import { useState } from 'react'
import type { RunQuery } from '@reeve/client'
import { readJson } from '@reeve/core/json-text'
import type { RunStatus } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { usePages } from '../../data/pages.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { filled, server } from '../../data/server.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { navigate, runPath, useParams } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { FilterText } from '../../ui/filter-text.tsx'
import { Empty, ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { serverNow } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { runColumns } from './run-columns.tsx'
import { StartDialog } from './start-dialog.tsx'
import './runs.css'

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
    server.runs.list({ ...filterOf(given), ...page, signal }),
  )
  const [retrying, setRetrying] = useState(false)
  const [starting, setStarting] = useState(false)
  const mayOperate = useRole('operator')
  const mayRetry = mayOperate && given.status === 'failed'
  useHotkeys(mayOperate ? { n: () => setStarting(true) } : {})
  return (
    <div className="page fixed">
      <header>
        <h1>Runs</h1>
        {mayOperate && (
          <Button icon="plus" onClick={() => setStarting(true)}>
            Start a run…
          </Button>
        )}
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
            Runs appear here as soon as they begin: from this page, from code, from the command line, or by POST
            /api/runs.
          </Empty>
        )
      ) : (
        <div className="fill-table">
          <DataTable
            label="Runs"
            rows={items}
            rowKey={({ run }) => run}
            onOpen={({ run }) => navigate(runPath(run))}
            onEnd={loadMore}
            columns={runColumns}
          />
        </div>
      )}
      {starting && <StartDialog onClose={() => setStarting(false)} />}
      {retrying && <RetryDialog filter={filterOf(given)} onClose={() => setRetrying(false)} />}
    </div>
  )
}

function filterOf(given: Readonly<Record<(typeof names)[number], string>>): RunQuery {
  const { status, agent, user, session, metadata, span, usdFrom } = given
  const equals = metadata.indexOf('=')
  return filled({
    status: status === '' ? undefined : [status as RunStatus],
    agent,
    user,
    session,
    metadata: equals > 0 ? { [metadata.slice(0, equals)]: metadata.slice(equals + 1) } : undefined,
    since: Object.hasOwn(spans, span) ? serverNow() - spans[span as keyof typeof spans][1] : undefined,
    usdFrom: usdFrom === '' ? undefined : Number(usdFrom),
  })
}

/** The filter of a list as that of a batch: a value of metadata is what it says as JSON, else the text. */
function batchFilterOf({ metadata, limit: _limit, ...filter }: RunQuery): Parameters<typeof server.batches.start>[1] {
  if (metadata === undefined) return filter
  const values = Object.entries(metadata).map(([name, value]) => {
    const read = readJson(value)
    const isScalar = read.ok && (read.value === null || typeof read.value !== 'object')
    return [name, isScalar ? read.value : value] as const
  })
  return { ...filter, metadata: Object.fromEntries(values) }
}

function RetryDialog({ filter, onClose }: { readonly filter: RunQuery; readonly onClose: () => void }) {
  const toast = useToast()
  const { run, busy, error } = useMutation(() => server.batches.start('retry', batchFilterOf(filter)), {
    done() {
      toast.done('The failed runs are being retried, one after the other')
      changed(['runs'])
      onClose()
    },
  })
  const { metadata = {}, ...rest } = filter
  const equal = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value] as const)
  const said = [...Object.entries(rest), ...equal]
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
              <VisibleText>{`${name}: ${String(value)}`}</VisibleText>
            </li>
          ))}
        </ul>
        {error !== undefined && <Notice tone="bad">{sentences(error).message}</Notice>}
      </div>
    </Dialog>
  )
}
