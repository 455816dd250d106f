/**
 * What teams do, as data: each scenario is played on the embedded engine and on Restate, and must come out the same, with the same facts in its journal.
 *
 * Owns: the scenarios, and what of a journal is a fact that no engine may change (`factsOf`). Does not own: the engines (scenarios.test.ts).
 */
import {
  agent,
  delegate,
  interrupt,
  step,
  supervisor,
  tool,
  type Agent,
  type Json,
  type Recorded,
  type Run,
  type Runtime,
} from '../../src/index.ts'
import { until } from './fleet.ts'
import type { World } from './world.ts'

export interface Scenario {
  readonly name: string
  readonly agents: (world: World) => readonly Agent[]
  /** Plays it to its end. What it returns must be the same everywhere. */
  readonly play: (runtime: Runtime, world: World) => Promise<readonly Run[]>
  /** Arrivals of concurrent work may come in any order: each activation's facts are compared as a set. */
  readonly anyOrder?: true
}

const delegates = (...workers: string[]) => ({
  calls: workers.map((worker) => ({ name: 'delegate', input: { worker, instructions: `do ${worker}` } })),
})
const rule =
  (first: object, then: string) =>
  ({ messages }: { readonly messages: readonly { readonly role: string }[] }): never =>
    (messages.at(-1)?.role === 'tool' ? then : first) as never

/** Engines may note how they held an effect back; everything else is a fact. */
const engineNotes: ReadonlySet<string> = new Set(['effect.held', 'effect.released'])
const passing: ReadonlySet<string> = new Set([
  'id',
  'callId',
  'until',
  'inputHash',
  'delayMs',
  'prompt',
  'version',
  'toolVersion',
  'key',
  'capability',
])

/** The facts of a journal: per activation what happened, without ids, times and versions. */
export function factsOf(events: readonly Recorded[], anyOrder = false): Readonly<Record<string, readonly string[]>> {
  const facts: Record<string, string[]> = {}
  for (const { run, activation, event } of events) {
    if (engineNotes.has(event.type)) continue
    const text = JSON.stringify(event, (name, value: unknown) => (passing.has(name) ? undefined : value)).replaceAll(
      /run_[0-9a-z]{16}/g,
      'RUN',
    )
    ;(facts[activation.replaceAll(run, 'RUN')] ??= []).push(text)
  }
  return anyOrder ? Object.fromEntries(Object.entries(facts).map(([who, list]) => [who, list.toSorted()])) : facts
}

const begun = (world: World, what: string): Promise<unknown> => until(`${what} has begun`, () => world.count(`${what}>`) > 0)
const open = (runtime: Runtime, run: Run): Promise<string> =>
  until('it asks', async () => (await runtime.questions({ run: run.id }))[0]?.id)
const paid = (world: World, timeoutMs?: number): Agent => {
  const approval = { risk: 'high' as const, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  const pay = tool({ name: 'pay', approval, effect: 'once', execute: (_input, io) => (world.note('pay'), { paid: io.attempt }) })
  const model = rule({ calls: [{ name: 'pay', input: { amount: 7 } }] }, 'that was it')
  return supervisor({
    name: 'lead',
    model: rule(delegates('clerk'), 'done'),
    workers: [agent({ name: 'clerk', description: 'Pays.', tools: [pay], model })],
  })
}
const works = (world: World, name: string): Agent<string, string, string> =>
  agent({
    name,
    description: 'Works.',
    run: (ctx, brief) => step(ctx, 'work', (io) => world.does(String(brief), io), { retry: { attempts: 1 } }),
  })

const teams: readonly Scenario[] = [
  {
    name: 'delegation: a leader and a worker by model',
    agents: () => [
      supervisor({
        name: 'lead',
        model: rule(delegates('writer'), 'a book'),
        workers: [agent({ name: 'writer', description: 'Writes.', model: () => 'a text' })],
      }),
    ],
    play: async (runtime) => [await runtime.start('lead', 'write')],
  },
  {
    name: 'fan-out of eight workers',
    anyOrder: true,
    agents: (world) => {
      const worker = works(world, 'worker')
      const run = (ctx: Parameters<typeof step>[0]): Promise<Json> =>
        Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((n) => delegate(ctx, worker, `w${n}`))).then((ends) => ends as unknown as Json)
      return [agent({ name: 'lead', workers: [worker], run })]
    },
    play: async (runtime, world) => {
      world.open('w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7')
      return [await runtime.start('lead', 'go')]
    },
  },
  {
    name: 'an approval that is given',
    agents: (world) => [paid(world)],
    play: async (runtime) => {
      const run = await runtime.start('lead', 'pay')
      await run.decide({ approvalId: await open(runtime, run), decision: 'approve', approver: 'ann' })
      return [run]
    },
  },
  {
    name: 'an approval whose deadline passes',
    agents: (world) => [paid(world, 300)],
    play: async (runtime) => [await runtime.start('lead', 'pay')],
  },
  {
    name: 'an interrupt that is answered',
    agents: () => [agent({ name: 'asker', run: async (ctx): Promise<Json> => ({ answer: await interrupt(ctx, { which: ['a', 'b'] }) }) })],
    play: async (runtime) => {
      const run = await runtime.start('asker', 'ask')
      await run.answer({ interruptId: await open(runtime, run), value: 'b' })
      return [run]
    },
  },
]

