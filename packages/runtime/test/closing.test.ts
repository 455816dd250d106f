/** How a runtime closes: nothing new begins, what is under way has its time of grace, and other processes go on. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Recorded } from '@reeve/journal'
import { agent, sleep, step, supervisor, tool, type Runtime, type RuntimeOptions, type UnderWay } from '@reeve/public'
import { engineUnderTest, runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

/** On another engine options of the engine are given to that. */
const isEmbedded = engineUnderTest() === 'embedded'
const open: Runtime[] = []
const folders: string[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ graceMs: 0 })
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})
async function runtimeOn(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime(options)
  open.push(runtime)
  return runtime
}
async function newStore(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-closing-'))
  folders.push(folder)
  return join(folder, 'own.db')
}

/** A call of a model or a tool that ends when it is told to, or when it is aborted. */
class Calls {
  begun = 0
  aborted = 0
  end = Promise.withResolvers<void>()
  readonly first = Promise.withResolvers<void>()
  async call<T>(signal: AbortSignal | undefined, answer: T): Promise<T> {
    this.begun++
    this.first.resolve()
    const stopped = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => {
        this.aborted++
        reject(signal.reason as Error)
      })
    })
    await Promise.race([this.end.promise, stopped])
    return answer
  }
}

/** Its model calls one tool, whose result ends it. */
function worker(model: Calls, work: Calls, effect: 'read' | 'idempotent' | 'once' = 'idempotent') {
  return agent({
    name: 'worker',
    model: async ({ messages, signal }) => {
      if (messages.at(-1)?.role === 'tool') return 'done'
      return model.call(signal, { calls: [{ name: 'work', input: {} }] })
    },
    tools: [tool({ name: 'work', description: 'Works.', effect, execute: (_, io) => work.call(io.signal, 'worked') })],
  })
}
const ended = (): Calls => {
  const calls = new Calls()
  calls.end.resolve()
  return calls
}

