/**
 * Leaders that end while others work in the background, and hedges that are refused, with their process dying at every
 * point where it can.
 */
import { describe } from 'vitest'
import { agent, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { ModelAnswerInput } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { supervisor, type Delegation } from '@reeve/supervisor'
import { scripted, teamScenario, type Scenario, type ScriptLine } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const call = (name: string, input: object) => ({ name, input: input as Json })
const gives = (...workers: readonly string[]): ModelAnswerInput => ({
  calls: workers.map((worker) => call('delegate', { worker, instructions: 'go' })),
})
const forwards: ModelAnswerInput = { calls: [call('forward_message', { worker: 'quick' })] }
const quick = agent({ name: 'quick', description: 'Is quick.', model: scripted('quick result') })
const asks = agent({
  name: 'asks',
  description: 'Asks.',
  run: async (ctx) => `heard ${(await interrupt(ctx, 'well?')) as string}`,
})

const team = (script: readonly ScriptLine[], delegation: Delegation<'quick' | 'asks'>): Agent =>
  supervisor({
    name: 'S',
    description: 'Leads.',
    model: scripted(...script),
    workers: [quick, asks],
    delegation,
  })

/** Answers once the leader has been asked twice: whatever it does then, it does while the other one waits. */
async function answers(runtime: Runtime): Promise<void> {
  const view = await runtime
    .handle('simulated')
    .view()
    .catch(() => undefined) // nothing is recorded yet
  const asked = view?.activations.find(({ agent: name }) => name === 'S')?.modelCalls ?? 0
  if (asked < 2) return
  for (const { id } of await runtime.questions())
    await runtime.answer({ interruptId: id, value: 'yes' }).catch(() => undefined)
}
const silence = (): Promise<void> => Promise.resolve()

const scenario = (name: string, root: Agent, outside: (runtime: Runtime) => Promise<void>): Scenario =>
  teamScenario({ name, agents: [root], input: 'task', outside })

describe('a leader that ends while others work in the background', () => {
  const heard = { onComplete: () => ({ feedback: 'noted' }) }
  diesEverywhere(
    scenario(
      'it has forwarded, and waits for them',
      team([gives('quick', 'asks'), forwards], { background: ['asks'], ...heard }),
      answers,
    ),
    { status: 'completed', output: 'quick result' },
  )
  diesEverywhere(
    scenario(
      'it has forwarded, and stops them',
      team([gives('quick', 'asks'), forwards], { background: { workers: ['asks'], whenDone: 'stop' }, ...heard }),
      silence,
    ),
    { status: 'completed', output: 'quick result' },
  )
  diesEverywhere(
    scenario(
      'a hook bails, and those who are stopped give their thread back',
      team([gives('asks', 'quick')], {
        background: ['asks'],
        workers: { asks: { memory: { thread: 't' } } },
        onComplete: ({ worker }) => ({ bail: worker === 'quick' }),
      }),
      silence,
    ),
    { status: 'bailed', text: 'quick result' },
  )
  diesEverywhere(
    scenario('its model fails', team([gives('asks'), new Error('no')], { background: ['asks'], ...heard }), silence),
    {
      status: 'failed',
    },
  )
})

describe('a hedge', () => {
  const hedge = { afterMs: 60_000, with: 'asks' }
  diesEverywhere(
    scenario(
      'a hedged delegation that is refused',
      team([gives('quick'), 'final'], { onStart: () => ({ proceed: false }), workers: { quick: { hedge } } }),
      silence,
    ),
    { status: 'completed', output: 'final' },
    5,
  )
})
