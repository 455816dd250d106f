/**
 * Members who wait for each other's mail: whoever waits for what can never come is told so, and goes on; whoever can
 * still be helped waits. docs/explanation/teams.md, "Deadlocks and loops".
 */
import { describe, expect, test } from 'vitest'
import { agent, sleep, teammate, type Agent, type Mail, type MailWait } from '@reeve/agent'
import { FailureError, type Json, type PlanResults, type TaskResult } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent } from '@reeve/journal'
import { approve } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { calls, eventsOf, pause, runtimeOf, scripted, told, waiting } from './team.ts'

type Doing = (ctx: Context) => Promise<Json>
const task = (id: string, ...dependencies: string[]): Subtask => ({ id, description: id, role: id, dependencies })
const code = (name: string, run: Doing): Agent => agent({ name, description: `Does ${name}.`, run })
const crew = (
  doings: Readonly<Record<string, Doing | Agent>>,
  more: Partial<TeamOptions<string>> = {},
  tasks?: readonly Subtask[],
): Agent =>
  team({
    name: 'crew',
    roles: Object.fromEntries(
      Object.entries(doings).map(([name, does]) => [name, typeof does === 'function' ? code(name, does) : does]),
    ),
    planner: { subtasks: tasks ?? Object.keys(doings).map((name) => task(name)) },
    routing: { communicating: true },
    ...more,
  })

const contents = (mail: readonly Mail[]): Json => mail.map(({ from, content }) => [from, content])
/** What has come, or why nothing can. */
async function heard(ctx: Context, wait?: MailWait): Promise<Json> {
  try {
    return contents(await teammate(ctx).nextMail(wait))
  } catch (thrown) {
    if (!(thrown instanceof FailureError)) throw thrown
    const { code: reason, message, details, retryable } = thrown.failure
    return { reason, message, retryable, cycle: details?.['cycle'] ?? null }
  }
}
const inVain = (cycle: readonly string[], message: string): object => ({
  reason: 'team.deadlock',
  retryable: false,
  cycle,
  message: expect.stringContaining(message) as string,
})

/** Runs it: what came of each task, by its id, and the deadlocks in the journal. */
async function played(root: Agent): Promise<Awaited<ReturnType<typeof ended>>> {
  const runtime = await runtimeOf([root])
  return ended((await runtime.start(root, 'Go')) as unknown as Run)
}
async function approved(root: Agent): Promise<Awaited<ReturnType<typeof ended>>> {
  const run = (await (await runtimeOf([root])).start(root, 'Go')) as unknown as Run
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'Ann' })
  return ended(run)
}
async function ended(run: Run) {
  const outcome = await run.outcome()
  const events = await eventsOf(run)
  const of = <T extends JournalEvent['type']>(type: T): Extract<JournalEvent, { readonly type: T }>[] =>
    events.flatMap((event) => (event.type === type ? [event as Extract<JournalEvent, { readonly type: T }>] : []))
  const tasks = Object.fromEntries(
    (outcome as { readonly results: PlanResults }).results.tasks.map((each) => [each.task, each]),
  )
  const found = of('deadlock.found').map(({ kind, cycle }) => [kind, cycle])
  return { outcome, tasks: tasks as Readonly<Record<string, TaskResult>>, found, of }
}

