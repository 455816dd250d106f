/**
 * Spec collaboration, the cases that hold for delegation as well: context, interrupts, resume. And spec team C85.
 * Transfer, workflow agents and agents as tools are not in this version; where a case is about them it is not here.
 */
import { DatabaseSync } from 'node:sqlite'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { agent, sleep, step, tool } from '@reeve/agent'
import { rootActivation, type Json, type RunId } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { createRuntime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

const worker = (name: string, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const pay = (done: Json[] = []) =>
  tool({
    name: 'pay',
    sensitive: true,
    input: { type: 'object', properties: { n: { type: 'number' } } },
    execute: (input) => (done.push(input), 'paid'),
  })

describe('who sees what', () => {
  test('collaboration 6: an event noted under another name belongs to its agent in the journal', async () => {
    const forger = agent({
      name: 'forger',
      description: 'Claims to be another.',
      run: (ctx) => {
        const claim = {
          type: 'fact.noted',
          name: 'Fake',
          data: 1,
          activation: 'act_other',
          run: 'other',
          path: ['Fake'],
          agent: 'Fake',
        }
        ctx.emit(claim as unknown as Parameters<typeof ctx.emit>[0])
        return 'done'
      },
    })
    const boss = supervisor({ name: 'boss', model: scripted(delegates(['forger', 'go']), 'final'), workers: [forger] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const noted: string[] = []
    for await (const { activation, run: of, event } of run.events())
      if (event.type === 'fact.noted') noted.push(activation, of)
    const { activations } = await run.view()
    expect(noted).toEqual([activations[1]!.activation, run.id])
    expect(activations[1]).toMatchObject({ agent: 'forger', path: ['boss', 'forger'] })
  })

  test('collaboration 43: nested leaders: each answers to the one above it, and the paths say so', async () => {
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['w', 'deep']), 'mid answers'),
      workers: [worker('w')],
    })
    const lead = scripted(delegates(['mid', 'go']), 'top answers')
    const top = supervisor({ name: 'top', model: lead, workers: [mid] })
    const runtime = await runtimeOf([top])
    const run = await runtime.start(top, 'please')
    expect(await run.outcome()).toMatchObject({ output: 'top answers' })
    expect(told(lead.prompts[1])).toEqual(['mid answers'])
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual(['top', 'top/mid', 'top/mid/w'])
  })

  test('collaboration 50: each activation begins once and ends once', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w', 'a']), delegates(['w', 'b']), 'final'),
      workers: [worker('w')],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    await run.outcome()
    const events = await eventsOf(run)
    expect(events.filter((event) => event.type === 'activation.started').map((event) => event.agent)).toEqual([
      'boss',
      'w',
      'w',
    ])
    expect(events.filter((event) => event.type === 'activation.settled')).toHaveLength(3)
  })

  test("collaboration 64: the leader sees a worker's last text, and none of its traffic with tools", async () => {
    const echo = tool({ name: 'echo', execute: () => 'a secret of the tool' })
    const busy = agent({
      name: 'busy',
      description: 'Uses a tool.',
      model: scripted({ text: 'thinking', ...calls(['echo', {}]) }, 'the last text'),
      tools: [echo],
    })
    const lead = scripted(delegates(['busy', 'go']), 'final')
    const boss = supervisor({ name: 'boss', model: lead, workers: [busy] })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'please')
    expect(told(lead.prompts[1])).toEqual(['the last text'])
    expect(JSON.stringify(lead.prompts[1])).not.toMatch(/thinking|secret/)
  })

  test("collaboration 65: with the policy 'brief' a worker is shown its brief and nothing else", async () => {
    const w = scripted('done')
    const boss = supervisor({
      name: 'boss',
      instructions: 'A secret of the leader.',
      model: scripted({ text: 'I think aloud', ...delegates(['w', 'only this']) }, 'final'),
      workers: [worker('w', w)],
      delegation: { context: 'brief' },
    })
    const runtime = await runtimeOf([boss])
    await runtime.run(boss, 'the whole story')
    expect(w.prompts).toEqual([[{ role: 'user', content: 'only this' }]])
  })
})

