/**
 * What an agent says of its own results, and humans who look at them, whatever the way of working together. Spec team
 * C76, C87, X30, X31.
 */
import { describe, expect, test } from 'vitest'
import { agent, breakLoop, delegate, tool, type Agent, type Assess } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { reflect, roundtable, supervisor } from '@reeve/supervisor'
import { code, leadTo, withoutSystem, worker } from './control.ts'
import { inOrder, overseen, yes, type Word } from './overseeing.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted } from './team.ts'

const unsure: Assess = () => ({ confidence: 0.2 })
const model = scripted // a shorter word in tables
/** A worker that is not sure; it answers with the number of its try. */
function writer(more: object = {}) {
  const said = model('draft 1', 'draft 2', 'draft 3', 'draft 4', 'draft 5')
  return { said, agent: agent({ name: 'writer', description: 'Writes.', model: said, assess: unsure, ...more }) }
}

const ways: Record<string, (inner: Agent) => Agent> = {
  alone: (inner) => inner,
  delegation: (inner) =>
    supervisor({ name: 'boss', model: scripted(delegates(['writer', 'write']), 'final'), workers: [inner] }),
  'delegation by code': (inner) =>
    agent({ name: 'boss', workers: [inner], run: async (ctx) => JSON.stringify(await delegate(ctx, inner, 'write')) }),
  'delegation in the background': (inner) =>
    supervisor({
      name: 'boss',
      model: scripted(delegates(['writer', 'write']), 'I wait', 'final'),
      workers: [inner],
      delegation: { background: ['writer'] },
    }),
  transfer: (inner) => router({ name: 'boss', model: leadTo('writer'), workers: [inner] }),
  sequential: (inner) =>
    sequential({
      name: 'boss',
      agents: [inner, code('after', (_ctx, _brief, { history }) => JSON.stringify(history))],
    }),
  parallel: (inner) => parallel({ name: 'boss', agents: [inner] }),
  'a round table': (inner) => roundtable({ name: 'boss', agents: [inner], speaker: 'round-robin', maxRounds: 1 }),
  'an agent as a tool': (inner) =>
    agent({ name: 'boss', model: scripted(calls(['writer', { request: 'write' }]), 'final'), tools: [asTool(inner)] }),
  reflection: (inner) => reflect(inner, { name: 'boss', judge: () => ({ score: 1 }), memory: false }),
}

