/**
 * A team that works within a budget, on a clock that moves only when nothing else can: spec team R-20, C99. Embedded
 * engine.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, sleep, teammate, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent, Recorded } from '@reeve/journal'
import type { Model } from '@reeve/model'
import { createRuntime, type Run } from '@reeve/runtime'
import { team, type Plan } from '../src/index.ts'
import type { AnyTeamOptions } from '../src/options.ts'
import type { BudgetOptions } from '../src/budget/budget.ts'
import { played, staged, type Staged } from './trace.ts'

const price = { usdPerMillionTokens: { input: 1_000, output: 1_000 } }
/** A model that uses so many tokens for a task, as its description says: `A 6000`; `?`: nobody knows how many. */
const model = (over: Partial<Model> = {}): Model => ({
  id: 'vendor/meter',
  price,
  call: ({ messages }) => {
    const text = messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n')
    const [, said] = /[A-Z] (\d+|\?)/.exec(text) ?? []
    const answer = { text: 'done', calls: [], finish: 'stop' as const, model: 'vendor/meter' }
    return Promise.resolve(
      said === '?'
        ? answer
        : { ...answer, usage: { input: Number(said ?? 0), output: 0, usd: Number(said ?? 0) / 1_000 } },
    )
  },
  ...over,
})
/** Asks its model once it has slept so many seconds. */
const member = (seconds: Readonly<Record<string, number>> = {}, over?: Partial<Model>): Agent => {
  const asked = agent({ name: 'asked', description: 'Answers.', model: model(over) })
  return agent({
    name: 'worker',
    description: 'Works.',
    workers: [asked],
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const [line] = brief.split('\n')
      await sleep(ctx, (seconds[line!.slice(0, 1)] ?? 1) * 1_000)
      return (await delegate(ctx, asked, line!)).status
    },
  })
}
const tasks = (
  ...list: readonly (readonly [uses: string, more?: Partial<Plan['subtasks'][number]>])[]
): Plan['subtasks'] =>
  list.map(([uses, more], i) => {
    const letter = String.fromCodePoint(65 + i)
    return { id: letter.toLowerCase(), description: `${letter} ${uses}`, ...more }
  })
const of = (budget: BudgetOptions, plan: Plan['subtasks'], options: Partial<AnyTeamOptions> = {}, by = member()) =>
  team({ name: 'analysts', roles: { generalist: by }, planner: { subtasks: plan }, budget, ...options })
const about = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { readonly type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { readonly type: T }>] : []))
const ends = (events: readonly Recorded[]): string[] =>
  about(events, 'task.settled').map(
    ({ task, status, reason, failure }) =>
      `${task} ${status}${reason === undefined ? '' : ` (${reason})`}${failure === undefined ? '' : ` (${failure.code})`}`,
  )

