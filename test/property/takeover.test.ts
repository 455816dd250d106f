/**
 * A run is taken over after each of its events, whoever works then is finished by hand, and it is handed back: the same
 * end, whose it is apart. At every depth, in every way of working together. Spec team, C71, C73; K8.
 */
import { describe, expect, test } from 'vitest'
import { agent, asTool, parallel, router, sequential, supervisor, team, tool, type Agent } from '@reeve/public'
import { roundtable } from '@reeve/public/team'
import type { ModelRequest } from '@reeve/model'
import type { Run } from '@reeve/runtime'
import { calls, delegates, eventsOf, runtimeOf } from '../scenario/team.ts'

/** Everything that has begun, in every run of a test. */
let begun: string[] = []
const turn = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Says its name, after a moment. */
const says = (name: string): Agent =>
  agent({ name, description: `Says ${name}.`, model: async () => (begun.push(name), await turn(8), `${name} result`) })
/** Says one thing after the other, by how far its own conversation is. */
const modelAgent = (name: string, script: (n: number) => unknown, more: object = {}): Agent =>
  agent({
    name,
    description: `Leads as ${name}.`,
    model: async ({ messages }) => {
      begun.push(name)
      await turn()
      return script(messages.filter(({ role }) => role === 'assistant').length) as never
    },
    ...more,
  })
const leads = (name: string, script: (n: number) => unknown, workers: Agent[], more: object = {}): Agent =>
  supervisor({
    name,
    description: `Leads as ${name}.`,
    workers,
    model: async ({ messages }: ModelRequest) => {
      begun.push(name)
      await turn()
      return script(messages.filter(({ role }) => role === 'assistant').length) as never
    },
    ...more,
  })

const note = tool({
  name: 'note',
  effect: 'idempotent',
  execute: async () => (begun.push('note'), await turn(), 'noted'),
})
const plan = [
  { id: 'one', description: 'one', role: 'a' },
  { id: 'two', description: 'two', role: 'b' },
  { id: 'three', description: 'three', role: 'c', dependencies: ['one', 'two'] },
]
const crew = () =>
  team({
    name: 'crew',
    description: 'Works by a plan.',
    roles: { a: says('a'), b: says('b'), c: says('c') },
    planner: { subtasks: plan },
  })

const kinds: readonly (readonly [string, () => Agent])[] = [
  [
    'two delegations at once, then one',
    () =>
      leads('boss', (n) => [delegates(['a', 'x', 'c1'], ['b', 'x', 'c2']), delegates(['c', 'x', 'c3']), 'final'][n], [
        says('a'),
        says('b'),
        says('c'),
      ]),
  ],
  [
    'a leader below a leader, with tools',
    () => {
      const clerk = modelAgent('clerk', (n) => [calls(['note', {}, 'n1']), 'clerk result'][n], { tools: [note] })
      const mid = leads('mid', (n) => [delegates(['clerk', 'x', 'm1']), 'mid result'][n], [clerk])
      return leads('boss', (n) => [delegates(['mid', 'x', 'c1']), 'final'][n], [mid])
    },
  ],
  [
    'a sequential with a parallel in it',
    () =>
      sequential({
        name: 'root',
        agents: [says('a'), parallel({ name: 'both', agents: [says('b'), says('c')] }), says('d')],
      }),
  ],
  [
    'a parallel',
    () => parallel({ name: 'root', agents: [says('a'), sequential({ name: 'line', agents: [says('b'), says('c')] })] }),
  ],
  [
    'a round table',
    () => roundtable({ name: 'table', agents: [says('a'), says('b')], speaker: 'round-robin', maxRounds: 3 }),
  ],
  [
    'a router',
    () =>
      router({
        name: 'desk',
        model: async ({ messages }) => (
          begun.push('desk'),
          await turn(),
          JSON.stringify(messages).includes('a result')
            ? 'final'
            : calls(['transfer_to_agent', { agent_name: 'a' }, 't1'])
        ),
        workers: [says('a')],
      }),
  ],
  [
    'an agent as a tool',
    () => modelAgent('root', (n) => [calls(['a', { request: 'x' }, 't1']), 'final'][n], { tools: [asTool(says('a'))] }),
  ],
  [
    'a background worker',
    () =>
      leads(
        'boss',
        (n) => [delegates(['a', 'x', 'c1'], ['b', 'x', 'c2']), 'final', 'final'][Math.min(n, 2)],
        [says('a'), says('b')],
        {
          delegation: { background: ['a'] },
        },
      ),
  ],
  ['a planned team', crew],
  ['a planned team below a leader', () => leads('boss', (n) => [delegates(['crew', 'x', 'c1']), 'final'][n], [crew()])],
  [
    'code that delegates',
    () => {
      const [a, b] = [says('a'), says('b')]
      return agent({
        name: 'coder',
        workers: [a, b],
        run: async (ctx) => {
          const ends = await Promise.all([ctx.delegate(a, 'x'), ctx.delegate(b, 'x')])
          return ends.map((end) => (end.status === 'completed' ? end.output : end.status)) as never
        },
      })
    },
  ],
]