describe.each(Object.entries(ways))('an uncertain result: %s', (way, make) => {
  const kinds = (lines: readonly string[]) => lines.map((line) => line.split(' by ')[0])
  const everything = async (root: Agent, ...words: Word[]) => {
    const it = await overseen(root, {}, inOrder(...words))
    return { ...it, text: JSON.stringify([it.outcome, it.events]) }
  }

  test('team C76: in the loop a human sees it before it counts, and it stands if they approve', async () => {
    const { agent: inner, said } = writer()
    const { lines, asked, outcome, raised } = await everything(make(inner), { decision: 'approve' })
    expect(kinds(lines)).toEqual(['result writer'])
    expect(asked[0]).toMatchObject({
      kind: 'result',
      input: 'draft 1',
      context: { confidence: 0.2 },
      hits: [{ code: 'low_confidence' }],
    })
    expect(raised).toMatchObject([{ subject: 'result', name: 'writer', asks: true }])
    expect([outcome.status, said.prompts.length]).toEqual(['completed', 1])
  })

  test('with another text in its place, that is the result', async () => {
    const { agent: inner } = writer()
    const { text, events } = await everything(make(inner), { decision: 'edit', input: 'by hand' })
    expect(text).toContain('by hand')
    const settled = events.filter((event) => event.type === 'worker.settled')
    expect(way === 'alone' ? [] : settled.slice(0, 1).map(({ outcome }) => outcome)).toMatchObject(
      way === 'alone' ? [] : [{ output: 'by hand' }],
    )
    expect(events.findLast((event) => event.type === 'approval.resolved')).toMatchObject({
      resolution: 'edited',
      approver: 'ann',
    })
  })

  test('rejected, it has failed, with why it was looked at and what was said', async () => {
    const { agent: inner } = writer()
    const { text } = await everything(make(inner), { decision: 'reject', comment: 'too vague' })
    expect(text).toContain(
      'a human refused to take the result of \\"writer\\" (confidence is 0.2, and below 0.6 is to be seen): too vague',
    )
    expect(text).toContain('work.rejected')
  })

  test('sent back, it is worked on from where it is, with what was said, and looked at anew', async () => {
    const { agent: inner, said } = writer()
    const { asked, outcome } = await everything(
      make(inner),
      { decision: 'retry', comment: 'shorter' },
      { decision: 'approve' },
    )
    expect(asked.map(({ input }) => input)).toEqual(['draft 1', 'draft 2'])
    expect(new Set(asked.map(({ id }) => id)).size).toBe(2)
    expect(withoutSystem(said.prompts[1]).slice(-2)).toEqual([
      { role: 'assistant', content: 'draft 1' },
      { role: 'user', content: 'A human reviewed that result and asks for changes: shorter' },
    ])
    expect(outcome.status).toBe('completed')
  })

  test('team C87: sent back three times; the fourth question offers no retry and is then rejected', async () => {
    const { agent: inner, said } = writer()
    const { asked, text } = await everything(
      make(inner),
      ...[1, 2, 3].map(() => ({ decision: 'retry', comment: 'again' }) as const),
      {
        decision: 'reject',
        comment: 'enough',
      },
    )
    expect(asked.map(({ options }) => options)).toEqual([
      undefined,
      undefined,
      undefined,
      ['approve', 'reject', 'edit'],
    ])
    expect([said.prompts.length, text.includes('enough')]).toEqual([4, true])
  })

  test('on the loop it is noted, and stands', async () => {
    const { agent: inner } = writer()
    const { lines, raised } = await overseen(make(inner), { mode: 'on-the-loop' })
    expect([lines, raised]).toMatchObject([[], [{ subject: 'result', asks: false }]])
  })

  test('without oversight it is recorded', async () => {
    const { agent: inner } = writer()
    const { lines, raised, events } = await overseen(make(inner), undefined)
    expect([lines, raised]).toEqual([[], []])
    expect(events.filter(({ type }) => type === 'result.assessed')).toMatchObject([{ confidence: 0.2 }])
  })
})

