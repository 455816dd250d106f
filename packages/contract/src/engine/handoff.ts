/**
 * Contract: what handing control on needs of an engine: paths that a leader gives, ends that carry a handoff record,
 * facts that are recorded once (K1, K4, K10); and flows as users write them, from end to end: the same outcome and the
 * same facts on every engine.
 */
import assert from 'node:assert/strict'
import { agent, breakLoop, tool, type Agent } from '@reeve/agent'
import {
  completed,
  failed,
  failure,
  isObject,
  handoffOf,
  withHandoff,
  withoutOwnWork,
  type Json,
  type Outcome,
  type RunId,
  type HandoffRecord,
} from '@reeve/core'
import type { DomainEvent, Question } from '@reeve/engine'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { scripted, type ScriptLine } from '@reeve/testing'
import { begin } from './begin.ts'
import { ended, question, until, type Play, type Stage } from './stage.ts'

const pathOf = (path: readonly string[]): string => path.join('/')

const paths: readonly Play[] = [
  {
    invariant: 'K1',
    name: 'a worker given a path has it in its journal and its context; its workers are below it',
    async play(stage) {
      pathTeam(stage, false)
      await stage.drive()
      const run = await stage.start('lead')
      assert.deepEqual(
        await stage.outcome(run),
        completed([
          ['lead', 'first', 'member'],
          ['lead', 'first', 'member', 'leaf'],
        ]),
      )
      const begins = (await stage.all(run, 'activation.started')).map(({ agent: name, path }) => [name, path])
      assert.deepEqual(begins.find(([name]) => name === 'member')![1], ['lead', 'first', 'member'])
    },
  },
  {
    invariant: 'K1',
    name: 'after a kill a worker that was given a path is still there',
    restarts: true,
    async play(stage) {
      pathTeam(stage, true)
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(
        await stage.outcome(run),
        completed([
          ['lead', 'first', 'member'],
          ['lead', 'first', 'member', 'leaf'],
        ]),
      )
    },
  },
]

/** The leaf and the member say where they are. */
function pathTeam(stage: Stage, asks: boolean): void {
  stage.agent('leaf', async (ctx) => ctx.place.path)
  stage.agent('member', async (ctx) => {
    if (asks) await ctx.next(ctx.ask('q', question('int_1')))
    return [ctx.place.path, outputOf(await ended(ctx, ctx.start('leaf', null)))]
  })
  stage.agent('lead', async (ctx) => ended(ctx, ctx.start('member', null, { path: ['lead', 'first', 'member'] })))
}

const outputOf = (outcome: Outcome): Json => (outcome.status === 'completed' ? outcome.output : outcome.status)

const handoff = (text: string): HandoffRecord => ({
  said: [
    {
      agent: 'w',
      message: {
        role: 'assistant',
        content: text,
        calls: [{ id: 'c1', name: 'look', input: { deep: [1, null, 'ä'] } }],
      },
    },
    { agent: 'w', message: { role: 'tool', callId: 'c1', name: 'look', content: { found: [] }, isError: true } },
  ],
  action: { type: 'transfer', to: 'x', task: 'go on', path: ['lead', 'w'] },
  breaks: 'w',
  hops: 3,
})

