/**
 * Forks of runs whose orchestration asks who it is: it draws ids, races, tries again, remembers, stands in queues. A
 * fork replays what it copied, whichever run and session replays it, and has a session of its own. Cites K4, K10.
 */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { agent, interrupt, step, supervisor, tool, type Agent } from '@reeve/public'
import { asText } from '@reeve/core'
import type { Message, ModelAnswerInput } from '@reeve/model'
import type { Delegation } from '@reeve/supervisor'
import type { Recorded } from '@reeve/journal'
import { registerAgents, type Run, type Runtime } from '@reeve/runtime'
import { verifyJournal } from '@reeve/testing'
import { calls, delegates, told } from '../scenario/team.ts'
import { runtimeThere, startedThere } from './fork-place.ts'

async function feed(run: Run<unknown>): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const events: Recorded[] = []
  for await (const recorded of run.events()) {
    events.push(recorded)
    if (recorded.position >= position) break
  }
  return events
}

/** Answers whatever is asked, and says that what the origin has done has happened; how the run ended. */
async function ended(runtime: Runtime, run: Run<unknown>): Promise<unknown> {
  for (let n = 0; n < 50; n++) {
    const state = await run.until('waiting')
    if (!('questions' in state)) {
      const { usage: _usage, run: _run, ...outcome } = state
      return outcome
    }
    if (state.status === 'stuck' || state.status === 'queued') return { ...state }
    for (const { id, kind, body } of state.questions)
      if (kind === 'interrupt') await runtime.answer({ interruptId: id, value: 'mine' })
      else if (kind === 'in-doubt') {
        const { done } = body as { readonly done?: { readonly outcome?: object } }
        await run.control.settleDoubt({ id, happened: done?.outcome !== undefined })
      } else return { ...state }
  }
  throw new Error('it asks and asks')
}

/** Where an operation is, whichever run it is of. */
const placeOf = (run: string, { activation, event }: Recorded): string =>
  `${activation.slice(`act_${run}`.length)} ${'address' in event ? event.address : ''}`

/** The steps that ended well in these events. */
const completedIn = (run: string, events: readonly Recorded[]): ReadonlySet<string> =>
  new Set(
    events
      .filter(({ event }) => event.type === 'step.settled' && event.outcome.status === 'completed')
      .map((recorded) => placeOf(run, recorded)),
  )

/** What the fork has begun itself although it had ended well in what it copied. */
function repeatedIn(fork: string, own: readonly Recorded[], done: ReadonlySet<string>): readonly string[] {
  const begin = own.findIndex(({ event }) => event.type === 'run.forked')
  return own
    .slice(begin + 1)
    .filter(({ event }) => 'op' in event && event.op === 'step')
    .map((recorded) => placeOf(fork, recorded))
    .filter((place) => done.has(place))
}

/** Forks at every position of what the origin has recorded by now, and says what is wrong with the forks. */
async function wrongForks(
  runtime: Runtime,
  root: Agent,
  run: Run<unknown>,
  expected: (outcome: unknown) => boolean,
  events: readonly Recorded[],
): Promise<readonly unknown[]> {
  const registry = registerAgents([root], [], 'move')
  const wrong: unknown[] = []
  for (const [i, { position, event, activation }] of events.entries()) {
    if (event.type === 'activation.settled' && activation === `act_${run.id}`) break
    const fork = await runtime.fork({ run: run.id, at: position })
    const outcome = await ended(runtime, fork)
    if (!expected(outcome)) wrong.push([position, event.type, outcome])
    const own = await feed(fork)
    const { problems } = await verifyJournal(own, registry)
    if (problems.length > 0) wrong.push([position, event.type, problems])
    const repeated = repeatedIn(fork.id, own, completedIn(run.id, events.slice(0, i + 1)))
    if (repeated.length > 0) wrong.push([position, event.type, 'repeated', repeated])
    await runtime.remove(fork.id)
  }
  return wrong
}

type Rule = (request: {
  readonly messages: readonly Message[]
  readonly signal: AbortSignal
}) => ModelAnswerInput | string | Promise<string>

const worker = (name: string, model: Rule): Agent =>
  agent({ name, description: `Is ${name}.`, model, retry: { attempts: 1 } })

/** Delegates in turns, then answers with everything that it was told. By what it is shown, so that a fork decides alike. */
const leads =
  (...turns: readonly (readonly string[])[]): Rule =>
  ({ messages }) => {
    const names = turns[messages.filter(({ role, content }) => role === 'assistant' && content === '').length]
    return names === undefined
      ? JSON.stringify(told(messages))
      : delegates(...names.map((name): [string, string] => [name, 'do it']))
  }

/** Works until it is stopped. */
const untilStopped: Rule = ({ signal }) =>
  new Promise((_done, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))

const boss = (turns: readonly (readonly string[])[], workers: readonly Agent[], delegation: Delegation): Agent =>
  supervisor({ name: 'boss', description: 'Leads.', model: leads(...turns), workers, delegation })

