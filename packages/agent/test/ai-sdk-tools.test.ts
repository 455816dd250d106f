/** Tools of the AI SDK: taken whole, or refused with the option that is not obeyed. */
import { dynamicTool, tool as aiTool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, tool, type ToolsLike } from '../src/index.ts'
import type { Message } from '@reeve/model'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

/** What the model reads of the one call it makes, and what is recorded of it. */
async function told(
  tools: ToolsLike,
  input: { readonly [name: string]: string } = {},
): Promise<{ readonly read: Message | undefined; readonly recorded: unknown; readonly replayed: unknown }> {
  let read: Message | undefined
  const caller = agent({
    name: 'caller',
    tools,
    model: ({ messages }) => {
      const last = messages.at(-1)!
      if (last.role !== 'tool') return { calls: [{ name: 'people', input }] }
      read = last
      return 'ok'
    },
  })
  await using runtime = await runtimeUnderTest({ agents: [caller] })
  const run = await runtime.start(caller, 'go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'ok' })
  let recorded: unknown
  for await (const { event } of run.events())
    if (event.type === 'step.settled' && event.address.endsWith('/people')) recorded = event.outcome
  let replayed: unknown
  for await (const said of run.messages()) if (said.type === 'tool') replayed = said
  return { read, recorded, replayed }
}

const rows = [{ name: 'Ann', iban: 'DE02' }]
const inputSchema = z.object({})

describe('toModelOutput', () => {
  test('decides what the model reads; both are recorded, and the conversation shows what was read', async () => {
    const given: unknown[] = []
    const people = aiTool({
      inputSchema,
      execute: () => ({ rows }),
      toModelOutput: (made) => {
        given.push(made)
        return { type: 'text', value: `${made.output.rows.length} found` }
      },
    })
    const { read, recorded, replayed } = await told({ people })
    expect(read).toMatchObject({ content: '1 found' })
    expect(given).toEqual([{ toolCallId: expect.any(String) as string, input: {}, output: { rows } }])
    expect(JSON.stringify(recorded)).toContain('DE02')
    expect(JSON.stringify(recorded)).toContain('1 found')
    expect(replayed).toMatchObject({ content: '1 found' })
  })

  test.each([
    [{ type: 'json', value: { n: 1 } }, { content: { n: 1 } }],
    [
      { type: 'error-text', value: 'no' },
      { content: 'no', isError: true },
    ],
    // it has run: only its result can be denied
    [
      { type: 'execution-denied', reason: 'a policy' },
      { content: '[tool "people" is done; its result is withheld: a policy]' },
    ],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'media', mediaType: 'image/png', data: 'x' },
        ],
      },
      { content: 'a\n[image/png, not shown: the data of a file is not data in base64]' },
    ],
  ])('%j', async (made, content) => {
    const people = tool({ name: 'people', execute: () => 'secret', toModelOutput: () => made })
    expect((await told([people])).read).toMatchObject(content)
  })

  test.each<[string, () => unknown]>([
    [
      'fails',
      () => {
        throw new Error('secret')
      },
    ],
    ['returns something else', () => ({ type: 'text', value: 7 })],
  ])('that %s: the tool is done, and nothing of its result is shown', async (_, toModelOutput) => {
    let ran = 0
    const people = tool({ name: 'people', execute: () => (ran++, 'secret'), toModelOutput })
    const { read } = await told([people])
    expect(JSON.stringify(read)).not.toContain('secret')
    expect(read).toMatchObject({ content: expect.stringContaining('is done') as string })
    expect(read).not.toHaveProperty('isError')
    expect(ran).toBe(1)
  })

  test('a result that looks like such a record is shown as it is', async () => {
    const result = { $output: 'all', $shown: { content: 'little' } }
    const people = tool({ name: 'people', execute: () => result })
    const { read, replayed } = await told([people])
    expect(read).toMatchObject({ content: result })
    expect(replayed).toMatchObject({ content: result })
  })
})

test('execute and the hooks of the arguments are given the call, the conversation before it and the signal', async () => {
  const heard: unknown[] = []
  const people = aiTool({
    inputSchema: z.object({ who: z.string() }),
    onInputStart: (options) => void heard.push(['start', options.toolCallId]),
    onInputAvailable: ({ input, toolCallId }) => void heard.push(['available', toolCallId, input]),
    execute: ({ who }, { messages, toolCallId, abortSignal }) => {
      heard.push(['execute', toolCallId, messages, abortSignal instanceof AbortSignal])
      return who
    },
  })
  await told({ people }, { who: 'ann' })
  const [, id] = heard[0] as [string, string]
  expect(heard).toEqual([
    ['start', id],
    ['available', id, { who: 'ann' }],
    ['execute', id, [{ role: 'user', content: 'go' }], true],
  ])
})

test('examples of the input reach the model in the description', () => {
  const people = aiTool({
    description: 'People.',
    inputSchema: z.object({ who: z.string() }),
    inputExamples: [{ input: { who: 'ann' } }],
    execute: () => 1,
  })
  const caller = agent({ name: 'a', model: () => 'x', tools: { people } })
  expect(caller.related()).toEqual([])
  let described: string | undefined
  const reader = agent({
    name: 'b',
    tools: { people },
    model: ({ tools }) => ((described = tools[0]?.description), 'ok'),
  })
  return runtimeUnderTest({ agents: [reader] }).then(async (runtime) => {
    await runtime.run(reader, 'go')
    await runtime.close()
    expect(described).toBe('People.\nExample of its input: {"who":"ann"}')
  })
})

test('a tool that is made while it runs is taken like any other', async () => {
  const people = dynamicTool({ description: 'd', inputSchema, execute: async () => 'x' })
  expect((await told({ people })).read).toMatchObject({ content: 'x' })
})

test.each<[string, object, string]>([
  ['a context', { contextSchema: z.object({}) }, '"contextSchema"'],
  ['strictness', { strict: true }, '"strict"'],
  ['options of a provider', { providerOptions: { anthropic: {} } }, 'settings.providerOptions'],
  ['deferred loading', { deferLoading: true }, '"deferLoading"'],
  ['an option that no version has', { toModelOutputs: () => 1 }, '"toModelOutputs", which Reeve does not know'],
  ['a description that is a function', { description: () => 'x' }, 'description that is a function'],
  ['hooks and no execute', { execute: undefined, onInputStart: () => 1 }, 'hooks for its input and no execute'],
  [
    'a provider that runs it, and an approval',
    { type: 'provider', id: 'openai.web_search', isProviderExecuted: true, args: {}, needsApproval: true },
    'nobody can be asked',
  ],
  [
    'a provider that defines it',
    { type: 'provider-defined', id: 'anthropic.bash_20250124', name: 'bash', args: {} },
    'does not run it',
  ],
])('one with %s is refused when it is defined', (_, more, problem) => {
  const people = { inputSchema, execute: () => 1, ...more }
  expect(() => agent({ name: 'a', model: () => 'x', tools: { people } })).toThrow(problem)
})