const controls: readonly Scenario[] = [
  {
    name: 'messages before, while and after somebody listens',
    anyOrder: true,
    agents: (world) => [
      agent({
        name: 'listener',
        run: async (ctx): Promise<Json> => {
          await step(ctx, 'deaf', (io) => world.does('deaf', io))
          const heard: Json[] = []
          while (heard.length < 2) {
            const arrival = await ctx.next((any) => any.type === 'message')
            if (arrival.type === 'message') heard.push(arrival.body)
            await step(ctx, `heard ${heard.length}`, () => (world.note(`heard ${heard.length}>`), null))
          }
          return heard
        },
      }),
    ],
    play: async (runtime, world) => {
      const run = await runtime.start('listener', 'go')
      await begun(world, 'deaf')
      const to = `act_${run.id}` as never
      const said = [await run.post(to, 'early', { id: 'm1' }), await run.post(to, 'early', { id: 'm1' })]
      world.open('deaf')
      await begun(world, 'heard 1')
      said.push(await run.post(to, 'in time', { id: 'm2' }))
      await run.outcome()
      said.push(await run.post(to, 'late', { id: 'm3' }))
      if (said.join() !== 'accepted,accepted,accepted,closed') throw new Error(`posts were ${said.join()}`)
      return [run]
    },
  },
  {
    name: 'a whole tree is cancelled, and undone from the last to the first',
    anyOrder: true,
    agents: (world) => {
      const worker = agent({
        name: 'worker',
        description: 'Books.',
        run: async (ctx, brief): Promise<Json> => {
          for (const what of ['flight', 'hotel']) {
            await step(ctx, what, () => null)
            ctx.onCancel(`undo ${what}`, (undo) =>
              step(undo, `undo ${what}`, () => (world.note(`undo ${what} of ${String(brief)}`), undefined)),
            )
          }
          return step(ctx, 'pay', (io) => world.does(`pay ${String(brief)}`, io))
        },
      })
      const run = (ctx: Parameters<typeof step>[0]): Promise<Json> =>
        Promise.all(['a', 'b'].map((name) => delegate(ctx, worker, name))).then((ends) => ends as unknown as Json)
      return [agent({ name: 'lead', workers: [worker], run })]
    },
    play: async (runtime, world) => {
      const run = await runtime.start('lead', 'go')
      await Promise.all([begun(world, 'pay a'), begun(world, 'pay b')])
      await run.cancel('no travel', 'ann')
      await run.outcome()
      const undone = (who: string): string =>
        world
          .deeds()
          .filter(({ what }) => what.endsWith(` of ${who}`))
          .map(({ what }) => what)
          .join()
      for (const who of ['a', 'b'])
        if (undone(who) !== `undo hotel of ${who},undo flight of ${who}`) throw new Error(`undone: ${undone(who)}`)
      return [run]
    },
  },
  {
    name: 'pause and resume',
    agents: (world) => [
      agent({
        name: 'lead',
        run: async (ctx): Promise<Json> => [
          await step(ctx, 'one', (io) => world.does('one', io)),
          await step(ctx, 'two', (io) => world.does('two', io)),
        ],
      }),
    ],
    play: async (runtime, world) => {
      const run = await runtime.start('lead', 'go')
      await begun(world, 'one')
      await run.pause({ reason: 'lunch', by: 'ann' })
      await until('it is pausing', async () => (await run.view()).status === 'pausing')
      world.open('one', 'two')
      const state = await run.until('waiting')
      if (state.status !== 'paused' || world.count('two>') > 0) throw new Error(`it is ${state.status}`)
      await run.resume('ann')
      return [run]
    },
  },
]

const keeping: readonly Scenario[] = [
  {
    name: 'a budget that does not suffice',
    agents: () => [
      agent({
        name: 'talker',
        limits: { turns: 5, tokens: 900 },
        settings: { maxOutputTokens: 100 },
        tools: [tool({ name: 'more', execute: () => 'more' })],
        model: () => ({ calls: [{ name: 'more', input: {} }], usage: { input: 300, output: 100 } }),
      }),
    ],
    play: async (runtime) => [await runtime.start('talker', 'go on')],
  },
  {
    name: 'values of a session over two runs',
    agents: () => [
      agent({
        name: 'counter',
        run: async (ctx): Promise<Json> =>
          [await ctx.values.get('n'), await ctx.values.update('n', (n) => Number(n ?? 0) + 1), await ctx.values.getAll(['n', 'x'])] as Json,
      }),
    ],
    play: async (runtime) => {
      const first = await runtime.start('counter', 'go', { session: 's', values: { x: 'kept' } })
      await first.outcome()
      const second = await runtime.start('counter', 'go', { session: 's' })
      const end = await second.outcome()
      if (end.status !== 'completed' || JSON.stringify(end.output) !== '[1,2,[2,"kept"]]') throw new Error(JSON.stringify(end))
      return [first, second]
    },
  },
  {
    name: 'a log that begins again with carried state',
    agents: (world) => [
      agent({
        name: 'loop',
        run: async (ctx): Promise<Json> => {
          const n = Number(ctx.carried ?? 0)
          await step(ctx, 'round', () => (world.note(`round ${n}`), n))
          if (n < 3) ctx.restart(n + 1)
          return n
        },
      }),
    ],
    play: async (runtime, world) => {
      const run = await runtime.start('loop', 'go')
      await run.outcome()
      const rounds = world
        .deeds()
        .map(({ what }) => what)
        .join()
      if (rounds !== 'round 0,round 1,round 2,round 3') throw new Error(rounds)
      return [run]
    },
  },
  {
    name: 'a tool that fails, is tried again, and fails for good',
    agents: (world) => {
      const shaky = tool({
        name: 'shaky',
        retry: { attempts: 2, backoffMs: 1, jitter: false },
        execute: () => (world.note('shaky'), Promise.reject(new Error('no luck'))),
      })
      return [agent({ name: 'lead', tools: [shaky], model: rule({ calls: [{ name: 'shaky', input: {} }] }, 'so be it') })]
    },
    play: async (runtime) => [await runtime.start('lead', 'go')],
  },
]

export const scenarios: readonly Scenario[] = [...teams, ...controls, ...keeping]
