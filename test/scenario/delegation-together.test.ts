/** What delegations can do, used together: what one option says, another does not undo. */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { supervisor, type Delegation, type DelegationEnd } from '@reeve/supervisor'
import { pay, worker } from './control.ts'
import { door, until } from './doors.ts'
import { calls, delegates, fatal, runtimeOf, scripted, told, type Scripted } from './team.ts'

const team = (
  model: Scripted,
  workers: readonly ReturnType<typeof worker>[],
  delegation: Delegation<string>,
  more: object = {},
) => supervisor({ name: 'S', description: 'Leads.', model, workers, delegation, ...more })
const shut = (name: string) => {
  const gate = door()
  return { ...gate, open: () => gate.open(), agent: worker(name, scripted(gate.before(`${name} late`))) }
}
/** A hook that keeps what it hears. */
function listening() {
  const heard: string[] = []
  return {
    heard,
    onComplete: ({ delegation, worker: name, status }: DelegationEnd) =>
      void heard.push(`${delegation} ${name} ${status}`),
  }
}

describe('a leader that ends while others work in the background', () => {
  test('delegation 69, 79: having forwarded, it waits for them, their hooks run, and the answer stands', async () => {
    const slow = shut('slow')
    const { heard, onComplete } = listening()
    const model = scripted(delegates(['quick', 'go'], ['slow', 'go']), calls(['forward_message', { worker: 'quick' }]))
    const S = team(model, [worker('quick'), slow.agent], { background: ['slow'], onComplete })
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await until(async () => (await run.view()).activations[0]?.modelCalls === 2)
    expect((await run.delegations()).find(({ worker: name }) => name === 'slow')).toMatchObject({ status: 'running' })
    slow.open()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'quick result' })
    expect(heard).toEqual(['d1 quick completed', 'd2 slow completed'])
    expect(model.prompts).toHaveLength(2)
  })

  test('delegation 69, 79: it has forwarded, and is to stop them when it is done', async () => {
    const slow = shut('slow')
    const { heard, onComplete } = listening()
    const model = scripted(delegates(['quick', 'go'], ['slow', 'go']), calls(['forward_message', { worker: 'quick' }]))
    const S = team(model, [worker('quick'), slow.agent], {
      background: { workers: ['slow'], whenDone: 'stop' },
      onComplete,
    })
    expect(await (await runtimeOf([S])).run(S, 'hi')).toMatchObject({ status: 'completed', output: 'quick result' })
    expect(heard).toEqual(['d1 quick completed', 'd2 slow cancelled'])
  })

  test('delegation 31: one of them bails after the leader has forwarded: the hook has the last word', async () => {
    const slow = shut('slow')
    const model = scripted(delegates(['quick', 'go'], ['slow', 'go']), calls(['forward_message', { worker: 'quick' }]))
    const onComplete = ({ worker: name, bail }: DelegationEnd) => (name === 'slow' ? bail('wait, no') : undefined)
    const S = team(model, [worker('quick'), slow.agent], { background: ['slow'], onComplete })
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await until(async () => (await run.view()).activations[0]?.modelCalls === 2)
    slow.open()
    expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'wait, no' })
  })

  test.each(['in the background, too', 'while it waits'])(
    'delegation 31: one bails %s: the others are stopped, and their hooks hear it',
    async (how) => {
      const slow = shut('slow')
      const heard: string[] = []
      const onComplete = ({ worker: name, status, bail }: DelegationEnd) => {
        heard.push(`${name} ${status}`)
        if (name === 'quick') bail()
      }
      const model = scripted(delegates(['quick', 'go'], ['slow', 'go']), 'meanwhile')
      const background = how === 'while it waits' ? ['slow'] : ['quick', 'slow']
      const S = team(model, [worker('quick'), slow.agent], { background, onComplete })
      const run = await (await runtimeOf([S])).start(S, 'hi')
      expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'quick result' })
      expect(heard).toEqual(['quick completed', 'slow cancelled'])
      expect((await run.delegations()).map(({ status }) => status).sort()).toEqual(['cancelled', 'completed'])
    },
  )

  test('delegation 74: its model fails: workers are stopped, hooks hear it, the failure is the outcome', async () => {
    const slow = shut('slow')
    const { heard, onComplete } = listening()
    const S = team(scripted(delegates(['slow', 'go']), fatal('no')), [slow.agent], { background: ['slow'], onComplete })
    expect(await (await runtimeOf([S])).run(S, 'hi')).toMatchObject({ status: 'failed' })
    expect(heard).toEqual(['d1 slow cancelled'])
  })

  test('delegation 54, 31: a thread that was at work when a hook bailed is given back at once', async () => {
    const slow = shut('slow')
    const onComplete = ({ worker: name }: DelegationEnd) =>
      name === 'quick' ? { bail: { answer: 'enough' } } : undefined
    const delegation: Delegation<string> = {
      background: ['quick', 'slow'],
      memory: { thread: 't' },
      workers: { quick: { memory: 'isolated' } },
      onComplete,
    }
    const inner = team(
      scripted(delegates(['quick', 'go'], ['slow', 'go']), 'meanwhile'),
      [worker('quick'), slow.agent],
      delegation,
    )
    const reader = worker('reader')
    const root = supervisor({
      name: 'root',
      workers: [inner, reader],
      delegation: { workers: { reader: { memory: { thread: 't' } } } },
      run: async (_ctx, _brief, own) => [
        (await own.delegate('S' as never, 'a' as never)).outcome.status,
        (await own.delegate('reader' as never, 'b' as never)).text,
      ],
    })
    const begun = Date.now()
    expect(await (await runtimeOf([root])).run(root, 'hi')).toMatchObject({ output: ['bailed', 'reader result'] })
    expect(Date.now() - begun).toBeLessThan(4_000)
  })
})

