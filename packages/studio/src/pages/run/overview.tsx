/** Overview: the agents as they work, what waits for a person, and the chosen agent with the text it streams. */
import { useMemo, useState } from 'react'
import type { LiveActivation, LiveDoubt, SettleBody } from '@reeve/server/wire'
import { server } from '../../data/server.ts'
import { Tokens, Money } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Field, TextArea } from '../../ui/field.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { Duration, Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { ValueView } from '../../ui/value-view.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { AgentList } from './agent-list.tsx'
import { doingOf } from './agent-tree.ts'
import { BudgetBar } from './budget-bar.tsx'
import { errorText } from './control-bar.tsx'
import { parsedJson } from '../../data/json-input.ts'
import { heldSince } from './controls.ts'
import { FailedWorkers } from '../runs/run-columns.tsx'
import { RunQuestions } from './questions.tsx'
import { useChosenAgent, useRun } from './run-context.tsx'
import { budgetsOf, knownUsd, spendOf, unknownText } from './spend.ts'
import { StreamText, useLiveTexts } from './stream-text.tsx'

export function Overview() {
  const { live, go } = useRun()
  const chosen = useChosenAgent()
  const doubts = Object.values(live.doubts)
  return (
    <div className="run-overview">
      <Panel title={`Agents (${Object.keys(live.activations).length})`} flush>
        <AgentList
          activations={live.activations}
          heldSince={heldSince(live.head)}
          chosen={chosen?.activation}
          onChoose={(agent) => go(undefined, { agent })}
        />
      </Panel>
      <div className="stack run-scroll" role="region" aria-label="Details" tabIndex={0}>
        {doubts.map((doubt) => (
          <Doubt key={doubt.id} doubt={doubt} />
        ))}
        <RunQuestions />
        {chosen === undefined ? <Empty title="No agent has begun yet" icon="agents" /> : <AgentDetail view={chosen} />}
      </div>
    </div>
  )
}

function AgentDetail({ view }: { readonly view: LiveActivation }) {
  const { go, live } = useRun()
  const texts = useLiveTexts(view.activation)
  const spend = useMemo(() => spendOf(view.usage), [view.usage])
  // those of the whole run stand in its head
  const budgets = view.parent === undefined ? [] : budgetsOf(view.limits, spend, view.reserved)
  const doing = doingOf(view, heldSince(live.head))
  const unknown = unknownText(spend)
  return (
    <Panel
      title={<VisibleText>{view.agent}</VisibleText>}
      actions={
        <>
          <StatusBadge status={view.state} />
          <Button small tone="quiet" onClick={() => go('conversation', { agent: view.activation })}>
            Conversation
          </Button>
        </>
      }
    >
      <div className="stack">
        <Facts
          facts={[
            [
              'Now',
              doing && (
                <>
                  <VisibleText>{doing.text}</VisibleText>, <Time at={doing.since} form="since" />
                </>
              ),
            ],
            ['Path', view.path.length > 1 && <VisibleText key="v">{view.path.join(' › ')}</VisibleText>],
            ['Task', view.task !== undefined && <VisibleText key="v">{view.task}</VisibleText>],
            ['Version', <VisibleText key="v">{view.version}</VisibleText>],
            ['Began', <Time key="t" at={view.startedAt} />],
            ['Took', view.endedAt !== undefined && <Duration key="d" from={view.startedAt} to={view.endedAt} />],
            ['Calls', `${view.modelCalls} to models, ${view.toolCalls} to tools`],
            ['Retries', view.failedAttempts > 0 && `${view.failedAttempts} attempts failed`],
            [
              'Used',
              <span key="u">
                <Money usd={knownUsd(spend)} /> · <Tokens tokens={spend.tokens} /> tokens
                {unknown !== undefined && <span className="muted"> · {unknown}</span>}
              </span>,
            ],
          ]}
        />
        {budgets.map((budget) => (
          <BudgetBar key={budget.of} budget={budget} />
        ))}
        {view.outcome !== undefined && <OutcomeView outcome={view.outcome} />}
        {texts.map((text) => (
          <section key={`${text.address} ${text.kind}`}>
            <h3>{text.kind === 'text' ? 'Says now' : 'Thinks now'}</h3>
            <StreamText text={text} />
          </section>
        ))}
      </div>
    </Panel>
  )
}

