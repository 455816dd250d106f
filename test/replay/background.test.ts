/**
 * Delegations in the background, tried again, raced and stopped, with their process dying at every point where it can:
 * the same outcome and facts, and nothing recorded runs again.
 */
import { describe } from 'vitest'
import { agent, sleep, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { ModelAnswerInput, ModelRequest } from '@reeve/model'
import { interrupt } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { delegateToSeveral, supervisor, type Delegation } from '@reeve/supervisor'
import { scripted, teamScenario, type ManualClock, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const call = (name: string, input: object, id: string): ModelAnswerInput['calls'] => [
  { name, input: input as Json, id },
]
const gives = (...workers: readonly string[]): ModelAnswerInput => ({
  calls: workers.flatMap((worker, i) => call('delegate', { worker, instructions: 'go' }, `c${i + 1}`) ?? []),
})
/** Goes by what it is shown: delegates once, and answers once nothing works in the background any more. */
const leading =
  (first: ModelAnswerInput, last: string | ModelAnswerInput = 'final') =>
  ({ messages }: ModelRequest): string | ModelAnswerInput => {
    const told = messages.flatMap((message) => (message.role === 'tool' ? [JSON.stringify(message.content)] : []))
    if (told.length === 0) return first
    return told.some((text) => text.includes('works in the background')) ? 'waiting' : last
  }
const modelAgent = (name: string, ...script: readonly string[]): Agent =>
  agent({ name, description: `Does what ${name} does.`, model: scripted(...script) })
const asker = (name: string): Agent =>
  agent({
    name,
    description: 'Asks.',
    run: async (ctx) => `${name} heard ${(await interrupt(ctx, `${name}?`)) as string}`,
  })
const team = (model: ReturnType<typeof leading>, workers: readonly Agent[], delegation: Delegation<string>): Agent =>
  supervisor({ name: 'S', model, workers, delegation })

/** Answers what is asked; moves the clock where nobody is asked. */
async function answers(runtime: Runtime): Promise<void> {
  for (const { id } of await runtime.questions())
    await runtime.answer({ interruptId: id, value: 'yes' }).catch(() => undefined)
}

function scenario(
  name: string,
  root: Agent,
  outside?: (runtime: Runtime, clock: ManualClock) => Promise<void>,
): Scenario {
  const made = teamScenario({ name, agents: [root], input: 'task', outside: outside ?? answers })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

const slowAtFirst = agent({
  name: 'w1',
  description: 'Is slow at first.',
  run: async (ctx) => {
    if ((await ctx.values.update('n', (n) => Number(n ?? 0) + 1)) === 1) await sleep(ctx, 60_000)
    return 'done'
  },
})
const sleeper = (name: string): Agent => agent({ name, description: 'Sleeps.', run: (ctx) => sleep(ctx, 60_000) })
const racers = [modelAgent('quick', 'quick'), asker('asks'), sleeper('sleeps')]

/**
 * What was seen when the clock was moved last, and how often it was seen since: a timer that has rung is open until its
 * end is recorded.
 */
const moved = new WeakMap<ManualClock, { readonly seen: string; looks: number }>()
/** Time goes on only where nothing else does: everybody who has not ended waits, and somebody for the clock. */
const ticks = async (runtime: Runtime, clock: ManualClock): Promise<void> => {
  const view = await runtime
    .handle('simulated')
    .view()
    .catch(() => undefined) // nothing is recorded yet
  const open = (view?.activations ?? []).filter(({ outcome }) => outcome === undefined).map((each) => each.open)
  const rests = open.every(
    (all) => all.length > 0 && all.every(({ kind }) => kind === 'worker' || kind === 'timer' || kind === 'interrupt'),
  )
  if (!rests || !open.flat().some(({ kind }) => kind === 'timer')) return
  const seen = JSON.stringify(open)
  const last = moved.get(clock)
  if (last?.seen === seen && last.looks++ < 20) return // it may also have been a timer of the engine's own
  moved.set(clock, { seen, looks: 0 })
  clock.advanceToNext()
}

const played: readonly (readonly [Scenario, object])[] = [
  [
    scenario(
      'two deferred, one at a time',
      team(leading(gives('w1', 'w2')), [modelAgent('w1', 'one'), modelAgent('w2', 'two')], {
        background: { workers: 'all', concurrency: 1, react: 'all' },
      }),
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'three deferred that ask, told all at once',
      team(leading(gives('w1', 'w2', 'w3')), [asker('w1'), asker('w2'), asker('w3')], {
        background: { workers: 'all', concurrency: 2, react: 'all' },
        onComplete: () => ({ feedback: 'noted' }),
      }),
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'out of time, then tried again',
      team(leading(gives('w1')), [slowAtFirst], { timeoutMs: 1_000, retry: { attempts: 2, backoffMs: 500 } }),
      ticks,
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'the first of three',
      agent({
        name: 'root',
        workers: () => racers,
        run: async (ctx) => {
          const { status, output } = await delegateToSeveral(ctx, racers, 'go', { keep: 'first' })
          return `${status}: ${String(output)}`
        },
      }),
      () => Promise.resolve(),
    ),
    { status: 'completed', output: 'decided: quick' },
  ],
  [
    scenario(
      'a worker with a hedge',
      team(leading(gives('w1')), [sleeper('w1'), modelAgent('w2', 'hedged')], {
        workers: { w1: { hedge: { afterMs: 100, with: 'w2' } } },
      }),
      ticks,
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'a leader that stops what works in the background',
      team(
        ({ messages }) => {
          const told = messages.filter(({ role }) => role === 'tool')
          if (told.length === 0) return gives('w1')
          return told.length === 1 ? { calls: call('stop_delegation', { delegation: 'd1' }, 's') ?? [] } : 'final'
        },
        [asker('w1')],
        { background: ['w1'], onComplete: ({ status }) => ({ feedback: status }) },
      ),
      () => Promise.resolve(),
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'a stop from outside',
      team(leading(gives('w1', 'w2')), [asker('w1'), modelAgent('w2', 'two')], { background: ['w1'] }),
      async (runtime) => {
        const run = runtime.handle('simulated')
        const asked = (await runtime.questions()).length > 0
        const told = async () => (await run.view()).activations[0]!.modelCalls >= 2
        if (asked && (await told()))
          await run.control.stop({ delegation: 'c1', reason: 'enough' }).catch(() => undefined)
      },
    ),
    { status: 'completed', output: 'final' },
  ],
  [
    scenario(
      'a hook that bails while others work in the background',
      team(leading(gives('w1', 'w2')), [modelAgent('w1', 'one'), asker('w2')], {
        workers: { w1: { background: true }, w2: { background: true } },
        onComplete: ({ worker }) => (worker === 'w1' ? { bail: { answer: 'enough' } } : undefined),
      }),
      () => Promise.resolve(),
    ),
    { status: 'bailed', text: 'enough' },
  ],
]

describe('a process that dies while a leader does not wait for its workers', () => {
  for (const [each, end] of played) diesEverywhere(each, end, 20)
})
