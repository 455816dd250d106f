/**
 * The fold of planned teams: takes the facts of each in, and keeps what their views need (K1).
 *
 * Owns: what each fact changes. Does not own: the rest of a run (fold.ts), its views
 * (team-projection.ts).
 * Holds: K1: the same facts give the same fold. A task and a member end once. Unbounded lists, mail above all, are kept
 * up to a bound, so a fold grows with its plan and not with its mail.
 */
import { present, type ActivationId, type Draft, type MessageId, type TaskStatus } from '@reeve/core'
import type { Recorded } from '../events/events.ts'
import type { FactEvent } from '../events/facts.ts'
import type { MailAccepted } from '../events/mail-facts.ts'
import type {
  PlanCreated,
  PlanEdited,
  PlannedTask,
  TaskSettled,
  TeamFactEvent,
  TeammateJoined,
  TeammateRetired,
} from '../events/team-facts.ts'
import {
  shownAtMost,
  type MailboxView,
  type MemberStatus,
  type MemberView,
  type RecruitRequestView,
  type TaskView,
  type TeamView,
} from './team-views.ts'

/** @internal A task while it is folded: the projection derives `waiting` and `awaiting_approval`. */
export interface TaskFold extends Draft<Omit<TaskView, 'joined' | 'waitsFor' | 'status'>> {
  readonly joined: string[]
  status: Exclude<TaskStatus, 'waiting' | 'awaiting_approval'>
}
/** @internal A member while it is folded: the projection derives `paused`. */
export type MemberFold = Draft<Omit<MemberView, 'status'>> & { status: Exclude<MemberStatus, 'paused'> }
/** @internal Mail that is kept. The message that brought it has its content. */
export interface MailFold {
  readonly mail: Omit<MailAccepted, 'type' | 'op' | 'address' | 'recipients' | 'message'> & { readonly at: number }
  readonly recipients: string[]
  readonly message: MessageId | undefined
}

/** @internal A team while it is folded. It has a view once it has a plan. */
export interface TeamFold {
  plan: Omit<PlanCreated, 'type' | 'op' | 'address' | 'tasks'> | undefined
  readonly rejected: Draft<TeamView['plan']['rejected'][number]>[]
  aborted: TeamView['plan']['aborted']
  readonly tasks: Map<string, TaskFold>
  /** Tasks that another member had before. */
  readonly reassigned: Set<string>
  readonly members: Map<string, MemberFold>
  readonly recruitRequests: Map<string, Draft<RecruitRequestView>>
  readonly mail: Map<number, MailFold>
  /** The unread messages of each member, in the order of their numbers. */
  readonly unread: Map<string, Set<number>>
  readonly counts: { accepted: number; dropped: number; readonly refused: Draft<MailboxView['refused']> }
  readonly topics: Map<
    string,
    { entries: number; bytes: number; refused: number; lastAt: number | undefined; readonly by: Set<string> }
  >
  budget: Omit<TeamView['budget'], 'waiting' | 'crossed' | 'warned'>
  /** Tasks that wait for room in the budget. */
  readonly short: Set<string>
  readonly crossed: TeamView['budget']['crossed'][number][]
  readonly warned: TeamView['budget']['warned'][number][]
  advice: TeamView['advice']
  readonly memory: TeamView['memory'][number][]
  readonly waits: TeamView['waits'][number][]
  answer: TeamView['answer']
}

/** The teams of a run, and the task that each activation works on. */
export interface TeamsFold {
  readonly teams: Map<ActivationId, TeamFold>
  readonly assigned: Map<ActivationId, { readonly task: string; readonly member: string; readonly recruited: boolean }>
}

/** The fold of no facts. */
export const newTeamsFold = (): TeamsFold => ({ teams: new Map(), assigned: new Map() })

/** Takes a fact in, if it is one of a planned team. */
export function foldTeamFact(fold: TeamsFold, { activation, at }: Recorded, event: FactEvent): void {
  if (!isTeamFact(event)) return
  let team = fold.teams.get(activation)
  if (team === undefined) fold.teams.set(activation, (team = newTeam()))
  const take = takes[event.type] as (team: TeamFold, event: TeamFactEvent, at: number) => void
  take(team, event, at)
  if (event.type !== 'task.started') return
  const { task, member } = event
  fold.assigned.set(event.activation, { task, member, recruited: team.tasks.get(task)?.recruit !== undefined })
}