describe('asking', () => {
  test('collaboration 48: a worker that asks in two delegations asks under two ids, each answered by its own', async () => {
    const done: Json[] = []
    const payer = scripted(calls(['pay', { n: 1 }]), 'paid once', calls(['pay', { n: 2 }]), 'paid twice')
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'pay 1']), delegates(['payer', 'pay 2']), 'final'),
      workers: [agent({ name: 'payer', description: 'Pays.', model: payer, tools: [pay(done)] })],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const [first] = (await waiting(run)).waiting
    await run.decide({ approvalId: first!.id, decision: 'approve' })
    await expect.poll(async () => (await runtime.approvals())[0]?.input).toEqual({ n: 2 })
    const [second] = (await waiting(run)).waiting
    expect(second!.id).not.toBe(first!.id)
    expect(done).toEqual([{ n: 1 }])
    await run.decide({ approvalId: second!.id, decision: 'reject' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(done).toEqual([{ n: 1 }])
  })

  test('collaboration 91: ours: while the store fails nothing is asked and the process says why; later it is', async () => {
    const db = new DatabaseSync(store())
    const model = scripted(() => {
      db.exec('BEGIN IMMEDIATE') // nobody else can write from here on
      return calls(['pay', { n: 1 }])
    }, 'paid')
    const root = agent({ name: 'root', model, tools: [pay()] })
    const heard: string[] = []
    const runtime = await runtimeOf([root], { store: store(), busyMs: 20, onWarning: (code) => void heard.push(code) })
    const run = await runtime.start(root, 'go')
    const outcome = run.outcome()
    await expect.poll(() => heard).toContain('store.busy')
    expect(await runtime.approvals()).toEqual([])
    expect((await run.view()).approvals).toEqual([])
    db.exec('ROLLBACK')
    db.close()
    const [open] = (await waiting(run)).waiting
    await run.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await outcome).toMatchObject({ output: 'paid' })
  })

  test('collaboration 92: a run that is not there is an error of every method', async () => {
    const runtime = await runtimeOf([worker('w')])
    const run = runtime.handle('nobody')
    const unknown = { code: 'run.unknown' }
    const asked = [
      () => run.outcome(),
      () => run.view(),
      () => run.usage(),
      () => run.control.resume(),
      () => run.control.pause(),
      () => run.control.cancel(),
      () => run.until('waiting'),
    ]
    for (const ask of asked) await expect(ask()).rejects.toMatchObject(unknown)
    await expect(run.events().next()).rejects.toMatchObject(unknown)
    await expect(run.decide({ approvalId: 'apr_1', decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.unknown',
    })
  })

  test('collaboration 93: an ended run never runs again when its store is opened', async () => {
    const model = scripted('final')
    const root = agent({ name: 'root', model })
    const before = await runtimeOf([root], { store: store() })
    const outcome = await before.run(root, 'go', { runId: 'r1' })
    await before.close()
    const after = await runtimeOf([root], { store: store() })
    await expect(after.handle('r1').control.resume()).rejects.toMatchObject({ code: 'run.ended' })
    expect(await after.handle('r1').outcome()).toEqual(outcome)
    expect(await after.run(root, 'go', { runId: 'r1' })).toEqual(outcome) // the same id is the same run
    expect(model.prompts).toHaveLength(1)
  })

  test('collaboration 95: ours: a run that goes on without an answer still asks, under the same id', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'pay']), 'final'),
      workers: [
        agent({
          name: 'payer',
          description: 'Pays.',
          model: scripted(calls(['pay', { n: 1 }]), 'paid'),
          tools: [pay()],
        }),
      ],
    })
    const before = await runtimeOf([boss], { store: store() })
    const run = await before.start(boss, 'please', { runId: 'r1' })
    const first = (await waiting(run)).waiting
    await run.control.pause()
    await run.control.resume()
    expect((await waiting(run)).waiting).toEqual(first)
    await before.close()
    const after = await runtimeOf([boss], { store: store() })
    expect((await waiting(after.handle('r1'))).waiting).toEqual(first)
  })

  test('collaboration 96: an answer may be null', async () => {
    const root = agent({ name: 'root', run: async (ctx) => ({ answered: await interrupt(ctx, 'which?') }) })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [question] = (await waiting(run)).questions
    await run.answer({ interruptId: question!.id, value: null })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: { answered: null } })
  })

  test('collaboration 103: what an agent does after it has asked does not answer the question: the run waits', async () => {
    const root = agent({
      name: 'root',
      run: async (ctx) => {
        const asked = interrupt(ctx, 'which?')
        ctx.emit({ type: 'fact.noted', name: 'after', data: 1 })
        const did = await step(ctx, 'meanwhile', () => 'done')
        return [did, await asked]
      },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [question] = (await waiting(run)).questions
    const sofar = (await run.view()).activations[0]
    expect(sofar).toMatchObject({ state: 'waiting' })
    await run.answer({ interruptId: question!.id, value: 'this' })
    expect(await run.outcome()).toMatchObject({ output: ['done', 'this'] })
    expect((await eventsOf(run)).filter((event) => event.type === 'interrupt.raised')).toHaveLength(1)
  })

  test('team C85: while one worker waits for approval, the others work and end', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'pay'], ['w1', 'a'], ['w2', 'b']), 'final'),
      workers: [
        agent({
          name: 'payer',
          description: 'Pays.',
          model: scripted(calls(['pay', { n: 1 }]), 'paid'),
          tools: [pay()],
        }),
        worker('w1'),
        worker('w2'),
      ],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'please')
    const [open] = (await waiting(run)).waiting
    expect((await run.view()).activations.map(({ agent: name, state }) => [name, state])).toEqual([
      ['boss', 'waiting'],
      ['payer', 'waiting'],
      ['w1', 'completed'],
      ['w2', 'completed'],
    ])
    await run.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
})

