/** The market analysis of spec team 2, second by second: who begins when, who waits for whom, when it ends. */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type Agent } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { team, type Plan, type TeamOptions } from '../src/index.ts'
import { played, staged, worker, type Doings, type Line } from './trace.ts'

/** A to F, as in 2.1. */
const plan: Plan = {
  subtasks: [
    { id: 'A', description: 'A', role: 'researcher' },
    { id: 'B', description: 'B', role: 'analyst' },
    { id: 'C', description: 'C', role: 'product_expert' },
    { id: 'D', description: 'D', role: 'tech_expert' },
    { id: 'E', description: 'E', role: 'strategist', dependencies: ['A', 'B', 'C', 'D'] },
    { id: 'F', description: 'F', role: 'writer', dependencies: ['E'] },
  ],
  complexity: 0.7,
}
const seconds: Doings = { A: 15, B: 12, C: 18, D: 15, E: 15, F: 10, pricing: 10 }
const fails = (): Promise<never> => Promise.reject(new Error('no luck'))

/** C, who asks for somebody at 10 s. */
const recruits =
  (join?: 'parent' | 'run' | 'none') =>
  async (ctx: Context): Promise<string> => {
    await sleep(ctx, 10_000)
    await teammate(ctx).recruit({
      description: 'pricing',
      role: 'pricing_analyst',
      ...(join === undefined ? undefined : { join }),
    })
    await sleep(ctx.scope('rest'), 8_000)
    return 'c'
  }
const recruit = 'dynamic_pricing_analyst_1'

const analysts = (doings: Doings = {}, options: Partial<TeamOptions<string>> = {}): Agent =>
  team({ name: 'analysts', roles: { generalist: worker({ ...seconds, ...doings }) }, planner: plan, ...options })

const begun = (first = 'plan of 6: team, hybrid, 5 at once, ends at 4'): readonly Line[] => [
  [0, first],
  [0, 'researcher_1 joins for A'],
  [0, 'analyst_1 joins for B'],
  [0, 'product_expert_1 joins for C'],
  [0, 'tech_expert_1 joins for D'],
  [0, 'strategist_1 joins for E'],
  [0, 'writer_1 joins for F'],
]
const firstFour: readonly Line[] = ['A', 'B', 'C', 'D'].map((task) => [0, `${task} begins`])
/** From the moment in which E may begin. */
const fromE = (second: number, used = 'A B C D E F'): readonly Line[] => [
  [second, 'E is unblocked'],
  [second, 'E begins'],
  [second + 15, 'E succeeded'],
  [second + 15, 'F is unblocked'],
  [second + 15, 'F begins'],
  [second + 25, 'F succeeded'],
  [second + 25, `answer of ${used}`],
  [second + 25, 'the run completed'],
]
const whole = { status: 'completed', results: { coverage: { succeeded: 6, planned: 6 }, partial: false } }

