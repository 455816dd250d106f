/**
 * Contract: what delegation needs of an engine: work that goes on beside its leader, deadlines for a worker, the first
 * of several, words between a leader and its worker, computations that are recorded once (K3, K4, K6, K8, K10); and
 * leaders as users write them, from end to end.
 */
import assert from 'node:assert/strict'
import { agent, tool } from '@reeve/agent'
import { completed, isObject, rootActivation, type ActivationId, type Json } from '@reeve/core'
import type { Arrival, Context } from '@reeve/engine'
import { supervisor } from '@reeve/supervisor'
import { scripted } from '@reeve/testing'
import { begin } from './begin.ts'
import { ended, gate, question, step, until, type Play } from './stage.ts'

const statusOf = async (ctx: Context, id: ActivationId): Promise<Json> => (await ended(ctx, id)).status

const beside: readonly Play[] = [
  {
    invariant: 'K3',
    name: 'workers go on while their leader works and asks; ends come in recorded order, also after a kill',
    restarts: true,
    async play(stage) {
      stage.agent('w', async (ctx, n) => step(ctx, `work ${n as number}`, stage.does(`w${n as number}`)))
      const heard: Json[] = []
      stage.agent('lead', async (ctx) => {
        heard.length = 0
        const ids = [1, 2].map((n) => ctx.scope('part').start('w', n))
        const hear = async (id: ActivationId): Promise<void> => {
          const { outcome } = await ctx.scope('hear').next(id)
          heard.push(outcome.status === 'completed' ? outcome.output : outcome.status)
        }
        const both = Promise.all(ids.map(hear))
        heard.push(await step(ctx, 'own', stage.does('own')))
        await ctx.next(ctx.ask('q', question('int_1')))
        heard.push('answered')
        await both
        return [...heard]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      await until('both workers have ended', async () => (await stage.all(run, 'worker.settled')).length === 2)
      const before = [...heard]
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(await stage.outcome(run), completed([...before, 'answered']))
      assert.deepEqual([stage.count('w1'), stage.count('w2'), stage.count('own')], [1, 1, 1])
    },
  },
  {
    invariant: 'K8',
    name: 'a worker that is out of time is stopped, with what it has open; its end arrives as a cancel',
    async play(stage) {
      const open = gate()
      stage.agent('w', async (ctx) => step(ctx, 'slow', open.effect))
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('w', null)
        const timer = ctx.ask('deadline', { until: new Date(ctx.now().getTime() + 1_000) })
        const first = await ctx.next((each) => each.id === worker || each.id === timer)
        ctx.stop(worker, 'out of time')
        return [first.type, await statusOf(ctx, worker)]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => open.waiting === 1)
      stage.clock.advance(1_001)
      assert.deepEqual(await stage.outcome(run), completed(['ask.settled', 'cancelled']))
      assert.equal(open.aborted, 1)
    },
  },
  {
    invariant: 'K8',
    name: 'the first of three wins: the others are stopped and awaited, and a kill changes nothing',
    restarts: true,
    async play(stage) {
      const [slow, slower] = [gate(), gate()]
      stage.agent('w', async (ctx, n) =>
        n === 2 ? step(ctx, 'quick', stage.does('quick')) : step(ctx, 'slow', (n === 1 ? slow : slower).effect),
      )
      stage.agent('lead', async (ctx) => {
        const ids = [1, 2, 3].map((n) => ctx.scope('part').start('w', n))
        const first = await ctx.next((each) => ids.some((id) => id === each.id))
        for (const id of ids) if (id !== first.id) ctx.stop(id, 'another was first')
        const others = await Promise.all(
          ids.filter((id) => id !== first.id).map((id) => statusOf(ctx.scope('other'), id)),
        )
        await ctx.next(ctx.ask('q', question('int_1')))
        return [ids.findIndex((id) => id === first.id), ...others]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(await stage.outcome(run), completed([1, 'cancelled', 'cancelled']))
      assert.equal((await stage.all(run, 'worker.settled')).length, 3)
      assert.equal(stage.count('quick'), 1)
    },
  },
]

const isMessageOfType = (arrival: Arrival, type: string): arrival is Extract<Arrival, { type: 'message' }> =>
  arrival.type === 'message' && isObject(arrival.body) && arrival.body['type'] === type

const commandCases: readonly Play[] = [
  {
    invariant: 'K2',
    name: 'an outside command stops a worker that its leader awaits; sent twice, it counts once',
    async play(stage) {
      const open = gate()
      stage.agent('w', async (ctx) => step(ctx, 'slow', open.effect))
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('w', null)
        const said = await ctx.next((each) => each.id === worker || isMessageOfType(each, 'stop'))
        ctx.stop(worker, 'somebody said so')
        return [said.type, await statusOf(ctx, worker)]
      })
      await stage.drive()
      const run = await stage.start('lead')
      await until('the worker is at work', () => open.waiting === 1)
      const post = { type: 'message', activation: rootActivation(run), id: 'stop-1', body: { type: 'stop' } } as const
      assert.equal(await stage.post(post), 'accepted')
      const again = await stage.post(post)
      assert.ok(again === 'accepted' || again === 'lost' || again === 'closed', again)
      assert.deepEqual(await stage.outcome(run), completed(['message', 'cancelled']))
    },
  },
  {
    invariant: 'K3',
    name: 'a worker asks its leader and has a reply, in the middle of its work; after a kill, too',
    restarts: true,
    async play(stage) {
      stage.agent('w', async (ctx, leader) => {
        ctx.send(leader as ActivationId, { type: 'ask', text: 'which?' })
        const reply = await ctx.next((each) => isMessageOfType(each, 'reply'))
        return (
          (isObject((reply as { body: Json }).body)
            ? (reply as { body: { [key: string]: Json } }).body['text']
            : null) ?? null
        )
      })
      stage.agent('lead', async (ctx) => {
        const worker = ctx.start('w', ctx.place.activation)
        for (;;) {
          const arrival = await ctx.next((each) => each.id === worker || isMessageOfType(each, 'ask'))
          if (arrival.type === 'worker.settled')
            return arrival.outcome.status === 'completed' ? arrival.outcome.output : null
          await ctx.next(ctx.ask('q', question('int_1')))
          ctx.send(worker, { type: 'reply', text: await step(ctx, 'think', stage.does('think', 'the red one')) })
        }
      })
      await stage.drive()
      const run = await stage.start('lead')
      await stage.question(run)
      await stage.fence()
      await stage.restart('kill')
      await stage.answer(await stage.question(run), 'go on')
      assert.deepEqual(await stage.outcome(run), completed('the red one'))
      assert.equal(stage.count('think'), 1)
    },
  },
]

const delegates = (...list: readonly (readonly [worker: string, instructions: string])[]) => ({
  calls: list.map(([worker, instructions]) => ({ name: 'delegate', input: { worker, instructions } })),
})
const roleAndContent = (prompt: readonly { readonly role: string; readonly content: unknown }[]): unknown[] =>
  prompt.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))

