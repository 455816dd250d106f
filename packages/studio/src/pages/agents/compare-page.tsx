/**
 * The playground of an agent: one input, tried with several changes side by side.
 *
 * Owns: the columns, what each changes, the differences of what came out. Each column is a trial: no effect leaves before
 * a person says so. The runs stand in the address, so a reload shows the same comparison.
 */
import { useCallback, useState } from 'react'
import type { AgentDocument, LiveRun } from '@reeve/server/wire'
import { useRole } from '../../data/me.ts'
import { changed, useMutation } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { agentPath, Link, useParams } from '../../router.tsx'
import { Money, Tokens } from '../../ui/amounts.tsx'
import { StatusBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { ValueDiff } from '../../ui/diff.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Notice, sentences } from '../../ui/states.tsx'
import { Duration } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { hasEnded } from '../run/controls.ts'
import { knownUsd, spendOf } from '../run/spend.ts'
import { WithAgent } from './chat-page.tsx'
import { ChatTurn } from './chat-turn.tsx'
import { InputField, useAgentInput } from './input-field.tsx'
import { changeOf, instructionsOf, noChange, TrialFields, useTrialOptions, type TrialDraft } from './trial-fields.tsx'
import './agents.css'

const mostColumns = 3
const names = ['A', 'B', 'C'] as const

export const ComparePage = ({ name }: { readonly name: string }) => (
  <WithAgent name={name}>{(agent) => <Compare agent={agent} />}</WithAgent>
)

function Compare({ agent }: { readonly agent: AgentDocument }) {
  const [params, setParams] = useParams()
  const runs = (params.get('runs') ?? '')
    .split(',')
    .filter((run) => run !== '')
    .slice(0, mostColumns)
  const mayStart = useRole('operator')
  const input = useAgentInput(agent)
  const own = agent.instructions ?? ''
  const asItIs: TrialDraft = { ...noChange, instructions: own }
  const [drafts, setDrafts] = useState<readonly TrialDraft[]>([asItIs, asItIs])
  const { versions } = useTrialOptions(agent.name)
  const [lives, setLives] = useState<Readonly<Record<string, LiveRun>>>({})
  const note = useCallback((live: LiveRun) => setLives((was) => ({ ...was, [live.head.run]: live })), [])
  const { run, busy, error } = useMutation(
    () =>
      Promise.all(
        drafts.map(async (draft) => {
          const started = await server.runs.start(agent.name, input.value, {
            trial: { [agent.name]: changeOf(draft, instructionsOf(draft.version, versions, own)) },
          })
          return started.id
        }),
      ),
    {
      done(ids) {
        changed(['runs'])
        setParams({ runs: ids.join(',') })
      },
    },
  )
  const change = (i: number, draft: TrialDraft): void => setDrafts(drafts.map((each, at) => (at === i ? draft : each)))
  return (
    <div className="page compare">
      <header>
        <nav aria-label="Where you are" className="crumbs">
          <Link to="/agents">Agents</Link>
          <Icon name="right" />
          <Link to={agentPath(agent.name)}>
            <VisibleText>{agent.name}</VisibleText>
          </Link>
          <Icon name="right" />
        </nav>
        <h1>Compare</h1>
      </header>
      {!mayStart ? (
        <Notice tone="wait">Trying a change needs the role operator.</Notice>
      ) : (
        <form
          className="stack"
          aria-label="What is tried"
          onSubmit={(event) => {
            event.preventDefault()
            if (!input.isEmpty) run(undefined)
          }}
        >
          <InputField agent={agent} value={input.value} onChange={input.set} />
          <div className="compare-columns">
            {drafts.map((draft, i) => (
              // columns have no name but their place
              // oxlint-disable-next-line react/no-array-index-key
              <fieldset key={i} className="compare-column">
                <legend className="row">
                  {names[i]}
                  {drafts.length > 2 && (
                    <IconButton
                      small
                      icon="cross"
                      label={`Leave ${names[i]} out`}
                      onClick={() => setDrafts(drafts.filter((_, at) => at !== i))}
                    />
                  )}
                </legend>
                <TrialFields agent={agent.name} own={own} draft={draft} onChange={(next) => change(i, next)} />
              </fieldset>
            ))}
          </div>
          <div className="row wrap">
            <Button type="submit" tone="accent" icon="play" busy={busy} disabled={input.isEmpty}>
              Try {drafts.length} side by side
            </Button>
            {drafts.length < mostColumns && (
              <Button icon="plus" onClick={() => setDrafts([...drafts, asItIs])}>
                Another column
              </Button>
            )}
            <span className="muted">Each is a trial: nothing that it does outside happens before you say so.</span>
          </div>
          {error !== undefined && (
            <Notice tone="bad">
              <VisibleText>{sentences(error).message}</VisibleText>{' '}
              <span className="muted">
                <VisibleText>{sentences(error).hint ?? ''}</VisibleText>
              </span>
            </Notice>
          )}
        </form>
      )}
      {runs.length === 0 ? (
        <p className="muted">
          Write what {agent.name} should do, change its instructions, model or version in one of the columns, and try.
        </p>
      ) : (
        <>
          <div className="compare-columns">
            {runs.map((id, i) => (
              <section key={id} className="compare-column" aria-label={`What ${names[i]} did`}>
                <h2>{names[i]}</h2>
                <Figures live={lives[id]} />
                <ChatTurn run={id} isOver={false} onLive={note} />
              </section>
            ))}
          </div>
          <Differences lives={runs.map((id) => lives[id])} />
        </>
      )}
    </div>
  )
}

/** How one has fared, in the words that are compared. */
function Figures({ live }: { readonly live: LiveRun | undefined }) {
  if (live === undefined) return null
  const { head } = live
  const spend = spendOf(head.usage)
  return (
    <dl className="facts">
      <div style={{ display: 'contents' }}>
        <dt>State</dt>
        <dd>
          <StatusBadge status={head.status} />
        </dd>
      </div>
      <div style={{ display: 'contents' }}>
        <dt>Took</dt>
        <dd>{head.endedAt === undefined ? '…' : <Duration from={head.startedAt} to={head.endedAt} />}</dd>
      </div>
      <div style={{ display: 'contents' }}>
        <dt>Tokens</dt>
        <dd>
          <Tokens tokens={spend.tokens} />
        </dd>
      </div>
      <div style={{ display: 'contents' }}>
        <dt>Cost</dt>
        <dd>
          <Money usd={knownUsd(spend)} />
        </dd>
      </div>
    </dl>
  )
}

/** What came out of the first beside what came out of the others. */
function Differences({ lives }: { readonly lives: readonly (LiveRun | undefined)[] }) {
  const [first, ...others] = lives.map((live) =>
    live !== undefined && hasEnded(live.head.status) && live.head.outcome?.status === 'completed'
      ? live.head.outcome.output
      : undefined,
  )
  if (first === undefined) return null
  return others.map((other, i) =>
    other === undefined ? null : (
      <Panel key={names[i + 1]} title={`A and ${names[i + 1]}: what came out`}>
        <ValueDiff before={first} after={other} label={`Difference of A and ${names[i + 1]}`} />
      </Panel>
    ),
  )
}
