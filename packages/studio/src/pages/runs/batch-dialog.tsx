/** One command for all runs of the filter: says how many they are and what will happen, and asks. */
import { useState } from 'react'
import type { FiguresQuery } from '@reeve/client'
import type { BatchVerb, BatchView } from '@reeve/server/wire'
import { changed, useMutation, useQuery } from '../../data/queries.ts'
import { filled, server } from '../../data/server.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field, TextInput } from '../../ui/field.tsx'
import { ErrorState, Loading, Notice, sentences } from '../../ui/states.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { runsText, verbLabels } from './batch-labels.ts'
import {
  batchFilterOf,
  conditions,
  conditionText,
  filterLabels,
  statusesFor,
  statusLabels,
  type RunParams,
} from './run-filter.ts'

/** The most runs of one batch, which the server refuses to exceed. */
const mostRuns = 10_000

export function BatchDialog(props: {
  readonly verb: BatchVerb
  /** The filter, as it is now and in words. */
  readonly query: FiguresQuery
  readonly given: RunParams
  readonly onClose: () => void
  readonly onBegun: (batch: BatchView) => void
}) {
  const { verb, given, onClose, onBegun } = props
  const status = statusesFor(verb, props.query.status) ?? []
  const [query] = useState({ ...props.query, status })
  const { button, effect } = verbLabels[verb]
  const [reason, setReason] = useState('')
  const [undo, setUndo] = useState(true)
  const counted = useQuery(`batch ${JSON.stringify([verb, query])}`, ['runs'], (signal) =>
    server.totals({ ...query, signal }),
  )
  const { run, busy, error } = useMutation(
    () =>
      server.batches.start(
        verb,
        batchFilterOf(query),
        filled({ reason: reason.trim(), undo: verb === 'cancel' && !undo ? false : undefined }),
      ),
    {
      done(batch) {
        changed(['runs'])
        onBegun(batch)
      },
    },
  )
  const count = counted.data?.all.runs
  const said = conditions(given).filter(([name]) => name !== 'status')
  const title = count === undefined ? `${button} all that match` : `${button} ${runsText(count)}`
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{verb === 'cancel' ? 'Keep them' : 'Cancel'}</Button>
          <Button
            tone={verb === 'cancel' ? 'danger-solid' : 'accent'}
            busy={busy}
            disabled={count === undefined || count === 0}
            onClick={() => run(undefined)}
          >
            {title}
          </Button>
        </>
      }
    >
      {counted.data === undefined ? (
        counted.error === undefined ? (
          <Loading what="the number of runs" />
        ) : (
          <ErrorState error={counted.error} onRetry={counted.reload} />
        )
      ) : (
        <div className="stack">
          {count === 0 ? (
            <p>No run matches any more: there is nothing to {verb}.</p>
          ) : (
            <p>
              {effect} Runs that match when it begins are taken
              {count! > mostRuns ? `; the newest ${runsText(mostRuns)} of them, and then you can begin again` : ''}. It
              goes on if you leave this page or the server restarts, and can be stopped.
            </p>
          )}
          <dl className="facts">
            <dt>Status</dt>
            <dd>{status.map((each) => statusLabels[each]).join(', ')}</dd>
            {said.map(([name, value]) => (
              <div key={name} style={{ display: 'contents' }}>
                <dt>{filterLabels[name]}</dt>
                <dd>
                  <VisibleText>{conditionText(name, value)}</VisibleText>
                </dd>
              </div>
            ))}
          </dl>
          {said.length === 0 && (
            <Notice tone="wait">
              The filter has no other condition: this reaches the runs of every agent and user.
            </Notice>
          )}
          {counted.data.behind > 0 && (query.text ?? query.code ?? query.cause) !== undefined && (
            <Notice tone="wait">
              {runsText(counted.data.behind)} {counted.data.behind === 1 ? 'is' : 'are'} not in the index yet, and may
              be left out.
            </Notice>
          )}
          {verb === 'cancel' && (
            <Checkbox checked={undo} onChange={({ target }) => setUndo(target.checked)}>
              Undo what they have done, where a tool says how
            </Checkbox>
          )}
          <Field label="Reason" hint="Recorded with every command.">
            {(control) => (
              <TextInput
                {...control}
                value={reason}
                maxLength={1_000}
                onChange={({ target }) => setReason(target.value)}
              />
            )}
          </Field>
          {error !== undefined && <Notice tone="bad">{sentences(error).message}</Notice>}
        </div>
      )}
    </Dialog>
  )
}
