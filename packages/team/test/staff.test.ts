/**
 * Joining and leaving at their edges, second by second: what spec team 1.8 and 1.9 (R-8, R-8b, R-9) say word by word.
 * Embedded engine only.
 */
import { describe, expect, test } from 'vitest'
import {
  sleep,
  teammate,
  type Agent,
  type Recruited,
  type RecruitRequest,
  type Retired,
  type TeamEntry,
} from '@reeve/agent'
import { type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type Lead, type LeadMoment, type Subtask, type TeamOptions } from '../src/index.ts'
import { played, staged, worker, type Doings } from './trace.ts'

const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const crew = (doings: Doings, more: Partial<TeamOptions<string>> = {}, tasks?: readonly Subtask[]): Agent =>
  team({
    name: 'crew',
    roles: { generalist: worker(doings) },
    planner: { subtasks: tasks ?? Object.keys(doings).map((id) => task(id)) },
    ...more,
  })
const of = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { readonly type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { readonly type: T }>] : []))
interface Result {
  readonly task: string
  readonly status: string
  readonly attempts: number
  readonly member: string
  readonly output: Json
}
const resultOf = (outcome: object, id: string): Result =>
  (outcome as { readonly results: { readonly tasks: readonly Result[] } }).results.tasks.find(
    (each) => each.task === id,
  )!
const json = (value: unknown): Json => value as Json
const wishes =
  (...list: readonly RecruitRequest[]) =>
  async (ctx: Context): Promise<Json> => {
    const said: Recruited[] = []
    for (const wish of list) said.push(await teammate(ctx).recruit(wish))
    return json(said.map((each) => (each.admitted ? `${each.member}${each.duplicate ? '!' : ''}` : each.reason)))
  }
const after =
  (seconds: number, doing: (ctx: Context) => Promise<Json>) =>
  async (ctx: Context): Promise<Json> => {
    await sleep(ctx, seconds * 1_000)
    return doing(ctx)
  }
const helps = { help: 2, more: 2 }

