/**
 * Faults on the wires, at the level of a team: what is tried again, what becomes content for the leader, that nothing
 * of an answer that was cut off is used, and that what was used and is not known stays unknown.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { totalUsage } from '@reeve/core'
import { resolveModel } from '@reeve/model'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import {
  inPieces,
  startFakeLlm,
  wires,
  type FakeLlm,
  type FakeProxy,
  type PassingAnswer,
} from '../../packages/model/test/fake-llm.ts'
import { eventsOf, runtimeOf, store } from './team.ts'
import { answerAsTeam, quick, teamOf, who, type Deeds } from './wire-team.ts'

let llm: FakeLlm
beforeAll(async () => {
  llm = await startFakeLlm()
})
beforeEach(() => llm.reset())
afterAll(() => llm.close())

/** An answer to the researcher's first question that is spoiled on its way. */
const topic = 'a topic that is long enough to be cut in two. '.repeat(4)
const spoiled = { calls: [{ name: 'danger', input: { topic }, pieces: 8 }] }
const first = { ...who('RESEARCHER'), hasToolResult: false, sequenceIndex: 0 }

/** The team with only the researcher's model behind a proxy, if there is one. The writer answers without publishing. */
async function started(model: string, deeds: Deeds, proxy?: FakeProxy): Promise<Run> {
  llm.on({ ...who('WRITER') }, 'It is written.')
  answerAsTeam(llm)
  const [straight, through] = [resolveModel(model, llm.options), resolveModel(model, proxy?.options ?? llm.options)]
  const team = teamOf({ lead: straight, researcher: through, writer: straight }, (deed) => void deeds.push(deed))
  const runtime = await runtimeOf([team], { store: store() })
  return runtime.start(team.name, 'A report on ravens, please.')
}

/** Alters the first answers that pass, and leaves the others. */
function firstOnes(
  count: number,
  alter: (answer: PassingAnswer) => { body?: string; end?: 'clean' | 'reset' | 'nothing' },
): Parameters<FakeLlm['proxy']>[0] {
  let left = count
  return (answer) => (left-- > 0 ? alter(answer) : {})
}

/** All but the first event is not JSON any more. */
const garbled = (body: string): string => {
  const second = body.indexOf('\n\n') + 1
  return body.slice(0, second) + body.slice(second).replaceAll('{', '<')
}

const half = (answer: PassingAnswer): string =>
  answer.body.slice(0, answer.body.lastIndexOf('\n\n', answer.body.length / 2) + 2)

/** What was recorded of attempts that failed. */
async function attemptsOf(run: Run): Promise<readonly (readonly [string, string, number])[]> {
  const { failedAttempts, activations } = await run.view()
  return failedAttempts.map(
    ({ activation, failure, attempt }) =>
      [activations.find((each) => each.activation === activation)!.agent, failure.code, attempt] as const,
  )
}

async function expectGood(run: Run, deeds: Deeds): Promise<void> {
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'The report on ravens.' })
  // side by side, so in either order
  expect(deeds.toSorted()).toEqual(['lookup beaks', 'lookup wings'])
  const asked = llm
    .requests()
    .map((request) => request.body)
    .join('\n')
  expect(asked).toContain('Beaks and wings are known.')
  expect(asked).toContain('It is written.')
}