describe('what is said of a result', () => {
  const hitsOf = async (assess: Assess, oversight: Oversight = {}) =>
    (await overseen(writer({ assess }).agent, oversight)).asked.map(({ hits = [] }) => hits.map(({ code: is }) => is))

  test.each<[string, Awaited<ReturnType<Exclude<Assess, 'report'>>>, string[][]]>([
    ['exactly 0.6 sure', { confidence: 0.6 }, []],
    ['0.59 sure', { confidence: 0.59 }, [['low_confidence']]],
    ['X31: nothing', undefined, []],
    ['X31: something else than how sure it is', { costUsd: 0.5 }, []],
    ['costs exactly $1', { costUsd: 1 }, []],
    ['costs $1.01', { costUsd: 1.01 }, [['cost_limit']]],
    ['what is next costs $2', { costUsd: 0.1, proposedAction: { name: 'print', costUsd: 2 } }, [['cost_limit']]],
    [
      'what is next is sensitive',
      { confidence: 1, proposedAction: { name: 'publish_it', input: { where: 'here' } } },
      [['sensitive_action']],
    ],
    ['X30: it cannot do it', { cannotDo: 'I have no access' }, [['out_of_scope']]],
    [
      'all of it',
      { confidence: 0, costUsd: 2, proposedAction: { name: 'pay' }, cannotDo: 'no' },
      [['sensitive_action', 'cost_limit', 'low_confidence', 'out_of_scope']],
    ],
  ])('team C76: %s', async (_what, said, due) => {
    expect(await hitsOf(() => said)).toEqual(due)
  })

  test.each([
    ['by its own model', (inner: Agent) => inner],
    [
      'by somebody below it',
      (inner: Agent) =>
        supervisor({
          name: 'boss',
          model: scripted(delegates(['inner', 'go']), 'final'),
          workers: [inner],
          assess: () => ({ confidence: 1 }),
        }),
    ],
  ])('team C76: a cost without an estimate is the actual cost, %s', async (_how, make) => {
    const cost = (usd?: number) =>
      agent({
        name: 'inner',
        description: 'In.',
        model: () => ({ text: 'done', usage: { input: 1, output: 1, ...(usd === undefined ? {} : { usd }) } }),
        assess: () => undefined,
      })
    const codes = async (usd?: number) =>
      (await overseen(make(cost(usd)), {})).asked.map(({ path, hits = [] }) => [path.at(-1), hits[0]!.code])
    expect((await codes(1.5)).at(-1)).toEqual([make(cost()).name, 'cost_limit'])
    expect([await codes(0.5), await codes()]).toEqual([[], []])
  })

  test('a function is given the output and the brief, once', async () => {
    const given: Json[] = []
    await overseen(writer({ assess: (output: Json, brief: Json) => void given.push([output, brief]) }).agent, {})
    expect(given).toEqual([['draft 1', 'go']])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no idea')
      },
      /no idea/,
    ],
    ['says what is no assessment', () => ({ confidence: 'high' }), /confidence is/],
    ['is surer than sure', () => ({ confidence: 1.5 }), /expected 0 to 1/],
    ['says what nobody knows', () => ({ sureness: 1 }), /sureness/],
    ['says a percentage', () => ({ confidence: 85 }), /confidence is 85, expected 0 to 1/],
    ['says a number', () => 0.2 as never, /it is 0.2/],
    ['says a word', () => 'sure' as never, /it is the text "sure"/],
    ['has a slip', () => ({ confidance: 0.1 }) as never, /did you mean "confidence"/],
  ] as const)(
    'a function that %s has said nothing that can be used: in the loop and in command a human looks',
    async (_what, assess, why) => {
      for (const mode of ['in-the-loop', 'in-command'] as const) {
        const seen = await overseen(writer({ assess }).agent, { mode }, inOrder({ decision: 'reject' }))
        const [question] = seen.asked.filter(({ kind }) => kind === 'result')
        expect(question!.reason).toMatch(why)
        expect([question!.reason.startsWith('its assessment could not be used: '), question!.hits]).toEqual([
          true,
          undefined,
        ])
        expect(seen.outcome).toMatchObject({
          status: 'failed',
          failure: { code: 'work.rejected', message: expect.stringMatching(why) as string },
        })
      }
      const { events, asked, outcome } = await overseen(writer({ assess }).agent, { mode: 'on-the-loop' })
      const failed = events.filter((event) => event.type === 'hook.failed')
      expect([failed.length, failed[0]!.hook, asked, outcome.status]).toEqual([1, 'assess', [], 'completed'])
      expect(failed[0]!.failure.message).toMatch(why)
      expect(events.filter(({ type }) => type === 'result.assessed')).toEqual([])
    },
  )

  test('in command every result that something is said of is seen, and none of which nothing is', async () => {
    expect((await overseen(writer({ assess: () => ({ confidence: 1 }) }).agent, { mode: 'in-command' })).lines).toEqual(
      ['result writer by writer'],
    )
    expect((await overseen(writer({ assess: () => undefined }).agent, { mode: 'in-command' })).lines).toEqual([])
  })

  test('X30: what took longer than it should is seen, also of those that say nothing of themselves', async () => {
    const slow = code('slow', async (ctx) => {
      await ctx.next(ctx.ask('wait', { until: new Date(ctx.now().getTime() + 30) }))
      return 'done'
    })
    expect((await overseen(slow, { escalate: { decisionMs: 10 } })).asked).toMatchObject([
      { hits: [{ code: 'decision_timeout' }], input: 'done' },
    ])
    expect((await overseen(slow, { escalate: { decisionMs: 3_600_000 } })).asked).toEqual([])
    expect((await overseen(slow, {})).asked).toEqual([])
  })

  test('what is put in its place must fit what the agent promises', async () => {
    const numbers = agent({
      name: 'numbers',
      output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      run: () => ({ n: 1 }),
      assess: unsure,
    })
    const { asked, outcome } = await overseen(
      numbers,
      {},
      inOrder({ decision: 'edit', input: { n: 'x' } }, { decision: 'edit', input: { n: 2 } }),
    )
    expect(asked[1]!.reason).toMatch(/what was put in its place does not fit/)
    expect(outcome).toMatchObject({ output: { n: 2 } })
  })

  test('how often it may be sent back is said by the oversight', async () => {
    const { asked } = await overseen(writer().agent, { approval: { rounds: 0 } })
    expect(asked[0]!.options).toEqual(['approve', 'reject', 'edit'])
  })

  test('the output is kept under its key only once a human has let it', async () => {
    const kept = async (word: Word): Promise<Json> => {
      const inner = writer({ outputKey: 'text' }).agent
      const boss = agent({
        name: 'boss',
        workers: [inner],
        run: async (ctx) => {
          await delegate(ctx, inner, 'write')
          return [await ctx.values.get('text')]
        },
      })
      const { outcome } = await overseen(boss, {}, inOrder(word))
      return outcome.status === 'completed' ? outcome.output : outcome.status
    }
    expect(await kept({ decision: 'edit', input: 'by hand' })).toEqual(['by hand'])
    expect(await kept({ decision: 'reject' })).toEqual([null])
  })
})

