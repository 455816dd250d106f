/** Routes of a team: its members, mail to them, messages to an agent at work. */
import type { ActivationId } from '@reeve/core'
import { present, ReeveError, runOf } from '@reeve/core'
import type { PostFromOutside, RecruitFromOutside, RetireFromOutside, Run } from '@reeve/runtime'
import { ownRun, route, type Route } from '../route.ts'
import { amount, choice, flag, json, name, object, optional, text, view } from '../wire-schema.ts'
import { carriedOut } from '../command-wait.ts'

type Recruited = Awaited<ReturnType<Run['team']['recruit']>>
type Retired = Awaited<ReturnType<Run['team']['retire']>>
type Estimate = NonNullable<RecruitFromOutside['estimate']>

/** The body of `POST /runs/{run}/messages`. */
interface MessageBody {
  readonly to: ActivationId
  readonly message: NonNullable<Parameters<Run['post']>[1]>
  readonly id?: string
}

/** What became of a message. */
interface Posted {
  readonly result: 'accepted' | 'closed' | 'unknown'
}

const team = optional(name({ description: 'Its activation, or its agent. Default: the root, or the only team.' }))
const posted = object<Posted>('Posted', { result: choice(['accepted', 'closed', 'unknown']) })

export const teamRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/runs/{run}/team/recruit',
    summary: 'Ask a planned team for another member. 202: recorded, not decided yet.',
    body: object<Omit<RecruitFromOutside, 'by' | 'signal'>>('RecruitBody', {
      description: text({ maxLength: 10_000, minLength: 1 }),
      role: optional(name()),
      requestId: optional(name({ description: 'Makes the request idempotent.' })),
      parentTask: optional(name()),
      join: optional(choice(['parent', 'run', 'none'])),
      estimate: optional(
        object<Estimate>('RecruitEstimate', {
          tokens: optional(amount({ minimum: 0 })),
          usd: optional(amount({ minimum: 0 })),
        }),
      ),
      team,
    }),
    answer: view<Recruited>('Recruited', {}),
    statuses: [202],
    async handle(context, { path, body }) {
      const run = await ownRun(context, path.run)
      const by = context.principal.name
      return carriedOut(context, (signal) => run.team.recruit({ ...body, by, signal }))
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/team/retire',
    summary: 'Ask a planned team to let a member go. 202: recorded, not decided yet.',
    body: object<Omit<RetireFromOutside, 'by' | 'signal'>>('RetireBody', {
      member: name(),
      mode: optional(choice(['graceful', 'force'])),
      reassign: optional(flag()),
      reason: optional(text({ maxLength: 10_000 })),
      team,
    }),
    answer: view<Retired>('Retired', {}),
    statuses: [202],
    async handle(context, { path, body }) {
      const run = await ownRun(context, path.run)
      const by = context.principal.name
      return carriedOut(context, (signal) => run.team.retire({ ...body, by, signal }))
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/team/post',
    summary:
      'Write to members of a planned team: a member, role:<name>, or *. 202: the team has not begun yet, nothing was sent.',
    body: object<Omit<PostFromOutside, 'by' | 'signal'>>('TeamPostBody', {
      to: name(),
      content: json(),
      kind: optional(name()),
      correlationId: optional(name()),
      id: optional(name({ description: 'Makes the post idempotent.' })),
      team,
    }),
    answer: posted,
    statuses: [202],
    async handle(context, { path, body }) {
      const run = await ownRun(context, path.run)
      const by = context.principal.name
      return carriedOut(context, async (signal) => ({ result: await run.team.post({ ...body, by, signal }) }))
    },
  }),
  route({
    method: 'POST',
    path: '/runs/{run}/messages',
    summary: 'Send a message to an agent at work.',
    body: object<MessageBody>('MessageBody', {
      to: name<ActivationId>({ description: 'Its activation.' }),
      message: json(),
      id: optional(name({ description: 'Makes the message idempotent.' })),
    }),
    answer: posted,
    async handle(context, { path, body: { to, message, id } }) {
      const run = await ownRun(context, path.run)
      if (!to.startsWith('act_') || !isOf(run, to))
        throw new ReeveError('input.invalid', `${JSON.stringify(to)} is no activation of the run`, {
          hint: 'GET /api/runs/{run} lists its activations. Nothing was sent.',
        })
      return { result: await run.post(to, message, present({ id, by: context.principal.name })) }
    },
  }),
]

/** Whether an activation belongs to this run, or to a child run of it. */
const isOf = ({ id }: Run, to: ActivationId): boolean => runOf(to) === id || runOf(to).startsWith(`${id}>`)
