/** Team: plan with its failure budget, roster, mailbox, topics and advice; recruiting, retiring and writing to members. */
import { useState } from 'react'
import type { JournalRow, LiveActivation, LiveRun } from '@reeve/server/wire'
import { Badge, StatusBadge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field, Select, TextArea, TextInput } from '../../ui/field.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { Duration, Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { errorText } from './control-bar.tsx'
import { hasEnded } from './controls.ts'
import { ValueView } from '../../ui/value-view.tsx'
import { PlanGraph } from './plan-graph.tsx'
import { usePolled } from '../../data/polled.ts'
import { drawnLine, entryLine } from './journal-lines.ts'
import { useRun } from './run-context.tsx'
import { budgetsOf } from './spend.ts'
import { ReasonField } from './reason-field.tsx'

type Team = LiveRun['teams'][string]
type Member = Team['members'][number]

export function TeamTab() {
  const { live, selection, go } = useRun()
  const teams = Object.values(live.teams)
  const team = teams.find(({ activation }) => activation === selection.agent) ?? teams[0]
  if (team === undefined) return <WithoutPlan />
  return (
    <div className="stack run-scroll" role="region" aria-label="Team" tabIndex={0}>
      {teams.length > 1 && (
        <div className="run-bar">
          <label className="row grow run-agent-choice">
            <span className="muted">Team</span>
            <Select value={team.activation} onChange={({ target }) => go(undefined, { agent: target.value })}>
              {teams.map(({ activation, path }) => (
                <option key={activation} value={activation}>
                  {path.join(' › ')}
                </option>
              ))}
            </Select>
          </label>
        </div>
      )}
      <Plan team={team} />
      <div className="run-columns">
        <Roster team={team} />
        <Mailbox team={team} />
      </div>
      <Topics team={team} />
      <Asides team={team} />
    </div>
  )
}

function Plan({ team }: { readonly team: Team }) {
  const { plan, coverage } = team
  const [chosen, setChosen] = useState<string>()
  const task = plan.tasks.find((each) => each.task === chosen)
  return (
    <Panel
      title="Plan"
      actions={
        <>
          <span className="muted">
            {coverage.succeeded} of {coverage.planned} done
          </span>
          <Badge
            tone={plan.failed === 0 ? 'idle' : plan.failed >= plan.maxFailures ? 'bad' : 'wait'}
            icon="warn"
            title="The plan is given up when so many of its tasks have failed"
          >
            {plan.failed} of {plan.maxFailures} failures
          </Badge>
        </>
      }
    >
      <div className="stack">
        {plan.aborted !== undefined && (
          <Notice tone="bad">
            The plan was given up: {abortLabels[plan.aborted.reason]}, after {plan.aborted.failed} of{' '}
            {plan.aborted.total} tasks failed.
          </Notice>
        )}
        {plan.fallback !== undefined && (
          <Notice tone="wait">
            Planning failed, and this is the fallback plan: <VisibleText>{plan.fallback.message}</VisibleText>
          </Notice>
        )}
        {plan.warnings.map((warning) => (
          <Notice tone="wait" key={warning}>
            <VisibleText>{warning}</VisibleText>
          </Notice>
        ))}
        <PlanGraph team={team} chosen={chosen} onChoose={(id) => setChosen(id === chosen ? undefined : id)} />
        {task !== undefined && <TaskDetail task={task} />}
        <p className="muted">
          Route: {plan.route}
          {plan.reasons.length > 0 && (
            <>
              {' '}
              (<VisibleText>{plan.reasons.join('; ')}</VisibleText>)
            </>
          )}
          . Order: {plan.strategy.replaceAll('_', ' ')}. At most {plan.concurrency} at once.
        </p>
        {team.answer !== undefined && (
          <p className="muted">
            The answer was made from its results <Time at={team.answer.at} />.
          </p>
        )}
      </div>
    </Panel>
  )
}

const abortLabels = {
  failures: 'too many tasks failed',
  critical: 'a critical task failed',
  budget: 'its budget is used up',
  rejected: 'a task that it needs was rejected',
} as const