describe('without recruits', () => {
  test('team C18: S1: tasks without dependencies begin together, in plan order; ends of one second, too', async () => {
    const { lines, outcome } = await played(analysts())
    expect(lines).toEqual([
      ...begun(),
      ...firstFour,
      [12, 'B succeeded'],
      [15, 'A succeeded'],
      [15, 'D succeeded'],
      [18, 'C succeeded'],
      ...fromE(18),
    ])
    expect(outcome).toMatchObject(whole)
  })

  test('team C16: S1h: one at a time it takes 85 s, in the order of the plan', async () => {
    const { lines, outcome } = await played(analysts({}, { strategy: 'sequential' }))
    expect(lines).toEqual([
      ...begun('plan of 6: team, sequential, 1 at once, ends at 4'),
      [0, 'A begins'],
      [15, 'A succeeded'],
      [15, 'B begins'],
      [27, 'B succeeded'],
      [27, 'C begins'],
      [45, 'C succeeded'],
      [45, 'D begins'],
      [60, 'D succeeded'],
      ...fromE(60),
    ])
    expect(lines.at(-1)).toEqual([85, 'the run completed'])
    expect(outcome).toMatchObject(whole)
  })

  test('team C97: S1g: four of six fail: given up at the fourth, E and F never begin, results come with it', async () => {
    const { lines, outcome } = await played(
      analysts({ A: fails, B: fails, C: fails, D: fails }, { retry: { backoffMs: 0 } }),
    )
    expect(lines.slice(0, 11)).toEqual([...begun(), ...firstFour])
    const tries = lines.filter(([, what]) => what.includes('begins')).map(([, what]) => what.slice(0, 1))
    expect(tries.toSorted()).toEqual(['A', 'A', 'A', 'B', 'B', 'B', 'C', 'C', 'C', 'D', 'D', 'D'])
    expect(lines.filter(([, what]) => what.includes('failed'))).toEqual([
      ...['A', 'B', 'C', 'D'].map((task) => [0, `${task} failed after 3: orchestration.threw`]),
      [0, 'the run failed'],
    ])
    expect(lines.slice(-4)).toEqual([
      [0, 'aborted 4/6: failures'],
      [0, 'E cancelled: the plan was given up'],
      [0, 'F cancelled: the plan was given up'],
      [0, 'the run failed'],
    ])
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.too-many-failures', message: 'Too many subtask failures (4/6)' },
      results: { coverage: { succeeded: 0, planned: 6 }, partial: true },
    })
  })

  test('team C97: S1g: given up while A works: A is stopped, and what B has done comes with the failure', async () => {
    const failsAfter =
      (ms: number) =>
      async (ctx: Context): Promise<never> => {
        await sleep(ctx, ms)
        return fails()
      }
    const late = { C: failsAfter(13_000), D: failsAfter(14_000) }
    const { lines, outcome, events } = await played(analysts(late, { retry: { attempts: 1 }, maxFailures: 2 }))
    expect(lines).toEqual([
      ...begun('plan of 6: team, hybrid, 5 at once, ends at 2'),
      ...firstFour,
      [12, 'B succeeded'],
      [13, 'C failed: orchestration.threw'],
      [14, 'D failed: orchestration.threw'],
      [14, 'aborted 2/6: failures'],
      [14, 'E cancelled: the plan was given up'],
      [14, 'F cancelled: the plan was given up'],
      [14, 'A cancelled: the plan was given up'],
      [14, 'the run failed'],
    ])
    expect(outcome).toMatchObject({
      failure: { message: 'Too many subtask failures (2/6)' },
      results: {
        coverage: { succeeded: 1, planned: 6 },
        tasks: [{ status: 'cancelled' }, { status: 'succeeded', output: 'b' }, {}, {}, {}, {}],
      },
    })
    // C101: one terminal event of the run, numbers without gaps.
    expect(
      events.filter(({ activation, event }) => activation === 'act_traced' && event.type === 'activation.settled'),
    ).toHaveLength(1)
    const seqs = events.flatMap(({ activation, seq }) => (activation === 'act_traced' ? [seq] : []))
    expect(seqs).toEqual(seqs.map((_, n) => n + seqs[0]!))
  })
})

test('team C97: S1f: three of six fail at once: half is tolerated, C, E and F go on without them', async () => {
  const { lines, outcome } = await played(analysts({ A: fails, B: fails, D: fails }, { retry: { attempts: 1 } }))
  expect(lines).toEqual([
    ...begun(),
    ...firstFour,
    [0, 'A failed: orchestration.threw'],
    [0, 'B failed: orchestration.threw'],
    [0, 'D failed: orchestration.threw'],
    [18, 'C succeeded'],
    [18, 'E begins'],
    [33, 'E succeeded without A, B, D'],
    [33, 'F is unblocked'],
    [33, 'F begins'],
    [43, 'F succeeded'],
    [43, 'answer of C E F'],
    [43, 'the run completed'],
  ])
  expect(outcome).toMatchObject({
    status: 'completed',
    results: { coverage: { succeeded: 3, planned: 6 }, partial: true },
  })
})

