/**
 * Whose text and whose parts a reader of a run is given: by control, by agent, by path (K9; spec collaboration 1.2:
 * what is below a call is inner).
 */
import { afterEach, describe, expect, test } from 'vitest'
import { agent, delegate, tool, transferTo, type Agent } from '@reeve/agent'
import { asTool, loop, parallel, router, sequential } from '@reeve/flow'
import type { ModelAnswerInput, ModelFunction } from '@reeve/model'
import type { PartsOptions, Run, RunPart, Runtime } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

interface Stage {
  /**
   * An agent that says these, one at each call of its model; the last again and again. Nobody speaks before the readers
   * have begun.
   */
  readonly voice: (name: string, ...script: (string | ModelAnswerInput)[]) => Agent
  readonly model: (...script: (string | ModelAnswerInput)[]) => ModelFunction
  readonly begin: () => void
}

function newStage(): Stage {
  const begun = Promise.withResolvers<void>()
  const model = (...script: (string | ModelAnswerInput)[]): ModelFunction => {
    let asked = 0
    return async ({ emit }) => {
      await begun.promise
      const said = script[Math.min(asked++, script.length - 1)]!
      const text = typeof said === 'string' ? said : (said.text ?? '')
      for (const letter of text) emit?.({ type: 'text.delta', id: '0', text: letter })
      return said
    }
  }
  return {
    model,
    voice: (name, ...script) => agent({ name, description: `Says ${name}.`, model: model(...script) }),
    begin: () => begun.resolve(),
  }
}

const call = (name: string, input: object, text = ''): ModelAnswerInput => ({
  text,
  calls: [{ name, input: { ...input } }],
})
const xfer = (to: string, text = ''): ModelAnswerInput => call('transfer_to_agent', { agent_name: to }, text)
const ask = (worker: string, text = ''): ModelAnswerInput => call('delegate', { worker, instructions: 'go' }, text)

/** Plays a team once for readers who began before anybody spoke. */
async function watched<T>(
  make: (stage: Stage) => Agent,
  watch: (run: Run) => Promise<T>,
): Promise<{ seen: T; run: Run }> {
  const stage = newStage()
  const root = make(stage)
  const runtime = await runtimeUnderTest({ strict: true, agents: [root] })
  open.push(runtime)
  const run = (await runtime.start(root, 'go')) as Run
  const watching = watch(run)
  stage.begin()
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  return { seen: await watching, run }
}

async function textOf(run: Run, options?: PartsOptions): Promise<string> {
  let text = ''
  for await (const piece of run.text(options)) text += piece
  return text
}

const saidBy = async (make: (stage: Stage) => Agent, ...wanted: (PartsOptions | undefined)[]): Promise<string[]> =>
  (await watched(make, (run) => Promise.all(wanted.map((options) => textOf(run, options))))).seen

/** What is said in messages, but not below a call. */
async function outerWords(run: Run): Promise<string> {
  let text = ''
  for await (const message of run.messages({ inner: false })) if (message.type === 'assistant') text += message.text
  return text
}

const plain = ({ voice }: Stage): Agent => voice('a', 'A')
const order = ({ voice }: Stage): Agent => sequential({ name: 's', agents: [voice('a', 'A'), voice('b', 'B')] })
const handoff = ({ voice, model }: Stage): Agent =>
  router({ name: 'top', model: model(xfer('w', 'T')), workers: [voice('w', 'W')], transfer: { returns: 'never' } })
const returning = ({ voice, model }: Stage): Agent =>
  router({ name: 'top', model: model(xfer('w', 'T'), 'U'), workers: [voice('w', 'W')] })
const nested = (stage: Stage): Agent =>
  sequential({
    name: 's',
    agents: [
      stage.voice('a', 'A'),
      router({
        name: 'mid',
        description: 'Leads.',
        model: stage.model(xfer('w', 'M'), 'N'),
        workers: [stage.voice('w', 'W')],
      }),
      stage.voice('b', 'B'),
    ],
  })
const rounds = ({ voice }: Stage): Agent =>
  loop({ name: 'l', agents: [voice('a', 'A', 'B'), voice('c', 'C')], maxIterations: 2 })
const led = ({ voice, model }: Stage): Agent =>
  supervisor({ name: 'boss', model: model(ask('w', 'B'), 'C'), workers: [voice('w', 'W')] })
