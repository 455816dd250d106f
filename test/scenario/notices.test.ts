/** Telling people over channels that something waits for them, on any engine: spec team R-16, C84. */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import { approve, interrupt, type Channel, type Notice } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { delegates, eventsOf, fastClock, runtimeOf, scripted, store, waiting } from './team.ts'

/** A channel that keeps what it was told, and under which keys. */
function noted(name: string, notify: Channel['notify'] = () => {}, more: Partial<Channel> = {}) {
  const told: Notice[] = []
  const keys: string[] = []
  const channel: Channel = {
    name,
    ...more,
    notify: (notice, io) => {
      told.push(notice)
      keys.push(io.key)
      return notify(notice, io)
    },
  }
  return { channel, told, keys }
}

/** Never ends unless it is told to. */
const hangs: Channel['notify'] = (_notice, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

const refuses = (): never => {
  throw new FailureError(failure('notice.failed', 'no such address', 'validation'))
}

/** Asks for one thing, and tells these channels. */
const asker = (...notify: string[]) =>
  agent({
    name: 'asker',
    description: 'Asks.',
    run: async (ctx): Promise<string> => {
      const about = { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money', risk: 'high' } as const
      const verdict = await approve(ctx, { ...about, rules: { notify, approvers: [{ who: ['ann', 'bob'] }] } })
      return verdict.approved ? `yes, says ${verdict.approver}` : verdict.how
    },
  })

const notices = async (run: Run<unknown>): Promise<unknown[]> =>
  (await eventsOf(run)).flatMap((event): unknown[] =>
    event.type === 'notice.sent'
      ? [event.channel]
      : event.type === 'notice.failed'
        ? [[event.channel, event.failure.code]]
        : [],
  )

/** The one approval, once it is open. */
async function asked(run: Run<unknown>): Promise<string> {
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  return open[0]!.id
}

/** The facts of both notices are there. */
async function settled(run: Run<unknown>, count: number): Promise<void> {
  const ends = async (): Promise<number> => {
    let found = 0
    for await (const { event } of run.events({ signal: AbortSignal.timeout(50) }))
      if (event.type === 'notice.sent' || event.type === 'notice.failed') found++
    return found
  }
  await expect.poll(ends).toBe(count)
}

describe('who is told', () => {
  test('team C84: one channel fails, the other tells; both are noted, and a later decision holds', async () => {
    const [good, bad] = [noted('desk'), noted('broken', refuses)]
    const root = asker('broken', 'desk')
    const run = await (await runtimeOf([root], { channels: [good.channel, bad.channel] })).start(root, 'go')
    await settled(run, 2)
    const id = await asked(run)
    expect(good.told).toMatchObject([
      {
        type: 'approval',
        id,
        run: run.id,
        path: ['asker'],
        title: 'asker asks for approval of pay',
        text: 'money',
        input: { amount: 10 },
        risk: 'high',
        approvers: ['ann', 'bob'],
      },
    ])
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'yes, says ann' })
    expect(new Set(await notices(run))).toEqual(new Set([['broken', 'notice.failed'], 'desk']))
    expect([good.told.length, bad.told.length]).toEqual([1, 1])
  })
  test('team C84: a throwing channel is retried with the same key, as every step; then it counts as failed', async () => {
    let tries = 0
    const late = noted('late', () => {
      if (++tries < 3) throw new Error('not yet')
    })
    const never = noted('never', () => Promise.reject(new Error('not ever')))
    const root = asker('late', 'never')
    const run = await (
      await runtimeOf([root], { channels: [late.channel, never.channel], clock: fastClock() })
    ).start(root, 'go')
    await settled(run, 2)
    await run.decide({ approvalId: await asked(run), decision: 'approve', approver: 'bob' })
    await run.outcome()
    expect(new Set(await notices(run))).toEqual(new Set([['never', 'notice.failed'], 'late']))
    for (const { keys } of [late, never]) expect([keys.length, new Set(keys).size]).toEqual([3, 1])
    expect(late.keys[0]).not.toBe(never.keys[0])
  })
  test('team C84: a channel that hangs delays no decision and is not told of it later', async () => {
    const slow = noted('slow', hangs)
    const root = asker('slow')
    const run = await (await runtimeOf([root], { channels: [slow.channel] })).start(root, 'go')
    const id = await asked(run) // `until('waiting')` comes while it is being told
    await expect.poll(() => slow.told.length).toBe(1)
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'yes, says ann' })
    expect([await notices(run), slow.told.length]).toEqual([[], 1])
  })

  test.each(['goes on', 'is paused'])(
    'K2: an answered question is closed at once, even if unread, while the run %s',
    async (how) => {
      const slow = noted('slow', hangs)
      const root = agent({
        name: 'root',
        description: 'Asks often.',
        run: async (ctx): Promise<number> => {
          for (let i = 0; i < 6; i++) await interrupt(ctx, `question ${i}`, { notify: ['slow'] })
          return ctx.step('end', () => 6)
        },
      })
      const runtime = await runtimeOf([root], { channels: [slow.channel] })
      const run = await runtime.start(root, 'go')
      await run.until('waiting')
      if (how === 'is paused') await run.control.pause()
      const answered: string[] = []
      while (answered.length < 6) {
        // a channel that hangs keeps the run from being paused, or waiting for people alone
        const open = await runtime.questions({ run: run.id })
        for (const { id } of open) {
          await run.answer({ interruptId: id, value: 'well' }) // throws if it was answered before
          answered.push(id)
          expect((await runtime.questions({ run: run.id })).map((each) => each.id)).not.toContain(id)
        }
        if (open.length === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      if (how === 'is paused') await run.control.resume()
      expect(await run.outcome()).toMatchObject({ output: 6 })
    },
  )
  test('team C84: a try that takes too long has failed', async () => {
    const slow = noted('slow', hangs, { timeoutMs: 20, attempts: 1 })
    const root = asker('slow')
    const run = await (await runtimeOf([root], { channels: [slow.channel] })).start(root, 'go')
    await settled(run, 1)
    await run.decide({ approvalId: await asked(run), decision: 'reject', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'rejected' })
    expect(await notices(run)).toEqual([['slow', 'effect.timed-out']])
  })
  test('team C84: code that names an unregistered channel notifies no one; the run is not stuck', async () => {
    const root = asker('pigeon')
    const run = await (await runtimeOf([root])).start(root, 'go')
    await settled(run, 1)
    await run.decide({ approvalId: await asked(run), decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'yes, says ann' })
    expect(await notices(run)).toEqual([['pigeon', 'notice.failed']])
  })
  test('an answer that is wanted is told in the same way', async () => {
    const desk = noted('desk')
    const root = agent({
      name: 'curious',
      description: 'Asks.',
      run: (ctx) => interrupt(ctx, 'which city?', { notify: ['desk'] }),
    })
    const run = await (await runtimeOf([root], { channels: [desk.channel] })).start(root, 'go')
    await settled(run, 1)
    const { questions } = await waiting(run)
    expect(desk.told).toMatchObject([
      { type: 'interrupt', id: questions[0]!.id, path: ['curious'], input: 'which city?' },
    ])
    await run.answer({ interruptId: questions[0]!.id, value: 'Riga' })
    expect(await run.outcome()).toMatchObject({ output: 'Riga' })
    expect(await notices(run)).toEqual(['desk'])
  })
  test('a deadline that escalates tells of each question', async () => {
    const desk = noted('desk')
    const root = agent({
      name: 'asker',
      description: 'Asks.',
      run: async (ctx) => {
        const approvers = [{ who: ['ann'], timeoutMs: 60_000 }, { who: ['bob'] }]
        const rules = { notify: ['desk'], approvers, onTimeout: 'escalate' as const }
        const verdict = await approve(ctx, { tool: 'pay', toolVersion: '1', input: 1, reason: 'money', rules })
        return verdict.approved ? (verdict.approver ?? '') : verdict.how
      },
    })
    const runtime = await runtimeOf([root], { channels: [desk.channel], clock: fastClock() })
    const run = await runtime.start(root, 'go')
    await expect.poll(() => desk.told.length).toBe(2)
    expect(desk.told.map(({ approvers }) => approvers)).toEqual([['ann'], ['bob']])
    await run.decide({ approvalId: desk.told[1]!.id, decision: 'approve', approver: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: 'bob' })
  })
})