const isTeamFact = (event: FactEvent): event is TeamFactEvent => Object.hasOwn(takes, event.type)

const newTeam = (): TeamFold => ({
  plan: undefined,
  rejected: [],
  aborted: undefined,
  tasks: new Map(),
  reassigned: new Set(),
  members: new Map(),
  recruitRequests: new Map(),
  mail: new Map(),
  unread: new Map(),
  counts: { accepted: 0, dropped: 0, refused: {} },
  topics: new Map(),
  budget: { limits: {}, spent: { tokens: 0, usd: 0 }, reserved: { tokens: 0, usd: 0 }, unknown: 0 },
  short: new Set(),
  crossed: [],
  warned: [],
  advice: undefined,
  memory: [],
  waits: [],
  answer: undefined,
})

type Takes = {
  readonly [Type in TeamFactEvent['type']]: (
    team: TeamFold,
    event: Extract<TeamFactEvent, { readonly type: Type }>,
    at: number,
  ) => void
}

const takes: Takes = {
  'plan.created'(team, { tasks, ...plan }) {
    team.plan = noted(plan)
    for (const each of tasks) addTask(team, each)
  },
  'plan.rejected': (team, event, at) => void team.rejected.push(notedAt(event, at)),
  'plan.revised'(team, { added }) {
    for (const each of added) addTask(team, each)
  },
  'plan.edited': editPlan,
  'plan.edit-refused': () => {},
  'task.reopened'(team, { task: id }) {
    const task = team.tasks.get(id)
    if (task === undefined) return
    task.status = 'pending'
    delete task.endedAt
    const who = team.members.get(task.member)
    if (who === undefined || who.status === 'retired') return
    who.status = 'pending'
    delete who.endedAt
  },
  'plan.aborted': (team, event, at) => void (team.aborted = notedAt(event, at)),
  'task.unblocked': () => {},
  'task.started'(team, { task: id, member, attempt, activation }, at) {
    team.short.delete(id)
    const task = openTask(team, id)
    if (task !== undefined) {
      Object.assign(task, { status: 'running', member, activation, attempts: Math.max(task.attempts, attempt) })
      task.startedAt ??= at
    }
    const who = openMember(team, member)
    if (who === undefined) return
    who.status = 'running'
    who.startedAt ??= at
    who.attempts++
  },
  'task.retried'(team, { task: id, failure }) {
    const task = openTask(team, id)
    if (task === undefined) return
    Object.assign(task, { status: 'pending', failure })
    const who = openMember(team, task.member)
    if (who !== undefined) Object.assign(who, { status: 'pending', lastError: failure })
  },
  'task.reassigned'(team, { task: id, from, to }, at) {
    team.reassigned.add(id)
    const task = openTask(team, id)
    if (task !== undefined) Object.assign(task, { status: 'pending', member: to })
    endMember(team, from, 'retired', at)
  },
  'task.settled': settle,
  'teammate.joined': join,
  'teammate.retired': retire,
  'recruit.requested'(team, event, at) {
    team.recruitRequests.set(event.request, notedAt(event, at))
    if (team.recruitRequests.size > shownAtMost) forgetARefusal(team)
  },
  'recruit.decided'(team, event) {
    const request = team.recruitRequests.get(event.request)
    if (request === undefined) return
    Object.assign(request, noted(event))
    describe(team, event.member)
  },
  'retire.refused': () => {},
  'mail.accepted': acceptMail,
  'mail.refused': ({ counts: { refused } }, { reason }) => void (refused[reason] = (refused[reason] ?? 0) + 1),
  'mail.truncated'(team, { member, from = Infinity, total }) {
    team.counts.dropped = total
    if (member === undefined) dropBelow(team.mail.keys(), from, (seq) => team.mail.delete(seq))
    for (const [name, seqs] of team.unread)
      if (member === undefined || name === member) dropBelow(seqs, from, (seq) => seqs.delete(seq))
  },
  'mail.forwarded'(team, { member, seqs }) {
    for (const seq of seqs) {
      inboxOf(team, member).add(seq)
      team.mail.get(seq)?.recipients.push(member)
    }
  },
  'mail.delivered'(team, { member, seqs }) {
    for (const seq of seqs) team.unread.get(member)?.delete(seq)
  },
  // it stays unread
  'mail.unread': () => {},
  'topic.published'(team, { topic, task, bytes }, at) {
    const here = topicOf(team, topic)
    here.entries++
    here.bytes += bytes
    here.lastAt = at
    here.by.add(task)
  },
  'topic.refused': (team, { topic }) => void topicOf(team, topic).refused++,
  'budget.set': (team, { limits, mode }) => void (team.budget = { ...team.budget, limits, mode }),
  'budget.moved'(team, { task, move, spent, reserved, unknown = 0 }) {
    team.budget = { ...team.budget, spent, reserved, unknown }
    if (move === 'waiting') team.short.add(task)
  },
  'budget.crossed': (team, event, at) => void team.crossed.push(notedAt(event, at)),
  'budget.warned': (team, event, at) => keep(team.warned, notedAt(event, at)),
  'strategy.advised': (team, event, at) => void (team.advice = notedAt(event, at)),
  'memory.unavailable': (team, event, at) => keep(team.memory, notedAt(event, at)),
  'results.synthesised': (team, event, at) => void (team.answer = notedAt(event, at)),
  'deadlock.found': (team, event, at) => keep(team.waits, notedAt(event, at)),
}

