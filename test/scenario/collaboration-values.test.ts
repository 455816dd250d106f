/**
 * Values that agents of a run share: spec collaboration 77 to 82, through `ctx.values`. Typed ones are in
 * typed-values.test.ts.
 */
import { expect, test } from 'vitest'
import { agent, delegate, tool, transferTo } from '@reeve/agent'
import type { Json, JsonObject } from '@reeve/core'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, runtimeOf, scripted, store, told } from './team.ts'

const count = (value: Json): Json => ((value as number | null) ?? 0) + 1

/** Reads some values. */
const reader = agent({
  name: 'reader',
  description: 'Reads values.',
  run: async (ctx) => {
    const values: Record<string, Json> = {}
    for (const key of ['a', 'b', 'k', 'k2']) values[key] = await ctx.values.get(key)
    return values
  },
})

test('collaboration 77: a leader, its parallel workers and an orchestration tool share values both ways', async () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes k2.',
    run: async (ctx) => ctx.values.update('k2', () => 'from the writer'),
  })
  const note = tool({
    name: 'note',
    input: { type: 'object', properties: {} },
    run: (ctx) => ctx.values.update('k', () => 'from the tool'),
  })
  const lead = scripted(
    calls(['note', {}]),
    delegates(['writer', 'x']),
    delegates(['reader', 'x'], ['reader', 'y']),
    'final',
  )
  const boss = supervisor({ name: 'boss', model: lead, workers: [reader, writer], tools: [note] })
  const runtime = await runtimeOf([boss])
  await runtime.run(boss, 'go', { values: { a: 1 } })
  const seen = { a: 1, b: null, k: 'from the tool', k2: 'from the writer' }
  expect(told(lead.prompts[3])).toEqual([seen, seen])
})

test('collaboration 78: changing a read value changes no stored value', async () => {
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      const list = (await ctx.values.update('list', () => [{ n: 1 }])) as JsonObject[]
      const read = (await ctx.values.get('list')) as { n: number }[]
      for (const each of [list as unknown as { n: number }[], read]) {
        each[0]!.n = 99
        each.push({ n: 2 })
      }
      return ctx.values.get('list')
    },
  })
  const runtime = await runtimeOf([root])
  expect(await runtime.run(root, 'go')).toMatchObject({ status: 'completed', output: [{ n: 1 }] })
})

test('keys are listed, and a value that is null is there; several are written at once', async () => {
  const root = agent({
    name: 'root',
    run: async ({ values }) => {
      const before = [...(await values.keys())]
      await values.set('a', 2)
      await values.setAll({ c: null, b: { n: 1 } })
      const all = await values.keys()
      return {
        before,
        all: [...all],
        read: [...(await values.getAll(all))],
        has: [await values.has('c'), await values.has('d')],
      }
    },
  })
  const runtime = await runtimeOf([root])
  const run = await runtime.run(root, 'go', { session: 's1', values: { a: 1 } })
  expect(run).toMatchObject({
    output: { before: ['a'], all: ['a', 'b', 'c'], read: [2, { n: 1 }, null], has: [true, false] },
  })
  // those of the session, and nothing that Reeve keeps with it
  expect(await runtime.run(root, 'go', { session: 's1' })).toMatchObject({ output: { before: ['a', 'b', 'c'] } })
  expect(await runtime.run(root, 'go')).toMatchObject({ output: { before: [] } })
})

test('a value that is not JSON is never written', async () => {
  const thrown = (work: Promise<unknown>): Promise<Json> =>
    work.then(
      () => null,
      (error: { code: string }) => error.code,
    )
  const root = agent({
    name: 'root',
    run: async ({ values }) => [
      await thrown(values.set('a', NaN)),
      await thrown(values.setAll({ b: 1, c: NaN })),
      [...(await values.keys())],
    ],
  })
  const runtime = await runtimeOf([root])
  expect(await runtime.run(root, 'go')).toMatchObject({ output: ['input.not-json', 'input.not-json', []] })
})

test('collaboration 79: values of one run are not those of another', async () => {
  const runtime = await runtimeOf([reader])
  expect(await runtime.run(reader, 'go', { values: { a: 1 } })).toMatchObject({ output: { a: 1, b: null } })
  expect(await runtime.run(reader, 'go')).toMatchObject({ output: { a: null, b: null } })
})

test('collaboration 80: values given for a session’s next run replace the kept ones, also after a restart', async () => {
  const first = await runtimeOf([reader], { store: store() })
  await first.run(reader, 'go', { session: 'ses_1', values: { a: 1, b: 1 } })
  await first.close()
  const second = await runtimeOf([reader], { store: store() })
  expect(await second.run(reader, 'go', { session: 'ses_1', values: { a: 2 } })).toMatchObject({
    output: { a: 2, b: 1 },
  })
})

