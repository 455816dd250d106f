/**
 * A human has a run, edits its plan, does work by hand, hands it back, over a process that dies anywhere: each command
 * once, nothing begun meanwhile, nothing done twice. Spec team R-13, C72, C73, C100.
 */
import { rootActivation, type Json } from '@reeve/core'
import { agent, step, teamMessage } from '@reeve/agent'
import type { Context, Engine } from '@reeve/engine'
import { runView } from '@reeve/journal'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { scripted, teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const run = 'simulated' as Parameters<Engine['read']>[0]

/** What a human does, one thing after the other, each as soon as the journal has the one before. */
function byHand(
  scenario: Scenario,
  commands: (engine: Engine, has: (type: string) => boolean) => Promise<unknown> | undefined,
): Scenario {
  return {
    ...scenario,
    async outside(engine) {
      const events = await engine.read(run)
      const { interrupts, outcome } = runView(events)
      if (outcome !== undefined || interrupts.length === 0) return
      const has = (type: string): boolean => events.some(({ event }) => event.type === type)
      if (!has('run.taken-over'))
        await engine.post({ type: 'pause', run, at: 'next', takeover: true, by: 'ann', id: 't' })
      else if (has('run.handed-back')) return
      else await (commands(engine, has) ?? engine.post({ type: 'resume', run, handBack: true, by: 'ann', id: 'h' }))
    },
  }
}

/** Finishes whoever waits for an answer. */
async function completed(engine: Engine, output: Json): Promise<void> {
  const [asked] = runView(await engine.read(run)).interrupts
  const outcome = { status: 'completed', output, by: 'ann' } as const
  await engine.post({
    type: 'cancel',
    run,
    activation: asked!.activation,
    reason: 'finished by ann',
    by: 'ann',
    outcome,
  })
}

const worker = agent({
  name: 'worker',
  description: 'Does what its task says.',
  run: async (ctx: Context, brief: string): Promise<Json> => {
    const task = brief.split('\n')[0]!
    return task === 'asks' ? interrupt(ctx, 'well?') : step(ctx, 'work', () => task)
  },
})
/** One after the other and without a clock: who is first must not depend on where a process dies. */
const crew = team({
  name: 'crew',
  strategy: 'sequential',
  timeoutMs: 0,
  dependencies: { timeoutMs: 0 },
  roles: { generalist: worker },
  planner: {
    subtasks: [
      { id: 'asks', description: 'asks' },
      { id: 'never', description: 'never', dependencies: ['asks'] },
      { id: 'last', description: 'last', dependencies: ['never'] },
    ],
  },
})
const edit = {
  add: [{ id: 'more', description: 'more', dependencies: ['asks'] }],
  replace: [{ id: 'last', description: 'other', dependencies: ['never', 'more'] }],
  results: { never: 'by hand' },
}

diesEverywhere(
  byHand(teamScenario({ name: 'a plan that a human edits', agents: [crew], input: 'Go' }), (engine, has) => {
    if (!has('plan.edited')) {
      const body = teamMessage({ do: 'edit', request: 'e', edit })
      const to = rootActivation(run)
      return engine.post({ type: 'message', activation: to, id: 'e', body, command: true, by: 'ann' })
    }
    return has('task.settled') && has('cancel.received') ? undefined : completed(engine, 'answered by hand')
  }),
  {
    status: 'completed',
    results: {
      coverage: { succeeded: 4, planned: 4 },
      tasks: [
        { task: 'asks', output: 'answered by hand', by: 'ann' },
        { task: 'never', output: 'by hand', by: 'ann', attempts: 0 },
        { task: 'last', output: 'other' },
        { task: 'more', output: 'more' },
      ],
    },
  },
)

/** Ann takes it over because of the question, has less done, and is asked about that. */
async function lessOfIt(runtime: Runtime): Promise<void> {
  const handle = runtime.handle('simulated')
  const { status, approvals, outcome } = await handle.view()
  const asked = approvals.find(({ open }) => open)
  if (outcome !== undefined || (asked === undefined && status !== 'human_control')) return
  const isEdited = (await handle.journal()).some(({ event }) => event.type === 'plan.edited')
  if (!isEdited && status !== 'human_control') await handle.control.takeOver({ by: 'ann', id: 't' })
  if (!isEdited || status === 'human_control') {
    const replace = [{ id: 'publish', description: 'less', action: 'publish_report' }]
    await handle.control.handBack({ by: 'ann', id: 'h', ...(isEdited ? {} : { plan: { replace } }) })
  } else await handle.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ben' }).catch(() => undefined)
}

diesEverywhere(
  teamScenario({
    name: 'a task that a human replaces while it waits for its approval',
    agents: [
      team({
        name: 'office',
        timeoutMs: 0,
        roles: { generalist: worker },
        oversight: { mode: 'in-the-loop' },
        planner: { subtasks: [{ id: 'publish', description: 'all', action: 'publish_report' }] },
      }),
    ],
    input: 'Go',
    outside: lessOfIt,
  }),
  { status: 'completed', results: { tasks: [{ task: 'publish', output: 'less' }] } },
)

const asking = agent({
  name: 'asking',
  description: 'Asks.',
  run: async (ctx: Context): Promise<Json> => interrupt(ctx, 'well?'),
})
const lead = scripted({ calls: [{ name: 'delegate', input: { worker: 'asking', instructions: 'ask' } }] }, 'final')
const boss = supervisor({ name: 'boss', model: lead, workers: [asking] })

diesEverywhere(
  byHand(teamScenario({ name: 'a delegation that a human finishes', agents: [boss], input: 'Go' }), (engine, has) =>
    has('worker.settled') ? undefined : completed(engine, 'by hand'),
  ),
  { status: 'completed', output: 'final' },
)