describe('who may come', () => {
  test('team C38: the last slot goes to the first of two requests; duplicates are checked after room', async () => {
    const { outcome } = await played(
      crew(
        {
          a: wishes({ description: 'help' }),
          b: wishes({ description: 'more' }, { description: ' HELP\n' }),
          ...helps,
        },
        { maxTeamSize: 3 },
        [task('a'), task('b')],
      ),
    )
    expect(resultOf(outcome, 'a').output).toEqual(['dynamic_generalist_1'])
    // literally: the size is asked before the duplicate
    expect(resultOf(outcome, 'b').output).toEqual(['team_size', 'team_size'])
  })

  test.each([
    [{ perMember: 0 }, ['per_member', 'per_member']],
    [{ perMember: 1 }, ['dynamic_generalist_1', 'per_member']],
    [{ depth: 0 }, ['depth', 'depth']],
  ])('bounds of %o', async (recruit, said) => {
    const { outcome } = await played(
      crew({ a: wishes({ description: 'help' }, { description: 'more' }), ...helps }, { recruit }, [task('a')]),
    )
    expect(resultOf(outcome, 'a').output).toEqual(said)
  })

  test('only own recruits count: an outside request in a member’s name uses none of its allowance', async () => {
    const stage = await staged(
      crew({ a: after(5, wishes({ description: 'mine' })), x: 1, y: 1, z: 1, mine: 1 }, {}, [task('a')]),
    )
    const asked = ['x', 'y', 'z'].map((description) => stage.run.team.recruit({ description, by: 'generalist_1' }))
    const { outcome } = await stage.end()
    expect((await Promise.all(asked)).map(({ admitted }) => admitted)).toEqual([true, true, true])
    expect(resultOf(outcome, 'a').output).toEqual(['dynamic_generalist_4'])
  })

  test('a recruit of a recruit of a recruit is too deep; the first task’s dependents wait for all', async () => {
    const { outcome, lines } = await played(
      crew(
        {
          a: wishes({ description: 'one', role: 'r' }),
          one: after(1, wishes({ description: 'two', role: 'r' })),
          two: after(1, wishes({ description: 'three', role: 'r' })),
          three: 1,
          last: async (ctx) => json(Object.keys(teammate(ctx).inputs)),
        },
        {},
        [task('a'), task('last', { dependencies: ['a'] })],
      ),
    )
    expect(resultOf(outcome, 'a').output).toEqual(['dynamic_r_1'])
    expect(resultOf(outcome, 'dynamic_r_1').output).toEqual(['dynamic_r_2'])
    expect(resultOf(outcome, 'dynamic_r_2').output).toEqual(['depth'])
    expect(resultOf(outcome, 'last').output).toEqual(['a', 'dynamic_r_1', 'dynamic_r_2'])
    expect(lines).toContainEqual([2, 'last begins'])
  })

  test('a parent with working dependents: only the answer waits; one that ended: its pending dependents do', async () => {
    const { outcome, lines } = await played(
      crew(
        {
          p: 1,
          now: 5,
          boss: after(2, wishes({ description: 'help', parentTask: 'p' })),
          later: async (ctx) => json(Object.keys(teammate(ctx).inputs)),
          help: 10,
        },
        {},
        [task('p'), task('now', { dependencies: ['p'] }), task('boss'), task('later', { dependencies: ['p', 'now'] })],
      ),
    )
    expect(lines).toContainEqual([6, 'now succeeded'])
    expect(lines).toContainEqual([12, 'later begins'])
    expect(resultOf(outcome, 'later').output).toEqual(['p', 'now', 'dynamic_generalist_1'])
  })

  test('a role may have any name: ids are plain, unique, and no object properties', async () => {
    const names = [
      '__proto__',
      'constructor',
      ' Ä b/c ',
      '🦊',
      'x'.repeat(200),
      'x'.repeat(201),
      '1',
      '_',
      'dynamic_generalist',
    ]
    const { outcome, events } = await played(
      crew(
        { a: wishes(...names.map((role, i) => ({ description: `d${i}`, role }))) },
        { maxTeamSize: 100, recruit: { perMember: 100 } },
        [task('a')],
      ),
    )
    const said = resultOf(outcome, 'a').output as string[]
    expect(said[5]).toBe('invalid')
    const ids = said.filter((_each, i) => i !== 5)
    expect(new Set(ids).size).toBe(8)
    for (const id of ids) expect(id).toMatch(/^dynamic_[\p{L}\p{N}_-]+_\d+$/u)
    expect(of(events, 'teammate.joined').map(({ role }) => role)).toEqual([
      'generalist',
      ...names.filter((_each, i) => i !== 5).map((each) => each.trim()),
    ])
    for (const id of ids) expect(resultOf(outcome, id).status).toBe('succeeded')
  })

  test('a failed recruit is no duplicate: the same request again is a new member', async () => {
    const { outcome } = await played(
      crew(
        {
          a: async (ctx) => [
            await wishes({ description: 'bad' })(ctx),
            await after(3, wishes({ description: 'bad' }))(ctx),
          ],
          bad: () => Promise.reject(new Error('bad')),
        },
        { retry: { backoffMs: 0 } },
        [task('a')],
      ),
    )
    expect(resultOf(outcome, 'a').output).toEqual([['dynamic_generalist_1'], ['dynamic_generalist_2']])
  })

  test('after the give-up no one joins: closed', async () => {
    const stage = await staged(
      crew({ a: () => Promise.reject(new Error('bad')), b: 5 }, { retry: { backoffMs: 0 }, tolerance: 0 }, [
        task('a'),
        task('b'),
      ]),
    )
    await stage.end()
    expect(await stage.run.team.recruit({ description: 'late' })).toMatchObject({ admitted: false, reason: 'closed' })
    expect(await stage.run.team.retire({ member: 'generalist_1' })).toMatchObject({ retired: false, reason: 'closed' })
  })
})

