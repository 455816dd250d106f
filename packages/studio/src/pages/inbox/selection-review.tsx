/**
 * Several approvals beside each other: everything in which they differ, whole, and one decision for all of them.
 *
 * Holds: R-16: what is decided is what was shown. The buttons work once every row has been in sight, and each decision
 * carries the hash of the arguments on the screen. High risk needs a second press, on a button that names the tool.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { visible } from '@reeve/core/visible'
import type { DecidedRow, QuestionView } from '@reeve/server/wire'
import { useMe } from '../../data/me.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { useHotkeys } from '../../hotkeys.ts'
import { Link, runPath } from '../../router.tsx'
import { RiskBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { useNarrow } from '../../ui/narrow.ts'
import { Panel } from '../../ui/panel.tsx'
import { Notice } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { Failure, ReasonDialog } from './approval-actions.tsx'
import { comparisonProblem, fieldText, fieldValue, type ArgumentField } from './argument-fields.ts'
import { decideTogether, mayDecide } from './decisions.ts'
import { FieldValue } from './field-value.tsx'
import { questionGroups, type QuestionGroup } from './question-groups.ts'
import { subjectOf } from './question-order.ts'

type Together = 'approve' | 'reject'

/** What became of the last decision of several. */
export interface DecidedSelection {
  readonly decision: Together
  readonly rows: readonly { readonly question: QuestionView; readonly result: DecidedRow }[]
}

export function SelectionReview(props: {
  readonly questions: readonly QuestionView[]
  /** How many of the selected were answered elsewhere meanwhile. */
  readonly gone: number
  readonly onRemove: (id: string) => void
  /** At phone width: to the list, with what is selected. */
  readonly onBack: () => void
  readonly onClear: () => void
  /** Being decided, from now until `onDecided`, or until it failed as a whole (`undefined`). */
  readonly onDeciding: (questions: readonly QuestionView[] | undefined) => void
  readonly onDecided: (decided: DecidedSelection) => void
}) {
  const { questions, gone, onRemove, onBack, onClear, onDeciding, onDecided } = props
  const me = useMe()
  const groups = useMemo(() => questionGroups(questions), [questions])
  const problem = useMemo(
    () => groups.map(({ questions: members, fields }) => comparisonProblem(members, fields)).find(Boolean),
    [groups],
  )
  const [asking, setAsking] = useState<Together>()
  const scroller = useRef<HTMLDivElement>(null)
  const { left, look } = useSeenRows(scroller, questions)
  const { run, busy, error, reset } = useMutation(
    ({
      those,
      decision,
      comment,
    }: {
      readonly those: readonly QuestionView[]
      readonly decision: Together
      readonly comment: string
    }) => decideTogether(those, decision, comment),
    {
      done(results, { those, decision }) {
        setAsking(undefined)
        onDecided({ decision, rows: those.map((question, i) => ({ question, result: results[i]! })) })
        changed(['questions', 'runs'])
      },
      failed() {
        onDeciding(undefined)
        changed(['questions'])
      },
    },
  )
  const decide = (decision: Together, comment: string): void => {
    onDeciding(questions)
    run({ those: questions, decision, comment })
  }
  const may = (decision: Together): boolean => questions.every((each) => mayDecide(each, decision, me?.name))
  const isShown = problem === undefined && left === 0
  const press = (decision: Together): void => {
    if (problem !== undefined || !may(decision) || busy) return
    // a key that decides shows first what has not been in sight
    if (left > 0) return look()
    reset()
    setAsking(decision)
  }
  useHotkeys({ a: () => press('approve'), r: () => press('reject') })
  const close = (): void => setAsking(undefined)
  const times = questions.length === 1 ? '' : ` ${questions.length} times`
  return (
    <>
      <div className="scroll" ref={scroller} tabIndex={0} role="region" aria-label="The selected requests">
        <div className="stack">
          <div className="row wrap">
            <span className="back">
              <IconButton icon="left" label="Back to the list" onClick={onBack} />
            </span>
            <h1 className="grow">{questions.length} selected</h1>
            <Button small onClick={onClear}>
              Clear selection
            </Button>
          </div>
          {gone > 0 && (
            <Notice tone="wait">
              {gone === 1 ? 'One of the selected was' : `${gone} of the selected were`} answered elsewhere, and left
              out.
            </Notice>
          )}
          {problem !== undefined && (
            <Notice tone="wait">
              <VisibleText>{problem}</VisibleText> Decide these one at a time.
            </Notice>
          )}
          {groups.map((group) => (
            <Compared key={group.key} group={group} onRemove={onRemove} />
          ))}
        </div>
      </div>
      <div className="actions" role="group" aria-label="Decision about all selected">
        {asking === undefined && error !== undefined && (
          <div style={{ flexBasis: '100%' }}>
            <Failure error={error} />
          </div>
        )}
        <Button
          tone="accent"
          icon="check"
          hotkey="a"
          busy={busy}
          disabled={!isShown || !may('approve')}
          onClick={() => press('approve')}
        >
          Approve {questions.length}
        </Button>
        <Button
          tone="danger"
          icon="cross"
          hotkey="r"
          disabled={!isShown || !may('reject') || busy}
          onClick={() => press('reject')}
        >
          Reject {questions.length}
        </Button>
        {problem === undefined && left > 0 && (
          <Button tone="quiet" icon="down" onClick={look}>
            Show {left} more before deciding
          </Button>
        )}
      </div>
      {asking === 'approve' && (
        <Dialog
          title={`Approve ${questions.length}`}
          onClose={close}
          footer={
            <>
              <Button onClick={close}>Back</Button>
              <Button tone="danger-solid" busy={busy} data-autofocus onClick={() => decide('approve', '')}>
                <span>
                  Run <VisibleText>{[...new Set(questions.map(subjectOf))].join(', ')}</VisibleText>
                  {times}
                </span>
              </Button>
            </>
          }
        >
          <div className="stack">
            <p>This will run, with exactly the arguments that were shown:</p>
            <ul>
              {groups.map(({ key, subject, agent, questions: { length } }) => (
                <li key={key}>
                  {length} × <VisibleText>{subject}</VisibleText>
                  <span className="muted">
                    {' '}
                    for <VisibleText>{agent}</VisibleText>
                  </span>
                </li>
              ))}
            </ul>
            <p className="muted">Each is recorded as a decision of its own.</p>
            <Failure error={error} />
          </div>
        </Dialog>
      )}
      {asking === 'reject' && (
        <ReasonDialog
          title={`Reject ${questions.length}`}
          label="Reason, which each agent is told"
          button={`Reject ${questions.length}`}
          required={false}
          danger
          busy={busy}
          error={error}
          onClose={close}
          onRun={(comment) => decide('reject', comment)}
        />
      )}
    </>
  )
}