function TaskDetail({ task }: { readonly task: Team['plan']['tasks'][number] }) {
  const { go } = useRun()
  return (
    <section className="run-task-detail" aria-live="polite">
      <div className="row">
        <h3 className="grow">
          <VisibleText>{task.task}</VisibleText>
        </h3>
        {task.activation !== undefined && (
          <Button small tone="quiet" onClick={() => go('conversation', { agent: task.activation })}>
            Conversation
          </Button>
        )}
      </div>
      <ValueView value={task.description} />
      <Facts
        facts={[
          ['State', <StatusBadge key="s" bare status={task.status} />],
          ['Member', <VisibleText key="m">{`${task.member} (${task.role})`}</VisibleText>],
          ['Waits for', task.waitsFor.length > 0 && <VisibleText key="v">{task.waitsFor.join(', ')}</VisibleText>],
          ['Produces', task.produces.length > 0 && <VisibleText key="v">{task.produces.join(', ')}</VisibleText>],
          ['Consumes', task.consumes.length > 0 && <VisibleText key="v">{task.consumes.join(', ')}</VisibleText>],
          ['Was missing', task.missing.length > 0 && <VisibleText key="v">{task.missing.join(', ')}</VisibleText>],
          ['Attempts', task.attempts > 1 && String(task.attempts)],
          ['Action', task.action !== undefined && <VisibleText key="v">{task.action}</VisibleText>],
          ['Risk', task.risk],
          [
            'Oversight',
            [
              task.mode,
              task.requiresApproval && 'needs approval',
              task.review && 'result is reviewed',
              task.optional && 'optional',
            ]
              .filter(Boolean)
              .join(', ') || undefined,
          ],
          ['Failed', task.failure && <VisibleText key="v">{task.failure.message}</VisibleText>],
          ['Reason', task.reason !== undefined && <VisibleText key="v">{task.reason}</VisibleText>],
          ['Completed by', task.by !== undefined && <VisibleText key="v">{task.by}</VisibleText>],
          ['Took', task.startedAt !== undefined && <Duration key="v" from={task.startedAt} to={task.endedAt} />],
        ]}
      />
      {task.output !== undefined && <ValueView value={task.output} />}
    </section>
  )
}

function Roster({ team }: { readonly team: Team }) {
  const { mayOperate, live } = useRun()
  const [open, setOpen] = useState<'recruit' | Member>()
  const canChange = mayOperate && team.endedAt === undefined && !hasEnded(live.head.status)
  return (
    <Panel
      title={`Members (${team.members.length})`}
      flush
      actions={
        canChange && (
          <Button small icon="plus" onClick={() => setOpen('recruit')}>
            Recruit
          </Button>
        )
      }
    >
      <ul className="run-list">
        {team.members.map((member) => (
          <li key={member.member}>
            <div className="grow">
              <div className="row wrap">
                <b>
                  <VisibleText>{member.member}</VisibleText>
                </b>
                <span className="muted">
                  <VisibleText>{member.role}</VisibleText>
                  {member.resolved !== undefined && (
                    <>
                      , as <VisibleText>{member.resolved}</VisibleText>
                    </>
                  )}
                </span>
                {member.recruited && (
                  <span className="run-mark">
                    recruited by <VisibleText>{member.requestedBy ?? '?'}</VisibleText>
                  </span>
                )}
              </div>
              <div className="row wrap">
                <StatusBadge bare status={member.status} />
                <span className="muted">
                  <VisibleText>{member.task}</VisibleText>
                  {member.attempts > 1 && `, ${member.attempts} attempts`}
                </span>
              </div>
              {member.lastError !== undefined && (
                <p className="run-problem">
                  <VisibleText>{member.lastError.message}</VisibleText>
                </p>
              )}
              {member.retirement !== undefined && (
                <p className="muted">
                  Retired {member.retirement.mode === 'force' ? 'at once' : 'after its task'}
                  {member.retirement.by !== undefined && (
                    <>
                      {' '}
                      by <VisibleText>{member.retirement.by}</VisibleText>
                    </>
                  )}
                  {member.retirement.reason !== undefined && (
                    <>
                      : <VisibleText>{member.retirement.reason}</VisibleText>
                    </>
                  )}
                </p>
              )}
            </div>
            {canChange && member.retirement === undefined && isAtWork(member) && (
              <Button small tone="quiet" onClick={() => setOpen(member)}>
                Retire
              </Button>
            )}
          </li>
        ))}
        {team.recruiting
          .filter(({ admitted }) => admitted !== true)
          .map((request) => (
            <li key={request.request}>
              <div className="grow">
                <div className="row wrap">
                  <b>
                    <VisibleText>{request.role}</VisibleText>
                  </b>
                  <Badge tone={request.admitted === undefined ? 'wait' : 'idle'}>
                    {request.admitted === undefined
                      ? 'request is open'
                      : `refused: ${(request.reason ?? '').replaceAll('_', ' ')}`}
                  </Badge>
                </div>
                <div className="muted">
                  <VisibleText>{request.message ?? request.description}</VisibleText>
                </div>
              </div>
            </li>
          ))}
      </ul>
      {open === 'recruit' && <RecruitDialog team={team} onClose={() => setOpen(undefined)} />}
      {open !== undefined && open !== 'recruit' && (
        <RetireDialog team={team} member={open} onClose={() => setOpen(undefined)} />
      )}
    </Panel>
  )
}

