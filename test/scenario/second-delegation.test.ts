/**
 * A second delegation of the same work: a worker that is given work again after it failed knows what it did, as another
 * attempt does. Nothing that was done once is done twice in silence. Cites K3, K6.
 */
import { describe, expect, test } from 'vitest'
import { agent, asTool, supervisor, tool, type Agent } from '@reeve/public'
import { asText } from '@reeve/core'
import type { ModelRequest } from '@reeve/model'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, store, told } from './team.ts'
import { replayProblems } from './verified.ts'

/** A worker with a model that pays, and whose model is down when it should say so: `times` times. */
function payer(times = 1) {
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    effect: 'once',
    input: { type: 'object', properties: { invoice: { type: 'string' } }, required: ['invoice'] },
    execute: (given) => {
      const { invoice } = given as { readonly invoice: string }
      return `receipt ${paid.push(invoice)} of ${invoice}`
    },
  })
  let down = times
  const model = ({ messages }: ModelRequest) => {
    const last = messages.at(-1)!
    if (last.role !== 'tool') {
      const invoice = /[A-Z]-\d+/.exec(JSON.stringify(messages))?.[0] ?? '?'
      return { calls: [{ name: 'pay', input: { invoice } }] }
    }
    if (down-- > 0) throw fatal('503')
    return asText(last.content)
  }
  const worker = agent({ name: 'payer', description: 'Pays invoices.', tools: [pay], model })
  return { paid, worker }
}
const leads = (worker: Agent, ...briefs: readonly string[]) => {
  const model = scripted(...briefs.map((brief) => delegates(['payer', brief])), 'Done.')
  return { model, lead: supervisor({ name: 'lead', workers: [worker], model }) }
}

