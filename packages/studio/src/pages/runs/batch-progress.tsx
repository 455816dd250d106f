/**
 * Batches: how far each is, what was refused and why, and stopping one.
 *
 * Holds: nothing of a batch is kept in the page: one that goes on is found again after a reload, by everybody who may
 * see it.
 */
import type { BatchView, Page } from '@reeve/server/wire'
import { useMutation } from '../../data/queries.ts'
import { useWatched, type Polled } from '../../data/polled.ts'
import { server } from '../../data/server.ts'
import { Link, runPath } from '../../router.tsx'
import { countText } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Empty, Notice, sentences } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { batchCounts, batchTitle, isBatchOver, runsText, verbLabels } from './batch-labels.ts'

const everyMs = 1_000
const listed = 20

/** The newest batches. */
export const useBatches = (): Polled<Page<BatchView>> =>
  useWatched((signal) => server.batches.list({ limit: listed, signal }), ['runs'], 'batches')

/** One batch, read again while it goes on. */
export function BatchProgress(props: {
  readonly batch: BatchView
  readonly mayStop: boolean
  readonly onClose?: (() => void) | undefined
}) {
  const { mayStop, onClose } = props
  // one that is over does not change any more: what was read of it before is older
  const isListedOver = isBatchOver(props.batch)
  const { data } = useWatched(
    (signal) => server.batches.get(props.batch.id, { signal }),
    [],
    props.batch.id,
    isListedOver ? undefined : everyMs,
  )
  const batch = isListedOver ? props.batch : (data ?? props.batch)
  const { id, verb, total, left, causes, more, by, reason } = batch
  const stopping = useMutation(() => server.batches.cancel(id, 'stopped in the studio'))
  const over = isBatchOver(batch)
  const gone = (total ?? 0) - left
  return (
    <section className="batch" aria-label={`Batch: ${verbLabels[verb].button}`}>
      <div className="row wrap">
        <b className="grow">{batchTitle(batch)}</b>
        <span className="muted">
          {by !== undefined && (
            <>
              by <VisibleText>{by}</VisibleText>,{' '}
            </>
          )}
          <Time at={batch.startedAt} />
        </span>
        {!over && mayStop && (
          <Button small icon="stop" busy={stopping.busy} onClick={() => stopping.run(undefined)}>
            Stop
          </Button>
        )}
        {onClose !== undefined && (
          <Button small tone="quiet" onClick={onClose}>
            Close
          </Button>
        )}
      </div>
      <div
        className="batch-bar"
        role="progressbar"
        aria-label={batchTitle(batch)}
        aria-valuemin={0}
        aria-valuemax={total ?? 1}
        aria-valuenow={total === undefined ? undefined : gone}
      >
        {total !== undefined && total > 0 && (
          <>
            <span className="done" style={{ width: `${((batch.done + batch.before) / total) * 100}%` }} />
            <span className="refused" style={{ width: `${(batch.refused / total) * 100}%` }} />
          </>
        )}
      </div>
      <p className="row wrap">
        <span role="status">{batchCounts(batch).join(' · ')}</span>
        {more === true && <span className="muted">More runs match than one batch takes: begin it again.</span>}
        {reason !== undefined && (
          <span className="muted">
            Reason: <VisibleText>{reason}</VisibleText>
          </span>
        )}
      </p>
      {causes.map(({ code, message, hint, count, runs }) => (
        <details key={code} className="refusal">
          <summary>
            {runsText(count)} refused: <VisibleText>{message}</VisibleText>
          </summary>
          <p className="muted">
            <code>
              <VisibleText>{code}</VisibleText>
            </code>
            {hint !== undefined && (
              <>
                . <VisibleText>{hint}</VisibleText>
              </>
            )}
          </p>
          <ul className="mono">
            {runs.map((run) => (
              <li key={run}>
                <Link to={runPath(run)}>
                  <VisibleText>{run}</VisibleText>
                </Link>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {stopping.error !== undefined && <Notice tone="bad">{sentences(stopping.error).message}</Notice>}
    </section>
  )
}

/** The newest batches, to look at one again. */
export function BatchesView(props: {
  readonly batches: readonly BatchView[]
  readonly pathOf: (id: string) => string
}) {
  const narrow = useNarrow()
  const { batches, pathOf } = props
  if (batches.length === 0)
    return (
      <Empty icon="runs" title="No batches yet">
        A batch retries, cancels, pauses or resumes all runs that match a filter. Choose a status in the list of runs to
        begin one.
      </Empty>
    )
  return (
    <div className="cause-table" role="region" aria-label="The newest batches" tabIndex={0}>
      <table className={`plain-table${narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            <th scope="col">Batch</th>
            <th scope="col">Status</th>
            <th scope="col">Runs</th>
            <th scope="col">By</th>
            <th scope="col">Begun</th>
          </tr>
        </thead>
        <tbody>
          {batches.map((batch) => (
            <tr key={batch.id}>
              <td>
                <Link to={pathOf(batch.id)}>
                  {verbLabels[batch.verb].button} {batch.total === undefined ? '' : countText(batch.total)}
                </Link>
              </td>
              <td>
                <StatusBadge status={batch.status} />
              </td>
              <td>{batchCounts(batch).join(' · ')}</td>
              <td data-label="By">{batch.by !== undefined && <VisibleText>{batch.by}</VisibleText>}</td>
              <td data-label="Begun" className="nowrap">
                <Time at={batch.startedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