const isAtWork = ({ status }: Member): boolean => status === 'pending' || status === 'running' || status === 'paused'

/** Sends a command of a dialog: once, and says what is wrong. */
function useSending(onClose: () => void): {
  readonly busy: boolean
  readonly problem: string | undefined
  readonly send: (act: () => Promise<unknown>, done: string) => void
} {
  const toast = useToast()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const send = (act: () => Promise<unknown>, done: string): void => {
    setBusy(true)
    setProblem(undefined)
    const run = async (): Promise<void> => {
      try {
        await act()
        toast.done(done)
        onClose()
      } catch (error) {
        setProblem(errorText(error))
      }
      setBusy(false)
    }
    run().catch(() => {})
  }
  return { busy, problem, send }
}

function RecruitDialog({ team, onClose }: { readonly team: Team; readonly onClose: () => void }) {
  const { api } = useRun()
  const [role, setRole] = useState(team.members[0]?.role ?? '')
  const [description, setDescription] = useState('')
  const [parent, setParent] = useState('')
  const { busy, problem, send } = useSending(onClose)
  const roles = [...new Set(team.members.map((member) => member.resolved ?? member.role))]
  const open = team.plan.tasks.filter(({ endedAt }) => endedAt === undefined)
  const recruit = async (): Promise<void> => {
    const decided = await api.team.recruit({
      team: team.activation,
      role: role.trim(),
      description: description.trim(),
      ...(parent === '' ? {} : { parentTask: parent }),
    })
    if (!decided.admitted) throw new Error(decided.message ?? 'The team refused it.')
  }
  return (
    <Dialog
      title="Recruit a member"
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button
            tone="accent"
            busy={busy}
            disabled={role.trim() === '' || description.trim() === ''}
            onClick={() => send(recruit, 'The team has a new member.')}
          >
            Recruit
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>The new member begins with this work. The policy of the team decides, as for a request of its members.</p>
        <Field label="Role" hint={`On this team: ${roles.join(', ')}`}>
          {(field) => (
            <TextInput {...field} data-autofocus value={role} onChange={({ target }) => setRole(target.value)} />
          )}
        </Field>
        <Field label="Work" required>
          {(field) => (
            <TextArea {...field} rows={4} value={description} onChange={({ target }) => setDescription(target.value)} />
          )}
        </Field>
        <Field label="Helps with">
          {(field) => (
            <Select {...field} value={parent} onChange={({ target }) => setParent(target.value)}>
              <option value="">no task: the answer of the team waits for it</option>
              {open.map(({ task }) => (
                <option key={task} value={task}>
                  {task}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      </div>
    </Dialog>
  )
}

function RetireDialog(props: { readonly team: Team; readonly member: Member; readonly onClose: () => void }) {
  const { team, member, onClose } = props
  const { api } = useRun()
  const [now, setNow] = useState(false)
  const [again, setAgain] = useState(true)
  const [reason, setReason] = useState('')
  const { busy, problem, send } = useSending(onClose)
  const retire = (): Promise<unknown> =>
    api.team.retire({
      team: team.activation,
      member: member.member,
      mode: now ? 'force' : 'graceful',
      reassign: again,
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
    })
  return (
    <Dialog
      title={
        <>
          Retire <VisibleText>{member.member}</VisibleText>
        </>
      }
      onClose={onClose}
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
          <Button tone="danger-solid" busy={busy} onClick={() => send(retire, 'The member is retired.')}>
            Retire the member
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          {now
            ? 'It leaves now. What it works on is stopped and has no result.'
            : 'It leaves once its task has ended; its result counts. It gets no more work.'}
        </p>
        <Checkbox checked={now} onChange={({ target }) => setNow(target.checked)}>
          At once: what it works on is stopped
        </Checkbox>
        <Checkbox checked={again} onChange={({ target }) => setAgain(target.checked)}>
          A new member does the task that it does not end; without one, the task fails
        </Checkbox>
        <ReasonField reason={reason} onChange={setReason} problem={problem} />
      </div>
    </Dialog>
  )
}

const shownMail = 100

function Mailbox({ team }: { readonly team: Team }) {
  const { mailbox } = team
  const { mayOperate, live } = useRun()
  const [shown, setShown] = useState(shownMail)
  const [only, setOnly] = useState('')
  const refused = Object.entries(mailbox.refused)
  const mail = mailbox.messages.filter(
    ({ from, to, recipients }) => only === '' || from === only || to === only || recipients.includes(only),
  )
  const canWrite = mayOperate && team.endedAt === undefined && !hasEnded(live.head.status)
  return (
    <Panel
      title="Mailbox"
      flush
      actions={
        <span className="run-mail-of">
          <Select aria-label="Mail of" value={only} onChange={({ target }) => setOnly(target.value)}>
            <option value="">everyone</option>
            {team.members.map(({ member }) => (
              <option key={member} value={member}>
                {member}
                {(mailbox.unread[member] ?? 0) > 0 ? ` (${mailbox.unread[member]} unread)` : ''}
              </option>
            ))}
          </Select>
        </span>
      }
    >
      <p className="run-mail-sums muted">
        {mailbox.accepted === 1 ? '1 message' : `${mailbox.accepted} messages`} accepted
        {mailbox.dropped > 0 && `, ${mailbox.dropped} dropped because a bound was reached`}
        {refused.map(([reason, count]) => `, ${count} refused: ${reason.replaceAll('_', ' ')}`)}
      </p>
      {canWrite && <PostForm team={team} />}
      {mail.length === 0 ? (
        <Empty icon="send" title="No mail" />
      ) : (
        <ol className="run-list run-mail">
          {mail
            .slice(-shown)
            .toReversed()
            .map((message) => (
              <li key={message.seq}>
                <div className="grow">
                  <div className="row wrap">
                    <b>
                      <VisibleText>
                        {message.from === 'operator' ? (message.by ?? 'operator') : message.from}
                      </VisibleText>
                    </b>
                    <span className="muted">to</span>
                    <b>
                      <VisibleText>{addressee(message.to)}</VisibleText>
                    </b>
                    {message.kind !== undefined && (
                      <span className="run-mark">
                        <VisibleText>{message.kind}</VisibleText>
                      </span>
                    )}
                    <span className="grow" />
                    <Delivery message={message} />
                    <Time at={message.at} form="clock" />
                  </div>
                  <ValueView value={message.content} />
                </div>
              </li>
            ))}
        </ol>
      )}
      {mail.length > shown && (
        <Button small onClick={() => setShown(shown + 200)}>
          Show older mail ({mail.length - shown} left)
        </Button>
      )}
    </Panel>
  )
}

/** As the form says it. */
const addressee = (to: string): string =>
  to === '*' ? 'everyone' : to.startsWith('role:') ? `every ${to.slice('role:'.length)}` : to

function Delivery({ message }: { readonly message: Team['mailbox']['messages'][number] }) {
  const { recipients, unread } = message
  if (recipients.length === 0) return <Badge tone="wait">no such member yet</Badge>
  if (unread.length === 0)
    return (
      <Badge tone="ok" icon="check">
        read
      </Badge>
    )
  return (
    <Badge tone="idle" title={`Not read by ${unread.join(', ')}`}>
      {recipients.length === 1 ? 'delivered' : `read by ${recipients.length - unread.length} of ${recipients.length}`}
    </Badge>
  )
}

function PostForm({ team }: { readonly team: Team }) {
  const { api } = useRun()
  const [to, setTo] = useState('*')
  const [content, setContent] = useState('')
  const { busy, problem, send } = useSending(() => setContent(''))
  const roles = [...new Set(team.members.map(({ role }) => role))]
  return (
    <form
      className="run-post"
      onSubmit={(event) => {
        event.preventDefault()
        send(() => api.team.post({ team: team.activation, to, content }), 'The message is sent.')
      }}
    >
      <Select aria-label="To" value={to} onChange={({ target }) => setTo(target.value)}>
        <option value="*">everyone</option>
        {roles.map((role) => (
          <option key={role} value={`role:${role}`}>
            every {role}
          </option>
        ))}
        {team.members.filter(isAtWork).map(({ member }) => (
          <option key={member} value={member}>
            {member}
          </option>
        ))}
      </Select>
      <TextInput
        aria-label="Message"
        placeholder="Write to the team"
        value={content}
        onChange={({ target }) => setContent(target.value)}
      />
      <Button type="submit" icon="send" busy={busy} disabled={content.trim() === ''}>
        Send
      </Button>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
    </form>
  )
}

function Topics({ team }: { readonly team: Team }) {
  if (team.topics.length === 0) return null
  return (
    <Panel title="Topics" flush>
      <div className="table-scroll" role="region" aria-label="Topics of the team" tabIndex={0}>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">Topic</th>
              <th scope="col" className="num">
                Entries
              </th>
              <th scope="col">From</th>
              <th scope="col">For</th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {team.topics.map((topic) => (
              <tr key={topic.topic}>
                <td>
                  <VisibleText>{topic.topic}</VisibleText>
                </td>
                <td className="num">
                  {topic.entries}
                  {topic.refused > 0 && <span className="muted">, {topic.refused} refused</span>}
                </td>
                <td>
                  <VisibleText>{topic.producers.join(', ')}</VisibleText>
                </td>
                <td>
                  <VisibleText>{topic.consumers.join(', ')}</VisibleText>
                </td>
                <td>
                  {topic.lastAt === undefined ? <span className="muted">nothing yet</span> : <Time at={topic.lastAt} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

/** Budget, advice, deadlocks, failures of the memory: where there are any. */
function Asides({ team }: { readonly team: Team }) {
  const { advice, waits, memory, budget } = team
  const budgets = budgetsOf(budget.limits, budget.spent, budget.reserved)
  return (
    <>
      {budgets.length > 0 && (
        <Panel title="Budget of the team">
          <div className="stack">
            {budgets.map((each) => (
              <BudgetBar key={each.of} budget={each} />
            ))}
            {budget.unknown > 0 && (
              <p className="muted">{budget.unknown} calls of unknown usage count at their estimate.</p>
            )}
          </div>
        </Panel>
      )}
      {advice !== undefined && (
        <Notice>
          Advised from earlier cases:{' '}
          <b>
            <VisibleText>{advice.strategy}</VisibleText>
          </b>
          , {Math.round(advice.confidence * 100)}% sure{advice.overrides ? '; it replaced the planned strategy.' : '.'}
        </Notice>
      )}
      {waits.slice(-5).map((wait) => (
        <Notice tone="wait" key={wait.at}>
          <VisibleText>{wait.message}</VisibleText>, <Time at={wait.at} />
        </Notice>
      ))}
      {memory.slice(-3).map((each) => (
        <Notice tone="wait" key={each.at}>
          The memory could not be {each.wanted === 'recall' ? 'read' : 'written'}:{' '}
          <VisibleText>{each.failure.message}</VisibleText>
        </Notice>
      ))}
    </>
  )
}

/** A message: who sent it, and what it says. */
function messageText(row: JournalRow): string {
  const { event } = row
  if (event.type !== 'message.received') return entryLine(row)
  const { body, by, from } = event
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const sender = by ?? from
  return drawnLine(sender === undefined ? text : `${sender}: ${text}`)
}

/** A run without a planned team: who was recruited, and what agents wrote to each other. */
function WithoutPlan() {
  const { live, api, mayOperate } = useRun()
  const recruits = Object.values(live.activations).filter(({ recruited }) => recruited)
  const { data } = usePolled(
    (signal) => api.journal({ from: 0, limit: 500, family: 'message', signal }),
    live.head.position,
    api.id,
  )
  const rows = (data?.rows ?? []).filter(
    ({ event }) => event.type === 'message.received' || event.type === 'message.refused',
  )
  if (recruits.length === 0 && rows.length === 0 && hasEnded(live.head.status))
    return (
      <Empty icon="agents" title="No planned team">
        No agent of this run made a plan, recruited anybody, or wrote to another.
      </Empty>
    )
  return (
    <div className="stack run-scroll" role="region" aria-label="Team" tabIndex={0}>
      {recruits.length > 0 && (
        <Panel title="Recruits" flush>
          <ul className="run-list">
            {recruits.map((view) => (
              <RecruitRow key={view.activation} view={view} />
            ))}
          </ul>
        </Panel>
      )}
      <Panel title="Messages" flush>
        {mayOperate && !hasEnded(live.head.status) && <MessageForm />}
        {rows.length === 0 ? (
          <Empty icon="send" title="No messages yet">
            This run has no planned team. What its agents and you write to each other stands here.
          </Empty>
        ) : (
          <ol className="run-list run-mail">
            {rows.toReversed().map((row) => (
              <li key={row.index}>
                <div className="grow">
                  <div className="row">
                    <span className="muted">to</span>
                    <b>
                      <VisibleText>{row.agent}</VisibleText>
                    </b>
                    <span className="grow" />
                    {row.event.type === 'message.refused' && <Badge tone="bad">refused</Badge>}
                    <Time at={row.at} form="clock" />
                  </div>
                  <VisibleText>{messageText(row)}</VisibleText>
                </div>
              </li>
            ))}
          </ol>
        )}
      </Panel>
    </div>
  )
}

function RecruitRow({ view }: { readonly view: LiveActivation }) {
  return (
    <li>
      <div className="grow row wrap">
        <b>
          <VisibleText>{view.agent}</VisibleText>
        </b>
        <StatusBadge bare status={view.state} />
        <span className="muted">
          joined <Time at={view.startedAt} />, under <VisibleText>{view.path.slice(0, -1).join(' › ')}</VisibleText>
        </span>
      </div>
    </li>
  )
}

function MessageForm() {
  const { api, live } = useRun()
  const open = Object.values(live.activations).filter(({ endedAt }) => endedAt === undefined)
  const [to, setTo] = useState('')
  const [body, setBody] = useState('')
  const { busy, problem, send } = useSending(() => setBody(''))
  const chosen = to === '' ? open[0]?.activation : to
  return (
    <form
      className="run-post"
      onSubmit={(event) => {
        event.preventDefault()
        send(() => api.post(chosen ?? '', body), 'The message is sent.')
      }}
    >
      <Select aria-label="To" value={chosen ?? ''} onChange={({ target }) => setTo(target.value)}>
        {open.map(({ activation, path }) => (
          <option key={activation} value={activation}>
            {path.join(' › ')}
          </option>
        ))}
      </Select>
      <TextInput
        aria-label="Message"
        placeholder="Write to an agent"
        value={body}
        onChange={({ target }) => setBody(target.value)}
      />
      <Button type="submit" icon="send" busy={busy} disabled={body.trim() === ''}>
        Send
      </Button>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
    </form>
  )
}
