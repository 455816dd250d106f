/**
 * Recruiting, second by second: who is taken in, in which order it is asked, what a recruit is to the work. Spec team
 * 1.8.
 */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type Recruited, type RecruitRequest } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type PolicyQuestion, type Subtask, type TeamOptions, type TeamPolicy } from '../src/index.ts'
import type { Agent } from '@reeve/agent'
import { played, staged, worker, type Doings, type Line, type Staged } from './trace.ts'

const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const many = (count: number, more?: Partial<Subtask>): Subtask[] =>
  Array.from({ length: count }, (_, i) => task(`t${i + 1}`, more))

/** A team whose members do what their task's name says. */
const crew = (subtasks: readonly Subtask[], doings: Doings, options: Partial<TeamOptions<string>> = {}): Agent =>
  team({
    name: 'crew',
    retry: { backoffMs: 0 },
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    ...options,
  })

/** Asks for these, together, and tells what came of it. */
const asks =
  (...wishes: readonly unknown[]) =>
  async (ctx: Context): Promise<Json> =>
    await Promise.all(wishes.map((wish) => teammate(ctx).recruit(wish as RecruitRequest)))
/** The same, one after the other. */
const asksInTurn =
  (...wishes: readonly unknown[]) =>
  async (ctx: Context): Promise<Json> => {
    const answers: Recruited[] = []
    for (const wish of wishes) answers.push(await teammate(ctx).recruit(wish as RecruitRequest))
    return answers
  }

const factsOf = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { type: T }>] : []))

const resultOf = (outcome: unknown, id: string): Record<string, Json> =>
  (outcome as { results: { tasks: { task: string }[] } }).results.tasks.find(
    (each) => each.task === id,
  ) as unknown as Record<string, Json>
const outputOf = (outcome: unknown, id: string): Json => resultOf(outcome, id)['output'] as Json

