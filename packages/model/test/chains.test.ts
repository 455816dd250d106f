/** Chains of models meet what stands around them: gates of rate limits, refusals, streams, replays, forks, kills, roles. */
import { describe, expect, test } from 'vitest'
import {
  agent,
  createRuntime,
  supervisor,
  team,
  tool,
  type Agent,
  type Model,
  type ModelAnswer,
  type ModelFunction,
  type ModelRef,
  type RuntimeOptions,
} from '@reeve/public'
import { simulate, teamScenario } from '@reeve/testing'
import { judge, reflect, roundtable } from '@reeve/public/team'
import type { Recorded } from '@reeve/journal'
import { failure, FailureError, totalUsage, type Failure } from '@reeve/core'

const price = { usdPerMillionTokens: { input: 1, output: 1 } }
const failing = (id: string, what: Failure): Model => ({
  id,
  price,
  call: () => Promise.reject(new FailureError(what, undefined, 'nothing')),
})
const answering = (id: string, more: Partial<ModelAnswer> = {}): Model => ({
  id,
  price,
  call: ({ emit }) => {
    const answer = { text: id, calls: [], finish: 'stop', model: id, usage: { input: 1, output: 1 }, ...more } as const
    emit?.({ type: 'text.start', id: '0' })
    emit?.({ type: 'text.delta', id: '0', text: answer.text })
    emit?.({ type: 'text.end', id: '0' })
    return Promise.resolve(answer)
  },
})
const limited = (retryAfterMs?: number): Failure =>
  failure('model.rate-limited', 'too many', 'rate-limit', retryAfterMs === undefined ? {} : { retryAfterMs })
const of = <T extends Recorded['event']['type']>(events: readonly Recorded[], type: T) =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<Recorded['event'], { type: T }>] : []))
async function played(one: ReturnType<typeof agent>, options: RuntimeOptions = {}) {
  await using runtime = await createRuntime({ ...options, agents: [one], onWarning: () => undefined })
  const started = await runtime.start(one, 'go')
  const outcome = await started.outcome()
  const events: Recorded[] = []
  for await (const recorded of started.events()) events.push(recorded)
  return { outcome, events }
}

describe('an answer that the model did not end', () => {
  test.each([
    ['refusal', 'refused'],
    ['content-filter', 'refused'],
    ['prompt-blocked', 'refused'],
    ['context-full', 'too-large'],
  ] as const)('%s: the next one is asked, where it may be', async (finish, why) => {
    const first = answering('first/ended', { finish, text: 'I can' })
    const chain = agent({ name: 'a', model: [first, { model: answering('second/m'), when: [why] }] })
    const { outcome, events } = await played(chain)
    expect(outcome).toMatchObject({ status: 'completed', output: 'second/m' })
    expect(of(events, 'model.requested')[1]).toMatchObject({ instead: { of: 'first/ended', why } })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 2, input: 2 })
    const alone = agent({ name: 'a', model: [first, { model: answering('second/m'), when: ['slow'] }] })
    expect((await played(alone)).outcome.status).toBe('failed')
  })

  test('what it had said is taken back from those who read along', async () => {
    const chain = agent({
      name: 'a',
      model: [
        answering('first/said', { finish: 'refusal', text: 'I cannot' }),
        { model: answering('second/m'), when: ['refused'] },
      ],
    })
    await using runtime = await createRuntime({ agents: [chain] })
    const run = await runtime.start(chain, 'go')
    let text = ''
    for await (const change of run.textChanges()) text = text.slice(0, text.length - change.withdrawn) + change.text
    expect(text).toBe('second/m')
  })
})

describe('limits of the rate', () => {
  test('a gate that another run has closed is not waited for where another model stands behind it', async () => {
    const one = agent({ name: 'a', model: [failing('gate/m', limited(3_600_000)), answering('second/m')] })
    await using runtime = await createRuntime({ agents: [one] })
    const outcomes = await Promise.all([1, 2, 3].map(() => runtime.run(one, 'go')))
    expect(outcomes).toMatchObject([{ output: 'second/m' }, { output: 'second/m' }, { output: 'second/m' }])
    expect(await runtime.run(one, 'go')).toMatchObject({ output: 'second/m' })
  })
})