const memberThatDelegates = (stage: Stage): Agent =>
  sequential({
    name: 's',
    agents: [
      supervisor({
        name: 'boss',
        description: 'Leads.',
        model: stage.model(ask('w', 'B'), 'C'),
        workers: [stage.voice('w', 'W')],
      }),
      stage.voice('z', 'Z'),
    ],
  })
const flowAsTool = (stage: Stage): Agent => {
  const inner = sequential({ name: 'in', description: 'A, B.', agents: [stage.voice('a', 'A'), stage.voice('b', 'B')] })
  return agent({ name: 'out', model: stage.model(call('in', { request: 'x' }, 'O'), 'P'), tools: [asTool(inner)] })
}
const codeThatHandsOver = ({ voice }: Stage): Agent =>
  router({ name: 'top', run: () => transferTo('w'), workers: [voice('w', 'W')], transfer: { returns: 'never' } })
/** Its worker is a flow, so that members of it must not count as holding control. */
const codeThatDelegates = (stage: Stage): Agent => {
  const flow = sequential({ name: 'in', description: 'A, B.', agents: [stage.voice('a', 'A'), stage.voice('b', 'B')] })
  const code = agent({
    name: 'code',
    description: 'Asks.',
    workers: [flow],
    run: async (ctx) => ((await delegate(ctx, flow, 'go')).status === 'completed' ? 'done' : 'not done'),
  })
  return sequential({ name: 's', agents: [code, stage.voice('z', 'Z')] })
}

describe('text() is what those say who hold the control of the run', () => {
  test.each<[string, (stage: Stage) => Agent, string]>([
    ['a plain agent', plain, 'A'],
    ['a sequence', order, 'AB'],
    ['a router whose worker answers', handoff, 'TW'],
    ['a router whose lead answers after a return', returning, 'TWU'],
    ['a router inside of a sequence', nested, 'AMWNB'],
    ['a loop', rounds, 'ACBC'],
    ['a router whose lead is code', codeThatHandsOver, 'W'],
    ['a supervisor, without its worker', led, 'BC'],
    ['a member that delegates, without its worker', memberThatDelegates, 'BCZ'],
    ['a flow that is called as a tool, without its members', flowAsTool, 'OP'],
  ])('%s; messages that are not inner say the same', async (_what, make, want) => {
    const { seen, run } = await watched(make, (each) => textOf(each))
    expect(seen).toBe(want)
    expect(await outerWords(run)).toBe(want)
  })

  test('a reader that begins in the middle of an answer has all of it, once (K9)', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { promise: begun, resolve: hasBegun } = Promise.withResolvers<void>()
    const talker = agent({
      name: 'talker',
      model: async ({ emit }) => {
        for (const text of ['one, ', 'two, ', 'three, ', 'four']) {
          emit?.({ type: 'text.delta', id: '0', text })
          if (text !== 'two, ') continue
          hasBegun()
          await promise
        }
        return 'one, two, three, four'
      },
    })
    const runtime = await runtimeUnderTest({ agents: [talker], strict: true })
    open.push(runtime)
    const run = await runtime.start(talker, 'go')
    const first = textOf(run)
    await begun
    const late = textOf(run)
    resolve()
    expect([await first, await late]).toEqual(['one, two, three, four', 'one, two, three, four'])
  })

  test('code that delegates keeps control: its answer is streamed, those of its workers and their flows are not', async () => {
    expect(await saidBy(codeThatDelegates, undefined, { path: ['s', 'code', 'in'] }, { agent: 'b' })).toEqual([
      'doneZ',
      'AB',
      'B',
    ])
  })

  test('the branches of a parallel come as they speak, and parts tell them apart', async () => {
    const make = ({ voice }: Stage): Agent => parallel({ name: 'all', agents: [voice('a', 'aaa'), voice('b', 'bbb')] })
    const [all, a, b] = await saidBy(make, undefined, { agent: 'a' }, { path: ['all', 'b'] })
    expect([[...all!].toSorted().join(''), a, b]).toEqual(['aaabbb', 'aaa', 'bbb'])
  })
})