describe('who can never go on', () => {
  test('two that wait for each other: the one that closed the circle is told, and both go on', async () => {
    const { outcome, tasks, found, of } = await played(
      crew({
        a: async (ctx) => heard(ctx, { from: 'b_1' }),
        b: async (ctx) => {
          await teammate(ctx).inbox()
          await sleep(ctx, 20)
          const why = await heard(ctx, { from: 'a_1' })
          await teammate(ctx).send({ to: 'a_1', content: 'you first' })
          return why
        },
      }),
    )
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2, planned: 2 } } })
    expect(tasks['b']!.output).toEqual(inVain(['a', 'b'], 'these wait for each other: a > b > a'))
    expect(tasks['a']!.output).toEqual([['b_1', 'you first']])
    expect(found).toEqual([['deadlock', ['a', 'b']]])
    expect(of('deadlock.found')[0]!.message).toContain('"b_1" waits for mail')
  })

  test('all wait for any mail: one is told, writes, and frees the next', async () => {
    const { outcome, tasks, found } = await played(
      crew({
        a: async (ctx) => heard(ctx),
        b: async (ctx) => heard(ctx),
        c: async (ctx) => {
          await sleep(ctx, 20)
          const why = await heard(ctx)
          await teammate(ctx).send({ to: '*', content: 'go on' })
          return why
        },
      }),
    )
    expect(outcome.status).toBe('completed')
    expect(tasks['c']!.output).toMatchObject({ reason: 'team.deadlock' })
    for (const id of ['a', 'b']) expect(tasks[id]!.output).toEqual([['c_1', 'go on']])
    expect(found).toHaveLength(1)
  })

  test('mail of a task that depends on the waiting one: a cycle over both; the task begins afterwards', async () => {
    const { outcome, tasks, found } = await played(
      crew({ a: (ctx) => heard(ctx, { from: 'e_1' }), e: () => Promise.resolve('e') }, {}, [task('a'), task('e', 'a')]),
    )
    expect(tasks['a']!.output).toEqual(inVain(['a', 'e'], 'a > e > a'))
    expect(tasks['e']).toMatchObject({ status: 'succeeded', output: 'e' })
    expect(found).toEqual([['deadlock', ['a', 'e']]])
    expect(outcome.status).toBe('completed')
  })

  test('mail of a member whose task needs a topic of the waiting one', async () => {
    const { tasks } = await played(
      crew({ a: (ctx) => heard(ctx, { from: 'e_1' }), e: () => Promise.resolve('e') }, {}, [
        { ...task('a'), produces: ['facts'] },
        { ...task('e'), consumes: ['facts'] },
      ]),
    )
    expect(tasks['a']!.output).toEqual(inVain(['a', 'e'], 'a > e > a'))
    expect(tasks['e']).toMatchObject({ status: 'succeeded' })
  })

  test('mail of an ended member: earlier mail still arrives', async () => {
    const { tasks } = await played(
      crew(
        {
          a: async (ctx) => {
            teammate(ctx).post({ to: 'b_1', content: 'last words' })
            return 'a'
          },
          b: async (ctx) => [await heard(ctx, { from: 'a_1' }), await heard(ctx, { from: 'a_1' })],
          c: async (ctx) => [await heard(ctx, { from: 'b_1' })],
        },
        {},
        [task('a'), task('b'), task('c')],
      ),
    )
    expect(tasks['b']!.output).toEqual([
      [['a_1', 'last words']],
      inVain(['b'], '"b_1" waits for mail of "a_1", who has ended'),
    ])
    expect(tasks['c']!.output).toEqual([inVain(['c'], '"c_1" waits for mail of "b_1", who has ended')])
  })

  test('mail of an unknown member, of a missing lead, of oneself', async () => {
    const { tasks, found } = await played(
      crew({
        a: async (ctx) => {
          const all: Json[] = []
          for (const from of ['nobody', 'lead', 'a_1', 'ghost_7', 'role:a', '']) all.push(await heard(ctx, { from }))
          return all
        },
      }),
    )
    expect(tasks['a']!.output).toEqual([
      inVain(['a'], 'of "nobody", and no member is left who could send any'),
      inVain(['a'], 'of "lead", and no member is left'),
      inVain(['a'], 'waits for mail of itself'),
      inVain(['a'], 'of "ghost_7", and no member is left'),
      inVain(['a'], 'of "role:a", and no member is left'),
      inVain(['a'], 'of "", and no member is left'),
    ])
    expect(found).toHaveLength(6)
  })

  test('a member that ignores it fails once: it counts, without a retry', async () => {
    const { outcome, tasks, of } = await played(
      crew(
        { a: async (ctx) => contents(await teammate(ctx).nextMail()), b: () => Promise.resolve('b') },
        { tolerance: 50 },
      ),
    )
    expect(tasks['a']).toMatchObject({
      status: 'failed',
      attempts: 1,
      failure: { code: 'team.deadlock', details: { cycle: ['a'] } },
    })
    expect(of('task.retried')).toEqual([])
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: true } })
    const strict = await played(crew({ a: async (ctx) => contents(await teammate(ctx).nextMail()) }, { tolerance: 0 }))
    expect(strict.outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
  })

  test('a model is told by its tool that no message will come, and answers', async () => {
    const model = scripted(
      calls(['wait_for_message', {}, 'c1']),
      ({ messages }) => `I go on: ${JSON.stringify(told(messages)[0])}`,
    )
    const { tasks } = await played(crew({ a: agent({ name: 'a', description: 'Thinks.', model }) }))
    expect(tasks['a']).toMatchObject({
      status: 'succeeded',
      output: expect.stringContaining('no message will come') as string,
    })
  })
})