const leaders: readonly Play[] = [
  {
    invariant: 'K10',
    name: 'hooks of a delegation run once, even if its worker waits for a human over a kill',
    restarts: true,
    async play(stage) {
      const asked: string[] = []
      const pay = tool({ name: 'pay', sensitive: true, execute: stage.does('pay', 'paid') as () => Json })
      const work = scripted({ calls: [{ name: 'pay', input: {} }] }, 'worker answer')
      const lead = scripted(delegates(['w', 'do it']), 'final')
      const root = supervisor({
        name: 'lead',
        model: lead,
        workers: [agent({ name: 'w', description: 'Works.', instructions: 'Own.', model: work, tools: [pay] })],
        delegation: {
          context: 'conversation',
          onStart: ({ prompt }) => (asked.push('start'), { prompt: `${prompt}, please`, instructions: 'And more.' }),
          filterMessages: ({ messages }) => (asked.push('filter'), messages.slice(-1)),
          onComplete: ({ text }) => (asked.push('complete'), { result: `${text}!`, feedback: 'well done' }),
        },
      })
      const run = await begin(stage, root)
      const open = await stage.question(run, 'approval')
      await stage.fence()
      await stage.restart('kill')
      await stage.answer((await stage.question(run, 'approval')) ?? open, { decision: 'approve' })
      assert.deepEqual(await stage.outcome(run), completed('final'))
      assert.deepEqual(asked, ['start', 'filter', 'complete'])
      assert.equal(stage.count('pay'), 1)
      assert.deepEqual(
        work.prompts[0]!.map(({ content }) => content),
        ['Own.\n\nAnd more.', 'task', 'do it, please'],
      )
      assert.deepEqual(roleAndContent(lead.prompts.at(-1)!), ['worker answer!'])
      assert.deepEqual(lead.prompts.at(-1)!.at(-1), { role: 'user', content: 'well done' })
    },
  },
  {
    invariant: 'K8',
    name: 'a hook that bails ends the leader with what there is, and stops the worker beside',
    async play(stage) {
      const open = gate()
      const root = supervisor({
        name: 'lead',
        model: scripted(delegates(['quick', 'a'], ['slow', 'b'])),
        workers: [
          agent({
            name: 'quick',
            description: 'Answers.',
            run: async (ctx) => {
              await ctx.next(ctx.ask('q', question('int_1')))
              return 'enough'
            },
          }),
          agent({ name: 'slow', description: 'Takes long.', run: async (ctx) => step(ctx, 'slow', open.effect) }),
        ],
        delegation: { onComplete: ({ worker }) => (worker === 'quick' ? { bail: true } : undefined) },
      })
      const run = await begin(stage, root)
      await until('the slow one is at work', () => open.waiting === 1)
      await stage.answer(await stage.question(run), 'go on')
      const outcome = await stage.outcome(run)
      assert.deepEqual(outcome.status === 'bailed' ? outcome.text : outcome, 'enough')
      assert.equal(open.aborted, 1)
      const ends = (await stage.all(run, 'worker.settled')).map((event) => event.outcome.status)
      assert.deepEqual(ends.toSorted(), ['cancelled', 'completed'])
    },
  },
]

export const delegatingCases: readonly Play[] = [...beside, ...commandCases, ...leaders]
