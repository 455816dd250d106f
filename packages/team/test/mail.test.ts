/**
 * Mail between members of a team, second by second: spec team 1.7, C26 to C33. Embedded engine only;
 * test/scenario/planned-mail.test.ts has what holds in real time.
 */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type Mail, type Sent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { members, of, outputOf, task } from './members.ts'
import { played, staged } from './trace.ts'

const contents = (mail: readonly Mail[]): Json => mail.map(({ seq, from, content }) => [seq, from, content])
const json = (value: unknown): Json => value as Json

describe('sending', () => {
  test('team C26: a bound of 10 in a run: the newest 5 of 11, six dropped, one truncation told to the sender', async () => {
    const { events, outcome } = await played(
      members(
        {
          a: async (ctx) => {
            const sent: Sent[] = []
            for (let i = 1; i <= 16; i++) sent.push(await teammate(ctx).send({ to: 'b_1', content: i }))
            return json(sent)
          },
          b: async (ctx) => {
            await sleep(ctx, 5_000)
            return contents(await teammate(ctx).inbox())
          },
        },
        { maxMessages: 10 },
      ),
    )
    expect(of(events, 'mail.truncated')).toMatchObject([{ from: 7, dropped: 6, total: 6 }])
    expect(outputOf(outcome, 'a')).toMatchObject(
      Array.from({ length: 16 }, (_, i) => ({
        accepted: true,
        seq: i + 1,
        recipients: ['b_1'],
        dropped: i === 10 ? 6 : 0,
      })),
    )
    expect(outputOf(outcome, 'b')).toEqual(Array.from({ length: 10 }, (_, i) => [i + 7, 'a_1', i + 7]))
  })

  test('team C27: ten thousand messages delay no computing member by a second', async () => {
    const { events, lines } = await played(
      members({
        a: async (ctx) => {
          await sleep(ctx, 3_000)
          const me = teammate(ctx)
          for (let i = 1; i <= 10_000; i++) me.post({ to: 'b_1', content: i })
          return 'posted'
        },
        b: 10,
        c: 3,
      }),
    )
    const ends = lines.filter(([, what]) => what.endsWith(' succeeded'))
    expect(ends).toEqual([
      [3, 'a succeeded'],
      [3, 'c succeeded'],
      [10, 'b succeeded'],
    ])
    expect(of(events, 'mail.accepted')).toHaveLength(10_000)
    expect(of(events, 'mail.refused')).toEqual([])
    const unread = of(events, 'mail.unread')
    expect(unread).toMatchObject([{ member: 'b_1' }])
    const kept = unread[0]!.seqs
    expect(kept.at(-1)).toBe(10_000)
    expect(of(events, 'mail.truncated').at(-1)).toMatchObject({
      member: 'b_1',
      from: kept[0],
      total: 10_000 - kept.length,
    })
  }, 60_000)

  test('team C28: a role is all of it, everyone is all but the sender', async () => {
    const reads = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 1_000)
      return contents(await teammate(ctx).inbox())
    }
    const { outcome } = await played(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            await me.send({ to: ' role:Analyst ', content: 'analysts' })
            await me.send({ to: '*', content: 'all' })
            await me.send({ to: 'writer_1', content: 'me' })
            return contents(await me.inbox())
          },
          b: reads,
          c: reads,
          d: reads,
        },
        {},
        {},
        [task('a', 'writer'), task('b', 'analyst'), task('c', 'analyst'), task('d', 'critic')],
      ),
    )
    expect(outputOf(outcome, 'a')).toEqual([[3, 'writer_1', 'me']])
    for (const id of ['b', 'c'])
      expect(outputOf(outcome, id)).toEqual([
        [1, 'writer_1', 'analysts'],
        [2, 'writer_1', 'all'],
      ])
    expect(outputOf(outcome, 'd')).toEqual([[2, 'writer_1', 'all']])
  })

  test('mail to unknown or ended members is taken, reaches no inbox, and the journal says so', async () => {
    const { events, outcome } = await played(
      members({
        a: async (ctx) => {
          await sleep(ctx, 2_000)
          const me = teammate(ctx)
          return json([
            await me.send({ to: 'nobody', content: 1 }),
            await me.send({ to: 'b_1', content: 2 }),
            await me.send({ to: 'role:b', content: 3 }),
          ])
        },
        b: 1,
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual(
      [1, 2, 3].map((seq) => ({ accepted: true, seq, recipients: [], dropped: 0 })),
    )
    expect(of(events, 'mail.accepted').map(({ to, recipients }) => [to, recipients])).toEqual([
      ['nobody', []],
      ['b_1', []],
      ['role:b', []],
    ])
  })

  test('a mebibyte of content fits, a byte more does not; invalid mail is refused with all problems', async () => {
    const { events, outcome } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const most = 1024 * 1024 - 2
          return json([
            await me.send({ to: 'b_1', content: 'x'.repeat(most) }),
            await me.send({ to: 'b_1', content: 'x'.repeat(most + 1) }),
            await me.send({ to: 'b_1', content: 'ü'.repeat(most / 2) }),
            await me.send({ to: 'b_1', content: `${'ü'.repeat(most / 2)}x` }),
            await me.send({ to: ' ', kind: 7, correlationId: null } as never),
            await me.send(undefined as never),
          ])
        },
        b: 1,
      }),
    )
    expect(outputOf(outcome, 'a')).toMatchObject([
      { accepted: true, seq: 1 },
      {
        accepted: false,
        reason: 'too_large',
        message: 'its content has 1048577 bytes as JSON, at most 1048576 are taken',
      },
      { accepted: true, seq: 2 },
      { accepted: false, reason: 'too_large' },
      {
        accepted: false,
        reason: 'invalid',
        message:
          '"to" names a member, "role:<name>", or "*" for all others; there is no content; "kind" is a text; "correlationId" is a text',
      },
      { accepted: false, reason: 'invalid' },
    ])
    expect(of(events, 'mail.refused').map(({ from, to, reason }) => [from, to, reason])).toEqual([
      ['a_1', 'b_1', 'too_large'],
      ['a_1', 'b_1', 'too_large'],
      ['a_1', ' ', 'invalid'],
      ['a_1', '', 'invalid'],
    ])
  })

  test('a quota covers all attempts of a member; refused mail and outside mail do not count', async () => {
    const stage = await staged(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            const sent = [
              await me.send({ to: '', content: 1 }),
              await me.send({ to: 'b_1', content: 1 }),
              await me.send({ to: 'b_1', content: 2 }),
            ]
            if (me.attempt === 1) throw new Error('not yet')
            return json(sent)
          },
          b: 1,
        },
        { quota: 2 },
        { retry: { backoffMs: 0 } },
      ),
    )
    expect(await stage.run.team.post({ to: 'b_1', content: 'one' })).toBe('accepted')
    expect(await stage.run.team.post({ to: 'b_1', content: 'two' })).toBe('accepted')
    expect(await stage.run.team.post({ to: 'b_1', content: 'three' })).toBe('accepted')
    const { outcome, events } = await stage.end()
    const quota = { accepted: false, reason: 'quota', message: 'a member may send 2 messages, no more' }
    expect(outputOf(outcome, 'a')).toMatchObject([{ reason: 'invalid' }, quota, quota])
    expect(
      of(events, 'mail.accepted')
        .map(({ from }) => from)
        .sort(),
    ).toEqual(['a_1', 'a_1', 'operator', 'operator', 'operator'])
  })
})