describe('the tool by which a model reports', () => {
  const reporting = (more: object = {}, ...script: Parameters<typeof scripted>) => {
    const said = scripted(...script)
    return { said, agent: agent({ name: 'writer', description: 'Writes.', model: said, assess: 'report', ...more }) }
  }

  test('is offered, and what it says last counts', async () => {
    const it = reporting(
      {},
      calls(['report', { confidence: 0.9 }]),
      calls([
        'report',
        { confidence: 0.3, proposed_action: { name: 'send', input: null, cost_usd: 4 }, cannot_do: null },
      ]),
      'text',
    )
    const { asked, events } = await overseen(it.agent, {})
    expect(it.said.tools[0]!.map(({ name }) => name)).toEqual(['report'])
    expect(events.filter(({ type }) => type === 'result.assessed')).toMatchObject([
      { confidence: 0.3, proposedAction: { name: 'send', costUsd: 4 } },
    ])
    expect(asked).toMatchObject([
      { input: 'text', hits: [{ code: 'sensitive_action' }, { code: 'cost_limit' }, { code: 'low_confidence' }] },
    ])
  })

  test('with what is no report tells the model; if it says nothing better, a human looks', async () => {
    const it = reporting({}, calls(['report', { confidence: 7 }]), 'text')
    const { asked } = await overseen(it.agent, {})
    expect(JSON.stringify(it.said.prompts[1])).toContain('expected 0 to 1')
    expect(asked).toMatchObject([
      { kind: 'result', reason: 'its assessment could not be used: confidence is 7, expected 0 to 1' },
    ])
    const better = reporting({}, calls(['report', { confidence: 7 }]), calls(['report', { confidence: 0.7 }]), 'text')
    expect((await overseen(better.agent, {})).asked).toEqual([])
  })

  test('is recorded without oversight too', async () => {
    const it = reporting({}, calls(['report', { confidence: 0.3 }]), 'text')
    const run = await (await runtimeOf([it.agent])).start(it.agent, 'go')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'text' })
    expect((await eventsOf(run)).filter(({ type }) => type === 'result.assessed')).toMatchObject([{ confidence: 0.3 }])
  })

  test('X30: a request for a missing tool is out of scope', async () => {
    const it = reporting({}, calls(['fly', {}]), 'text')
    expect((await overseen(it.agent, {})).asked).toMatchObject([
      { hits: [{ code: 'out_of_scope', detail: 'it called the unknown tool "fly"' }] },
    ])
  })

  test('works for a supervisor and for the lead of a router', async () => {
    const lead = scripted(delegates(['a', 'go']), calls(['report', { confidence: 0.1 }]), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('a')], assess: 'report' })
    expect((await overseen(boss, {})).lines).toEqual(['result boss by boss'])
    const desk = router({
      name: 'desk',
      model: scripted(calls(['report', { confidence: 0.1 }]), 'final'),
      workers: [worker('a')],
      assess: 'report',
    })
    expect((await overseen(desk, {})).lines).toEqual(['result desk by desk'])
  })
})

