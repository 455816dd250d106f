/**
 * What is told of a run is what counted: in its messages, its text, its session and the memory of its workers. Cites
 * K1, K9.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent, type Middleware } from '@reeve/agent'
import { completed } from '@reeve/core'
import { parallel, router, sequential } from '@reeve/flow'
import type { Recorded, Spoken } from '@reeve/journal'
import type { ModelFunction } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { human, supervisor } from '@reeve/supervisor'
import { expectSameAtEveryCut } from '../../packages/journal/test/hearing.ts'
import { xfer } from './control.ts'
import { calls, delegates, runtimeOf, scripted, waiting } from './team.ts'

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of source) list.push(item)
  return list
}
const textIn = async (source: AsyncIterable<string>): Promise<string> => (await all(source)).join('')
const wordsOf = (said: readonly Spoken[], name: string): string[] =>
  said.flatMap((each) => (each.type === 'assistant' && each.agent === name && each.text !== '' ? [each.text] : []))

/** A model that writes its answer piece by piece. */
const writing =
  (text: string): ModelFunction =>
  ({ emit }) => {
    for (const letter of text) emit?.({ type: 'text.delta', id: '0', text: letter })
    return text
  }
const about = { name: 'a', description: 'Answers.' } as const
const inside = agent({ name: 'inside', description: 'i', model: writing('ANSWER') })
const masks: Middleware = { name: 'masks', afterModel: ({ text }) => ({ text: text.replaceAll('1234', 'ANSWER') }) }
const rejects: Middleware = {
  name: 'rejects',
  afterModel: ({ text }) => (text.includes('1234') ? { again: 'No numbers.' } : undefined),
}
const replaces: Middleware = { name: 'replaces', after: () => completed('ANSWER') }
const looks: Middleware = {
  name: 'looks',
  afterModel: () => undefined,
  wrapTool: (_call, run) => run(),
  after: () => undefined,
}
const ask = tool({ name: 'ask', run: (ctx) => interrupt(ctx, '?') })
const unsure = {
  assess: () => ({ confidence: 0.1 }),
  oversight: { mode: 'in-the-loop', escalate: { confidenceBelow: 0.6 } },
} as const

type Act = (run: Run) => Promise<unknown>
const nobody: Act = () => Promise.resolve()
const edits: Act = async (run) =>
  run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision: 'edit', input: 'ANSWER' })
const byHand: Act = async (run) => {
  await waiting(run)
  const { activation } = (await run.view()).activations.find((each) => each.agent === 'a')!
  await run.control.complete({ delegation: activation, output: 'ANSWER', by: 'ann' })
}

/** How an answer came to count; what its agent has said in the end. */
const ways: readonly (readonly [string, () => Agent, Act, readonly string[]])[] = [
  ['the model’s own', () => agent({ ...about, model: writing('ANSWER') }), nobody, ['ANSWER']],
  [
    'middlewares that only look',
    () => agent({ ...about, model: writing('ANSWER'), middleware: [looks] }),
    nobody,
    ['ANSWER'],
  ],
  ['afterModel', () => agent({ ...about, model: writing('1234'), middleware: [masks] }), nobody, ['ANSWER']],
  [
    'afterModel, seen by another',
    () => agent({ ...about, model: writing('1234'), middleware: [looks, masks] }),
    nobody,
    ['ANSWER'],
  ],
  [
    'afterModel, asked again',
    () => agent({ ...about, model: scripted('1234', 'ANSWER'), middleware: [rejects] }),
    nobody,
    ['ANSWER'],
  ],
  ['after', () => agent({ ...about, model: scripted('model text'), middleware: [replaces] }), nobody, ['ANSWER']],
  [
    'after, of a tool’s result',
    () =>
      agent({
        ...about,
        model: scripted(calls(['say', {}])),
        tools: [tool({ name: 'say', execute: () => 'raw', action: 'return' })],
        middleware: [replaces],
      }),
    nobody,
    ['ANSWER'],
  ],
  ['a review', () => agent({ ...about, model: writing('model text'), ...unsure }), edits, ['model text', 'ANSWER']],
  [
    'a completion by hand',
    () => agent({ ...about, tools: [ask], model: scripted(calls(['ask', {}])) }),
    byHand,
    ['ANSWER'],
  ],
  ['code by hand', () => agent({ ...about, run: (ctx) => interrupt(ctx, '?') }), byHand, ['ANSWER']],
  [
    'a forward',
    () =>
      supervisor({
        ...about,
        model: scripted(delegates(['inside', 'x']), calls(['forward_message', { worker: 'inside' }])),
        workers: [inside],
      }),
    nobody,
    ['ANSWER'],
  ],
  [
    'code that delegates',
    () =>
      agent({
        ...about,
        workers: [inside],
        run: async (ctx) => ((await delegate(ctx, inside, 'x')) as { output: string }).output,
      }),
    nobody,
    ['ANSWER'],
  ],
  [
    'an answer with a form, as the model wrote it',
    () => agent({ ...about, model: writing('{ "n": 8 }'), output: { type: 'object' } }),
    nobody,
    ['{ "n": 8 }'],
  ],
]

