/**
 * The agents of worker processes. Everything that they do outside goes through the world's log and gates.
 *
 * Owns: what each agent does. `crew(world, '2')` is the same crew after its code was changed.
 */
import { agent, delegate, sleep, step, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { approve, interrupt } from '@reeve/oversight'
import type { World } from './world.ts'

/** What the `piece` agent is told, and how many of them `fan` has. */
export const pieces = (n: number): string[] => Array.from({ length: n }, (_, k) => `piece${k}`)

export function crew(world: World, version = '1'): Agent[] {
  const piece = agent({
    name: 'piece',
    description: 'Does one piece.',
    version,
    run: (ctx, brief) => step(ctx, 'work', (io) => world.does(brief, io), { retry: { attempts: 1 } }),
  })
  const fan = agent({
    name: 'fan',
    version,
    workers: [piece],
    run: async (ctx, brief): Promise<Json> => {
      const n = Number(brief)
      const plan = await step(ctx, 'plan', (io) => world.does('plan', io))
      const ends = await Promise.all(pieces(n).map((name) => delegate(ctx, piece, name)))
      const sum = await step(
        ctx,
        'sum',
        (io) => (world.note('sum', io), ends.filter(({ status }) => status === 'completed').length),
      )
      return { plan, sum, ends: ends.map((end) => (end.status === 'completed' ? end.output : end.status)) }
    },
  })
  return [piece, fan, ...askers(world, version), ...oldAndNew(world, version), ...longOnes(world, version)]
}

function askers(world: World, version: string): Agent[] {
  const publisher = agent({
    name: 'publisher',
    version,
    run: async (ctx, brief): Promise<Json> => {
      const draft = await step(ctx, 'draft', (io) => (world.note('draft', io), 'a text'))
      const timeoutMs = Number(brief) || 60_000
      const verdict = await approve(ctx, {
        tool: 'publish',
        toolVersion: '1',
        input: draft,
        reason: 'it is public',
        risk: 'high',
        timeoutMs,
      })
      if (!verdict.approved) return { published: false, how: verdict.how }
      return {
        published: true,
        said: await step(ctx, 'publish', (io) => (world.note('publish', io), 'out'), { effect: 'once' }),
      }
    },
  })
  const payer = agent({
    name: 'payer',
    version,
    run: async (ctx): Promise<Json> => ({
      paid: await step(ctx, 'pay', (io) => world.does('pay', io), { effect: 'once' }),
    }),
  })
  return [publisher, payer]
}

/** Their code is another one in version 2: a step more, a step less, a step with another name. */
function oldAndNew(world: World, version: string): Agent[] {
  const changed = agent({
    name: 'changed',
    version,
    run: async (ctx): Promise<Json> => {
      const does = (name: string, aliases?: string[]): Promise<string> =>
        step(
          ctx,
          name,
          (io) => (world.note(name, io), `${name} by ${version}`),
          aliases === undefined ? {} : { aliases },
        )
      const first = version === '1' ? await does('old') : await does('renamed', ['old'])
      const inserted = version === '1' ? null : await does('inserted', [])
      const answer = await interrupt(ctx, 'go on?')
      return { first, inserted, answer, last: await does('last') }
    },
  })
  const chain = agent({
    name: 'chain',
    version,
    workers: [changed],
    run: async (ctx): Promise<Json> => {
      const before = await step(ctx, 'before', (io) => (world.note(`chain ${version}`, io), version))
      const answer = await interrupt(ctx, 'who is next?')
      const end = await delegate(ctx, changed, 'go')
      return { before, answer, end: end.status === 'completed' ? end.output : end.status, after: version }
    },
  })
  return [changed, chain]
}

function longOnes(world: World, version: string): Agent[] {
  const slow = agent({
    name: 'slow',
    description: 'Takes its time.',
    version,
    run: (ctx) => step(ctx, 'dig', (io) => world.does('dig', io), { retry: { attempts: 1 } }),
  })
  const quick = agent({
    name: 'quick',
    description: 'Is quick.',
    version,
    run: (ctx) => step(ctx, 'peck', (io) => world.does('peck', io)),
  })
  const foreman = agent({
    name: 'foreman',
    version,
    workers: [slow, quick],
    run: async (ctx): Promise<Json> => {
      const own = ctx.begin('own', (io) => world.does('own', io), { retry: { attempts: 1 } })
      const both = [delegate(ctx, slow, 'dig'), delegate(ctx.scope('other'), quick, 'peck')] as const
      const first = await both[1]
      await step(ctx.scope('heard'), 'heard', (io) => (world.note(`heard ${first.status}`, io), null))
      const end = await both[0]
      return [first.status, end.status, (await ctx.next(own)).outcome.status]
    },
  })
  const sleeper = agent({
    name: 'sleeper',
    version,
    run: async (ctx, brief): Promise<Json> => {
      await step(ctx, 'lie down', (io) => (world.note('lie down', io), null))
      await sleep(ctx, Number(brief))
      return step(ctx, 'get up', (io) => (world.note('get up', io), 'awake'))
    },
  })
  const talker = agent({
    name: 'talker',
    version,
    run: (ctx) =>
      step(ctx, 'talk', async (io) => {
        world.note('talk>', io)
        io.emit({ type: 'text.delta', text: 'Once ' })
        await world.pass('talk', io.signal)
        io.emit({ type: 'text.delta', text: 'upon a time' })
        return 'Once upon a time'
      }),
  })
  return [slow, quick, foreman, sleeper, talker]
}
