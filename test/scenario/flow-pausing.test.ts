/**
 * Spec collaboration, section J, where control is handed on: a pause reaches every depth and is invisible to the flow,
 * so nothing is lost and nothing is done twice.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { parallel, router, sequential } from '@reeve/flow'
import type { JournalEvent } from '@reeve/journal'
import { interrupt } from '@reeve/oversight'
import type { PauseOptions, Run } from '@reeve/runtime'
import { modelAgent } from './asking.ts'
import { xfer as hands } from './control.ts'
import { counted, hanging, heldAlone, pausing, shapes, slow } from './held.ts'
import { calls, eventsOf, runtimeOf, scripted, store, told } from './team.ts'

const typesOf = (events: readonly JournalEvent[], ...wanted: readonly JournalEvent['type'][]): string[] =>
  events.map(({ type }) => type).filter((type) => wanted.includes(type))

/** One pause, one end for each activation, and no attempt lost to it. */
async function onceEach(run: Run | Run<unknown>): Promise<void> {
  const events = await eventsOf(run)
  expect(typesOf(events, 'run.paused', 'run.resumed')).toEqual(['run.paused', 'run.resumed'])
  expect(typesOf(events, 'activation.settled')).toHaveLength(typesOf(events, 'activation.started').length)
  expect(typesOf(events, 'step.attempt-failed')).toEqual([])
}

describe('a pause while a model is asked', () => {
  test.each(shapes)(
    'collaboration 109: now: %s: the call is stopped, and after resume the run finishes under its leader',
    async (_what, make) => {
      const held = hanging('held answers')
      const { root, others, output } = make(held)
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await heldAlone(run, held)
      await pausing(run, { at: 'now', reason: 'stop' })
      expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
      expect(held.seen).toEqual({ times: 1, aborts: 1 })
      await run.control.resume()
      expect(await run.outcome()).toMatchObject({ status: 'completed', output })
      expect(held.seen.times).toBe(2)
      expect(counted(others)).toEqual(others.map(([, times]) => times))
      await onceEach(run)
    },
  )

  test.each(shapes)(
    'collaboration 109: after-model: %s: the call ends, nothing else begins, and another process goes on',
    async (_what, make) => {
      const held = hanging('held answers')
      const { root, others, output } = make(held)
      const before = await runtimeOf([root], { store: store() })
      const run = await before.start(root, 'go', { runId: 'r1' })
      await heldAlone(run, held)
      await pausing(run, { at: 'after-model' })
      const asked = counted(others)
      held.end()
      const state = await run.until('waiting')
      expect(counted(others)).toEqual(asked)
      const isDone = others.every(([{ prompts }, times]) => prompts.length === times)
      expect(state.status).toBe(isDone ? 'completed' : 'paused') // what has nothing to do but end may end
      await before.close()
      const after = await runtimeOf([root], { store: store() })
      const again = after.handle('r1')
      if (state.status === 'paused') await again.control.resume()
      expect(await again.outcome()).toMatchObject({ status: 'completed', output })
      expect(held.seen).toEqual({ times: 1, aborts: 0 })
      expect(counted(others)).toEqual(others.map(([, times]) => times))
    },
  )
})

describe('a pause before the start', () => {
  const modes = ['now', 'after-model', 'after-tools'] as const
  test.each(shapes.slice(0, 5).flatMap(([what, make]) => modes.map((at) => [what, at, make] as const)))(
    'collaboration 111: %s, paused %s before it begins: no model is asked, and it can be resumed',
    async (_what, at, make) => {
      const held = hanging('held answers')
      held.end()
      const { root, others, output } = make(held)
      const clerk = await runtimeOf([root], { store: store(), drive: false })
      await (await clerk.start(root, 'go', { runId: 'r1' })).control.pause({ at })
      const runtime = await runtimeOf([root], { store: store() })
      const run = runtime.handle('r1')
      expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
      expect([held.seen.times, ...counted(others)]).toEqual([0, ...others.map(() => 0)])
      await run.control.resume()
      expect(await run.outcome()).toMatchObject({ status: 'completed', output })
      expect(counted(others)).toEqual(others.map(([, times]) => times))
      await onceEach(run)
    },
  )
})