describe('money', () => {
  const long = { usdPerMillionTokens: { input: 1, output: 1 }, upToInputTokens: 100 }
  test.each([
    ['a prompt longer than the price holds for', { input: 600_000, output: 0 }, long],
    ['an hour in the cache without a price', { input: 600_000, output: 0, cacheWrite: 9, cacheWrite1h: 9 }, price],
  ])('%s counts on the budget with what it cost at least', async (_, usage, at) => {
    let asked = 0
    const model: Model = {
      id: 'own/long',
      price: at,
      call: () =>
        Promise.resolve({
          text: '',
          calls: asked++ > 8 ? [] : [{ id: `c${asked}`, name: 'unknown', input: {} }],
          finish: 'tool-calls',
          model: 'own/long',
          usage,
        }),
    }
    const { outcome } = await played(agent({ name: 'a', model, limits: { usd: 1 }, retry: { attempts: 1 } }))
    expect(outcome).toMatchObject({ status: 'limited', limit: 'usd' })
    expect(asked).toBe(2)
    expect(totalUsage(outcome.usage).unpriced).toBe(2)
  })

  test.each([
    { input: -1_000, output: 5 },
    { input: Number.NaN, output: 5 },
    { input: '7', output: 5 },
    'free',
    [],
    null,
  ])('usage %j of a model object is no usage', async (usage) => {
    const model = answering('own/odd', { usage: usage as never })
    const { outcome } = await played(agent({ name: 'a', model, limits: { tokens: 50_000 } }))
    expect(outcome.status).toBe('completed')
    const total = totalUsage(outcome.usage)
    expect(total.input).toBe(0)
    expect(total.calls).toBe(1)
  })
})

describe('in every role, under kills at every point, replays and forks', () => {
  const down: ModelFunction = () => {
    throw new FailureError(failure('model.unavailable', 'down', 'transport', { retryable: false }))
  }
  const refuses: ModelFunction = () => ({ text: 'no', finish: 'refusal' })
  /** The rule behind two models that do not answer. */
  const behind = (rule: ModelFunction): ModelRef => [down, refuses, { model: rule, when: ['down', 'refused'] }]
  const worker = (name: string): Agent =>
    agent({ name, description: 'Works.', model: behind(() => `${name} has worked`) })
  const look = tool({ name: 'look', effect: 'read', execute: () => 'x'.repeat(400) })

  const teams: { readonly [role: string]: () => Agent } = {
    supervisor: () =>
      supervisor({
        name: 'root',
        workers: [worker('writer')],
        model: behind(({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? 'final'
            : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'write' } }] },
        ),
      }),
    judge: () =>
      reflect(worker('writer'), {
        name: 'root',
        judge: judge({
          name: 'critic',
          criteria: ['It is short.'],
          model: behind(() => JSON.stringify({ score: 1, reason: 'good' })),
        }),
        attempts: 2,
      }),
    speaker: () =>
      roundtable({
        name: 'root',
        agents: [worker('one'), worker('two')],
        speaker: 'auto',
        model: behind(() => JSON.stringify({ speaker: 'one', reason: 'its turn' })),
        maxRounds: 1,
      }),
    planner: () =>
      team({
        name: 'root',
        model: behind(({ messages }) =>
          JSON.stringify(messages).includes('You plan the work')
            ? JSON.stringify({
                complexity: 0.5,
                subtasks: [{ id: 't', description: 'write', role: 'writer', dependencies: [] }],
              })
            : 'put together',
        ),
        roles: { writer: worker('writer') },
      }),
    summary: () =>
      agent({
        name: 'root',
        tools: [look],
        compaction: { above: 150, keep: 2 },
        model: behind(({ messages, tools }) => {
          if (tools.length === 0) return 'notes'
          return messages.filter(({ role }) => role === 'assistant').length < 3 &&
            !JSON.stringify(messages).includes('notes')
            ? { calls: [{ name: 'look', input: {} }] }
            : 'final'
        }),
      }),
  }

  test.each(Object.entries(teams))('%s', async (_, make) => {
    const { end, differences, repeated, points } = await simulate(teamScenario({ agents: [make()], input: 'go' }))
    expect(end.outcome.status).toBe('completed')
    expect({ differences, repeated }).toEqual({ differences: [], repeated: [] })
    expect(points).toBeGreaterThan(5)

    const root = make()
    await using runtime = await createRuntime({ agents: [root], onWarning: () => undefined })
    const run = await runtime.start(root, 'go')
    const outcome = await run.outcome()
    const events: Recorded[] = []
    for await (const recorded of run.events()) events.push(recorded)
    expect(of(events, 'model.requested').some(({ instead }) => instead?.why === 'refused')).toBe(true)
    for (const { position, event } of events) {
      if (event.type !== 'model.requested') continue
      const fork = await runtime.fork({ run: run.id, at: position })
      expect(await fork.outcome()).toMatchObject({
        status: 'completed',
        output: (outcome as { output: unknown }).output,
      })
    }
  })
})