describe('a path is an activation and all its workers', () => {
  test('who comes after an agent in a flow is not below it', async () => {
    expect(await saidBy(order, { path: ['s', 'a'] }, { path: ['s', 'a', 'b'] }, { path: ['s'] })).toEqual([
      'A',
      'B',
      'AB',
    ])
  })
  test('members of a router are below it, its later turns have paths of their own', async () => {
    const paths = [['top'], ['top', 'w'], ['top', 'w', 'top']]
    expect(await saidBy(returning, ...paths.map((path) => ({ path })))).toEqual(['TWU', 'W', 'U'])
    expect(await saidBy(nested, { path: ['s', 'a', 'mid'] }, { path: ['s', 'a'] })).toEqual(['MWN', 'A'])
  })
  test('workers of a supervisor are below it', async () => {
    const paths = [['boss'], ['boss', 'w'], ['w'], []]
    expect(await saidBy(led, ...paths.map((path) => ({ path })))).toEqual(['BWC', 'W', '', ''])
    expect(await saidBy(memberThatDelegates, { path: ['s', 'boss'] }, { path: ['s', 'boss', 'w'] })).toEqual([
      'BWC',
      'W',
    ])
  })
})

describe('an agent is every turn of it', () => {
  test('at any place; nothing for an unknown name', async () => {
    expect(await saidBy(returning, { agent: 'top' }, { agent: 'w' }, { agent: 'to' })).toEqual(['TU', 'W', ''])
    expect(await saidBy(rounds, { agent: 'a' }, { agent: 'l' })).toEqual(['AB', ''])
    expect(await saidBy(flowAsTool, { agent: 'b' })).toEqual(['B'])
  })
  test('together with a path both must hold', async () => {
    expect(await saidBy(nested, { path: ['s', 'a', 'mid'], agent: 'mid' }, { path: ['s', 'a'], agent: 'mid' })).toEqual(
      ['MN', ''],
    )
  })
  test('its tools are in it, also those that are activations', async () => {
    const look = tool({ name: 'look', execute: (_input, io) => (io.emit({ type: 'looked' }), 'seen') })
    const dig = tool({
      name: 'dig',
      run: async (ctx) => (await ctx.next(ctx.begin('spade', (io) => (io.emit({ type: 'dug' }), 'dug')))).type,
    })
    const make = (stage: Stage): Agent =>
      agent({ name: 'a', model: stage.model(call('look', {}), call('dig', {}), 'A'), tools: [look, dig] })
    const { seen } = await watched(make, (run) => partsOf(run, { agent: 'a' }))
    const emitted = seen.flatMap(({ agent: whose, part }) => (part.type === 'custom' ? [[whose, part.value]] : []))
    expect(emitted).toEqual([
      ['a', { type: 'looked' }],
      ['a.dig', { type: 'dug' }],
    ])
  })
})

async function partsOf(run: Run, options?: PartsOptions): Promise<RunPart[]> {
  const parts: RunPart[] = []
  for await (const part of run.parts(options)) parts.push(part)
  return parts
}

/** Whose parts there were, each place once, in order. */
const places = (parts: readonly RunPart[]): string[] => [
  ...new Set(
    parts.map(
      ({ agent: whose, path, activation }) => `${whose} ${path.join('/')} ${activation.replace(/^act_[^>]*/, '')}`,
    ),
  ),
]

describe('a part says whose it is', () => {
  const want = ['top top ', 'w top/w >w', 'top top/w/top >top']

  test('in parts()', async () => {
    const { seen } = await watched(returning, (run) => partsOf(run))
    expect(places(seen).map(shortened)).toEqual(want)
  })

  test('in a stream, which misses nothing: it listens before the run begins', async () => {
    const stage = newStage()
    stage.begin()
    const root = returning(stage)
    const runtime = await runtimeUnderTest({ strict: true, agents: [root] })
    open.push(runtime)
    const parts: RunPart[] = []
    for await (const item of runtime.stream(root, 'go')) if (item.type === 'part') parts.push(item.part)
    expect(places(parts).map(shortened)).toEqual(want)
    expect(parts.map(({ part }) => (part.type === 'text.delta' ? part.text : '')).join('')).toBe('TWU')
  })
})

/** An activation's id without the scopes in which it was started. */
const shortened = (place: string): string => place.replace(/>.*?([a-z]+)(#\d+)?$/, '>$1')
