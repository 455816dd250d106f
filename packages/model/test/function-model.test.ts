/** A model that is a function is shown a snapshot. */
import { expect, test } from 'vitest'
import { abortOf, LazyAbortController, setController, withSignalOf } from '@reeve/core'
import { agent, createRuntime, tool, type Message, type ModelRequest } from '@reeve/public'
import { resolveModel } from '../src/index.ts'

const look = tool({ name: 'look', effect: 'read', execute: () => ({ found: ['a'] }) })

test('a function model’s view of the conversation does not grow, and the function cannot change it', async () => {
  const kept: (readonly Message[])[] = []
  const lengths: number[] = []
  const thrown: unknown[] = []
  const tried = (change: () => void): void => {
    try {
      change()
    } catch (error) {
      thrown.push(error)
    }
  }
  const root = agent({
    name: 'root',
    tools: [look],
    model: ({ messages, tools }) => {
      kept.push(messages)
      lengths.push(messages.length)
      tried(() => (messages as Message[]).push({ role: 'user', content: 'unrecorded' }))
      tried(() => ((messages[0] as { content: string }).content = 'another brief'))
      tried(() => (tools as unknown[]).push({}))
      return messages.some(({ role }) => role === 'tool') ? 'done' : { calls: [{ name: 'look', input: {} }] }
    },
  })
  await using runtime = await createRuntime({ agents: [root], strict: true })
  expect(await runtime.run(root, 'the brief')).toMatchObject({ status: 'completed', output: 'done' })
  expect(kept.map(({ length }) => length)).toEqual(lengths)
  expect(lengths).toEqual([1, 3])
  expect(thrown).toHaveLength(6)
  expect(kept[1]![0]).toMatchObject({ content: 'the brief' })
})

test.each([
  [{ toolCalls: [] }, 'answer has no option "toolCalls": did you mean "calls"?'],
  [{ content: 'x' }, 'answer has no option "content": did you mean "text"?'],
  [{ calls: [{ name: 'look', args: {} }] }, 'answer.calls[0] has no option "args": did you mean "input"?'],
  [{ calls: { name: 'look' } }, 'answer.calls is not a list of { name, input }'],
])('an answer of a model function with an unknown member fails at once: %j', async (answer, problem) => {
  const root = agent({ name: 'root', tools: [look], model: () => answer as never })
  await using runtime = await createRuntime({ agents: [root] })
  expect(await runtime.run(root, 'go')).toMatchObject({
    status: 'failed',
    failure: { code: 'model.answer-invalid', message: expect.stringContaining(problem) as string },
  })
})

test('a model function may return the whole answer of another model', async () => {
  const whole = {
    text: 'hi',
    calls: [],
    finish: 'stop',
    model: 'a/b',
    reasoning: { text: 'hm' },
    warnings: [],
  } as const
  const root = agent({ name: 'root', model: () => whole as never })
  await using runtime = await createRuntime({ agents: [root] })
  expect(await runtime.run(root, 'go')).toMatchObject({ output: 'hi' })
})

const nothingElse = { messages: [], tools: [], key: 'k' }

test('the signal of a request is made when a function looks at it: its own member, in a copy of the request, too', () => {
  const controller = new LazyAbortController()
  const io = { signal: undefined as unknown as AbortSignal }
  setController(io, controller)
  const request = withSignalOf(io, { ...nothingElse })
  expect(abortOf(request)).toBe(controller)
  const copied = { ...request }
  controller.abort(new Error('stop'))
  expect(request.signal).toBeInstanceOf(AbortSignal)
  expect([copied.signal === request.signal, request.signal === controller.signal]).toEqual([true, true])
  expect(copied.signal.reason).toMatchObject({ message: 'stop' })
  expect(abortOf(copied)).toBe(copied.signal)
  expect(withSignalOf(copied, {}).signal).toBe(copied.signal)
})

test.each([
  ['looks at its signal', ({ signal }: ModelRequest) => void signal.aborted],
  ['does not look at its signal', () => undefined],
])('an abort ends the wait for a function that %s and never answers', async (_how, look) => {
  const model = resolveModel((request) => {
    look(request)
    return new Promise(() => {})
  })
  const lazy = new LazyAbortController()
  const io = { signal: undefined as unknown as AbortSignal }
  setController(io, lazy)
  const asked = model.call(withSignalOf(io, { ...nothingElse }))
  lazy.abort(new Error('stop'))
  await expect(asked).rejects.toThrow('stop')
  const plain = new AbortController()
  const outside = model.call({ ...nothingElse, signal: plain.signal })
  plain.abort(new Error('stop, too'))
  await expect(outside).rejects.toThrow('stop, too')
})
