/**
 * Mail at its edges, second by second: what spec team 1.7 says word by word, and what is between the words.
 * Embedded engine only.
 */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type Mail, type Sent } from '@reeve/agent'
import { FailureError, type Json } from '@reeve/core'
import type { MailboxOptions, Subtask } from '../src/index.ts'
import { members as analysts, of, outputOf } from './members.ts'
import { played, staged } from './trace.ts'

const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, role: id, ...more })
const members: typeof analysts = (doings, mailbox, more, tasks) =>
  analysts(doings, mailbox, { name: 'crew', ...more }, tasks)
const json = (value: unknown): Json => value as Json
const contents = (mail: readonly Mail[]): Json => mail.map(({ content }) => content)
const deadlock = (thrown: unknown): string => (thrown instanceof FailureError ? thrown.failure.code : String(thrown))

describe('what is taken', () => {
  test('team C26: the view says the same: messages 7 to 11, six dropped; five more, and ten are there', async () => {
    const stage = await staged(
      members(
        {
          a: async (ctx) => {
            for (let i = 1; i <= 11; i++) await teammate(ctx).send({ to: 'b_1', content: i })
            await sleep(ctx, 1_000)
            for (let i = 12; i <= 16; i++) await teammate(ctx).send({ to: 'b_1', content: i })
            return 'sent'
          },
          b: 5,
        },
        { maxMessages: 10 },
      ),
    )
    const mailbox = async (): Promise<object> => {
      const view = (await stage.run.view()).teams[0]!.mailbox
      return { dropped: view.dropped, unread: view.unread, seqs: view.messages.map(({ seq }) => seq) }
    }
    await stage.rests()
    expect(await mailbox()).toEqual({ dropped: 6, unread: { b_1: 5 }, seqs: [7, 8, 9, 10, 11] })
    await stage.until(2)
    expect(await mailbox()).toEqual({ dropped: 6, unread: { b_1: 10 }, seqs: [7, 8, 9, 10, 11, 12, 13, 14, 15, 16] })
    const { events } = await stage.end()
    expect(of(events, 'mail.truncated')).toHaveLength(1)
    expect(of(events, 'mail.unread')).toMatchObject([{ member: 'b_1', seqs: [7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }])
  })

  test('a mebibyte of JSON is taken, one byte more is not; what counts is bytes, not letters', async () => {
    const most = 1024 * 1024
    const { outcome, events } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const sent: Sent[] = []
          for (const content of [
            'x'.repeat(most - 2),
            'x'.repeat(most - 1),
            'é'.repeat(most / 2 - 1),
            'é'.repeat(most / 2),
          ])
            sent.push(await me.send({ to: 'b_1', content }))
          return json(sent.map((each) => each.accepted || each.reason))
        },
        b: 5,
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([true, 'too_large', true, 'too_large'])
    expect(of(events, 'mail.accepted').map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('content may be any JSON; no content or an invalid address is refused, without a number', async () => {
    const wrong = [
      { to: 'b_1' },
      { content: 1 },
      { to: '', content: 1 },
      { to: 'role:', content: 1 },
      { to: 7, content: 1 },
      null,
      'b_1',
      [],
      { to: 'b_1', content: 1, kind: 3 },
    ]
    const right = [null, false, 0, '', [], {}, { deep: [{ '': null }] }, '\u0000\u{1f600} \ud83d'.slice(0, 4)]
    const { outcome, events } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const sent: Json[] = []
          for (const mail of wrong) {
            const word = await me.send(mail as never)
            sent.push(word.accepted || word.reason)
          }
          for (const content of right) await me.send({ to: ' b_1 ', content })
          return sent
        },
        b: async (ctx) => {
          await sleep(ctx, 1_000)
          return contents(await teammate(ctx).inbox())
        },
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual(wrong.map(() => 'invalid'))
    expect(outputOf(outcome, 'b')).toEqual(right)
    expect(of(events, 'mail.accepted').map(({ seq }) => seq)).toEqual(right.map((_each, i) => i + 1))
  })

  test('everyone means all others present: also pending ones, not ended ones', async () => {
    const { events } = await played(
      members(
        {
          a: async (ctx) => json(await sleep(ctx, 2_000).then(() => teammate(ctx).send({ to: ' * ', content: 1 }))),
          b: 1,
          c: 3,
          d: 0,
        },
        {},
        {},
        [task('a'), task('b'), task('c'), task('d', { dependencies: ['c'] })],
      ),
    )
    expect(of(events, 'mail.accepted')).toMatchObject([{ recipients: ['c_1', 'd_1'] }])
  })

  test('a role is all its members, the sender too; names like object properties are safe', async () => {
    const { outcome } = await played(
      members(
        {
          one: async (ctx) => {
            const me = teammate(ctx)
            const sent = [
              await me.send({ to: 'role:  CONSTRUCTOR ', content: 1 }),
              await me.send({ to: 'role:toString', content: 2 }),
              await me.send({ to: '__proto__', content: 3 }),
            ]
            return json([
              sent.map((each) => each.accepted && each.recipients),
              contents(await me.inbox()),
              (await me.team('__proto__')).length,
            ])
          },
          two: 1,
        },
        {},
        {},
        [task('one', { role: 'constructor' }), task('two', { role: 'Constructor' })],
      ),
    )
    expect(outputOf(outcome, 'one')).toEqual([[['constructor_1', 'constructor_2'], [], []], [1], 0])
  })

  test('a quota counts accepted messages, each once for any number of receivers; outside and lead have none', async () => {
    const stage = await staged(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            const sent: Sent[] = []
            for (const to of ['*', '', 'nobody_1', 'b_1', 'b_1']) sent.push(await me.send({ to, content: 1 }))
            return json(sent.map((each) => each.accepted || each.reason))
          },
          b: async (ctx) =>
            json((await sleep(ctx, 2_000).then(() => teammate(ctx).send({ to: 'a_1', content: 1 }))).accepted),
        },
        { quota: 3 },
      ),
    )
    for (let i = 0; i < 5; i++) await stage.run.team.post({ to: 'b_1', content: i })
    const { outcome, events } = await stage.end()
    expect(outputOf(outcome, 'a')).toEqual([true, 'invalid', true, true, 'quota'])
    expect(outputOf(outcome, 'b')).toBe(true)
    expect(of(events, 'mail.accepted').filter(({ from }) => from === 'operator')).toHaveLength(5)
  })
})

