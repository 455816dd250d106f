/**
 * What is done is never told as failed: a result that cannot be recorded as it is, a hook that fails afterwards. The
 * model is told that it is done, the journal says so, and nothing is done again. Cites K6, K10.
 */
import { describe, expect, test } from 'vitest'
import { agent, asTool, supervisor, tool, type Middleware } from '@reeve/public'
import { asText, type Json } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import { replayProblems } from './verified.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told } from './team.ts'

class Receipt {
  readonly number = 7
  #secret = 'kept out'
  get secret(): string {
    return this.#secret
  }
}
const cyclic = (): unknown => {
  const one: Record<string, unknown> = { number: 7 }
  one['self'] = one
  return one
}
const throwing = {
  number: 7,
  get broken(): never {
    throw new Error('a getter')
  },
}
const unwritable: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    'a bigint',
    () => ({ number: 9_007_199_254_740_993n }),
    /in another form: result\.number is a bigint.*"9007199254740993"/s,
  ],
  ['a cycle', cyclic, /in part: result\.self contains itself.*"number":7/s],
  ['a function', () => ({ number: 7, undo: () => 1 }), /in part: result\.undo is a function, left out.*"number":7/s],
  ['a symbol', () => Symbol('x'), /in part: result is a symbol, left out/],
  ['NaN', () => ({ number: 7, rate: NaN }), /result\.rate is NaN, kept as text.*"rate":"NaN"/s],
  ['a Map', () => new Map([['number', 7]]), /is a Map, kept as an object.*"number":7/s],
  ['a Map with other keys', () => new Map([[1, 7]]), /a list of pairs.*\[\[1,7\]\]/s],
  ['a Set', () => new Set([7]), /is a Set, kept as a list.*\[7\]/s],
  ['an instance of a class', () => ({ one: new Receipt() }), /own members.*"number":7/s],
  ['an Error', () => new Error('declined'), /is an Error.*declined/s],
  ['bytes', () => new Uint8Array([1, 2]), /2 bytes, kept as base64.*AQI=/s],
  ['a getter that throws', () => throwing, /result\.broken could not be read.*"number":7/s],
  ['a toJSON that throws', () => ({ number: 7, at: { toJSON: () => { throw new Error('no') } } }), /result\.at could not be read.*"number":7/s], // prettier-ignore
  ['undefined in a list', () => [7, undefined], /kept as null.*\[7,null\]/s],
]

const once = (events: readonly JournalEvent[], name: string): readonly JournalEvent[] =>
  events.filter((event) => event.type === 'tool.called' && event.tool === name)

describe('a result that JSON does not take', () => {
  test.each(unwritable)('%s: the tool is done, and what is recorded of it is told', async (_what, result, said) => {
    let paid = 0
    const pay = tool({ name: 'pay', effect: 'once', execute: () => (paid++, result()) })
    const model = scripted(calls(['pay', {}]), 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'Done.' })
    const [content] = told(model.prompts[1])
    expect(content).toMatch(/^\[tool "pay" is done\. Its result is recorded /)
    expect(content).toMatch(said)
    expect(content).not.toMatch(/fail/)
    expect(model.prompts[1]!.at(-1)).not.toHaveProperty('isError')
    const events = await eventsOf(run)
    expect([paid, once(events, 'pay').length]).toEqual([1, 1])
    // every reader is shown what the model was told, and a replay finds the same
    const messages: Json[] = []
    for await (const each of run.messages()) if (each.type === 'tool') messages.push(each.content)
    expect(messages).toEqual([content])
    expect(await replayProblems(run, A)).toEqual([])
  })

  test('a step of code goes on with what was recorded; nothing is thrown, also in a replay', async () => {
    let done = 0
    const clerk = agent({
      name: 'clerk',
      run: async (ctx) => {
        const receipt = await ctx.step('pay', () => (done++, { number: 12n, at: new Date(0) }), { effect: 'once' })
        return JSON.stringify(receipt)
      },
    })
    const runtime = await runtimeOf([clerk], { store: store() })
    const run = await runtime.start(clerk, 'Pay.')
    expect(await run.outcome()).toMatchObject({ output: '{"number":"12","at":"1970-01-01T00:00:00.000Z"}' })
    const settled = (await eventsOf(run)).find(({ type }) => type === 'step.settled')
    expect(settled).toMatchObject({ outcome: { status: 'completed', kept: { as: 'form' } } })
    expect(done).toBe(1)
    expect(await replayProblems(run, clerk)).toEqual([])
  })

  test.each([
    ['a tool that is orchestration', () => tool({ name: 'pay', run: async () => ({ number: 12n }) }), 'pay'],
    [
      'an agent as a tool',
      () =>
        asTool(agent({ name: 'payer', description: 'Pays.', run: async () => ({ number: 12n }) as never }), {
          name: 'pay',
        }),
      'pay',
    ],
  ])('%s', async (_what, make) => {
    const model = scripted(calls(['pay', { request: 'x' }]), 'Done.')
    const A = agent({ name: 'A', model, tools: [make()] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    await run.outcome()
    expect(told(model.prompts[1])[0]).toMatch(/is done\. .*"number":"12"/s)
  })

  test('a worker that is code: its leader reads that it is done', async () => {
    const payer = agent({ name: 'payer', description: 'Pays.', run: async () => ({ number: 12n }) as never })
    const model = scripted(delegates(['payer', 'Pay.']), 'Done.')
    const lead = supervisor({ name: 'lead', workers: [payer], model })
    const run = await (await runtimeOf([lead])).start(lead, 'Pay.')
    await run.outcome()
    expect(await replayProblems(run, lead, payer)).toEqual([])
    expect(told(model.prompts[1])[0]).toMatch(/^\[worker "payer" is done\. .*"number":"12"/s)
  })

  test('an action is given what was recorded, not the sentence about it', async () => {
    const pay = tool({ name: 'pay', effect: 'once', execute: () => ({ number: 12n }), action: 'return' })
    const A = agent({ name: 'A', model: scripted(calls(['pay', {}])), tools: [pay] })
    expect(await (await runtimeOf([A])).run(A, 'Pay.')).toMatchObject({ output: { number: '12' } })
  })
})

describe('a hook that fails after the call', () => {
  const fails: Middleware = {
    name: 'guard',
    wrapTool: async (_call, run) => {
      await run()
      throw new Error('the filter is broken: card 4111')
    },
  }

  test('the call is done, its result is withheld, and the agent goes on', async () => {
    let paid = 0
    const pay = tool({ name: 'pay', effect: 'once', execute: () => (paid++, 'receipt of card 4111'), action: 'return' })
    const model = scripted(calls(['pay', {}]), 'Done.')
    const A = agent({ name: 'A', model, tools: [pay], middleware: [fails] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'Done.' })
    const due = '[this call of "pay" is done. Its result is withheld: the middleware "guard" failed afterwards]'
    expect(told(model.prompts[1])).toEqual([due])
    const messages: Json[] = []
    for await (const each of run.messages()) if (each.type === 'tool') messages.push(each.content)
    expect([messages, paid]).toEqual([[due], 1])
    expect(await replayProblems(run, A)).toEqual([])
  })

  test('of a call that failed, it is not said that it is done', async () => {
    const pay = tool({
      name: 'pay',
      execute: () => {
        throw new Error('declined')
      },
    })
    const model = scripted(calls(['pay', {}]), 'No.')
    const A = agent({ name: 'A', model, tools: [pay], middleware: [fails] })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(asText(told(model.prompts[1])[0]!)).toMatch(/^\[this call of "pay" did not succeed/)
  })
})