describe('who can still be helped', () => {
  test('while another works there is no deadlock, however long', async () => {
    const { tasks, found } = await played(
      crew({
        a: (ctx) => heard(ctx),
        b: async (ctx) => {
          await sleep(ctx, 60)
          await teammate(ctx).send({ to: 'a_1', content: 'done' })
          return 'b'
        },
      }),
    )
    expect(tasks['a']!.output).toEqual([['b_1', 'done']])
    expect(found).toEqual([])
  })

  test('a member that waits with a deadline is not stuck, nor are those who wait for it', async () => {
    const { tasks, found } = await played(
      crew({
        a: (ctx) => heard(ctx, { from: 'b_1' }),
        b: async (ctx) => {
          const none = await heard(ctx, { from: 'a_1', withinMs: 50 })
          await teammate(ctx).send({ to: 'a_1', content: 'nothing came' })
          return none
        },
      }),
    )
    expect(tasks['b']!.output).toEqual([])
    expect(tasks['a']!.output).toEqual([['b_1', 'nothing came']])
    expect(found).toEqual([])
  })

  test('one at a time: a member that waits for its recruit gives up its slot', async () => {
    const { tasks, found } = await played(
      crew(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            const recruited = await me.recruit({ description: 'help', role: 'helper' })
            return [recruited.admitted, await heard(ctx, recruited.admitted ? { from: recruited.member } : {})]
          },
          helper: async (ctx) => {
            await teammate(ctx).send({ to: 'a_1', content: 'helped' })
            return 'helper'
          },
        },
        { concurrency: 1 },
        [task('a')],
      ),
    )
    expect(tasks['a']!.output).toEqual([true, [['dynamic_helper_1', 'helped']]])
    expect(found).toEqual([])
  })

  test('one at a time: those whose turn it is not may write later', async () => {
    const { tasks, found } = await played(
      crew(
        {
          a: (ctx) => heard(ctx, { from: 'b_1' }),
          b: async (ctx) => {
            await teammate(ctx).send({ to: 'a_1', content: 'from b' })
            return 'b'
          },
        },
        { concurrency: 1 },
      ),
    )
    expect(tasks['a']!.output).toEqual([['b_1', 'from b']])
    expect(found).toEqual([])
  })

  test('a wait for the operator: the run rests, and the operator’s mail wakes it', async () => {
    const root = crew({ a: (ctx) => heard(ctx, { from: 'operator' }), b: (ctx) => heard(ctx, { from: 'a_1' }) })
    const runtime = await runtimeOf([root])
    const run = (await runtime.start(root, 'Go')) as unknown as Run
    const delivered = async (): Promise<number> =>
      (await run.view()).activations.filter(({ agent: who }) => who === 'a' || who === 'b').length
    await expect.poll(delivered).toBe(2)
    expect(await run.team.post({ to: 'a_1', content: 'now' })).toBe('accepted')
    const { tasks, found } = await ended(run)
    expect(tasks['a']!.output).toEqual([['operator', 'now']])
    // who waited for a while it waited was all right; then it had ended
    expect(tasks['b']!.output).toEqual(inVain(['b'], 'of "a_1", who has ended'))
    expect(found).toEqual([['deadlock', ['b']]])
  })

  test('another member asks a human: none is stuck until the answer', async () => {
    const root = crew({
      a: (ctx) => heard(ctx),
      b: async (ctx) => {
        const { approved } = await approve(ctx, {
          tool: 'publish',
          toolVersion: '1',
          input: {},
          reason: 'it is for the public',
        })
        await teammate(ctx).send({ to: 'a_1', content: approved })
        return 'b'
      },
    })
    const { tasks, found } = await approved(root)
    expect(tasks['a']!.output).toEqual([['b_1', true]])
    expect(found).toEqual([])
  })

  test('a policy and a human decide on a recruit: it may free the waiting member', async () => {
    const wishes: Doing = async (ctx) => {
      const me = teammate(ctx)
      const [recruited, mail] = await Promise.all([
        me.recruit({ description: 'help', role: 'helper', join: 'none' }),
        heard(ctx),
      ])
      return [recruited.admitted, mail]
    }
    const helper: Doing = async (ctx) => {
      await teammate(ctx).send({ to: 'a_1', content: 'helped' })
      return 'helper'
    }
    const asks = crew({ a: wishes, helper }, { policy: ({ action }) => (action === 'recruit' ? 'ask' : 'allow') }, [
      task('a'),
    ])
    const { tasks, found } = await approved(asks)
    expect(tasks['a']!.output).toEqual([true, [['dynamic_helper_1', 'helped']]])
    expect(found).toEqual([])
    const denies = await played(crew({ a: wishes, helper }, { recruit: { policy: () => 'deny' } }, [task('a')]))
    expect(denies.tasks['a']!.output).toEqual([false, inVain(['a'], 'no member is left who could send any')])
  })

  test('mail that a policy is asked about is on its way, also when its sender has ended', async () => {
    const policy = async (): Promise<'allow'> => {
      await pause(30)
      return 'allow'
    }
    const { tasks, found } = await played(
      crew(
        {
          a: (ctx) => heard(ctx, { from: 'b_1' }),
          b: async (ctx) => {
            teammate(ctx).post({ to: 'a_1', content: 'checked' })
            return 'b'
          },
        },
        { mailbox: { policy } },
      ),
    )
    expect(tasks['a']!.output).toEqual([['b_1', 'checked']])
    expect(found).toEqual([])
    const refused = await played(
      crew(
        {
          a: (ctx) => heard(ctx, { from: 'b_1' }),
          b: async (ctx) => {
            teammate(ctx).post({ to: 'a_1', content: 'checked' })
            return 'b'
          },
        },
        { mailbox: { policy: () => 'deny' } },
      ),
    )
    expect(refused.tasks['a']!.output).toEqual(inVain(['a'], 'of "b_1", who has ended'))
  })

  test('a lead sees each end and may write: its waiters are stuck only after the last look', async () => {
    const root = crew(
      {
        a: async (ctx) => [await heard(ctx, { from: 'lead' }), await heard(ctx, { from: 'lead' })],
        b: () => Promise.resolve('b'),
      },
      { lead: ({ ended: { task: id } }) => (id === 'b' ? [{ post: { to: 'a_1', content: 'b is done' } }] : []) },
    )
    const { tasks, found } = await played(root)
    expect(tasks['a']!.output).toEqual([[['lead', 'b is done']], inVain(['a'], 'of "lead", and no member is left')])
    expect(found).toEqual([['deadlock', ['a']]])
  })

  test('a member to be retried may write in its next attempt', async () => {
    const { tasks, found } = await played(
      crew(
        {
          a: (ctx) => heard(ctx, { from: 'b_1' }),
          b: async (ctx) => {
            const me = teammate(ctx)
            if (me.attempt === 1) throw new Error('not yet')
            await me.send({ to: 'a_1', content: me.attempt })
            return 'b'
          },
        },
        { retry: { backoffMs: 20, jitter: false } },
      ),
    )
    expect(tasks['a']!.output).toEqual([['b_1', 2]])
    expect(found).toEqual([])
  })
})

