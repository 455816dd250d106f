/**
 * Spec collaboration, section H, where control is handed on: agents as tools that ask, and several questions at once.
 * Ids are ours and stay the same while a question is open.
 */
import { describe, expect, test } from 'vitest'
import { tool, transferTo } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { answer, asker, askTool, modelAgent, open, pathOf } from './asking.ts'
import { code, xfer as hands } from './control.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told } from './team.ts'

describe('agents as tools', () => {
  /** Uses a tool, then asks, then answers with what it was told. */
  function thorough(name: string) {
    const looked: Json[] = []
    const look = tool({ name: 'look', execute: () => (looked.push(name), 'looked') })
    const model = scripted(
      calls(['look', {}]),
      calls(['ask', {}]),
      ({ messages }) => `heard ${messages.at(-1)!.content as string}`,
    )
    return { looked, model, inner: modelAgent(name, model, { tools: [look, askTool()] }) }
  }

  test('collaboration 88: an agent inside goes on where it was; it and the tool beside it repeat nothing', async () => {
    const { looked, model, inner } = thorough('inner')
    const beside: string[] = []
    const echo = tool({ name: 'echo', execute: () => (beside.push('echo'), 'echoed') })
    const lead = scripted(calls(['inner', { request: 'x' }], ['echo', {}]), 'final')
    const outer = modelAgent('outer', lead, { tools: [asTool(inner), echo] })
    const dying = await runtimeOf([outer], { store: store() })
    const [asked] = await open(dying, await dying.start(outer, 'go', { runId: 'r1' }), 1)
    expect([looked.length, beside.length, model.prompts.length, lead.prompts.length]).toEqual([1, 1, 2, 1])
    await dying.close()
    const runtime = await runtimeOf([outer], { store: store() })
    const run = runtime.handle('r1')
    await answer(run, asked!, 'yes')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([looked.length, beside.length, model.prompts.length, lead.prompts.length]).toEqual([1, 1, 3, 2])
    expect(told(lead.prompts[1])).toEqual(['heard yes', 'echoed'])
    expect(told(model.prompts[2])).toEqual(['yes'])
  })

  test.each([
    ['the second first', [1, 0], 'one process'],
    ['the first first', [0, 1], 'two processes'],
  ] as const)(
    'collaboration 89: two calls of one agent both ask; %s; the other stays open as it is: %s',
    async (_what, order, how) => {
      const inner = code(
        'inner',
        async (ctx, brief) => `${String(brief)}: ${(await interrupt(ctx, brief as Json)) as string}`,
      )
      const lead = scripted(calls(['inner', { request: 'a' }, ''], ['inner', { request: 'b' }, '']), 'final')
      const outer = modelAgent('outer', lead, { tools: [asTool(inner)] })
      let runtime = await runtimeOf([outer], { store: store() })
      let run: Run<unknown> = await runtime.start(outer, 'go', { runId: 'r1' })
      const both = await open(runtime, run, 2)
      expect(new Set(both.map(({ id }) => id)).size).toBe(2)
      expect(new Set(both.map(({ activation }) => activation)).size).toBe(2) // collaboration 104: the model gave both calls no id
      await answer(run, both[order[0]]!, order[0])
      expect(await open(runtime, run, 1)).toEqual([both[order[1]]])
      if (how === 'two processes') {
        await runtime.close()
        runtime = await runtimeOf([outer], { store: store() })
        run = runtime.handle('r1')
      }
      expect(await open(runtime, run, 1)).toEqual([both[order[1]]])
      await answer(run, both[order[1]]!, order[1])
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(told(lead.prompts[1])).toEqual(['a: 0', 'b: 1'])
      expect(lead.prompts).toHaveLength(2)
    },
  )

  test('collaboration 102: a tool fails while an agent as a tool asks: failure kept, question answered', async () => {
    const broken = tool({ name: 'broken', effect: 'once', execute: () => Promise.reject(new Error('boom')) })
    const lead = scripted(calls(['broken', {}], ['inner', { request: 'x' }]), 'final')
    const outer = modelAgent('outer', lead, { tools: [broken, asTool(asker('inner'))] })
    const runtime = await runtimeOf([outer])
    const run = await runtime.start(outer, 'go')
    const [asked] = await open(runtime, run, 1)
    await answer(run, asked!, 'yes')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/boom/), 'inner heard yes'])
  })

  test('collaboration 120: a tool and two approved agents in one turn: one model call after all results', async () => {
    const ran: string[] = []
    const echo = tool({ name: 'echo', execute: () => (ran.push('echo'), 'echoed') })
    const lead = scripted(
      calls(['echo', {}, 'e1'], ['w1', { request: 'x' }, 'a1'], ['flow', { request: 'y' }, 'a2']),
      'final',
    )
    const flow = sequential({ name: 'flow', description: 'F', agents: [modelAgent('s1'), modelAgent('s2')] })
    const outer = modelAgent('outer', lead, {
      tools: [echo, asTool(modelAgent('w1'), { approval: true }), asTool(flow, { approval: true })],
    })
    const runtime = await runtimeOf([outer])
    const run = await runtime.start(outer, 'go')
    const both = await open(runtime, run, 2)
    expect(ran).toEqual(['echo'])
    const byTool = (name: string) => both.find(({ body }) => (body as { tool?: Json }).tool === name)!
    await run.decide({ approvalId: byTool('w1').id, decision: 'approve' })
    expect(await open(runtime, run, 1)).toEqual([byTool('flow')])
    const states = async (): Promise<string[]> =>
      (await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)
    await expect.poll(states).toEqual(['outer waiting', 'w1 completed'])
    expect(lead.prompts).toHaveLength(1)
    await run.decide({ approvalId: byTool('flow').id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual(['echoed', 'w1 answers', 's2 answers'])
    expect([lead.prompts.length, ran.length]).toEqual([2, 1])
    const ends = (await eventsOf(run)).filter(({ type }) => type === 'activation.settled')
    expect(ends).toHaveLength(5)
  })
})