describe.each(wires)('$name', ({ model, name }) => {
  test('429 with Retry-After: waits as long as it is told, then goes on', async () => {
    llm.on(first, { failure: 'rate-limit', retryAfter: 1, waitIn: 'header' })
    const deeds: Deeds = []
    const run = await started(model, deeds)
    await expectGood(run, deeds)
    expect(await attemptsOf(run)).toEqual([['researcher', 'model.rate-limited', 1]])
    expect((await run.view()).failedAttempts[0]?.delayMs).toBe(1_000)
    const [refused, again] = llm.requests().filter((request) => request.body.includes('You are RESEARCHER.'))
    expect(refused?.status).toBe(429)
    expect(again!.at - refused!.at).toBeGreaterThanOrEqual(990)
    expect(again!.headers['idempotency-key']).toBe(refused!.headers['idempotency-key'])
  })

  test('500 three times: the worker has failed, the leader is told, its sibling is intact', async () => {
    llm.on({ ...who('RESEARCHER') }, { failure: 'unavailable' })
    const deeds: Deeds = []
    const run = await started(model, deeds)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'The report on ravens.' })
    const { activations } = await run.view()
    expect(activations.map(({ agent: by, state }) => [by, state])).toEqual([
      ['lead', 'completed'],
      ['researcher', 'failed'],
      ['writer', 'completed'],
    ])
    expect(activations[1]!.outcome).toMatchObject({ failure: { code: 'model.unavailable', details: { attempts: 3 } } })
    expect(await attemptsOf(run)).toEqual([
      ['researcher', 'model.unavailable', 1],
      ['researcher', 'model.unavailable', 2],
    ])
    const told = llm.requests().at(-1)?.body ?? ''
    expect(told).toMatch(/worker \\*"researcher\\*" failed: its model could not answer/)
    expect(told).toContain('It is written.')
    expect(deeds).toEqual([])
    expect(llm.requests()).toHaveLength(2 + 3 + 1)
  })

  test('a connection that is reset before the answer is tried again', async () => {
    llm.on(first, 'never seen')
    const deeds: Deeds = []
    const run = await started(model, deeds, await llm.proxy(firstOnes(1, () => ({ end: 'nothing' }))))
    await expectGood(run, deeds)
    expect(await attemptsOf(run)).toEqual([['researcher', 'model.unavailable', 1]])
  })

  test.each(['clean', 'reset'] as const)(
    'a stream that ends in the middle of a text (%s): nothing of it is used',
    async (end) => {
      llm.on(first, { text: inPieces('A wrong answer that will be cut. '.repeat(8), 20) })
      const deeds: Deeds = []
      const run = await started(model, deeds, await llm.proxy(firstOnes(1, (answer) => ({ body: half(answer), end }))))
      await expectGood(run, deeds)
      expect(await attemptsOf(run)).toEqual([['researcher', 'model.cut-off', 1]])
      expect(JSON.stringify(await eventsOf(run))).not.toContain('A wrong answer')
    },
  )

  test.each(['clean', 'reset'] as const)(
    'a stream that ends in the middle of a call (%s): no tool runs from it',
    async (end) => {
      llm.on(first, spoiled)
      const deeds: Deeds = []
      const run = await started(model, deeds, await llm.proxy(firstOnes(1, (answer) => ({ body: half(answer), end }))))
      await expectGood(run, deeds) // no "danger" among the deeds
      expect(await attemptsOf(run)).toEqual([['researcher', 'model.cut-off', 1]])
      expect(JSON.stringify(await eventsOf(run))).not.toContain('danger')
    },
  )

  test('malformed events are tried again', async () => {
    llm.on(first, spoiled)
    const deeds: Deeds = []
    const run = await started(model, deeds, await llm.proxy(firstOnes(1, ({ body }) => ({ body: garbled(body) }))))
    await expectGood(run, deeds)
    expect(await attemptsOf(run)).toEqual([['researcher', 'model.cut-off', 1]])
  })

  test('arguments that do not fit are content for the model, and the next turn mends them', async () => {
    // Gemini sends arguments as JSON proper: they can only be of the wrong form
    const inputText = name === 'google' ? '{"subject":"beaks"}' : '{"topic": oops'
    llm.on(first, { calls: [{ name: 'lookup', inputText }] })
    const mended = { calls: ['beaks', 'wings'].map((about) => ({ name: 'lookup', input: { topic: about } })) }
    llm.on({ ...who('RESEARCHER'), hasToolResult: true, sequenceIndex: 0 }, mended)
    const deeds: Deeds = []
    const run = await started(model, deeds)
    await expectGood(run, deeds)
    expect(await attemptsOf(run)).toEqual([])
    const told = llm
      .requests()
      .map(({ body }) => body)
      .join('\n')
    expect(told).toMatch(
      name === 'google' ? /arguments of \\+"lookup\\+" do not fit/ : /arguments of \\+"lookup\\+" are not JSON/,
    )
    const refused = (await eventsOf(run)).filter((event) => event.type === 'tool.refused')
    expect(refused).toMatchObject([{ tool: 'lookup', failure: { code: 'tool.invalid-input', class: 'validation' } }])
  })

  test('a slow answer is cancelled with its run: the server sees us leave, nothing follows', async () => {
    llm.on(first, { text: inPieces('word '.repeat(40), 5) })
    const proxy = await llm.proxy((answer) => ({ body: half(answer), end: 'open' }))
    const deeds: Deeds = []
    const run = await started(model, deeds, proxy)
    for await (const piece of run.text({ path: ['lead', 'researcher'] })) {
      expect(piece).not.toBe('')
      await run.control.cancel('enough', 'ann')
      break
    }
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    await expect.poll(() => proxy.departures()).toBe(1)
    expect(proxy.requests()).toHaveLength(1)
    expect(deeds).toEqual([])
    expect((await run.view()).activations.every((each) => each.outcome !== undefined)).toBe(true)
  })
})

