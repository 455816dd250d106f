/**
 * The runs: what each was asked and what came of it, found by what is known of it; all of them in numbers, by the cause
 * of their failure, and commanded at once.
 */
import { useRef, useState } from 'react'
import type { FiguresQuery } from '@reeve/client'
import type { BatchVerb, FailureGroup, TotalsAnswer } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { usePages } from '../../data/pages.ts'
import { useWatched } from '../../data/polled.ts'
import { useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { Link, navigate, runPath, useParams } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { countText } from '../../ui/count-text.ts'
import { DataTable } from '../../ui/data-table.tsx'
import type { IconName } from '../../ui/icon.tsx'
import { Empty, ErrorState, Loading } from '../../ui/states.tsx'
import { serverNow } from '../../ui/time.tsx'
import { openRuns } from '../metrics/figures.ts'
import { BatchDialog } from './batch-dialog.tsx'
import { BatchesView, BatchProgress, useBatches } from './batch-progress.tsx'
import { isBatchOver, verbLabels } from './batch-labels.ts'
import { CausesView } from './causes-view.tsx'
import { FilterFields } from './filter-fields.tsx'
import { runColumns } from './run-columns.tsx'
import { conditions, paramsOf, queryOf, runsPath, statusesFor, verbStatuses, type RunParams } from './run-filter.ts'
import { StartDialog } from './start-dialog.tsx'
import { TotalsBar } from './totals-bar.tsx'
import './runs.css'

const views = { '': 'List', causes: 'Failures by cause', batches: 'Batches' } as const
type View = keyof typeof views

/** Totals are counted again after a change at most so often. Milliseconds. */
const totalsEveryMs = 3_000

/** A command for all runs of a filter that is being asked about. */
interface PendingCommand {
  readonly verb: BatchVerb
  readonly query: FiguresQuery
  readonly given: RunParams
}

export function RunsPage() {
  const [params, setParams] = useParams()
  const given = paramsOf(params)
  const view = Object.hasOwn(views, params.get('view') ?? '') ? ((params.get('view') ?? '') as View) : ''
  const shownBatch = params.get('batch') ?? ''
  const key = JSON.stringify(given)
  const isFiltered = conditions(given).length > 0
  const query = (): FiguresQuery => queryOf(given, serverNow())
  const totals = useWatched(
    (signal) => server.totals({ ...query(), signal }),
    ['runs'],
    `totals ${key}`,
    undefined,
    totalsEveryMs,
  )
  const batches = useBatches()
  const [asked, setAsked] = useState<PendingCommand>()
  const [isStarting, setStarting] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const mayOperate = useRole('operator')
  useHotkeys({
    '/': () => search.current?.focus(),
    ...(mayOperate ? { n: () => setStarting(true) } : undefined),
  })
  const ask = (verb: BatchVerb, of: RunParams = given): void =>
    setAsked({ verb, query: queryOf(of, serverNow()), given: of })
  const listed = batches.data?.items ?? []
  return (
    <div className="page fixed runs-page">
      <header>
        <h1>Runs</h1>
        {mayOperate && (
          <Button icon="plus" onClick={() => setStarting(true)}>
            Start a run…
          </Button>
        )}
      </header>
      <FilterFields given={given} onSet={setParams} search={search} />
      <TotalsBar totals={totals.data} given={given} />
      <div className="run-views">
        <nav aria-label="Views" className="segments">
          {Object.entries(views).map(([id, label]) => (
            <Link key={id} to={runsPath({ ...given, view: id })} aria-current={id === view ? 'page' : undefined}>
              {label}
            </Link>
          ))}
        </nav>
        {mayOperate && view === '' && totals.data !== undefined && (
          <BatchButtons totals={totals.data} given={given} onAsk={ask} />
        )}
      </div>
      {listed
        .filter((batch) => batch.id === shownBatch || !isBatchOver(batch))
        .map((batch) => (
          <BatchProgress
            key={batch.id}
            batch={batch}
            mayStop={mayOperate}
            onClose={batch.id === shownBatch ? () => setParams({ batch: '' }) : undefined}
          />
        ))}
      {view === '' ? (
        <RunList given={given} id={key} isFiltered={isFiltered} onStart={mayOperate ? setStarting : undefined} />
      ) : view === 'causes' ? (
        <Causes
          given={given}
          id={key}
          onRetry={mayOperate ? ({ cause }) => ask('retry', { ...given, cause }) : undefined}
        />
      ) : (
        <BatchesView batches={listed} pathOf={(batch) => runsPath({ ...given, view, batch })} />
      )}
      {isStarting && <StartDialog onClose={() => setStarting(false)} />}
      {asked !== undefined && (
        <BatchDialog
          {...asked}
          onClose={() => setAsked(undefined)}
          onBegun={({ id }) => {
            setAsked(undefined)
            batches.reload()
            setParams({ batch: id })
          }}
        />
      )}
    </div>
  )
}

function RunList(props: {
  readonly given: RunParams
  readonly id: string
  readonly isFiltered: boolean
  readonly onStart: ((isStarting: true) => void) | undefined
}) {
  const { given, id, isFiltered, onStart } = props
  const { items, error, loadMore, reload } = usePages(`runs ${id}`, ['runs'], (page, signal) =>
    server.runs.list({ ...queryOf(given, serverNow()), ...page, signal }),
  )
  if (items === undefined)
    return error === undefined ? <Loading what="runs" /> : <ErrorState error={error} onRetry={reload} />
  if (items.length === 0)
    return isFiltered ? (
      <Empty icon="search" title="No run matches">
        <p>Take a part of the filter away to see others, or look for fewer words.</p>
      </Empty>
    ) : (
      <Empty icon="runs" title="No runs yet">
        <p>
          Runs appear here as soon as they begin: from code, from the command line, by POST /api/runs, or from this
          page.
        </p>
        {onStart !== undefined && (
          <p>
            <Button tone="accent" icon="plus" onClick={() => onStart(true)}>
              Start the first run
            </Button>
          </p>
        )}
      </Empty>
    )
  return (
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
  )
}

function Causes(props: {
  readonly given: RunParams
  readonly id: string
  readonly onRetry: ((group: FailureGroup) => void) | undefined
}) {
  const { given, id, onRetry } = props
  const { data, error, reload } = useWatched(
    (signal) => server.causes({ ...queryOf(given, serverNow()), signal }),
    ['runs'],
    `causes ${id}`,
    undefined,
    totalsEveryMs,
  )
  if (data === undefined)
    return error === undefined ? <Loading what="causes" /> : <ErrorState error={error} onRetry={reload} />
  return <CausesView causes={data} given={given} onRetry={onRetry} />
}

const icons: Readonly<Record<BatchVerb, IconName>> = { retry: 'play', cancel: 'stop', pause: 'pause', resume: 'play' }

/** The commands that fit the runs of the filter. */
function BatchButtons(props: {
  readonly totals: TotalsAnswer
  readonly given: RunParams
  readonly onAsk: (verb: BatchVerb) => void
}) {
  const { totals, given, onAsk } = props
  const query = queryOf(given, serverNow())
  const { all } = totals
  const open = openRuns(all)
  const resumable = statusesFor('resume', query.status)
  const { data: paused } = useQuery(
    open === 0 || resumable === undefined ? '' : `paused ${JSON.stringify(given)}`,
    ['runs'],
    (signal) => server.runs.list({ ...query, status: resumable!, limit: 1, signal }),
  )
  const verbs = (Object.keys(verbStatuses) as BatchVerb[]).flatMap((verb) => {
    const statuses = statusesFor(verb, query.status)
    if (statuses === undefined) return []
    if (verb === 'resume' && (paused?.items.length ?? 0) === 0) return []
    // of runs that have ended it is known how many a command is for
    const ended = verb === 'retry' ? statuses.reduce((sum, each) => sum + (all.ends[each as 'failed'] ?? 0), 0) : open
    return ended > 0 ? [{ verb, count: verb === 'retry' || verb === 'cancel' ? ended : undefined }] : []
  })
  if (verbs.length === 0) return null
  return (
    <div className="row wrap" role="group" aria-label="All runs that match">
      {verbs.map(({ verb, count }) => (
        <Button key={verb} small icon={icons[verb]} onClick={() => onAsk(verb)}>
          {verbLabels[verb].button}
          {count === undefined ? '' : ` ${countText(count)}`}…
        </Button>
      ))}
    </div>
  )
}
