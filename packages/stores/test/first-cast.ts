/**
 * The agents of the runs in fixtures/embedded, as they were when 0.1.0 recorded them. Kept as long as that fixture, and
 * never changed (K12): they are written with what 0.1.0 had.
 */
import { agent, delegate, sleep, step, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { interrupt } from '@reeve/oversight'

/** What the agents meet outside. */
interface Outside {
  readonly note: (what: string) => void
  readonly gate: (what: string, signal: AbortSignal) => Promise<void>
}

const longMs = 400 * 24 * 3_600_000

export function firstCast({ note, gate }: Outside): readonly Agent[] {
  const does =
    (what: string, value: Json = `${what} is done`) =>
    (): Json => {
      note(what)
      return value
    }
  const asker = agent({
    name: 'asker',
    run: async (ctx, brief): Promise<Json> => {
      const before = await step(ctx, 'before', does(`${brief}: before`))
      const answer = await interrupt(ctx, 'Go on?')
      return { before, answer, after: await step(ctx, 'after', does(`${brief}: after`)) }
    },
  })
  const send = tool({
    name: 'send',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    sensitive: true,
    execute: (input) => does(`send ${JSON.stringify(input)}`)(),
  })
  const clerk = agent({
    name: 'clerk',
    description: 'Sends things.',
    tools: [send],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'it is sent', usage: { input: 20, output: 3 } }
        : { calls: [{ name: 'send', input: { to: 'ann' } }], usage: { input: 10, output: 5 } },
  })
  const leader = agent({
    name: 'leader',
    workers: [clerk],
    run: async (ctx): Promise<Json> => {
      const plan = await step(ctx, 'plan', does('leader: plan'))
      const end = await delegate(ctx, clerk, 'Send it.')
      return { plan, end: end.status, sum: await step(ctx, 'sum', does('leader: sum')) }
    },
  })
  const sleeper = agent({
    name: 'sleeper',
    run: async (ctx): Promise<Json> => {
      await step(ctx, 'lie down', does('sleeper: lie down'))
      await sleep(ctx, longMs)
      return step(ctx, 'get up', does('sleeper: get up'))
    },
  })
  const payer = agent({
    name: 'payer',
    run: async (ctx, brief): Promise<Json> => ({
      paid: await step(
        ctx,
        'pay',
        async ({ signal }) => {
          note(`${brief}: pay`)
          await gate('pay', signal)
          return 'paid'
        },
        { effect: 'once' },
      ),
    }),
  })
  const slow = agent({
    name: 'slow',
    run: (ctx) =>
      step(ctx, 'work', async ({ signal }) => {
        note('slow: work')
        await gate('slow', signal)
        return 'slowly done'
      }),
  })
  const failing = agent({
    name: 'failing',
    run: () => {
      throw new Error('no luck')
    },
  })
  const quick = agent({
    name: 'quick',
    run: (ctx, brief) => step(ctx, 'peck', does(`${brief}: peck`, `${brief} and so on; `.repeat(1_200))),
  })
  const keeper = agent({
    name: 'keeper',
    run: async (ctx): Promise<Json> => {
      const count = await ctx.values.update('count', (was) => ((was as number | null) ?? 0) + 1)
      const answer = await interrupt(ctx, 'Keep it?')
      return { count, answer, again: await ctx.values.update('count', (was) => (was as number) + 10) }
    },
  })
  return [asker, clerk, leader, sleeper, payer, slow, failing, quick, keeper]
}