describe('waiting', () => {
  test('a waiting member holds no slot: with one slot the other sends; a timed wait ends on time', async () => {
    const { outcome, lines } = await played(
      members(
        {
          a: async (ctx) =>
            json([
              contents(await teammate(ctx).nextMail({ from: 'nobody_1', withinMs: 1_500 })),
              contents(await teammate(ctx).nextMail()),
            ]),
          b: async (ctx) =>
            json((await sleep(ctx, 4_000).then(() => teammate(ctx).send({ to: 'role:a', content: 'now' }))).accepted),
        },
        {},
        { concurrency: 1 },
      ),
    )
    expect(outputOf(outcome, 'a')).toEqual([[], ['now']])
    expect(lines.filter(([, what]) => / (begins|succeeded)$/.test(what))).toEqual([
      [0, 'a begins'],
      [0, 'b begins'],
      [4, 'a succeeded'],
      [4, 'b succeeded'],
    ])
  })

  test.each([0, -1, -Infinity, NaN, Infinity, 1.5])(
    'withinMs %d is a wait that ends, or a mistake that is told',
    async (withinMs) => {
      const { outcome, lines } = await played(
        members({
          a: async (ctx) =>
            teammate(ctx)
              .nextMail({ withinMs })
              .then(contents, (thrown: { code: string }) => thrown.code),
          b: 3,
        }),
      )
      expect(outputOf(outcome, 'a')).toEqual(Number.isFinite(withinMs) ? [] : 'input.invalid')
      expect(lines.findLast(([, what]) => what === 'a succeeded')![0]).toBeLessThan(0.01)
    },
  )

  test('two branches that wait: each message is read by one of them', async () => {
    const { outcome } = await played(
      members({
        a: async (ctx) => {
          const waits = ['one', 'two'].map((name) => teammate(ctx.scope(name)).nextMail({ withinMs: 5_000 }))
          return json((await Promise.all(waits)).map(contents))
        },
        b: async (ctx) => {
          for (const content of [1, 2, 3])
            await sleep(ctx, 1_000).then(() => teammate(ctx).send({ to: 'a_1', content }))
          return 'sent'
        },
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([[1], [2]])
  })

  test('of one sender: what others sent stays where it is, in its order', async () => {
    const { outcome } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          await sleep(ctx, 500)
          return json([
            contents(await me.nextMail({ from: 'c_1' })),
            contents(await me.nextMail({ from: 'operator', withinMs: 0 })),
            contents(await me.inbox()),
          ])
        },
        b: async (ctx) => json((await teammate(ctx).send({ to: 'a_1', content: 'b' })).accepted),
        c: async (ctx) =>
          json((await sleep(ctx, 1_000).then(() => teammate(ctx).send({ to: 'a_1', content: 'c' }))).accepted),
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([['c'], [], ['b']])
  })

  test('of a retired member: no mail can come, and its waiter hears it at once', async () => {
    const { outcome, lines } = await played(
      members({
        a: async (ctx) => teammate(ctx).nextMail({ from: 'b_1' }).then(contents, deadlock),
        b: async (ctx) => sleep(ctx, teammate(ctx).member === 'b_1' ? 100_000 : 5_000).then(() => 'b'),
        c: async (ctx) =>
          json(await sleep(ctx, 2_000).then(() => teammate(ctx).retire({ member: 'b_1', mode: 'force' }))),
      }),
    )
    expect(outputOf(outcome, 'a')).toBe('team.deadlock')
    expect(lines).toContainEqual([2, 'a succeeded'])
    expect(lines).toContainEqual([7, 'b succeeded'])
  })

  test('mail that was sent with the last breath is mail; what its sender is told does not matter any more', async () => {
    const { outcome } = await played(
      members(
        {
          a: async (ctx) => teammate(ctx).nextMail({ from: 'b_1' }).then(contents, deadlock),
          b: async (ctx) => {
            await sleep(ctx, 1_000)
            teammate(ctx)
              .send({ to: 'a_1', content: 1 })
              .catch(() => undefined)
            teammate(ctx).post({ to: 'a_1', content: 2 })
            throw new Error('gone')
          },
        },
        {},
        { retry: { backoffMs: 0 } },
      ),
    )
    expect([[1], [1, 2]]).toContainEqual(outputOf(outcome, 'a'))
  })
})

describe('a policy that leaves mail to a human', () => {
  const asks: MailboxOptions = { policy: ({ actor }) => (actor === 'a_1' ? 'ask' : 'allow') }
  test('team C85: who waits for the receipt waits for a human: it holds no place, and its clock stands', async () => {
    const stage = await staged(
      members(
        { a: async (ctx) => json((await teammate(ctx).send({ to: 'b_1', content: 'may I?' })).accepted), b: 2, c: 2 },
        asks,
        {
          concurrency: 1,
          timeoutMs: 10_000,
        },
      ),
    )
    await stage.until(60)
    const statuses = (await stage.run.view()).teams[0]!.plan.tasks.map(({ status }) => status)
    expect(statuses).toEqual(['running', 'succeeded', 'succeeded'])
    const [approval] = await stage.runtime.approvals()
    await stage.run.decide({ approvalId: approval!.id, decision: 'approve' })
    const { outcome } = await stage.end()
    expect(outputOf(outcome, 'a')).toBe(true)
  })

  test('a posting member waits for nothing; approved mail is read by those still there', async () => {
    const stage = await staged(
      members(
        {
          a: async (ctx) => {
            teammate(ctx).post({ to: 'b_1', content: 'may I?' })
            await sleep(ctx, 5_000)
            return 'done'
          },
          b: async (ctx) => contents(await teammate(ctx).nextMail()),
        },
        asks,
      ),
    )
    await stage.until(20)
    const [approval] = await stage.runtime.approvals()
    expect(approval).toMatchObject({ tool: 'send_message' })
    await stage.run.decide({ approvalId: approval!.id, decision: 'approve' })
    const { outcome } = await stage.end()
    expect(outputOf(outcome, 'b')).toEqual(['may I?'])
  })

  test('a no is a refusal with the decider’s words', async () => {
    const stage = await staged(
      members({ a: async (ctx) => json(await teammate(ctx).send({ to: 'b_1', content: 1 })), b: 1 }, asks),
    )
    await stage.until(5)
    const [approval] = await stage.runtime.approvals()
    await stage.run.decide({ approvalId: approval!.id, decision: 'reject', comment: 'not this' })
    expect(outputOf((await stage.end()).outcome, 'a')).toMatchObject({
      accepted: false,
      reason: 'policy',
      message: expect.stringContaining('not this') as string,
    })
  })
})
