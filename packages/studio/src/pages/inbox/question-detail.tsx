/**
 * One question with all that is needed to answer it: who asks, what exactly would run, why a person is asked, what it
 * would change, what happens at the deadline.
 */
import type { ReactNode } from 'react'
import type { QuestionView, RunDocument } from '@reeve/server/wire'
import { isObject, type Json } from '../../data/json.ts'
import { useMe } from '../../data/me.ts'
import { useQuery } from '../../data/queries.ts'
import { server } from '../../data/server.ts'
import { Link, runPath } from '../../router.tsx'
import { Money, Tokens } from '../../ui/amounts.tsx'
import { Badge, RiskBadge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { ValueDiff } from '../../ui/diff.tsx'
import { Icon } from '../../ui/icon.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Notice } from '../../ui/states.tsx'
import { Countdown, Time } from '../../ui/time.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { ApprovalActions } from './approval-actions.tsx'
import { DoubtForm, InterruptForm } from './answer-forms.tsx'
import { ExactBytes } from './exact-bytes.tsx'
import { previewOf, questionText, subjectOf } from './question-order.ts'

export interface QuestionDetailProps {
  readonly question: QuestionView
  /** It is not open any more. */
  readonly gone: boolean
  readonly onBack: () => void
  /** It was answered here: the next one. */
  readonly onNext: () => void
  readonly onOpen: (id: string) => void
}

const atDeadline = {
  reject: 'it is rejected',
  approve: 'it runs',
  escalate: 'the next approvers are asked',
} as const

const kindTitles = {
  task: 'Approve a task',
  plan: 'Approve a plan',
  recruit: 'Approve a new member',
  mail: 'Approve a message',
  result: 'Approve a result',
  work: 'Approve work before it begins',
} as const

export function QuestionDetail(props: QuestionDetailProps) {
  const { question, gone, onBack, onNext } = props
  const { kind, run, path, agent, user, session, usage, approval, interrupt, doubt, askedAt, until, mayAnswer } =
    question
  const preview = previewOf(question)
  return (
    <>
      <div className="scroll">
        <div className="stack">
          <div className="row back">
            <IconButton icon="left" label="Back to the list" onClick={onBack} />
            <span className="muted">Inbox</span>
          </div>
          <header className="stack" style={{ gap: 6 }}>
            <Path names={path} />
            <div className="row wrap">
              <h1 style={{ overflowWrap: 'anywhere' }}>
                {approval?.kind !== undefined && <span className="muted">{kindTitles[approval.kind]}: </span>}
                <VisibleText>{subjectOf(question)}</VisibleText>
              </h1>
              {approval !== undefined && <RiskBadge risk={approval.risk} />}
              {approval?.fourEyes && (
                <Badge tone="held" icon="agents">
                  Two people
                </Badge>
              )}
              {(kind === 'in-doubt' || kind === 'diverged') && (
                <Badge tone="held" icon="warn">
                  {doubt?.trial === true ? 'Held back: a trial' : kind === 'in-doubt' ? 'In doubt' : 'Diverged'}
                </Badge>
              )}
            </div>
            {approval?.description !== undefined && (
              <p className="muted">
                <VisibleText>{approval.description}</VisibleText>
              </p>
            )}
          </header>
          {gone ? <AnsweredNotice question={question} onOpen={props.onOpen} /> : <Standing question={question} />}
          <div className="detail-columns">
            <div className="stack">
              {preview !== undefined && (
                <Panel title="What it would change">
                  <ValueDiff before={preview.before} after={preview.after} label="Before and after" />
                </Panel>
              )}
              {approval !== undefined && (
                <Panel title="What would run" actions={<ToolVersion version={approval.toolVersion} />}>
                  <div className="stack">
                    <Arguments input={approval.input} />
                    <h3>Exactly the bytes that will run</h3>
                    <ExactBytes value={approval.input} hash={approval.inputHash} />
                  </div>
                </Panel>
              )}
              {interrupt?.call !== undefined && (
                <Panel title="What the client is to run">
                  <div className="stack">
                    <p>
                      The run waits for its client to run <VisibleText>{interrupt.call.tool}</VisibleText> with these
                      arguments. Nobody approves it. An administrator may answer in the place of the client.
                    </p>
                    <Arguments input={interrupt.call.input} />
                  </div>
                </Panel>
              )}
              {interrupt !== undefined && interrupt.call === undefined && (
                <Panel title="The question">
                  {typeof interrupt.question === 'string' ? (
                    <VisibleText lines>{interrupt.question}</VisibleText>
                  ) : (
                    <div className="stack">
                      <p>
                        <VisibleText lines>{questionText(interrupt.question)}</VisibleText>
                      </p>
                      <JsonView value={interrupt.question} />
                    </div>
                  )}
                </Panel>
              )}
              {doubt !== undefined && (
                <Panel
                  title={
                    doubt.trial === true
                      ? 'What a trial holds back'
                      : kind === 'in-doubt'
                        ? 'What may have happened'
                        : 'Where the code has diverged'
                  }
                >
                  <div className="stack">
                    <p>
                      {doubt.trial === true
                        ? 'The run tries a change, and makes no effect before a person has said so. This has not been made.'
                        : kind === 'in-doubt'
                          ? 'The process ended while this was being done, and it must not be done twice. Look whether it has happened, and say so.'
                          : 'The code asks for something that the journal does not have at this place. Say how the run goes on.'}
                    </p>
                    <Facts
                      facts={[
                        ['Tool', doubt.name !== undefined && <VisibleText>{doubt.name}</VisibleText>],
                        [
                          'Address',
                          <span className="mono" key="address">
                            <VisibleText>{doubt.address}</VisibleText>
                          </span>,
                        ],
                      ]}
                    />
                    {doubt.input !== undefined && <Arguments input={doubt.input} />}
                    {doubt.input !== undefined && <ExactBytes value={doubt.input} />}
                  </div>
                </Panel>
              )}
              {interrupt !== undefined && !gone && mayAnswer === true && (
                <Panel title="Your answer">
                  <InterruptForm question={question} onDone={onNext} />
                </Panel>
              )}
              {doubt !== undefined && !gone && mayAnswer === true && (
                <Panel title="Your answer">
                  <DoubtForm question={question} onDone={onNext} />
                </Panel>
              )}
              {approval !== undefined && (
                <Panel title="Why a person is asked">
                  <div className="stack">
                    <p>
                      <VisibleText lines>{approval.reason}</VisibleText>
                    </p>
                    {(approval.hits?.length ?? 0) > 0 && (
                      <ul className="triggers">
                        {approval.hits!.map(({ code, priority, detail }) => (
                          <li key={`${code}-${detail}`}>
                            <Badge
                              tone={priority === 'highest' ? 'bad' : priority === 'high' ? 'wait' : 'idle'}
                              icon="warn"
                            >
                              {code.replaceAll('_', ' ')}
                            </Badge>
                            <VisibleText lines>{detail}</VisibleText>
                          </li>
                        ))}
                      </ul>
                    )}
                  </div>
                </Panel>
              )}
            </div>
            <Panel title="Context">
              <div className="stack">
                <Facts
                  facts={[
                    [
                      'Run',
                      <Link key="run" to={runPath(run)}>
                        <VisibleText>{run}</VisibleText>
                      </Link>,
                    ],
                    ['Agent of the run', <VisibleText key="agent">{agent}</VisibleText>],
                    ['User', user !== undefined && <VisibleText>{user}</VisibleText>],
                    [
                      'Session',
                      session !== undefined && (
                        <Link to={`/sessions/${encodeURIComponent(session)}`}>
                          <VisibleText>{session}</VisibleText>
                        </Link>
                      ),
                    ],
                    [
                      'Delegation',
                      approval?.delegation !== undefined && <VisibleText>{approval.delegation}</VisibleText>,
                    ],
                    ['Task', approval?.task !== undefined && <VisibleText>{approval.task}</VisibleText>],
                    ['Waiting since', <Time key="since" at={askedAt} />],
                    [
                      'Deadline',
                      until === undefined ? (
                        'none: it waits until it is answered'
                      ) : (
                        <>
                          <Countdown until={until} />
                          {approval !== undefined && `, then ${atDeadline[approval.onTimeout]}`}
                        </>
                      ),
                    ],
                    [
                      'Cost so far',
                      usage !== undefined && (
                        <>
                          <Tokens tokens={usage.tokens} /> tokens
                          {usage.usd !== undefined && (
                            <>
                              , <Money usd={usage.usd} />
                            </>
                          )}
                        </>
                      ),
                    ],
                    ['May decide', approval?.approvers !== undefined && <Names names={approval.approvers} />],
                    ['Has approved', approval?.excludes !== undefined && <Names names={approval.excludes} />],
                    ['Tier', (approval?.tier ?? 1) > 1 && `${approval!.tier}`],
                  ]}
                />
                {approval?.brief !== undefined && (
                  <details>
                    <summary>What the worker was asked to do</summary>
                    <VisibleText lines>{approval.brief}</VisibleText>
                  </details>
                )}
                {approval?.context !== undefined && preview === undefined && (
                  <details open>
                    <summary>Evidence</summary>
                    <JsonView value={approval.context} />
                  </details>
                )}
                {approval?.follows !== undefined && <Earlier run={run} follows={approval.follows} />}
              </div>
            </Panel>
          </div>
        </div>
      </div>
      {approval !== undefined && !gone && <ApprovalActions question={question} onDone={onNext} />}
      {gone && (
        <div className="actions">
          <Button tone="accent" onClick={onNext}>
            Next question
          </Button>
        </div>
      )}
    </>
  )
}

function Path({ names }: { readonly names: readonly string[] }) {
  return (
    <p className="crumbs">
      {names.map((name, i) => (
        // a path may name an agent twice
        // oxlint-disable-next-line react/no-array-index-key
        <span className="crumbs" key={i}>
          {i > 0 && <Icon name="right" />}
          <VisibleText>{name}</VisibleText>
        </span>
      ))}
      <span className="muted">asks</span>
    </p>
  )
}

function Names({ names }: { readonly names: readonly string[] }) {
  return <VisibleText>{names.length === 0 ? 'anyone' : names.join(', ')}</VisibleText>
}

function ToolVersion({ version }: { readonly version: string }) {
  return (
    <span className="muted mono truncate" title={`Version of the tool: ${version}`} style={{ maxWidth: 160 }}>
      <VisibleText>{version}</VisibleText>
    </span>
  )
}

/** What stands in the way of answering, or is to be known before. */
function Standing({ question: { approval, mayAnswer } }: { readonly question: QuestionView }) {
  const me = useMe()
  const first = approval?.excludes ?? []
  const mine = me !== undefined && first.includes(me.name)
  return (
    <>
      {mayAnswer !== true && (
        <Notice tone="wait">
          You may not answer this: <VisibleText>{mayAnswer}</VisibleText>.
        </Notice>
      )}
      {first.length > 0 && (
        <Notice tone="wait">
          {mine ? 'You' : <VisibleText>{first.join(', ')}</VisibleText>} approved it first.{' '}
          {mine ? 'Another person' : 'A second person'} must approve the same arguments.
        </Notice>
      )}
    </>
  )
}

/** The arguments as they read best: names and values; long texts with their lines. */
export function Arguments({ input }: { readonly input: Json }) {
  if (!isObject(input)) return <JsonView value={input} />
  return (
    <dl className="arguments">
      {Object.entries(input).map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>
            <VisibleText>{name}</VisibleText>
          </dt>
          {/* a value that scrolls must be reachable by the keyboard */}
          <dd tabIndex={typeof value === 'string' && value.length > 400 ? 0 : undefined}>
            {typeof value === 'string' ? <VisibleText lines>{value}</VisibleText> : <JsonView value={value} />}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const resolutions: Readonly<Record<string, string>> = {
  approved: 'approved it',
  edited: 'approved it with other arguments',
  rejected: 'rejected it',
  retry: 'asked for changes',
  'timed-out-approved': 'The deadline passed: it was approved',
  'timed-out-rejected': 'The deadline passed: it was rejected',
  cancelled: 'It was withdrawn',
}

/** Who answered it, and what. */
function AnsweredNotice({ question, onOpen }: Pick<QuestionDetailProps, 'question' | 'onOpen'>) {
  const { id, run, kind } = question
  const { data } = useQuery(`answered:${id}`, ['questions', `run:${run}`], (signal) => server.run(run).view({ signal }))
  const approval = data?.approvals.find((each) => each.id === id)
  const next = data?.approvals.find((each) => each.follows === id)
  if (kind !== 'approval' || approval?.resolution === undefined)
    return <Notice tone="ok">This has been answered, and the run goes on.</Notice>
  const { resolution, approver, comment, resolvedAt } = approval
  const word = resolutions[resolution] ?? resolution
  const byPerson = /^[a-z]/.test(word)
  return (
    <Notice tone="ok">
      <p>
        {byPerson && <VisibleText>{approver ?? 'Someone'}</VisibleText>} {word}
        {resolvedAt !== undefined && (
          <>
            {' '}
            <Time at={resolvedAt} />
          </>
        )}
        .
      </p>
      {comment !== undefined && (
        <p>
          <VisibleText lines>{comment}</VisibleText>
        </p>
      )}
      {next?.open && (
        <Button small onClick={() => onOpen(next.id)}>
          It asks again: show the new request
        </Button>
      )}
    </Notice>
  )
}

/** The requests before this one. */
function Earlier({ run, follows }: { readonly run: string; readonly follows: string }): ReactNode {
  const { data } = useQuery(`earlier:${run}:${follows}`, ['questions', `run:${run}`], (signal) =>
    server.run(run).view({ signal }),
  )
  const before: RunDocument['approvals'][number][] = []
  for (let id: string | undefined = follows; id !== undefined && before.length < 10;) {
    const found: RunDocument['approvals'][number] | undefined = data?.approvals.find((each) => each.id === id)
    if (found === undefined) break
    before.push(found)
    id = found.follows
  }
  if (before.length === 0) return null
  return (
    <details open>
      <summary>Earlier requests</summary>
      <ul className="triggers">
        {before.map(({ id, resolution, approver, comment, resolvedAt, askedAt }) => (
          <li key={id}>
            <span className="muted">
              <Time at={resolvedAt ?? askedAt} />
            </span>
            <span>
              <VisibleText>
                {`${/^[a-z]/.test(resolutions[resolution ?? ''] ?? '') ? `${approver ?? 'someone'} ` : ''}${resolutions[resolution ?? ''] ?? 'asked'}${comment === undefined ? '' : `: ${comment}`}`}
              </VisibleText>
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}
