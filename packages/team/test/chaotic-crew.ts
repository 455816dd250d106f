/**
 * Teams that mail, wait, recruit, retire and publish at random, by seed; and everything that must be true of the
 * journal and the view of any of them.
 */
import { agent, sleep, teammate, type Agent, type Teammate } from '@reeve/agent'
import { FailureError, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Recorded, TeamView } from '@reeve/journal'
import { dice } from '../../../test/dice.ts'
import { team, type LeadRequest, type MailboxOptions, type Subtask, type TeamOptions } from '../src/index.ts'

const seedOf = (text: string): number =>
  [...text].reduce((sum, sign) => (Math.imul(sum, 31) + sign.codePointAt(0)!) >>> 0, 7)

const roles = ['analyst', 'writer', 'Ärztin', 'nobody knows']
const people = [
  'analyst_1',
  'writer_1',
  'analyst_2',
  'dynamic_analyst_1',
  'dynamic_writer_1',
  'ghost_1',
  'operator',
  'lead',
]
const topics = ['news', 'other']

/** What a member was given to read. */
export interface Seen {
  readonly member: string
  readonly attempt: number
  readonly seqs: readonly number[]
}

/** Does some things at random: the same ones for the same seed, member and attempt. */
function chaotic(seed: number, seen: Seen[]): Agent {
  const pick = <T>(roll: () => number, list: readonly T[]): T => list[Math.floor(roll() * list.length)]!
  const anybody = (roll: () => number): string =>
    roll() < 0.6 ? pick(roll, people) : roll() < 0.5 ? `role: ${pick(roll, roles)} ` : '*'
  async function deed(
    ctx: Context,
    me: Teammate,
    roll: () => number,
    read: (mail: readonly { readonly seq: number }[]) => void,
  ): Promise<void> {
    const which = Math.floor(roll() * 14)
    switch (which) {
      case 0:
      case 1:
        return sleep(ctx, Math.floor(roll() * 5) * 1_000)
      case 2:
        for (let i = 0; i < Math.floor(roll() * 12); i++) me.post({ to: anybody(roll), content: `${me.member} ${i}` })
        return
      case 3:
      case 4:
        return void (await me.send({ to: anybody(roll), content: 'x', kind: 'info' }))
      case 5:
        return read(await me.inbox())
      case 6:
        return read(await me.nextMail({ withinMs: Math.floor(roll() * 4) * 1_000 }))
      case 7:
        return read(await me.nextMail({ from: pick(roll, people), withinMs: 2_000 }))
      case 8:
        try {
          return read(
            await me.nextMail(
              roll() < 0.5
                ? {
                    from: pick(
                      roll,
                      people.filter((each) => each !== 'operator'),
                    ),
                  }
                : {},
            ),
          )
        } catch (thrown) {
          if (thrown instanceof FailureError && thrown.failure.code === 'team.deadlock') return
          throw thrown
        }
      case 9:
        return void (await me.recruit({
          description: pick(roll, ['help', 'more help', ' HELP ', '']),
          role: pick(roll, roles),
          join: pick(roll, ['parent', 'run', 'none'] as const),
          ...(roll() < 0.3 ? { requestId: pick(roll, ['r1', 'r2']) } : undefined),
        }))
      case 10:
        return void (await me.retire({
          member: pick(roll, people),
          mode: pick(roll, ['graceful', 'force'] as const),
          reassign: roll() < 0.7,
        }))
      case 11:
        return void (await me.publish(pick(roll, topics), roll()))
      case 12:
        return void (await me.team(roll() < 0.5 ? pick(roll, roles) : undefined))
      default:
        return void (await Promise.all([
          me.entries(pick(roll, topics)),
          me.send({ to: anybody(roll), content: 'at once' }),
          teammate(ctx.scope('aside')).nextMail({ withinMs: 1_000 }).then(read),
        ]))
    }
  }
  return agent({
    name: 'chaotic',
    description: 'Does anything.',
    run: async (ctx: Context): Promise<Json> => {
      const me = teammate(ctx)
      const roll = dice(seedOf(`${seed} ${me.member} ${me.attempt}`))
      const seqs: number[] = []
      const read = (mail: readonly { readonly seq: number }[]): void => void seqs.push(...mail.map(({ seq }) => seq))
      const deeds = 2 + Math.floor(roll() * 8)
      for (let i = 0; i < deeds; i++) await deed(ctx.scope(`deed ${i}`), teammate(ctx.scope(`deed ${i}`)), roll, read)
      seen.push({ member: me.member, attempt: me.attempt, seqs })
      const end = roll()
      if (end < 0.1) throw new Error('it broke')
      return end < 0.2 ? { success: false, error: 'it did not work' } : { said: me.member, read: seqs }
    },
  })
}

