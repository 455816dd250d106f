/** A failure, explained: what it is, whose fault, whether to retry, who failed at what, the answers that did not fit. */
import { useMemo } from 'react'
import type { JournalRow, LiveActivation } from '@reeve/server/wire'
import { useErrorGuide } from '../../data/error-guide.ts'
import { filled } from '../../data/server.ts'
import { usePolled } from '../../data/polled.ts'
import { errorPath, Link } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { GuideText } from '../../ui/guide-text.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Facts } from '../../ui/panel.tsx'
import { TextBlock } from '../../ui/text-block.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { guideFacts } from '../errors/errors-page.tsx'
import { causeIn, failedAgent, type Failure, type FailureCause, type RejectedAnswer } from './failure-cause.ts'
import { useRun } from './run-context.tsx'
import { stepName } from './step-names.ts'

/** The failure of this activation. */
export function FailureView({ view, failure }: { readonly view: LiveActivation; readonly failure: Failure }) {
  const { live, go } = useRun()
  const guide = useErrorGuide()?.get(failure.code)
  const at = useMemo(() => failedAgent(live.activations, view, failure), [live.activations, view, failure])
  const cause = useCause(at.activation, failure)
  return (
    <div className="stack failure">
      <p className="failure-message">
        <Icon name="warn" />
        <VisibleText lines>{failure.message}</VisibleText>
      </p>
      <Facts
        facts={[
          [
            'Error',
            <span key="c" className="row wrap">
              <code>
                <VisibleText>{failure.code}</VisibleText>
              </code>
              {guide !== undefined && <Link to={errorPath(guide.code)}>What it means</Link>}
            </span>,
          ],
          [
            'Failed',
            <span key="a" className="row wrap">
              <VisibleText>{at.path.join(' › ')}</VisibleText>
              {cause?.effect !== undefined && <EffectText effect={cause.effect} />}
              <Button small tone="quiet" onClick={() => go('conversation', { agent: at.activation })}>
                Its conversation
              </Button>
            </span>,
          ],
          ...(guide === undefined ? [] : guideFacts(guide)),
          ['What to do', guide !== undefined && guide.advice !== '' && <GuideText key="g" text={guide.advice} />],
          ['Hint', failure.hint !== undefined && <VisibleText key="h">{failure.hint}</VisibleText>],
        ]}
      />
      {cause !== undefined && cause.rejected.length > 0 && <Rejected answers={cause.rejected} />}
    </div>
  )
}

function EffectText({ effect }: { readonly effect: NonNullable<FailureCause['effect']> }) {
  const { kind, name, attempts } = effect
  return (
    <span className="muted">
      {kind === 'tool' ? 'at the tool ' : kind === 'model' ? 'at a call of ' : 'at '}
      <b>
        <VisibleText>{kind === 'step' ? stepName(name).label : name}</VisibleText>
      </b>
      {attempts > 1 && `, after ${attempts} attempts`}
    </span>
  )
}

/** The last answer, and those before it with what the model was told of them. */
function Rejected({ answers }: { readonly answers: readonly RejectedAnswer[] }) {
  const last = answers.at(-1)!
  const before = answers.slice(0, -1)
  return (
    <section className="stack">
      <h3>The answer that did not fit</h3>
      <Answer rejected={last} />
      {before.length > 0 && (
        <details>
          <summary>
            {before.length === 1 ? 'The answer before' : `The ${before.length} answers before`}, and what the model was
            told
          </summary>
          <ol className="failure-answers">
            {before.map((rejected, i) => (
              // answers have no identity but their number
              // oxlint-disable-next-line react/no-array-index-key
              <li key={i} className="stack">
                <Answer rejected={rejected} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  )
}

function Answer({ rejected: { answer, problem, told } }: { readonly rejected: RejectedAnswer }) {
  return (
    <>
      <div className="bytes">
        {answer === undefined ? (
          <span className="muted">The answer is further back in the journal.</span>
        ) : (
          <TextBlock text={answer} />
        )}
      </div>
      <p className="run-problem">
        <VisibleText>{problem}</VisibleText>
      </p>
      {told !== undefined && (
        <p className="muted">
          Told: <VisibleText>{told}</VisibleText>
        </p>
      )}
    </>
  )
}

/** Entries of the journal that are read: the corrections of an answer, and the effect before them. */
const lastRows = 40

function useCause(activation: string, failure: Failure): FailureCause | undefined {
  const { api } = useRun()
  const { data } = usePolled<readonly JournalRow[]>(
    async (signal) => {
      const { total } = await api.journal(filled({ activation, from: 0, limit: 1, signal }))
      return (await api.journal(filled({ activation, from: Math.max(0, total - lastRows), limit: lastRows, signal })))
        .rows
    },
    activation,
    activation,
  )
  return useMemo(() => (data === undefined ? undefined : causeIn(data, failure)), [data, failure])
}
