/** Definitions: tools, agents, versions and the check of all of them together. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, agentProblems, problemText, checkAgents, outputOf, tool, toolsOf } from '../src/index.ts'
import { jsonIn } from '@reeve/core'
import { compileSchema } from '@reeve/edge'
import { supervisor } from '@reeve/supervisor'

describe('tools', () => {
  test('K6: say nothing: once, as undeclared; sensitive: once, with an approval of high risk', () => {
    const plain = tool({ name: 'a', execute: () => 1 })
    expect(plain).toMatchObject({
      work: { kind: 'effect', effect: 'once', undeclared: true },
      approval: undefined,
      spec: { parameters: { type: 'object' } },
    })
    // the same tool: its version does not change where its author only writes down what holds
    expect(tool({ name: 'a', effect: 'once', execute: () => 1 }).version).toBe(plain.version)
    expect(tool({ name: 'a', sensitive: true, approval: false, execute: () => 1 })).toMatchObject({
      work: { effect: 'once' },
      approval: { risk: 'high' },
    })
  })

  test.each([
    ['effect: read', { effect: 'read' }, 'read', false],
    ['effect: once', { effect: 'once' }, 'once', false],
    ['a retry of three attempts', { retry: { attempts: 3 } }, 'idempotent', false],
    ['a retry that says how long to wait', { retry: { backoffMs: 10 } }, 'idempotent', false],
    ['a retry of one attempt', { retry: { attempts: 1 } }, 'once', true],
    ['sensitive, with a retry', { sensitive: true, retry: { attempts: 3 } }, 'once', false],
  ] as const)('K6: what a tool declares by %s', (_what, options, effect, undeclared) => {
    const { work } = tool({ name: 'a', ...options, execute: () => 1 })
    expect(work).toMatchObject({ effect })
    expect('undeclared' in work).toBe(undeclared)
  })

  test('an agent names its undeclared tools; orchestration tools have no effect of their own', () => {
    const execute = () => 1
    const tools = [
      tool({ name: 'mail', execute }),
      tool({ name: 'look', effect: 'read', execute }),
      tool({ name: 'plan', run: () => Promise.resolve(1) }),
    ]
    expect(agent({ name: 'a', model: () => 'hi', tools }).undeclaredTools?.()).toEqual(['mail'])
  })
  test('everything that is wrong with one is said at once', () => {
    const define = (): unknown =>
      tool({ name: 'a b', effect: 'never' as never, timeoutMs: 0, input: { type: 'string' }, execute: () => 1 })
    expect(define).toThrow(
      expect.objectContaining({ code: 'tool.invalid', message: expect.stringMatching(/^(.+\n){3}.+$/) as string }),
    )
    expect(() => tool({ name: 'a' } as never)).toThrow(expect.objectContaining({ code: 'tool.invalid' }))
  })
  test('in a record the key is the name; the client runs one of the AI SDK without execute', () => {
    const [one] = toolsOf({ other: tool({ name: 'a', execute: () => 1 }) })
    expect([one?.name, one?.spec.name]).toEqual(['other', 'other'])
    const [client] = toolsOf({ client: { description: 'x', inputSchema: z.object({}) } })
    expect(client).toMatchObject({ name: 'client', work: { kind: 'client', effect: 'once' } })
    expect(() => toolsOf({ client: { description: 'x' } })).toThrow(expect.objectContaining({ code: 'tool.invalid' }))
  })
  test('the version follows the schema and the declared version', () => {
    const of = (version: string, input: object) =>
      tool({ name: 'a', version, input: input as never, execute: () => 1 }).version
    expect(of('1', { type: 'object' })).toBe(of('1', { type: 'object' }))
    expect(of('1', { type: 'object' })).not.toBe(of('1', { type: 'object', required: ['a'] }))
    expect(of('2', { type: 'object' })).toMatch(/^2\+[0-9a-f]{12}$/)
  })
})

describe('agents', () => {
  const model = (): string => 'x'
  test('the version follows what is data, and nothing else', () => {
    const version = (more: object): string => agent({ name: 'a', model, ...more }).version
    expect(version({ description: 'one' })).toBe(version({ description: 'two' }))
    for (const more of [
      { instructions: 'x' },
      { limits: { turns: 1 } },
      { tools: [tool({ name: 't', execute: () => 1 })] },
      { output: { type: 'number' } },
      { version: '2' },
    ])
      expect(version(more)).not.toBe(version({}))
  })
  test('needs a model or a run, and a model that is one', () => {
    expect(() => agent({ name: 'a' } as never)).toThrow(expect.objectContaining({ code: 'agent.invalid' }))
    expect(() => agent({ name: 'a', model: 'nonsense' })).toThrow(expect.objectContaining({ code: 'model.invalid-id' }))
  })
  test('all problems of all agents in one error', () => {
    const twice = [tool({ name: 't', execute: () => 1 }), tool({ name: 't', execute: () => 2 })]
    const bad = agent({ name: 'bad name', description: 'x', model, tools: twice, limits: { turns: -1 } })
    const priceless = agent({
      name: 'p',
      description: 'x',
      model: { id: 'x/y', call: () => Promise.reject(new Error()) },
      limits: { usd: 1 },
    })
    const boss = supervisor({ name: 'boss', model, workers: () => [bad, priceless, agent({ name: 'p', model })] })
    expect(agentProblems([boss]).map(problemText)).toEqual([
      expect.stringMatching(/worker's name is the text "bad name"/),
      expect.stringMatching(/"p" has no description/),
      expect.stringMatching(/two workers are called "p"/),
      expect.stringMatching(/agent "bad name": name is the text "bad name", expected a letter/),
      expect.stringMatching(/limits.turns is -1/),
      expect.stringMatching(/two tools are called "t"/),
      expect.stringMatching(/two different agents are called "p"/),
      expect.stringMatching(/limits.usd cannot be kept/),
    ])
    expect(() => checkAgents([boss])).toThrow(expect.objectContaining({ code: 'team.invalid' }))
    expect(() => checkAgents([supervisor({ name: 'boss', model, workers: () => [] })])).toThrow(
      expect.objectContaining({ code: 'team.empty' }),
    )
  })
  test('orchestration tools are registered as agents of their own', () => {
    const ask = tool({ name: 'ask', run: async () => 1 })
    expect(
      agent({ name: 'a', model, tools: [ask] })
        .related()
        .map((each) => each.name),
    ).toEqual(['a.ask'])
  })
})

describe('output from a text', () => {
  test.each<[string, unknown]>([
    ['{"a":1}', { a: 1 }],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['```\n[1]\n```', [1]],
    ['Here:\n```json\n2\n```\nbye', 2],
    [' 3 ', 3],
    ['none', undefined],
    ['', undefined],
  ])('%j', (text, value) => expect(jsonIn(text)).toEqual(value))
  test('a text schema takes the text as it is, quoted or not', () => {
    const schema = compileSchema({ type: 'string', minLength: 2 }, 'x')
    expect([outputOf('plain', schema), outputOf('"quoted"', schema)]).toEqual([
      { ok: true, value: 'plain' },
      { ok: true, value: 'quoted' },
    ])
    expect(outputOf('', compileSchema({ type: 'object' }, 'x'))).toEqual({ ok: false, problem: 'the answer is empty' })
    expect(
      outputOf(
        '1',
        compileSchema(
          z.number().transform(() => new Map()),
          'x',
          { type: 'number' },
        ),
      ),
    ).toMatchObject({ ok: false, problem: expect.stringMatching(/Map/) as string })
  })
})