test('collaboration 81: a hundred parallel workers, each with its own key and one shared: nothing is lost', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `own${i}`)
  const one = agent({
    name: 'one',
    description: 'Counts.',
    run: async (ctx, key) => {
      await ctx.values.update(key, () => key)
      return ctx.values.update('shared', count)
    },
  })
  const root = agent({
    name: 'root',
    workers: [one],
    run: async (ctx) => {
      const outcomes = await Promise.all(names.map((name) => delegate(ctx, one, name)))
      const kept = await Promise.all(names.map((name) => ctx.scope(name).values.get(name)))
      return {
        shared: await ctx.values.get('shared'),
        kept,
        returned: outcomes.map((outcome) => (outcome.status === 'completed' ? outcome.output : -1)),
      }
    },
  })
  const runtime = await runtimeOf([root])
  const outcome = await runtime.run(root, 'go')
  expect(outcome).toMatchObject({ status: 'completed', output: { shared: 100, kept: names } })
  const { returned } = (outcome as unknown as { output: { returned: number[] } }).output
  expect(returned.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('collaboration 82: braces and dollars in instructions are plain text under any values', async () => {
  const instructions = 'Answer as {"a": {a}, "b": ${b}} and \\frac{1}{2}. {{a}}'
  const model = scripted('{}')
  const root = agent({ name: 'root', model, instructions })
  const runtime = await runtimeOf([root])
  await runtime.run(root, 'go', { values: { a: 1, b: 2 } })
  expect(model.prompts[0]![0]).toEqual({ role: 'system', content: instructions })
})

test('collaboration 77: steps, a transferred agent, branches and an agent as a tool share them, both ways', async () => {
  const seen: Record<string, Json> = {}
  /** Notes what it finds under every key, and leaves something of its own. */
  const note = (name: string) =>
    agent({
      name,
      description: 'Takes notes.',
      run: async (ctx) => {
        const keys = ['given', 'A', 'W', 'B1', 'B2', 'inner']
        const found = await ctx.values.getAll(keys)
        seen[name] = keys.filter((_key, i) => found[i] !== null)
        await ctx.values.update(name, () => name)
        return null
      },
    })
  const lead = router({
    name: 'Sup',
    run: async (ctx, _brief, { history }) => {
      const left = (await ctx.values.get('W')) !== null
      return left || history.length > 9 ? 'led' : transferTo('W')
    },
    workers: [note('W')],
  })
  const outer = agent({
    name: 'outer',
    model: scripted(calls(['inner', { request: 'x' }]), 'done'),
    tools: [asTool(note('inner'))],
  })
  const flow = sequential({
    name: 'S',
    agents: [note('A'), lead, parallel({ name: 'P', agents: [note('B1'), note('B2')] }), outer, note('last')],
  })
  const runtime = await runtimeOf([flow])
  expect(await runtime.run(flow, 'go', { values: { given: 1 } })).toMatchObject({ status: 'completed' })
  const before = ['given', 'A', 'W']
  expect(seen).toMatchObject({
    A: ['given'],
    W: ['given', 'A'],
    inner: [...before, 'B1', 'B2'],
    last: [...before, 'B1', 'B2', 'inner'],
  })
  for (const name of ['B1', 'B2']) expect((seen[name] as string[]).slice(0, 3)).toEqual(before) // of the branch beside it, what was there by then
})

test('collaboration 79: the values of one run of a flow are not those of the next', async () => {
  const flow = sequential({ name: 'S', agents: [parallel({ name: 'P', agents: [reader, reader] })] })
  const runtime = await runtimeOf([flow])
  const seen = (a: Json): Json => ({ a, b: null, k: null, k2: null })
  expect(await runtime.run(flow, 'go', { values: { a: 1 } })).toMatchObject({ output: [seen(1), seen(1)] })
  expect(await runtime.run(flow, 'go')).toMatchObject({ output: [seen(null), seen(null)] })
})

test('collaboration 80: values of a flow survive a question to the outside and a restart', async () => {
  const writer = agent({ name: 'writer', run: async (ctx) => ctx.values.update('k', () => 'before') })
  const asks = agent({
    name: 'asks',
    run: async (ctx) => {
      await ctx.values.update('k2', () => 'while')
      return interrupt(ctx, 'well?')
    },
  })
  const flow = sequential({ name: 'S', agents: [writer, parallel({ name: 'P', agents: [asks, reader] }), reader] })
  const before = await runtimeOf([flow], { store: store() })
  const run = await before.start(flow, 'go', { runId: 'r1', values: { a: 1 } })
  expect(await run.until('waiting')).toMatchObject({ status: 'waiting' })
  await before.close()
  const after = await runtimeOf([flow], { store: store() })
  const [question] = await after.questions()
  await after.handle('r1').answer({ interruptId: question!.id, value: 'yes' })
  expect(await after.handle('r1').outcome()).toMatchObject({ output: { a: 1, b: null, k: 'before', k2: 'while' } })
})

test('collaboration 81: a hundred branches, each with a key of its own and one they share: nothing is lost', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `own${i}`)
  const one = (name: string) =>
    agent({
      name,
      run: async (ctx) => {
        await ctx.values.update(name, () => name)
        return ctx.values.update('shared', count)
      },
    })
  const all = agent({ name: 'all', run: async (ctx) => ctx.values.getAll([...names, 'shared']) })
  const flow = sequential({ name: 'S', agents: [parallel({ name: 'P', agents: names.map(one) }), all] })
  expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: [...names, 100] })
})
