/**
 * A human takes a planned team over, edits its plan, does tasks by hand, hands it back: spec team C65 to C73, S2i, S2j,
 * on the virtual clock.
 */
import { describe, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { manualStart } from '@reeve/testing'
import type { Subtask } from '../src/index.ts'
import { crew, staged, task, worker, type Line, type Staged } from './trace.ts'

/** The market analysis without its recruit (spec team 2.1): A to D at once, then E, then F. */
const seconds = { A: 15, B: 12, C: 18, D: 15, E: 15, F: 10, G: 5 }
const analysis: readonly Subtask[] = [
  ...['A', 'B', 'C', 'D'].map((id) => task(id)),
  task('E', { dependencies: ['A', 'B', 'C', 'D'] }),
  task('F', { dependencies: ['E'] }),
]
const market = (options: Parameters<typeof crew>[2] = {}) => crew(analysis, seconds, options)

const of = (lines: readonly Line[], ...tasks: string[]): readonly Line[] =>
  lines.filter(([, what]) => tasks.some((id) => what.startsWith(`${id} `)) && !what.includes('unblocked'))

/** Everything that is awaited of a run whose clock stands still. */
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

const taken = async (second: number, options?: Parameters<typeof crew>[2]) => {
  const stage = await staged(market(options))
  await stage.until(second)
  const context = await done(stage, stage.run.control.takeOver({ by: 'ann', reason: 'mine' }))
  return { stage, context, run: stage.run }
}

const ids = (steps: readonly { readonly id: string }[]): string[] => steps.map(({ id }) => id)

describe('pausing a planned team', () => {
  test('team C98: S2i paused at 20, resumed at 60: E ends at 33, F begins at 60 and ends at 70', async () => {
    const stage = await staged(market())
    await stage.until(20)
    await stage.run.control.pause({ by: 'ann' })
    await stage.until(60)
    await stage.run.control.resume('ann')
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'E', 'F')).toEqual([
      [18, 'E begins'],
      [33, 'E succeeded'],
      [60, 'F begins'],
      [70, 'F succeeded'],
    ])
    expect(outcome.status).toBe('completed')
  })

  test('team C65: paused at 5, resumed at 60: task 1 ends at 10, task 2 begins at 60; the first reason stays', async () => {
    const three = ['one', 'two', 'three'].map((id) => task(id))
    const stage = await staged(crew(three, { one: 10, two: 10, three: 10 }, { strategy: 'sequential' }))
    await stage.run.control.resume('early')
    await stage.until(5)
    await stage.run.control.pause({ by: 'ann', reason: 'lunch' })
    await stage.rests()
    await stage.run.control.pause({ by: 'bob', reason: 'other' })
    await stage.until(30)
    expect(await stage.run.control.state()).toEqual({
      state: 'paused',
      since: manualStart + 5_000,
      by: 'ann',
      reason: 'lunch',
      ops: [
        { op: 'resume', at: manualStart, accepted: false, why: 'it is not paused', by: 'early' },
        { op: 'pause', at: manualStart + 5_000, accepted: true, by: 'ann', reason: 'lunch' },
        {
          op: 'pause',
          at: manualStart + 5_000,
          accepted: false,
          why: 'it is paused already',
          by: 'bob',
          reason: 'other',
        },
      ],
    })
    await stage.until(60)
    await stage.run.control.resume('ann')
    const { lines } = await stage.end()
    expect(of(lines, 'one', 'two')).toEqual([
      [0, 'one begins'],
      [10, 'one succeeded'],
      [60, 'two begins'],
      [70, 'two succeeded'],
    ])
    expect((await stage.run.control.state()).ops.at(-1)).toEqual({
      op: 'resume',
      at: manualStart + 60_000,
      accepted: true,
      by: 'ann',
    })
  })

  test('team C66: paused while two of four work, no queued task begins, though permits are free', async () => {
    const four = ['one', 'two', 'three', 'four'].map((id) => task(id))
    const stage = await staged(crew(four, { one: 10, two: 20, three: 10, four: 10 }, { concurrency: 2 }))
    await stage.until(5)
    await stage.run.control.pause()
    await stage.until(90)
    expect((await stage.run.view()).teams[0]!.plan.tasks.map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
      'pending',
      'pending',
    ])
    await stage.run.control.resume()
    const { lines } = await stage.end()
    expect(of(lines, 'three', 'four').filter(([, what]) => what.endsWith('begins'))).toEqual([
      [90, 'three begins'],
      [90, 'four begins'],
    ])
  })

  test('team C70: paused in the second in which a task ends, the next does not begin', async () => {
    const stage = await staged(crew([task('one'), task('two', { dependencies: ['one'] })], { one: 10, two: 10 }))
    await stage.until(9)
    await stage.rests()
    const paused = stage.run.control.pause()
    stage.clock.advance(1_000)
    await paused
    await stage.until(50)
    expect((await stage.run.view()).teams[0]!.plan.tasks.map(({ status }) => status)).toEqual(['succeeded', 'pending'])
    await stage.run.control.resume()
    const { lines } = await stage.end()
    expect(of(lines, 'two')).toEqual([
      [50, 'two begins'],
      [60, 'two succeeded'],
    ])
  })

  test('team C69: a second cancel changes nothing; after a completion it is an error, after a cancel not', async () => {
    const stage = await staged(market())
    await stage.until(5)
    await stage.run.control.cancel('enough', 'ann')
    await stage.run.control.cancel('again', 'bob')
    const { outcome, events } = await stage.end()
    expect(outcome).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(
      events.filter(({ activation, event }) => event.type === 'cancel.received' && !activation.includes('>')),
    ).toHaveLength(1)
    await stage.run.control.cancel('once more')
    const other = await staged(crew([task('one')]))
    expect((await other.end()).outcome.status).toBe('completed')
    await expect(other.run.control.cancel()).rejects.toMatchObject({ code: 'run.ended' })
    expect(await other.run.outcome()).toMatchObject({ status: 'completed' })
  })
})