/** How something ended. */
export function OutcomeView({ outcome }: { readonly outcome: NonNullable<LiveActivation['outcome']> }) {
  switch (outcome.status) {
    case 'completed':
      return (
        <section>
          <h3>
            Result
            {outcome.by !== undefined && (
              <>
                , given by <VisibleText>{outcome.by}</VisibleText>
              </>
            )}
          </h3>
          {outcome.failures !== undefined && (
            <p>
              <FailedWorkers failures={outcome.failures} count={outcome.failureCount ?? outcome.failures.length} />
            </p>
          )}
          {outcome.reached === false && (
            <Notice tone="wait">Not reached: the loop stopped at its bound, and until was not true.</Notice>
          )}
          <ValueView value={outcome.output} markdown={4} />
        </section>
      )
    case 'failed':
      return (
        <Notice tone="bad">
          <VisibleText>{outcome.failure.message}</VisibleText>
          {outcome.failure.hint !== undefined && (
            <span className="muted">
              {' '}
              <VisibleText>{outcome.failure.hint}</VisibleText>
            </span>
          )}
        </Notice>
      )
    case 'cancelled':
      return (
        <Notice>
          Cancelled: <VisibleText>{outcome.reason}</VisibleText>
        </Notice>
      )
    default:
      return (
        <Notice tone="wait">
          <VisibleText>{outcome.message}</VisibleText>
        </Notice>
      )
  }
}

/** An effect that may have happened, or an address at which code and journal disagree: an operator says which. */
function Doubt({ doubt }: { readonly doubt: LiveDoubt }) {
  const { mayOperate, live } = useRun()
  const toast = useToast()
  const [value, setValue] = useState('')
  const [to, setTo] = useState(doubt.unclaimed[0] ?? '')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const isDoubt = doubt.kind === 'in-doubt'
  const agent = Object.hasOwn(live.activations, doubt.activation) ? live.activations[doubt.activation]!.agent : '?'
  const settle = async (body: SettleBody): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await server.questions.settle(doubt.id, body)
      toast.done('Settled. The run goes on.')
    } catch (error) {
      setProblem(errorText(error))
      setBusy(false)
    }
  }
  const happened = (): void => {
    const parsed = value.trim() === '' ? { value: null } : parsedJson(value)
    if ('problem' in parsed) setProblem(parsed.problem)
    else settle({ happened: true, value: parsed.value }).catch(() => {})
  }
  return (
    <Panel
      title={
        isDoubt ? (
          <>
            Did <VisibleText>{doubt.name ?? doubt.address}</VisibleText> happen?
          </>
        ) : (
          <>The code no longer does what the journal says</>
        )
      }
      actions={<Time at={doubt.since} />}
    >
      <div className="stack">
        <p>
          {isDoubt
            ? 'The process ended while this was under way, so it may have happened. It is done at most once: look outside, then say what is true.'
            : 'The code asks for an effect that is not in the journal at this place. Say what it stands for.'}
        </p>
        <Facts
          facts={[
            ['Agent', <VisibleText key="a">{agent}</VisibleText>],
            [
              'Address',
              <code key="c">
                <VisibleText>{doubt.address}</VisibleText>
              </code>,
            ],
          ]}
        />
        {doubt.input !== undefined && (
          <section>
            <h3>Arguments</h3>
            <div className="bytes">
              <JsonView value={doubt.input} depth={4} />
            </div>
          </section>
        )}
        {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
        {!mayOperate ? (
          <p className="muted">An operator settles this.</p>
        ) : isDoubt ? (
          <>
            <Field label="What it answered" hint="Only if it happened. JSON, or a text; empty: nothing is known.">
              {(field) => (
                <TextArea {...field} code rows={2} value={value} onChange={({ target }) => setValue(target.value)} />
              )}
            </Field>
            <div className="row wrap">
              <Button busy={busy} tone="accent" onClick={happened}>
                It happened
              </Button>
              <Button busy={busy} onClick={() => void settle({ happened: false })}>
                It did not happen: do it
              </Button>
            </div>
          </>
        ) : (
          <>
            {doubt.unclaimed.length > 0 && (
              <Field label="Recorded at">
                {(field) => (
                  <select {...field} className="input" value={to} onChange={({ target }) => setTo(target.value)}>
                    {doubt.unclaimed.map((address) => (
                      <option key={address}>{address}</option>
                    ))}
                  </select>
                )}
              </Field>
            )}
            <div className="row wrap">
              {doubt.unclaimed.length > 0 && (
                <Button busy={busy} tone="accent" onClick={() => void settle({ action: 'map', to })}>
                  It is that one
                </Button>
              )}
              <Button busy={busy} onClick={() => void settle({ action: 'execute' })}>
                It is new: do it
              </Button>
              <Button busy={busy} tone="danger" onClick={() => void settle({ action: 'drop' })}>
                Drop it
              </Button>
            </div>
          </>
        )}
      </div>
    </Panel>
  )
}