/** A team by seed. `seen`: where its members note what they were given to read. */
export function chaoticCrew(
  seed: number,
  seen: Seen[],
): { readonly root: Agent; readonly options: TeamOptions<string> } {
  const roll = dice(seed * 7_919 + 1)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)]!
  const subtasks = Array.from({ length: 1 + Math.floor(roll() * 6) }, (_, i): Subtask => {
    const dependencies = Array.from({ length: i }, (_each, before) => `t${before}`).filter(() => roll() < 0.2)
    return {
      id: `t${i}`,
      description: `task ${i}`,
      role: pick(roles.slice(0, 3)),
      dependencies,
      ...(roll() < 0.3 ? { produces: [topics[i % 2]!] } : undefined),
      ...(roll() < 0.1 ? { critical: true } : undefined),
    }
  })
  const mailbox: MailboxOptions = {
    maxMessages: pick([1, 2, 5, 10, 1_000]),
    maxPerRecipient: pick([1, 2, 3, 200]),
    overflow: pick(['keep-newest-half', 'drop-oldest', 'drop-newest'] as const),
    quota: pick([0, 0, 0, 5]),
    maxExchanges: pick([0, 3, 100]),
    ...(roll() < 0.3 ? { policy: ({ actor }) => (actor === 'writer_1' ? 'deny' : 'allow') } : undefined),
  }
  const orders: readonly (readonly LeadRequest[])[] = [
    [],
    [{ post: { to: '*', content: 'go on' } }],
    [{ retire: { member: 'analyst_1', mode: 'force' } }],
    [{ recruit: { description: `led ${seed}`, role: 'analyst' } }],
  ]
  const options: TeamOptions<string> = {
    name: 'crew',
    roles: { generalist: chaotic(seed, seen) },
    planner: { subtasks },
    concurrency: pick([1, 2, 5]),
    maxTeamSize: pick([1, 5, 8, 10]),
    mailbox,
    retry: pick([{ backoffMs: 0 }, { attempts: 2, backoffMs: 1_000, jitter: false }]),
    tolerance: pick([0, 50, 100]),
    recruit: {
      counts: pick(['ever', 'active'] as const),
      ...(roll() < 0.3 ? { policy: ({ role }) => (role === 'writer' ? 'deny' : 'allow') } : undefined),
    },
    ...(roll() < 0.4 ? { lead: ({ tasks }) => orders[tasks.length % 4] } : undefined),
  }
  return { root: team(options), options }
}

