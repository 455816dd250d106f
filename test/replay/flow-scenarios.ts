/**
 * Runs in which control is handed on, each a scenario to die in: at every point the same end must come of it. Their
 * models go by what they are shown, so they say the same after a crash.
 */
import { agent, breakLoop, exit, step, tool, transferTo, type Agent } from '@reeve/agent'
import { completed, runId } from '@reeve/core'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { scripted, teamScenario, type Scenario, type ScriptLine, type TeamScenario } from '@reeve/testing'

/** Answers with the question, says yes to approvals, and of what is in doubt that it did not happen. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions()) {
    const word =
      kind === 'approval'
        ? runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
        : kind === 'interrupt'
          ? runtime.answer({ interruptId: id, value: 'yes' })
          : runtime.settleDoubt({ id, happened: false })
    await word.catch(() => undefined) // somebody was faster: the person before the crash
  }
}

/**
 * One and the same code for as long as there are journals of it: whoever resumes an old one moves to what is registered
 * now.
 */
function scenario(name: string, root: Agent, more: Partial<TeamScenario> = {}): Scenario {
  const made = teamScenario({ name, agents: [root], input: 'task', outside: person, ...more })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

const call = (name: string, input: object = {}, id?: string) => ({
  name,
  input: input as never,
  ...(id === undefined ? {} : { id }),
})
const hands = (to: string, id?: string) => ({ calls: [call('transfer_to_agent', { agent_name: to }, id)] })
const modelAgent = (name: string, ...script: readonly ScriptLine[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const asker = (name: string): Agent =>
  agent({
    name,
    description: 'Asks.',
    run: async (ctx) => `${name} heard ${(await interrupt(ctx, `${name}?`)) as string}`,
  })
const echo = tool({ name: 'echo', effect: 'idempotent', execute: () => 'echoed' })
const shown = { transfers: 'shown' } as const

/** Appendix B of the spec. */
const appendixB = scenario(
  'flow-router',
  router({
    name: 'Sup',
    model: scripted(hands('W1', 's1'), hands('W2', 's2'), hands('W1', 's3'), 'final'),
    transfer: shown,
    workers: [
      agent({
        name: 'W1',
        description: 'Thinks.',
        tools: [echo],
        model: scripted(
          { text: 'thinking', calls: [call('echo', {}, 'w1')] },
          'w1 result',
          'handed back',
          'w1 second result',
        ),
      }),
      modelAgent('W2', 'w2 result'),
    ],
  }),
)

const nestedRouters = scenario(
  'routers in routers, the deepest worker asks',
  router({
    name: 'Top',
    model: scripted(hands('Mid'), 'final'),
    transfer: shown,
    workers: [
      router({
        name: 'Mid',
        description: 'Leads.',
        model: scripted(hands('Low'), 'mid ends'),
        transfer: shown,
        workers: [
          router({
            name: 'Low',
            description: 'Leads.',
            model: scripted(hands('W'), 'low ends'),
            transfer: shown,
            workers: [asker('W')],
          }),
        ],
      }),
    ],
  }),
)

const approvedStep = scenario(
  'a sequential under a router, its second step needs an approval',
  router({
    name: 'Sup',
    model: scripted(hands('line'), 'final'),
    transfer: shown,
    workers: [
      sequential({
        name: 'line',
        description: 'Two steps.',
        agents: [
          modelAgent('draft', 'a draft'),
          agent({
            name: 'publish',
            tools: [tool({ name: 'pay', sensitive: true, execute: () => 'paid' }), echo],
            model: scripted({ calls: [call('pay'), call('echo')] }, 'published'),
          }),
        ],
      }),
    ],
  }),
)

const broken = scenario(
  'a loop that is broken the second time round',
  sequential({
    name: 'all',
    agents: [
      loop({
        name: 'round',
        maxIterations: 5,
        agents: [
          modelAgent('work', 'one', 'two', 'three'),
          agent({
            name: 'check',
            run: async (ctx) =>
              (await ctx.values.update('n', (n) => Number(n ?? 0) + 1)) === 2 ? breakLoop('enough') : 'once more',
          }),
        ],
      }),
      modelAgent('last', 'final'),
    ],
  }),
)

const nestedParallels = scenario(
  'parallels in parallels, two branches ask',
  sequential({
    name: 'all',
    agents: [
      parallel({
        name: 'outer',
        agents: [
          asker('a'),
          sequential({
            name: 'line',
            agents: [modelAgent('b', 'b'), parallel({ name: 'inner', agents: [modelAgent('c', 'c'), asker('d')] })],
          }),
        ],
      }),
      modelAgent('after', 'final'),
    ],
  }),
)

const inside = scenario(
  'flow-inside',
  agent({
    name: 'outer',
    description: 'Calls.',
    model: scripted({ calls: [call('middle', { request: 'x' }), call('echo')] }, 'final'),
    tools: [
      echo,
      asTool(
        agent({
          name: 'middle',
          description: 'Calls.',
          model: scripted({ calls: [call('echo'), call('inner', { request: 'y' })] }, 'middle ends'),
          tools: [echo, asTool(asker('inner'))],
        }),
      ),
    ],
  }),
)

const handoff = scenario(
  'a handoff that stays over a session',
  router({
    name: 'desk',
    model: scripted(hands('sales')),
    sticky: true,
    transfer: { ...shown, returns: 'never' },
    routes: { sales: ['support'], support: ['sales'], desk: ['sales', 'support'] },
    workers: [modelAgent('sales', hands('support')), modelAgent('support', 'solved')],
  }),
  { session: 'ses_1' },
)

const exiting = scenario(
  'an exit in a parallel in a parallel',
  sequential({
    name: 'all',
    agents: [
      parallel({
        name: 'outer',
        agents: [
          modelAgent('a', 'a'),
          parallel({ name: 'inner', agents: [agent({ name: 'b', run: () => exit('out') }), asker('c')] }),
        ],
      }),
      modelAgent('never', 'never'),
    ],
  }),
)

const failing = scenario(
  'a router is told of a worker that fails',
  router({
    name: 'Sup',
    run: (_ctx, _brief, talk) =>
      talk.history.some(({ agent: who }) => who === 'good')
        ? 'final'
        : transferTo(talk.history.length > 1 ? 'good' : 'bad'),
    workers: [modelAgent('bad', new Error('no')), modelAgent('good', 'fine')],
  }),
)

/** Paused when the worker asks; answered meanwhile, then resumed. */
const paused: Scenario = {
  ...scenario(
    'a router that is paused and resumed',
    router({
      name: 'Sup',
      model: scripted(hands('W'), 'final'),
      transfer: shown,
      workers: [sequential({ name: 'W', description: 'W', agents: [asker('a'), modelAgent('b', 'b')] })],
    }),
  ),
  async outside(engine) {
    const run = runId('simulated')
    const status = (await engine.summary(run))?.status
    const wasPaused = (await engine.read(run)).some(({ event }) => event.type === 'run.pausing')
    if (!wasPaused && status === 'waiting') await engine.post({ type: 'pause', run, at: 'next' })
    if (!wasPaused) return
    for (const { activation, address } of await engine.questions({ run }))
      await engine.post({ type: 'answer', activation, address, outcome: completed('yes') })
    if (status === 'paused') await engine.post({ type: 'resume', run })
  },
}

/** Cancelled while two branches ask. */
const cancelled = scenario(
  'cancelled while branches under a router ask',
  router({
    name: 'Sup',
    model: scripted(hands('both'), 'never'),
    transfer: shown,
    workers: [parallel({ name: 'both', description: 'Both.', agents: [asker('a'), asker('b')] })],
  }),
  {
    outside: async (runtime) => {
      const open = await runtime.questions()
      if (open.length === 2)
        await runtime
          .handle('simulated')
          .control.cancel('enough')
          .catch(() => undefined)
    },
  },
)

/** Paused when the worker asks, answered, and cancelled while its payment is held back: it is never made. */
const heldBack: Scenario = {
  ...scenario(
    'cancelled while a pause holds a payment back',
    router({
      name: 'Sup',
      model: scripted(hands('W'), 'never'),
      transfer: shown,
      workers: [
        sequential({
          name: 'W',
          description: 'W',
          agents: [
            agent({
              name: 'payer',
              run: async (ctx) => {
                await interrupt(ctx, 'pay?')
                return step(ctx, 'pay', () => 'paid', { effect: 'once' })
              },
            }),
          ],
        }),
      ],
    }),
  ),
  async outside(engine) {
    const run = runId('simulated')
    const status = (await engine.summary(run))?.status
    const log = (await engine.read(run)).map(({ event }) => event)
    if (status === 'waiting' && !log.some(({ type }) => type === 'run.pausing'))
      await engine.post({ type: 'pause', run, at: 'next' })
    if (status !== 'paused') return
    for (const { activation, address } of await engine.questions({ run }))
      await engine.post({ type: 'answer', activation, address, outcome: completed('yes') })
    if (log.some((event) => event.type === 'step.begun' && event.address === 'pay'))
      await engine.post({ type: 'cancel', run, reason: 'enough' })
  },
}

export const flowScenarios: readonly Scenario[] = [
  appendixB,
  nestedRouters,
  approvedStep,
  broken,
  nestedParallels,
  inside,
  handoff,
  exiting,
  failing,
  paused,
  cancelled,
  heldBack,
]

/** Those whose journals are kept. Never changed. */
export const flowGoldens: readonly Scenario[] = [appendixB, inside]
