/**
 * A hook that ends its leader's work, wherever the others stand, and a leader that is cancelled: spec delegation 31,
 * 46.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import { asTool } from '@reeve/flow'
import { interrupt } from '@reeve/oversight'
import { supervisor, type Delegation, type DelegationEnd } from '@reeve/supervisor'
import { calls, delegates, eventsOf, fatal, pause, runtimeOf, scripted, told, waiting, type Scripted } from './team.ts'
import { lines, worker } from './control.ts'
import { until } from './doors.ts'

/** Ends its leader's work when w1 has ended; keeps what it heard. */
function bailing(word: (end: DelegationEnd) => unknown = (end) => end.bail()) {
  const heard: string[] = []
  const onComplete = (end: DelegationEnd) => {
    heard.push(`${end.worker} ${end.status}`)
    return end.worker === 'w1' ? (word(end) as undefined) : undefined
  }
  return { heard, onComplete }
}
const endless = (name: string) =>
  agent({
    name,
    description: 'Never ends.',
    model: scripted(
      ({ signal }) =>
        new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    ),
  })

async function led(
  delegation: Delegation,
  lead: Scripted,
  workers: readonly ReturnType<typeof worker>[],
  more: { concurrency?: number; tools?: ReturnType<typeof tool>[] } = {},
) {
  const boss = supervisor({ name: 'boss', model: lead, workers, delegation, ...more })
  const run = await (await runtimeOf([boss])).start(boss, 'go')
  return { run, outcome: await run.outcome(), events: await eventsOf(run) }
}

