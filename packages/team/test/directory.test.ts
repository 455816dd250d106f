/** The directory of a team: ids, roles, statuses. Spec team 1.9, R-3. */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type TeamEntry } from '@reeve/agent'
import type { Json, PlanResults } from '@reeve/core'
import { team } from '../src/index.ts'
import { Directory, type TeamMemberStatus } from '../src/state/directory.ts'
import { played, worker } from './trace.ts'

const someone = (member: string, role = 'analyst'): Omit<TeamEntry, 'status' | 'attempts'> => ({
  member,
  role,
  task: `task of ${member}`,
  recruited: false,
})

describe('ids', () => {
  test('are numbered from 1 in each role; those of recruits say so; none is used twice', () => {
    const directory = new Directory()
    const ids = [directory.newId('analyst', false), directory.newId('writer', false), directory.newId('analyst', false)]
    expect(ids).toEqual(['analyst_1', 'writer_1', 'analyst_2'])
    expect([directory.newId('analyst', true), directory.newId(' Analyst', true)]).toEqual([
      'dynamic_analyst_1',
      'dynamic_analyst_2',
    ])
  })

  test('a role of any words makes an id; roles that read alike share their numbers, so ids differ', () => {
    const directory = new Directory()
    const ids = [
      'Pricing Analyst',
      'pricing_analyst',
      'tech-expert',
      'Ökonom',
      '分析',
      '  ',
      '🙂',
      '*',
      'role:writer',
    ].map((role) => directory.newId(role, true))
    expect(ids).toEqual([
      'dynamic_pricing_analyst_1',
      'dynamic_pricing_analyst_2',
      'dynamic_tech-expert_1',
      'dynamic_ökonom_1',
      'dynamic_分析_1',
      'dynamic_member_1',
      'dynamic_member_2',
      'dynamic_member_3',
      'dynamic_role_writer_1',
    ])
    expect(directory.newId('x'.repeat(1_000), false)).toBe(`${'x'.repeat(48)}_1`)
  })

  test('an id used by a plan’s task or by a member is skipped', () => {
    const directory = new Directory()
    directory.join(someone('analyst_1'))
    expect(directory.newId('analyst', false, (id) => id === 'analyst_2')).toBe('analyst_3')
  })
})

describe('who is there', () => {
  test('team C14: roles ignore case and outer white space; an unknown one is an empty list; results are copies', () => {
    const directory = new Directory()
    for (const [member, role] of [
      ['a', 'analyst'],
      ['b', ' Analyst'],
      ['c', 'writer'],
    ] as const)
      directory.join(someone(member, role))
    expect(directory.list('Analyst ').map(({ member }) => member)).toEqual(['a', 'b'])
    expect(directory.list('analysts')).toEqual([])
    expect(directory.list('')).toEqual([])
    const list = directory.list() as TeamEntry[]
    ;(list[0] as { status: string }).status = 'failed'
    list.pop()
    expect(directory.list().map(({ member, status }) => `${member} ${status}`)).toEqual([
      'a pending',
      'b pending',
      'c pending',
    ])
    const got = directory.get('a') as { role: string }
    got.role = 'nobody'
    expect(directory.get('a')?.role).toBe('analyst')
  })

  test('counts all members ever, or those still there', () => {
    const directory = new Directory()
    for (const member of ['a', 'b', 'c']) directory.join(someone(member))
    directory.move('a', 'running')
    directory.move('a', 'completed')
    directory.move('b', 'skipped')
    expect([directory.size('ever'), directory.size('active')]).toEqual([3, 1])
    expect([directory.isThere('b'), directory.isThere('c'), directory.isThere('nobody')]).toEqual([false, true, false])
  })

  const all: readonly TeamMemberStatus[] = [
    'pending',
    'running',
    'paused',
    'completed',
    'failed',
    'retired',
    'cancelled',
    'skipped',
  ]
  const ways: Readonly<Partial<Record<TeamMemberStatus, readonly TeamMemberStatus[]>>> = {
    running: [],
    paused: ['running'],
    completed: ['running'],
    failed: ['running'],
    retired: [],
    cancelled: [],
    skipped: [],
  }
  test.each(['completed', 'failed', 'retired', 'cancelled', 'skipped'] as const)(
    'team C15: no member comes back from %s',
    (end) => {
      const directory = new Directory()
      directory.join(someone('a'))
      for (const status of [...(ways[end] ?? []), end]) directory.move('a', status)
      expect(directory.get('a')?.status).toBe(end)
      for (const status of all) directory.move('a', status)
      expect(directory.get('a')?.status).toBe(end)
    },
  )

  test('a member that has not begun cannot complete or pause', () => {
    const directory = new Directory()
    directory.join(someone('a'))
    directory.move('a', 'completed')
    directory.move('a', 'paused')
    expect(directory.get('a')?.status).toBe('pending')
    directory.move('nobody', 'running')
    expect(directory.get('nobody')).toBeUndefined()
  })

  test('a member to leave after its task retires at its end, however it ended', () => {
    const directory = new Directory()
    for (const [member, end] of [
      ['a', 'completed'],
      ['b', 'failed'],
    ] as const) {
      directory.join(someone(member))
      directory.move(member, 'running')
      directory.leaveAfterTask(member)
      expect([directory.isLeaving(member), directory.get(member)?.status]).toEqual([true, 'running'])
      directory.move(member, 'pending') // between two attempts
      directory.move(member, 'running')
      directory.move(member, end)
      expect([directory.isLeaving(member), directory.get(member)?.status]).toEqual([false, 'retired'])
    }
  })
})

