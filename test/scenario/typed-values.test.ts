/** Session values that have a form: spec collaboration 77, 78, 81, with `sessionValue`. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, tool, type CodeAgentOptions } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { parallel, sequential, sessionValue } from '@reeve/flow'
import { calls, runtimeOf, scripted, store, told } from './team.ts'

const plan = sessionValue('plan', {
  schema: z.object({ steps: z.array(z.string()), done: z.number().int().min(0) }),
  initial: { steps: [], done: 0 },
})
const count = sessionValue('count', { schema: { type: 'integer', minimum: 0 }, initial: 0 })

/** Runs this code as a step; its output, or why it failed. */
async function ran(
  code: CodeAgentOptions<string, undefined, undefined, unknown>['run'],
  values: { readonly [key: string]: Json } = {},
): Promise<unknown> {
  const flow = sequential({ name: 'S', agents: [agent({ name: 'code', run: code })] })
  const outcome = await (await runtimeOf([flow])).run(flow, 'go', { values })
  return outcome.status === 'completed' ? outcome.output : outcome.status === 'failed' ? outcome.failure : outcome
}

describe('a typed session value', () => {
  test('collaboration 77: it has its initial value, and each agent and tool reads the one before', async () => {
    const add = tool({
      name: 'add',
      input: z.object({ step: z.string() }),
      run: (ctx, { step }) => plan.update(ctx, ({ steps, done }) => ({ steps: [...steps, step], done })),
    })
    const model = scripted(calls(['add', { step: 'one' }]), 'planned')
    const planner = agent({ name: 'planner', model, tools: [add] })
    const worker = agent({
      name: 'worker',
      run: async (ctx) => {
        const before = await plan.get(ctx)
        const after = await plan.update(ctx, ({ steps, done }) => ({ steps, done: done + steps.length }))
        return { before, after, now: await plan.get(ctx), raw: await ctx.values.get(plan.key) }
      },
    })
    const flow = sequential({ name: 'S', agents: [planner, worker] })
    const outcome = await (await runtimeOf([flow])).run(flow, 'go')
    const after = { steps: ['one'], done: 1 }
    expect(outcome).toMatchObject({ output: { before: { steps: ['one'], done: 0 }, after, now: after, raw: after } })
    expect(told(model.prompts[1])).toEqual([{ steps: ['one'], done: 0 }])
  })

  test('collaboration 78: changing a read or given value changes no stored or initial value', async () => {
    const spoil = (value: { steps: string[]; done: number }): void => {
      value.done = 99
      value.steps.push('spoilt')
    }
    expect(
      await ran(async (ctx) => {
        spoil(await plan.get(ctx))
        const first = await plan.get(ctx)
        spoil(await plan.update(ctx, (value) => value))
        const kept = await plan.get(ctx)
        const refused = await plan
          .update(ctx, (value) => {
            spoil(value)
            throw new Error('changed its mind')
          })
          .catch((thrown: { code: string; message: string }) => [thrown.code, thrown.message])
        return { first, kept, refused, last: await plan.get(ctx) }
      }),
    ).toEqual({
      first: { steps: [], done: 0 },
      kept: { steps: [], done: 0 },
      refused: ['agent.failed', 'session value "plan" was not changed: changed its mind'],
      last: { steps: [], done: 0 },
    })
    expect(await ran((ctx) => plan.get(ctx))).toEqual({ steps: [], done: 0 })
  })

  test('collaboration 81: a hundred branches change it at once, and nothing is lost', async () => {
    const one = agent({ name: 'one', run: (ctx) => count.update(ctx, (n) => Number(n) + 1) })
    const flow = sequential({
      name: 'S',
      agents: [
        parallel({ name: 'P', agents: Array.from({ length: 100 }, () => one) }),
        agent({ name: 'sum', run: (ctx) => count.get(ctx) }),
      ],
    })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 100 })
  })

  test('a value stored in another form is an error that names the key and the reason', async () => {
    const wrong = {
      code: 'input.invalid',
      retryable: false,
      message: expect.stringMatching(/session value "plan" .*as it was written: .*steps/) as string,
    }
    expect(await ran((ctx) => plan.get(ctx), { plan: { done: 1 } })).toMatchObject(wrong)
    expect(await ran((ctx) => plan.update(ctx, (value) => value), { plan: 'text' })).toMatchObject({
      code: 'input.invalid',
    })
  })

  test('what does not fit is not written; code that catches the error goes on with what was there', async () => {
    const result = await ran(async (ctx) => {
      const codes: Json[] = []
      for (const bad of [
        { steps: [], done: -1 },
        { steps: [1], done: 0 },
        undefined,
        null,
        { steps: [], done: Number.NaN },
      ])
        await plan.update(ctx, () => bad as never).catch((thrown: { code: string }) => codes.push(thrown.code))
      return { codes, kept: await ctx.values.get('plan') }
    })
    expect(result).toEqual({
      codes: ['input.invalid', 'input.invalid', 'input.invalid', 'input.invalid', 'input.invalid'],
      kept: null,
    })
    expect(await ran((ctx) => count.update(ctx, () => -1))).toMatchObject({
      code: 'input.invalid',
      message: expect.stringContaining('"count"') as string,
    })
  })

  test('a value that begins as null may become null again; no other may', async () => {
    const owner = sessionValue('owner', { schema: z.string().nullable(), initial: null })
    expect(
      await ran(async (ctx) => {
        const seen = [
          await owner.get(ctx),
          await owner.update(ctx, () => 'ann'),
          await owner.update(ctx, () => null),
          await owner.get(ctx),
        ]
        return seen
      }),
    ).toEqual([null, 'ann', null, null])
    const named = sessionValue('named', { schema: z.string().nullable(), initial: 'nobody' })
    expect(await ran((ctx) => named.update(ctx, () => null))).toMatchObject({ code: 'input.invalid' })
  })

  test('it belongs to the session: the next run goes on with it, also after a restart', async () => {
    const flow = sequential({
      name: 'S',
      agents: [agent({ name: 'one', run: (ctx) => count.update(ctx, (n) => Number(n) + 1) })],
    })
    const first = await runtimeOf([flow], { store: store() })
    for (const output of [1, 2]) expect(await first.run(flow, 'go', { session: 'ses_1' })).toMatchObject({ output })
    await first.close()
    const second = await runtimeOf([flow], { store: store() })
    expect(await second.run(flow, 'go', { session: 'ses_1' })).toMatchObject({ output: 3 })
    expect(await second.run(flow, 'go')).toMatchObject({ output: 1 })
  })

  test('a definition that makes no sense is refused', () => {
    const schema = z.number()
    const bad = [
      () => sessionValue('', { schema, initial: 0 }),
      () => sessionValue('$line', { schema, initial: 0 }),
      () => sessionValue('n', { schema, initial: 'x' as never }),
      () => sessionValue('n', { schema: z.date(), initial: new Date(0) }),
      () => sessionValue('n', { initial: 0 } as never),
    ]
    for (const make of bad) expect(make).toThrow(expect.objectContaining({ code: 'input.invalid' }) as Error)
  })
})