/** A fact without its place in a log. */
function noted<Event extends { readonly op: string; readonly address: string; readonly type: string }>(
  event: Event,
): Omit<Event, 'type' | 'op' | 'address'> {
  const { type: _type, op: _op, address: _address, ...rest } = event
  return rest
}
const notedAt = <Event extends TeamFactEvent>(
  event: Event,
  at: number,
): Omit<Event, 'type' | 'op' | 'address'> & { at: number } => ({
  ...noted(event),
  at,
})

/** Adds to an unbounded list. It may be twice as long as what is shown of it. */
function keep<Each>(list: Each[], each: Each): void {
  list.push(each)
  if (list.length >= 2 * shownAtMost) list.splice(0, list.length - shownAtMost)
}

/** Numbers come in their order: the first that stays ends it. */
function dropBelow(seqs: Iterable<number>, from: number, drop: (seq: number) => void): void {
  for (const seq of seqs) {
    if (seq >= from) return
    drop(seq)
  }
}

/** Only tasks that have not begun are replaced or removed. */
function editPlan(
  team: TeamFold,
  { added, replaced, removed, maxFailures, concurrency }: PlanEdited,
  at: number,
): void {
  for (const id of removed) team.tasks.delete(id)
  for (const { produces = [], consumes = [], critical, ...task } of replaced) {
    const known = team.tasks.get(task.task)
    if (known === undefined) continue
    if (known.member !== task.member) endMember(team, known.member, 'cancelled', at)
    Object.assign(known, { ...task, produces, consumes, critical: critical === true })
  }
  for (const each of added) addTask(team, each)
  if (team.plan !== undefined) team.plan = { ...team.plan, ...present({ maxFailures, concurrency }) }
}

function addTask(
  team: TeamFold,
  { produces = [], consumes = [], critical, ...task }: PlannedTask,
  recruit?: TaskView['recruit'],
): void {
  if (team.tasks.has(task.task)) return
  const fresh = { joined: [], missing: [], usage: [], attempts: 0, status: 'pending' as const }
  const asked = recruit === undefined ? undefined : { recruit }
  team.tasks.set(task.task, { ...task, produces, consumes, critical: critical === true, ...fresh, ...asked })
}

/** A task that has not ended. */
function openTask(team: TeamFold, id: string): TaskFold | undefined {
  const task = team.tasks.get(id)
  return task?.endedAt === undefined ? task : undefined
}

/** A member that has not ended. */
function openMember(team: TeamFold, name: string): MemberFold | undefined {
  const member = team.members.get(name)
  return member?.endedAt === undefined ? member : undefined
}