/** Everything that is wrong with what happened. */
export function faults(
  events: readonly Recorded[],
  view: TeamView,
  seen: readonly Seen[] | undefined,
  { maxTeamSize = 10, recruit, mailbox = {} }: TeamOptions<string>,
): string[] {
  const wrong: string[] = []
  const ends = new Map<string, string>()
  const decided = new Map<string, number>()
  const requested = new Map<string, number>()
  const delivered = new Map<string, Set<number>>()
  const inboxes = new Map<string, Set<number>>()
  const known = new Set<string>()
  const seqs: number[] = []
  let size = 0
  let here = 0
  let terminal = 0
  const inboxOf = (member: string): Set<number> => inboxes.get(member) ?? inboxes.set(member, new Set()).get(member)!
  for (const { event, activation } of events) {
    switch (event.type) {
      case 'teammate.joined':
        if (known.has(event.member)) wrong.push(`${event.member} joins twice`)
        known.add(event.member)
        size++
        here++
        break
      case 'recruit.requested':
        requested.set(event.request, (requested.get(event.request) ?? 0) + 1)
        break
      case 'recruit.decided': {
        if (event.reason === 'invalid') {
          requested.set(event.request, requested.get(event.request)! - 1) // may be said anew
          break
        }
        decided.set(event.request, (decided.get(event.request) ?? 0) + 1)
        if (event.admitted && event.duplicate !== true && recruit?.counts !== 'active' && size >= maxTeamSize)
          wrong.push(`${event.member} is one too many: ${size}`)
        break
      }
      case 'task.settled':
        if (ends.has(event.task)) wrong.push(`${event.task} ends twice`)
        ends.set(event.task, event.status)
        break
      case 'task.started':
        if (ends.has(event.task)) wrong.push(`${event.task} begins after its end`)
        break
      case 'mail.accepted':
        seqs.push(event.seq)
        for (const member of event.recipients) {
          if (!known.has(member)) wrong.push(`mail ${event.seq} to ${member}, who has not joined`)
          inboxOf(member).add(event.seq)
        }
        if (event.to.trim() === '*' && event.recipients.includes(event.from)) wrong.push(`mail ${event.seq} came back`)
        break
      case 'mail.forwarded':
        for (const seq of event.seqs) inboxOf(event.member).add(seq)
        break
      case 'mail.truncated':
        for (const [member, inbox] of inboxes)
          if (event.member === undefined || event.member === member)
            for (const seq of inbox) if (seq < (event.from ?? Infinity)) inbox.delete(seq)
        break
      case 'mail.delivered': {
        const before = delivered.get(event.member) ?? new Set<number>()
        delivered.set(event.member, before)
        if (event.seqs.toSorted((one, other) => one - other).join() !== event.seqs.join())
          wrong.push(`${event.member} reads ${event.seqs.join()} out of order`)
        for (const seq of event.seqs) {
          if (before.has(seq)) wrong.push(`${event.member} reads ${seq} twice`)
          if (!inboxOf(event.member).delete(seq)) wrong.push(`${event.member} reads ${seq}, which is not in its inbox`)
          before.add(seq)
        }
        break
      }
      case 'mail.unread':
        if ([...inboxOf(event.member)].join() !== event.seqs.join())
          wrong.push(`${event.member} leaves ${event.seqs.join()}, has ${[...inboxOf(event.member)].join()}`)
        break
      case 'activation.settled':
        if (!activation.includes('>')) terminal++
        break
      default:
    }
    const most = mailbox.maxPerRecipient ?? 200
    if (event.type === 'mail.accepted' || event.type === 'mail.forwarded' || event.type === 'mail.truncated') continue // what is too much is given up next
    for (const [member, inbox] of inboxes) if (inbox.size > most) wrong.push(`${member} has ${inbox.size} unread`)
  }
  if (terminal !== 1) wrong.push(`${terminal} ends`)
  if (seqs.some((seq, i) => seq !== i + 1)) wrong.push(`numbers ${seqs.join()}`)
  for (const [request, times] of requested) {
    if (times > 1) wrong.push(`${request} was asked ${times} times`)
    if ((decided.get(request) ?? 0) !== times) wrong.push(`${request} was decided ${decided.get(request) ?? 0} times`)
  }
  for (const { member, seqs: own } of seen ?? [])
    for (const seq of own)
      if (delivered.get(member)?.has(seq) !== true) wrong.push(`${member} got ${seq}, which was not delivered`)
  for (const member of known) {
    const got = (seen ?? []).filter((each) => each.member === member).flatMap((each) => each.seqs)
    if (new Set(got).size !== got.length) wrong.push(`${member} got mail twice: ${got.join()}`)
  }
  for (const { member, status } of view.members)
    if (['pending', 'running', 'paused'].includes(status)) wrong.push(`${member} is ${status} after the end`)
  for (const { task, status } of view.plan.tasks)
    if (['pending', 'waiting', 'awaiting_approval', 'running'].includes(status))
      wrong.push(`${task} is ${status} after the end`)
  if (view.mailbox.accepted !== seqs.length) wrong.push(`the view has ${view.mailbox.accepted} of ${seqs.length}`)
  for (const [member, inbox] of inboxes)
    if (inbox.size !== (view.mailbox.unread[member] ?? 0))
      wrong.push(`the view says ${member} has ${view.mailbox.unread[member] ?? 0}, not ${inbox.size}`)
  if (here !== size) wrong.push('lost count')
  return wrong
}