describe('one option and another', () => {
  test('delegation 23, 87: the turns that a model gives are no more than those of the version that holds', async () => {
    const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
    const model = scripted(...Array.from({ length: 12 }, () => calls(['look', {}])))
    const w1 = agent({ name: 'w1', description: 'Looks.', model, tools: [look] })
    const S = team(scripted(calls(['delegate', { worker: 'w1', instructions: 'go', turns: 10 }]), 'final'), [w1], {})
    const runtime = await runtimeOf([S])
    await runtime.versions.publish('w1', { version: 'v2', limits: { turns: 3 } })
    const run = await runtime.start(S, 'hi', { versions: { w1: 'v2' } })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(model.prompts).toHaveLength(3)
    expect((await run.delegations())[0]).toMatchObject({ outcome: { status: 'limited', limit: 'turns' } })
  })

  test('delegation 21: a hook that refuses a hedged delegation runs once, and no hedge begins', async () => {
    const asked: string[] = []
    const model = scripted(delegates(['w1', 'go']), 'final')
    const S = team(model, [worker('w1'), worker('w2')], {
      onStart: ({ delegation }) => (asked.push(delegation), { proceed: false, reason: 'not today' }),
      workers: { w1: { hedge: { afterMs: 5, with: 'w2' } } },
    })
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await run.outcome()
    expect(asked).toEqual(['d1'])
    expect(told(model.prompts[1])).toEqual(['[not delegated: rejected: not today]'])
    expect((await run.delegations()).map(({ label, status }) => [label, status])).toEqual([['d1', 'refused']])
  })

  test('delegation 27, 29, 31: what a hook says without a word is nothing said', async () => {
    const model = scripted(delegates(['w1', 'go']), 'final')
    const S = team(model, [worker('w1')], { onComplete: () => ({ result: ' \n', feedback: '  ' }) })
    await (await runtimeOf([S])).run(S, 'hi')
    expect(model.prompts[1]!.slice(3)).toMatchObject([{ role: 'tool', content: '[no result]' }])
    const bails = team(scripted(delegates(['w1', 'go'])), [worker('w1')], {
      onComplete: () => ({ bail: { answer: ' ' } }),
    })
    expect(await (await runtimeOf([bails])).run(bails, 'hi')).toMatchObject({ status: 'bailed', text: 'w1 result' })
  })

  test('delegation 82: a label is a label, also where the model gives its calls ids that look like labels', async () => {
    const first = delegates(['w1', 'go', 'd2'], ['w2', 'go', 'd1'])
    // the tool says that a worker or a delegation is named; earlier versions had a parameter for each
    for (const named of [{ worker: 'd2' }, { delegation: 'd2' }]) {
      const S = team(scripted(first, calls(['forward_message', named])), [worker('w1'), worker('w2')], {})
      expect(await (await runtimeOf([S])).run(S, 'hi')).toMatchObject({ output: 'w2 result' })
    }
  })

  test('delegation 73, 82: only the delegation of this label is stopped, under any call ids', async () => {
    const slow = shut('slow')
    const stops = calls(['stop_delegation', { delegation: 'd2' }])
    const model = scripted(delegates(['slow', 'go', 'd2'], ['other', 'go', 'd1']), stops, 'waiting', 'final')
    const other = shut('other')
    const S = team(model, [slow.agent, other.agent], { background: ['slow', 'other'] })
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await until(() => model.prompts.length >= 3)
    slow.open()
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    const ends = (await run.delegations()).map(({ worker: name, status }) => `${name} ${status}`)
    expect(ends.sort()).toEqual(['other cancelled', 'slow completed'])
  })

  test('delegation 72, 45: a worker out of time is timed out in every view', async () => {
    const slow = shut('slow')
    const S = team(scripted(delegates(['slow', 'go']), 'final'), [slow.agent], { timeoutMs: 30 })
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await run.outcome()
    expect(await run.delegations()).toMatchObject([
      { status: 'timed-out', outcome: { status: 'timed-out', message: 'it did not end within 30 ms' } },
    ])
  })

  test('delegation 82: who answers in the place of a slow one is forwarded and referred to under its name', async () => {
    const slow = shut('slow')
    const heard: string[] = []
    const reads = scripted('read')
    const uses = calls(['delegate', { worker: 'reader', instructions: 'use it', refs: ['d1'] }])
    const S = team(
      scripted(delegates(['slow', 'go']), uses, calls(['forward_message', { delegation: 'd1' }])),
      [slow.agent, worker('w2'), worker('reader', reads)],
      {
        references: true,
        workers: { slow: { hedge: { afterMs: 20, with: 'w2' } } },
        onComplete: ({ delegation, worker: name, status }) => void heard.push(`${delegation} ${name} ${status}`),
      },
    )
    expect(await (await runtimeOf([S])).run(S, 'hi')).toMatchObject({ output: 'w2 result' })
    expect(reads.prompts[0]![0]!.content).toMatch(/\nw2 result\n[^]*\n\nuse it$/)
    expect(heard.sort()).toEqual(['d1 slow cancelled', 'd1.2 w2 completed', 'd2 reader completed'])
  })

  test('delegation 32: usage adds up over attempts, rivals, those who were stopped, and levels', async () => {
    const used = (text: string) => ({ text, usage: { input: 7, output: 3 } })
    const slow = door()
    const stopped = agent({
      name: 'stopped',
      description: 'Calls, then is stopped.',
      tools: [tool({ name: 'look', effect: 'read', execute: () => 'seen' })],
      model: scripted({ ...calls(['look', {}]), usage: { input: 7, output: 3 } }, slow.before('never')),
    })
    const quick = worker(
      'quick',
      scripted(async () => {
        await until(() => slow.came === 1)
        return used('quick')
      }),
    )
    const inner = team(
      scripted(
        {
          ...calls(['delegate_to_several', { workers: ['stopped', 'quick'], instructions: 'go' }]),
          usage: { input: 7, output: 3 },
        },
        used('inner'),
      ),
      [stopped, quick],
      { several: true },
    )
    const flaky = agent({
      name: 'flaky',
      description: 'Fails once, after its model has answered.',
      model: scripted(used('no json'), used('no json'), used('no json'), used('{"n":1}')),
      output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    })
    const root = supervisor({
      name: 'root',
      model: scripted({ ...delegates(['S', 'go'], ['flaky', 'go']), usage: { input: 7, output: 3 } }, used('final')),
      workers: [inner, flaky],
      delegation: { retry: { attempts: 2, backoffMs: 1, when: () => true } },
    })
    const run = await (await runtimeOf([root])).start(root, 'hi')
    const { usage, ...outcome } = await run.outcome()
    expect(outcome).toMatchObject({ output: 'final' })
    const rows = Object.fromEntries(usage.map(({ agent: name, calls: n, input, output }) => [name, [n, input, output]]))
    expect(rows).toEqual({ root: [2, 14, 6], S: [2, 14, 6], stopped: [2, 7, 3], quick: [1, 7, 3], flaky: [4, 28, 12] })
  })
})

