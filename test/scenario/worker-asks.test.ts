/**
 * A worker asks its supervisor and gets a reply: by model agent and by code, answered by code and by the leader's own
 * model, bounded, and never left hanging.
 */
import { describe, expect, test } from 'vitest'
import {
  agent,
  delegate,
  interrupt,
  router,
  sequential,
  step,
  supervisor,
  tool,
  type Agent,
  type Context,
  type ModelAnswerInput,
} from '@reeve/public'
import { askSupervisor, delegateToSeveral, type Delegation } from '@reeve/public/team'
import type { DelegationQuestion } from '@reeve/supervisor'
import { asText } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import type { Message } from '@reeve/model'
import { code, lines, user, withoutSystem, worker, xfer } from './control.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, told, waiting, type Scripted } from './team.ts'

const asks = (question: string): ModelAnswerInput => calls(['ask_supervisor', { question }])
/** A model agent that asks and answers with what it was told. */
const curious = (name = 'w', ...questions: string[]): Agent => worker(name, curiousModel(...questions))
const curiousModel = (...questions: string[]): Scripted =>
  scripted(
    ...(questions.length === 0 ? ['which colour?'] : questions).map(asks),
    ({ messages }) => `told: ${told(messages).map(asText).join(' | ')}`,
  )
/** Code that asks and answers with what it was told. */
const asker = (name = 'w', question = 'which colour?'): Agent =>
  code(name, async (ctx) => {
    const { answered, text } = await askSupervisor(ctx, question)
    return `${answered ? 'told' : 'refused'}: ${text}`
  })
/** The text of a message; empty if it has none. */
const textOf = (message: Message | undefined): string => (typeof message?.content === 'string' ? message.content : '')
const isAside = ({ messages }: { readonly messages: readonly Message[] }): boolean =>
  /asks you a question before it continues/.test(textOf(messages.at(-1)))
/** A leader that delegates, answers what it is asked aside, and answers. */
const leads = (
  first: ModelAnswerInput,
  aside: ModelAnswerInput | string | Error = 'blue',
  final = 'done',
): Scripted => {
  const model = scripted((request) => {
    if (!isAside(request)) return request.messages.some(({ role }) => role === 'tool') ? final : first
    if (aside instanceof Error) throw aside
    return aside
  })
  return model
}
/** No answer until it is called off. */
const hanging = ({ signal }: { readonly signal: AbortSignal }): Promise<string> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error('called off')), { once: true }),
  )
const boss = (model: Scripted, workers: readonly Agent[], delegation: Delegation = { questions: true }): Agent =>
  supervisor({ name: 'boss', model, instructions: 'Lead.', workers, delegation })

async function asked(root: Agent) {
  const run = await (await runtimeOf([root])).start(root, 'paint the house')
  const outcome = await run.outcome()
  return { run, outcome, events: await eventsOf(run) }
}
const answersIn = (events: readonly JournalEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'fact.noted' && event.name === 'question.answered' ? [event.data] : []))
/** What its leader was told of its delegations. */
const results = (model: Scripted): unknown[] =>
  (model.prompts.at(-1) ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []))

