/** Interrupts inside workers: spec delegation 66, collaboration 47, 48, 94. */
import { describe, expect, test } from 'vitest'
import { agent, sleep, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import type { Runtime } from '@reeve/runtime'
import { calls, delegates, runtimeOf, scripted, told } from './team.ts'

describe('asking for a value', () => {
  const asking = (ask: (ctx: Parameters<typeof interrupt>[0]) => Promise<Json>) => {
    const ran: Json[] = []
    const lookUp = tool({ name: 'ask_human', run: async (ctx) => (ran.push(await ask(ctx)), ran.at(-1)!) })
    const low = scripted(calls(['ask_human', {}]), 'done')
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'x']), 'final'),
      workers: [agent({ name: 'w1', description: 'W', model: low, tools: [lookUp] })],
    })
    return { boss, low }
  }
  const question = async (runtime: Runtime, run: string) => {
    await runtime.handle(run).until('waiting')
    return (await runtime.questions({ run }))[0]!
  }
  test.each<[string, Json]>([
    ['false', false],
    ['0', 0],
    ["''", ''],
    ['null', null],
    ['an object', { a: [1] }],
  ])("delegation 66: a worker's tool that asks gets %s as it is", async (_what, value) => {
    const { boss, low } = asking((ctx) => interrupt(ctx, { please: 'say' }))
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const { id, body } = await question(runtime, run.id)
    expect(body).toMatchObject({ question: { please: 'say' }, path: ['boss', 'w1', 'w1.ask_human'] })
    await run.answer({ interruptId: id, value })
    await run.outcome()
    expect(told(low.prompts[1])).toEqual([value])
  })
  test('collaboration 47, 48: a second interrupt has an id of its own, and an answer reaches only its own', async () => {
    const { boss, low } = asking(async (ctx) => [await interrupt(ctx, 'first'), await interrupt(ctx, 'second')])
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const first = await question(runtime, run.id)
    await run.answer({ interruptId: first.id, value: 1 })
    const second = await question(runtime, run.id)
    expect(second.id).not.toBe(first.id)
    await expect(run.answer({ interruptId: first.id, value: 3 })).rejects.toMatchObject({
      code: 'interrupt.already-answered',
    })
    await run.answer({ interruptId: second.id, value: 2 })
    await run.outcome()
    expect(told(low.prompts[1])).toEqual([[1, 2]])
  })
  test('collaboration 94: an unknown id is refused before anything happens', async () => {
    const { boss } = asking((ctx) => interrupt(ctx, 'first'))
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await question(runtime, run.id)
    await expect(run.answer({ interruptId: 'int_unknown', value: 1 })).rejects.toMatchObject({
      code: 'interrupt.unknown',
    })
    expect((await run.view()).status).toBe('waiting')
  })
  test('an answer that does not fit is asked for again; a deadline has a value in its place', async () => {
    const { boss, low } = asking(async (ctx) => {
      const n = await interrupt(ctx, 'how many?', { schema: { type: 'integer' } })
      const late = await interrupt(ctx, 'now?', { until: new Date(ctx.now().getTime() + 10), otherwise: 'nobody' })
      await sleep(ctx, 5)
      return [n, late]
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await run.answer({ interruptId: (await question(runtime, run.id)).id, value: 'many' })
    const again = await question(runtime, run.id)
    expect(again.body).toMatchObject({
      question: { question: 'how many?', problem: expect.stringMatching(/must be an integer/) as string },
    })
    await run.answer({ interruptId: again.id, value: 7 })
    await run.outcome()
    expect(told(low.prompts[1])).toEqual([[7, 'nobody']])
  })
})