describe('team C99: reserved before it begins', () => {
  const plan = tasks(
    ['6000', { estimate: { tokens: 4_000 } }],
    ['1000', { estimate: { tokens: 4_000 } }],
    ['1000', { estimate: { tokens: 4_000 } }],
  )

  test('hard: two have 4,000 of 10,000 each; the third waits, and is refused once it cannot fit', async () => {
    const stage = await staged(of({ tokens: 10_000 }, plan, { tolerance: 50 }))
    await stage.until(0.5)
    expect((await stage.run.view()).teams[0]!.budget).toMatchObject({ reserved: { tokens: 8_000 }, waiting: ['c'] })
    const { outcome, events } = await stage.end()
    expect(ends(events)).toEqual(['a succeeded', 'b succeeded', 'c failed (budget.exceeded)'])
    expect((await stage.run.view()).teams[0]!.budget.waiting).toEqual([])
    expect(about(events, 'task.started').map(({ task }) => task)).toEqual(['a', 'b'])
    expect(outcome).toMatchObject({
      status: 'completed',
      results: {
        partial: true,
        tasks: [
          {},
          {},
          {
            attempts: 0,
            failure: {
              class: 'budget',
              retryable: false,
              details: { wanted: 4_000, spent: 7_000, reserved: 0, limit: 10_000 },
            },
          },
        ],
      },
    })
    expect(
      about(events, 'budget.moved').map(({ task, move, tokens, spent, reserved }) => [
        task,
        move,
        tokens,
        spent.tokens,
        reserved.tokens,
      ]),
    ).toEqual([
      ['a', 'reserved', 4_000, 0, 4_000],
      ['b', 'reserved', 4_000, 0, 8_000],
      ['c', 'waiting', 4_000, 0, 8_000],
      ['a', 'settled', 6_000, 6_000, 4_000],
      ['b', 'settled', 1_000, 7_000, 0],
    ])
    expect(about(events, 'budget.crossed')).toMatchObject([{ of: 'tokens', percent: 50, spent: 6_000, limit: 10_000 }])
  })

  test('a task that waits for freed reservations holds no permit and begins as soon as it fits', async () => {
    const four = tasks(
      ['1000', { estimate: { tokens: 4_000 } }],
      ['1000', { estimate: { tokens: 4_000 } }],
      ['1000', { estimate: { tokens: 4_000 } }],
      ['1000', { estimate: { tokens: 1_000 } }],
    )
    const { outcome, lines } = await played(
      of({ tokens: 10_000 }, four, { concurrency: 3 }, member({ A: 1, B: 5, C: 1, D: 1 })),
    )
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    expect(lines.filter(([, what]) => /^[a-d] (begins|succeeded)/.test(what))).toEqual([
      [0, 'a begins'],
      [0, 'b begins'],
      [0, 'd begins'],
      [1, 'a succeeded'],
      [1, 'd succeeded'],
      [1, 'c begins'],
      [2, 'c succeeded'],
      [5, 'b succeeded'],
    ])
  })

  test('it is refused while others still work, as soon as what is spent alone leaves no room', async () => {
    const { lines } = await played(of({ tokens: 10_000 }, plan, { tolerance: 50 }, member({ A: 1, B: 1, C: 1 })))
    expect(lines.find(([, what]) => what.startsWith('c '))).toEqual([1, 'c failed: budget.exceeded'])
    const { lines: early } = await played(
      of(
        { tokens: 10_000 },
        [{ ...plan[0]!, description: 'A 6001' }, ...plan.slice(1)],
        { tolerance: 50 },
        member({ A: 1, B: 5 }),
      ),
    )
    expect(early.find(([, what]) => what.startsWith('c '))).toEqual([1, 'c failed: budget.exceeded'])
  })

  test('a cancel, an edit and an end of the rest reach waiting tasks', async () => {
    const cancelled = await staged(of({ tokens: 10_000 }, plan))
    await cancelled.until(0.5)
    await cancelled.run.control.cancel('enough')
    expect((await cancelled.end()).outcome).toMatchObject({ status: 'cancelled' })
    expect((await cancelled.run.view()).teams[0]!.budget.waiting).toEqual([])

    const edited = await staged(of({ tokens: 10_000 }, plan, { tolerance: 50 }))
    await edited.until(0.5)
    await edited.run.control.takeOver({ by: 'ann' })
    await edited.run.control.handBack({ by: 'ann', plan: { remove: ['c'] } })
    expect(ends((await edited.end()).events)).toEqual(['c skipped (removed by ann)', 'a succeeded', 'b succeeded'])

    const dying = agent({
      name: 'dying',
      description: 'Fails.',
      run: async (ctx: Context) => (await sleep(ctx, 1_000), { success: false }),
    })
    const { outcome, events } = await played(of({ tokens: 10_000 }, plan, { tolerance: 0 }, dying))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
    expect(about(events, 'task.started').map(({ task }) => task)).toEqual(['a', 'b'])
  })

  test('in a pause no task begins, even with room', async () => {
    // the call that the pause calls back counts with what was set aside for it: about 4,100
    const stage = await staged(
      of({ tokens: 14_000 }, tasks(['10', { estimate: { tokens: 9_000 } }], ['10', { estimate: { tokens: 9_000 } }])),
    )
    await stage.until(0.5)
    await stage.run.control.pause()
    await stage.until(60)
    const started = async (): Promise<readonly unknown[]> =>
      (await stage.run.view()).teams[0]!.plan.tasks.map(({ startedAt }) => startedAt)
    expect((await started())[1]).toBeUndefined()
    await stage.run.control.resume()
    expect((await stage.end()).outcome).toMatchObject({ status: 'completed', results: { partial: false } })
  })

  test('an attempt that cannot even be started gives back what was set aside for it', async () => {
    const bounded = of({ tokens: 5_000 }, plan.slice(1), { limits: { depth: 0 } })
    const { outcome, events } = await played(bounded)
    expect(ends(events).map((each) => each.slice(0, 8))).toEqual(['b failed', 'c failed'])
    expect(about(events, 'budget.moved').at(-1)).toMatchObject({ reserved: { tokens: 0 } })
    expect(outcome.status).toBe('failed')
  })

  test('a perTask above the whole is refused at definition', () => {
    expect(() => of({ tokens: 1_000, perTask: { tokens: 1_001 } }, plan)).toThrow(
      /budget\.perTask\.tokens is 1001, more than the whole budget of 1000: no task could begin/,
    )
  })

  test('soft: it begins, with a warning; nothing is ever refused', async () => {
    const { outcome, events } = await played(of({ tokens: 1_000, mode: 'soft' }, plan))
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    expect(about(events, 'budget.warned')).toMatchObject([
      { task: 'a', of: 'tokens', wanted: 4_000, left: 1_000 },
      { task: 'b', left: -3_000 },
      { task: 'c', left: -7_000 },
    ])
    expect(about(events, 'budget.crossed').map(({ percent }) => percent)).toEqual([50, 80, 100])
  })

  test('one at a time, what was not used is there for the next', async () => {
    const { events } = await played(
      of(
        { tokens: 10_000 },
        tasks(['1000', { estimate: { tokens: 8_000 } }], ['1000', { estimate: { tokens: 8_000 } }]),
        {
          concurrency: 1,
        },
      ),
    )
    expect(ends(events)).toEqual(['a succeeded', 'b succeeded'])
  })

  test('every attempt counts, and the next one is refused where there is no room for it', async () => {
    let tried = 0
    const asked = agent({ name: 'asked', description: 'Answers.', model: model() })
    const flaky = agent({
      name: 'flaky',
      description: 'Fails.',
      workers: [asked],
      run: async (ctx: Context) => {
        tried++
        await delegate(ctx, asked, 'A 400')
        throw new Error('no')
      },
    })
    const { events } = await played(
      of({ tokens: 900 }, tasks(['400', { estimate: { tokens: 400 } }]), { retry: { backoffMs: 0 } }, flaky),
    )
    expect(tried).toBe(2)
    expect(ends(events)).toEqual(['a failed (budget.exceeded)'])
    expect(about(events, 'budget.moved').at(-1)).toMatchObject({ spent: { tokens: 800 }, reserved: { tokens: 0 } })
  })

  test('a call of unknown usage counts at the estimate, and shows as unknown', async () => {
    const stage = await staged(of({ tokens: 1_000_000, perTask: { tokens: 300 } }, tasks(['?'], ['100'])))
    const { events } = await stage.end()
    expect(about(events, 'budget.moved').at(-1)).toMatchObject({ spent: { tokens: 400 }, unknown: 1 })
    expect((await stage.run.view()).teams?.[0]?.budget).toMatchObject({
      limits: { tokens: 1_000_000 },
      mode: 'hard',
      spent: { tokens: 400 },
      reserved: { tokens: 0 },
      unknown: 1,
    })
  })

  test('dollars', async () => {
    const { outcome, events } = await played(
      of({ usd: 0.3, perTask: { usd: 0.1 }, mode: 'hard', onExhausted: 'ask' }, tasks(['100'], ['100'], ['100'])),
    )
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    expect(about(events, 'budget.crossed').map(({ of: what, percent }) => `${what} ${percent}`)).toEqual([
      'usd 50',
      'usd 80',
      'usd 100',
    ])
  })
})

