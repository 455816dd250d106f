/**
 * The projection of planned teams: their views out of their fold.
 *
 * Owns: what a task waits for now, how a pause, an open approval and the end of the team show in tasks and members.
 * Does not own: what facts change (team-fold.ts).
 * K1: a view says nothing that is not in the events before its position. Nothing is copied here: projection.ts
 * does that.
 */
import { isObject, type ActivationId, type Json, type MessageId } from '@reeve/core'
import type { MemberFold, TaskFold, TeamFold, TeamsFold } from './team-fold.ts'
import {
  shownAtMost,
  type MailboxView,
  type MailView,
  type MemberView,
  type TaskView,
  type TeamView,
  type TopicView,
} from './team-views.ts'
import type { ActivationView } from './views.ts'

/** What the views of teams need of the rest of the run. */
export interface TeamViewSources {
  /** By id. */
  readonly activations: ReadonlyMap<ActivationId, ActivationView>
  /** The activations that wait for a human, and those above them. */
  readonly awaiting: ReadonlySet<ActivationId>
  /** By leader: the tasks with an open approval. */
  readonly asked: ReadonlyMap<ActivationId, ReadonlySet<string>>
  readonly paused: boolean
  readonly bodyOf: (message: MessageId) => Json | undefined
}

/** The teams that have a plan, in the order in which they began. */
export function teamViews({ teams }: TeamsFold, around: TeamViewSources): readonly TeamView[] {
  return [...teams].flatMap(([id, team]) => {
    const leader = around.activations.get(id)
    return team.plan === undefined || leader === undefined ? [] : [teamView(team, team.plan, leader, around)]
  })
}

function teamView(
  team: TeamFold,
  plan: NonNullable<TeamFold['plan']>,
  leader: ActivationView,
  around: TeamViewSources,
): TeamView {
  const { activation, agent, path, state, startedAt, endedAt } = leader
  const topics = topicViews(team)
  const open = openTopics(team, topics)
  const tasks = inOrder(team).map((task) => taskView(team, task, open, leader, around))
  const planned = tasks.filter(({ recruit }) => recruit === undefined)
  const count = (status: TaskView['status']): number => planned.filter((each) => each.status === status).length
  return {
    activation,
    agent,
    path,
    state,
    startedAt,
    ...(endedAt === undefined ? undefined : { endedAt }),
    plan: {
      ...plan,
      failed: count('failed'),
      rejected: team.rejected,
      ...(team.aborted === undefined ? undefined : { aborted: team.aborted }),
      tasks,
    },
    coverage: { succeeded: count('succeeded'), planned: planned.length },
    members: [...team.members.values()].map((member) => memberView(member, leader, around.paused)),
    recruiting: [...team.recruitRequests.values()],
    mailbox: mailboxView(team, around.bodyOf),
    topics,
    budget: {
      ...team.budget,
      waiting: waitingForRoom(team, tasks),
      crossed: team.crossed,
      warned: newest(team.warned),
    },
    ...(team.advice === undefined ? undefined : { advice: team.advice }),
    memory: newest(team.memory),
    waits: newest(team.waits),
    ...(team.answer === undefined ? undefined : { answer: team.answer }),
  }
}

/** The tasks that still wait for room in the budget. */
const waitingForRoom = ({ short }: TeamFold, tasks: readonly TaskView[]): readonly string[] =>
  short.size === 0
    ? []
    : tasks.filter(({ task, status }) => status === 'pending' && short.has(task)).map(({ task }) => task)

const newest = <Each>(list: readonly Each[]): readonly Each[] => list.slice(-shownAtMost)

/** Tasks of the plan stand before the work of recruits, also those that were added later. */
const inOrder = ({ tasks }: TeamFold): readonly TaskFold[] => {
  const all = [...tasks.values()]
  return [...all.filter(({ recruit }) => recruit === undefined), ...all.filter(({ recruit }) => recruit !== undefined)]
}

/** A task that had not ended at the end of its team was cancelled with it. */
function taskView(
  team: TeamFold,
  task: TaskFold,
  open: ReadonlySet<string>,
  leader: ActivationView,
  around: TeamViewSources,
): TaskView {
  if (task.endedAt !== undefined) return { ...task, waitsFor: [] }
  if (leader.endedAt !== undefined) return { ...task, waitsFor: [], status: 'cancelled', endedAt: leader.endedAt }
  if (around.asked.get(leader.activation)?.has(task.task) === true)
    return { ...task, waitsFor: [], status: 'awaiting_approval' }
  if (task.status === 'running') {
    const waits = task.activation !== undefined && around.awaiting.has(task.activation)
    return { ...task, waitsFor: [], status: waits ? 'awaiting_approval' : 'running' }
  }
  const before = [...task.dependencies, ...task.joined].filter(
    (id) => team.tasks.get(id)?.endedAt === undefined && team.tasks.has(id),
  )
  const waitsFor = [...new Set([...before, ...task.consumes.filter((topic) => open.has(topic))])]
  return { ...task, waitsFor, status: waitsFor.length > 0 ? 'waiting' : 'pending' }
}

function memberView(member: MemberFold, { endedAt }: ActivationView, paused: boolean): MemberView {
  if (member.endedAt !== undefined) return member
  if (endedAt !== undefined) return { ...member, status: 'cancelled', endedAt }
  return paused && member.status === 'running' ? { ...member, status: 'paused' } : member
}

function topicViews({ tasks, topics }: TeamFold): readonly TopicView[] {
  const views = new Map<string, { producers: string[]; consumers: string[] }>()
  const at = (topic: string): { producers: string[]; consumers: string[] } => {
    const known = views.get(topic) ?? { producers: [], consumers: [] }
    views.set(topic, known)
    return known
  }
  for (const { task, produces, consumes } of tasks.values()) {
    for (const topic of produces) at(topic).producers.push(task)
    for (const topic of consumes) at(topic).consumers.push(task)
  }
  for (const topic of topics.keys()) at(topic)
  return [...views].map(([topic, { producers, consumers }]) => {
    const { entries = 0, bytes = 0, refused = 0, lastAt, by = [] } = topics.get(topic) ?? {}
    const last = lastAt === undefined ? undefined : { lastAt }
    return { topic, producers, consumers, entries, bytes, publishedBy: [...by], refused, ...last }
  })
}

/** Topics without an entry that an open task may still add to. */
function openTopics({ tasks }: TeamFold, topics: readonly TopicView[]): ReadonlySet<string> {
  const isOpen = ({ entries, producers }: TopicView): boolean =>
    entries === 0 && producers.some((each) => tasks.get(each)?.endedAt === undefined)
  return new Set(topics.filter(isOpen).map(({ topic }) => topic))
}

function mailboxView({ mail, unread, counts }: TeamFold, bodyOf: TeamViewSources['bodyOf']): MailboxView {
  const left = [...unread].filter(([, seqs]) => seqs.size > 0)
  const messages = [...mail.values()].map(({ mail: { content, ...each }, recipients, message }): MailView => {
    const unreadBy = recipients.filter((member) => unread.get(member)?.has(each.seq) === true)
    return {
      ...each,
      recipients,
      unread: unreadBy,
      content: content ?? contentOf(message === undefined ? undefined : bodyOf(message)),
    }
  })
  return { ...counts, unread: Object.fromEntries(left.map(([member, seqs]) => [member, seqs.size])), messages }
}

/** The content in an operator's message to the leader. */
function contentOf(body: Json | undefined): Json {
  const mail = isObject(body) ? body['mail'] : undefined
  return (isObject(mail) ? mail['content'] : undefined) ?? null
}