describe('usage that is not told', () => {
  const output = 700
  /**
   * A leader that answers after one delegation, below a limit that its second call fits under only if the worker's call
   * is not counted at its reserve.
   */
  async function limitedRun(model: string, worker: FakeProxy | undefined): Promise<Run> {
    const usage = { input: 20, output: 5 }
    llm.on(
      { ...who('LEADER'), hasToolResult: false },
      {
        calls: [{ name: 'delegate', input: { worker: 'researcher', instructions: 'go' } }],
        usage,
      },
    )
    llm.on({ ...who('LEADER'), hasToolResult: true }, { text: 'done', usage })
    llm.on({ ...who('RESEARCHER') }, { text: 'found', usage })
    const settings = { maxOutputTokens: output }
    const researcher = agent({
      name: 'researcher',
      description: 'Finds.',
      instructions: 'You are RESEARCHER.',
      model: resolveModel(model, worker?.options ?? llm.options),
      settings,
      retry: quick,
    })
    const lead = supervisor({
      name: 'lead',
      instructions: 'You are LEADER.',
      model: resolveModel(model, llm.options),
      settings,
      retry: quick,
      workers: [researcher],
      limits: { tokens: 1_500 },
    })
    return (await runtimeOf([lead], { store: store() })).start('lead', 'go')
  }
  const tolerant = wires.filter((wire) => wire.name !== 'anthropic')

  test.each(tolerant)('$name: it settles at the reserve, and stays unknown', async ({ model }) => {
    const run = await limitedRun(model, await llm.proxy((answer) => ({ body: withoutUsage(answer) })))
    const outcome = await run.outcome()
    expect(outcome).toMatchObject({ status: 'limited', limit: 'tokens' })
    expect(outcome.usage.find((row) => row.agent === 'researcher')).toMatchObject({
      calls: 1,
      unknown: 1,
      unpriced: 1,
      input: 0,
      output: 0,
    })
    expect(outcome.usage.find((row) => row.agent === 'lead')).toMatchObject({
      calls: 1,
      unknown: 0,
      input: 20,
      output: 5,
    })
    expect(totalUsage(outcome.usage).unknown).toBe(1)
    const settled = (await eventsOf(run)).filter((event) => event.type === 'step.settled')
    expect(settled.filter((event) => event.charge === undefined && event.outcome.status === 'completed')).toHaveLength(
      1,
    )
  })

  test.each(wires)('$name: where it is told, the same run has room for its end', async ({ model }) => {
    const outcome = await (await limitedRun(model, undefined)).outcome()
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 3, input: 60, output: 15, unknown: 0 })
  })

  test('anthropic: its package refuses such an answer, so the worker has failed and the leader is told', async () => {
    const wire = wires.find((each) => each.name === 'anthropic')!
    const proxy = await llm.proxy((answer) => ({ body: withoutUsage(answer) }))
    const run = await limitedRun(wire.model, proxy)
    await run.outcome()
    expect(proxy.requests()).toHaveLength(3)
    expect((await run.view()).activations[1]).toMatchObject({ agent: 'researcher', state: 'failed' })
  })
})

function withoutUsage(answer: PassingAnswer): string {
  const strip = (text: string): string =>
    JSON.stringify(
      JSON.parse(text, (key, value: unknown) => (key === 'usage' || key === 'usageMetadata' ? undefined : value)),
    )
  return answer.body.replaceAll(/^data: (\{.*)$/gm, (_, json: string) => `data: ${strip(json)}`)
}