describe('going on after a change', () => {
  test('collaboration 100: a worker missing from the team stops the run by name; restored, it goes on', async () => {
    const team = (name: string) =>
      supervisor({
        name: 'boss',
        model: scripted(delegates([name, 'pay']), 'final'),
        workers: [
          agent({ name, description: 'Pays.', model: scripted(calls(['pay', { n: 1 }]), 'paid'), tools: [pay()] }),
        ],
      })
    const first = team('payer')
    const before = await runtimeOf([first], { store: store() })
    const run = await before.start(first, 'please', { runId: 'r1' })
    const [open] = (await waiting(run)).waiting
    await before.close()
    const renamed = await runtimeOf([team('cashier')], { store: store() })
    await renamed.decide({ approvalId: open!.id, decision: 'approve' })
    const stuck = renamed.handle('r1')
    await expect.poll(async () => (await stuck.until('waiting')).status).toBe('stuck')
    expect(await stuck.until('waiting')).toMatchObject({
      status: 'stuck',
      reason: expect.stringMatching(/agent "payer".*not registered/) as string,
    })
    expect((await renamed.runs())[0]).toMatchObject({
      status: 'stuck',
      reason: expect.stringContaining('"payer"') as string,
    })
    await renamed.close()
    const back = await runtimeOf([first], { store: store() })
    expect(await back.handle('r1').outcome()).toMatchObject({ status: 'completed', output: 'final' })
  })

  test('collaboration 101: a journal that cannot be read is an error that says so; another run goes on', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['payer', 'pay'])),
      workers: [
        agent({ name: 'payer', description: 'Pays.', model: scripted(calls(['pay', { n: 1 }])), tools: [pay()] }),
      ],
    })
    const before = await runtimeOf([boss], { store: store() })
    for (const runId of ['bad', 'good']) await waiting(await before.start(boss, 'please', { runId }))
    await before.close()
    const db = new DatabaseSync(store())
    const changed = db
      .prepare(
        `UPDATE log SET body = '{"type":"broken' WHERE seq = 1 AND act = (SELECT num FROM activation WHERE id = ?)`,
      )
      .run(rootActivation('bad' as RunId))
    expect(changed.changes).toBe(1)
    db.close()
    const after = await runtimeOf([boss], { store: store(), onWarning: () => undefined })
    await expect(after.handle('bad').view()).rejects.toMatchObject({ code: 'store.corrupt' })
    expect((await waiting(after.handle('good'))).waiting).toMatchObject([{ tool: 'pay' }])
  })

  test('collaboration 101: a file that is no store is refused and left as it is', async () => {
    writeFileSync(
      store(),
      'this is not a database at all, it is a text that is long enough to be read as a header\n'.repeat(20),
    )
    await expect(createRuntime({ store: store() })).rejects.toMatchObject({ code: 'store.foreign' })
  })
})

test('a pending timer is no wait for a person', async () => {
  const root = agent({ name: 'root', run: async (ctx) => (await sleep(ctx, 20), 'slept') })
  const runtime = await runtimeOf([root])
  expect(await (await runtime.start(root, 'go')).until('waiting')).toMatchObject({
    status: 'completed',
    output: 'slept',
  })
})
