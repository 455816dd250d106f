/**
 * Edits of plans at their edges, by a human who has the run: what is refused, what is given up, several at once, on the
 * virtual clock. Spec team C72, C73, R-2, R-10, R-13.
 */
import { describe, expect, test } from 'vitest'
import { failure, FailureError } from '@reeve/core'
import { sleep } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import type { PlanEdit } from '../src/index.ts'
import { crew, staged, task, type Staged } from './trace.ts'

async function done<T>(stage: Staged, command: Promise<T>): Promise<T> {
  const settled = command.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  )
  await stage.rests()
  const end = await settled
  if ('thrown' in end) throw end.thrown
  return end.value
}
const breaks = async (): Promise<never> => {
  throw new FailureError(failure('agent.failed', 'broken', 'validation'))
}

/** A fails at once; B takes ten seconds; the others come after B. */
const at = async (second: number, doings: Parameters<typeof crew>[1], options?: Parameters<typeof crew>[2]) => {
  const plan = ['A', 'B']
    .map((id) => task(id))
    .concat(['C', 'D', 'E', 'F'].map((id) => task(id, { dependencies: ['B'] })))
  const stage = await staged(crew(plan, { B: 10, C: 5, D: 5, E: 5, F: 5, ...doings }, options))
  await stage.until(second)
  await done(stage, stage.run.control.takeOver({ by: 'ann' }))
  return stage
}
const back = (stage: Staged, plan: PlanEdit): Promise<void> =>
  done(stage, stage.run.control.handBack({ plan, by: 'ann' }))