describe('what is under way', () => {
  test('a model call has its time to end, is recorded, and is not made again', async () => {
    const [model, work, store] = [new Calls(), ended(), await newStore()]
    const first = await runtimeOn({ store, agents: [worker(model, work)] })
    const { id } = await first.start('worker', 'go')
    await model.first.promise
    const waiting: UnderWay[] = []
    const closed = first.close({ onWaiting: (underWay) => waiting.push(underWay) })
    await expect(first.start('worker', 'more')).rejects.toMatchObject({ code: 'engine.closed' })
    model.end.resolve()
    await closed
    expect(waiting).toEqual([
      { modelCalls: 1, toolCalls: 0, steps: 0 },
      { modelCalls: 0, toolCalls: 0, steps: 0 },
    ])
    // its tool is a new effect, and none begins any more
    expect([model.begun, model.aborted, work.begun]).toEqual([1, 0, 0])
    const second = await runtimeOn({ store, agents: [worker(model, work)] })
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect([model.begun, work.begun]).toEqual([1, 1])
  })

  test.each(['read', 'idempotent', 'once'] as const)('a tool that is %s has its time to end', async (effect) => {
    const [work, store] = [new Calls(), await newStore()]
    const first = await runtimeOn({ store, agents: [worker(ended(), work, effect)] })
    const { id } = await first.start('worker', 'go')
    await work.first.promise
    const closed = first.close()
    work.end.resolve()
    await closed
    const second = await runtimeOn({ store, agents: [worker(ended(), work, effect)] })
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'completed' })
    expect([work.begun, work.aborted]).toEqual([1, 0])
  })

  test('what does not end in its time is aborted, and begins again with the next process', async () => {
    const [model, store] = [new Calls(), await newStore()]
    const first = await runtimeOn({ store, agents: [worker(model, ended())], ...(isEmbedded ? { graceMs: 20 } : {}) })
    const { id } = await first.start('worker', 'go')
    await model.first.promise
    await first.close(isEmbedded ? {} : { graceMs: 20 })
    expect(model.aborted).toBe(1)
    model.end.resolve()
    const second = await runtimeOn({ store, agents: [worker(model, ended())] })
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'completed' })
    expect(model.begun).toBe(2)
  })

  test('a second call with a shorter grace ends the wait', async () => {
    const model = new Calls()
    const runtime = await runtimeOn({ agents: [worker(model, ended())] })
    await runtime.start('worker', 'go')
    await model.first.promise
    const closed = runtime.close({ graceMs: 600_000 })
    await runtime.close({ graceMs: 0 })
    await closed
    expect(model.aborted).toBe(1)
  })

  test.runIf(isEmbedded)(
    'a store in memory waits for no answer that it could not keep, but for what is done',
    async () => {
      const model = new Calls()
      const asking = await runtimeOn({ agents: [worker(model, ended())] })
      await asking.start('worker', 'go')
      await model.first.promise
      await asking.close()
      expect(model.aborted).toBe(1)
      const work = new Calls()
      const working = await runtimeOn({ agents: [worker(ended(), work)] })
      await working.start('worker', 'go')
      await work.first.promise
      const closed = working.close()
      work.end.resolve()
      await closed
      expect(work.aborted).toBe(0)
      // what was asked for is given
      const waited = new Calls()
      const patient = await runtimeOn({ graceMs: 600_000, agents: [worker(waited, ended())] })
      await patient.start('worker', 'go')
      await waited.first.promise
      const ends = patient.close()
      waited.end.resolve()
      await ends
      expect(waited.aborted).toBe(0)
    },
  )

  test('a call that fails meanwhile is tried again by the next process, not here', async () => {
    const store = await newStore()
    const fails = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    let calls = 0
    const flaky = agent({
      name: 'worker',
      model: async () => {
        if (++calls > 1) return 'done'
        began.resolve()
        await fails.promise
        throw Object.assign(new Error('overloaded'), { status: 503 })
      },
    })
    const first = await runtimeOn({ store, agents: [flaky] })
    const { id } = await first.start('worker', 'go')
    await began.promise
    const closed = first.close()
    fails.resolve()
    await closed
    expect(calls).toBe(1)
    const second = await runtimeOn({ store, agents: [flaky] })
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'completed', output: 'done' })
    const attempts: Recorded[] = []
    for await (const entry of second.handle(id).events())
      if (entry.event.type === 'step.attempt-failed') attempts.push(entry)
    expect(attempts).toHaveLength(1)
  })

  test('where nothing is, closing takes no time of grace', async () => {
    const runtime = await runtimeOn({ agents: [worker(ended(), ended())] })
    await runtime.run('worker', 'go')
    const onWaiting = vi.fn<(underWay: UnderWay) => void>()
    await runtime.close({ graceMs: 600_000, onWaiting })
    expect(onWaiting.mock.calls.map(([{ modelCalls, toolCalls, steps }]) => modelCalls + toolCalls + steps)).toEqual([
      0,
    ])
  })

  test.each([-1, NaN, '5s', null])('a grace of %s is refused', async (graceMs) => {
    const runtime = await runtimeOn({})
    await expect(runtime.close({ graceMs: graceMs as number })).rejects.toMatchObject({ code: 'config.invalid' })
  })

  test('options that are no object are refused', async () => {
    const runtime = await runtimeOn({})
    await expect(runtime.close(null as never)).rejects.toMatchObject({ code: 'config.invalid' })
  })
})

/** An agent whose model says its name when the call is told to end. */
const says = (name: string, calls: Calls) =>
  agent({ name, description: name, model: ({ signal }) => calls.call(signal, `${name} says so`) })

/** A leader with two calls under way: of two workers, or of its own and of one worker. */
const shapes = {
  'a worker and its hedge': (one: Calls, two: Calls) =>
    supervisor({
      name: 'lead',
      workers: [says('slow', one), says('other', two)],
      delegation: { workers: { slow: { hedge: { afterMs: 1, with: 'other' } } } },
      model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : delegate('slow')),
    }),
  'work in the background, and its leader': (one: Calls, two: Calls) =>
    supervisor({
      name: 'lead',
      workers: [says('apart', one)],
      delegation: { background: ['apart'] },
      model: ({ messages, signal }) => {
        const told = JSON.stringify(messages)
        if (told.includes('apart says so')) return 'done'
        return told.includes('works in the background') ? two.call(signal, 'meanwhile') : delegate('apart')
      },
    }),
  'a child run, and a worker beside it': (one: Calls, two: Calls) =>
    supervisor({
      name: 'lead',
      workers: [says('apart', one), says('beside', two)],
      delegation: { workers: { apart: { place: 'apart' } } },
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? 'done'
          : {
              calls: ['apart', 'beside'].map((worker) => ({ name: 'delegate', input: { worker, instructions: 'go' } })),
            },
    }),
} as const
const delegate = (to: string) => ({ calls: [{ name: 'delegate', input: { worker: to, instructions: 'go' } }] })