describe('messages and text have the answer that counts, and nothing that a middleware took out', () => {
  test.each(ways)('K1, K9: %s', async (way, made, act, words) => {
    const next = scripted('next')
    const root = sequential({ name: 'root', agents: [made(), agent({ name: 'next', model: next })] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const early = [textIn(run.text()), all(run.messages()), all(run.parts())] as const
    await act(run)
    await run.outcome()
    const events = await all<Recorded>(run.events())
    expectSameAtEveryCut(events)
    const [text, messages, parts] = await Promise.all(early)
    expect(wordsOf(messages, 'a')).toEqual(words)
    expect(JSON.stringify([messages, parts, text])).not.toContain('1234')
    const outer = messages.filter(({ inner }) => inner !== true)
    const said = outer.flatMap((each) => (each.type === 'assistant' ? [each.text] : [])).join('')
    // only `afterModel` holds a text back while it is written: whoever reads early may see what `after` replaces
    const told = way === 'after' ? [said, `model text${said}`] : [said]
    expect(told).toContain(text)
    // a reader that comes when all is over is told the same
    expect(told).toContain(await textIn(run.text()))
    expect(await all(run.messages())).toEqual(messages)
    expect(JSON.stringify(next.prompts[0])).toContain(JSON.stringify(words.at(-1)).slice(1, -1))
  })

  test('what a middleware makes of a result is the result; a call has one', async () => {
    const hides: Middleware = {
      name: 'hides',
      wrapTool: async (_call, run) => ({ ...(await run()), content: 'card ****' }),
    }
    const read = tool({ name: 'read', effect: 'read', execute: () => 'card 1234' })
    const root = agent({
      name: 'a',
      model: scripted(calls(['read', {}, 'c1'], ['read', {}, 'c2']), 'done'),
      tools: [read],
      middleware: [looks, hides],
    })
    const run = (await (await runtimeOf([root])).start(root, 'go')) as Run
    await run.outcome()
    const messages = await all(run.messages())
    expect(
      messages.map((each) =>
        each.type === 'tool' ? [each.callId, each.content] : each.type === 'assistant' ? each.text : each.type,
      ),
    ).toEqual(['', ['c1', 'card ****'], ['c2', 'card ****'], 'done'])
    expectSameAtEveryCut(await all<Recorded>(run.events()))
  })

  test('a run that a human has finished says what they gave', async () => {
    const root = router({ name: 'a', model: scripted(calls(['ask', {}])), tools: [ask], workers: [inside] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    await waiting(run)
    await run.control.takeOver({ by: 'ann' })
    await run.control.finish({ output: 'ANSWER', by: 'ann' })
    await run.outcome()
    expect(wordsOf(await all(run.messages()), 'a')).toEqual(['ANSWER'])
    expect(await textIn(run.text())).toBe('ANSWER')
  })

  test('branches pass on what they said, also a human’s: nothing is said twice', async () => {
    const root = parallel({
      name: 'both',
      agents: [human({ name: 'bob' }), agent({ name: 'm', model: scripted('m says') })],
    })
    const run = (await (await runtimeOf([root])).start(root, 'go')) as Run
    const [question] = (await waiting(run)).questions
    await run.answer({ interruptId: question!.id, value: 'bob says', by: 'bob' })
    await run.outcome()
    expect(
      (await all(run.messages())).flatMap((each) => (each.type === 'assistant' ? [each.agent] : [])).toSorted(),
    ).toEqual(['bob', 'm'])
  })

  test('who works for code that delegates is below it, like a worker of a model', async () => {
    const root = agent({ name: 'a', workers: [inside], run: async (ctx) => (await delegate(ctx, inside, 'x')).status })
    const run = (await (await runtimeOf([root])).start(root, 'go')) as Run
    await run.outcome()
    expect((await all(run.messages())).map(({ agent: who, inner }) => [who, inner ?? false])).toEqual([
      ['inside', true],
      ['a', false],
    ])
  })
})

const bails = (bail: true | { answer: string }, name = 'boss', worker: Agent = inside): Agent =>
  supervisor({
    name,
    description: 'b',
    model: scripted(delegates([worker.name, 'x'])),
    workers: [worker],
    delegation: { onComplete: () => ({ bail, feedback: 'note' }) },
  })

describe('an end by a hook', () => {
  test('is said: its text is that of the run, and no marker for models, however far up it is passed', async () => {
    for (const [root, want] of [
      [bails(true), 'ANSWER'],
      [bails({ answer: 'enough' }), 'enough'],
      [bails(true, 'top', bails(true)), 'ANSWER'],
    ] as const) {
      const run = (await (await runtimeOf([root])).start(root, 'go')) as Run
      expect(await run.outcome()).toMatchObject({ status: 'bailed', text: want })
      expect(await textIn(run.text())).toBe(want)
    }
  })

  test.each([
    ['by a hook', () => bails(true), ['first', 'ANSWER', 'second']],
    [
      'by a limit',
      () =>
        agent({
          name: 'boss',
          model: scripted({ text: 'so far', ...calls(['look', {}]) }),
          tools: [tool({ name: 'look', execute: () => 'x' })],
          limits: { turns: 1 },
        }),
      ['first', 'so far', 'second'],
    ],
  ] as const)(
    '%s is a turn of its session; the feedback for its leader is shown to no other agent',
    async (_by, made, shown) => {
      const told: unknown[] = []
      const first = made()
      const memory = {
        recall: () => undefined,
        save: (turn: { answer: string; answeredBy: string }) => void told.push([turn.answeredBy, turn.answer]),
      }
      const second = scripted('fine')
      const later = agent({ name: 'later', model: second })
      const runtime = await runtimeOf([first, later])
      await runtime.run(first, 'first', { session: 's' })
      await runtime.run(later, 'second', { session: 's' })
      expect(
        second.prompts[0]!.map(({ content }) =>
          (content as string).replace(/^For context: \[boss\] said: (.*)\.$/, '$1'),
        ),
      ).toEqual(shown)
      const kept = await runtimeOf([first], { memory })
      await kept.run(first, 'first', { session: 's' })
      expect(told).toEqual([['boss', shown.at(-2)]])
    },
  )

  test('a session knows its speaker, for any form of answer', async () => {
    for (const text of ['{"n":8}', '{ "n": 8 }', '```json\n{"n":8}\n```']) {
      const lead = scripted(xfer('w'), 'second')
      const w = agent({ name: 'w', description: 'w', output: { type: 'object' }, model: scripted(text) })
      const root = router({ name: 'desk', model: lead, transfer: { returns: 'never' }, workers: [w] })
      const runtime = await runtimeOf([root])
      for (const input of ['one', 'two']) await runtime.run(root, input, { session: 's' })
      expect(lead.prompts[1]!.filter(({ role }) => role !== 'system')).toEqual([
        { role: 'user', content: 'one' },
        { role: 'user', content: 'For context: [w] said: {"n":8}.' },
        { role: 'user', content: 'two' },
      ])
    }
  })
})

describe('what a worker remembers', () => {
  test('its own answer is shown to it once, also where the conversation crosses', async () => {
    const model = scripted('one', 'two')
    const w = agent({ name: 'w', description: 'w', model })
    const root = supervisor({
      name: 's',
      model: scripted(delegates(['w', 'first']), delegates(['w', 'second']), 'done'),
      workers: [w],
      delegation: { context: 'conversation', workers: { w: { memory: 'continue' } } },
    })
    await (await runtimeOf([root])).run(root, 'go')
    expect(JSON.stringify(model.prompts[1]).split('"one"').length - 1).toBe(1)
  })

  test('an answer with which a hook has ended its work', async () => {
    const model = scripted(delegates(['inside', 'x']), 'second')
    const w = supervisor({
      name: 'w',
      description: 'w',
      model,
      workers: [inside],
      delegation: { onComplete: () => ({ bail: true }) },
    })
    const root = supervisor({
      name: 's',
      model: scripted(delegates(['w', 'first']), delegates(['w', 'again']), 'done'),
      workers: [w],
      delegation: { workers: { w: { memory: 'continue' } } },
    })
    await (await runtimeOf([root])).run(root, 'go')
    expect(model.prompts[1]!.filter(({ role }) => role !== 'system').map(({ content }) => content)).toEqual([
      'first',
      'ANSWER',
      'again',
    ])
  })
})

describe('a stream', () => {
  const root = (): Agent =>
    router({
      name: 'top',
      model: scripted(xfer('w'), 'END'),
      workers: [
        sequential({
          name: 'w',
          description: 'w',
          agents: [
            agent({ name: 'x', model: writing('X') }),
            supervisor({ name: 'y', model: scripted(delegates(['inside', 'x']), 'Y'), workers: [inside] }),
          ],
        }),
      ],
    })

  test('K9: no part comes before the event by which its step has begun', async () => {
    const top = root()
    const begun = new Set<string>()
    const early: unknown[] = []
    let parts = 0
    for await (const item of (await runtimeOf([top])).stream(top, 'go')) {
      if (item.type === 'event') {
        const { activation, event } = item.event
        if ('op' in event && event.op === 'step') begun.add(`${activation} ${event.address}`)
      } else {
        parts++
        if (!begun.has(`${item.part.activation} ${item.part.address}`)) early.push(item.part)
      }
    }
    expect([early, parts > 0]).toEqual([[], true])
  })

  test('its text is complete at any time and model speed; leaving it cancels nothing', async () => {
    const top = root()
    const stream = (await runtimeOf([top])).stream(top, 'go')
    const left = stream.text
    expect(await left.next()).toEqual({ value: expect.any(String) as string, done: false })
    await left.return?.()
    const before = textIn(stream.text)
    expect(await stream.outcome()).toMatchObject({ status: 'completed', output: 'END' })
    expect([await before, await textIn(stream.text)]).toEqual(['XYEND', 'XYEND'])
  })
})
