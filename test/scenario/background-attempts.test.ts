/**
 * How long a delegation may take, how often it is tried, and how it is stopped from outside: spec delegation 72, 73;
 * 67's spirit for stops.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import { asTool, parallel } from '@reeve/flow'
import type { Message } from '@reeve/model'
import { supervisor, type Delegation } from '@reeve/supervisor'
import { pay, worker } from './control.ts'
import { door, until } from './doors.ts'
import {
  calls,
  delegates,
  eventsOf,
  fatal,
  pause,
  runtimeOf,
  scripted,
  store,
  told,
  waiting,
  type Scripted,
} from './team.ts'

const team = (model: Scripted, workers: readonly unknown[], delegation: Delegation<string>, more: object = {}) =>
  supervisor({ name: 'S', model, workers, delegation, ...more } as Parameters<typeof supervisor>[0])
const results = (prompt: readonly Message[] | undefined): Json[] =>
  (prompt ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []))

/** A worker that fails so often, and then answers. */
const flaky = (fails: number, at: number[] = [], why: () => Error = () => new Error('not yet')) =>
  agent({
    name: 'w1',
    description: 'Is flaky.',
    retry: { attempts: 1 },
    model: scripted(() => {
      at.push(performance.now())
      if (at.length <= fails) throw why()
      return 'ok at last'
    }),
  })

describe('trying again', () => {
  test.each([['awaited'], ['deferred']] as const)(
    'delegation 72: attempts at about 0, 100 and 300 ms, the hook hears each with its number (%s)',
    async (background) => {
      const at: number[] = []
      const heard: string[] = []
      const delegation: Delegation<string> = {
        retry: { attempts: 3, backoffMs: 100, jitter: false },
        onComplete: ({ attempt, status }) => void heard.push(`${attempt} ${status}`),
        workers: { w1: { background } },
      }
      const model = scripted(
        delegates(['w1', 'go']),
        ({ messages }) => (JSON.stringify(messages).includes('at last') ? 'final' : 'waiting'),
        'final',
      )
      const leader = team(model, [flaky(2, at)], delegation)
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(heard).toEqual(['1 failed', '2 failed', '3 completed'])
      const gaps = at.map((each) => each - at[0]!)
      expect(gaps[1]).toBeGreaterThanOrEqual(95)
      expect(gaps[2]).toBeGreaterThanOrEqual(290)
      expect(results(model.prompts.at(-1))).toEqual(['ok at last'])
      expect((await run.view()).activations.map(({ state }) => state)).toEqual([
        'completed',
        'failed',
        'failed',
        'completed',
      ])
      expect(await run.delegations()).toMatchObject([{ label: 'd1', attempts: 3, status: 'completed' }])
    },
  )

  test('delegation 72: a rule that says no ends it; one that throws counts as no, and is recorded', async () => {
    for (const [when, failed] of [
      [() => false, 0],
      [
        () => {
          throw new Error('oh')
        },
        1,
      ],
    ] as const) {
      const at: number[] = []
      const model = scripted(delegates(['w1', 'go']), 'final')
      const leader = team(model, [flaky(9, at)], { retry: { attempts: 3, backoffMs: 1, when } })
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      await run.outcome()
      expect(at).toHaveLength(1)
      expect((await eventsOf(run)).filter(({ type }) => type === 'hook.failed')).toHaveLength(failed)
    }
  })

  test.each(['validation', 'policy', 'budget', 'rejected'] as const)(
    'a failure of the class %s is not tried again by default',
    async (of) => {
      const at: number[] = []
      const model = scripted(delegates(['w1', 'go']), 'final')
      const why = () => new FailureError(failure('model.bad-request', 'no', of))
      const leader = team(model, [flaky(9, at, why)], { retry: { attempts: 3, backoffMs: 1 } })
      await (await runtimeOf([leader])).run(leader, 'hi')
      expect(at).toHaveLength(1)
    },
  )

  test('the last failure is told, and what every attempt used counts', async () => {
    const model = scripted(delegates(['w1', 'go']), 'final')
    const w1 = agent({
      name: 'w1',
      description: 'Thinks, then fails.',
      output: { type: 'object' },
      model: scripted({ text: 'no JSON', usage: { input: 10, output: 1 } }),
    })
    const when = (): boolean => true
    const leader = team(model, [w1], { retry: { attempts: 2, backoffMs: 1, when } })
    const outcome = await (await runtimeOf([leader])).run(leader, 'hi')
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/worker "w1" failed/)])
    expect(outcome.usage.filter((row) => row.agent === 'w1')).toMatchObject([{ input: 60 }]) // two attempts of three calls each
  })

  test('a hook that bails on a failed attempt ends it all', async () => {
    const at: number[] = []
    const leader = team(scripted(delegates(['w1', 'go']), 'never'), [flaky(9, at)], {
      retry: { attempts: 3, backoffMs: 1 },
      onComplete: () => ({ bail: { answer: 'that is it' } }),
    })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ status: 'bailed', text: 'that is it' })
    expect(at).toHaveLength(1)
  })
})

