/**
 * A human takes a run over, finishes steps by hand, hands it back, in every way of working together, on every engine:
 * spec team R-13, C71 to C74. Doors in the test's hand, no exact times.
 */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import type { Run } from '@reeve/runtime'
import { roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { worker } from './control.ts'
import { counted, hanging, heldAlone, shapes, slow } from './held.ts'
import { delegates, runtimeOf, scripted, store, told } from './team.ts'

/** Whoever works under this name. */
const at = async (run: Run | Run<unknown>, name: string): Promise<string> =>
  (await run.view()).activations.findLast((each) => each.agent === name && each.outcome === undefined)!.activation

test('team C72: a plan edit for a run without a planned team is refused at once and changes nothing', async () => {
  const held = hanging('done')
  const root = slow('held', held)
  const run = await (await runtimeOf([root])).start(root, 'task')
  await heldAlone(run, held)
  await run.control.takeOver({ by: 'ann' })
  await expect(run.control.handBack({ plan: { remove: ['x'] } })).rejects.toMatchObject({
    code: 'input.invalid',
    message: `the run "${run.id}" has no planned team`,
    hint: expect.stringContaining('without `plan`') as string,
  })
  expect([(await run.view()).status, (await run.control.state()).ops.length]).toEqual(['human_control', 1])
  await run.control.handBack()
  await expect.poll(async () => (await run.view()).status).not.toBe('human_control')
  await run.control.cancel()
})

test('K8: a taken-over run waits once nothing is in flight, and then goes on from there', async () => {
  const held = hanging('done')
  const root = slow('held', held)
  const run = await (await runtimeOf([root])).start(root, 'task')
  await heldAlone(run, held)
  await run.control.takeOver({ by: 'ann' })
  const waiting = run.until('waiting')
  held.end()
  expect(await waiting).toMatchObject({ status: 'human_control', questions: [] })
  await run.control.handBack()
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
})

describe('a step finished by hand during a takeover looks like any other', () => {
  test.each(shapes.slice(1))(
    'team C73: in %s: the worker is stopped, others use the result, with the same number of calls',
    async (_name, scene) => {
      const held = hanging('never said')
      const { root, others, output } = scene(held)
      const run = await (await runtimeOf([root])).start(root, 'task')
      await heldAlone(run, held)
      expect((await run.control.takeOver({ by: 'ann' })).takenOver).toBe(true)
      await run.control.complete({ delegation: await at(run, 'held'), output: 'held answers', by: 'ann' })
      await expect.poll(() => held.seen.aborts, { timeout: 10_000 }).toBe(1)
      await run.control.handBack({ by: 'ann' })
      const outcome = await run.outcome()
      expect(outcome).toMatchObject({ status: 'completed', output })
      expect(counted(others)).toEqual(others.map(([, times]) => times))
      expect(held.seen.times).toBe(1)
      const byHand = (await run.view()).activations.filter(
        (each) => each.outcome?.status === 'completed' && each.outcome.by !== undefined,
      )
      expect(byHand.at(-1)).toMatchObject({ agent: 'held', outcome: { output: 'held answers', by: 'ann' } })
    },
  )

  test('team C73: two levels down: its leader gets the output as from the worker; its row names the author', async () => {
    const held = hanging('never said')
    const [top, mid] = [
      scripted(delegates(['mid', 'x', 'c1']), 'final'),
      scripted(delegates(['held', 'y', 'c2']), 'mid is done'),
    ]
    const middle = supervisor({ name: 'mid', description: 'Leads.', model: mid, workers: [slow('held', held)] })
    const boss = supervisor({ name: 'boss', model: top, workers: [middle] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await heldAlone(run, held)
    const context = await run.control.takeOver({ by: 'ann' })
    expect(context.inFlight.map(({ worker: who }) => who)).toEqual(['mid', 'held'])
    await run.control.complete({ delegation: 'c2', output: 'by hand' })
    await expect.poll(async () => (await run.delegations())[1]!.status, { timeout: 10_000 }).toBe('completed')
    expect(mid.prompts).toHaveLength(1)
    expect((await run.control.context()).completed).toMatchObject([{ worker: 'held', by: 'operator' }])
    await run.control.handBack()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect(told(mid.prompts[1])).toEqual(['by hand'])
    expect((await run.delegations())[1]).toMatchObject({ output: 'by hand', outcome: { by: 'operator' } })
    await expect(run.control.complete({ delegation: 'c2', output: 'late' })).rejects.toMatchObject({
      code: 'delegation.ended',
    })
  })

  test('team C73: a speaker at a round table: the next one hears what the human said in their place', async () => {
    const held = hanging('never said')
    const next = scripted('b speaks')
    const table = roundtable({
      name: 'table',
      agents: [slow('held', held), worker('b', next)],
      speaker: 'round-robin',
      maxRounds: 2,
    })
    const run = await (await runtimeOf([table])).start(table, 'task')
    await heldAlone(run, held)
    await run.control.takeOver()
    await run.control.complete({ delegation: await at(run, 'held'), output: 'said by hand' })
    await run.control.handBack()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'b speaks' })
    expect(JSON.stringify(next.prompts[0])).toContain('said by hand')
  })

  test('team C71: who works beside a planned team is in the lists, too, and the team is its tasks', async () => {
    const held = hanging('never said')
    const crew = team({
      name: 'crew',
      description: 'Works by a plan.',
      roles: { doer: slow('held', held) },
      planner: { subtasks: [{ id: 'one', description: 'one', role: 'doer' }] },
    })
    const other = agent({ name: 'other', description: 'Asks.', run: (ctx) => ctx.interrupt('which?') })
    const lead = scripted(delegates(['crew', 'x', 'c1'], ['other', 'y', 'c2']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [crew, other] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await heldAlone(run, held)
    const { inFlight, pending, totalSteps } = await run.control.takeOver({ by: 'ann' })
    expect([inFlight.map(({ id }) => id), pending, totalSteps]).toEqual([['one', 'd2'], [], 2])
    await run.control.complete({ delegation: 'd2', output: 'this one', by: 'ann' })
    await run.control.complete({ task: 'one', output: 'done', by: 'ann' })
    await run.control.handBack()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
  })

  test('team C73: a planned team inside a worker: a running and a pending task are finished by hand', async () => {
    const held = hanging('never said')
    const crew = team({
      name: 'crew',
      description: 'Works by a plan.',
      roles: { doer: slow('held', held) },
      planner: {
        subtasks: [
          { id: 'one', description: 'one', role: 'doer' },
          { id: 'two', description: 'two', role: 'doer', dependencies: ['one'] },
        ],
      },
    })
    const lead = scripted(delegates(['crew', 'x', 'c1']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [crew] })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await heldAlone(run, held)
    const context = await run.control.takeOver({ by: 'ann' })
    expect([context.inFlight, context.pending].map((steps) => steps.map(({ id }) => id))).toEqual([['one'], ['two']])
    await run.control.complete({ task: 'two', output: 'second by hand', by: 'ann' })
    await run.control.complete({ task: 'one', output: 'first by hand', by: 'bob' })
    await run.control.handBack()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    const [rows] = (await run.view()).teams.map(({ plan }) => plan.tasks)
    expect(rows!.map(({ status, by }) => [status, by])).toEqual([
      ['succeeded', 'bob'],
      ['succeeded', 'ann'],
    ])
    expect(held.seen.times).toBe(1)
  })
})

describe('a run as a whole', () => {
  test('a run is taken over by a process that is not there any more, and finished by hand in another', async () => {
    const held = hanging('never said')
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['held', 'x']), 'final'),
      workers: [slow('held', held)],
    })
    const before = await runtimeOf([boss], { store: store() })
    const run = await before.start(boss, 'go', { runId: 'run_f' })
    await heldAlone(run, held)
    await run.control.takeOver({ by: 'ann', at: 'now' })
    await before.close()
    const after = await runtimeOf([boss], { store: store() })
    const again = after.handle('run_f')
    expect(await again.control.state()).toMatchObject({ state: 'human_control', by: 'ann' })
    await expect(again.control.resume()).rejects.toMatchObject({ code: 'run.taken-over' })
    await again.control.finish({ output: { text: 'by hand' }, by: 'bob' })
    expect(await again.outcome()).toMatchObject({ status: 'completed', output: { text: 'by hand' }, by: 'bob' })
    expect(held.seen.times).toBe(1)
  })

  test('team C74: cancelled during a takeover: work is undone once each, in reverse order of its ends', async () => {
    const undone: string[] = []
    const held = hanging('never said')
    const lead = agent({
      name: 'lead',
      run: async (ctx) => {
        for (const name of ['first', 'second', 'third']) ctx.onCancel(name, async () => void undone.push(name))
        const outcome = await ctx.next(ctx.begin('work', ({ signal }) => held.work(signal)))
        return outcome.type
      },
    })
    const run = await (await runtimeOf([lead])).start(lead, 'go')
    await held.begun
    await run.control.takeOver()
    await run.control.cancel('enough', 'ann')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(undone).toEqual(['third', 'second', 'first'])
    await run.control.cancel('again')
    expect((await run.control.state()).ops.map(({ op, by }) => [op, by])).toEqual([
      ['takeover', undefined],
      ['cancel', 'ann'],
    ])
  })
})