describe('a holder of the room waits for a task that waits for that room', () => {
  /** Does what its task says: waits for mail of somebody, recruits, or just works. */
  const doing = agent({
    name: 'doing',
    description: 'Does it.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const [what, whom] = brief.split('\n')[0]!.split(' ')
      const me = teammate(ctx)
      if (what === 'works') return (await sleep(ctx, 5_000), 'worked')
      if (what === 'writes') return (me.post({ to: whom!, content: 'here' }), 'wrote')
      if (what === 'recruits') {
        const answer = await me.recruit({ description: 'writes generalist_1', estimate: { tokens: Number(whom) } })
        if (!answer.admitted) return answer.message
      }
      const mail = await me.nextMail(what === 'hears' ? { from: whom! } : {}).catch((thrown: unknown) => String(thrown))
      return typeof mail === 'string' ? mail : mail.map(({ content }) => content)
    },
  })
  const crew = (budget: BudgetOptions, plan: readonly string[]) =>
    team({
      name: 'crew',
      roles: { generalist: doing },
      planner: {
        subtasks: plan.map((description, i) => ({ id: 'abc'[i]!, description, estimate: { tokens: 4_000 } })),
      },
      route: 'team',
      budget,
      tolerance: 90,
    })
  const outputs = (outcome: Awaited<ReturnType<typeof played>>['outcome']): unknown =>
    outcome.results?.tasks.map(({ status, output, failure }) => output ?? failure?.code ?? status)

  test('no other can end: the task is refused, with the circle, and the other is told', async () => {
    const { outcome, events, lines } = await played(
      crew({ tokens: 5_000 }, ['hears generalist_2', 'writes generalist_1']),
    )
    expect(outputs(outcome)).toEqual([expect.stringContaining('"generalist_2", who has ended'), 'budget.exceeded'])
    expect(about(events, 'deadlock.found')[0]).toMatchObject({ kind: 'deadlock', cycle: ['a', 'b'] })
    expect(lines.at(-1)![0]).toBe(0)
  })

  test('another may still end: it waits for that, and begins', async () => {
    const { outcome, events } = await played(
      crew({ tokens: 9_000 }, ['hears generalist_3', 'works', 'writes generalist_1']),
    )
    expect(outputs(outcome)).toEqual([['here'], 'worked', 'wrote'])
    expect(about(events, 'deadlock.found')).toEqual([])
  })

  test('all who hold room wait for it: it is refused', async () => {
    const { outcome } = await played(
      crew({ tokens: 9_000 }, ['hears generalist_3', 'hears generalist_3', 'writes generalist_1']),
    )
    expect(outputs(outcome)).toEqual([
      expect.stringContaining('who has ended'),
      expect.stringContaining('who has ended'),
      'budget.exceeded',
    ])
  })

  test('a recruit cannot use its requester’s reservation, only the others’', async () => {
    const alone = await played(crew({ tokens: 5_000 }, ['recruits 2000']))
    expect(outputs(alone.outcome)).toEqual([expect.stringContaining('has no room for 2000 more')])
    const others = await played(crew({ tokens: 9_000 }, ['recruits 2000', 'works']))
    expect(outputs(others.outcome)).toEqual([['here'], 'worked', 'wrote'])
  })
})