describe('a model agent asks', () => {
  test('its leader’s own model answers aside, from its conversation, and learns of it before its next turn', async () => {
    const own = curiousModel()
    const model = leads(delegates(['w', 'paint it']))
    const { outcome, events, run } = await asked(boss(model, [worker('w', own)]))
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(own.tools[0]!.map(({ name }) => name)).toEqual(['ask_supervisor'])
    expect(told(own.prompts[1])).toEqual(['blue'])

    const [, aside, last] = model.prompts
    expect(aside![0]!.content).toContain('Lead.') // as it is told in its own turns
    expect(withoutSystem(aside).slice(0, -1)).toEqual([user('paint the house')]) // the call under way has no result yet
    const question = aside!.at(-1)!.content as string
    for (const part of ['"w" (d1)', 'paint it', 'which colour?']) expect(question).toContain(part)
    expect(model.tools[1]).toEqual([])

    expect(last!.at(-1)).toEqual(user('While it worked, "w" (d1) asked you: which colour?\nYou answered: blue'))
    expect(last!.at(-2)).toMatchObject({ role: 'tool', content: 'told: blue' })
    expect(answersIn(events)).toEqual([
      {
        worker: 'w',
        callId: expect.any(String) as string,
        delegation: 'd1',
        question: 'which colour?',
        answered: true,
        text: 'blue',
      },
    ])
    expect((await run.view()).usage.find(({ agent: who }) => who === 'boss')?.calls).toBe(3)
    expect(await lines(run)).toContain('boss boss says: blue')
  })

  test('what the leader thought aloud in the turn under way is shown, its call is not', async () => {
    const model = leads({ text: 'Let w do it.', ...delegates(['w', 'paint it']) })
    await asked(boss(model, [curious()]))
    expect(withoutSystem(model.prompts[1]).slice(0, -1)).toEqual([
      user('paint the house'),
      { role: 'assistant', content: 'Let w do it.' },
    ])
  })

  test('results of earlier turns are shown with their calls', async () => {
    const script = [delegates(['v', 'look'], ['v', 'look again']), delegates(['w', 'paint it'])]
    const model = scripted((request) => (isAside(request) ? 'blue' : (script.shift() ?? 'done')))
    await asked(boss(model, [curious(), worker('v')]))
    const aside = model.prompts.find((messages) => isAside({ messages }))!
    expect(withoutSystem(aside).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
  })

  test('an empty question is corrected; the tool may be forbidden; without the option it is not there', async () => {
    const own = scripted(calls(['ask_supervisor', { question: ' ' }]), 'done')
    await asked(boss(leads(delegates(['w', 'paint it'])), [worker('w', own)]))
    expect(told(own.prompts[1])).toEqual([expect.stringContaining('"question" must be a text')])

    const denied = scripted('done')
    await asked(
      boss(leads(delegates(['w', 'go'])), [worker('w', denied)], {
        questions: true,
        permissions: { deny: ['ask_supervisor'] },
      }),
    )
    expect(denied.tools[0]).toEqual([])

    const off = scripted(asks('x'), 'done')
    await asked(boss(leads(delegates(['w', 'go'])), [worker('w', off)], {}))
    expect(off.tools[0]).toEqual([])
    expect(told(off.prompts[1])).toEqual([expect.stringContaining('there is no tool "ask_supervisor"')])
  })

  test('per worker: on for one, off for another', async () => {
    const [one, other] = [scripted('a'), scripted('b')]
    const policy: Delegation = { questions: true, workers: { other: { questions: false } } }
    await asked(
      boss(leads(delegates(['one', 'go'], ['other', 'go'])), [worker('one', one), worker('other', other)], policy),
    )
    expect([one.tools[0], other.tools[0]]).toMatchObject([[{ name: 'ask_supervisor' }], []])
  })
})

describe('code asks', () => {
  test('and is told whether it was answered; without a leader that takes questions, at once', async () => {
    const model = leads(delegates(['w', 'paint it']))
    await asked(boss(model, [asker()]))
    expect(results(model)).toEqual(['told: blue'])
    const none = leads(delegates(['w', 'paint it']))
    await asked(boss(none, [asker()], {}))
    expect(results(none)).toEqual(['refused: the supervisor of this work takes no questions'])
    expect((await asked(asker())).outcome).toMatchObject({
      output: 'refused: the supervisor of this work takes no questions',
    })
  })

  test('what a middleware keeps from the leader’s model in its turns is kept from it here', async () => {
    const model = leads(delegates(['w', 'paint it']))
    const discreet = {
      name: 'discreet',
      beforeModel: ({ messages }: { readonly messages: readonly Message[] }) => ({
        messages: messages.map((message) => (message.content === 'paint the house' ? user('[withheld]') : message)),
      }),
    }
    const root = supervisor({
      name: 'boss',
      model,
      middleware: [discreet],
      workers: [asker()],
      delegation: { questions: true },
    })
    await asked(root)
    expect(withoutSystem(model.prompts[1])[0]).toEqual(user('[withheld]'))
    let times = 0
    const beforeModel = (): undefined => {
      if (++times === 2) throw new Error('cannot')
      return undefined
    }
    const broken = { name: 'broken', beforeModel }
    const other = leads(delegates(['w', 'paint it']))
    await asked(
      supervisor({
        name: 'boss',
        model: other,
        middleware: [broken],
        workers: [asker()],
        delegation: { questions: true },
      }),
    )
    expect(results(other)).toEqual(['refused: your supervisor could not answer that'])
  })

  test('several questions at once, each with its own reply', async () => {
    const many = code('w', async (ctx) =>
      (await Promise.all(['1', '2', '3'].map((n) => askSupervisor(ctx, n)))).map(({ text }) => text),
    )
    const model = leads(delegates(['w', 'go']))
    const onQuestion = ({ question }: DelegationQuestion): string => `re ${question}`
    await asked(boss(model, [many], { questions: { onQuestion } }))
    expect(results(model)).toEqual([['re 1', 're 2', 're 3']])
  })

  test('from an orchestration tool and from a flow member below: they ask their leader', async () => {
    const model = leads(delegates(['line', 'go'], ['w', 'go']))
    const help = tool({ name: 'help', run: async (ctx) => (await askSupervisor(ctx, 'how?')).text })
    const w = agent({
      name: 'w',
      description: 'Works.',
      tools: [help],
      model: scripted(calls(['help', {}]), ({ messages }) => textOf(messages.at(-1))),
    })
    const line = sequential({ name: 'line', description: 'Two steps.', agents: [worker('first'), asker('second')] })
    const { events } = await asked(boss(model, [w, line]))
    expect(answersIn(events)).toHaveLength(2)
    expect(results(model)).toEqual(['told: blue', 'blue'])
  })

  test('a nested leader answers its own workers; who delegates on is asked itself', async () => {
    const inner = leads(delegates(['w', 'go']), 'inner says', 'inner done')
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: inner,
      workers: [asker()],
      delegation: { questions: true },
    })
    const outer = leads(delegates(['mid', 'go']))
    const { events } = await asked(boss(outer, [mid]))
    expect(results(inner)).toEqual(['told: inner says'])
    expect(answersIn(events)).toHaveLength(1)
    const silent = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: leads(delegates(['w', 'go'])),
      workers: [asker()],
    })
    expect(answersIn((await asked(boss(leads(delegates(['mid', 'go'])), [silent]))).events)).toEqual([])
  })
})