describe('C recruits at 10 s', () => {
  const asked: readonly Line[] = [
    [10, 'product_expert_1 asks for a pricing_analyst'],
    [10, `${recruit} is admitted`],
    [10, `${recruit} joins for ${recruit}`],
  ]

  test('team C18: S1: E waits for the recruit too, begins at 20 s with its result; 45 s', async () => {
    const given: string[][] = []
    const E = async (ctx: Context): Promise<string> => {
      given.push(
        Object.entries(teammate(ctx).inputs).map(
          ([task, { status, output }]) => `${task} ${status} ${output as string}`,
        ),
      )
      await sleep(ctx, 15_000)
      return 'e'
    }
    const { lines, outcome } = await played(analysts({ C: recruits(), E }))
    expect(lines).toEqual([
      ...begun(),
      ...firstFour,
      ...asked,
      [10, `${recruit} begins`],
      [12, 'B succeeded'],
      [15, 'A succeeded'],
      [15, 'D succeeded'],
      [18, 'C succeeded'],
      [20, `${recruit} succeeded`],
      ...fromE(20, `A B C D E F ${recruit}`),
    ])
    expect(lines.at(-1)).toEqual([45, 'the run completed'])
    expect(given[0]).toEqual([
      'A succeeded a',
      'B succeeded b',
      'C succeeded c',
      'D succeeded d',
      `${recruit} succeeded pricing`,
    ])
    expect(outcome).toMatchObject(whole)
    expect(outcome.status === 'completed' && outcome.results?.tasks.length).toBe(7)
  })

  test('team C18: S1 is the same, to the line, a hundred times', async () => {
    const first = (await played(analysts({ C: recruits() }))).lines
    for (let n = 1; n < 100; n++) expect((await played(analysts({ C: recruits() }))).lines).toEqual(first)
  }, 60_000)

  test('team C43: S1b: none waits for the recruit: E at 18 s, 43 s, and its result is there all the same', async () => {
    const { lines, outcome } = await played(analysts({ C: recruits('none') }))
    expect(lines).toEqual([
      ...begun(),
      ...firstFour,
      ...asked,
      [10, `${recruit} begins`],
      [12, 'B succeeded'],
      [15, 'A succeeded'],
      [15, 'D succeeded'],
      [18, 'C succeeded'],
      [18, 'E is unblocked'],
      [18, 'E begins'],
      [20, `${recruit} succeeded`],
      [33, 'E succeeded'],
      [33, 'F is unblocked'],
      [33, 'F begins'],
      [43, 'F succeeded'],
      [43, `answer of A B C D E F ${recruit}`],
      [43, 'the run completed'],
    ])
    expect(outcome).toMatchObject(whole)
  })

  test('team C16: S1c: four at once: the recruit joins at 10 s and takes the permit of B at 12 s; 47 s', async () => {
    const stage = await staged(analysts({ C: recruits() }, { concurrency: 4 }))
    await stage.until(11)
    const list = (await stage.run.view()).teams[0]!.members
    expect(list.find(({ member }) => member === recruit)).toMatchObject({ status: 'pending', recruited: true })
    const { lines, outcome } = await stage.end()
    expect(lines).toEqual([
      ...begun('plan of 6: team, hybrid, 4 at once, ends at 4'),
      ...firstFour,
      ...asked,
      [12, 'B succeeded'],
      [12, `${recruit} begins`],
      [15, 'A succeeded'],
      [15, 'D succeeded'],
      [18, 'C succeeded'],
      [22, `${recruit} succeeded`],
      ...fromE(22, `A B C D E F ${recruit}`),
    ])
    expect(outcome).toMatchObject(whole)
  })

  const refused: readonly (readonly [string, Partial<TeamOptions<string>>, string])[] = [
    ['S1d: there is no room', { maxTeamSize: 6 }, 'team_size'],
    ['S1e: the policy says no', { policy: ({ action }) => (action === 'recruit' ? 'deny' : 'allow') }, 'policy'],
  ]
  for (const [name, options, reason] of refused)
    test(`team C97: ${name}: no one joins, for this reason, and it takes 43 s`, async () => {
      const { lines, outcome } = await played(analysts({ C: recruits() }, options))
      expect(lines).toEqual([
        ...begun(),
        ...firstFour,
        [10, 'product_expert_1 asks for a pricing_analyst'],
        [10, `nobody is admitted: ${reason}`],
        [12, 'B succeeded'],
        [15, 'A succeeded'],
        [15, 'D succeeded'],
        [18, 'C succeeded'],
        ...fromE(18),
      ])
      expect(outcome).toMatchObject(whole)
    })

  test('team C43: S1f: three of six fail at 0 s, the recruit comes all the same and E waits for it', async () => {
    const { lines } = await played(
      analysts({ A: fails, B: fails, C: recruits(), D: fails }, { retry: { attempts: 1 } }),
    )
    expect(lines.slice(-8)).toEqual(
      [
        [18, 'C succeeded'],
        [20, `${recruit} succeeded`],
        [20, 'E begins'],
        [35, 'E succeeded without A, B, D'],
        [35, 'F is unblocked'],
        [35, 'F begins'],
        [45, 'F succeeded'],
        [45, `answer of C E F ${recruit}`],
        [45, 'the run completed'],
      ].slice(-8),
    )
  })
})

test('team C29: mail from A to E at 15 s, before E has begun, is in its inbox at 20 s', async () => {
  const read: unknown[] = []
  const A = async (ctx: Context): Promise<string> => {
    await sleep(ctx, 15_000)
    await teammate(ctx).send({ to: 'strategist_1', content: 'look at prices' })
    return 'a'
  }
  const E = async (ctx: Context): Promise<string> => {
    read.push(...(await teammate(ctx).inbox()).map(({ from, content }) => [from, content]))
    await sleep(ctx, 15_000)
    return 'e'
  }
  const { lines } = await played(analysts({ A, C: recruits(), E }))
  expect(read).toEqual([['researcher_1', 'look at prices']])
  expect(lines.filter(([, what]) => /mail|reads|E begins|the run/.test(what))).toEqual([
    [15, 'mail 1 from researcher_1 to strategist_1'],
    [20, 'E begins'],
    [20, 'strategist_1 reads 1'],
    [45, 'the run completed'],
  ])
})