/** Without what is another in every run, and without whose it is. */
const plain = (outcome: object): unknown => {
  const { run: _run, usage: _usage, ...rest } = outcome as { run: string; usage: unknown }
  return JSON.parse(JSON.stringify(rest), (name, value: unknown) =>
    ['by', 'usage', 'attempts', 'reason'].includes(name) ? undefined : value,
  ) as unknown
}

/** Waits for its nth event. False: it has ended before. */
async function reaches(run: Run, n: number): Promise<boolean> {
  let seen = 0
  for await (const _ of run.events()) if (++seen >= n) return true
  return false
}

async function disjoint(run: Run): Promise<void> {
  const context = await run.control.context()
  const ids = [context.completed, context.inFlight, context.pending, context.failed, context.skipped].flatMap((steps) =>
    steps.map(({ id }) => id),
  )
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toHaveLength(context.totalSteps)
  expect(JSON.parse(JSON.stringify(context))).toEqual(context)
}

describe.each(kinds)('%s', (_name, make) => {
  test.each(['next', 'now'] as const)(
    'team C73: taken over (at: %s) after every event, the leaves finished by hand: the same end',
    async (at) => {
      const root = make()
      const runtime = await runtimeOf([root])
      const first = (await runtime.start(root, 'task')) as unknown as Run
      const expected = plain(await first.outcome())
      const { length } = await eventsOf(first)
      expect(expected).toMatchObject({ status: 'completed' })
      let byHand = 0
      for (let k = 1; k < length; k += at === 'now' ? 2 : 1) {
        const run = (await runtime.start(root, 'task', { runId: `run_${at}_${k}` })) as unknown as Run
        if (!(await reaches(run, k))) continue
        const taken = await run.control.takeOver({ by: 'ann', at }).catch((thrown: { code?: string }) => thrown.code)
        if (taken === 'run.ended') continue
        expect(taken).toMatchObject({ takenOver: true, owner: 'ann' })
        const before = begun.length
        await disjoint(run)
        const { activations } = await run.view()
        const leaves = activations.filter(
          (each) =>
            each.parent !== undefined &&
            each.outcome === undefined &&
            !activations.some((other) => other.parent === each.activation && other.outcome === undefined),
        )
        for (const { activation, agent: name } of leaves) {
          if (!/^(?:[a-d]|clerk)$/u.test(name)) continue
          await run.control.complete({ delegation: activation, output: `${name} result`, by: 'ann' }).then(
            () => byHand++,
            (thrown: { code?: string; message?: string }) =>
              expect(thrown.code).toMatch(/^delegation\.(ended|unknown)$/u),
          )
        }
        await new Promise((resolve) => setTimeout(resolve, 5))
        expect(begun.slice(before), `after event ${k}`).toEqual([])
        await disjoint(run)
        expect((await run.view()).status).toBe('human_control')
        await run.control.handBack({ by: 'ann' })
        expect(plain(await run.outcome()), `after event ${k}`).toEqual(expected)
        await disjoint(run)
      }
      begun = []
      expect(byHand).toBeGreaterThan(0)
    },
    60_000,
  )
})