describe('code of the leader answers', () => {
  test('onQuestion comes first, is told everything, and is asked once; nothing: the model is asked', async () => {
    const seen: DelegationQuestion[] = []
    const model = leads(delegates(['w', 'paint it', 'c1']))
    const onQuestion = async (question: DelegationQuestion): Promise<string | undefined> => {
      seen.push(question)
      await Promise.resolve()
      return question.number === 1 ? 'red' : undefined
    }
    const own = curiousModel('which colour?', 'and the roof?')
    await asked(boss(model, [worker('w', own)], { questions: { onQuestion } }))
    expect(own.prompts.slice(1).map((prompt) => told(prompt))).toEqual([['red'], ['blue']])
    expect(seen).toMatchObject([
      {
        worker: 'w',
        delegation: 'd1',
        callId: 'c1',
        turn: 1,
        leader: 'boss',
        path: ['boss'],
        prompt: 'paint it',
        question: 'which colour?',
        number: 1,
      },
      { question: 'and the roof?', number: 2 },
    ])
    expect(model.prompts.filter((messages) => isAside({ messages }))).toHaveLength(1)
  })

  test.each([
    ['strict', 'refused: your supervisor could not answer that', 0],
    ['lenient', 'told: blue', 1],
  ] as const)('a hook that throws, %s', async (hookErrors, expected, asides) => {
    const model = leads(delegates(['w', 'go']))
    const onQuestion = (): never => {
      throw new Error('broken')
    }
    const { events } = await asked(boss(model, [asker()], { hookErrors, questions: { onQuestion } }))
    expect(results(model)).toEqual([expected])
    expect(model.prompts.filter((messages) => isAside({ messages }))).toHaveLength(asides)
    expect(events.filter(({ type }) => type === 'hook.failed')).toMatchObject([
      { hook: 'onQuestion', worker: 'w', delegation: 'd1' },
    ])
  })

  test('a leader that is code: delegate(…, { onQuestion }); it may take steps and ask a human', async () => {
    const root = agent({
      name: 'boss',
      workers: [asker('one'), asker('two')],
      run: async (ctx) => {
        const [one, two] = await Promise.all([
          delegate(ctx, asker('one'), 'go', {
            onQuestion: (question, at) => step(at, 'look up', () => `found for ${question}`),
          }),
          delegate(ctx, asker('two'), 'go', {
            onQuestion: async (_question, at) => (await interrupt(at, 'colour?')) as string,
          }),
        ])
        return [one, two].map((each) => (each.status === 'completed' ? each.output : each.status)) as string[]
      },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await waiting(run)
    const [question] = await runtime.questions()
    await runtime.answer({ interruptId: question!.id, value: 'green' })
    expect(await run.outcome()).toMatchObject({ output: ['told: found for which colour?', 'told: green'] })
  })

  test('delegateToSeveral takes questions in the same way', async () => {
    const [one, two] = [asker('one'), asker('two')]
    const root = agent({
      name: 'boss',
      workers: [one, two],
      run: async (ctx) => {
        const { all } = await delegateToSeveral(ctx, [one, two], 'go', {
          keep: 2,
          onQuestion: (question) => `re ${question}`,
        })
        return all.map(({ outcome }) =>
          outcome.status === 'completed' ? asText(outcome.output as string) : outcome.status,
        )
      },
    })
    expect((await asked(root)).outcome).toMatchObject({ output: ['told: re which colour?', 'told: re which colour?'] })
  })

  test('a code leader: no answer and a throw are refusals; invalid options are refused', async () => {
    const root = (onQuestion: () => never | undefined): Agent =>
      agent({
        name: 'boss',
        workers: [asker()],
        run: async (ctx) => (await delegate(ctx, asker(), 'go', { onQuestion })) as never,
      })
    expect((await asked(root(() => undefined))).outcome).toMatchObject({
      output: { output: 'refused: the supervisor of this work has no answer to that' },
    })
    const throws = await asked(
      root(() => {
        throw new Error('lost')
      }),
    )
    expect(throws.outcome).toMatchObject({
      output: { output: 'refused: the supervisor of this work could not answer: lost' },
    })
    expect((await asked(root('x' as never))).outcome).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringContaining('onQuestion is') as string },
    })
  })

  test('a code supervisor answers by onQuestion; without it no answer is given', async () => {
    const root = (delegation: Delegation): Agent =>
      supervisor({
        name: 'boss',
        workers: [asker()],
        delegation,
        run: async (_ctx, _brief, team) => (await team.delegate('w', 'go' as never)).text,
      })
    expect((await asked(root({ questions: { onQuestion: () => 'red' } }))).outcome).toMatchObject({
      output: 'told: red',
    })
    expect((await asked(root({ questions: true }))).outcome).toMatchObject({
      output: 'refused: your supervisor has no answer to that',
    })
  })
})

