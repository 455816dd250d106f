/**
 * Spec collaboration, section H, where control is handed on: an agent, a tool, a worker of a worker, a branch, an agent as a tool asks outside and waits. Ids are ours and
 * stay the same while a question is open; what has ended is not done again, also if the process that began it is gone.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, transferTo, type Agent } from '../../src/agent/index.ts'
import type { Json } from '../../src/core/index.ts'
import type { Question } from '../../src/engine/index.ts'
import { asTool, loop, parallel, router, sequential } from '../../src/flow/index.ts'
import { interrupt } from '../../src/oversight/index.ts'
import type { Run, Runtime } from '../../src/runtime/index.ts'
import { supervisor } from '../../src/supervisor/index.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, type Scripted } from './team.ts'

const mind = (name: string, model: Scripted = scripted(`${name} answers`), more: object = {}): Agent =>
  agent({ name, description: `Does what ${name} does.`, model, ...more })
const code = (name: string, run: Parameters<typeof agent>[0]['run'] & {}): Agent =>
  agent({ name, description: `Does what ${name} does.`, run })
/** Code that asks once and says what it was told. */
const asker = (name: string): Agent => code(name, async (ctx) => `${name} heard ${String(await interrupt(ctx, `${name}?`))}`)
const hands = (to: string) => calls(['transfer_to_agent', { agent_name: to }])
const askTool = (name = 'ask') =>
  tool({ name, run: async (ctx, input) => interrupt(ctx, { please: (input as { what?: Json }).what ?? name }) })

/** Everything that is open, when so much is and nothing else goes on; by the question's text. */
async function open(runtime: Runtime, run: { readonly id: string }, count: number): Promise<readonly Question[]> {
  await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(count)
  await runtime.handle(run.id).until('waiting')
  const text = ({ body }: Question): string => JSON.stringify((body as { question?: Json }).question ?? body)
  return (await runtime.questions({ run: run.id })).toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
}
const pathOf = ({ body }: Question): Json => (body as unknown as { readonly path: readonly string[] }).path.join('/')
const answer = (run: Run | Run<unknown>, { id }: Question, value: Json) => run.answer({ interruptId: id, value })