describe('work that is done again', () => {
  test('by code: it is given the feedback with its brief, and with the conversation', async () => {
    const coded = agent({ name: 'coded', run: (_ctx, brief, { history }) => [brief, history.length], assess: unsure })
    const { asked } = await overseen(
      coded,
      {},
      inOrder({ decision: 'retry', comment: 'more' }, { decision: 'approve' }),
    )
    expect(asked.map(({ input }) => input)).toEqual([
      ['go', 1],
      ['go\n\nA human reviewed that result and asks for changes: more', 3],
    ])
  })

  test('by a whole flow: its members work again, and are shown what was said', async () => {
    const second = scripted('b1', 'b2')
    const flow = sequential({
      name: 'flow',
      agents: [worker('a'), agent({ name: 'b', model: second })],
      assess: unsure,
    })
    const { outcome, asked } = await overseen(
      flow,
      {},
      inOrder({ decision: 'retry', comment: 'more' }, { decision: 'approve' }),
    )
    expect([asked.map(({ input }) => input), outcome]).toMatchObject([['b1', 'b2'], { output: 'b2' }])
    expect(JSON.stringify(second.prompts[1])).toContain('asks for changes: more')
  })

  test('by a leader: it may delegate again', async () => {
    const lead = scripted(delegates(['a', 'one']), 'first', delegates(['a', 'two']), 'second')
    const boss = supervisor({ name: 'boss', model: lead, workers: [worker('a')], assess: unsure })
    const { outcome } = await overseen(boss, {}, inOrder({ decision: 'retry' }, { decision: 'approve' }))
    expect([outcome, lead.prompts.length]).toMatchObject([{ output: 'second' }, 4])
  })

  test('the next agent sees one answer and no refused one', async () => {
    const after = scripted('done')
    const flow = sequential({ name: 'flow', agents: [writer().agent, agent({ name: 'after', model: after })] })
    await overseen(flow, {}, inOrder({ decision: 'retry', comment: 'more' }, { decision: 'edit', input: 'by hand' }))
    expect(after.prompts[0]!.map(({ content }) => content)).toEqual(['go', 'For context: [writer] said: by hand.'])
  })

  test('a transfer is no result, and an ending action stays when a human edits the output', async () => {
    const hands = router({
      name: 'desk',
      model: leadTo('writer'),
      workers: [worker('writer')],
      assess: () => undefined,
    })
    expect((await overseen(hands, {})).lines).toEqual([])
    const breaker = agent({ name: 'breaker', run: () => breakLoop('stop'), assess: unsure })
    const { outcome, asked } = await overseen(
      loop({ name: 'again', agents: [breaker], maxIterations: 3 }),
      {},
      inOrder({ decision: 'edit', input: 'halt' }),
    )
    expect([outcome, asked.length]).toMatchObject([{ output: 'halt' }, 1])
  })

  test('a call of a tool, a beginning and a result of one worker are questions of their own', async () => {
    const it = agent({
      name: 'writer',
      description: 'Writes.',
      model: scripted(calls(['publish', {}]), 'text'),
      tools: [tool({ name: 'publish', execute: () => 'out' })],
      assess: unsure,
    })
    const boss = supervisor({ name: 'boss', model: scripted(delegates(['writer', 'write']), 'final'), workers: [it] })
    const { lines } = await overseen(boss, { mode: 'in-command' }, yes)
    expect(lines).toEqual(['work writer by boss/writer', 'call publish by boss/writer', 'result writer by boss/writer'])
  })
})