describe('bounds', () => {
  test('three questions per delegation, all agents counted; more are refused and the work goes on', async () => {
    const own = curiousModel('1', '2', '3', '4')
    const model = leads(delegates(['w', 'go']))
    const { outcome, events } = await asked(boss(model, [worker('w', own)]))
    expect(outcome.status).toBe('completed')
    expect(told(own.prompts[4])).toEqual([
      '[not answered: you have asked 3 questions already; go on with what you have]',
    ])
    expect(events.filter(({ type }) => type === 'tool.refused')).toMatchObject([
      { tool: 'ask_supervisor', failure: { code: 'work.rejected' } },
    ])
    expect(answersIn(events)).toHaveLength(3)
  })

  test('max is an option, for each delegation anew', async () => {
    const model = leads(delegates(['w', 'one'], ['w', 'two']))
    const twice = code('w', async (ctx) => [
      (await askSupervisor(ctx, 'a')).answered,
      (await askSupervisor(ctx, 'b')).answered,
    ])
    await asked(boss(model, [twice], { questions: { max: 1 } }))
    expect(results(model)).toEqual([
      [true, false],
      [true, false],
    ])
  })

  test('a leader whose model cannot answer: the worker is refused and goes on', async () => {
    const model = leads(delegates(['w', 'go']), fatal('down: key sk-123'))
    const { outcome } = await asked(boss(model, [asker()]))
    expect(outcome.status).toBe('completed')
    expect(results(model)).toEqual(['refused: your supervisor could not answer that'])
    expect(model.prompts.at(-1)!.at(-1)).toEqual(
      user(
        'While it worked, "w" (d1) asked you: which colour?\nIt was not answered: your supervisor could not answer that',
      ),
    )
  })

  test('an answer counts against the leader’s limits', async () => {
    const model = leads(delegates(['w', 'go']))
    const root = supervisor({
      name: 'boss',
      model,
      workers: [asker()],
      delegation: { questions: true },
      limits: { turns: 1 },
    })
    const { outcome } = await asked(root)
    expect(outcome).toMatchObject({ status: 'limited', limit: 'turns' })
    expect(model.prompts).toHaveLength(1)
  })

  test('a question blocks no sibling: it ends and is told in place while the leader thinks', async () => {
    const order: string[] = []
    const model = leads(delegates(['w', 'go'], ['v', 'go']))
    const v = code('v', async (ctx) => step(ctx, 'work', () => (order.push('v'), 'v done')))
    const onQuestion = async (): Promise<string> => {
      await expect.poll(() => order).toContain('v')
      order.push('answered')
      return 'red'
    }
    await asked(boss(model, [asker(), v], { questions: { onQuestion } }))
    expect(order).toEqual(['v', 'answered'])
    expect(results(model)).toEqual(['told: red', 'v done'])
  })

  test('with one permit a question is answered all the same', async () => {
    const model = leads(delegates(['w', 'go'], ['w', 'go too']))
    const root = supervisor({
      name: 'boss',
      model,
      workers: [asker()],
      delegation: { questions: true },
      concurrency: 1,
    })
    await asked(root)
    expect(results(model)).toEqual(['told: blue', 'told: blue'])
  })

  test('a background worker asks, too; a cancelled leader leaves no question hanging', async () => {
    const script = [delegates(['w', 'go'])]
    const model = scripted((request) => (isAside(request) ? 'blue' : (script.shift() ?? 'done')))
    await asked(boss(model, [asker()], { questions: true, background: ['w'] }))
    expect(results(model)).toEqual(['told: blue'])

    const hangs = scripted((request) => (isAside(request) ? hanging(request) : delegates(['w', 'go'])))
    const root = boss(hangs, [asker()])
    const run = await (await runtimeOf([root])).start(root, 'go')
    await expect.poll(() => hangs.prompts.length).toBe(2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect((await run.view()).activations.map(({ outcome }) => outcome?.status)).toEqual(['cancelled', 'cancelled'])
  })

  test('a leader that is not there: the worker is refused, and does not wait', async () => {
    const root = code('w', async (ctx) => {
      const input = { ...(ctx.input as object), asks: { leader: `${ctx.place.activation}>gone` } }
      const far = { input, send: ctx.send.bind(ctx), next: ctx.next.bind(ctx) } as unknown as Context
      return (await askSupervisor(far, 'anybody?')).text
    })
    expect((await asked(root)).outcome).toMatchObject({ output: 'the supervisor of this work has ended' })
  })

  test('a worker that is stopped while its question is open does not hold its leader up for ever', async () => {
    const model = leads(delegates(['w', 'go']))
    const never = (): Promise<string> => new Promise(() => {})
    const root = boss(model, [asker()], { questions: { onQuestion: never }, timeoutMs: 50 })
    const { outcome } = await asked(root)
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(results(model)).toEqual([expect.stringContaining('ran out of time')])
  })
})

test('a router’s workers may ask the router’s leader', async () => {
  const desk = router({
    name: 'desk',
    description: 'Routes.',
    model: scripted(xfer('w')),
    workers: [asker()],
    transfer: { returns: 'never' },
  })
  const model = leads(delegates(['desk', 'go']))
  await asked(boss(model, [desk]))
  expect(results(model)).toEqual(['told: blue'])
})

test('options that are wrong are said', () => {
  const make = (questions: unknown): unknown => boss(scripted(''), [asker()], { questions } as never)
  expect(() => make({ max: 0, onQuestion: 'x', most: 1 })).toThrow(
    /no option "most"[^]*questions.max is 0[^]*questions.onQuestion is the text "x"/,
  )
  expect(() => make('yes')).toThrow(/questions is the text "yes"/)
  const taken = tool({ name: 'ask_supervisor', execute: () => '' })
  const bad = agent({ name: 'w', model: scripted(''), tools: [taken] })
  expect(bad.problems()).toEqual([expect.stringContaining('"ask_supervisor" is taken')])
})