describe('at a boundary', () => {
  test.each<[string, PauseOptions['at']]>([
    ['after the model', 'after-model'],
    ['after the tools', 'after-tools'],
    ['before the next effect', 'next'],
  ])('collaboration 109: paused %s in a turn that hands control on: the transfer is not lost', async (_what, at) => {
    const held = hanging(hands('w'))
    const w = scripted('w answers')
    const lead = scripted(({ signal }) => held.work(signal), 'final')
    const root = router({ name: 'lead', model: lead, workers: [modelAgent('w', w)] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await held.begun
    await pausing(run, { at: at! })
    held.end()
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect([lead.prompts.length, w.prompts.length]).toEqual([1, 0])
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([lead.prompts.length, w.prompts.length]).toEqual([2, 1])
    const hops = (await eventsOf(run)).flatMap((event) =>
      event.type === 'agent.transferred' ? [`${event.from}>${event.to}`] : [],
    )
    expect(hops).toEqual(['lead>w', 'w>lead'])
    await onceEach(run)
  })

  test.each<[string, PauseOptions['at'], number]>([
    ['after the tools', 'after-tools', 1],
    ['now', 'now', 2],
  ])(
    'collaboration 109: paused %s while a tool works beside a transfer: it follows and sees the result',
    async (_what, at, times) => {
      const held = hanging('looked')
      const look = tool({ name: 'look', effect: 'read', execute: (_input, { signal }) => held.work(signal) })
      const w = scripted('w answers')
      const root = router({
        name: 'lead',
        model: scripted(calls(['transfer_to_agent', { agent_name: 'w' }], ['look', {}]), 'final'),
        tools: [look],
        workers: [modelAgent('w', w)],
      })
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await held.begun
      await pausing(run, { at: at! })
      if (at !== 'now') held.end() // what is called back may not end before the pause has come to it
      expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
      expect(w.prompts).toHaveLength(0)
      await run.control.resume()
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(held.seen.times).toBe(times)
      expect(JSON.stringify(w.prompts[0])).toContain('tool returned result: looked')
      await onceEach(run)
    },
  )

  test('collaboration 111: paused at the boundary before a parallel: each branch runs once, after resume', async () => {
    const held = hanging('a')
    const branches = [scripted('b'), scripted('c')]
    const both = parallel({ name: 'both', agents: [modelAgent('b', branches[0]), modelAgent('c', branches[1])] })
    const root = sequential({ name: 'root', agents: [slow('a', held), both] })
    const before = await runtimeOf([root], { store: store() })
    const run = await before.start(root, 'go', { runId: 'r1' })
    await held.begun
    await pausing(run, { at: 'after-model' })
    held.end()
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(branches.map(({ prompts }) => prompts.length)).toEqual([0, 0])
    await before.close()
    const after = await runtimeOf([root], { store: store() })
    await after.handle('r1').control.resume()
    expect(await after.handle('r1').outcome()).toMatchObject({ output: ['b', 'c'] })
    expect(branches.map(({ prompts }) => prompts.length)).toEqual([1, 1])
    await onceEach(after.handle('r1'))
  })

  test('collaboration 113: after-model within 50 ms: a slower tool of a worker is stopped and runs after resume', async () => {
    const held = hanging('looked')
    const look = tool({ name: 'look', effect: 'read', execute: (_input, { signal }) => held.work(signal) })
    const w = scripted(calls(['look', {}]), 'w answers')
    const root = router({
      name: 'lead',
      model: scripted(hands('w'), 'final'),
      workers: [modelAgent('w', w, { tools: [look] })],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await held.begun
    await pausing(run, { at: 'after-model', within: 50 })
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(held.seen).toEqual({ times: 1, aborts: 1 })
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(w.prompts[1])).toEqual(['looked'])
    const said = (await eventsOf(run)).filter(({ type }) => type === 'run.pausing')
    expect(said).toMatchObject([{ at: 'after-model' }, { at: 'now', escalated: true }])
  })

  test('collaboration 112: after its end a flow can be neither paused nor cancelled', async () => {
    const root = router({ name: 'lead', model: scripted(hands('w'), 'final'), workers: [modelAgent('w')] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await run.outcome()
    for (const command of [
      () => run.control.pause({ at: 'now' }),
      () => run.control.resume(),
      () => run.control.cancel('late'),
    ])
      await expect(command()).rejects.toMatchObject({ code: 'run.ended' })
  })
})

describe('a question and a pause at the same moment', () => {
  test.each<[string, PauseOptions['at']]>([
    ['after the model', 'after-model'],
    ['before the next effect', 'next'],
  ])(
    'collaboration 114: paused %s after the model called for a human: asked once, one end, in every router',
    async (_what, at) => {
      const held = hanging(calls(['ask', {}]))
      const ask = tool({ name: 'ask', run: (ctx) => interrupt(ctx, 'well?') })
      const w = modelAgent(
        'w',
        scripted(({ signal }) => held.work(signal), 'w answers'),
        { tools: [ask] },
      )
      const mid = router({ name: 'mid', description: 'M', model: scripted(hands('w'), 'mid ends'), workers: [w] })
      const root = router({ name: 'top', model: scripted(hands('mid'), 'final'), workers: [mid] })
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await held.begun
      await pausing(run, { at: at! })
      held.end()
      expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
      await run.control.resume()
      await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(1)
      const [asked] = await runtime.questions({ run: run.id })
      await run.answer({ interruptId: asked!.id, value: 'yes' })
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(typesOf(await eventsOf(run), 'interrupt.raised')).toHaveLength(1)
      await onceEach(run)
    },
  )

  test('collaboration 114: paused while branches ask: ids stay, answers are taken, work waits for resume', async () => {
    const after = scripted('after')
    const asker = (name: string): Agent => agent({ name, run: async (ctx) => interrupt(ctx, `${name}?`) })
    const root = sequential({
      name: 'root',
      agents: [parallel({ name: 'both', agents: [asker('a'), asker('b')] }), modelAgent('after', after)],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(2)
    const before = await runtime.questions({ run: run.id })
    await pausing(run, { at: 'now' })
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    expect(await runtime.questions({ run: run.id })).toEqual(before)
    for (const { id } of before) await run.answer({ interruptId: id, value: 'yes' })
    expect((await run.view()).status).toBe('paused')
    expect(after.prompts).toHaveLength(0)
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'after' })
    expect(after.prompts).toHaveLength(1)
    await onceEach(run)
  })
})
