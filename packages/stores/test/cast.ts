/**
 * The agents of the runs in fixtures/, as they were when those were recorded. Kept as long as the fixtures, and never
 * changed (K12).
 *
 * Owns: what each agent does. Everything that it does outside is noted; an effect that is named `…-held` waits at a
 * gate.
 */
import { agent, delegate, sleep, step, teammate, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { team } from '@reeve/team'

/** What the agents meet outside. */
export interface Outside {
  /** An effect has begun. */
  readonly note: (what: string) => void
  /** Passes when the effect may end. */
  readonly gate: (what: string, signal: AbortSignal) => Promise<void>
}

/** How long the sleepers sleep: until long after the fixtures were recorded. Milliseconds. */
export const longMs = 400 * 24 * 3_600_000
/** A text that no store keeps inside an entry. */
export const longText = (word: string): string => `${word} and so on; `.repeat(1_200)

export function cast(outside: Outside): readonly Agent[] {
  const { note } = outside
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
  /** Asks with a deadline that the clock answers. */
  const patient = agent({
    name: 'patient',
    run: async (ctx): Promise<Json> => {
      const answer = await interrupt(ctx, 'Within the year?', { timeoutMs: longMs, otherwise: 'nobody said' })
      return { answer, after: await step(ctx, 'after', does('patient: after')) }
    },
  })
  const slow = agent({
    name: 'slow',
    run: (ctx) =>
      step(ctx, 'work', async ({ signal }) => {
        note('slow: work')
        await outside.gate('slow', signal)
        return 'slowly done'
      }),
  })
  const payer = agent({
    name: 'payer',
    run: async (ctx, brief): Promise<Json> => ({
      paid: await step(
        ctx,
        'pay',
        async ({ signal }) => {
          note(`${brief}: pay`)
          await outside.gate('pay', signal)
          return 'paid'
        },
        { effect: 'once' },
      ),
    }),
  })
  const diver = agent({
    name: 'diver',
    run: (ctx, brief) =>
      step(ctx, 'dive', async ({ signal }) => {
        note(`${brief}: dive`)
        await outside.gate('dive', signal)
        return 'a pearl'
      }),
  })
  /** Its worker has ended, or is to be stopped, and one of the two has yet to hear of it. */
  const chief = agent({
    name: 'chief',
    workers: [diver, asker],
    run: async (ctx, brief): Promise<Json> => {
      const end = brief === 'end-unread' ? await delegate(ctx, diver, brief) : await delegate(ctx, asker, brief)
      return { end: end.status, sum: await step(ctx, 'sum', does(`${brief}: sum`)) }
    },
  })
  const failing = agent({
    name: 'failing',
    run: () => {
      throw new Error('no luck')
    },
  })
  const quick = agent({
    name: 'quick',
    run: (ctx, brief) => step(ctx, 'peck', does(`${brief}: peck`, longText(brief))),
  })
  const keeper = agent({
    name: 'keeper',
    run: async (ctx, brief): Promise<Json> => {
      const count = await ctx.values.update('count', (was) => ((was as number | null) ?? 0) + 1)
      await ctx.values.set(`note ${brief}`, longText(brief))
      const answer = await interrupt(ctx, 'Keep it?')
      await ctx.values.set('kept', answer)
      return {
        count,
        again: await ctx.values.update('count', (was) => (was as number) + 10),
        keys: [...(await ctx.values.keys())],
      }
    },
  })
  /** Its model is asked again and again; what it may spend is used up in the middle. */
  const spender = agent({
    name: 'spender',
    description: 'Thinks more than it may.',
    tools: [tool({ name: 'ask', input: { type: 'object', properties: {} }, run: (ctx) => interrupt(ctx, 'More?') })],
    model: () => {
      note('spender: think')
      return { calls: [{ name: 'ask', input: {} }], usage: { input: 60, output: 10 } }
    },
  })
  const reader = agent({
    name: 'reader',
    description: 'Reads.',
    run: async (ctx): Promise<Json> => {
      const first = await teammate(ctx).nextMail()
      const answer = await interrupt(ctx, 'Have you read it?')
      const more = await teammate(ctx).nextMail()
      return { first: first.map(({ content }) => content), answer, more: more.map(({ content }) => content) }
    },
  })
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    run: async (ctx): Promise<Json> => {
      const draft = await step(ctx, 'draft', does('writer: draft'))
      for (const content of ['one', 'two', 'three']) await teammate(ctx).send({ to: 'reader_1', content })
      return draft
    },
  })
  const last = agent({
    name: 'last',
    description: 'Is last.',
    run: (ctx) => step(ctx, 'conclude', does('last: conclude')),
  })
  const crew = team({
    name: 'crew',
    roles: { writer, reader, last },
    routing: { communicating: true },
    planner: {
      subtasks: [
        { id: 'write', role: 'writer', description: 'Write it.' },
        { id: 'read', role: 'reader', description: 'Read it.' },
        { id: 'end', role: 'last', description: 'End it.', dependencies: ['write', 'read'] },
      ],
    },
  })
  return [asker, clerk, leader, sleeper, patient, slow, payer, chief, failing, quick, keeper, spender, crew]
}

/** An agent that the process that recorded the end of the fixtures did not know: its run is stuck. */
export const lost = (outside: Outside): Agent =>
  agent({
    name: 'lost',
    run: async (ctx): Promise<Json> => {
      const answer = await interrupt(ctx, 'Who knows me?')
      return { answer, found: await step(ctx, 'find', () => (outside.note('lost: find'), 'found')) }
    },
  })