describe('who leaves', () => {
  const leaves =
    (member: string, more: object = {}) =>
    async (ctx: Context): Promise<Json> => {
      const said: Retired = await teammate(ctx).retire({ member, ...more })
      return said.retired || said.reason
    }
  test('by its own request: gracefully it ends its task; by force a new member has it', async () => {
    const { outcome, events } = await played(
      crew({
        a: async (ctx) => [await leaves('generalist_1')(ctx), await leaves('generalist_1')(ctx)],
        b: async (ctx) =>
          teammate(ctx).member === 'generalist_2' ? leaves('generalist_2', { mode: 'force' })(ctx) : 'b anew',
      }),
    )
    expect(resultOf(outcome, 'a')).toMatchObject({
      status: 'succeeded',
      member: 'generalist_1',
      output: [true, 'ended'],
    })
    expect(resultOf(outcome, 'b')).toMatchObject({ status: 'succeeded', member: 'generalist_3', output: 'b anew' })
    expect(of(events, 'teammate.retired')).toHaveLength(2)
  })

  test('one that waits for its dependencies: the new member waits for them, and gets them', async () => {
    const { outcome, lines } = await played(
      crew(
        {
          a: 3,
          boss: leaves('generalist_3'),
          last: async (ctx) => json([teammate(ctx).member, Object.keys(teammate(ctx).inputs)]),
        },
        {},
        [task('a'), task('boss'), task('last', { dependencies: ['a'] })],
      ),
    )
    expect(resultOf(outcome, 'last')).toMatchObject({ output: ['generalist_4', ['a']], attempts: 1 })
    expect(lines).toContainEqual([3, 'last begins'])
  })

  test('between two attempts: by force a new member has the remaining ones; no attempt is used up', async () => {
    let tries = 0
    const { outcome } = await played(
      crew(
        {
          a: async (ctx) => {
            await sleep(ctx, 1_000)
            if (++tries < 3) throw new Error('not yet')
            return teammate(ctx).member
          },
          boss: after(1.5, leaves('generalist_1', { mode: 'force' })),
        },
        { retry: { attempts: 3, backoffMs: 2_000, jitter: false } },
      ),
    )
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', output: 'generalist_3' })
  })

  test('a second time by force: its task has failed; without reassigning, the first time', async () => {
    const { outcome } = await played(
      crew({
        a: 100,
        b: 100,
        boss: async (ctx) => {
          const said = [
            await leaves('generalist_1', { mode: 'force' })(ctx),
            await leaves('generalist_2', { mode: 'force', reassign: false })(ctx),
          ]
          await sleep(ctx, 1_000)
          return [...said, await leaves('generalist_6', { mode: 'force' })(ctx)]
        },
        c: 1,
        d: 1,
      }),
    )
    expect(resultOf(outcome, 'boss').output).toEqual([true, true, true])
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'failed', failure: { code: 'worker.failed' } })
    expect(resultOf(outcome, 'b')).toMatchObject({ status: 'failed' })
  })

  test('a recruit by force: its successor is a recruit too, with the same task and dependents', async () => {
    const { outcome, lines } = await played(
      crew(
        {
          a: async (ctx) => {
            const [member] = (await wishes({ description: 'help', role: 'scout' })(ctx)) as [string]
            await sleep(ctx, 1_000)
            return leaves(member, { mode: 'force' })(ctx)
          },
          help: 5,
          last: 1,
        },
        {},
        [task('a'), task('last', { dependencies: ['a'] })],
      ),
    )
    expect(resultOf(outcome, 'dynamic_scout_1')).toMatchObject({
      status: 'succeeded',
      member: 'dynamic_scout_2',
      recruited: true,
    })
    expect(lines).toContainEqual([6, 'last begins'])
  })

  test('R-9: a listing shows all in join order, each with its state; a copy each time', async () => {
    const stage = await staged(
      crew(
        {
          a: 1,
          b: after(2, async (ctx) => json(await teammate(ctx).team())),
          c: () => Promise.reject(new Error('bad')),
          d: 1,
        },
        { retry: { attempts: 1 } },
        [task('a'), task('b'), task('c'), task('d', { dependencies: ['b'] })],
      ),
    )
    const { outcome } = await stage.end()
    const seen = resultOf(outcome, 'b').output as unknown as TeamEntry[]
    expect(seen.map(({ member, status, attempts }) => [member, status, attempts])).toEqual([
      ['generalist_1', 'completed', 1],
      ['generalist_2', 'running', 0],
      ['generalist_3', 'failed', 1],
      ['generalist_4', 'pending', 0],
    ])
    expect(seen[2]!.lastError).toContain('bad')
  })
})