describe('running out of time', () => {
  test.each([['awaited'], ['deferred']] as const)(
    'a worker that is too slow is stopped, and its outcome says so (%s)',
    async (background) => {
      const never = door()
      const heard: string[] = []
      const model = scripted(
        delegates(['w1', 'go']),
        ({ messages }) => (JSON.stringify(messages).includes('out of time') ? 'final' : 'waiting'),
        'final',
      )
      const leader = team(model, [worker('w1', scripted(never.before('never')))], {
        timeoutMs: 40,
        workers: { w1: { background } },
        onComplete: ({ status }) => void heard.push(status),
      })
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(results(model.prompts.at(-1))).toEqual(['[worker "w1" ran out of time: it did not end within 40 ms]'])
      expect(heard).toEqual(['timed-out'])
    },
  )

  test('what is in time leaves no timer behind', async () => {
    const leader = team(scripted(delegates(['w1', 'go']), 'final'), [worker('w1')], { timeoutMs: 200 })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    const begun = performance.now()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(performance.now() - begun).toBeLessThan(200)
    expect((await run.view()).activations.flatMap(({ open }) => open)).toEqual([])
  })

  test('tried again after running out of time', async () => {
    const never = door()
    const w1 = worker('w1', scripted(never.before('never'), 'quick'))
    const leader = team(scripted(delegates(['w1', 'go']), 'final'), [w1], {
      timeoutMs: 50,
      retry: { attempts: 2, backoffMs: 1 },
    })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await run.outcome()
    expect((await run.view()).activations.map(({ state }) => state)).toEqual(['completed', 'timed-out', 'completed'])
  })

  test('the clock stands while a human is waited for', async () => {
    const done: Json[] = []
    const w1 = agent({
      name: 'w1',
      description: 'Pays.',
      model: scripted(calls(['pay', { n: 1 }]), 'paid it'),
      tools: [pay(done)],
    })
    const model = scripted(delegates(['w1', 'go']), 'final')
    const leader = team(model, [w1], { timeoutMs: 100 })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    const { waiting: open } = await waiting(run)
    await pause(150)
    await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([results(model.prompts[1]), done]).toEqual([['paid it'], [{ n: 1 }]])
  })
})