describe('in a run', () => {
  const told = (entries: readonly TeamEntry[]): Json => entries.map(({ member, status }) => `${member} ${status}`)

  test('team C13: all planned members are listed as pending before any begins, and move with their tasks', async () => {
    const { outcome } = await played(
      team({
        name: 'analysts',
        concurrency: 2,
        roles: {
          generalist: worker({
            A: 12,
            B: async (ctx) => {
              const first = told(await teammate(ctx).team())
              await sleep(ctx, 13_000)
              return [first, told(await teammate(ctx).team())]
            },
            C: 30,
          }),
        },
        planner: {
          subtasks: [
            { id: 'a', description: 'A', role: 'analyst' },
            { id: 'b', description: 'B', role: 'expert' },
            { id: 'c', description: 'C', role: 'writer' },
            { id: 'd', description: 'D', role: 'writer', dependencies: ['c'] },
          ],
        },
      }),
    )
    expect((outcome as { results: PlanResults }).results.tasks[1]?.output).toEqual([
      ['analyst_1 running', 'expert_1 running', 'writer_1 pending', 'writer_2 pending'],
      ['analyst_1 completed', 'expert_1 running', 'writer_1 running', 'writer_2 pending'],
    ])
  })

  test('team C15: a member that failed three times is listed with count and reason; by role, with times', async () => {
    let list: readonly TeamEntry[] = []
    await played(
      team({
        name: 'analysts',
        retry: { backoffMs: 0 },
        roles: {
          generalist: worker({
            A: async () => {
              throw new Error('no luck')
            },
            B: async (ctx) => {
              await sleep(ctx, 5_000)
              list = await teammate(ctx).team(' ANALYST ')
              return 'b'
            },
          }),
        },
        planner: {
          subtasks: [
            { id: 'a', description: 'A', role: 'analyst' },
            { id: 'b', description: 'B', role: 'writer' },
          ],
        },
      }),
    )
    expect(list).toEqual([
      {
        member: 'analyst_1',
        role: 'analyst',
        task: 'a',
        recruited: false,
        status: 'failed',
        attempts: 3,
        lastError: expect.stringContaining('no luck') as string,
        startedAt: expect.any(Number) as number,
        endedAt: expect.any(Number) as number,
      },
    ])
  })
})
