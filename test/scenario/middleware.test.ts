/**
 * Middlewares: in which order they are asked, and what they may add and change (spec collaboration 1.17). How they end,
 * keep and wait: middleware-ends.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { agent, checkAgents, tool, type Middleware } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { asTool, router, sequential } from '@reeve/flow'
import type { ModelRequest } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, told, waiting } from './team.ts'
import { changes, note, watching } from './watching.ts'

describe('order', () => {
  test('the first is outermost: first on the way in, last on the way out', async () => {
    const log: string[] = []
    const A = agent({
      name: 'A',
      model: scripted(calls(['note', {}]), 'final'),
      tools: [note()],
      middleware: [watching('x', log), watching('y', log)],
    })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ status: 'completed', output: 'final' })
    expect(log).toEqual([
      'x.before A 0',
      'y.before A 0',
      'x.beforeModel A 1',
      'y.beforeModel A 1',
      'y.afterModel A 1',
      'x.afterModel A 1',
      'x.in:note A 1',
      'y.in:note A 1',
      'y.out:note A 1',
      'x.out:note A 1',
      'x.beforeModel A 2',
      'y.beforeModel A 2',
      'y.afterModel A 2',
      'x.afterModel A 2',
      'y.after A 2',
      'x.after A 2',
    ])
  })

  test('after is told of every end, and of what becomes of control', async () => {
    const ends: Json[] = []
    const last: Middleware = {
      name: 'last',
      after: (outcome, { agent: whose, action }) => void ends.push([whose, outcome.status, action?.type ?? '']),
    }
    const out = tool({ name: 'out', execute: () => 'bye', action: 'exit' })
    const W1 = agent({
      name: 'W1',
      description: 'One.',
      model: scripted(calls(['note', {}])),
      tools: [note()],
      limits: { turns: 1 },
      middleware: [last],
    })
    const W2 = agent({
      name: 'W2',
      description: 'Two.',
      model: scripted(calls(['out', {}])),
      tools: [out],
      middleware: [last],
    })
    const to = (name: string) => calls(['transfer_to_agent', { agent_name: name }])
    const Sup = router({ name: 'Sup', model: scripted(to('W1'), to('W2')), workers: [W1, W2], middleware: [last] })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ status: 'completed', output: 'bye' })
    expect(ends).toEqual([
      ['Sup', 'completed', 'transfer'],
      ['W1', 'limited', ''],
      ['Sup', 'completed', 'transfer'],
      ['W2', 'completed', 'exit'],
    ])
  })
})

describe('what it begins with', () => {
  const more = tool({ name: 'more', execute: () => 'more' })

  test('texts and tools are added to the agent’s; before may change the one and remove the other', async () => {
    const model = scripted(calls(['note', {}], ['more', {}]), 'final')
    const adds: Middleware = { name: 'adds', instructions: 'Be kind.', tools: [more] }
    const takes: Middleware = {
      name: 'takes',
      before: ({ instructions, tools }) => ({
        instructions: `${instructions!}!`,
        tools: tools.filter((name) => name !== 'note'),
      }),
    }
    const A = agent({ name: 'A', instructions: 'Help.', model, tools: [note()], middleware: [adds, takes] })
    await (await runtimeOf([A])).run(A, 'go')
    expect(model.prompts[0]![0]).toEqual({ role: 'system', content: 'Help.\n\nBe kind.!' })
    expect(model.tools[0]!.map(({ name }) => name)).toEqual(['more'])
    expect(told(model.prompts[1])).toEqual(['[there is no tool "note". Tools are: more.]', 'more'])
  })

  test('a supervisor keeps its verbs, and its team is introduced after the texts', async () => {
    const model = scripted('final')
    const w = agent({ name: 'w', description: 'Works.', model: () => 'x' })
    const none: Middleware = { name: 'none', instructions: 'Be kind.', before: () => ({ tools: [] }) }
    const boss = supervisor({
      name: 'boss',
      instructions: 'Lead.',
      model,
      workers: [w],
      tools: [note()],
      middleware: [none],
    })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(model.prompts[0]![0]!.content).toMatch(/^Lead\.\n\nBe kind\.\n\nYou lead a team.*- w: Works\.$/s)
    expect(model.tools[0]!.map(({ name }) => name)).toEqual(['delegate', 'forward_message'])
  })

  test('names that are taken, named twice, or no names are refused together', () => {
    const A = agent({
      name: 'A',
      model: () => 'x',
      tools: [note()],
      outputKey: '$mine',
      middleware: [{ name: 'm', tools: [note()] }, { name: 'm' }, { name: 'a b' }],
    })
    const build = (): void => checkAgents([A])
    expect(build).toThrow(expect.objectContaining({ code: 'team.invalid' }))
    for (const problem of [
      /two tools are called "note"/,
      /two middlewares are called "m"/,
      /middleware\[2\]\.name is the text "a b"/,
      /outputKey is the text "\$mine"/,
    ])
      expect(build).toThrow(problem)
    const w = agent({ name: 'w', description: 'Works.', model: () => 'x' })
    const delegate = tool({ name: 'delegate', execute: () => 1 })
    const leads = { name: 'boss', model: () => 'x', workers: [w] } as const
    expect(() => supervisor({ ...leads, middleware: [{ name: 'm', tools: [delegate] }] })).toThrow(
      /"delegate" is taken/,
    )
    expect(() => supervisor({ ...leads, middleware: [{ name: 'm' }, { name: 'm' }] })).toThrow(/two middlewares/)
    expect(() => router({ ...leads, middleware: [{ name: 'm' }, { name: 'm' }] })).toThrow(/two middlewares/)
  })

  test('its names are part of the version, and an agent without any has the version it had', () => {
    const version = (options: object) => agent({ name: 'A', model: () => 'x', ...options }).version
    const plain = version({})
    expect(version({ middleware: [], templating: false, lastAnswer: false })).toBe(plain)
    const others = [
      { middleware: [{ name: 'm' }] },
      { middleware: [{ name: 'n' }] },
      { templating: true },
      { lastAnswer: true },
      { outputKey: 'k' },
    ]
    expect(new Set([plain, ...others.map(version)]).size).toBe(6)
    expect(version({ middleware: [{ name: 'm', after: () => undefined }] })).toBe(
      version({ middleware: [{ name: 'm' }] }),
    )
  })

  test('a tool that is orchestration comes along with its middleware', async () => {
    const asks = tool({ name: 'asks', input: { type: 'object' }, run: (ctx) => interrupt(ctx, 'well?') })
    const A = agent({
      name: 'A',
      model: scripted(calls(['asks', {}]), ({ messages }) => told(messages)[0] as string),
      middleware: [{ name: 'm', tools: [asks] }],
    })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await expect.poll(async () => (await run.view()).interrupts.length).toBe(1)
    await run.answer({ interruptId: (await run.view()).interrupts[0]!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ output: 'yes' })
  })
})

describe('around the model', () => {
  test('what it is shown is for this time only: the conversation stays as it is', async () => {
    const asked: ModelRequest[] = []
    const lines = [calls(['note', {}]), calls(['note', {}]), 'final']
    const brief: Middleware = {
      name: 'brief',
      beforeModel: ({ messages }, { turn }) =>
        turn === 2 ? { messages: messages.slice(0, 1), settings: { temperature: 0 } } : undefined,
    }
    const A = agent({
      name: 'A',
      model: (request) => lines[asked.push({ ...request, messages: [...request.messages] }) - 1]!,
      settings: { temperature: 1, topP: 0.5 },
      tools: [note()],
      middleware: [brief],
    })
    const run = await (await runtimeOf([A])).start(A, 'go', { limits: { tokens: 100_000 } })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(asked.map(({ messages }) => messages.length)).toEqual([1, 1, 5])
    expect(asked.map(({ settings }) => [settings?.temperature, settings?.topP])).toEqual([
      [1, 0.5],
      [0, 0.5],
      [1, 0.5],
    ])
    const requested = (await eventsOf(run)).filter((event) => event.type === 'model.requested')
    expect(requested.map(({ messages }) => messages)).toEqual([1, 1, 5])
    // the key is that of what was asked: the same messages under other settings are another call
    expect(new Set(requested.map(({ contentKey }) => contentKey)).size).toBe(3)
  })

  test('a text in place of the model’s is what is answered, and what the next agent is shown', async () => {
    const next = scripted('final')
    const mild: Middleware = { name: 'mild', afterModel: ({ text }) => ({ text: text.replace('damn', 'd***') }) }
    const A = agent({ name: 'A', model: scripted('damn it'), middleware: [mild], outputKey: 'said' })
    const flow = sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
    const run = await (await runtimeOf([flow])).start(flow, 'go')
    await run.outcome()
    expect(next.prompts[0]!.at(-1)).toEqual({ role: 'user', content: 'For context: [A] said: d*** it.' })
    expect(changes(await eventsOf(run))).toEqual([{ middleware: 'mild', hook: 'afterModel', text: 'd*** it' }])
  })

  test('a rejected answer is given again: it costs a turn, is never the answer, and its calls are not made', async () => {
    const done: Json[] = []
    const model = scripted({ ...calls(['note', {}]), text: 'first' }, 'second', 'third')
    let asked = 0
    const strict: Middleware = {
      name: 'strict',
      afterModel: () => (++asked < 3 ? { again: 'Not good enough.' } : undefined),
    }
    const next = scripted('final')
    const A = agent({ name: 'A', model, tools: [note(done)], middleware: [strict], limits: { turns: 3 } })
    const flow = sequential({ name: 'flow', agents: [A, agent({ name: 'B', model: next })] })
    const run = await (await runtimeOf([flow])).start(flow, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect(done).toEqual([])
    expect(told(model.prompts[1])).toEqual(['[not done: Not good enough.]'])
    expect(model.prompts[2]!.slice(-2)).toEqual([
      { role: 'assistant', content: 'second' },
      { role: 'user', content: 'Not good enough.' },
    ])
    expect(JSON.stringify(next.prompts[0])).toMatch(/third/)
    expect(JSON.stringify(next.prompts[0])).not.toMatch(/second/)
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'tool.refused')).toMatchObject([
      { tool: 'note', failure: { code: 'work.rejected' } },
    ])
    expect(changes(events)).toHaveLength(2)
  })

  test('endless rejection ends at the turn limit, and no rejected text is a partial answer', async () => {
    const model = scripted('no')
    const A = agent({
      name: 'A',
      model,
      middleware: [{ name: 'm', afterModel: () => ({ again: 'no' }) }],
      limits: { turns: 3 },
    })
    const outcome = await (await runtimeOf([A])).run(A, 'go')
    expect(outcome).toMatchObject({ status: 'limited', limit: 'turns' })
    expect(outcome).not.toHaveProperty('partial')
    expect(model.prompts).toHaveLength(3)
  })
})

describe('around a tool', () => {
  const add = (log: Json[] = []) =>
    tool({
      name: 'add',
      input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      execute: (input) => (log.push(input), Number((input as { n: number }).n) + 1),
    })
  const run1 = async (wrapTool: NonNullable<Middleware['wrapTool']>, log: Json[] = [], action?: 'return') => {
    const model = scripted(calls(['add', { n: 1 }, 'c1']), 'final')
    const added = action === undefined ? add(log) : { ...add(log), action }
    const A = agent({ name: 'A', model, tools: [added], middleware: [{ name: 'm', wrapTool }] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    const outcome = await run.outcome()
    return { outcome, told: told(model.prompts[1]), changed: changes(await eventsOf(run)) }
  }

  test('another input is checked like any other, and another result is what the model is told', async () => {
    const log: Json[] = []
    expect(await run1((_call, run) => run({ n: 41 }), log)).toMatchObject({ told: [42], changed: [] })
    expect(log).toEqual([{ n: 41 }])
    const wrong = await run1((_call, run) => run({ n: 'x' }), log)
    expect(wrong.told[0]).toMatch(/do not fit/)
    expect(log).toHaveLength(1)
    const other = await run1(async (_call, run) => ({ content: `${JSON.stringify((await run()).content)} is hidden` }))
    expect(other).toMatchObject({
      told: ['2 is hidden'],
      changed: [{ middleware: 'm', hook: 'wrapTool', callId: 'c1', content: '2 is hidden' }],
    })
  })

  test('a call may be answered without the tool, or made again', async () => {
    const log: Json[] = []
    expect(await run1(() => ({ content: 'known' }), log)).toMatchObject({ told: ['known'] })
    expect(log).toEqual([])
    expect(await run1(async (_call, run) => (await run({ n: 'x' }), run({ n: 5 })), log)).toMatchObject({ told: [6] })
    expect(log).toEqual([{ n: 5 }])
  })

  test('the action follows from the result that is left: that is the answer, and a failed one has none', async () => {
    expect(await run1(() => ({ content: 'known' }), [], 'return')).toMatchObject({ outcome: { output: 'known' } })
    expect(await run1(async (_call, run) => ({ ...(await run()), content: 'other' }), [], 'return')).toMatchObject({
      outcome: { output: 'other' },
    })
    expect(await run1(async (_call, run) => ({ ...(await run()), isError: true }), [], 'return')).toMatchObject({
      outcome: { output: 'final' },
    })
  })

  test('an agent as a tool is wrapped, Reeve’s own verbs are not', async () => {
    const log: string[] = []
    const helper = agent({ name: 'helper', description: 'Helps.', model: scripted('helped') })
    const w = agent({ name: 'w', description: 'Works.', model: scripted('done') })
    const model = scripted(
      { calls: [...calls(['helper', { request: 'x' }]).calls!, ...delegates(['w', 'y']).calls!] },
      'final',
    )
    const boss = supervisor({
      name: 'boss',
      model,
      workers: [w],
      tools: [asTool(helper)],
      middleware: [watching('x', log)],
    })
    await (await runtimeOf([boss])).run(boss, 'go')
    expect(log.filter((line) => /in:|out:/.test(line))).toEqual(['x.in:helper boss 1', 'x.out:helper boss 1'])
    expect(told(model.prompts[1])).toEqual(['helped', 'done'])
  })

  test('an approval of the tool waits inside, and rejects inside', async () => {
    const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
    const wraps: Middleware = {
      name: 'm',
      wrapTool: async (_call, run) => ({ content: `wrapped: ${(await run()).content as string}` }),
    }
    const model = scripted(calls(['pay', {}]), calls(['pay', {}]), 'final')
    const A = agent({ name: 'A', model, tools: [pay], middleware: [wraps] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    for (const decision of ['approve', 'reject'] as const) {
      const [asked] = (await waiting(run)).waiting
      await run.decide({ approvalId: asked!.id, decision })
    }
    await run.outcome()
    expect(told(model.prompts[1])).toEqual(['wrapped: paid'])
    expect(told(model.prompts[2])[0]).toMatch(/^wrapped: \[not done: a human rejected/)
  })
})

describe('what a middleware is shown', () => {
  test.each(['beforeModel', 'wrapTool'] as const)(
    'cannot be changed in place: a push in %s is an error of the middleware, and is sent to no model',
    async (hook) => {
      const push = (messages: readonly unknown[]) =>
        void (messages as unknown[]).push({ role: 'user', content: 'smuggled' })
      const pushes: Middleware =
        hook === 'beforeModel'
          ? { name: 'pushes', beforeModel: ({ messages }) => push(messages) }
          : {
              name: 'pushes',
              wrapTool: (_call, run, at) => {
                push(at.messages)
                return run()
              },
            }
      const model = scripted(calls(['note', {}]), 'final')
      const A = agent({ name: 'A', model, tools: [note()], middleware: [pushes] })
      expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({
        status: 'failed',
        failure: { code: 'middleware.failed', details: { middleware: 'pushes', hook } },
      })
      expect(JSON.stringify(model.prompts)).not.toContain('smuggled')
    },
  )

  test('is a list of its own: one that is kept does not grow, and one that is returned is sent as it was', async () => {
    const kept: (readonly unknown[])[] = []
    const returned: unknown[][] = []
    const keeps: Middleware = {
      name: 'keeps',
      beforeModel: ({ messages }, at) => {
        kept.push(at.messages)
        const list = [...messages]
        returned.push(list)
        return { messages: list }
      },
      afterModel: () => void returned.at(-1)!.push({ role: 'user', content: 'late' }),
    }
    const model = scripted(calls(['note', {}]), 'final')
    const A = agent({ name: 'A', model, tools: [note()], middleware: [keeps] })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ output: 'final' })
    expect(kept.map(({ length }) => length)).toEqual(model.prompts.map(({ length }) => length))
    expect(kept[0]!.length).toBeLessThan(kept[1]!.length)
    expect(kept.flat().every(Object.isFrozen)).toBe(true)
    expect(JSON.stringify(model.prompts)).not.toContain('late')
  })
})