describe('who is admitted', () => {
  test('team C34: is in the journal, the directory and the results under an id of its own, and has worked', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      const me = teammate(ctx)
      const answer = await me.recruit({ description: 'pricing', role: 'pricing_analyst' })
      return { answer: answer as unknown as Json, team: (await me.team()) as unknown as Json }
    }
    const { outcome, events, lines } = await played(crew([task('boss', { role: 'chief' })], { boss, pricing: 10 }))
    const member = 'dynamic_pricing_analyst_1'
    expect(outputOf(outcome, 'boss')).toMatchObject({
      answer: { admitted: true, member, duplicate: false },
      team: [
        { member: 'chief_1' },
        { member, role: 'pricing_analyst', task: member, recruited: true, requestedBy: 'chief_1' },
      ],
    })
    expect(resultOf(outcome, member)).toMatchObject({
      status: 'succeeded',
      output: 'pricing',
      recruited: true,
      member,
      attempts: 1,
    })
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 1, planned: 1 }, partial: false } })
    expect(lines.slice(2, 7)).toEqual([
      [0, 'boss begins'],
      [0, 'chief_1 asks for a pricing_analyst'],
      [0, `${member} is admitted`],
      [0, `${member} joins for ${member}`],
      [0, `${member} begins`],
    ])
    expect(factsOf(events, 'teammate.joined')[1]).toMatchObject({
      recruited: true,
      by: 'chief_1',
      parent: 'boss',
      join: 'parent',
      resolved: 'generalist',
    })
  })

  test('team C35: two of one role are two, and work at once', async () => {
    const { lines } = await played(
      crew([task('boss')], {
        boss: asks({ description: 'one', role: 'scout' }, { description: 'two', role: 'scout' }),
        one: 10,
        two: 10,
      }),
    )
    expect(lines.filter(([, what]) => /begins|succeeded/.test(what) && what.startsWith('dynamic'))).toEqual([
      [0, 'dynamic_scout_1 begins'],
      [0, 'dynamic_scout_2 begins'],
      [10, 'dynamic_scout_1 succeeded'],
      [10, 'dynamic_scout_2 succeeded'],
    ])
  })

  test('team C36: no role, or an empty one, is the default role; the generalist, or the one of the team', async () => {
    const wishes = [
      { description: 'one' },
      { description: 'two', role: '' },
      { description: 'three', role: '  ' },
      { description: 'four', role: null },
    ]
    const boss = { boss: asks(...wishes.slice(0, 3)), chief: asks(wishes[3]) }
    const { events } = await played(crew([task('boss'), task('chief')], boss))
    expect(
      factsOf(events, 'teammate.joined')
        .slice(2)
        .map(({ role, member }) => `${role} ${member}`),
    ).toEqual([
      'generalist dynamic_generalist_1',
      'generalist dynamic_generalist_2',
      'generalist dynamic_generalist_3',
      'generalist dynamic_generalist_4',
    ])
    const { events: others } = await played(
      crew([task('boss')], { boss: asks({ description: 'one' }) }, { defaultRole: 'scout' }),
    )
    expect(factsOf(others, 'teammate.joined')[1]).toMatchObject({ role: 'scout', member: 'dynamic_scout_1' })
  })

  test('team C36: an invalid recruit request is refused with all its problems, and no one joins', async () => {
    const wrong: unknown[] = [
      { description: '' },
      { description: ' \n ' },
      {},
      'a writer',
      null,
      {
        description: 7,
        role: [],
        requestId: '',
        parentTask: 'nowhere',
        join: 'both',
        estimate: { tokens: -1, usd: 'much', hours: 3 },
      },
      { description: 'x', role: 'r'.repeat(201) },
    ]
    const { outcome, events } = await played(crew([task('boss')], { boss: asksInTurn(...wrong) }))
    const answers = outputOf(outcome, 'boss') as unknown as Recruited[]
    expect(answers.map((each) => !each.admitted && each.reason)).toEqual(wrong.map(() => 'invalid'))
    const { message } = answers[5] as { message: string }
    for (const part of [
      'description',
      'role is a list',
      'requestId',
      '"nowhere"',
      'join',
      'estimate.tokens',
      'estimate.usd',
      '"hours"',
    ])
      expect(message).toContain(part)
    expect(factsOf(events, 'teammate.joined')).toHaveLength(1)
    expect(factsOf(events, 'recruit.decided')).toHaveLength(wrong.length)
  })

  test('an unknown role without a generalist is refused', async () => {
    const boss = asks({ description: 'x', role: 'pilot' }, { description: 'y', role: 'SCOUT' })
    const crewOf = team({
      name: 'crew',
      defaultRole: 'scout',
      roles: { scout: worker({ boss }) },
      planner: { subtasks: [task('boss', { role: 'scout' })] },
    })
    const { outcome } = await played(crewOf)
    expect(outputOf(outcome, 'boss')).toMatchObject([
      { admitted: false, reason: 'invalid', message: expect.stringContaining('"pilot"') as string },
      { admitted: true, member: 'dynamic_scout_1' },
    ])
  })
})

