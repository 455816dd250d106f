/** What is easily got wrong where agents work together is said in words, as early as it can be known. */
import { afterEach, expect, test } from 'vitest'
import { agent, tool, transferTo, type Agent } from '../../src/agent/index.ts'
import type { Json } from '../../src/core/index.ts'
import { loop, router, sequential } from '../../src/flow/index.ts'
import { createRuntime, type RunOutcome, type Runtime } from '../../src/runtime/index.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})
async function ended(root: Agent): Promise<RunOutcome> {
  const runtime = await createRuntime({ agents: [root], strict: true })
  open.push(runtime)
  return runtime.run(root as Agent<string, string, Json>, 'go')
}

const one = agent({ name: 'one', description: 'Is one.', model: () => 'one' })

test('a router or an order without a list of agents', () => {
  expect(() => router({ name: 'r', model: () => 'x' } as never)).toThrow('router "r": workers is no list of agents')
  expect(() => sequential({ name: 's', agents: one } as never)).toThrow('sequential "s": agents is no list of agents')
  expect(() => loop({ name: 'l', maxIterations: 1 } as never)).toThrow('loop "l": agents is no list of agents')
})

test('an agent among the tools is told apart from a tool', () => {
  const wrong = expect.objectContaining({
    code: 'tool.invalid',
    message: '"one" among the tools is an agent',
    hint: expect.stringContaining('asTool') as string,
  })
  expect(() => agent({ name: 'a', model: () => 'x', tools: [one] as never })).toThrow(wrong)
  expect(() => agent({ name: 'a', model: () => 'x', tools: { one } as never })).toThrow(wrong)
})

test('an action that is none is not taken for an exit: the model is told', async () => {
  const odd = tool({ name: 'odd', execute: () => 1, action: (() => 'stop') as never })
  const a = agent({
    name: 'a',
    tools: [odd],
    model: ({ messages }) => {
      const last = messages.at(-1)!
      return last.role === 'tool' ? JSON.stringify(last.content) : { calls: [{ name: 'odd', input: {} }] }
    },
  })
  expect(await ended(a)).toMatchObject({ output: expect.stringMatching(/could not be decided: .*stop.* is no action/) as string })
})

test('a transfer of code to somebody else says to whom it may go', async () => {
  const r = router({ name: 'r', run: () => transferTo('two'), workers: [one] })
  expect(await ended(r)).toMatchObject({ failure: { message: '"r" hands over to "two", and may only to one' } })
})

test('the limit of transfers names the way that control went, returns included', async () => {
  const r = router({ name: 'r', run: () => transferTo('one'), workers: [one], limits: { transfers: 3 } })
  expect(await ended(r)).toMatchObject({ limit: 'transfers', message: '3 transfers are used up: … one > r > one > r > one' })
})