describe('taking a planned team over', () => {
  test('team C98: S2j taken over at 20, handed back at 100: E’s result is kept, F works from 100 to 110', async () => {
    const { stage, context, run } = await taken(20)
    expect(context).toMatchObject({
      takenOver: true,
      owner: 'ann',
      reason: 'mine',
      currentStep: 5,
      totalSteps: 6,
      suggestedNextAction: { type: 'wait', for: ['E'] },
    })
    expect([context.completed, context.inFlight, context.pending, context.failed, context.skipped].map(ids)).toEqual([
      ['A', 'B', 'C', 'D'],
      ['E'],
      ['F'],
      [],
      [],
    ])
    expect(context.results).toEqual({ A: 'a', B: 'b', C: 'c', D: 'd' })
    await stage.until(100)
    expect((await run.view()).status).toBe('human_control')
    const later = await run.control.context()
    expect(later).toMatchObject({
      results: { E: 'e' },
      suggestedNextAction: { type: 'task', task: 'F' },
      currentStep: 6,
    })
    await done(stage, run.control.handBack({ by: 'ann' }))
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'E', 'F')).toEqual([
      [18, 'E begins'],
      [33, 'E succeeded'],
      [100, 'F begins'],
      [110, 'F succeeded'],
    ])
    expect(lines.at(-1)).toEqual([110, 'the run completed'])
    expect(outcome).toMatchObject({ status: 'completed', results: { partial: false } })
    expect((await run.control.state()).ops.map(({ op, by, accepted }) => [op, by, accepted])).toEqual([
      ['takeover', 'ann', true],
      ['handback', 'ann', true],
    ])
  })

  test('team C71: the lists of the document are disjoint and have every task; it is JSON, and a copy', async () => {
    const { stage, context, run } = await taken(20)
    const all = [context.completed, context.inFlight, context.pending, context.failed, context.skipped].flatMap(ids)
    expect([...all].sort()).toEqual(['A', 'B', 'C', 'D', 'E', 'F'])
    expect(new Set(all).size).toBe(all.length)
    expect(JSON.parse(JSON.stringify(context))).toEqual(context)
    ;(context.results as Record<string, Json>)['A'] = 'changed'
    expect((await run.control.context()).results['A']).toBe('a')
    expect(context.plan?.subtasks.map(({ id, status }) => [id, status])).toEqual([
      ['A', 'succeeded'],
      ['B', 'succeeded'],
      ['C', 'succeeded'],
      ['D', 'succeeded'],
      ['E', 'running'],
      ['F', 'waiting'],
    ])
    expect(context).toMatchObject({
      unreadMail: 0,
      pendingApprovals: [],
      budget: { used: [], remaining: {} },
      agent: 'crew',
    })
    expect(context.cursor).toBeGreaterThan(0)
    await done(stage, run.control.handBack())
    await stage.end()
  })

  test('team C71: the first owner stays; resume, and a hand back without takeover or after the end, fail', async () => {
    const { stage, run } = await taken(20)
    expect(await done(stage, run.control.takeOver({ by: 'bob' }))).toMatchObject({ takenOver: false, owner: 'ann' })
    await expect(run.control.resume('bob')).rejects.toMatchObject({ code: 'run.taken-over' })
    await done(stage, run.control.handBack({ by: 'ann' }))
    await expect(run.control.handBack()).rejects.toMatchObject({ code: 'run.not-taken-over' })
    await expect(run.control.finish({ output: 'x' })).rejects.toMatchObject({ code: 'run.not-taken-over' })
    await stage.end()
    await expect(run.control.takeOver()).rejects.toMatchObject({ code: 'run.ended' })
    await expect(run.control.handBack()).rejects.toMatchObject({ code: 'run.ended' })
    await expect(run.control.finish({ output: 'x' })).rejects.toMatchObject({ code: 'run.ended' })
    await expect(run.control.complete({ task: 'F', output: 'x' })).rejects.toMatchObject({ code: 'delegation.ended' })
    expect((await run.control.state()).state).toBe('completed')
  })

  test('taken over while it is paused: a takeover wakes it, the pause is forgotten at the hand back (X40)', async () => {
    const stage = await staged(market())
    await stage.until(20)
    await stage.run.control.pause({ by: 'pat' })
    await stage.until(40)
    expect((await stage.run.view()).status).toBe('paused')
    expect((await done(stage, stage.run.control.takeOver({ by: 'ann' }))).takenOver).toBe(true)
    await stage.until(50)
    await done(stage, stage.run.control.handBack())
    const { lines } = await stage.end()
    expect(of(lines, 'F')).toEqual([
      [50, 'F begins'],
      [60, 'F succeeded'],
    ])
  })

  test('what is wrong with a command is said at once, and nothing is changed', async () => {
    const { stage, run } = await taken(20)
    await expect(run.control.takeOver({ by: '', at: 'later', whom: 1 } as never)).rejects.toMatchObject({
      code: 'input.invalid',
    })
    await expect(run.control.handBack({ plan: [] } as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(run.control.complete({ output: 'x' })).rejects.toThrow(/one of "task" and "delegation"/)
    await expect(run.control.complete({ task: 'F' } as never)).rejects.toThrow(/output is missing/)
    await expect(run.control.complete({ task: 'X', output: 1 })).rejects.toMatchObject({ code: 'delegation.unknown' })
    await expect(run.control.complete({ task: 'A', output: 1 })).rejects.toMatchObject({ code: 'delegation.ended' })
    await expect(run.control.finish({ output: undefined } as never)).rejects.toMatchObject({ code: 'input.invalid' })
    await done(stage, run.control.handBack())
    expect((await stage.end()).outcome.status).toBe('completed')
  })
})