describe('how often', () => {
  test('team C41: a repeated request id is one request with one answer, whatever it says', async () => {
    const one = { description: 'one', role: 'scout', requestId: 'r1' }
    const { outcome, events } = await played(
      crew([task('boss'), task('later')], {
        boss: asks(one, one, { ...one, description: 'another' }),
        later: async (ctx) => {
          await sleep(ctx, 5_000)
          return asks(one)(ctx)
        },
      }),
    )
    const same = { admitted: true, member: 'dynamic_scout_1', duplicate: false }
    expect(outputOf(outcome, 'boss')).toEqual([same, same, same])
    expect(outputOf(outcome, 'later')).toEqual([same])
    expect(factsOf(events, 'recruit.decided')).toHaveLength(1)
    expect(factsOf(events, 'teammate.joined')).toHaveLength(3)
  })

  test('a refused request stays refused; one that made no sense may be said anew', async () => {
    const { outcome } = await played(
      crew(
        [task('boss')],
        {
          boss: asksInTurn(
            { description: '', requestId: 'r1' },
            { description: 'one', requestId: 'r1' },
            { description: 'two', requestId: 'r2' },
            { description: 'two', requestId: 'r2' },
          ),
        },
        { maxTeamSize: 2 },
      ),
    )
    expect(outputOf(outcome, 'boss')).toMatchObject([
      { reason: 'invalid' },
      { admitted: true },
      { reason: 'team_size' },
      { reason: 'team_size' },
    ])
  })

  test('the same work in the same role is done once at a time: case and white space make no difference', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      const together = await asks(
        { description: 'Deep  pricing', role: 'Scout' },
        { description: ' deep pricing\n', role: ' scout ' },
        { description: 'deep pricing', role: 'analyst' },
      )(ctx)
      await sleep(ctx, 11_000)
      return [together, await asks({ description: 'deep pricing', role: 'scout' })(ctx)]
    }
    const { outcome, events } = await played(crew([task('boss')], { boss, 'Deep  pricing': 10, 'deep pricing': 10 }))
    expect(outputOf(outcome, 'boss')).toEqual([
      [
        { admitted: true, member: 'dynamic_scout_1', duplicate: false },
        { admitted: true, member: 'dynamic_scout_1', duplicate: true },
        { admitted: true, member: 'dynamic_analyst_1', duplicate: false },
      ],
      [{ admitted: true, member: 'dynamic_scout_2', duplicate: false }],
    ])
    expect(factsOf(events, 'recruit.decided').map(({ duplicate }) => duplicate)).toEqual([
      undefined,
      true,
      undefined,
      undefined,
    ])
  })
})

describe('how many', () => {
  const wishes = (count: number): RecruitRequest[] =>
    Array.from({ length: count }, (_, i) => ({ description: `extra ${i}` }))
  const unbounded = { recruit: { perMember: 100 } }
  const admitted = (answers: Json): (string | false)[] =>
    (answers as unknown as Recruited[]).map((each) => (each.admitted ? 'yes' : each.reason))

  test('team C38: six of a plan and four more are the most, also when some have ended', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      const first = await asks(...wishes(5))(ctx)
      await sleep(ctx, 60_000)
      return [first, await asks({ description: 'late' })(ctx)]
    }
    const { outcome } = await played(crew([task('boss'), ...many(5)], { boss }, unbounded))
    const [first, late] = outputOf(outcome, 'boss') as [Json, Json]
    expect(admitted(first)).toEqual(['yes', 'yes', 'yes', 'yes', 'team_size'])
    expect(admitted(late)).toEqual(['team_size'])
  })

  test('team C38: if only present members count, a recruit joins as soon as one has ended', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      const first = await asks({ description: 'a' }, { description: 'b' })(ctx)
      await sleep(ctx, 10_000) // t1 ends at 9
      return [first, await asks({ description: 'c' }, { description: 'd' })(ctx)]
    }
    const options = { maxTeamSize: 3, recruit: { counts: 'active' } } as const
    const { outcome } = await played(crew([task('boss'), task('t1')], { boss, t1: 9, a: 30 }, options))
    const [first, then] = outputOf(outcome, 'boss') as [Json, Json]
    expect([admitted(first), admitted(then)]).toEqual([
      ['yes', 'team_size'],
      ['yes', 'team_size'],
    ])
  })

  test('team C39: a plan is never cut: all twelve work, without a recruit', async () => {
    const { outcome } = await played(crew([task('boss'), ...many(11)], { boss: asks({ description: 'extra' }) }))
    expect(admitted(outputOf(outcome, 'boss'))).toEqual(['team_size'])
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 12, planned: 12 } } })
  })

  test('a team of size zero takes no recruits, and its plan is carried out', async () => {
    const { outcome } = await played(crew([task('boss')], { boss: asks({ description: 'extra' }) }, { maxTeamSize: 1 }))
    expect(admitted(outputOf(outcome, 'boss'))).toEqual(['team_size'])
    expect(outcome.status).toBe('completed')
  })

  test('a member has at most three recruits; one who is there already is none; another member has its own', async () => {
    const boss = asks(...wishes(2), wishes(2)[0], ...wishes(4).slice(2))
    const { outcome } = await played(
      crew([task('boss'), task('chief')], { boss, chief: asks({ description: 'mine' }), 'extra 0': 5 }),
    )
    expect(admitted(outputOf(outcome, 'boss'))).toEqual(['yes', 'yes', 'yes', 'yes', 'per_member'])
    expect(admitted(outputOf(outcome, 'chief'))).toEqual(['yes'])
  })

  test.each([
    [0, ['per_member']],
    [1, ['yes', 'per_member']],
  ] as const)('where a member may have %s, that is the most', async (perMember, expected) => {
    const { outcome } = await played(
      crew([task('boss')], { boss: asks(...wishes(expected.length)) }, { recruit: { perMember } }),
    )
    expect(admitted(outputOf(outcome, 'boss'))).toEqual(expected)
  })

  test.each([
    [undefined, ['yes', 'yes', 'depth']],
    [1, ['yes', 'depth']],
    [0, ['depth']],
  ] as const)('recruits recruit %s deep', async (depth, expected) => {
    const answers: string[] = []
    const asksOn =
      (next: string) =>
      async (ctx: Context): Promise<Json> => {
        answers.push(...(admitted(await asks({ description: next })(ctx)) as string[]))
        return null
      }
    const doings = { boss: asksOn('one'), one: asksOn('two'), two: asksOn('three'), three: asksOn('four') }
    await played(crew([task('boss')], doings, depth === undefined ? {} : { recruit: { depth } }))
    expect(answers).toEqual(expected)
  })
})