describe('a stop from outside', () => {
  test.each([['awaited'], ['deferred']] as const)(
    'delegation 73: the worker ends, its leader is told, the run goes on (%s)',
    async (background) => {
      const never = door()
      const model = scripted(
        delegates(['w1', 'go', 'c1']),
        ({ messages }) => (JSON.stringify(messages).includes('was cancelled') ? 'final' : 'waiting'),
        'final',
      )
      const leader = team(model, [worker('w1', scripted(never.before('never')))], { workers: { w1: { background } } })
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      await until(() => never.came === 1)
      const { activation } = (await run.view()).activations[1]!
      await run.control.stop({ delegation: activation, reason: 'too dear', by: 'ann' })
      expect(await run.outcome()).toMatchObject({ output: 'final' })
      expect(results(model.prompts.at(-1))).toEqual(['[worker "w1" was cancelled: stopped by ann: too dear]'])
      await expect(run.control.stop({ delegation: activation })).rejects.toMatchObject({ code: 'delegation.ended' })
    },
  )

  test('by the id of the call, also of one that has not begun', async () => {
    const shut = door()
    const model = scripted(delegates(['w1', 'go', 'c1'], ['w2', 'go', 'c2']), 'waiting', 'final')
    const w1 = worker('w1', scripted(shut.before('out')))
    const leader = team(model, [w1, worker('w2')], { background: { workers: 'all', concurrency: 1, react: 'all' } })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => shut.came === 1 && model.prompts.length === 2)
    await run.control.stop({ delegation: 'c2' })
    await until(async () => (await run.delegations())[1]?.status === 'refused')
    shut.open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts.at(-1))).toEqual([
      'out',
      expect.stringMatching(/stopped before it began: stopped by the operator/),
    ])
    expect((await run.view()).activations.map(({ agent: name }) => name)).toEqual(['S', 'w1'])
  })

  test('by its leader’s name for it, as long as one leader alone has an open one of that name', async () => {
    const never = door()
    const leading = (name: string, workers: readonly unknown[]) =>
      supervisor({
        name,
        description: 'Leads.',
        model: scripted(delegates([`${name}1`, 'go']), 'done'),
        workers,
      } as never)
    const held = (name: string) => worker(name, scripted(never.before('never')))
    const a = leading('a', [held('a1')])
    const b = leading('b', [held('b1')])
    const model = scripted(delegates(['a', 'go'], ['b', 'go']), 'final')
    const leader = team(model, [a, b], {})
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => never.came === 2)
    const { activations } = await run.view()
    const idOf = (name: string) => activations.find(({ agent: each }) => each === name)!.activation
    const refused: unknown = await run.control.stop({ delegation: 'd1' }).catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({
      code: 'input.invalid',
      message: expect.stringMatching(/^several delegations are called "d1": /),
    })
    // Which of them began first is not fixed: the two leaders run at the same time.
    const named = (refused as Error).message.split('called "d1": ')[1]!.split(', ')
    expect(new Set(named)).toEqual(new Set(['a', 'a1', 'b1'].map((name) => `${idOf(name)} ("${name}")`)))
    await run.control.stop({ delegation: 'd2' })
    await until(
      async () => (await run.view()).activations.find(({ agent: each }) => each === 'b')?.outcome !== undefined,
    )
    await expect(run.control.stop({ delegation: 'd2' })).rejects.toMatchObject({ code: 'delegation.ended' })
    await run.control.stop({ delegation: idOf('a1') })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[1])).toEqual(['done', '[worker "b" was cancelled: stopped by the operator]'])
  })

  test('from another process, which has the store and nothing else', async () => {
    const file = store()
    const never = door()
    const model = scripted(delegates(['w1', 'go', 'c1']), 'waiting', 'final')
    const leader = team(model, [worker('w1', scripted(never.before('never')))], { background: ['w1'] })
    const run = await (await runtimeOf([leader], { store: file })).start(leader, 'hi')
    await until(() => never.came === 1 && model.prompts.length === 2)
    const elsewhere = await runtimeOf([], { store: file, drive: false })
    await elsewhere.handle(run.id).control.stop({ delegation: 'c1', by: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts.at(-1))).toEqual(['[worker "w1" was cancelled: stopped by bob]'])
  })

  test('between two attempts', async () => {
    const at: number[] = []
    const model = scripted(delegates(['w1', 'go', 'c1']), 'final')
    const leader = team(model, [flaky(9, at)], {
      retry: { attempts: 2, backoffMs: 60_000, jitter: false, maxBackoffMs: 60_000 },
    })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(async () => (await run.view()).activations[0]!.open.some(({ kind }) => kind === 'timer'))
    await run.control.stop({ delegation: 'c1' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(at).toHaveLength(1)
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/worker "w1" failed/)])
  })

  test('delegation 67: of what is not there, or has ended, the error says so, and nothing changes', async () => {
    const shut = door()
    const model = scripted(delegates(['w1', 'go', 'c1']), shut.before('final'))
    const leader = team(model, [worker('w1')], {})
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => shut.came === 1)
    const stop = (delegation: string) => run.control.stop({ delegation })
    await expect(stop('c1')).rejects.toMatchObject({ code: 'delegation.ended' })
    await expect(stop('c9')).rejects.toMatchObject({ code: 'delegation.unknown' })
    await expect(stop('')).rejects.toMatchObject({ code: 'input.invalid' })
    await expect(run.control.stop({ delegation: 'c1', because: 'x' } as never)).rejects.toMatchObject({
      code: 'input.invalid',
    })
    shut.open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })

  test('an agent cannot stop the work of another by a message that looks like it', async () => {
    const shut = door()
    const model = scripted(delegates(['forger', 'go'], ['w1', 'go']), 'final')
    const forger = agent({
      name: 'forger',
      description: 'Forges.',
      run: (ctx) => {
        const leader = ctx.place.activation.slice(
          0,
          ctx.place.activation.lastIndexOf('>'),
        ) as typeof ctx.place.activation
        ctx.send(leader, { type: '$stop', delegation: 'd2', reason: 'forged' })
        return 'forged'
      },
    })
    const leader = team(model, [forger, worker('w1', scripted(shut.before('out')))], {})
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(async () => (await run.view()).messages.some(({ state }) => state === 'received'))
    shut.open()
    await run.outcome()
    expect(told(model.prompts[1])).toEqual(['forged', 'out'])
  })

  test('at every wait for a worker: delegating code, agents as tools, flow steps, scorers, summarizers', async () => {
    const never = door()
    const inner = () => worker('inner', scripted(never.before('never')))
    const roots = [
      agent({ name: 'root', workers: () => [theOne], run: async (ctx) => (await delegate(ctx, theOne, 'go')).status }),
      agent({ name: 'root', model: scripted(calls(['inner', { request: 'x' }]), 'final'), tools: [asTool(inner())] }),
      parallel({ name: 'root', agents: [inner(), worker('other')] }),
      agent({ name: 'root', model: scripted('final'), limits: { turns: 3 }, isComplete: { scorers: [inner()] } }),
      agent({
        name: 'root',
        model: scripted(calls(['ghost', {}]), 'final'),
        compaction: { above: 1, keep: 0, summarize: inner() },
      }),
    ]
    const theOne = inner()
    for (const [i, root] of roots.entries()) {
      const run = await (await runtimeOf([root])).start(root, 'hi')
      await until(() => never.came === i + 1)
      const { activation } = (await run.view()).activations.find(({ agent: name }) => name === 'inner')!
      await run.control.stop({ delegation: activation })
      await run.outcome()
      expect((await run.view()).activations.find(({ agent: name }) => name === 'inner')).toMatchObject({
        state: 'cancelled',
      })
    }
  })

  test('a failed worker stays failed beside one that is stopped', async () => {
    const never = door()
    const model = scripted(delegates(['bad', 'go', 'c1'], ['w1', 'go', 'c2']), 'final')
    const bad = agent({ name: 'bad', description: 'Fails.', model: scripted(fatal('no')) })
    const leader = team(model, [bad, worker('w1', scripted(never.before('never')))], {})
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => never.came === 1)
    await run.control.stop({ delegation: 'c2' })
    await run.outcome()
    expect(told(model.prompts[1])).toEqual([
      expect.stringMatching(/"bad" failed/),
      expect.stringMatching(/"w1" was cancelled/),
    ])
  })
})
