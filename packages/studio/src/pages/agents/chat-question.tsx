/**
 * A question in a conversation: what exactly would run, and the answer to it, by the forms of the inbox.
 *
 * Holds: a decision carries the hash of the arguments that are shown; no key decides, since several may be shown at once.
 */
import type { QuestionView } from '@reeve/server/wire'
import { Link } from '../../router.tsx'
import { Badge, RiskBadge } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Notice } from '../../ui/states.tsx'
import { Countdown } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { DoubtForm, InterruptForm } from '../inbox/answer-forms.tsx'
import { ApprovalActions } from '../inbox/approval-actions.tsx'
import { ExactBytes } from '../inbox/exact-bytes.tsx'
import { Arguments } from '../inbox/question-detail.tsx'
import { questionText, subjectOf } from '../inbox/question-order.ts'

const nothing = (): void => {}

export function ChatQuestion({ question }: { readonly question: QuestionView }) {
  const { id, kind, path, approval, interrupt, doubt, mayAnswer, until } = question
  const input = approval?.input ?? doubt?.input ?? interrupt?.call?.input
  const asked = interrupt?.call === undefined ? interrupt : undefined
  const asks =
    approval !== undefined
      ? 'wants to run'
      : kind === 'interrupt'
        ? interrupt?.call === undefined
          ? 'asks'
          : 'waits for the client to run'
        : doubt?.trial === true
          ? 'would run'
          : 'needs to know about'
  return (
    <div className="chat-question" role="group" aria-label={`Question: ${subjectOf(question)}`}>
      <header className="row wrap">
        <Icon name="hand" />
        <span>
          <VisibleText>{path.join(' › ')}</VisibleText> {asks}{' '}
          {asked === undefined && (
            <b>
              <VisibleText>{subjectOf(question)}</VisibleText>
            </b>
          )}
        </span>
        {approval !== undefined && <RiskBadge risk={approval.risk} />}
        {doubt?.trial === true && <Badge tone="held">Held back: a trial</Badge>}
        <span className="grow" />
        {until !== undefined && <Countdown until={until} />}
        <Link to={`/?question=${encodeURIComponent(id)}`}>In the inbox</Link>
      </header>
      {asked !== undefined && (
        <p>
          <VisibleText lines>{questionText(asked.question)}</VisibleText>
        </p>
      )}
      {asked !== undefined && typeof asked.question !== 'string' && <JsonView value={asked.question} />}
      {input !== undefined && <Arguments input={input} />}
      {input !== undefined && (
        <details>
          <summary>Exactly the bytes that will run</summary>
          <ExactBytes value={input} {...(approval === undefined ? {} : { hash: approval.inputHash })} />
        </details>
      )}
      {approval !== undefined && (
        <p className="muted">
          <VisibleText lines>{approval.reason}</VisibleText>
        </p>
      )}
      {mayAnswer !== true ? (
        <Notice tone="wait">
          You may not answer this: <VisibleText>{mayAnswer}</VisibleText>.
        </Notice>
      ) : approval !== undefined ? (
        <ApprovalActions question={question} keys={false} onDone={nothing} />
      ) : interrupt !== undefined ? (
        <InterruptForm question={question} onDone={nothing} />
      ) : (
        <DoubtForm question={question} onDone={nothing} />
      )}
    </div>
  )
}