const shapes: readonly (readonly [string, () => Agent])[] = [
  [
    'code that draws ids and random numbers',
    () =>
      agent({
        name: 'code',
        run: async (ctx) => {
          const paid = await step(ctx, `pay:${ctx.id('order')}`, () => 'paid')
          const shipped = await step(ctx, `ship:${ctx.id('parcel')}:${ctx.random()}`, () => 'shipped')
          return [paid, shipped, await step(ctx, `thank:${ctx.id('letter')}`, () => 'thanked')]
        },
      }),
  ],
  [
    'code that asks a person between ids',
    () =>
      agent({
        name: 'asker',
        run: async (ctx) => {
          const one = await step(ctx, `one:${ctx.id('a')}`, () => 'one')
          const said = await interrupt(ctx, 'two?')
          return [one, asText(said), await step(ctx, `three:${ctx.id('b')}`, () => 'three')]
        },
      }),
  ],
  [
    'a hedge',
    () =>
      boss([['slow']], [worker('slow', untilStopped), worker('fast', () => 'FAST')], {
        workers: { slow: { hedge: { afterMs: 20, with: 'fast' } } },
      }),
  ],
  [
    'two delegations, one of which is tried again',
    () => {
      let calls = 0
      const flaky = worker('a', () => {
        if (calls++ === 0) throw new Error('flaky')
        return 'A'
      })
      return boss([['a', 'b']], [flaky, worker('b', () => 'B')], { retry: { attempts: 2, backoffMs: 5 } })
    },
  ],
  [
    'a worker that remembers, twice at once and once more',
    () => boss([['a', 'a'], ['a']], [worker('a', ({ messages }) => `A${messages.length}`)], { memory: 'continue' }),
  ],
  [
    'a worker placed apart that draws ids',
    () =>
      boss(
        [['apart']],
        [
          agent({
            name: 'apart',
            description: 'Works apart.',
            run: async (ctx) => {
              const one = await step(ctx, `one:${ctx.id('a')}`, () => 'one')
              const said = await interrupt(ctx, 'two?')
              return [one, asText(said), await step(ctx, `three:${ctx.id('b')}`, () => 'three')]
            },
          }),
        ],
        { workers: { apart: { place: 'apart' } } },
      ),
  ],
]

describe('K10: a fork at any position replays what it copied', () => {
  test.each(shapes)(
    '%s',
    async (_name, make) => {
      const root = make()
      await using runtime = await runtimeThere({ agents: [root] })
      const run = await runtime.start(root, 'Go', startedThere())
      const end = await ended(runtime, run)
      expect(end).toMatchObject({ status: 'completed' })
      const events = await feed(run)
      expect(await wrongForks(runtime, root, run, (outcome) => isDeepStrictEqual(outcome, end), events)).toEqual([])
      expect(await feed(run)).toEqual(events)
    },
    90_000,
  )
})

test('a fork of a fork, from what that one has copied and from what it has done itself', async () => {
  const root = shapes[4]![1]()
  await using runtime = await runtimeThere({ agents: [root] })
  const run = await runtime.start(root, 'Go', startedThere())
  const end = await ended(runtime, run)
  const events = await feed(run)
  const fork = await runtime.fork({ run: run.id, at: events[Math.floor(events.length / 2)]!.position })
  expect(await ended(runtime, fork)).toEqual(end)
  const isRight = (outcome: unknown): boolean => isDeepStrictEqual(outcome, end)
  expect(await wrongForks(runtime, root, fork, isRight, await feed(fork))).toEqual([])
}, 90_000)

describe('a fork of a run that has not ended is a run of its own', () => {
  test('the origin waits for a person', async () => {
    const root = shapes[1]![1]()
    await using runtime = await runtimeThere({ agents: [root] })
    const run = await runtime.start(root, 'Go', startedThere())
    await run.until('waiting')
    const events = await feed(run)
    const output = ['one', 'mine', 'three']
    const isRight = (outcome: unknown): boolean => isDeepStrictEqual(outcome, { status: 'completed', output })
    expect(await wrongForks(runtime, root, run, isRight, events)).toEqual([])
    expect((await run.view()).status).toBe('waiting')
    expect(await ended(runtime, run)).toMatchObject({ output })
  }, 90_000)

  test('the origin works', async () => {
    let open = (): void => {}
    let begun = (): void => {}
    const gate = new Promise<void>((done) => (open = done))
    const started = new Promise<void>((done) => (begun = done))
    let calls = 0
    const root = agent({
      name: 'slow',
      run: async (ctx) => {
        const one = await step(ctx, `one:${ctx.id('a')}`, () => 'one')
        const work = async (): Promise<string> => {
          if (calls++ > 0) return 'two'
          begun()
          await gate
          return 'two'
        }
        return [one, await step(ctx, `two:${ctx.id('b')}`, work, { effect: 'read' })]
      },
    })
    await using runtime = await runtimeThere({ agents: [root] })
    const run = await runtime.start(root, 'Go', startedThere())
    await started
    const events = await feed(run)
    const output = ['one', 'two']
    const isRight = (outcome: unknown): boolean => isDeepStrictEqual(outcome, { status: 'completed', output })
    expect(await wrongForks(runtime, root, run, isRight, events)).toEqual([])
    expect((await run.view()).status).toBe('running')
    open()
    expect(await ended(runtime, run)).toMatchObject({ output })
  }, 90_000)

  test('the origin waits in its session behind another run, and others behind it', async () => {
    const root = shapes[1]![1]()
    await using runtime = await runtimeThere({ agents: [root] })
    const session = 'full'
    const first = await runtime.start(root, 'first', { session })
    await first.until('waiting')
    const run = await runtime.start(root, 'Go', { session })
    await expect.poll(async () => (await run.view()).status).toBe('queued')
    const last = await runtime.start(root, 'last', { session })
    await expect.poll(async () => (await last.view()).status).toBe('queued')
    const output = ['one', 'mine', 'three']
    const isRight = (outcome: unknown): boolean => isDeepStrictEqual(outcome, { status: 'completed', output })
    expect(await wrongForks(runtime, root, run, isRight, await feed(run))).toEqual([])
    // and once more when it has had its turn
    await ended(runtime, first)
    expect(await ended(runtime, run)).toMatchObject({ output })
    expect(await wrongForks(runtime, root, run, isRight, await feed(run))).toEqual([])
    expect(await ended(runtime, last)).toMatchObject({ output })
  }, 90_000)
})