describe('used up', () => {
  // a uses all there is after a second; b works until the third; c waits for a, d for room
  const plan = tasks(['5000'], ['10'], ['10', { dependencies: ['a'] }], ['10'], ['10', { dependencies: ['d'] }])
  const seconds = { A: 1, B: 3, D: 1 }

  test('synthesise: nothing begins any more, what is under way ends, and there is an answer of what there is', async () => {
    const { outcome, events, lines } = await played(of({ tokens: 5_000 }, plan, { concurrency: 2 }, member(seconds)))
    expect(ends(events)).toEqual([
      'a succeeded',
      'c skipped (the budget is used up)',
      'd skipped (the budget is used up)',
      'e skipped (the budget is used up)',
      'b succeeded',
    ])
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { partial: true, coverage: { succeeded: 2, planned: 5 } },
    })
    expect(lines.at(-1)![0]).toBe(3)
    expect(about(events, 'plan.aborted')).toEqual([])
  })

  test('abort: everything is stopped at once, and what was done is in the results', async () => {
    const { outcome, events, lines } = await played(
      of({ tokens: 5_000, onExhausted: 'abort' }, plan, { concurrency: 2 }, member(seconds)),
    )
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'budget.exceeded', class: 'budget' },
      results: { coverage: { succeeded: 1 } },
    })
    expect(about(events, 'plan.aborted')).toMatchObject([{ reason: 'budget', failed: 0, total: 5 }])
    expect(ends(events)).toEqual([
      'a succeeded',
      ...['c', 'd', 'e', 'b'].map((task) => `${task} cancelled (the plan was given up)`),
    ])
    expect(lines.at(-1)![0]).toBe(1)
  })

  test('abort: a task that does not fit has failed, and ends the rest', async () => {
    const { outcome, events } = await played(
      of({ tokens: 5_000, onExhausted: 'abort' }, tasks(['10'], ['10', { estimate: { tokens: 5_001 } }], ['10'])),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'budget.exceeded' } })
    expect(ends(events)).toEqual([
      'b failed (budget.exceeded)',
      'c cancelled (the plan was given up)',
      'a cancelled (the plan was given up)',
    ])
  })

  test('by the last one: nothing was left to do, so it is simply done', async () => {
    for (const onExhausted of ['synthesise', 'abort', 'ask'] as const) {
      const { outcome } = await played(of({ tokens: 5_000, onExhausted }, tasks(['5000'])))
      expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    }
  })

  test('a budget of 0: no task begins, and no synthesis of nothing', async () => {
    const { outcome, events } = await played(of({ tokens: 0 }, tasks(['10'], ['10'])))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.no-results' } })
    expect(ends(events)).toEqual(['a skipped (the budget is used up)', 'b skipped (the budget is used up)'])
  })

  describe('a call that does not fit into what is left of it', () => {
    // a uses 1,000 of 1,200; b asks for more than the rest
    const thinker = agent({
      name: 'thinker',
      description: 'Thinks.',
      model: model(),
      settings: { maxOutputTokens: 100 },
    })
    const rest = tasks(
      ['1000'],
      ['10', { dependencies: ['a'] }],
      ['10', { dependencies: ['b'] }],
      ['10', { dependencies: ['c'] }],
    )
    const message = 'the budget is used up: 1,000 of 1,200 tokens, and the next call did not fit'

    test('synthesise: it has failed for that, and the rest is skipped', async () => {
      const { outcome, events } = await played(of({ tokens: 1_200 }, rest, { concurrency: 1 }, thinker))
      expect(about(events, 'task.settled').find(({ task }) => task === 'b')?.failure).toMatchObject({
        code: 'budget.exceeded',
        class: 'budget',
        message,
        details: { of: 'tokens', limit: 1_200, spent: 1_000 },
      })
      expect(ends(events).filter((each) => each.includes('skipped'))).toEqual(
        ['c', 'd'].map((task) => `${task} skipped (the budget is used up)`),
      )
      expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 1, planned: 4 } } })
    })

    test('abort: the team fails for that, also where it was the last task', async () => {
      for (const plan of [rest, rest.slice(0, 2)]) {
        const { outcome } = await played(of({ tokens: 1_200, onExhausted: 'abort' }, plan, { concurrency: 1 }, thinker))
        expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'budget.exceeded', message } })
      }
    })

    test('a limit of its own is no matter of the budget', async () => {
      const bounded = agent({
        name: 'thinker',
        description: 'Thinks.',
        model: model(),
        settings: { maxOutputTokens: 100 },
        limits: { tokens: 5 },
      })
      const { events } = await played(of({ tokens: 90_000 }, tasks(['10'], ['10']), { concurrency: 1 }, bounded))
      expect(ends(events)).toEqual(['a failed (limit.reached)', 'b failed (limit.reached)'])
    })
  })

  // each call sets a quarter of it aside for its answer, and its brief: three fit at once
  test.each([
    ['all that was set aside for it', '1250', 3],
    ['nobody knows how much', '?', 3],
    ['less than that', '10', 5],
  ] as const)(
    'without estimates the tree’s limit stops further model calls; a call that uses %s leaves the rest',
    async (_what, uses, expected) => {
      const [seen, out] = [{ calls: 0, most: 0 }, new Set<unknown>()]
      const call: Model['call'] = async (request) => {
        seen.calls++
        out.add(request)
        seen.most = Math.max(seen.most, out.size)
        await new Promise((resolve) => setImmediate(resolve))
        out.delete(request)
        return model().call(request)
      }
      const { outcome } = await played(
        of({ tokens: 5_000 }, tasks([uses], [uses], [uses], [uses], [uses]), {}, member({}, { call })),
      )
      expect(seen).toEqual({ calls: expected, most: 3 })
      const statuses = outcome.results?.tasks.map(({ output }) => output).sort()
      expect(statuses).toEqual(Array.from({ length: 5 }, (_, i) => (i < expected ? 'completed' : 'limited')))
    },
  )
})

