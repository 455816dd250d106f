/**
 * Mail of a planned team, with its process dying at every point where it can: what was read is there again with the
 * same numbers, nothing is sent or read twice. Spec team C30.
 */
import { expect, test } from 'vitest'
import { agent, sleep, step, teammate, tool, type Agent, type Mail } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ModelAnswerInput, ModelRequest } from '@reeve/model'
import { team, type TeamOptions } from '@reeve/team'
import { simulate, teamScenario, verifyJournal, type Scenario } from '@reeve/testing'
import { played } from '../../packages/team/test/trace.ts'
import { diesEverywhere } from './dying.ts'
import { patient } from './resting.ts'

const code = (name: string, run: (ctx: Context) => Promise<Json>): Agent =>
  agent({ name, description: `Does ${name}.`, run })
const json = (value: unknown): Json => value as Json
const numbers = (mail: readonly Mail[]): Json => mail.map(({ seq, content }) => [seq, content])

/** Each depends on the one before, or all begin together: who is first must not depend on where a process dies. */
function scenario(
  name: string,
  order: 'one by one' | 'together',
  roles: Readonly<Record<string, Agent>>,
  more: Partial<TeamOptions<string>> = {},
): Scenario {
  const names = Object.keys(roles)
  const subtasks = names.map((role, i) => ({
    id: role,
    description: role,
    role,
    ...(i === 0 || order === 'together' ? undefined : { dependencies: [names[i - 1]!] }),
  }))
  const root = team({
    name: 'analysts',
    roles,
    routing: { communicating: true },
    planner: { subtasks },
    timeoutMs: 0,
    dependencies: { timeoutMs: 0 },
    ...more,
  })
  const made = teamScenario({ name, agents: [root], input: 'go', outside: patient })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

/** One writes before the other begins, who looks, does something with the world, looks again, and writes on. */
const inTurn = (): Scenario =>
  scenario('mail from one to the next', 'one by one', {
    a: code('a', async (ctx) => {
      const me = teammate(ctx)
      const sent = [await me.send({ to: 'b_1', content: 'one' }), await me.send({ to: '*', content: 'two' })]
      return sent.map((each) => (each.accepted ? each.seq : each.reason))
    }),
    b: code('b', async (ctx) => {
      const me = teammate(ctx)
      const first = await me.inbox()
      await step(ctx, 'use', () => first.length)
      const second = await me.inbox()
      await me.send({ to: 'role:c', content: 'three' })
      return [numbers(first), numbers(second)]
    }),
    c: code('c', async (ctx) => numbers(await teammate(ctx).nextMail())),
  })
const read = [[[1, 'one'], [2, 'two']], []] // prettier-ignore
diesEverywhere(inTurn(), {
  status: 'completed',
  results: { tasks: [{ output: [1, 2] }, { output: read }, { output: [[2, 'two'], [3, 'three']] }] }, // prettier-ignore
})

test('team C30: after a crash between inbox() and the next command the same mail is there and read once', async () => {
  const { end, points, differences, repeated } = await simulate(inTurn(), { points: ['commit.after'] })
  expect(points).toBeGreaterThan(10)
  expect(differences).toEqual([])
  expect(repeated).toEqual([])
  expect(end.outcome).toMatchObject({ results: { tasks: [{}, { output: read }, {}] } })
})

diesEverywhere(
  scenario('mail to and fro', 'together', {
    a: code('a', async (ctx) => {
      const me = teammate(ctx)
      const heard: Json[] = []
      for (let i = 0; i < 2; i++) {
        me.post({ to: 'b_1', content: i })
        heard.push(numbers(await me.nextMail({ from: 'b_1' })))
      }
      return heard
    }),
    b: code('b', async (ctx) => {
      const me = teammate(ctx)
      for (let i = 0; i < 2; i++) {
        const [mail] = await me.nextMail()
        const doubled = await step(ctx, `double ${i}`, () => Number(mail!.content) * 2)
        me.post({ to: mail!.from, content: doubled })
      }
      return 'b'
    }),
  }),
  { status: 'completed', results: { tasks: [{ output: [[[2, 0]], [[4, 2]]] }, {}] } },
)

diesEverywhere(
  scenario(
    'bounds, a policy, a wait that ends, another attempt, mail that nobody reads',
    'one by one',
    {
      a: code('a', async (ctx) => {
        const me = teammate(ctx)
        for (let i = 1; i <= 4; i++) await me.send({ to: 'b_1', content: i })
        const none = await me.nextMail({ withinMs: 500 })
        await me.send({ to: 'c_1', content: 'never read' })
        return numbers(none)
      }),
      b: code('b', async (ctx) => {
        const me = teammate(ctx)
        const mail = await me.inbox()
        if (me.attempt === 1) throw new Error(`read ${mail.length}`)
        return numbers(mail)
      }),
      c: code('c', () => Promise.resolve('c')),
    },
    {
      mailbox: {
        maxMessages: 2,
        policy: ({ details }) => ((details as { content: Json }).content === 2 ? 'deny' : 'allow'),
      },
      retry: { backoffMs: 0 },
    },
  ),
  {
    status: 'completed',
    results: { coverage: { succeeded: 3 }, tasks: [{ output: [] }, { output: [], attempts: 2 }, {}] },
  },
)

/** Goes by what it is shown, so it says the same after a crash. */
const reader = ({ messages }: ModelRequest): ModelAnswerInput | string => {
  const text = JSON.stringify(messages)
  if (!text.includes('first')) return { calls: [{ name: 'read_messages', input: {}, id: 'c1' }] }
  if (!text.includes('in the inbox of'))
    return { calls: [{ name: 'send_message', input: { to: 'c_1', content: 'go on' }, id: 'c2' }] }
  return text.includes('There was mail for you') ? 'read' : 'not told'
}
diesEverywhere(
  scenario('models that read and write', 'one by one', {
    a: code('a', async (ctx) => json(await teammate(ctx).send({ to: 'b_1', content: 'first' }))),
    b: agent({ name: 'b', description: 'Reads.', model: reader }),
    c: code('c', async (ctx) => numbers(await teammate(ctx).inbox())),
  }),
  { status: 'completed', results: { tasks: [{}, { output: 'read' }, { output: [[2, 'go on']] }] } },
)

test('K10: a model told of new mail while a tool works is told at the same place in a replay', async () => {
  const nap = tool({
    name: 'nap',
    input: { type: 'object', properties: {} },
    run: async (ctx: Context) => sleep(ctx, 10_000).then(() => 'rested'),
  })
  const model = ({ messages }: ModelRequest): ModelAnswerInput | string => {
    const last = messages.at(-1)!
    const naps = messages.filter(({ role, content }) => role === 'tool' && content === 'rested').length
    if (last.role === 'user' && JSON.stringify(last.content).includes('There is new mail'))
      return { calls: [{ name: 'read_messages', input: {} }] }
    return naps < 4
      ? { calls: [{ name: 'nap', input: {} }] }
      : JSON.stringify(messages.filter(({ role }) => role === 'user').length)
  }
  const roles = {
    a: code('a', async (ctx) => {
      await sleep(ctx, 5_000)
      for (const content of ['one', 'two']) teammate(ctx).post({ to: 'b_1', content })
      await sleep(ctx.scope('later'), 20_000)
      teammate(ctx).post({ to: 'b_1', content: 'three' })
      return 'a'
    }),
    b: agent({ name: 'b', description: 'Rests.', model, tools: [nap] }),
  }
  const subtasks = Object.keys(roles).map((role) => ({ id: role, description: role, role }))
  const root = team({ name: 'analysts', roles, routing: { communicating: true }, planner: { subtasks } })
  const { outcome, events } = await played(root)
  // its brief, and two notes: of one and two together, of three
  expect(outcome).toMatchObject({ results: { tasks: [{ output: 'a' }, { output: '3' }] } })
  expect(events.filter(({ event }) => event.type === 'mail.delivered')).toHaveLength(2)
  const { registry } = teamScenario({ name: 'told', agents: [root], input: 'Go' })
  expect((await verifyJournal(events, registry)).problems).toEqual([])
})