describe('a fork of a run of a session has a session of its own', () => {
  /** Says what it was shown. */
  const echo = (): Agent =>
    agent({
      name: 'echo',
      model: ({ messages }) => {
        const texts = messages.flatMap(({ role, content }) => (role === 'system' ? [] : [asText(content)]))
        return texts.at(-1) === 'ask' ? calls(['ask', {}]) : `[${texts.join(' | ')}]`
      },
      tools: [tool({ name: 'ask', run: async (ctx) => asText(await interrupt(ctx, 'well?')) })],
    })
  const answer = async (runtime: Runtime, run: Run<unknown>): Promise<unknown> =>
    ((await ended(runtime, run)) as { output?: unknown }).output

  test('later runs of it see the copied turns and that of the fork, each once; the origin’s session is as it was', async () => {
    const root = echo()
    await using runtime = await runtimeThere({ agents: [root] })
    const session = 'talk'
    await runtime.run(root, 'one', { session })
    const run = await runtime.start(root, 'ask', { session })
    await run.until('waiting')
    const queued = await runtime.start(root, 'three', { session })
    const fork = await runtime.fork({ run: run.id })
    expect(await answer(runtime, fork)).toBe('[one | [one] | ask |  | mine]')
    // of a fork at work, too, the next run waits for its turn
    const other = await runtime.fork({ run: run.id })
    await other.until('waiting')
    const behind = await runtime.start(root, 'four', { session: other.id })
    await expect.poll(async () => (await behind.view()).queued?.behind).toBe(other.id)
    await answer(runtime, other)
    const said = '[one | [one] | ask | [one | [one] | ask |  | mine] | four]'
    expect(await answer(runtime, behind)).toBe(said)
    expect((await runtime.run(root, 'four', { session: fork.id })) as object).toMatchObject({ output: said })
    // a fork of a fork of it, and a fork of a run that the fork's session has had since
    const again = await runtime.fork({ run: other.id, at: (await feed(other)).find(isForked)!.position })
    expect(await answer(runtime, again)).toBe('[one | [one] | ask |  | mine]')
    const later = await runtime.fork({ run: behind.id, at: (await feed(behind)).at(-3)!.position })
    expect(await answer(runtime, later)).toBe(said)
    expect(await answer(runtime, run)).toBe('[one | [one] | ask |  | mine]')
    expect(await answer(runtime, queued)).toBe('[one | [one] | ask | [one | [one] | ask |  | mine] | three]')
  }, 60_000)

  test('a retry goes on with what was drawn, raced and remembered', async () => {
    let failing = true
    const root = boss([['a'], ['a']], [worker('a', ({ messages }) => `A${messages.length}`)], { memory: 'continue' })
    const failsOnce = supervisor({
      name: 'top',
      model: (request) => {
        const answer = leads(['boss'])(request)
        if (typeof answer === 'string' && failing) {
          failing = false
          throw new Error('the provider is down')
        }
        return answer
      },
      workers: [root],
      delegation: { memory: 'continue' },
      retry: { attempts: 1 },
    })
    await using runtime = await runtimeThere({ agents: [failsOnce] })
    const failed = await runtime.run(failsOnce, 'Go', { session: 'retried' })
    expect(failed.status).toBe('failed')
    const retried = await runtime.retry(failed.run)
    const outcome = await retried.outcome()
    expect(outcome).toMatchObject({ status: 'completed' })
    const other = await runtime.run(failsOnce, 'Go', { session: 'other' })
    expect((outcome as { output: unknown }).output).toEqual((other as { output: unknown }).output)
    expect((await retried.view()).caller).toMatchObject({ session: retried.id })
  }, 60_000)
})

const isForked = ({ event }: Recorded): boolean => event.type === 'run.forked'
