/** Verbs of a team: its members, mail to them, messages to an agent at work. */
import type { ActivationId } from '@reeve/core'
import { present, ReeveError, runOf } from '@reeve/core'
import type { PostFromOutside, Recruited, RecruitFromOutside, Retired, RetireFromOutside, Run } from '@reeve/runtime'
import { operator } from '../access/door.ts'
import { amount, choice, flag, json, name, object, optional, text, view } from '../wire-schema.ts'
import type { MessageBody, Posted } from '../wire.ts'
import { verb } from './verb.ts'

type Estimate = NonNullable<RecruitFromOutside['estimate']>

const team = optional(name({ description: 'Its activation, or its agent. Default: the root, or the only team.' }))
const posted = object<Posted>('Posted', { result: choice(['accepted', 'closed', 'unknown']) })

export const teamVerbs = [
  verb('POST /runs/{run}/team/recruit', operator('run'), {
    summary: 'Ask a planned team for another member. 202: recorded, not decided yet.',
    input: object<Omit<RecruitFromOutside, 'by' | 'signal'>>('RecruitBody', {
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
    waits: true,
    run: (input, { run, by, signal }) => run.team.recruit({ ...input, by, signal }),
  }),
  verb('POST /runs/{run}/team/retire', operator('run'), {
    summary: 'Ask a planned team to let a member go. 202: recorded, not decided yet.',
    input: object<Omit<RetireFromOutside, 'by' | 'signal'>>('RetireBody', {
      member: name(),
      mode: optional(choice(['graceful', 'force'])),
      reassign: optional(flag()),
      reason: optional(text({ maxLength: 10_000 })),
      team,
    }),
    answer: view<Retired>('Retired', {}),
    waits: true,
    run: (input, { run, by, signal }) => run.team.retire({ ...input, by, signal }),
  }),
  verb('POST /runs/{run}/team/post', operator('run'), {
    summary:
      'Write to members of a planned team: a member, role:<name>, or *. 202: the team has not begun yet, nothing was sent.',
    input: object<Omit<PostFromOutside, 'by' | 'signal'>>('TeamPostBody', {
      to: name(),
      content: json(),
      kind: optional(name()),
      correlationId: optional(name()),
      id: optional(name({ description: 'Makes the post idempotent.' })),
      team,
    }),
    answer: posted,
    waits: true,
    run: async (input, { run, by, signal }) => ({ result: await run.team.post({ ...input, by, signal }) }),
  }),
  verb('POST /runs/{run}/messages', operator('run'), {
    summary: 'Send a message to an agent at work.',
    input: object<MessageBody>('MessageBody', {
      to: name<ActivationId>({ description: 'Its activation.' }),
      message: json(),
      id: optional(name({ description: 'Makes the message idempotent.' })),
    }),
    answer: posted,
    async run({ to, message, id }, { run, by }) {
      if (!to.startsWith('act_') || !isOf(run, to))
        throw new ReeveError('input.invalid', `${JSON.stringify(to)} is no activation of the run`, {
          hint: 'GET /api/runs/{run} lists its activations. Nothing was sent.',
        })
      return { result: await run.post(to, message, present({ id, by })) }
    },
  }),
] as const

/** Whether an activation belongs to this run, or to a child run of it. */
const isOf = ({ id }: Run, to: ActivationId): boolean => runOf(to) === id || runOf(to).startsWith(`${id}>`)