describe('editing the plan of a team that was taken over', () => {
  test('team C72: a plan with a cycle is refused with all problems, the human keeps the run; a valid one runs', async () => {
    const { stage, run } = await taken(20)
    await stage.until(40)
    const circle = {
      add: [task('G', { dependencies: ['H'] }), task('H', { dependencies: ['G', 'nobody'] })],
      remove: ['A'],
      speed: 2,
    }
    const refused = done(stage, run.control.handBack({ plan: circle, by: 'ann' }))
    await expect(refused).rejects.toMatchObject({ code: 'plan.invalid' })
    await expect(refused).rejects.toThrow(/wait for each other: G > H.*|"nobody"/)
    await expect(refused).rejects.toThrow(/"A" has ended/)
    await expect(refused).rejects.toThrow(/speed/)
    expect((await run.view()).status).toBe('human_control')
    expect((await run.view()).teams[0]!.plan.tasks.map((each) => each.task)).toEqual(['A', 'B', 'C', 'D', 'E', 'F'])
    await stage.until(50)
    const plan = { add: [task('G', { dependencies: ['E'] })], concurrency: 1 }
    await done(stage, run.control.handBack({ plan, by: 'ann', reason: 'one more' }))
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'F', 'G')).toEqual([
      [50, 'F begins'],
      [60, 'F succeeded'],
      [60, 'G begins'],
      [65, 'G succeeded'],
    ])
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 7, planned: 7 }, partial: false },
    })
    expect((await run.control.state()).ops.map(({ op, accepted, by }) => [op, accepted, by])).toEqual([
      ['takeover', true, 'ann'],
      ['edit', false, 'ann'],
      ['edit', true, 'ann'],
      ['handback', true, 'ann'],
    ])
  })

  test('team C72: a task is replaced, its role too, and another removed; nothing that stays may depend on it', async () => {
    const agents = {
      generalist: worker(seconds),
      checker: { description: 'Checks.', agent: worker(seconds, 'checker') },
    }
    const { stage, run } = await taken(20, { roles: agents })
    const dangling = done(
      stage,
      run.control.handBack({ plan: { add: [task('G', { dependencies: ['F'] })], remove: ['F'] } }),
    )
    await expect(dangling).rejects.toThrow(/"G" depends on "F", and there is no such task/)
    await expect(done(stage, run.control.handBack({ plan: { remove: ['E'] } }))).rejects.toThrow(/"E" has begun/)
    const plan = {
      replace: [task('F', { description: 'G', dependencies: ['D'], role: 'checker' })],
      add: [task('X'), task('Y')],
    }
    await done(stage, run.control.handBack({ plan }))
    await stage.until(22)
    await done(stage, run.control.takeOver({ by: 'ann' }))
    expect((await run.control.context()).inFlight.map(({ id, worker: who }) => [id, who])).toEqual([
      ['E', 'generalist_5'],
      ['F', 'checker_1'],
    ])
    await done(stage, run.control.handBack())
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'F')).toEqual([
      [20, 'F begins'],
      [25, 'F succeeded'],
    ])
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 8, planned: 8 } } })
  })

  test('team C72: what is removed is in the plan no more, and the plan is complete without it', async () => {
    const { stage, run } = await taken(20)
    await done(stage, run.control.handBack({ plan: { remove: ['F'], maxFailures: 1 }, by: 'ann' }))
    const { outcome } = await stage.end()
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 5, planned: 5 }, partial: false },
    })
    const [team] = (await run.view()).teams
    expect(team!.plan.tasks.map((each) => each.task)).toEqual(['A', 'B', 'C', 'D', 'E'])
    expect(team!.plan.maxFailures).toBe(1)
    expect(team!.members.filter(({ task: of }) => of === 'F').map(({ status }) => status)).toEqual(['skipped'])
  })

  test('team C73: a pending task finished by hand: F does not run, its result is used with its author', async () => {
    const { stage, run } = await taken(20)
    await done(stage, run.control.complete({ task: 'F', output: 'my report', by: 'ann' }))
    expect(await run.control.context()).toMatchObject({ pending: [], results: { F: 'my report' } })
    await stage.until(40)
    await done(stage, run.control.handBack())
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'F')).toEqual([[20, 'F succeeded']])
    expect(lines.at(-1)).toEqual([40, 'the run completed'])
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 6, planned: 6 } } })
    expect(outcome.results?.tasks.find((each) => each.task === 'F')).toMatchObject({
      output: 'my report',
      by: 'ann',
      attempts: 0,
    })
    expect((await run.view()).teams[0]!.plan.tasks.find((each) => each.task === 'F')).toMatchObject({
      status: 'succeeded',
      by: 'ann',
      output: 'my report',
    })
  })

  test('team C73: a working task finished by hand: it is stopped, and its dependents use the result', async () => {
    const seen: string[] = []
    const watching = async (_ctx: unknown, brief: string): Promise<Json> => (seen.push(brief), 'f')
    const stage = await staged(crew(analysis, { ...seconds, F: watching }))
    await stage.until(20)
    await done(stage, stage.run.control.takeOver({ by: 'ann' }))
    await done(stage, stage.run.control.complete({ task: 'E', output: 'by my own hand' }))
    await expect(done(stage, stage.run.control.complete({ task: 'E', output: 'again' }))).rejects.toMatchObject({
      code: 'delegation.ended',
    })
    await stage.until(30)
    expect(seen).toEqual([])
    await done(stage, stage.run.control.handBack())
    const { lines, outcome } = await stage.end()
    expect(of(lines, 'E', 'F')).toEqual([
      [18, 'E begins'],
      [20, 'E succeeded'],
      [30, 'F begins'],
      [30, 'F succeeded'],
    ])
    expect(seen[0]).toContain('by my own hand')
    expect(outcome.results?.tasks.find((each) => each.task === 'E')).toMatchObject({
      output: 'by my own hand',
      by: 'operator',
      attempts: 1,
    })
    expect((await stage.run.control.state()).ops.map(({ op, by }) => [op, by])).toEqual([
      ['takeover', 'ann'],
      ['complete', 'operator'],
      ['handback', undefined],
    ])
  })

  test('team C73: results are handed back with the plan; of a task at work they are not taken that way', async () => {
    const { stage, run } = await taken(20)
    await expect(done(stage, run.control.handBack({ plan: { results: { E: 'x', A: 'y', Z: 'z' } } }))).rejects.toThrow(
      /task "E" is at work.*"A" has ended.*no task "Z"/,
    )
    await done(stage, run.control.handBack({ plan: { results: { F: 'by hand' } }, by: 'ann' }))
    const { outcome } = await stage.end()
    expect(outcome.results?.tasks.find((each) => each.task === 'F')).toMatchObject({ output: 'by hand', by: 'ann' })
  })

  test('a run finished by hand: its output is the given one, and working members are stopped', async () => {
    const { stage, run } = await taken(20)
    await run.control.finish({ output: 'the whole report', by: 'ann', reason: 'I knew it' })
    const { outcome, lines } = await stage.end()
    expect(outcome).toMatchObject({ status: 'completed', output: 'the whole report', by: 'ann' })
    expect(lines.at(-1)).toEqual([20, 'the run completed'])
    expect((await run.control.state()).ops.at(-1)).toMatchObject({
      op: 'finish',
      by: 'ann',
      reason: 'finished by ann: I knew it',
    })
  })
})