describe('mail that only goes to and fro', () => {
  const player =
    (other: string, opens: boolean, say: (i: number) => Json): Doing =>
    async (ctx) => {
      const me = teammate(ctx)
      let sent = 0
      try {
        if (opens) await me.send({ to: other, content: 'begin' })
        for (;;) {
          await me.nextMail({ from: other })
          const receipt = await me.send({ to: other, content: say(sent) })
          if (!receipt.accepted) return [sent, receipt.reason]
          sent++
        }
      } catch (thrown) {
        if (!(thrown instanceof FailureError)) throw thrown
        return [sent, thrown.failure.code]
      }
    }

  test('replies to replies are a livelock after maxExchanges: refused, told once, and both go on', async () => {
    const { outcome, tasks, found, of } = await played(
      crew({ a: player('b_1', true, (i) => i), b: player('a_1', false, (i) => i) }, { mailbox: { maxExchanges: 30 } }),
    )
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2 } } })
    expect(tasks['b']!.output).toEqual([15, 'livelock'])
    expect(tasks['a']!.output).toEqual([15, 'team.deadlock'])
    expect(found).toEqual([
      ['livelock', ['b', 'a']],
      ['deadlock', ['a']],
    ])
    expect(of('mail.refused')).toMatchObject([{ reason: 'livelock' }])
  })

  test('the same reply again and again is a loop, long before', async () => {
    const { tasks, found, of } = await played(
      crew({ a: player('b_1', true, () => 'ping'), b: player('a_1', false, () => 'pong') }),
    )
    expect(tasks['b']!.output).toEqual([20, 'loop'])
    expect(found[0]).toEqual(['loop', ['b', 'a']])
    expect(of('mail.refused')).toMatchObject([{ reason: 'loop', from: 'b_1', to: 'a_1' }])
  })

  test('a repeated wait is refused again, recorded once; its mail to others counts as a reply', async () => {
    const { tasks, found } = await played(
      crew(
        {
          a: async (ctx) => {
            const me = teammate(ctx)
            for (let i = 0; i < 3; i++) {
              await me.send({ to: 'b_1', content: i })
              await me.nextMail()
            }
            const last = []
            for (let i = 0; i < 4; i++) last.push(await me.send({ to: i < 2 ? 'b_1' : 'c_1', content: `again ${i}` }))
            return last.map((sent) => (sent.accepted ? 'accepted' : sent.reason))
          },
          b: async (ctx) => {
            const me = teammate(ctx)
            for (let i = 0; i < 3; i++) {
              await me.nextMail()
              await me.send({ to: 'a_1', content: i })
            }
            return heard(ctx, { from: 'a_1' })
          },
          c: (ctx) => heard(ctx, { withinMs: 2_000 }),
        },
        { mailbox: { maxExchanges: 5 } },
      ),
    )
    expect(tasks['a']!.output).toEqual(['livelock', 'livelock', 'livelock', 'livelock'])
    expect(found.filter(([kind]) => kind === 'livelock')).toHaveLength(1)
  })

  test('finished work and outside mail are news; 0 is no limit', async () => {
    const talks = (times: number): Readonly<Record<string, Doing>> => ({
      a: async (ctx) => {
        const me = teammate(ctx)
        for (let i = 0; i < times; i++) {
          if (!(await me.send({ to: 'b_1', content: i })).accepted) return i
          await me.nextMail()
          if (i % 3 === 2 && times === 9) await me.recruit({ description: `look ${i}`, role: 'c' })
        }
        return 'all'
      },
      b: async (ctx) => {
        const me = teammate(ctx)
        for (let i = 0; i < times; i++) {
          await me.nextMail()
          await me.send({ to: 'a_1', content: i })
        }
        return 'b'
      },
      c: () => Promise.resolve('c'),
    })
    const working = await played(
      crew(talks(9), { mailbox: { maxExchanges: 6 }, recruit: { perMember: 10 } }, [task('a'), task('b')]),
    )
    expect(working.tasks['a']!.output).toBe('all')
    const unlimited = await played(crew(talks(120), { mailbox: { maxExchanges: 0 } }, [task('a'), task('b')]))
    expect(unlimited.tasks['a']!.output).toBe('all')
    expect([...working.found, ...unlimited.found]).toEqual([])
  })
})