describe('anywhere', () => {
  const outerOf = (inner: Agent) => mind('outer', scripted(calls([inner.name, { request: 'x' }]), 'final'), { tools: [asTool(inner)] })
  const asking = (name = 'asker') => mind(name, scripted(calls(['ask', {}]), `${name} is done`), { tools: [askTool()] })
  const lead = (worker: Agent, name = 'lead') =>
    router({ name, description: 'Leads.', model: scripted(hands(worker.name), 'final'), workers: [worker] })

  const places: readonly [string, (before: Agent) => Agent, string][] = [
    ['a worker that is code', (before) => sequential({ name: 'line', agents: [before, lead(asker('asker'))] }), 'line/before/lead/asker'],
    ['a tool of a worker', (before) => sequential({ name: 'line', agents: [before, lead(asking())] }), 'line/before/lead/asker/asker.ask'],
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
        return sequential({ name: 'line', agents: [before, loop({ name: 'round', agents: [sometimes], maxIterations: 2 })] })
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
            outerOf(mind('inner', scripted(calls(['inner2', { request: 'y' }]), 'in'), { tools: [asTool(asking('inner2'))] })),
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
    'collaboration 44, 45, 98: %s asks; answered by another process; what had ended is not done again',
    async (_what, make, path) => {
      const first = scripted('before is done')
      const root = make(mind('before', first))
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
  test('collaboration 46: a branch asks, the other ends; after the answer only the first goes on, and the lead sees both', async () => {
    const other = scripted('b answers')
    const lead = scripted(hands('both'), 'final')
    const root = router({
      name: 'lead',
      model: lead,
      workers: [parallel({ name: 'both', description: 'Both.', agents: [asker('a'), mind('b', other)] })],
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

  test('collaboration 47: the lead asks by a tool of its own, then a worker does: two questions at two places, one answer', async () => {
    const lead = scripted(calls(['ask', { what: 'lead' }]), hands('w'), 'final')
    const w = scripted(calls(['ask', { what: 'w' }]), 'w answers')
    const root = router({ name: 'lead', model: lead, tools: [askTool()], workers: [mind('w', w, { tools: [askTool()] })] })
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

  test('collaboration 48: a worker that asks each time it works asks under a new id, and the first answer is not given twice', async () => {
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

  const supervised = () => router({ name: 'inner', description: 'R', model: scripted(hands('w'), 'routed'), workers: [asker('w')] })
  test.each<[string, () => { root: Agent; seen: Scripted; output: Json }]>([
    [
      'as a step',
      () => {
        const seen = scripted('after')
        return { seen, root: sequential({ name: 'line', agents: [supervised(), mind('after', seen)] }), output: 'after' }
      },
    ],
    [
      'as a tool',
      () => {
        const seen = scripted(calls(['inner', { request: 'x' }]), 'final')
        return { seen, root: mind('outer', seen, { tools: [asTool(supervised())] }), output: 'final' }
      },
    ],
  ])('collaboration 49: a router %s: its question is answered there, and what is around it goes on', async (_what, make) => {
    const { root, seen, output } = make()
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [asked] = await open(runtime, run, 1)
    await answer(run, asked!, 'yes')
    expect(await run.outcome()).toMatchObject({ output })
    expect(JSON.stringify(seen.prompts.at(-1))).toContain('routed')
  })

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
  const list = []
  for await (const recorded of runtime.handle(run).events()) {
    list.push(recorded)
    if (recorded.position >= position) break
  }
  return list
}

describe('agents as tools', () => {
  /** Uses a tool, then asks, then answers with what it was told. */
  function thorough(name: string) {
    const looked: Json[] = []
    const look = tool({ name: 'look', execute: () => (looked.push(name), 'looked') })
    const model = scripted(calls(['look', {}]), calls(['ask', {}]), ({ messages }) => `heard ${String(messages.at(-1)!.content)}`)
    return { looked, model, inner: mind(name, model, { tools: [look, askTool()] }) }
  }

  test('collaboration 88: an agent inside goes on from where it was, and neither it nor the tool beside it does anything again', async () => {
    const { looked, model, inner } = thorough('inner')
    const beside: string[] = []
    const echo = tool({ name: 'echo', execute: () => (beside.push('echo'), 'echoed') })
    const lead = scripted(calls(['inner', { request: 'x' }], ['echo', {}]), 'final')
    const outer = mind('outer', lead, { tools: [asTool(inner), echo] })
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
  ] as const)('collaboration 89: two calls of one agent both ask; %s; the other stays open as it is: %s', async (_what, order, how) => {
    const inner = code('inner', async (ctx, brief) => `${String(brief)}: ${String(await interrupt(ctx, brief as Json))}`)
    const lead = scripted(calls(['inner', { request: 'a' }, ''], ['inner', { request: 'b' }, '']), 'final')
    const outer = mind('outer', lead, { tools: [asTool(inner)] })
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
      expect(await open(runtime, run, 1)).toEqual([both[order[1]]])
    }
    await answer(run, both[order[1]]!, order[1])
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual(['a: 0', 'b: 1'])
    expect(lead.prompts).toHaveLength(2)
  })

  test('collaboration 102: a tool fails and an agent as a tool asks in one turn: the failure is kept as a result, the question is answered', async () => {
    const broken = tool({ name: 'broken', effect: 'once', execute: () => Promise.reject(new Error('boom')) })
    const lead = scripted(calls(['broken', {}], ['inner', { request: 'x' }]), 'final')
    const outer = mind('outer', lead, { tools: [broken, asTool(asker('inner'))] })
    const runtime = await runtimeOf([outer])
    const run = await runtime.start(outer, 'go')
    const [asked] = await open(runtime, run, 1)
    await answer(run, asked!, 'yes')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([expect.stringMatching(/boom/), 'inner heard yes'])
  })

  test('collaboration 120: one turn with a tool and two agents to be approved: each result when it is there, one model call when all are', async () => {
    const ran: string[] = []
    const echo = tool({ name: 'echo', execute: () => (ran.push('echo'), 'echoed') })
    const lead = scripted(calls(['echo', {}, 'e1'], ['w1', { request: 'x' }, 'a1'], ['flow', { request: 'y' }, 'a2']), 'final')
    const flow = sequential({ name: 'flow', description: 'F', agents: [mind('s1'), mind('s2')] })
    const outer = mind('outer', lead, { tools: [echo, asTool(mind('w1'), { approval: true }), asTool(flow, { approval: true })] })
    const runtime = await runtimeOf([outer])
    const run = await runtime.start(outer, 'go')
    const both = await open(runtime, run, 2)
    expect(ran).toEqual(['echo'])
    const byTool = (name: string) => both.find(({ body }) => (body as { tool?: Json }).tool === name)!
    await run.decide({ approvalId: byTool('w1').id, decision: 'approve' })
    expect(await open(runtime, run, 1)).toEqual([byTool('flow')])
    expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toEqual(['outer waiting', 'w1 completed'])
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
      agents: [asker('a'), sequential({ name: 'line', agents: [mind('first', first), inner] }), asker('d')],
    })
    return { after, first, root: sequential({ name: 'all', agents: [outer, mind('after', after)] }) }
  }
  test.each([
    ['one by one', [0, 1, 2, 3]],
    ['in reverse', [3, 2, 1, 0]],
    ['from the middle', [1, 3, 0, 2]],
  ])(
    'collaboration 95, 98: answered %s, half of them by another process: the others keep their ids, nothing is done again',
    async (_what, order) => {
      const { root, after, first } = asking()
      let runtime = await runtimeOf([root], { store: store() })
      let run: Run<unknown> = await runtime.start(root, 'go', { runId: 'r1' })
      const all = await open(runtime, run, 4)
      expect(all.map(pathOf)).toEqual(['all/outer/a', 'all/outer/line/first/inner/b', 'all/outer/line/first/inner/c', 'all/outer/d'])
      const left = new Set(all.map(({ id }) => id))
      for (const [n, which] of order.entries()) {
        await answer(run, all[which]!, n)
        left.delete(all[which]!.id)
        if (n === 1) {
          await runtime.close()
          runtime = await runtimeOf([root], { store: store() })
          run = runtime.handle('r1')
        }
        if (left.size > 0) expect(new Set((await open(runtime, run, left.size)).map(({ id }) => id))).toEqual(left)
      }
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect([first.prompts.length, after.prompts.length]).toEqual([1, 1])
      const heard = after.prompts[0]!.flatMap(({ content }) => /said: (.*)\./.exec(String(content))?.[1] ?? [])
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
      .poll(async () => (await runtime.questions({ run: run.id })).some(({ body }) => JSON.stringify(body).includes('then?')))
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
    await expect(other.answer({ interruptId: asked!.id, value: 1 })).rejects.toMatchObject({ code: 'interrupt.unknown' })
    expect((await run.view()).position).toBe(before)
    expect(await open(runtime, run, 4)).toContainEqual(asked)
    expect(first.prompts).toHaveLength(2)
  })

  test('collaboration 44: answered while nobody works at it: the answer waits for the next process', async () => {
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