describe('how much may fail, of a plan that was edited', () => {
  test('team C72: an exceeded tolerance gives the plan up at the hand back, and nothing more begins', async () => {
    const stage = await at(1, { A: breaks }, { tolerance: 50 })
    await back(stage, { tolerance: 0 })
    const { lines, outcome } = await stage.end()
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
    expect(lines.filter(([, what]) => what.endsWith('begins')).map(([, what]) => what[0])).toEqual(['A', 'B'])
  })

  test('a maxFailures that is reached already, too', async () => {
    const stage = await at(1, { A: breaks }, { tolerance: 50 })
    await back(stage, { maxFailures: 1 })
    expect((await stage.end()).outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
  })

  test('a plan of which most is removed tolerates what is tolerated of the rest: all of it may not fail', async () => {
    const later = async (ctx: Context): Promise<never> => (await sleep(ctx, 5_000), breaks())
    const stage = await at(1, { A: breaks, B: later }, { tolerance: 50 })
    await back(stage, { remove: ['C', 'D', 'E', 'F'] })
    expect((await stage.end()).outcome).toMatchObject({ status: 'failed' })
  })
})

describe('what an edit may say', () => {
  const refused: readonly (readonly [string, PlanEdit | object, RegExp])[] = [
    ['a task that others depend on is removed', { remove: ['B'] }, /"B" has begun/],
    [
      'one that was not begun, and another waits for it',
      { replace: [task('D', { dependencies: ['C'] })], remove: ['C'] },
      /depends on "C"/,
    ],
    [
      'a circle through a task that stays',
      { replace: [task('C', { dependencies: ['D'] }), task('D', { dependencies: ['C'] })] },
      /wait for each other/,
    ],
    ['a task that waits for itself', { add: [task('G', { dependencies: ['G'] })] }, /"G"/],
    ['an id that there is', { add: [task('C')] }, /"C"/],
    ['an id of a member that is at work is replaced', { replace: [task('B')] }, /"B" has begun/],
    ['a role that is none', { roles: { C: '' } }, /role of "C"/],
    ['a role of a task that there is not', { roles: { Z: 'generalist' } }, /no task "Z"/],
    ['a result of an ended task', { results: { A: 'x' } }, /"A" has ended/],
    ['a result that is none', { results: { C: () => 1 } }, /results/],
    ['results that are a list', { results: [1] }, /results/],
    ['a maxFailures that is none', { maxFailures: 0.5 }, /maxFailures/],
    ['a tolerance that is none', { tolerance: 101 }, /tolerance/],
    ['a concurrency that is none', { concurrency: 0 }, /concurrency/],
    ['an option that there is not', { faster: true }, /faster/],
    ['a task with a field that there is not', { add: [{ id: 'G', description: 'G', hurry: true }] }, /hurry/],
    ['a task without a description', { add: [{ id: 'G' }] }, /description/],
    ['removed and given a result at once', { remove: ['F'], results: { F: 1 } }, /"F" is removed/],
    ['removed and replaced at once', { remove: ['F'], replace: [task('F')] }, /removed and replaced/],
  ]
  test.each(refused)('team C72: %s: refused, the human still has it, nothing changed', async (_what, plan, why) => {
    const stage = await at(1, {})
    const before = (await stage.run.view()).teams
    await expect(back(stage, plan as PlanEdit)).rejects.toMatchObject({
      code: 'plan.invalid',
      message: expect.stringMatching(why) as string,
    })
    expect((await stage.run.view()).status).toBe('human_control')
    expect((await stage.run.view()).teams).toEqual(before)
    await back(stage, {})
    expect((await stage.end()).outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 6, planned: 6 } },
    })
  })

  test('team R-2, C72: what has ended waits for nothing: a hand back adds another round of review', async () => {
    const review = [
      task('review', { produces: ['remarks'] }),
      task('draft', { consumes: ['remarks'] }),
      task('last', { dependencies: ['draft'] }),
    ]
    const stage = await staged(crew(review, { review: 1, draft: 1, last: 5, again: 1 }))
    await stage.until(3)
    await done(stage, stage.run.control.takeOver({ by: 'bob', at: 'now' }))
    await back(stage, { add: [task('again', { dependencies: ['draft'], produces: ['remarks'] })] })
    expect((await stage.end()).outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 4, planned: 4 } },
    })
  })

  test('team C72: two edits, one after the other: the second is looked at with what the first has made of it', async () => {
    const stage = await at(1, { G: 5, H: 5 })
    await back(stage, { add: [task('G', { dependencies: ['C'] })] })
    await done(stage, stage.run.control.takeOver({ by: 'bob' }))
    await expect(back(stage, { remove: ['C'] })).rejects.toThrow(/"G" depends on "C"/)
    await back(stage, {
      add: [task('H', { dependencies: ['G'] })],
      replace: [task('G', { dependencies: ['D'] })],
      remove: ['C'],
    })
    const { outcome, lines } = await stage.end()
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 7, planned: 7 } } })
    expect(lines.filter(([, what]) => /^[GH] /u.test(what) && !what.includes('unblocked'))).toEqual([
      [15, 'G begins'],
      [20, 'G succeeded'],
      [20, 'H begins'],
      [25, 'H succeeded'],
    ])
  })

  test('team C73: falsy results are results', async () => {
    const stage = await at(1, {})
    await back(stage, { results: { C: 0, D: '', E: false, F: null } })
    const { outcome } = await stage.end()
    expect(outcome.results?.tasks.slice(2).map(({ output, status }) => [status, output])).toEqual([
      ['succeeded', 0],
      ['succeeded', ''],
      ['succeeded', false],
      ['succeeded', null],
    ])
  })

  test('all work is done during a takeover: the run is open, and an added task is refused or done', async () => {
    const stage = await at(1, { G: 5 })
    const given = (id: string) =>
      done(stage, stage.run.control.complete({ task: id, output: id })).then(
        () => 'done',
        (thrown: { code?: string }) => thrown.code,
      )
    const ends: unknown[] = []
    for (const id of ['A', 'B', 'C', 'D', 'E', 'F']) ends.push(await given(id))
    expect(ends).toEqual(['delegation.ended', 'done', 'done', 'done', 'done', 'done'])
    await stage.until(50)
    expect((await stage.run.view()).status).toBe('human_control')
    await expect(back(stage, { add: [task('G')] })).rejects.toMatchObject({
      code: expect.stringMatching(/plan.invalid|run.ended/) as string,
    })
    await done(stage, stage.run.control.handBack())
    expect((await stage.end()).outcome).toMatchObject({ status: 'completed' })
  })
})
