/** Runs that humans look at whose journals are kept: every fact of oversight is in one of them. Never changed (K12). */
import { agent, sleep, tool, type Agent } from '@reeve/agent'
import type { Runtime } from '@reeve/runtime'
import { teamScenario, type ManualClock, type Scenario, type TeamScenario } from '@reeve/testing'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { patient } from './resting.ts'

/** Everything that can go on without time does. */
async function rests(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function scenario(
  name: string,
  root: Agent,
  outside: NonNullable<TeamScenario['outside']>,
  more: Partial<TeamScenario> = {},
): Scenario {
  const made = teamScenario({ name, agents: [root], input: 'task', outside, ...more })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

const slow = agent({
  name: 'slow',
  description: 'Takes its time.',
  run: async (ctx) => {
    await sleep(ctx, 30)
    return 'slowly done'
  },
})

const send = tool({
  name: 'send_report',
  effect: 'idempotent',
  costUsd: 2,
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  execute: () => 'sent',
})
const clerk = agent({
  name: 'clerk',
  description: 'Sends things, and says how sure it is.',
  tools: [send],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'it is sent'
      : { calls: [{ name: 'send_report', input: { to: 'ann' } }] },
  assess: () => ({ confidence: 0.3, proposedAction: { name: 'publish' } }),
})

/**
 * Ann wants it changed once; the deadline of the first tier passes; two people are needed for what is critical;
 * somebody decides who may not.
 */
async function people(runtime: Runtime, clock: ManualClock): Promise<void> {
  await rests()
  const run = runtime.handle('simulated')
  const { approvals } = await run.view()
  const wasRetried = approvals.some(({ resolution }) => resolution === 'retry')
  // nobody of the first tier is there to look at calls of tools
  const asked = approvals.find(({ open, kind, follows }) => open && !(kind === undefined && follows === undefined))
  if (asked === undefined) return void clock.advanceToNext()
  const { id, task, follows } = asked
  const decision =
    task === 'publish' && !wasRetried
      ? { decision: 'retry' as const, comment: 'shorter', approver: 'ben' }
      : { decision: 'approve' as const, approver: follows === undefined ? 'ann' : 'ben' }
  // what was decided before a crash, and is not read yet, still counts
  await run.decide({ approvalId: id, ...decision }).catch(() => undefined)
}

const overseen = scenario(
  'a plan that humans oversee',
  team({
    name: 'office',
    roles: { slow, clerk },
    planner: {
      subtasks: [
        { id: 'a', role: 'slow', description: 'A.', review: true },
        { id: 'b', role: 'clerk', description: 'B.', dependencies: ['a'], required: false },
        { id: 'publish', role: 'slow', description: 'C.', action: 'publish', risk: 'critical', dependencies: ['b'] },
      ],
    },
    oversight: {
      mode: 'in-the-loop',
      approval: {
        timeoutMs: 1_000,
        onTimeout: 'escalate',
        approvers: [
          { who: ['ann', 'ben'], timeoutMs: 100 },
          { who: ['ann', 'ben'], timeoutMs: 10_000 },
        ],
        notify: ['desk', 'broken'],
      },
    },
  }),
  people,
  {
    channels: [
      { name: 'desk', notify: () => {} },
      {
        name: 'broken',
        notify: () => {
          throw new Error('nobody hears')
        },
      },
    ],
  },
)

const trusted = scenario(
  'somebody who has yet to be trusted',
  agent({ name: 'novice', run: (ctx) => ctx.delegate(slow, 'work'), workers: [slow], oversight: { trust: 'novice' } }),
  people,
)

/**
 * Ann takes it over when the first task has ended, tries an edit that makes no sense, does one task herself, adds
 * another, and hands it back.
 */
async function ann(runtime: Runtime, clock: ManualClock): Promise<void> {
  const run = runtime.handle('simulated')
  const { status, teams } = await run.view()
  const tasks = new Map(teams[0]?.plan?.tasks.map((task) => [task.task, task.status]))
  const isBack = (await run.control.state()).ops.some(({ op, accepted }) => op === 'handback' && accepted)
  if (tasks.get('a') === 'succeeded' && !isBack) {
    if (status !== 'human_control') await run.control.takeOver({ by: 'ann', reason: 'I know better', id: 'takeover' })
    await run.control.takeOver({ by: 'ben', id: 'too-late' })
    await run.control.complete({ task: 'c', output: 'by hand', by: 'ann' }).catch(() => undefined)
    await run.control
      .handBack({ plan: { add: [{ id: 'd', description: 'D.', dependencies: ['x'] }] }, by: 'ann' })
      .catch(() => undefined)
    const add = tasks.has('d') ? [] : [{ id: 'd', role: 'slow', description: 'D.', dependencies: ['c'] }]
    await run.control.handBack({ plan: { add, tolerance: 0 }, by: 'ann', reason: 'go on' })
  }
  // not before the first task has ended for her, too: else the team may be through before she looks
  await patient(runtime, clock)
}

const takenOver = scenario(
  'a plan that a human takes over',
  team({
    name: 'crew',
    roles: { slow },
    strategy: 'sequential',
    planner: {
      subtasks: ['a', 'b', 'c'].map((id, i, all) => ({
        id,
        role: 'slow',
        description: id,
        ...(i === 0 ? undefined : { dependencies: [all[i - 1]!] }),
      })),
    },
  }),
  ann,
)

const pay = tool({
  name: 'pay',
  effect: 'idempotent',
  sensitive: true,
  input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  execute: () => 'paid',
})
const payer = agent({
  name: 'payer',
  description: 'Pays.',
  instructions: 'Pay what you are told to.',
  tools: [pay],
  settings: { temperature: 0 },
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'it is paid' : { calls: [{ name: 'pay', input: { amount: 10 } }] },
})
const asker = agent({ name: 'asker', description: 'Asks.', run: (ctx) => ctx.interrupt({ question: 'Is it right?' }) })

/** Everything is approved, and every question has the same answer. */
async function agreeable(runtime: Runtime, clock: ManualClock): Promise<void> {
  await rests()
  const run = runtime.handle('simulated')
  const questions = await runtime.questions()
  if (questions.length === 0) clock.advanceToNext()
  for (const { id, kind } of questions) {
    const decided =
      kind === 'approval'
        ? run.decide({ approvalId: id, decision: 'approve' })
        : run.answer({ interruptId: id, value: 'yes' })
    // what was decided before a crash, and is not read yet, still counts
    await decided.catch(() => clock.advanceToNext())
  }
}

/**
 * Every kind of operation that has a content key: test/replay/content-keys.test.ts holds later versions to those that
 * are in this journal.
 */
const contentKeyed = scenario(
  'content keys',
  supervisor({
    name: 'boss',
    workers: [payer, asker],
    model: ({ messages }) => {
      const done = messages.filter(({ role }) => role === 'tool').length
      const [worker, instructions] = [['payer', 'Pay ten.'] as const, ['asker', 'Ask.'] as const][done] ?? []
      return worker === undefined ? 'done' : { calls: [{ name: 'delegate', input: { worker, instructions } }] }
    },
  }),
  agreeable,
  { user: 'ann' },
)

export const oversightGoldens: readonly Scenario[] = [overseen, trusted, takenOver, contentKeyed]