describe('a delegation to a worker that failed', () => {
  test.each([
    ['with the same brief', 'Pay A-17.', 'Pay A-17.'],
    ['in other words', 'Pay A-17.', 'Try once more to settle invoice A-17, please.'],
  ])('%s: what was paid is not paid again, and its receipt is the result', async (_what, first, second) => {
    const { paid, worker } = payer()
    const { model, lead } = leads(worker, first, second)
    const run = await (await runtimeOf([lead])).start(lead, 'Go.')
    expect(await run.outcome()).toMatchObject({ output: 'Done.' })
    expect(paid).toEqual(['A-17'])
    expect(told(model.prompts[2])).toEqual(['receipt 1 of A-17'])
    const made = (await eventsOf(run)).filter((event) => event.type === 'step.settled' && event.madeBy !== undefined)
    expect(made).toHaveLength(1)
    expect(await replayProblems(run, lead, worker)).toEqual([])
  })

  test('other work of it is done', async () => {
    const { paid, worker } = payer()
    const { lead } = leads(worker, 'Pay A-17.', 'Pay B-18.')
    await (await runtimeOf([lead])).run(lead, 'Go.')
    expect(paid).toEqual(['A-17', 'B-18'])
  })

  test('once it has answered, equal work is new work', async () => {
    const { paid, worker } = payer()
    const { lead } = leads(worker, 'Pay A-17.', 'Pay A-17.', 'Pay A-17.')
    await (await runtimeOf([lead])).run(lead, 'Go.')
    expect(paid).toEqual(['A-17', 'A-17'])
  })

  test('after two failures the third one knows of both', async () => {
    const { paid, worker } = payer(2)
    const { lead } = leads(worker, 'Pay A-17.', 'Pay B-18.', 'Pay A-17 and say so.')
    await (await runtimeOf([lead])).run(lead, 'Go.')
    expect(paid).toEqual(['A-17', 'B-18'])
  })

  test('in another process it knows it, too', async () => {
    const { paid, worker } = payer()
    const file = store()
    let asked = 0
    const wait = Promise.withResolvers<string>()
    const model = async ({ messages }: ModelRequest) => {
      const results = messages.filter(({ role }) => role === 'tool')
      // the first process dies before the second delegation
      if (results.length === 1 && asked++ === 0) await wait.promise
      return results.length < 2
        ? { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay A-17.' } }] }
        : 'Done.'
    }
    const lead = supervisor({ name: 'lead', workers: [worker], model })
    const first = await runtimeOf([lead], { store: file })
    const run = await first.start(lead, 'Go.')
    await expect.poll(() => asked).toBe(1)
    await first.close({ graceMs: 0 })
    const second = await runtimeOf([lead], { store: file })
    expect(await second.handle(run.id).outcome()).toMatchObject({ output: 'Done.' })
    expect(paid).toEqual(['A-17'])
    wait.resolve('')
  })

  test('an agent as a tool knows it, too', async () => {
    const { paid, worker } = payer()
    const again = calls(['payer', { request: 'Pay A-17.' }])
    const model = scripted(again, again, 'Done.')
    const boss = agent({ name: 'boss', tools: [asTool(worker)], model })
    const run = await (await runtimeOf([boss])).start(boss, 'Go.')
    expect(await run.outcome()).toMatchObject({ output: 'Done.' })
    expect([paid, told(model.prompts[2])]).toEqual([['A-17'], ['receipt 1 of A-17']])
    expect(await replayProblems(run, boss, worker)).toEqual([])
  })

  test('a tool that is orchestration knows it, too', async () => {
    let paid = 0
    let slips = 1
    const settle = tool({
      name: 'settle',
      run: async (ctx) => {
        const receipt = await ctx.step('pay', () => `receipt ${++paid}`, { effect: 'once' })
        if (slips-- > 0) throw new Error('a slip after it has paid')
        return receipt
      },
    })
    const model = scripted(calls(['settle', {}]), calls(['settle', {}]), 'Done.')
    const A = agent({ name: 'A', tools: [settle], model })
    await (await runtimeOf([A])).run(A, 'Go.')
    expect([paid, told(model.prompts[2])]).toEqual([1, ['receipt 1']])
  })
})

describe('a worker that is code', () => {
  const coded = (slips: number) => {
    const paid: string[] = []
    let left = slips
    const worker = agent({
      name: 'payer',
      description: 'Pays.',
      run: async (ctx, brief) => {
        const receipt = await ctx.step('pay', () => `receipt ${paid.push(JSON.stringify(brief))}`, { effect: 'once' })
        if (left-- > 0) throw new Error('a slip after it has paid')
        return receipt
      },
    })
    return { paid, worker }
  }

  test('with the same brief has paid already', async () => {
    const { paid, worker } = coded(1)
    const { model, lead } = leads(worker, 'Pay A-17.', ' pay  A-17.')
    await (await runtimeOf([lead])).run(lead, 'Go.')
    expect([paid.length, told(model.prompts[2])]).toEqual([1, ['receipt 1']])
  })

  test('with another text does not pay before a person says so', async () => {
    const { paid, worker } = coded(1)
    const { lead } = leads(worker, 'Pay A-17.', 'Once more: A-17.')
    const runtime = await runtimeOf([lead])
    const run = await runtime.start(lead, 'Go.')
    await expect.poll(async () => (await runtime.questions()).map(({ kind }) => kind)).toEqual(['in-doubt'])
    expect(paid).toHaveLength(1)
    await run.control.cancel('seen')
    await run.outcome()
  })

  test('with other data does other work, and nobody is asked', async () => {
    const { paid, worker } = coded(1)
    const boss = agent({
      name: 'boss',
      workers: [worker],
      run: async (ctx) => {
        await ctx.delegate(worker, { invoice: 'A-17' } as never)
        const { status } = await ctx.delegate(worker, { invoice: 'B-18' } as never)
        return status
      },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'Go.')).toMatchObject({ output: 'completed' })
    expect(paid).toHaveLength(2)
  })
})

test('the next run of a session is told what the failed one had done', async () => {
  const { paid, worker } = payer()
  const lead = supervisor({
    name: 'lead',
    workers: [worker],
    model: ({ messages }) => {
      if (messages.at(-1)!.role === 'tool') throw fatal('503')
      return JSON.stringify(messages).includes('Is it done?')
        ? asText(messages.at(-2)!.content)
        : delegates(['payer', 'Pay A-17.'])
    },
  })
  const runtime = await runtimeOf([lead])
  const first = await runtime.start(lead, 'Pay A-17.', { session: 'ann' })
  expect(await first.outcome()).toMatchObject({ status: 'failed' })
  const next = await runtime.start(lead, 'Is it done?', { session: 'ann' })
  expect(await next.outcome()).toMatchObject({
    output:
      '[not answered: the run failed (model.bad-request)]\nWhat it had done before that:\n- pay {"invoice":"A-17"} (by "payer")',
  })
  expect(paid).toEqual(['A-17'])
  for (const run of [first, next]) expect(await replayProblems(run, lead)).toEqual([])
})

test('of several workers, one that was stopped after it had paid says so', async () => {
  const paying = Promise.withResolvers<void>()
  const pay = tool({ name: 'pay', effect: 'once', execute: () => 'receipt 1' })
  const slow = agent({
    name: 'slow',
    description: 'Pays.',
    tools: [pay],
    model: ({ messages, signal }) => {
      if (messages.at(-1)!.role !== 'tool') return { calls: [{ name: 'pay', input: {} }] }
      paying.resolve()
      return new Promise<string>((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      )
    },
  })
  const quick = agent({ name: 'quick', description: 'Answers.', model: () => paying.promise.then(() => 'It is paid.') })
  const model = scripted(
    calls(['delegate_to_several', { workers: ['slow', 'quick'], instructions: 'Pay A-17.' }]),
    'Done.',
  )
  const lead = supervisor({ name: 'lead', workers: [slow, quick], delegation: { several: true }, model })
  await (await runtimeOf([lead])).run(lead, 'Go.')
  expect(JSON.stringify(told(model.prompts[1]))).toContain('cancelled\\nWhat it had done before that:\\n- pay')
})
