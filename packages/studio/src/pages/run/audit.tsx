/** Audit: who did what, with evidence; what its check says; the document for others to check. */
import { useMemo, useState } from 'react'
import type { AuditAnswer } from '@reeve/server/wire'
import { countText } from '../../ui/amounts.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts } from '../../ui/panel.tsx'
import { Empty, ErrorState, Loading, Notice } from '../../ui/states.tsx'
import { clockTime, exactTime } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { usePolled } from '../../data/polled.ts'
import { useRun } from './run-context.tsx'

type Entry = AuditAnswer['document']['entries'][number]

const columns: readonly Column<Entry>[] = [
  { id: 'n', head: 'No.', width: '52px', align: 'right', cell: ({ n }) => n },
  { id: 'at', head: 'At', width: '100px', cell: ({ at }) => clockTime(at) },
  { id: 'what', card: 'line', head: 'What', width: 'minmax(150px, 1fr)', cell: ({ what }) => what },
  {
    id: 'subject',
    card: 'line',
    head: 'Subject',
    width: 'minmax(180px, 2fr)',
    cell: ({ subject }) => <VisibleText>{subject}</VisibleText>,
  },
  { id: 'by', head: 'By', width: '90px', cell: ({ by }) => by },
  {
    id: 'who',
    head: 'Who',
    width: 'minmax(110px, 1fr)',
    cell: ({ who }) => who !== undefined && <VisibleText>{who}</VisibleText>,
  },
]

export function Audit() {
  const { api, live } = useRun()
  const { data, error, reload } = usePolled((signal) => api.audit({ signal }), live.head.endedAt, api.id)
  const [open, setOpen] = useState<Entry>()
  const isSigned = data?.document.signature !== undefined
  const entries = useMemo(() => data?.document.entries ?? [], [data])
  if (data === undefined)
    return error === undefined ? <Loading what="the audit" /> : <ErrorState error={error} onRetry={reload} />
  const { document: audit, report } = data
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(audit, null, 2)], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `audit-${api.id}.json`
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 1_000)
  }
  return (
    <div className="run-fill">
      <div className="run-bar">
        <div className="grow">
          <Notice tone={report.ok ? 'ok' : 'bad'}>
            {report.ok
              ? `The chain of ${countText(report.entries)} entries is whole.`
              : `The check found ${report.problems.length === 1 ? 'a problem' : `${report.problems.length} problems`}.`}{' '}
            {report.complete ? 'It covers the whole run.' : 'The run has not ended: it covers what was done so far.'}{' '}
            {report.signedBy !== undefined ? (
              <>
                Signed by <VisibleText>{report.signedBy}</VisibleText>.
              </>
            ) : isSigned ? (
              'It is signed; this server has no key to check the signature with.'
            ) : (
              'It is not signed.'
            )}
            {report.problems.map((problem) => (
              <div key={`${problem.code} ${problem.n ?? ''}`}>
                {problem.n !== undefined && `Entry ${problem.n}: `}
                <VisibleText>{problem.message}</VisibleText>
              </div>
            ))}
          </Notice>
        </div>
        <Button small onClick={reload}>
          Check again
        </Button>
        <Button small onClick={save}>
          Export
        </Button>
      </div>
      {entries.length === 0 ? (
        <Empty icon="trust" title="Nothing to account for yet">
          Decisions, actions that reach outside, and commands of people stand here.
        </Empty>
      ) : (
        <div className="fill-table">
          <DataTable label="Audit" columns={columns} rows={entries} rowKey={({ n }) => String(n)} onOpen={setOpen} />
        </div>
      )}
      {open && (
        <Dialog wide title={`Entry ${open.n}: ${open.what}`} onClose={() => setOpen(undefined)}>
          <div className="stack">
            <Facts
              facts={[
                ['Subject', <VisibleText key="s">{open.subject}</VisibleText>],
                [
                  'By',
                  <span key="b">
                    {open.by}
                    {open.who !== undefined && (
                      <>
                        , <VisibleText>{open.who}</VisibleText>
                      </>
                    )}
                  </span>,
                ],
                ['At', exactTime(open.at)],
                ['Position', String(open.position)],
                [
                  'Hash',
                  <code key="h" className="run-hash">
                    {open.hash}
                  </code>,
                ],
                [
                  'Before it',
                  <code key="p" className="run-hash">
                    {open.prev}
                  </code>,
                ],
              ]}
            />
            <h3>Evidence</h3>
            <JsonView value={open.evidence} depth={4} />
          </div>
        </Dialog>
      )}
    </div>
  )
}