describe.each(Object.entries(shapes))('%s', (shape, lead) => {
  const begun = async (): Promise<{ one: Calls; two: Calls; store: string; first: Runtime; id: string }> => {
    const [one, two, store] = [new Calls(), new Calls(), await newStore()]
    const first = await runtimeOn({ store, agents: [lead(one, two)] })
    const { id } = await first.start('lead', 'go')
    await Promise.all([one.first.promise, two.first.promise])
    return { one, two, store, first, id }
  }
  /** No worker began twice, and none is left at work. */
  const mustHaveEnded = async (runtime: Runtime, id: string): Promise<void> => {
    expect(await runtime.handle(id).outcome()).toMatchObject({ status: 'completed', output: 'done' })
    const { activations } = await runtime.handle(id).view()
    const names = activations.map(({ agent: name }) => name)
    expect(names).toEqual([...new Set(names)])
    expect(activations.filter(({ endedAt }) => endedAt === undefined)).toEqual([])
    await vi.waitFor(async () => expect(await runtime.runs({ status: ['running', 'waiting'] })).toEqual([]))
  }

  test('both end in their time, are recorded, and are not made again, also beside a process that goes on', async () => {
    const { one, two, store, first, id } = await begun()
    const closed = first.close({ graceMs: 600_000 })
    const second = await runtimeOn({ store, agents: [lead(one, two)] })
    one.end.resolve()
    two.end.resolve()
    await closed
    await mustHaveEnded(second, id)
    expect([one.begun, one.aborted, two.begun, two.aborted]).toEqual([1, 0, 1, 0])
  })

  test('one ends in its time, the other is aborted at its end and made again by the next process', async () => {
    const { one, two, store, first, id } = await begun()
    const closed = first.close({ graceMs: 600_000 })
    two.end.resolve()
    await first.close({ graceMs: 50 })
    await closed
    expect([one.aborted, two.aborted]).toEqual([1, 0])
    one.end.resolve()
    const second = await runtimeOn({ store, agents: [lead(one, two)] })
    await mustHaveEnded(second, id)
    // what the answer that was recorded has decided against is not made again
    expect([one.begun, two.begun]).toEqual([shape === 'a worker and its hedge' ? 1 : 2, 1])
  })

  test('without a grace both are aborted, and made again by the next process', async () => {
    const { one, two, store, first, id } = await begun()
    await first.close({ graceMs: 0 })
    expect([one.aborted, two.aborted]).toEqual([1, 1])
    one.end.resolve()
    two.end.resolve()
    const second = await runtimeOn({ store, agents: [lead(one, two)] })
    await mustHaveEnded(second, id)
    expect([one.begun, two.begun]).toEqual([2, 2])
  })
})

describe('other processes meanwhile', () => {
  test('take up at once what this one has nothing under way for, and leave it what it has', async () => {
    const [model, store] = [new Calls(), await newStore()]
    const naps = agent({
      name: 'naps',
      run: async (ctx) => {
        await step(ctx, 'lie down', () => 'lying')
        await sleep(ctx, 500)
        return step(ctx, 'get up', () => 'awake')
      },
    })
    const agents = [worker(model, ended()), naps]
    // a run that waits for the clock is in memory, and this process's own, for longer than the nap
    const first = await runtimeOn({ store, agents, ...(isEmbedded ? { parkAfterMs: 600_000 } : {}) })
    const { id } = await first.start('worker', 'go')
    await model.first.promise
    const nap = await first.start('naps', 'go')
    await vi.waitFor(async () => expect((await first.runs({ agent: 'naps' }))[0]?.status).toBe('running'))
    const closed = first.close({ graceMs: 600_000 })
    const second = await runtimeOn({ store, agents })
    expect(await second.handle(nap.id).outcome()).toMatchObject({ status: 'completed', output: 'awake' })
    expect([(await second.handle(id).summary()).status, model.begun]).toEqual(['running', 1])
    model.end.resolve()
    await closed
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'completed' })
    expect(model.begun).toBe(1)
  })

  test('carry out a cancel at once: what is under way for it is aborted', async () => {
    const [model, store] = [new Calls(), await newStore()]
    const agents = [worker(model, ended())]
    const first = await runtimeOn({ store, agents })
    const { id } = await first.start('worker', 'go')
    await model.first.promise
    const closed = first.close({ graceMs: 600_000 })
    const second = await runtimeOn({ store, agents })
    await second.handle(id).control.cancel('not needed')
    expect(await second.handle(id).outcome()).toMatchObject({ status: 'cancelled' })
    await closed
    expect([model.begun, model.aborted]).toEqual([1, 1])
  })
})
