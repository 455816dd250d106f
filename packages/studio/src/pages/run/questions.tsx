/** The open questions of this run, each with a way to its answer. */
import type { LiveRun } from '@reeve/server/wire'
import { Link } from '../../router.tsx'
import { RiskBadge } from '../../ui/badge.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Countdown, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { useRun } from './run-context.tsx'

export function RunQuestions() {
  const { live } = useRun()
  const approvals = Object.values(live.approvals).filter(({ open }) => open)
  const interrupts = Object.values(live.interrupts).filter(({ open }) => open)
  if (approvals.length + interrupts.length === 0) return null
  return (
    <Panel title={`Open questions (${approvals.length + interrupts.length})`} flush>
      <ul className="run-list">
        {approvals.map((approval) => (
          <Question key={approval.id} id={approval.id} asked={approval}>
            <VisibleText>{approval.agent}</VisibleText> wants to run{' '}
            <b>
              <VisibleText>{approval.tool}</VisibleText>
            </b>
            {': '}
            <VisibleText>{approval.reason}</VisibleText> <RiskBadge risk={approval.risk} />
            <div className="bytes run-arguments">
              <JsonView value={approval.input} depth={1} />
            </div>
          </Question>
        ))}
        {interrupts.map((interrupt) => (
          <Question key={interrupt.id} id={interrupt.id} asked={interrupt}>
            <VisibleText>{interrupt.agent}</VisibleText>{' '}
            {interrupt.tool === undefined ? (
              'asks:'
            ) : (
              <>
                waits for the client to run <VisibleText>{interrupt.tool}</VisibleText>:
              </>
            )}{' '}
            <VisibleText>
              {typeof interrupt.question === 'string' ? interrupt.question : JSON.stringify(interrupt.question)}
            </VisibleText>
          </Question>
        ))}
      </ul>
    </Panel>
  )
}

type QuestionTimes = Pick<LiveRun['interrupts'][string], 'askedAt' | 'until'>

function Question(props: { readonly id: string; readonly asked: QuestionTimes; readonly children: React.ReactNode }) {
  const { id, asked, children } = props
  return (
    <li>
      <div className="grow">
        {children}
        <div className="muted">
          Asked <Time at={asked.askedAt} />
          {asked.until !== undefined && (
            <>
              , <Countdown until={asked.until} />
            </>
          )}
        </div>
      </div>
      <Link className="button small accent" to={`/?question=${encodeURIComponent(id)}`}>
        Answer
      </Link>
    </li>
  )
}
