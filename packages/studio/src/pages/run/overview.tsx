/** Overview: the agents as they work, what waits for a person, and the chosen agent with the text it streams. */
import { useMemo, useState } from 'react'
import type { LiveActivation, LiveDoubt, SettleBody } from '@reeve/server/wire'
import type { Json } from '../../data/json.ts'
import { usePolled } from '../../data/polled.ts'
import { server } from '../../data/server.ts'
import { countText } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
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
import { CutValue } from './cut-value.tsx'
import { FailureView } from './failure-view.tsx'
import { parsedJson } from '../../data/json-input.ts'
import { heldSince } from './controls.ts'
import { FailedWorkers } from '../runs/run-columns.tsx'
import { RunQuestions } from './questions.tsx'
import { useChosenAgent, useRun } from './run-context.tsx'
import { budgetsOf, spendOf, spendText } from './spend.ts'
import { StreamText, useLiveTexts } from './stream-text.tsx'

export function Overview() {
  const { live, go } = useRun()
  const chosen = useChosenAgent()
  const doubts = Object.values(live.doubts)
  return (
    <div className="run-overview run-scroll" role="region" aria-label="Overview" tabIndex={0}>
      <div className="stack">
        <InputPanel />
        <Panel title={`Agents (${countText(Object.keys(live.activations).length)})`} flush>
          <AgentList
            activations={live.activations}
            heldSince={heldSince(live.head)}
            chosen={chosen?.activation}
            onChoose={(agent) => go(undefined, { agent })}
          />
        </Panel>
      </div>
      <div className="stack">
        {doubts.map((doubt) => (
          <Doubt key={doubt.id} doubt={doubt} />
        ))}
        <RunQuestions />
        {chosen === undefined ? (
          <Empty title="No agent has begun yet" icon="agents">
            The run is queued, or waits for a process that takes it up. Its agents are shown here once they work.
          </Empty>
        ) : (
          <AgentDetail key={chosen.activation} view={chosen} />
        )}
      </div>
    </div>
  )
}

/** What the run was asked. */
function InputPanel() {
  const { live, api } = useRun()
  const { head } = live
  return (
    <Panel title="Input" actions={<CopyButton text={textOf(head.input)} what="the input" />}>
      <CutValue
        value={head.input}
        isCut={head.inputCut === true}
        load={async () => (await api.conversation({ limit: 1 })).input}
        isBrief
      />
      {head.metadata !== undefined && (
        <details className="run-metadata">
          <summary>Metadata</summary>
          <JsonView value={head.metadata} />
        </details>
      )}
    </Panel>
  )
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/** An agent: what it does, what it was asked, how it ended. */
function AgentDetail({ view }: { readonly view: LiveActivation }) {
  const { go, live } = useRun()
  const texts = useLiveTexts(view.activation)
  const spend = useMemo(() => spendOf(view.usage), [view.usage])
  const isRoot = view.parent === undefined
  // those of the whole run stand in its head
  const budgets = isRoot ? [] : budgetsOf(view.limits, spend, view.reserved)
  const doing = doingOf(view, heldSince(live.head))
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
        {!isRoot && <AgentInput activation={view.activation} />}
        {texts.map((text) => (
          <section key={`${text.address} ${text.kind}`}>
            <h3>{text.kind === 'text' ? 'Says now' : 'Thinks now'}</h3>
            <StreamText text={text} />
          </section>
        ))}
        <AgentEnd view={view} />
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
            ['Calls', `${countText(view.modelCalls)} to models, ${countText(view.toolCalls)} to tools`],
            ['Retries', view.failedAttempts > 0 && `${view.failedAttempts} attempts failed`],
            ['Used', spendText(spend)],
          ]}
        />
        {budgets.map((budget) => (
          <BudgetBar key={budget.of} budget={budget} />
        ))}
      </div>
    </Panel>
  )
}

/** What an agent below the first one was asked. That of the run stands beside it. */
function AgentInput({ activation }: { readonly activation: string }) {
  const { api } = useRun()
  const { data } = usePolled(
    async (signal) => ({ input: (await api.conversation({ activation, limit: 1, signal })).input }),
    activation,
    activation,
  )
  return data === undefined ? null : (
    <section>
      <h3>Input</h3>
      <ValueView value={data.input} isBrief />
    </section>
  )
}

/** How an agent ended. The run has more of the text of its own end than of those below it. */
function AgentEnd({ view }: { readonly view: LiveActivation }) {
  const { api, live } = useRun()
  const { activation, parent } = view
  const { outcome, outcomeCut } = parent === undefined ? live.head : view
  if (outcome === undefined) return null
  const load = async (): Promise<Outcome> => {
    if (parent === undefined) return (await api.status()).outcome ?? outcome
    const { rows } = await api.journal({ activation, family: 'activation.settled', limit: 1 })
    const event = rows[0]?.event
    return event?.type === 'activation.settled' ? event.outcome : outcome
  }
  if (outcome.status === 'failed') return <FailureView view={view} failure={outcome.failure} />
  return (
    <section className="stack">
      {outcome.status === 'completed' && (
        <div className="row">
          <h3 className="grow">Output</h3>
          <CopyButton text={textOf(outcome.output)} what="the output" />
        </div>
      )}
      <OutcomeView outcome={outcome} isCut={outcomeCut === true} load={load} />
    </section>
  )
}

type Outcome = NonNullable<LiveActivation['outcome']>

/** How something ended that did not fail. `load`: its outcome, whole. */
function OutcomeView(props: {
  readonly outcome: Outcome
  readonly isCut: boolean
  readonly load: () => Promise<Outcome>
}) {
  const { outcome, isCut, load } = props
  switch (outcome.status) {
    case 'completed':
      return (
        <>
          {outcome.by !== undefined && (
            <p className="muted">
              Given by <VisibleText>{outcome.by}</VisibleText>, in place of the agents.
            </p>
          )}
          {outcome.failures !== undefined && (
            <p>
              <FailedWorkers failures={outcome.failures} count={outcome.failureCount ?? outcome.failures.length} />
            </p>
          )}
          {outcome.reached === false && (
            <Notice tone="wait">Not reached: the loop stopped at its bound, and until was not true.</Notice>
          )}
          {outcome.output === null || outcome.output === '' ? (
            <p className="muted">It ended without an output.</p>
          ) : (
            <CutValue
              value={outcome.output}
              isCut={isCut}
              load={async () => {
                const whole = await load()
                return whole.status === 'completed' ? whole.output : outcome.output
              }}
              markdown={4}
            />
          )}
        </>
      )
    case 'failed':
      return null
    case 'cancelled':
      return (
        <Notice>
          Cancelled: <VisibleText>{outcome.reason}</VisibleText>
        </Notice>
      )
    case 'limited':
      return (
        <>
          <Notice tone="wait">
            <VisibleText>{outcome.message}</VisibleText>
          </Notice>
          {outcome.partial !== undefined && (
            <section>
              <h3>What there was</h3>
              <ValueView value={outcome.partial} markdown={4} />
            </section>
          )}
        </>
      )
    case 'bailed':
      return (
        <>
          <Notice>
            <VisibleText>{outcome.message}</VisibleText>
          </Notice>
          {outcome.text !== '' && <ValueView value={outcome.text} markdown={4} />}
        </>
      )
    case 'timed-out':
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
