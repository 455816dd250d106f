/**
 * Spec collaboration, section H, where control is handed on: whoever asks outside, wherever it works, waits; it is
 * answered in any process, and what has ended is not done again.
 */
import { describe, expect, test } from 'vitest'
import type { Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import type { Recorded } from '@reeve/journal'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { answer, asker, askTool, modelAgent, open, pathOf } from './asking.ts'
import { code, xfer as hands } from './control.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, type Scripted } from './team.ts'

describe('anywhere', () => {
  const outerOf = (inner: Agent) =>
    modelAgent('outer', scripted(calls([inner.name, { request: 'x' }]), 'final'), { tools: [asTool(inner)] })
  const asking = (name = 'asker') =>
    modelAgent(name, scripted(calls(['ask', {}]), `${name} is done`), { tools: [askTool()] })
  const lead = (worker: Agent, name = 'lead') =>
    router({ name, description: 'Leads.', model: scripted(hands(worker.name), 'final'), workers: [worker] })

  const places: readonly [string, (before: Agent) => Agent, string][] = [
    [
      'a worker that is code',
      (before) => sequential({ name: 'line', agents: [before, lead(asker('asker'))] }),
      'line/before/lead/asker',
    ],
    [
      'a tool of a worker',
      (before) => sequential({ name: 'line', agents: [before, lead(asking())] }),
      'line/before/lead/asker/asker.ask',
    ],
    [
      "a worker's worker",
      (before) => lead(lead(sequential({ name: 'line', description: 'L', agents: [before, asking()] }), 'mid'), 'top'),
      'top/mid/line/before/asker/asker.ask',
    ],
    [
      'the second time round a loop',
      (before) => {
        const sometimes = code('asker', async (ctx) =>
          (await ctx.values.update('n', (n) => Number(n ?? 0) + 1)) === 2 ? interrupt(ctx, 'asker?') : 'not yet',
        )
        return sequential({
          name: 'line',
          agents: [before, loop({ name: 'round', agents: [sometimes], maxIterations: 2 })],
        })
      },
      'line/before/round/asker/asker',
    ],
    ['a branch', (before) => parallel({ name: 'all', agents: [before, asking()] }), 'all/asker/asker.ask'],
    [
      'an agent as a tool of an agent as a tool',
      (before) =>
        sequential({
          name: 'line',
          agents: [
            before,
            outerOf(
              modelAgent('inner', scripted(calls(['inner2', { request: 'y' }]), 'in'), {
                tools: [asTool(asking('inner2'))],
              }),
            ),
          ],
        }),
      'line/before/outer/inner/inner2/inner2.ask',
    ],
    [
      'a flow as a tool',
      (before) => outerOf(sequential({ name: 'inner', description: 'S', agents: [before, asking()] })),
      'outer/inner/before/asker/asker.ask',
    ],
    [
      'a delegation below a router',
      (before) =>
        lead(
          supervisor({
            name: 'boss',
            description: 'B',
            model: scripted(delegates(['before', 'x']), delegates(['asker', 'x']), 'bossed'),
            workers: [before, asking()],
          }),
        ),
      'lead/boss/asker/asker.ask',
    ],
  ]
  test.each(places)(
    '%s asks; answered by another process; what had ended is not done again',
    async (_what, make, path) => {
      const first = scripted('before is done')
      const root = make(modelAgent('before', first))
      const dying = await runtimeOf([root], { store: store() })
      const [asked] = await open(dying, await dying.start(root, 'go', { runId: 'r1' }), 1)
      expect(pathOf(asked!)).toBe(path)
      await dying.close()
      const runtime = await runtimeOf([root], { store: store() })
      const run = runtime.handle('r1')
      expect(await open(runtime, run, 1)).toEqual([asked])
      await answer(run, asked!, 'yes')
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      expect(first.prompts).toHaveLength(1)
      const events = await eventsOf(run)
      expect(events.filter(({ type }) => type === 'interrupt.raised')).toHaveLength(1)
      const activations = (await run.view()).activations
      expect(new Set(activations.map(({ activation }) => activation)).size).toBe(activations.length)
      expect(events.filter(({ type }) => type === 'activation.settled')).toHaveLength(activations.length)
    },
  )
})

describe('under a router', () => {
  test('collaboration 46: a branch asks, the other ends; after the answer only the first goes on', async () => {
    const other = scripted('b answers')
    const lead = scripted(hands('both'), 'final')
    const root = router({
      name: 'lead',
      model: lead,
      workers: [parallel({ name: 'both', description: 'Both.', agents: [asker('a'), modelAgent('b', other)] })],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [asked] = await open(runtime, run, 1)
    expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toEqual([
      'lead waiting',
      'both waiting',
      'a waiting',
      'b completed',
    ])
    await answer(run, asked!, 'yes')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(other.prompts).toHaveLength(1)
    expect(lead.prompts[1]!.map(({ content }) => content)).toEqual(
      expect.arrayContaining(['For context: [a] said: a heard yes.', 'For context: [b] said: b answers.']),
    )
  })

  test('collaboration 47: the lead’s tool and then a worker ask: two questions at two places, one answer each', async () => {
    const lead = scripted(calls(['ask', { what: 'lead' }]), hands('w'), 'final')
    const w = scripted(calls(['ask', { what: 'w' }]), 'w answers')
    const root = router({
      name: 'lead',
      model: lead,
      tools: [askTool()],
      workers: [modelAgent('w', w, { tools: [askTool()] })],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [first] = await open(runtime, run, 1)
    expect(pathOf(first!)).toBe('lead/lead.ask')
    await answer(run, first!, 'one')
    await expect.poll(async () => (await runtime.questions({ run: run.id })).map(pathOf)).toEqual(['lead/w/w.ask'])
    const [second] = await open(runtime, run, 1)
    expect(second!.id).not.toBe(first!.id)
    await answer(run, second!, 'two')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([told(lead.prompts[1]), told(w.prompts[1])]).toEqual([['one'], ['two']])
    expect([lead.prompts.length, w.prompts.length]).toEqual([3, 2])
  })

  test('collaboration 48: a worker that asks each time asks under a new id; old answers are not reused', async () => {
    const root = router({ name: 'lead', model: scripted(hands('w'), hands('w'), 'final'), workers: [asker('w')] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [first] = await open(runtime, run, 1)
    await answer(run, first!, 1)
    await expect.poll(async () => (await runtime.questions({ run: run.id })).map(pathOf)).toEqual(['lead/w/lead/w'])
    const [second] = await open(runtime, run, 1)
    expect(second!.id).not.toBe(first!.id)
    await expect(answer(run, first!, 3)).rejects.toMatchObject({ code: 'interrupt.already-answered' })
    await answer(run, second!, 2)
    await run.outcome()
    const said = (await run.view()).activations.flatMap(({ agent: name, outcome }) =>
      name === 'w' && outcome?.status === 'completed' ? [outcome.output] : [],
    )
    expect(said).toEqual(['w heard 1', 'w heard 2'])
  })

  const supervised = () =>
    router({ name: 'inner', description: 'R', model: scripted(hands('w'), 'routed'), workers: [asker('w')] })
  test.each<[string, () => { root: Agent; seen: Scripted; output: Json }]>([
    [
      'as a step',
      () => {
        const seen = scripted('after')
        return {
          seen,
          root: sequential({ name: 'line', agents: [supervised(), modelAgent('after', seen)] }),
          output: 'after',
        }
      },
    ],
    [
      'as a tool',
      () => {
        const seen = scripted(calls(['inner', { request: 'x' }]), 'final')
        return { seen, root: modelAgent('outer', seen, { tools: [asTool(supervised())] }), output: 'final' }
      },
    ],
  ])(
    'collaboration 49: a router %s: its question is answered there, and what is around it goes on',
    async (_what, make) => {
      const { root, seen, output } = make()
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      const [asked] = await open(runtime, run, 1)
      await answer(run, asked!, 'yes')
      expect(await run.outcome()).toMatchObject({ output })
      expect(JSON.stringify(seen.prompts.at(-1))).toContain('routed')
    },
  )

  test('collaboration 34: a worker that waits has not handed control back; it does so after the answer', async () => {
    const root = router({ name: 'lead', model: scripted(hands('w'), 'final'), workers: [asker('w')] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [asked] = await open(runtime, run, 1)
    const hops = async () => {
      const found: string[] = []
      for (const { event } of await runtimeEvents(runtime, run.id))
        if (event.type === 'agent.transferred') found.push(`${event.from}>${event.to}`)
      return found
    }
    expect(await hops()).toEqual(['lead>w'])
    await answer(run, asked!, 'yes')
    await run.outcome()
    expect(await hops()).toEqual(['lead>w', 'w>lead'])
  })
})

/** What is recorded so far. */
async function runtimeEvents(runtime: Runtime, run: string) {
  const { position } = await runtime.handle(run).view()
  const list: Recorded[] = []
  for await (const recorded of runtime.handle(run).events()) {
    list.push(recorded)
    if (recorded.position >= position) break
  }
  return list
}

describe('a team that has changed', () => {
  test.each<[string, (name: string) => Agent]>([
    ['a router', (name) => router({ name: 'root', model: scripted(hands(name), 'final'), workers: [asker(name)] })],
    [
      'a sequential',
      (name) =>
        sequential({ name: 'root', agents: [modelAgent('first'), asker(name), modelAgent('last', scripted('final'))] }),
    ],
    [
      'a parallel',
      (name) =>
        sequential({
          name: 'root',
          agents: [
            parallel({ name: 'both', agents: [asker(name), modelAgent('b')] }),
            modelAgent('last', scripted('final')),
          ],
        }),
    ],
  ])(
    'collaboration 100: %s: after a rename the run stops and names who is missing; restored, it goes on',
    async (_what, make) => {
      const root = make('w')
      const before = await runtimeOf([root], { store: store() })
      const [asked] = await open(before, await before.start(root, 'go', { runId: 'r1' }), 1)
      await before.close()
      const renamed = await runtimeOf([make('other')], { store: store() })
      await answer(renamed.handle('r1'), asked!, 'yes')
      await expect.poll(async () => (await renamed.runs())[0]?.status, { timeout: 10_000 }).toBe('stuck')
      expect(await renamed.handle('r1').until('waiting')).toMatchObject({
        status: 'stuck',
        reason: expect.stringMatching(/agent "w".*not registered/) as string,
      })
      await renamed.close()
      const back = await runtimeOf([root], { store: store() })
      expect(await back.handle('r1').outcome()).toMatchObject({ status: 'completed', output: 'final' })
      expect((await back.handle('r1').view()).activations.some(({ agent: name }) => name === 'other')).toBe(false)
    },
  )

  test('collaboration 100: a run that has begun ignores members added meanwhile', async () => {
    const root = (...more: Agent[]) =>
      sequential({ name: 'root', agents: [asker('w'), ...more, modelAgent('last', scripted('final'))] })
    const before = await runtimeOf([root()], { store: store() })
    const [asked] = await open(before, await before.start('root', 'go', { runId: 'r1' }), 1)
    await before.close()
    const added = scripted('never')
    const after = await runtimeOf([root(modelAgent('added', added))], { store: store() })
    await answer(after.handle('r1'), asked!, 'yes')
    expect(await after.handle('r1').outcome()).toMatchObject({ output: 'final' })
    expect(added.prompts).toHaveLength(0)
  })
})
