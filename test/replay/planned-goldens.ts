/** Planned teams whose journals are kept: every fact of a team is in one of them. Never changed (K12). */
import { agent, sleep, teammate, type Agent } from '@reeve/agent'
import type { ManualClock, Scenario } from '@reeve/testing'
import { teamScenario } from '@reeve/testing'
import type { Runtime } from '@reeve/runtime'
import { team } from '@reeve/team'

/** Time goes on whenever nothing else does. */
async function ticks(_runtime: Runtime, clock: ManualClock): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
  clock.advanceToNext()
}

function scenario(name: string, root: Agent, session?: string): Scenario {
  const made = teamScenario({
    name,
    agents: [root],
    input: 'task',
    outside: ticks,
    ...(session === undefined ? {} : { session }),
  })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

/** Recruits, writes mail that is given up, that waits, that is refused; publishes; sends somebody home. */
const busy = agent({
  name: 'busy',
  description: 'Does everything at once.',
  run: async (ctx) => {
    const me = teammate(ctx)
    me.post({ to: 'slow_1', content: 'Is it done?' })
    await me.recruit({ role: 'helper', description: 'Help.' })
    await me.recruit({ role: 'helper', description: ' ' })
    await me.publish('news', 'first')
    await me.publish('nothing', 'of it')
    for (let i = 0; i < 5; i++) me.post({ to: 'reader_1', content: i })
    await me.send({ to: 'nobody', kind: 'info', content: 'later', correlationId: 'c1' })
    await me.send({ to: 'reader_1', content: 'x'.repeat(200) })
    await me.retire({ member: 'slow_1', mode: 'force', reason: 'too slow' })
    await me.retire({ member: 'stranger', reason: 'who?' })
    await sleep(ctx, 50)
    return 'all done, and everybody knows'
  },
})
const reader = agent({
  name: 'reader',
  description: 'Reads.',
  run: async (ctx) => {
    const me = teammate(ctx)
    const mail = await me.nextMail()
    await sleep(ctx, 100)
    const more = await me.nextMail({ from: 'busy_1' }).catch((thrown: Error) => thrown.message)
    return `read ${mail.length}, then ${typeof more === 'string' ? more : more.length}`
  },
})
const slow = agent({
  name: 'slow',
  description: 'Takes its time.',
  run: async (ctx) => {
    await sleep(ctx, 30)
    return 'slowly done'
  },
})
const flaky = agent({
  name: 'flaky',
  description: 'Fails at first.',
  run: async (ctx) => {
    await sleep(ctx, 5)
    if (teammate(ctx).attempt === 1) throw new Error('not yet')
    return 'done at last'
  },
})

const everything = scenario(
  'a planned team with mail, recruits, topics, a lead and advice',
  team({
    name: 'office',
    roles: { busy, reader, slow, flaky, helper: slow },
    planner: {
      complexity: 0.7,
      subtasks: [
        { id: 'a', role: 'busy', description: 'Everything.', produces: ['news'], estimate: { tokens: 60 } },
        { id: 'b', role: 'reader', description: 'Read.' },
        { id: 'c', role: 'slow', description: 'Slowly.' },
        { id: 'd', role: 'flaky', description: 'Again.', dependencies: ['a'] },
      ],
    },
    retry: { backoffMs: 10, jitter: false },
    budget: { tokens: 100, mode: 'soft', perTask: { tokens: 30 } },
    mailbox: { maxMessages: 4, maxBytes: 100 },
    lead: ({ ended }) =>
      ended.task === 'd'
        ? [{ add: [{ id: 'e', role: 'slow', description: 'Added.', dependencies: ['d'] }] }]
        : undefined,
    memory: {
      recall: () => ({
        plans: [{ question: 'task', strategy: 'parallel', subtasks: [], runs: 10, successes: 9 }],
        strategies: {},
      }),
      record: () => {
        throw new Error('the memory is full')
      },
    },
  }),
  'ses_golden',
)

const failing = agent({
  name: 'failing',
  description: 'Fails.',
  run: async (ctx) => {
    await sleep(ctx, 5)
    return { success: false, error: 'no' }
  },
})

const aborted = scenario(
  'a plan that is mended and then given up',
  team({
    name: 'unlucky',
    roles: { failing, slow },
    planner: ({ problems }) => ({
      subtasks: [
        { id: 'a', role: 'failing', description: 'A' },
        { id: 'b', role: 'failing', description: 'B' },
        { id: 'c', role: 'slow', description: 'C' },
        { id: 'd', role: 'slow', description: 'D', dependencies: problems === undefined ? ['d', 'x'] : ['c'] },
      ],
    }),
    tolerance: 'data_analysis',
    retry: { backoffMs: 0 },
  }),
)

/** Waits for mail that cannot come, and goes on without. */
const waits = agent({
  name: 'waits',
  description: 'Waits.',
  run: async (ctx) => {
    const me = teammate(ctx)
    await sleep(ctx, 40)
    const mail = await me
      .nextMail({ from: me.member === 'waits_1' ? 'waits_2' : 'waits_1' })
      .catch((thrown: Error) => thrown.message)
    if (me.member === 'waits_2') me.post({ to: 'waits_1', content: 'after all' })
    return typeof mail === 'string' ? 'nobody wrote' : 'somebody wrote'
  },
})
const writes = agent({
  name: 'writes',
  description: 'Writes to whoever does not read.',
  run: async (ctx) => {
    const me = teammate(ctx)
    await me.send({ to: 'role:slow', content: 'Hurry up.' })
    await me.send({ to: 'dynamic_slow_1', content: 'Welcome.' })
    await me.recruit({ role: 'slow', description: 'Help.', join: 'run' })
    await sleep(ctx, 10)
    await me.retire({ member: 'slow_1', mode: 'force' })
    return 'wrote'
  },
})
const spends = agent({
  name: 'spends',
  description: 'Thinks a lot.',
  model: () => ({ text: 'thought', usage: { input: 60, output: 30 } }),
})

const stuck = scenario(
  'a team with a deadlock, mail that nobody reads and a budget that is used up',
  team({
    name: 'desk',
    roles: { waits, writes, slow, spends },
    planner: {
      subtasks: [
        { id: 'a', role: 'waits', description: 'A' },
        { id: 'b', role: 'waits', description: 'B' },
        { id: 'c', role: 'slow', description: 'C' },
        { id: 'd', role: 'writes', description: 'D' },
        { id: 'e', role: 'spends', description: 'E' },
        { id: 'f', role: 'spends', description: 'F', dependencies: ['e'] },
      ],
    },
    budget: { tokens: 100, mode: 'soft', perTask: { tokens: 1 } },
  }),
)

export const plannedGoldens: readonly Scenario[] = [everything, aborted, stuck]