describe('after a restart', () => {
  test('team S2k, C90: the same approval with the same deadline, and no second notice', async () => {
    const desk = noted('desk')
    const root = asker('desk')
    const first = await runtimeOf([root], { channels: [desk.channel], store: store() })
    const run = await first.start(root, 'go')
    await settled(run, 1)
    const before = (await waiting(run)).waiting
    await first.close()
    const again = await runtimeOf([root], { channels: [desk.channel], store: store() })
    const resumed = again.handle<string>(run.id)
    expect((await waiting(resumed)).waiting).toEqual(before)
    await resumed.decide({ approvalId: before[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await resumed.outcome()).toMatchObject({ output: 'yes, says ann' })
    expect([await notices(resumed), desk.told.length]).toEqual([['desk'], 1])
  })
  test('team S2k: a process without the channel goes on with a run and records that no notice was sent', async () => {
    const slow = noted('slow', hangs)
    const root = asker('slow')
    const first = await runtimeOf([root], { channels: [slow.channel], store: store() })
    const run = await first.start(root, 'go')
    await expect.poll(() => slow.told.length).toBe(1)
    await first.close({ graceMs: 0 })
    const without = await runtimeOf([root], { store: store() })
    const resumed = without.handle<string>(run.id)
    await settled(resumed, 1)
    await resumed.decide({ approvalId: await asked(resumed), decision: 'approve', approver: 'ann' })
    expect(await resumed.outcome()).toMatchObject({ output: 'yes, says ann' })
    expect([await notices(resumed), slow.told.length]).toEqual([[['slow', 'notice.failed']], 1])
  })
  test('team S2k: a notice that was cut off is told again under the same key', async () => {
    const first = noted('desk', hangs)
    const second = noted('desk')
    const root = asker('desk')
    const before = await runtimeOf([root], { channels: [first.channel], store: store() })
    const run = await before.start(root, 'go')
    await expect.poll(() => first.told.length).toBe(1)
    await before.close({ graceMs: 0 })
    const again = await runtimeOf([root], { channels: [second.channel], store: store() })
    await settled(again.handle(run.id), 1)
    expect(second.keys).toEqual(first.keys)
    expect(second.told).toEqual(first.told)
  })
})

describe('a notice is not work of a member', () => {
  test('who tells is in no tree, no delegation, no conversation and no usage', async () => {
    const desk = noted('desk')
    const oversight: Oversight = { mode: 'in-the-loop', approval: { notify: ['desk'] } }
    const boss = supervisor({
      name: 'boss',
      oversight,
      model: scripted(delegates(['asker', 'ask']), 'done'),
      workers: [asker('desk')],
    })
    const run = await (
      await runtimeOf([boss], { channels: [desk.channel] })
    ).start(boss, 'go', { limits: { depth: 1 } })
    await settled(run, 1)
    const id = await asked(run)
    const while_ = await run.view()
    expect([while_.status, while_.activations.map(({ agent: name, state }) => [name, state])]).toEqual([
      'waiting',
      [
        ['boss', 'waiting'],
        ['asker', 'waiting'],
      ],
    ])
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    const view = await run.view()
    expect(view.activations.map(({ agent: name, open }) => [name, open])).toEqual([
      ['boss', []],
      ['asker', []],
    ])
    expect((await run.delegations()).map(({ worker }) => worker)).toEqual(['asker'])
    const speakers = new Set<string>()
    for await (const { agent: name } of run.messages()) speakers.add(name)
    expect([...speakers].sort()).toEqual(['asker', 'boss'])
    expect(view.usage.map(({ agent: name }) => name)).toEqual(['boss'])
  })
})