describe('who waits for a recruit', () => {
  const plan = [task('boss'), task('next', { dependencies: ['boss'] }), task('other')]
  const inputs = (ctx: Context): string[] => Object.keys(teammate(ctx).inputs)
  const seen: string[][] = []
  const doings = (wish: Partial<RecruitRequest>): Doings => ({
    boss: async (ctx) => {
      await asks({ description: 'help', ...wish })(ctx)
      await sleep(ctx, 5_000)
      return 'b'
    },
    next: async (ctx) => {
      seen.push(inputs(ctx))
      await sleep(ctx, 1_000)
      return 'n'
    },
    help: 20,
  })
  const ends = (lines: readonly Line[]): readonly Line[] =>
    lines.filter(([, what]) => /^(next begins|next s|dynamic.*(suc|can)|the run)/.test(what))

  test('team C43: the requester’s dependents, by default: they begin with both results', async () => {
    const { lines } = await played(crew(plan, doings({})))
    expect(ends(lines)).toEqual([
      [20, 'dynamic_generalist_1 succeeded'],
      [20, 'next begins'],
      [21, 'next succeeded'],
      [21, 'the run completed'],
    ])
    expect(seen.pop()).toEqual(['boss', 'dynamic_generalist_1'])
  })

  test('team C43: `run`: only the answer of the whole', async () => {
    const { lines, outcome } = await played(crew(plan, doings({ join: 'run' })))
    expect(ends(lines)).toEqual([
      [5, 'next begins'],
      [6, 'next succeeded'],
      [20, 'dynamic_generalist_1 succeeded'],
      [20, 'the run completed'],
    ])
    expect(seen.pop()).toEqual(['boss'])
    expect(outcome).toMatchObject({ output: expect.stringContaining('help') as string })
  })

  test('team C43: `none`: no waiter; it is cancelled when the rest is done, and is no part of the answer', async () => {
    const { lines, outcome } = await played(crew(plan, doings({ join: 'none' })))
    expect(ends(lines)).toEqual([
      [5, 'next begins'],
      [6, 'next succeeded'],
      [6, 'dynamic_generalist_1 cancelled: everything else is done'],
      [6, 'the run completed'],
    ])
    expect(resultOf(outcome, 'dynamic_generalist_1')).toMatchObject({ status: 'cancelled' })
    expect(outcome).toMatchObject({ status: 'completed', output: expect.not.stringContaining('dynamic') as string })
  })

  test('`none` that is done in time is part of the answer', async () => {
    const { outcome } = await played(crew(plan, { ...doings({ join: 'none' }), help: 1 }))
    expect(outcome).toMatchObject({ output: expect.stringContaining('help') as string })
  })

  test('of another task, if it names one', async () => {
    const { lines } = await played(crew(plan, { ...doings({ parentTask: 'other' }), other: 2 }))
    expect(ends(lines)[0]).toEqual([5, 'next begins'])
  })

  test('a failed recruit is told to its waiters, and they go on', async () => {
    const help = async (): Promise<Json> => {
      throw new Error('no luck')
    }
    const { outcome } = await played(crew(plan, { ...doings({}), help }, { dependencies: { policy: 'require' } }))
    expect(seen.pop()).toEqual(['boss', 'dynamic_generalist_1'])
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 3, planned: 3 } } })
  })
})