describe('a human is asked', () => {
  const plan = tasks(
    ['4000', { estimate: { tokens: 4_000 } }],
    ['10', { estimate: { tokens: 4_000 } }],
    ['10', { estimate: { tokens: 500 } }],
  )
  const budget: BudgetOptions = { tokens: 5_000, onExhausted: 'ask' }
  const question = async (run: Run): Promise<Record<string, Json>> => {
    const asked = (await run.view()).interrupts.filter(({ open }) => open)
    expect(asked).toHaveLength(1)
    return { id: asked[0]!.id, ...(asked[0]!.question as Record<string, Json>) }
  }
  const answered = async (stage: Staged, value: Json): Promise<void> => {
    const { id } = await question(stage.run)
    await stage.run.answer({ interruptId: id as string, value })
  }

  test('how much more: what does not fit waits, the others go on, and begins when there is room', async () => {
    const stage = await staged(of(budget, plan, {}, member({ C: 5 })))
    await stage.until(0.5)
    // it fits if a uses less than was set aside for it: nobody is asked yet
    expect((await stage.run.view()).interrupts).toEqual([])
    expect((await stage.run.view()).teams[0]!.budget.waiting).toEqual(['b'])
    await stage.until(1.5)
    expect(await question(stage.run)).toMatchObject({
      type: 'budget',
      of: 'tokens',
      limit: 5_000,
      spent: 4_000,
      reserved: 500,
      wanted: 4_000,
      task: 'b',
    })
    await stage.until(10)
    await answered(stage, 4_000)
    const { outcome, events } = await stage.end()
    expect(ends(events)).toEqual(['a succeeded', 'c succeeded', 'b succeeded'])
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    expect(about(events, 'budget.set').map(({ limits, raised }) => [limits.tokens, raised?.by])).toEqual([
      [5_000, undefined],
      [9_000, 4_000],
    ])
    expect(about(events, 'interrupt.raised')).toHaveLength(1)
  })

  test.each([0, -5, 'no', null, true, { more: 5_000 }])(
    '%j means no more: what does not fit has failed, as without a question',
    async (value) => {
      const stage = await staged(of(budget, plan))
      await stage.until(10)
      await answered(stage, value)
      const { outcome, events } = await stage.end()
      expect(ends(events)).toEqual(['a succeeded', 'c succeeded', 'b failed (budget.exceeded)'])
      expect(outcome).toMatchObject({ status: 'completed', results: { partial: true } })
    },
  )

  test('used up altogether: one question for all waiting; without more the rest is skipped', async () => {
    const stage = await staged(of(budget, tasks(['5000'], ['10'], ['10']), { concurrency: 1 }))
    await stage.until(10)
    await answered(stage, 0)
    const { outcome, events } = await stage.end()
    expect(ends(events)).toEqual([
      'a succeeded',
      'b skipped (the budget is used up)',
      'c skipped (the budget is used up)',
    ])
    expect(about(events, 'interrupt.raised')).toHaveLength(1)
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: true } })
  })

  test('too little is asked about again; enough sets all of them free', async () => {
    const stage = await staged(
      of(
        budget,
        tasks(
          ['4000', { estimate: { tokens: 4_000 } }],
          ['10', { estimate: { tokens: 4_000 } }],
          ['10', { estimate: { tokens: 4_000 } }],
        ),
      ),
    )
    await stage.until(1.5)
    await answered(stage, 100)
    await stage.until(1.6)
    expect(await question(stage.run)).toMatchObject({ limit: 5_100, task: 'b' })
    await answered(stage, 10_000)
    const { events } = await stage.end()
    expect(ends(events)).toEqual(['a succeeded', 'b succeeded', 'c succeeded'])
    expect(about(events, 'interrupt.raised')).toHaveLength(2)
  })

  test('a needless question is withdrawn, and a cancel ends it', async () => {
    const dying = agent({
      name: 'dying',
      description: 'Fails.',
      run: async (ctx: Context) => (await sleep(ctx, 1_000), { success: false }),
    })
    const never = [plan[0]!, { ...plan[1]!, estimate: { tokens: 5_001 } }, plan[2]!]
    const given = await staged(of(budget, never, { tolerance: 0 }, dying))
    const { outcome } = await given.end()
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.too-many-failures' },
      results: { tasks: [{}, { status: 'cancelled' }, {}] },
    })
    expect((await given.run.view()).interrupts.map(({ open }) => open)).toEqual([false])

    const cancelled = await staged(of(budget, plan))
    await cancelled.until(10)
    await cancelled.run.control.cancel('enough')
    expect((await cancelled.end()).outcome).toMatchObject({ status: 'cancelled' })
  })
})

test('dollars without a price are refused at build, in any mode', async () => {
  for (const budget of [{ usd: 1 }, { usd: 1, mode: 'soft' }, { usd: 1, onExhausted: 'ask' }] as const) {
    const { price: _price, ...free } = model()
    const made = of(budget, tasks(['1']), {}, agent({ name: 'asked', description: 'Answers.', model: free }))
    await expect(createRuntime({ agents: [made] })).rejects.toMatchObject({
      code: 'budget.no-price',
      message: expect.stringContaining('budget.usd cannot be kept') as string,
    })
  }
})