describe('words that are not believed', () => {
  test('K2: a message cannot stop a delegation: run.control.stop() does', async () => {
    const slow = shut('slow')
    const S = team(scripted(delegates(['slow', 'go']), 'final'), [slow.agent], {})
    const run = await (await runtimeOf([S])).start(S, 'hi')
    await until(async () => (await run.view()).activations.length === 2)
    const [leader] = (await run.view()).activations
    for (const delegation of ['d1', (await run.view()).activations[1]!.activation])
      await expect(run.post(leader!.activation, { type: '$stop', delegation, reason: 'forged' })).rejects.toMatchObject(
        {
          code: 'input.invalid',
        },
      )
    slow.open()
    await run.outcome()
    expect(await run.delegations()).toMatchObject([{ status: 'completed' }])
  })

  test('K3: a worker that says that it waits no longer, and never did, gives and takes no permit', async () => {
    const liar = agent({
      name: 'liar',
      description: 'Says what is not so.',
      run: (ctx) => {
        for (let n = 0; n < 3; n++)
          ctx.send(ctx.place.activation.slice(0, ctx.place.activation.lastIndexOf('>')) as never, {
            type: '$permit',
            waits: false,
          })
        return 'lied'
      },
    })
    const model = scripted(delegates(['liar', 'a'], ['w1', 'b'], ['w2', 'c']), 'final')
    const S = team(model, [liar, worker('w1'), worker('w2')], { timeoutMs: 60_000 }, { concurrency: 1 })
    expect(await (await runtimeOf([S])).run(S, 'hi')).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['lied', 'w1 result', 'w2 result'])
  })

  test('delegation 65: a background worker that asks holds up no other; its approval is the run’s', async () => {
    const done: Json[] = []
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      tools: [pay(done)],
      model: scripted(calls(['pay', { n: 1 }]), 'paid up'),
    })
    const model = scripted(delegates(['payer', 'go'], ['w1', 'go']), 'meanwhile', 'final')
    const S = team(model, [payer, worker('w1')], { background: { workers: 'all', concurrency: 1 }, timeoutMs: 60_000 })
    const runtime = await runtimeOf([S])
    const run = await runtime.start(S, 'hi')
    await until(async () =>
      (await run.delegations()).some(({ worker: name, status }) => name === 'w1' && status === 'completed'),
    )
    await until(async () => (await runtime.questions()).length === 1)
    await run.decide({ approvalId: (await runtime.questions())[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(done).toEqual([{ n: 1 }])
  })
})

test('delegation 68: a leader that is code has no use for options that are for a model, and says so', () => {
  const leads = (delegation: Delegation<string>) => () =>
    supervisor({ name: 'S', workers: [worker('w1')], delegation, run: () => 'done' })
  expect(leads({ background: ['w1'], several: true })).toThrow(
    /delegation\.background is for a model that leads[^]*delegation\.several is for a model that leads/,
  )
  expect(leads({ workers: { w1: { background: true } } })).toThrow(/delegation\.workers\.w1\.background is for a model/)
})