describe('several at once', () => {
  /** a, b, c and d ask at once, at two depths; then somebody says who was heard. */
  const asking = () => {
    const after = scripted('final')
    const inner = parallel({ name: 'inner', agents: [asker('b'), asker('c')] })
    const first = scripted('done')
    const outer = parallel({
      name: 'outer',
      agents: [asker('a'), sequential({ name: 'line', agents: [modelAgent('first', first), inner] }), asker('d')],
    })
    return { after, first, root: sequential({ name: 'all', agents: [outer, modelAgent('after', after)] }) }
  }
  test.each([
    ['one by one', [0, 1, 2, 3]],
    ['in reverse', [3, 2, 1, 0]],
    ['from the middle', [1, 3, 0, 2]],
  ])(
    'collaboration 95: answered %s, half by another process: the rest keep their ids, nothing reruns',
    async (_what, order) => {
      const { root, after, first } = asking()
      let runtime = await runtimeOf([root], { store: store() })
      let run: Run<unknown> = await runtime.start(root, 'go', { runId: 'r1' })
      const all = await open(runtime, run, 4)
      expect(all.map(pathOf)).toEqual([
        'all/outer/a',
        'all/outer/line/first/inner/b',
        'all/outer/line/first/inner/c',
        'all/outer/d',
      ])
      const left = new Set(all.map(({ id }) => id))
      for (const [n, which] of order.entries()) {
        await answer(run, all[which]!, n)
        left.delete(all[which]!.id)
        if (n === 1) {
          await runtime.close()
          runtime = await runtimeOf([root], { store: store() })
          run = runtime.handle('r1')
        }
        const still = left.size === 0 ? [] : await open(runtime, run, left.size)
        expect(new Set(still.map(({ id }) => id))).toEqual(left)
      }
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect([first.prompts.length, after.prompts.length]).toEqual([1, 1])
      const heard = after.prompts[0]!.flatMap(({ content }) => /said: (.*)\./.exec(content as string)?.[1] ?? [])
      const of = (name: string, at: number) => `${name} heard ${order.indexOf(at)}`
      expect(heard).toEqual([of('a', 0), 'done', of('b', 1), of('c', 2), of('d', 3)])
    },
  )

  test('collaboration 95: who asks again asks under a new id; who has not been answered keeps its own', async () => {
    const twice = code('twice', async (ctx) => [await interrupt(ctx, 'first?'), await interrupt(ctx, 'then?')])
    const root = parallel({ name: 'all', agents: [twice, asker('waits')] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [first, waits] = await open(runtime, run, 2)
    await answer(run, first!, 1)
    await expect
      .poll(async () =>
        (await runtime.questions({ run: run.id })).some(({ body }) => JSON.stringify(body).includes('then?')),
      )
      .toBe(true)
    const [again, still] = await open(runtime, run, 2)
    expect(again!.id).not.toBe(first!.id)
    expect(still).toEqual(waits)
    await answer(run, again!, 2)
    await answer(run, still!, 3)
    expect(await run.outcome()).toMatchObject({ output: [[1, 2], 'waits heard 3'] })
  })

  test('collaboration 94: an unknown id is refused before any work, and so is one of another run', async () => {
    const { root, first } = asking()
    const runtime = await runtimeOf([root])
    const [run, other] = [await runtime.start(root, 'go'), await runtime.start(root, 'go')]
    const [asked] = await open(runtime, run, 4)
    await open(runtime, other, 4)
    const before = (await run.view()).position
    for (const interruptId of ['int_unknown', '', asked!.address])
      await expect(run.answer({ interruptId, value: 1 })).rejects.toMatchObject({ code: 'interrupt.unknown' })
    await expect(other.answer({ interruptId: asked!.id, value: 1 })).rejects.toMatchObject({
      code: 'interrupt.unknown',
    })
    expect((await run.view()).position).toBe(before)
    expect(await open(runtime, run, 4)).toContainEqual(asked)
    expect(first.prompts).toHaveLength(2)
  })

  test('an answer without a driving process waits for the next one', async () => {
    const root = router({
      name: 'lead',
      run: (_ctx, _brief, talk) => (talk.history.length > 1 ? 'final' : transferTo('w')),
      workers: [asker('w')],
    })
    const dying = await runtimeOf([root], { store: store() })
    const [asked] = await open(dying, await dying.start(root, 'go', { runId: 'r1' }), 1)
    await dying.close()
    const clerk = await runtimeOf([root], { store: store(), drive: false })
    await answer(clerk.handle('r1'), asked!, 'yes')
    await clerk.close()
    const runtime = await runtimeOf([root], { store: store() })
    expect(await runtime.handle('r1').outcome()).toMatchObject({ output: 'final' })
  })
})

describe('around it', () => {
  test('collaboration 104: one agent twice in a parallel: two questions, each answered in its place', async () => {
    const twin = asker('twin')
    const root = parallel({ name: 'both', agents: [twin, twin] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const both = await open(runtime, run, 2)
    expect(new Set(both.map(({ id }) => id)).size).toBe(2)
    const [first, second] = both.toSorted((a, b) => a.activation.length - b.activation.length) // the second has an ordinal
    await answer(run, second!, 2)
    expect(await open(runtime, run, 1)).toEqual([first])
    await answer(run, first!, 1)
    expect(await run.outcome()).toMatchObject({ output: ['twin heard 1', 'twin heard 2'] })
  })

  test('team C85: a flow whose every branch waits for a human holds no permit of its leader', async () => {
    const w2 = scripted('w2 answers')
    const flow = parallel({ name: 'flow', description: 'F', agents: [asker('a'), asker('b')] })
    const lead = scripted(delegates(['flow', 'x'], ['w2', 'y']), 'final')
    const root = supervisor({ name: 'boss', concurrency: 1, model: lead, workers: [flow, modelAgent('w2', w2)] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await expect.poll(() => w2.prompts.length).toBe(1)
    for (const asked of (await open(runtime, run, 2)).toReversed()) await answer(run, asked, 'yes')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([['a heard yes', 'b heard yes'], 'w2 answers'])
  })

  test('control kept over a session: asked in one run, answered in another process, the next run begins there', async () => {
    const lead = scripted(hands('w'), 'never')
    const root = router({
      name: 'desk',
      model: lead,
      workers: [asker('w')],
      sticky: true,
      transfer: { returns: 'never' },
    })
    const dying = await runtimeOf([root], { store: store() })
    const [asked] = await open(dying, await dying.start(root, 'go', { runId: 'r1', session: 's1' }), 1)
    await dying.close()
    const runtime = await runtimeOf([root], { store: store() })
    await answer(runtime.handle('r1'), asked!, 1)
    expect(await runtime.handle('r1').outcome()).toMatchObject({ output: 'w heard 1' })
    const next = await runtime.start(root, 'more', { runId: 'r2', session: 's1' })
    const [again] = await open(runtime, next, 1)
    expect(pathOf(again!)).toBe('desk/w')
    await answer(next, again!, 2)
    expect(await next.outcome()).toMatchObject({ output: 'w heard 2' })
    expect(lead.prompts).toHaveLength(1)
  })
})