describe('reading', () => {
  test('team C29: S1: mail of A for E at 15 s, before E begins, is in its inbox when it begins at 20 s', async () => {
    const { outcome, lines } = await played(
      members(
        {
          A: async (ctx) => {
            await sleep(ctx, 15_000)
            teammate(ctx).post({ to: 'strategist_1', content: 'look at the prices', kind: 'info' })
            return 'a'
          },
          B: 12,
          C: async (ctx) => {
            await sleep(ctx, 10_000)
            await teammate(ctx).recruit({ description: 'pricing', role: 'pricing_analyst' })
            await sleep(ctx.scope('rest'), 8_000)
            return 'c'
          },
          pricing: 10,
          D: 15,
          E: async (ctx) => {
            const mail = await teammate(ctx).inbox()
            await sleep(ctx, 15_000)
            return contents([...mail, ...(await teammate(ctx).inbox())])
          },
        },
        {},
        {},
        [task('A'), task('B'), task('C'), task('D'), task('E', 'strategist', { dependencies: ['A', 'B', 'C', 'D'] })],
      ),
    )
    expect(outputOf(outcome, 'E')).toEqual([[1, 'a_1', 'look at the prices']])
    expect(lines.filter(([, what]) => what.includes('mail') || what.includes('reads'))).toEqual([
      [15, 'mail 1 from a_1 to strategist_1'],
      [20, 'strategist_1 reads 1'],
    ])
  })

  test('team C33: a researcher tells an analyst who is at work: read exactly once, and nothing else moves', async () => {
    const told = async (writes: boolean) =>
      played(
        members({
          researcher: async (ctx) => {
            await sleep(ctx, 4_000)
            const content = 'competitor X launched product Y, focus pricing'
            if (writes) teammate(ctx).post({ to: 'role:analyst', kind: 'info', content, correlationId: 'researcher' })
            return 'found'
          },
          analyst: async (ctx) => {
            const me = teammate(ctx)
            const looks: Json[] = []
            for (let i = 0; i < 4; i++) {
              await sleep(ctx.scope('work'), 2_000)
              looks.push((await me.inbox()).map(({ at: _at, ...mail }) => mail as unknown as Json))
            }
            return looks
          },
        }),
      )
    const { outcome, lines } = await told(true)
    const letter = {
      seq: 1,
      from: 'researcher_1',
      to: 'role:analyst',
      role: 'researcher',
      kind: 'info',
      content: 'competitor X launched product Y, focus pricing',
      correlationId: 'researcher',
    }
    expect((outputOf(outcome, 'analyst') as Json[]).flat()).toEqual([letter])
    const order = (all: typeof lines) => all.filter(([, what]) => !what.includes('mail') && !what.includes('reads'))
    expect(order(lines)).toEqual(order((await told(false)).lines))
  })

  test('a waiter wakes on the first mail, of a named sender on theirs alone; the rest stays unread', async () => {
    const { outcome } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const first = await me.nextMail({ from: 'c_1' })
          const at = ctx.now().getTime()
          const rest = await me.nextMail()
          return json([contents(first), contents(rest), ctx.now().getTime() - at])
        },
        b: async (ctx) => {
          await sleep(ctx, 1_000)
          teammate(ctx).post({ to: 'a_1', content: 'b' })
          return 'b'
        },
        c: async (ctx) => {
          await sleep(ctx, 2_000)
          teammate(ctx).post({ to: 'a_1', content: 'c' })
          await sleep(ctx.scope('rest'), 1_000)
          return 'c'
        },
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([[[2, 'c_1', 'c']], [[1, 'b_1', 'b']], 0])
  })

  test('a wait with a time ends then, and nothing that comes later is lost', async () => {
    const { outcome, lines } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const looks: Json[] = []
          for (let i = 0; i < 3; i++)
            looks.push([contents(await me.nextMail({ withinMs: 2_000 })), ctx.now().getTime() % 60_000])
          looks.push(contents(await me.nextMail({ withinMs: 0 })), contents(await me.nextMail({ withinMs: -5 })))
          return looks
        },
        b: async (ctx) => {
          await sleep(ctx, 3_000)
          const me = teammate(ctx)
          me.post({ to: 'a_1', content: 1 })
          await sleep(ctx.scope('again'), 5_000)
          return 'b'
        },
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([[[], 2_000], [[[1, 'b_1', 1]], 3_000], [[], 5_000], [], []])
    expect(lines).toContainEqual([5, 'a succeeded'])
  })

  test('mail in the second in which the wait ends arrives once, in either order', async () => {
    const { outcome } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const mail = [...(await me.nextMail({ withinMs: 2_000 }))]
          mail.push(...(await me.nextMail({ withinMs: 2_000 })))
          return contents(mail)
        },
        b: async (ctx) => {
          await sleep(ctx, 2_000)
          for (let i = 1; i <= 3; i++) teammate(ctx).post({ to: 'a_1', content: i })
          return 'b'
        },
      }),
    )
    const mail = outputOf(outcome, 'a') as Json[]
    expect(mail).toEqual([1, 2, 3].slice(0, mail.length).map((n) => [n, 'b_1', n]))
    expect(mail.length).toBeGreaterThan(0)
  })

  test('two waits of one member for two senders each get their own', async () => {
    const { outcome } = await played(
      members({
        a: async (ctx) => {
          const me = teammate(ctx)
          const both = await Promise.all([me.nextMail({ from: 'b_1' }), me.nextMail({ from: 'c_1' })])
          return both.map(contents)
        },
        b: async (ctx) => {
          await sleep(ctx, 2_000)
          teammate(ctx).post({ to: 'a_1', content: 'b' })
          return 'b'
        },
        c: async (ctx) => {
          await sleep(ctx, 1_000)
          teammate(ctx).post({ to: 'a_1', content: 'c' })
          return 'c'
        },
      }),
    )
    expect(outputOf(outcome, 'a')).toEqual([[[2, 'b_1', 'b']], [[1, 'c_1', 'c']]])
  })

  test('an invalid time is refused', async () => {
    const { outcome } = await played(
      members(
        { a: async (ctx) => json(await teammate(ctx).nextMail({ withinMs: NaN })), b: 1 },
        {},
        { retry: { attempts: 1 } },
      ),
    )
    expect(outcome).toMatchObject({
      results: {
        tasks: [
          { task: 'a', status: 'failed', failure: { message: expect.stringContaining('withinMs is NaN') as string } },
          {},
        ],
      },
    })
  })

  test('a wait for mail holds no slot', async () => {
    const { lines } = await played(
      members(
        {
          a: async (ctx) => contents(await teammate(ctx).nextMail()),
          b: async (ctx) => {
            await sleep(ctx, 5_000)
            teammate(ctx).post({ to: 'a_1', content: 'go on' })
            return 'b'
          },
        },
        {},
        { concurrency: 1 },
      ),
    )
    expect(lines.filter(([, what]) => /begins|succeeded|reads/.test(what))).toEqual([
      [0, 'a begins'],
      [0, 'b begins'],
      [5, 'b succeeded'],
      [5, 'a_1 reads 1'],
      [5, 'a succeeded'],
    ])
  })

  test('another attempt has what is unread, and nothing that was read before', async () => {
    const { outcome, events } = await played(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            if (me.attempt === 1) {
              await sleep(ctx, 2_000)
              await me.inbox()
              await sleep(ctx.scope('rest'), 2_000)
              throw new Error('once more')
            }
            return contents(await me.inbox())
          },
          b: async (ctx) => {
            teammate(ctx).post({ to: 'a_1', content: 'early' })
            await sleep(ctx, 3_000)
            teammate(ctx).post({ to: 'a_1', content: 'late' })
            return 'b'
          },
        },
        {},
        { retry: { backoffMs: 0 } },
      ),
    )
    expect(outputOf(outcome, 'a')).toEqual([[2, 'b_1', 'late']])
    expect(of(events, 'mail.unread')).toEqual([])
  })

  test('an attempt that failed while it waited waits no more: the next one gets the mail', async () => {
    const { outcome } = await played(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            if (me.attempt === 1) {
              me.nextMail().catch(() => undefined)
              throw new Error('once more')
            }
            return contents(await me.nextMail())
          },
          b: async (ctx) => {
            await sleep(ctx, 3_000)
            teammate(ctx).post({ to: 'a_1', content: 'x' })
            return 'b'
          },
        },
        {},
        { retry: { backoffMs: 0 } },
      ),
    )
    expect(outputOf(outcome, 'a')).toEqual([[1, 'b_1', 'x']])
  })

  test('what was never read is told with the end of its task, whether that has begun or not', async () => {
    const { events } = await played(
      members(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            me.post({ to: 'b_1', content: 1 })
            me.post({ to: 'c_1', content: 2 })
            me.post({ to: '*', content: 3 })
            await sleep(ctx, 1_000)
            throw new Error('no')
          },
          b: 2,
          c: 2,
        },
        {},
        { retry: { attempts: 1 } },
        [task('a'), task('b'), task('c', 'c', { dependencies: ['a'], onMissing: 'require' })],
      ),
    )
    expect(of(events, 'mail.unread').map(({ member, seqs }) => [member, seqs])).toEqual([
      ['c_1', [2, 3]],
      ['b_1', [1, 3]],
    ])
    const types = events.map(({ event }) => (event.type === 'task.settled' ? event.task : event.type))
    expect(types.indexOf('mail.unread')).toBe(types.indexOf('c') + 1)
  })
})