describe('the lead', () => {
  const ledBy = (lead: Lead, doings: Doings, more: Partial<TeamOptions<string>> = {}): Agent =>
    crew(doings, { lead, ...more })
  const first =
    (orders: (moment: LeadMoment) => ReturnType<Lead>): Lead =>
    (moment) =>
      moment.ended.task === 'a' ? orders(moment) : []

  test.each([
    ['a cycle with itself', [task('x', { dependencies: ['y'] }), task('y', { dependencies: ['x'] })]],
    ['a task that there is', [task('b')]],
    ['a dependency on nobody', [task('x', { dependencies: ['nobody'] })]],
    ['an empty id', [task('')]],
  ])('adds %s: nothing is added, it is said why, and the work goes on', async (_what, add) => {
    const { outcome, events } = await played(
      ledBy(
        first(() => [{ add }, { post: { to: '*', content: 'still here' } }]),
        { a: 1, b: 3 },
      ),
    )
    expect(outcome.status).toBe('completed')
    expect(of(events, 'plan.revised')).toEqual([])
    expect(of(events, 'hook.failed')).toHaveLength(1)
    expect(of(events, 'mail.accepted')).toMatchObject([{ from: 'lead' }])
  })

  test('adds to ended tasks: dependents begin at once, with the result; the whole waits for them', async () => {
    const { outcome, lines } = await played(
      ledBy(
        first(() => [{ add: [task('x', { dependencies: ['a'] })] }]),
        { a: 1, x: async (ctx) => json(teammate(ctx).inputs['a']!.output) },
        {
          planner: { subtasks: [task('a')] },
        },
      ),
    )
    expect(lines).toContainEqual([1, 'x begins'])
    expect(resultOf(outcome, 'x')).toMatchObject({ output: 'a' })
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 2, planned: 2 } } })
  })

  test('retires and recruits like a member: within the same bounds, refused with the same words', async () => {
    const { outcome, events } = await played(
      ledBy(
        first(() => [
          { retire: { member: 'nobody_1' } },
          { retire: { member: 'generalist_2', mode: 'force' } },
          { recruit: { description: 'help' } },
          { recruit: { description: '' } },
        ]),
        {
          a: 1,
          b: async (ctx) => (teammate(ctx).member === 'generalist_2' ? sleep(ctx, 50_000).then(() => 'b') : 'b anew'),
          help: 1,
        },
        { maxTeamSize: 3, planner: { subtasks: [task('a'), task('b')] } },
      ),
    )
    expect(outcome.status).toBe('completed')
    expect(resultOf(outcome, 'b').output).toBe('b anew')
    expect(of(events, 'retire.refused')).toMatchObject([{ reason: 'unknown', by: 'lead' }])
    const decided = of(events, 'recruit.decided')
    expect(decided).toHaveLength(2)
    expect(decided).toContainEqual(expect.objectContaining({ admitted: false, reason: 'invalid' }))
  })

  test('what it does to what it is shown changes nothing', async () => {
    const { outcome } = await played(
      ledBy(
        (moment) => {
          Object.assign(moment.ended, { status: 'failed', task: 'zzz' })
          ;(moment.tasks as unknown[]).length = 0
          ;(moment.team as unknown[]).length = 0
        },
        { a: 1, b: 2 },
      ),
    )
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2, planned: 2 } } })
  })
})
