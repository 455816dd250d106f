/** The lines of the inbox: the head of a group, and a question with what is decided. */
import { useId, type MouseEvent } from 'react'
import { visible } from '@reeve/core/visible'
import type { QuestionView } from '@reeve/server/wire'
import { Badge, RiskBadge } from '../../ui/badge.tsx'
import { countText } from '../../ui/count-text.ts'
import { Icon } from '../../ui/icon.tsx'
import { Countdown, Time, useNow } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { aloneReason, fieldValue } from './argument-fields.ts'
import { FieldValue } from './field-value.tsx'
import { distinctFields, type QuestionGroup } from './question-groups.ts'
import { subjectOf } from './question-order.ts'

export const kindLabels = {
  approval: 'Approval',
  interrupt: 'Question',
  'in-doubt': 'In doubt',
  diverged: 'Diverged',
} as const

/** More of them do not fit a row. */
const shownFields = 4

/** Which of several are chosen. */
export type Chosen = 'all' | 'some' | 'none'

export function GroupRow(props: {
  readonly group: QuestionGroup
  readonly isFolded: boolean
  readonly chosen: Chosen
  readonly onFold: () => void
  readonly onChoose: () => void
}) {
  const { group, isFolded, chosen, onFold, onChoose } = props
  const { subject, agent, questions } = group
  const risk = questions[0]!.approval?.risk
  const isOneRisk = risk !== undefined && questions.every(({ approval }) => approval?.risk === risk)
  const together = questions.some((question) => aloneReason(question) === undefined)
  return (
    <div className="question-group">
      <span className="choose">
        {together && (
          <input
            type="checkbox"
            aria-label={`Select all ${questions.length}: ${visible(subject)}`}
            checked={chosen === 'all'}
            ref={(element) => {
              if (element !== null) element.indeterminate = chosen === 'some'
            }}
            onChange={onChoose}
          />
        )}
      </span>
      <button type="button" className="open" aria-expanded={!isFolded} onClick={onFold}>
        <Icon name={isFolded ? 'right' : 'down'} />
        <span className="subject truncate">
          <VisibleText>{subject}</VisibleText>
          <span className="agent">
            {' · '}
            <VisibleText>{agent}</VisibleText>
          </span>
        </span>
        {isOneRisk && <RiskBadge risk={risk} />}
        <span className="count">{countText(questions.length)}</span>
      </button>
    </div>
  )
}

export function QuestionRow(props: {
  readonly question: QuestionView
  readonly group: QuestionGroup
  readonly isCurrent: boolean
  readonly isChosen: boolean
  /** It is not open any more. */
  readonly isGone: boolean
  readonly onOpen: (event: MouseEvent) => void
  readonly onChoose: (event: MouseEvent) => void
}) {
  const { question, group, isCurrent, isChosen, isGone, onOpen, onChoose } = props
  const { kind, path, user, approval, askedAt, until } = question
  const id = useId()
  const isAlone = group.questions.length < 2
  const alone = isGone ? 'it is not open any more' : aloneReason(question)
  const isOneRisk = group.questions.every((each) => each.approval?.risk === approval?.risk)
  return (
    <div
      className={`question${isAlone ? '' : ' grouped'}${isGone ? ' gone' : ''}`}
      data-current={isCurrent || undefined}
      data-chosen={isChosen || undefined}
    >
      <span className="choose">
        {kind === 'approval' && (
          <input
            type="checkbox"
            aria-labelledby={`${id}-select ${id}`}
            checked={isChosen}
            disabled={alone !== undefined}
            title={alone === undefined ? 'Select (x)' : `Not with others: ${alone}`}
            onClick={onChoose}
            readOnly
          />
        )}
        <span id={`${id}-select`} className="sr-only">
          Select
        </span>
      </span>
      <button type="button" className="open" aria-current={isCurrent ? 'true' : undefined} onClick={onOpen}>
        <span className="subject truncate" id={id}>
          {isAlone ? (
            <VisibleText>{subjectOf(question)}</VisibleText>
          ) : (
            <>
              <span className="sr-only">
                <VisibleText>{subjectOf(question)}</VisibleText>
              </span>
              <Decided question={question} group={group} />
            </>
          )}
        </span>
        {isAlone && <Kind question={question} />}
        {!isAlone && !isOneRisk && <Kind question={question} />}
        {isAlone && approval !== undefined && (
          <span className="decided truncate">
            <Decided question={question} group={group} />
          </span>
        )}
        <span className="who truncate">
          {isGone ? (
            'no longer waits'
          ) : (
            <>
              {isAlone && (
                <>
                  <VisibleText>{path.join(' › ')}</VisibleText>
                  {user !== undefined && ' · '}
                </>
              )}
              {user !== undefined && <VisibleText>{user}</VisibleText>}
            </>
          )}
        </span>
        {!isGone && (
          <span className="meta">
            {until === undefined ? (
              <>
                waits <Time at={askedAt} form="since" />
              </>
            ) : (
              <Deadline until={until} />
            )}
          </span>
        )}
      </button>
    </div>
  )
}

function Kind({ question: { kind, approval, interrupt } }: { readonly question: QuestionView }) {
  return approval === undefined ? (
    <Badge tone={kind === 'interrupt' ? 'info' : 'held'} icon={kind === 'interrupt' ? 'doubt' : 'warn'}>
      {interrupt?.call === undefined ? kindLabels[kind] : 'Client tool'}
    </Badge>
  ) : (
    <RiskBadge risk={approval.risk} />
  )
}

/** What is decided, in short: the fields that tell this question from the others of its group. */
function Decided({ question, group }: { readonly question: QuestionView; readonly group: QuestionGroup }) {
  if (question.approval === undefined) return <VisibleText>{subjectOf(question)}</VisibleText>
  const fields = distinctFields(group)
  if (fields.length === 0) return <span className="muted">no arguments</span>
  return (
    <>
      {fields.slice(0, shownFields).map((field) => (
        <span key={field.key} className="pair">
          <span className="name">
            <VisibleText>{field.label}</VisibleText>
          </span>{' '}
          <FieldValue short value={fieldValue(question, field)} />
        </span>
      ))}
      {fields.length > shownFields && <span className="name">+{fields.length - shownFields}</span>}
    </>
  )
}

const soonMs = 5 * 60_000

function Deadline({ until }: { readonly until: number }) {
  const soon = until - useNow() < soonMs
  return (
    <span className={soon ? 'soon' : undefined}>
      <Countdown until={until} />
    </span>
  )
}
