/**
 * Deadlocks and livelocks of a planned team, with its process dying at every point where it can: the same one is told,
 * once, with the same cycle.
 */
import { agent, sleep, teammate } from '@reeve/agent'
import { FailureError, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type TeamOptions } from '@reeve/team'
import { teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'
import { patient } from './resting.ts'

type Doing = (ctx: Context) => Promise<Json>
function scenario(
  name: string,
  doings: Readonly<Record<string, Doing>>,
  more: Partial<TeamOptions<string>> = {},
  dependencies: Readonly<Record<string, readonly string[]>> = {},
): Scenario {
  const root = team({
    name: 'crew',
    roles: Object.fromEntries(
      Object.entries(doings).map(([role, run]) => [role, agent({ name: role, description: `Does ${role}.`, run })]),
    ),
    planner: {
      subtasks: Object.keys(doings).map((id) => ({
        id,
        description: id,
        role: id,
        dependencies: dependencies[id] ?? [],
      })),
    },
    timeoutMs: 0,
    dependencies: { timeoutMs: 0 },
    ...more,
  })
  const made = teamScenario({ name, agents: [root], input: 'go', outside: patient })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

async function heard(ctx: Context, from?: string): Promise<Json> {
  try {
    const mail = await teammate(ctx).nextMail(from === undefined ? {} : { from })
    return mail.map(({ content }) => content)
  } catch (thrown) {
    if (!(thrown instanceof FailureError)) throw thrown
    return thrown.failure.details?.['cycle'] ?? thrown.failure.code
  }
}

diesEverywhere(
  scenario('two who wait for each other, then for somebody who has ended', {
    a: async (ctx) => [await heard(ctx, 'b_1'), await heard(ctx, 'b_1')],
    b: async (ctx) => {
      await sleep(ctx, 1_000)
      const why = await heard(ctx, 'a_1')
      teammate(ctx).post({ to: 'a_1', content: 'last words' })
      return why
    },
  }),
  { status: 'completed', results: { tasks: [{ output: [['last words'], ['a']] }, { output: ['a', 'b'] }] } },
)

diesEverywhere(
  scenario(
    'mail of a task that depends on whoever waits',
    { a: (ctx) => heard(ctx, 'e_1'), e: () => Promise.resolve('e') },
    {},
    { e: ['a'] },
  ),
  { status: 'completed', results: { tasks: [{ output: ['a', 'e'] }, { output: 'e' }] } },
)

diesEverywhere(
  scenario('whoever does not listen fails', {
    a: async (ctx) => (await teammate(ctx).nextMail()).length,
    b: () => Promise.resolve('b'),
  }),
  {
    status: 'completed',
    results: { tasks: [{ status: 'failed', attempts: 1, failure: { code: 'team.deadlock' } }, { output: 'b' }] },
  },
)

const plays =
  (other: string, opens: boolean): Doing =>
  async (ctx) => {
    const me = teammate(ctx)
    if (opens) await me.send({ to: other, content: 'begin' })
    for (let sent = 0; ; sent++) {
      if (typeof (await heard(ctx, other).then((mail) => (mail as Json[])[0])) === 'string' && sent > 0) return sent
      const receipt = await me.send({ to: other, content: sent })
      if (!receipt.accepted) return receipt.reason
    }
  }
diesEverywhere(
  scenario(
    'two who answer each other for ever',
    { a: plays('b_1', true), b: plays('a_1', false) },
    { mailbox: { maxExchanges: 4 } },
  ),
  { status: 'completed', results: { tasks: [{ output: 2 }, { output: 'livelock' }] } },
)