const trails: readonly Play[] = [
  {
    invariant: 'K10',
    name: 'what a worker leaves on its outcome arrives with it, for any outcome',
    async play(stage) {
      const ends: readonly Outcome[] = [
        completed('done'),
        failed(failure('agent.failed', 'no', 'internal')),
        { status: 'limited', limit: 'turns', message: 'enough' },
        { status: 'cancelled', reason: 'by itself' },
      ]
      stage.agent('w', async (_ctx, n) => withHandoff(ends[n as number]!, handoff('words')))
      stage.agent('lead', async (ctx, n) => [(await ended(ctx, ctx.start('w', n))) as unknown as Json])
      await stage.drive()
      for (const [n, outcome] of ends.entries()) {
        const run = await stage.start('lead', n)
        assert.deepEqual(withoutOwnWork(await stage.outcome(run)), completed([withHandoff(outcome, handoff('words'))]))
      }
    },
  },
  {
    invariant: 'K10',
    name: 'what a worker left, 200 kB of it, is the same after a kill',
    restarts: true,
    async play(stage) {
      const long = 'wörter '.repeat(28_000)
      stage.agent('w', async () => withHandoff(completed('done'), handoff(long)))
      stage.agent('lead', async (ctx) => {
        const before = handoffOf(await ended(ctx, ctx.start('w', null)))
        await ctx.next(ctx.ask('q', question('int_1')))
        return before as unknown as Json
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(await stage.outcome(run), completed(handoff(long)))
      const [settled] = await stage.all(run, 'worker.settled')
      assert.deepEqual(handoffOf(settled!.outcome), handoff(long))
    },
  },
]

const noted: readonly DomainEvent[] = [
  { type: 'text.said', text: 'words' },
  { type: 'agent.transferred', from: 'lead', path: ['lead'], to: 'w', by: 'rule', callId: 'call_1', task: 'go on' },
  { type: 'exit.requested', scope: 'supervisor', callId: 'call_2' },
  { type: 'break.requested' },
  { type: 'loop.broken', from: 'w', iteration: 1 },
]

const facts: readonly Play[] = [
  {
    invariant: 'K4',
    name: 'what is noted of control is recorded once, also over a kill',
    restarts: true,
    async play(stage) {
      stage.agent('a', async (ctx) => {
        for (const fact of noted) ctx.emit(fact)
        await ctx.next(ctx.ask('q', question('int_1')))
        for (const fact of noted) ctx.scope('again').emit(fact)
        return 'done'
      })
      await stage.drive()
      const run = await stage.start('a')
      await stage.question(run)
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(await stage.outcome(run), completed('done'))
      const recorded = (await stage.log(run)).flatMap((event) => {
        if (!('op' in event) || event.op !== 'fact') return []
        const { op: _op, address: _address, v: _v, ...fact } = event as typeof event & { readonly v?: number }
        return [fact]
      })
      assert.deepEqual(recorded, [...noted, ...noted])
    },
  },
]

const modelAgent = (name: string, ...script: readonly ScriptLine[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const call = (name: string, input: Json = {}) => ({ calls: [{ name, input }] })
const hands = (to: string) => call('transfer_to_agent', { agent_name: to })
const asker = (name: string): Agent =>
  agent({
    name,
    description: 'Asks.',
    run: async (ctx) => `${name} heard ${(await interrupt(ctx, `${name}?`)) as string}`,
  })

const questionText = ({ body }: Question): string => JSON.stringify(isObject(body) ? body['question'] : body)

/** Waits for so many questions; in the order of their words. */
async function openQuestions(stage: Stage, run: RunId, count: number) {
  await until(`${count} questions are open`, async () => (await stage.engine.questions({ run })).length === count)
  return (await stage.engine.questions({ run })).toSorted((a, b) => (questionText(a) < questionText(b) ? -1 : 1))
}

const flows: readonly Play[] = [
  {
    invariant: 'K10',
    name: 'a router: control goes to workers and returns by rule; paths, transfers and answer match the spec',
    async play(stage) {
      const look = tool({ name: 'echo', effect: 'read', execute: stage.does('echo', 'echoed') as () => Json })
      const root = router({
        name: 'Sup',
        model: scripted(hands('W1'), hands('W2'), hands('W1'), 'final'),
        transfer: { transfers: 'shown' },
        workers: [
          agent({
            name: 'W1',
            description: 'Thinks.',
            tools: [look],
            model: scripted(
              { text: 'thinking', ...call('echo') },
              'w1 result',
              'what it handed back',
              'w1 second result',
            ),
          }),
          modelAgent('W2', 'w2 result'),
        ],
      })
      const run = await begin(stage, root)
      assert.deepEqual(await stage.outcome(run), completed('final'))
      const hops = (await stage.all(run, 'agent.transferred')).map(({ from, to, by, path }) => [
        `${from}>${to}`,
        by,
        pathOf(path),
      ])
      assert.deepEqual(hops, [
        ['Sup>W1', 'model', 'Sup'],
        ['W1>Sup', 'rule', 'Sup/W1'],
        ['Sup>W2', 'model', 'Sup/W1/Sup'],
        ['W2>Sup', 'rule', 'Sup/W1/Sup/W2'],
        ['Sup>W1', 'model', 'Sup/W1/Sup/W2/Sup'],
        ['W1>Sup', 'rule', 'Sup/W1/Sup/W2/Sup/W1'],
      ])
      const begins = (await stage.all(run, 'activation.started')).map(({ path }, i) =>
        i === 0 ? 'Sup' : pathOf(path!),
      )
      assert.equal(begins.at(-1), 'Sup/W1/Sup/W2/Sup/W1/Sup')
      assert.equal(begins.length, 7)
      assert.equal(stage.count('echo'), 1)
    },
  },
  {
    invariant: 'K6',
    name: 'nested parallels: two branches ask, are answered after a kill, and the others do not run again',
    restarts: true,
    async play(stage) {
      const [done, after] = [scripted('done'), scripted('final')]
      const inner = parallel({ name: 'inner', agents: [asker('b'), agent({ name: 'quick', model: done })] })
      const outer = parallel({ name: 'outer', agents: [asker('a'), inner] })
      const run = await begin(
        stage,
        sequential({ name: 'all', agents: [outer, agent({ name: 'after', model: after })] }),
      )
      await openQuestions(stage, run, 2)
      await until('the quick one has ended', () => done.prompts.length === 1)
      await stage.fence()
      await stage.restart('kill')
      const [, second] = await openQuestions(stage, run, 2)
      await stage.answer(second!, 2)
      await openQuestions(stage, run, 1)
      await stage.restart('kill')
      await stage.answer((await openQuestions(stage, run, 1))[0]!, 1)
      assert.deepEqual(await stage.outcome(run), completed('final'))
      const heard = after.prompts[0]!.map(({ content }) => content)
      assert.deepEqual(heard, [
        'task',
        'For context: [a] said: a heard 1.',
        'For context: [b] said: b heard 2.',
        'For context: [quick] said: done.',
      ])
      assert.equal((await stage.all(run, 'interrupt.raised')).length, 2)
    },
  },
  {
    invariant: 'K10',
    name: 'a loop is broken the second time round, and what follows it sees all of it',
    async play(stage) {
      const after = scripted('final')
      const check = agent({
        name: 'check',
        run: async (ctx) =>
          (await ctx.values.update('n', (n) => Number(n ?? 0) + 1)) === 2 ? breakLoop('enough') : 'once more',
      })
      const round = loop({ name: 'round', maxIterations: 5, agents: [check, modelAgent('work', 'one')] })
      const run = await begin(
        stage,
        sequential({ name: 'all', agents: [round, agent({ name: 'after', model: after })] }),
      )
      assert.deepEqual(await stage.outcome(run), completed('final'))
      assert.deepEqual(
        after.prompts[0]!.map(({ content }) => content),
        [
          'task',
          'For context: [check] said: once more.',
          'For context: [work] said: one.',
          'For context: [check] said: enough.',
        ],
      )
      const broken = (await stage.all(run, 'loop.broken')).map(({ from, iteration }) => [from, iteration])
      assert.deepEqual([broken, (await stage.all(run, 'break.requested')).length], [[['check', 1]], 1])
      const paths = (await stage.all(run, 'activation.started')).slice(1).map(({ path }) => pathOf(path!))
      assert.deepEqual(paths, [
        'all/round',
        'all/round/check',
        'all/round/check/work',
        'all/round/check/work/check',
        'all/round/after',
      ])
    },
  },
  {
    invariant: 'K6',
    name: 'an agent as a tool asks: after a kill it goes on, and neither it nor the tool beside it reruns',
    restarts: true,
    async play(stage) {
      const beside = tool({ name: 'beside', effect: 'read', execute: stage.does('beside') as () => Json })
      const look = tool({ name: 'look', effect: 'read', execute: stage.does('look') as () => Json })
      const inner = scripted(
        call('look'),
        call('asker', { request: 'y' }),
        ({ messages }) => `told ${messages.at(-1)!.content as string}`,
      )
      const outer = scripted(
        {
          calls: [
            { name: 'inner', input: { request: 'x' } },
            { name: 'beside', input: {} },
          ],
        },
        'final',
      )
      const middle = agent({
        name: 'inner',
        description: 'Looks.',
        model: inner,
        tools: [look, asTool(asker('asker'))],
      })
      const run = await begin(stage, agent({ name: 'outer', model: outer, tools: [asTool(middle), beside] }))
      await openQuestions(stage, run, 1)
      await until(
        'the tool beside it has ended',
        async () => (await stage.log(run)).some(({ type }) => type === 'step.settled') && stage.count('beside') === 1,
      )
      await stage.fence()
      await stage.restart('kill')
      await stage.answer((await openQuestions(stage, run, 1))[0]!, 'yes')
      assert.deepEqual(await stage.outcome(run), completed('final'))
      assert.deepEqual(
        [stage.count('look'), stage.count('beside'), inner.prompts.length, outer.prompts.length],
        [1, 1, 3, 2],
      )
      assert.deepEqual(
        outer.prompts[1]!.flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
        ['told asker heard yes', 'beside'],
      )
    },
  },
]

export const handingOnCases: readonly Play[] = [...paths, ...trails, ...facts, ...flows]