describe('team C42: a recruit that fails', () => {
  const help = async (): Promise<Json> => {
    throw new Error('no luck')
  }
  const two = [task('boss'), task('fine')]

  test('is told in the results, and no failure of the plan', async () => {
    const { outcome } = await played(
      crew(two, { boss: asks({ description: 'help' }, { description: 'help', role: 'x' }), help }, { tolerance: 0 }),
    )
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 2, planned: 2 }, partial: false },
    })
    expect(resultOf(outcome, 'dynamic_generalist_1')).toMatchObject({
      status: 'failed',
      attempts: 3,
      failure: { message: expect.stringContaining('no luck') as string },
    })
  })

  test('is one where the team says so', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      await asks({ description: 'help' })(ctx)
      await sleep(ctx, 10_000)
      return 'b'
    }
    const options = { tolerance: 0, recruit: { countFailures: true } } as const
    const { outcome } = await played(crew(two, { boss, help }, options))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
  })
})

describe('the policy', () => {
  const ask = { boss: asks({ description: 'one', role: 'writer' }) }

  const nos: readonly (readonly [what: string, policy: TeamPolicy, why: string])[] = [
    ['says no', () => 'deny', ''],
    ['says why not', () => ({ verdict: 'deny', reason: 'not on a Friday' }), 'not on a Friday'],
    [
      'throws',
      () => {
        throw new Error('the line is dead')
      },
      'the line is dead',
    ],
    ['rejects', () => Promise.reject(new Error('the line is dead')), 'the line is dead'],
    ['says nothing that can be read', () => 'perhaps' as never, 'perhaps'],
    ['says nothing', () => undefined as never, ''],
  ]
  test.each(nos)('team C37: a policy that %s refuses; no one joins', async (_what, policy, why) => {
    const { outcome, events } = await played(crew([task('boss')], ask, { recruit: { policy } }))
    expect(outputOf(outcome, 'boss')).toMatchObject([
      { admitted: false, reason: 'policy', message: expect.stringContaining(why) as string },
    ])
    expect(factsOf(events, 'teammate.joined')).toHaveLength(1)
    expect(outcome.status).toBe('completed')
  })

  test('team C40: is asked for each request, with all facts; changing the question changes nothing', async () => {
    const questions: PolicyQuestion[] = []
    const policy = (question: PolicyQuestion): 'allow' | 'deny' => {
      questions.push({ ...question })
      ;(question as { role: string }).role = 'king'
      return questions.at(-1)?.role === 'admin' ? 'deny' : 'allow'
    }
    const boss = asksInTurn(
      { description: 'one', role: 'writer' },
      { description: 'one', role: 'admin' },
      { description: 'two', role: 'writer' },
    )
    const { outcome, events } = await played(crew([task('boss', { role: 'chief' })], { boss }, { recruit: { policy } }))
    expect(outputOf(outcome, 'boss')).toMatchObject([{ admitted: true }, { reason: 'policy' }, { admitted: true }])
    expect(questions).toMatchObject([
      {
        action: 'recruit',
        actor: 'chief_1',
        role: 'writer',
        description: 'one',
        run: 'traced',
        teamSize: 1,
        details: { parent: 'boss', join: 'parent' },
      },
      { action: 'recruit', role: 'admin', teamSize: 2 },
      { action: 'recruit', role: 'writer', description: 'two', teamSize: 2 },
    ])
    expect(factsOf(events, 'teammate.joined')[1]?.role).toBe('writer')
  })

  test('that of recruiting is asked before that of the team; a no of either is a no', async () => {
    const asked: string[] = []
    const says =
      (name: string, verdict: 'allow' | 'deny') =>
      (question: PolicyQuestion): 'allow' | 'deny' => {
        if (question.action !== 'recruit') return 'allow'
        asked.push(name)
        return verdict
      }
    for (const [own, common] of [
      ['deny', 'allow'],
      ['allow', 'deny'],
      ['allow', 'allow'],
    ] as const)
      await played(crew([task('boss')], ask, { recruit: { policy: says('own', own) }, policy: says('common', common) }))
    expect(asked).toEqual(['own', 'own', 'common', 'own', 'common'])
  })

  /** A policy that says yes when so many are asked at once. */
  const together = (count: number): (() => Promise<'allow'>) => {
    const free: (() => void)[] = []
    return async () => {
      await new Promise<void>((resolve) => {
        free.push(resolve)
        if (free.length === count) for (const go of free) go()
      })
      return 'allow'
    }
  }

  test('two wishes that are undecided at once do not both get the last place', async () => {
    const policy = together(2)
    const boss = asks({ description: 'one' }, { description: 'two' })
    const { outcome } = await played(crew([task('boss')], { boss }, { recruit: { policy }, maxTeamSize: 2 }))
    const answers = outputOf(outcome, 'boss') as unknown as Recruited[]
    expect(answers.filter((each) => each.admitted)).toHaveLength(1)
    expect(answers.find((each) => !each.admitted)).toMatchObject({ reason: 'team_size' })
  })

  test('two wishes for the same work that are undecided at once are one member', async () => {
    const policy = together(2)
    const boss = asks({ description: 'one' }, { description: 'one' })
    const { outcome } = await played(crew([task('boss')], { boss, one: 5 }, { recruit: { policy } }))
    expect(outputOf(outcome, 'boss')).toMatchObject([
      { member: 'dynamic_generalist_1', duplicate: false },
      { member: 'dynamic_generalist_1', duplicate: true },
    ])
  })

  test('the work is given up while it is asked: the wish comes too late, and the team ends', async () => {
    const policy = (): Promise<'allow'> => new Promise(() => undefined)
    const doings: Doings = {
      boss: asks({ description: 'one' }),
      bad: async (ctx) => {
        await sleep(ctx, 3_000)
        throw new Error('no luck')
      },
    }
    const { outcome, lines, events } = await played(
      crew([task('boss'), task('bad')], doings, { recruit: { policy }, tolerance: 0, retry: { attempts: 1 } }),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
    expect(factsOf(events, 'recruit.decided')).toMatchObject([{ admitted: false, reason: 'closed' }])
    // a policy that does not listen to its signal is given two seconds
    expect(lines.at(-1)).toEqual([5, 'the run failed'])
  })
})

describe('a human is asked where the policy leaves it to one', () => {
  const policy = ({ action }: PolicyQuestion): 'allow' | 'ask' => (action === 'recruit' ? 'ask' : 'allow')
  const boss = asks({ description: 'one', role: 'writer' })
  const asked = async (doings: Doings = { boss }): Promise<Staged> => {
    const stage = await staged(
      crew([task('boss', { role: 'chief' }), task('side')], { side: 5, ...doings }, { policy }),
    )
    await stage.until(7)
    return stage
  }

  test('team C37: who says yes: the recruit comes then; what else there is to do has gone on', async () => {
    const stage = await asked()
    const [approval] = await stage.runtime.approvals()
    expect(approval).toMatchObject({ tool: 'recruit', input: { role: 'writer', description: 'one', parent: 'boss' } })
    await stage.run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'Ann' })
    const { outcome, lines } = await stage.end()
    expect(outputOf(outcome, 'boss')).toMatchObject([{ admitted: true, member: 'dynamic_writer_1' }])
    expect(lines.filter(([, what]) => /for side|^side|dynamic_writer_1 (begins|is)/.test(what))).toEqual([
      [0, 'generalist_1 joins for side'],
      [0, 'side begins'],
      [5, 'side succeeded'],
      [7, 'dynamic_writer_1 is admitted'],
      [7, 'dynamic_writer_1 begins'],
    ])
  })

  test('who says no, with a reason', async () => {
    const stage = await asked()
    const [approval] = await stage.runtime.approvals()
    await stage.run.decide({ approvalId: approval!.id, decision: 'reject', comment: 'we are enough' })
    expect(outputOf((await stage.end()).outcome, 'boss')).toMatchObject([
      { admitted: false, reason: 'approval', message: 'it was not approved: we are enough' },
    ])
  })

  test('who says nothing in time has said no', async () => {
    const stage = await asked()
    const { outcome, lines } = await stage.end()
    expect(outputOf(outcome, 'boss')).toMatchObject([{ reason: 'approval', message: 'nobody decided in time' }])
    expect(lines.at(-1)?.[0]).toBeCloseTo(1_800, 2)
  })

  test('who changes the wish: that is what they do', async () => {
    const stage = await asked()
    const [approval] = await stage.runtime.approvals()
    await stage.run.decide({
      approvalId: approval!.id,
      decision: 'edit',
      input: { role: 'editor', description: 'half of it' },
    })
    const { outcome, events } = await stage.end()
    expect(resultOf(outcome, 'dynamic_editor_1')).toMatchObject({ output: 'half of it', role: 'editor' })
    expect(factsOf(events, 'recruit.decided')).toMatchObject([
      { admitted: true, role: 'editor', description: 'half of it' },
    ])
  })

  test('a cancel during the decision: no one joins, and no decision is needed', async () => {
    const stage = await asked()
    await stage.run.control.cancel('enough')
    const { outcome, events } = await stage.end()
    expect(outcome.status).toBe('cancelled')
    expect(await stage.runtime.approvals()).toEqual([])
    expect(factsOf(events, 'teammate.joined')).toHaveLength(2)
  })
})

describe('S1', () => {
  test('S1c: a recruit is on the team at once, and begins when there is a permit', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 1_000)
      await asks({ description: 'help' })(ctx)
      await sleep(ctx.scope('rest'), 9_000)
      return 'b'
    }
    const { lines } = await played(
      crew(
        [task('boss'), task('t1'), task('t2', { description: 'slow' })],
        { boss, t1: 4, slow: 30, help: 3 },
        { concurrency: 3 },
      ),
    )
    expect(lines.filter(([, what]) => what.includes('dynamic'))).toEqual([
      [1, 'dynamic_generalist_1 is admitted'],
      [1, 'dynamic_generalist_1 joins for dynamic_generalist_1'],
      [4, 'dynamic_generalist_1 begins'],
      [7, 'dynamic_generalist_1 succeeded'],
      [30, expect.stringContaining('answer of') as string],
    ])
  })
})