/** How many rows have not been in sight yet, and scrolling on to them. A row that is new begins unseen. */
function useSeenRows(
  scroller: { readonly current: HTMLDivElement | null },
  questions: readonly QuestionView[],
): { readonly left: number; readonly look: () => void } {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const root = scroller.current
    if (root === null) return undefined
    const observer = new IntersectionObserver(
      (entries) => {
        // the end of a row that is higher than the screen counts as all of it
        const ids = entries.flatMap(({ isIntersecting, target }) =>
          isIntersecting ? [(target as HTMLElement).dataset['end']!] : [],
        )
        if (ids.length > 0) setSeen((was) => new Set([...was, ...ids]))
      },
      { root },
    )
    for (const end of root.querySelectorAll('[data-end]')) observer.observe(end)
    return () => observer.disconnect()
  }, [scroller, questions])
  const unseen = questions.filter(({ id }) => !seen.has(id))
  const look = (): void => scroller.current?.scrollBy(0, scroller.current.clientHeight - 80)
  return { left: unseen.length, look }
}

/** Of more differing fields each row is a card. */
const mostColumns = 5

/** The requests of one group: what is the same in all of them, then a row for each. */
function Compared({ group, onRemove }: { readonly group: QuestionGroup; readonly onRemove: (id: string) => void }) {
  const { subject, agent, questions, fields } = group
  const narrow = useNarrow()
  const columns = fields.differing
  const common = fields.common.filter(({ of }) => of !== 'request')
  const risk = questions[0]!.approval!.risk
  return (
    <Panel
      flush
      title={
        <>
          <VisibleText>{subject}</VisibleText>
          <span className="muted">
            {' · '}
            <VisibleText>{agent}</VisibleText>
          </span>
        </>
      }
      actions={<RiskBadge risk={risk} />}
    >
      {common.length > 0 && (
        <dl className="arguments same">
          {common.map((field) => (
            <div key={field.key} style={{ display: 'contents' }}>
              <dt>
                <VisibleText>{field.label}</VisibleText>
              </dt>
              {/* a value that scrolls must be reachable by the keyboard */}
              <dd tabIndex={(fieldText(questions[0]!, field) ?? '').length > 400 ? 0 : undefined}>
                <FieldValue value={fieldValue(questions[0]!, field)} />
                {questions.length > 1 && <span className="muted"> in all of them</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <table className={`plain-table compared${columns.length > mostColumns || narrow ? ' cards' : ''}`}>
        <thead>
          <tr>
            {columns.map((field) => (
              <th key={field.key} scope="col">
                <VisibleText>{field.label}</VisibleText>
              </th>
            ))}
            <th scope="col">User</th>
            <th scope="col">Run</th>
            <th scope="col">
              <span className="sr-only">Leave out</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {questions.map((question) => (
            <tr key={question.id}>
              {columns.map((field) => (
                <td key={field.key} data-label={visible(field.label)}>
                  <FieldValue value={fieldValue(question, field)} />
                </td>
              ))}
              <td data-label="User">
                {question.user === undefined ? (
                  <span className="muted">none</span>
                ) : (
                  <VisibleText>{question.user}</VisibleText>
                )}
              </td>
              <td data-label="Run">
                <Link to={runPath(question.run)}>
                  waits <Time at={question.askedAt} form="since" />
                </Link>
              </td>
              <td className="leave" data-end={question.id}>
                <IconButton
                  small
                  icon="cross"
                  label="Leave out of the selection"
                  onClick={() => onRemove(question.id)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

const doneLabels = { approve: 'Approved', reject: 'Rejected' } as const

/** What became of each. */
export function SelectionResults({
  decided,
  onClose,
}: {
  readonly decided: DecidedSelection
  readonly onClose: () => void
}) {
  const { decision, rows } = decided
  const count = (status: DecidedRow['status']): number => rows.filter(({ result }) => result.status === status).length
  const [lost, refused] = [count('lost'), count('refused')]
  const groups = useMemo(() => questionGroups(rows.map(({ question }) => question)), [rows])
  useHotkeys({ Escape: onClose, Enter: onClose })
  return (
    <>
      <div className="scroll" tabIndex={0} role="region" aria-label="What became of each">
        <div className="stack">
          <div role="status">
            <h1>
              {doneLabels[decision]} {count('decided')} of {rows.length}
            </h1>
          </div>
          {lost > 0 && (
            <Notice tone="wait">
              {lost === 1 ? 'One was' : `${lost} were`} decided by somebody else first. That decision counts.
            </Notice>
          )}
          {refused > 0 && (
            <Notice tone="bad">
              {refused === 1 ? 'One was' : `${refused} were`} refused and still {refused === 1 ? 'waits' : 'wait'}.
            </Notice>
          )}
          <Panel title="Each by itself" flush>
            <ul className="results">
              {rows
                // what did not go as wished first
                .toSorted(
                  (one, other) => Number(one.result.status === 'decided') - Number(other.result.status === 'decided'),
                )
                .map(({ question, result }) => (
                  <ResultRow
                    key={question.id}
                    question={question}
                    result={result}
                    decision={decision}
                    fields={groups.find(({ questions }) => questions.includes(question))!.fields.differing}
                  />
                ))}
            </ul>
          </Panel>
        </div>
      </div>
      <div className="actions">
        <Button tone="accent" onClick={onClose}>
          Back to the inbox
        </Button>
      </div>
    </>
  )
}

function ResultRow(props: {
  readonly question: QuestionView
  readonly result: DecidedRow
  readonly decision: Together
  readonly fields: readonly ArgumentField[]
}) {
  const { question, result, decision, fields } = props
  return (
    <li className={result.status}>
      <Icon name={result.status === 'decided' ? 'check' : result.status === 'lost' ? 'clock' : 'warn'} />
      <span className="grow">
        <VisibleText>{subjectOf(question)}</VisibleText>{' '}
        {fields.map((field) => (
          <span key={field.key} className="pair">
            <span className="name">
              <VisibleText>{field.label}</VisibleText>
            </span>{' '}
            <FieldValue short value={fieldValue(question, field)} />
          </span>
        ))}
        <span className="muted">
          {result.status === 'decided' ? (
            doneLabels[decision].toLowerCase()
          ) : (
            <VisibleText>{result.error?.message ?? 'not decided'}</VisibleText>
          )}
        </span>
      </span>
      <Link to={runPath(question.run)}>Run</Link>
    </li>
  )
}