function endMember(team: TeamFold, name: string, status: MemberFold['status'], at: number): void {
  const member = openMember(team, name)
  if (member !== undefined) Object.assign(member, { status, endedAt: at })
}

const memberEnds = { succeeded: 'completed', failed: 'failed', skipped: 'skipped', cancelled: 'cancelled' } as const

function settle(team: TeamFold, event: TaskSettled, at: number): void {
  const { task: id, member, status, attempts, failure, reason, missing = [], usage = [], by, output } = event
  const task = openTask(team, id)
  if (task !== undefined) {
    Object.assign(task, { member, status, attempts, missing, usage, endedAt: at })
    if (failure !== undefined) task.failure = failure
    if (reason !== undefined) task.reason = reason
    if (by !== undefined) task.by = by
    if (output !== undefined) task.output = output
  }
  const who = openMember(team, member)
  if (who === undefined) return
  if (failure !== undefined) who.lastError = failure
  // attempts of its steps count, too; those of members that had the task before do not
  if (!team.reassigned.has(id)) who.attempts = Math.max(who.attempts, attempts)
  endMember(team, member, who.retirement === undefined ? memberEnds[status] : 'retired', at)
}

function join(team: TeamFold, event: TeammateJoined, at: number): void {
  const { member, role, resolved, task, recruited = false, by, parent, join: waits } = event
  team.members.set(member, {
    member,
    role,
    task,
    recruited,
    joinedAt: at,
    attempts: 0,
    status: 'pending',
    ...(resolved === undefined ? undefined : { resolved }),
    ...(by === undefined ? undefined : { requestedBy: by }),
  })
  if (!recruited || team.tasks.has(task)) return
  const recruit = { by: by ?? 'lead', join: waits ?? 'run', ...(parent === undefined ? undefined : { parent }) }
  addTask(team, { task, member, role, description: '', dependencies: [] }, recruit)
  describe(team, member)
  if (waits !== 'parent' || parent === undefined) return
  for (const each of team.tasks.values()) {
    const isAfter = each.dependencies.includes(parent) || each.joined.includes(parent)
    if (isAfter && each.startedAt === undefined && each.endedAt === undefined) each.joined.push(task)
  }
}

/** The work of a recruit is what was requested. */
function describe(team: TeamFold, member: string | undefined): void {
  const task = member === undefined ? undefined : team.tasks.get(team.members.get(member)?.task ?? '')
  if (task?.recruit === undefined || task.description !== '') return
  for (const request of team.recruitRequests.values())
    if (request.member === member && request.duplicate !== true) task.description = request.description
}

function retire(team: TeamFold, event: TeammateRetired, at: number): void {
  const who = openMember(team, event.member)
  if (who === undefined) return
  const { member: _member, ...retirement } = notedAt(event, at)
  who.retirement = retirement
  // between two attempts it still has its task
  if (event.mode === 'force' || who.startedAt === undefined) endMember(team, event.member, 'retired', at)
}

/** Forgets the oldest refused request; one that was admitted is never forgotten. */
function forgetARefusal({ recruitRequests: requests }: TeamFold): void {
  for (const [request, { admitted }] of requests)
    if (admitted === false) {
      requests.delete(request)
      return
    }
}

function acceptMail(team: TeamFold, event: MailAccepted, at: number): void {
  const { recipients, message, ...mail } = notedAt(event, at)
  team.counts.accepted++
  team.mail.set(mail.seq, { mail, recipients: [...recipients], message })
  for (const member of recipients) inboxOf(team, member).add(mail.seq)
  if (team.mail.size <= shownAtMost) return
  for (const oldest of team.mail.keys()) {
    team.mail.delete(oldest)
    return
  }
}

function inboxOf({ unread }: TeamFold, member: string): Set<number> {
  const inbox = unread.get(member) ?? new Set()
  unread.set(member, inbox)
  return inbox
}

function topicOf({ topics }: TeamFold, topic: string): Exclude<ReturnType<TeamFold['topics']['get']>, undefined> {
  const known = topics.get(topic)
  if (known !== undefined) return known
  const fresh = { entries: 0, bytes: 0, refused: 0, lastAt: undefined, by: new Set<string>() }
  topics.set(topic, fresh)
  return fresh
}