describe('bail', () => {
  test('stops the siblings, asks no model again, and the outcome says so with what there was', async () => {
    const { heard, onComplete } = bailing()
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'never')
    const { outcome, run } = await led({ onComplete }, lead, [worker('w1'), endless('w2')])
    expect(outcome).toMatchObject({
      status: 'bailed',
      text: 'w1 result',
      message: 'onComplete of d1 ("w1") ended the work',
    })
    expect([lead.prompts.length, heard]).toEqual([1, ['w1 completed', 'w2 cancelled']])
    const view = await run.view()
    expect(view.status).toBe('bailed')
    expect(view.activations.map(({ agent: name, state }) => [name, state])).toEqual([
      ['boss', 'bailed'],
      ['w1', 'completed'],
      ['w2', 'cancelled'],
    ])
    expect((await lines(run)).at(-1)).toBe('boss boss bailed')
    expect((await run.delegations()).map(({ label, status }) => `${label} ${status}`).toSorted()).toEqual([
      'd1 completed',
      'd2 cancelled',
    ])
  })
  test.each<[string, (end: DelegationEnd) => unknown, string]>([
    ['an answer', (end) => end.bail('mine'), 'mine'],
    ['an answer that is returned', () => ({ bail: { answer: 'mine' } }), 'mine'],
    ['true', () => ({ bail: true }), 'w1 result'],
    ['another result', () => ({ bail: true, result: 'short' }), 'short'],
    ['an empty answer', (end) => end.bail(''), 'w1 result'],
    ['no result', () => ({ bail: true, result: '' }), 'w1 result'],
  ])('with %s: the text is never empty', async (_what, word, text) => {
    const { outcome } = await led({ onComplete: bailing(word).onComplete }, scripted(delegates(['w1', 'a'])), [
      worker('w1'),
    ])
    expect(outcome).toMatchObject({ status: 'bailed', text })
  })
  test('bail: false, or a hook that throws after it, ends nothing', async () => {
    for (const word of [
      () => ({ bail: false }),
      (end: DelegationEnd) => (end.bail(), Promise.reject(new Error('no'))),
    ]) {
      const { outcome } = await led(
        { onComplete: bailing(word).onComplete },
        scripted(delegates(['w1', 'a']), 'final'),
        [worker('w1')],
      )
      expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
    }
  })
  test('delegation 31: from the hook of a failed delegation it ends the work likewise', async () => {
    const { onComplete } = bailing()
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'never')
    const { outcome } = await led({ onComplete }, lead, [worker('w1', scripted(fatal('down'))), endless('w2')])
    expect(outcome).toMatchObject({ status: 'bailed', text: '[worker "w1" failed: its model could not answer]' })
    expect(lead.prompts).toHaveLength(1)
  })
  test('the first of two decides: a hook that hears of a stopped worker ends nothing again', async () => {
    const heard: string[] = []
    const onComplete = (end: DelegationEnd) => {
      heard.push(`${end.worker} ${end.status}`)
      end.bail(`by ${end.worker}`)
    }
    const { outcome } = await led({ onComplete }, scripted(delegates(['w1', 'a'], ['w2', 'b'])), [
      worker('w1'),
      endless('w2'),
    ])
    expect(heard).toEqual(['w1 completed', 'w2 cancelled'])
    expect(outcome).toMatchObject({
      status: 'bailed',
      text: 'by w1',
      message: 'onComplete of d1 ("w1") ended the work',
    })
  })
  test('reaches a worker in its second attempt', async () => {
    const { heard, onComplete } = bailing()
    let attempts = 0
    const again = agent({
      name: 'w2',
      description: 'Fails, and then never ends.',
      model: ({ signal }) => {
        if (++attempts === 1) throw new Error('down')
        return new Promise<never>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        )
      },
      retry: { attempts: 1 },
    })
    const first = worker(
      'w1',
      scripted(async () => {
        await until(() => attempts === 2)
        return 'w1 result'
      }),
    )
    const { outcome } = await led(
      { onComplete, retry: { attempts: 2, backoffMs: 0, when: () => true } },
      scripted(delegates(['w1', 'a'], ['w2', 'b'])),
      [first, again],
    )
    expect(outcome).toMatchObject({ status: 'bailed', text: 'w1 result' })
    expect(heard).toEqual(['w2 failed', 'w1 completed', 'w2 cancelled'])
  })
  test('who waits for a permit never begins, and onComplete does not hear of it', async () => {
    const { heard, onComplete } = bailing()
    const w2 = scripted('never')
    const { outcome, events } = await led(
      { onComplete },
      scripted(delegates(['w1', 'a'], ['w2', 'b'])),
      [worker('w1'), worker('w2', w2)],
      {
        concurrency: 1,
      },
    )
    expect([outcome.status, w2.prompts, heard]).toEqual(['bailed', [], ['w1 completed']])
    expect(events.find((event) => event.type === 'delegation.refused')).toMatchObject({
      worker: 'w2',
      failure: { message: /ended the work/ },
    })
  })
  test('who is still being looked at by a hook never begins', async () => {
    const { heard, onComplete } = bailing()
    const w2 = scripted('never')
    const filtered: string[] = []
    const delegation: Delegation = {
      onComplete,
      onStart: async ({ worker: name }) => {
        if (name === 'w2') await pause(80)
      },
      filterMessages: ({ worker: name, messages }) => (filtered.push(name), messages),
    }
    const { outcome } = await led(delegation, scripted(delegates(['w1', 'a'], ['w2', 'b'])), [
      worker('w1'),
      worker('w2', w2),
    ])
    expect([outcome.status, w2.prompts, heard, filtered]).toEqual(['bailed', [], ['w1 completed'], ['w1']])
  })
  test('who waits for a human is stopped, and nothing is asked any more', async () => {
    const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
    const asker = agent({
      name: 'w2',
      description: 'Pays.',
      model: scripted(calls(['pay', {}]), 'never'),
      tools: [pay],
    })
    const gate = scripted(async () => (await pause(60), 'w1 result'))
    const { heard, onComplete } = bailing()
    const { outcome, run } = await led({ onComplete }, scripted(delegates(['w1', 'a'], ['w2', 'b'])), [
      worker('w1', gate),
      asker,
    ])
    expect([outcome.status, heard]).toEqual(['bailed', ['w1 completed', 'w2 cancelled']])
    expect((await run.view()).approvals).toMatchObject([{ open: false, resolution: 'cancelled' }])
  })
  test('a late answer to a question that the bail took back is told so: nobody has answered it', async () => {
    const asker = agent({
      name: 'w2',
      description: 'Asks.',
      run: async (ctx) => JSON.stringify(await interrupt(ctx, 'well?')),
    })
    const gate = scripted(async () => (await pause(60), 'w1 result'))
    const { onComplete } = bailing()
    const { run } = await led({ onComplete }, scripted(delegates(['w1', 'a'], ['w2', 'b'])), [
      worker('w1', gate),
      asker,
    ])
    const [asked] = (await run.view()).interrupts
    await expect(run.answer({ interruptId: asked!.id, value: 1 })).rejects.toMatchObject({
      code: 'interrupt.expired',
      message: expect.stringContaining('was taken back before it was answered') as string,
    })
  })
  test('the leader’s own calls of that turn stop too: a working tool and an open approval', async () => {
    const { onComplete } = bailing()
    const signals: string[] = []
    const slow = tool({
      name: 'slow',
      execute: (_input, io) =>
        new Promise((_resolve, reject) =>
          io.signal.addEventListener('abort', () => (signals.push('slow'), reject(new Error('aborted')))),
        ),
    })
    const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
    const lead = scripted(calls(['slow', {}], ['pay', {}], ['delegate', { worker: 'w1', instructions: 'a' }]), 'never')
    const { outcome, run } = await led(
      { onComplete },
      lead,
      [
        worker(
          'w1',
          scripted(async () => (await pause(40), 'w1 result')),
        ),
      ],
      { tools: [slow, pay] },
    )
    expect(outcome).toMatchObject({ status: 'bailed', text: 'w1 result' })
    expect([signals, lead.prompts.length]).toEqual([['slow'], 1])
    expect((await run.view()).approvals).toMatchObject([{ open: false, resolution: 'cancelled' }])
  })
  test('a delegation that waits for its own approval never begins', async () => {
    const { onComplete, heard } = bailing()
    const typed = agent({
      name: 'typed',
      description: 'Types.',
      input: { type: 'object', properties: {} },
      model: scripted('never'),
    })
    const boss = supervisor({
      name: 'boss',
      model: scripted(calls(['delegate_typed', {}], ['delegate', { worker: 'w1', instructions: 'a' }])),
      workers: [
        worker(
          'w1',
          scripted(async () => (await pause(40), 'w1 result')),
        ),
        typed,
      ],
      delegation: { onComplete },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go', { permissions: { approval: ['delegate_typed'] } })
    expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'w1 result' })
    expect(heard).toEqual(['w1 completed'])
    expect((await run.view()).approvals).toMatchObject([
      { tool: 'delegate_typed', open: false, resolution: 'cancelled' },
    ])
  })
  test('a forward in the same turn does not win over it', async () => {
    const { onComplete } = bailing((end) => end.bail('enough'))
    const lead = scripted(
      calls(['delegate', { worker: 'w1', instructions: 'a' }], ['forward_message', { worker: 'w1' }]),
    )
    const { outcome, events } = await led({ onComplete }, lead, [worker('w1')])
    expect(outcome).toMatchObject({ status: 'bailed', text: 'enough' })
    expect(events.some((event) => event.type === 'output.forwarded')).toBe(false)
  })
  test('of two hooks that end the work the first one counts', async () => {
    const slow = scripted(async () => (await pause(60), 'late'))
    const onComplete = (end: DelegationEnd) => end.bail(end.worker)
    const { outcome } = await led({ onComplete }, scripted(delegates(['w1', 'a'], ['w2', 'b'])), [
      worker('w1', slow),
      worker('w2'),
    ])
    expect(outcome).toMatchObject({ status: 'bailed', text: 'w2' })
  })
  test('a leader above is told what its worker was ended with, and goes on', async () => {
    const { onComplete } = bailing((end) => end.bail('enough'))
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'x'])),
      workers: [worker('w1')],
      delegation: { onComplete },
    })
    const lead = scripted(delegates(['mid', 'a']), 'final')
    const { outcome, run } = await led({}, lead, [mid] as never)
    expect(outcome).toMatchObject({ output: 'final' })
    expect(told(lead.prompts[1])).toEqual([
      '[worker "mid" was ended early: onComplete of d1 ("w1") ended the work]\nenough',
    ])
    expect(lead.prompts[1]!.at(-1)).not.toHaveProperty('isError')
    const heard = await lines(run)
    expect(heard).toContain('mid boss/mid bailed')
    expect(heard).toContainEqual(
      expect.stringMatching(/^boss boss delegate: .*was ended early: onComplete of d1 .*enough/),
    )
  })
  test('as a tool, too', async () => {
    const { onComplete } = bailing((end) => end.bail('enough'))
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'x'])),
      workers: [worker('w1')],
      delegation: { onComplete },
    })
    const model = scripted(calls(['mid', { request: 'x' }]), 'final')
    const solo = agent({ name: 'solo', model, tools: [asTool(mid)] })
    expect(await (await runtimeOf([solo])).run(solo, 'go')).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual([expect.stringMatching(/was ended early: .*\nenough/)])
  })
})

describe('cancelled', () => {
  test('delegation 46: both workers are stopped, hooks hear of it, nothing succeeds, no model is asked again', async () => {
    const heard: string[] = []
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'never')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [endless('w1'), endless('w2')],
      delegation: { onComplete: (end) => void heard.push(`${end.delegation} ${end.worker} ${end.status}`) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await expect.poll(async () => (await run.delegations()).length).toBe(2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(heard.toSorted()).toEqual(['d1 w1 cancelled', 'd2 w2 cancelled'])
    expect((await run.delegations()).map(({ status, output }) => [status, output])).toEqual([
      ['cancelled', undefined],
      ['cancelled', undefined],
    ])
    expect(lead.prompts).toHaveLength(1)
  })
  test('delegation 46: who had ended before is not told of again', async () => {
    const heard: string[] = []
    const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a']), calls(['pay', {}]), 'never'),
      tools: [pay],
      workers: [worker('w1')],
      delegation: { onComplete: (end) => void heard.push(`${end.worker} ${end.status}`) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await waiting(run)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(heard).toEqual(['w1 completed'])
  })
})
