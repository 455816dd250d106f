/**
 * Another attempt at the same work: what the one before did to the world is known to it, and a yes, a doubt and a
 * hedge's clock hold over attempts.
 */
import { describe, expect, test } from 'vitest'
import { agent, step, tool } from '@reeve/agent'
import type { JournalEvent } from '@reeve/journal'
import type { ModelRequest } from '@reeve/model'
import { manualClock } from '@reeve/testing'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import type { Runtime } from '@reeve/runtime'
import { door, until } from './doors.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, waiting } from './team.ts'

/** A bank that keeps the keys of its payments; the first one gets no answer if `hangs`. */
function bank(hangs = false) {
  const paid: string[] = []
  const { promise: lost, resolve: hangUp } = Promise.withResolvers<string>()
  const pay = ({ key, signal }: { key: string; signal: AbortSignal }): string | Promise<string> => {
    paid.push(key)
    if (!hangs || paid.length > 1) return `receipt ${paid.length}`
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
      lost.then(resolve, reject)
    })
  }
  return { paid, pay, hangUp: () => hangUp('a receipt that nobody hears of') }
}

const doubtsIn = async (runtime: Runtime) => (await runtime.questions()).filter(({ kind }) => kind === 'in-doubt')

/** A planned team with one task. */
const crew = (generalist: ReturnType<typeof agent>, more: object = {}) =>
  team({
    name: 'crew',
    roles: { generalist },
    planner: { subtasks: [{ id: 'pay', description: 'pay the bill' }] },
    retry: { backoffMs: 0 },
    ...more,
  })

describe('a task of a planned team', () => {
  test('K6: a retry does not repeat a made `once` step, and an `idempotent` one keeps its key', async () => {
    const { paid, pay } = bank()
    const told: string[] = []
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      run: async (ctx) => {
        const receipt = await step(ctx, 'pay', pay, { effect: 'once' })
        await step(ctx, 'tell', ({ key }) => void told.push(key))
        if (told.length < 3) throw new Error('a slip after it has paid')
        return receipt
      },
    })
    const root = crew(payer)
    const run = await (await runtimeOf([root])).start(root, 'Go')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toHaveLength(1)
    expect(told).toHaveLength(3)
    expect(new Set(told).size).toBe(1)
    const made = (await eventsOf(run)).flatMap((event) =>
      event.type === 'step.settled' && event.madeBy !== undefined ? [event.madeBy] : [],
    )
    const first: unknown = expect.stringMatching(/>work\/pay\/payer$/)
    expect(made).toEqual([first, first])
  })

  test('K6: a timeout during a `once` step leaves the next attempt in doubt, its time stopped', async () => {
    const clock = manualClock()
    const { paid, pay } = bank(true)
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      run: (ctx) => step(ctx, 'pay', pay, { effect: 'once' }),
    })
    const root = crew(payer, { timeoutMs: 1_000 })
    const runtime = await runtimeOf([root], { clock })
    const run = await runtime.start(root, 'Go')
    await until(() => paid.length === 1)
    clock.advance(1_000)
    await until(async () => (await doubtsIn(runtime)).length === 1)
    await until(async () =>
      (await run.view()).activations.some(({ agent: name, state }) => name === 'payer' && state === 'waiting'),
    )
    for (let i = 0; i < 5; i++) clock.advance(1_000)
    const [doubt] = await doubtsIn(runtime)
    expect(doubt?.activation).toMatch(/>work\/pay#1\/payer$/)
    await run.control.settleDoubt({ id: doubt!.id, happened: false })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toHaveLength(2)
    expect(new Set(paid).size).toBe(1)
  })

  test('K6: in doubt after a crash: its time stops until an answer comes', async () => {
    const { paid, pay, hangUp } = bank(true)
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      run: (ctx) => step(ctx, 'pay', pay, { effect: 'once' }),
    })
    const root = crew(payer, { timeoutMs: 60_000 })
    let dead = false
    const first = await runtimeOf([root], { store: store(), leaseMs: 100, crash: () => dead })
    await first.start(root, 'Go', { runId: 'bill' })
    await until(() => paid.length === 1)
    dead = true
    hangUp()
    const clock = manualClock(Date.now() + 5_000)
    const second = await runtimeOf([root], { clock, store: store(), leaseMs: 100 })
    const run = second.handle('bill')
    await until(async () => (await doubtsIn(second)).length === 1)
    // its leader has heard of it
    await until(async () =>
      (await run.view()).messages.some(({ to, state }) => to === 'act_bill' && state === 'received'),
    )
    expect((await run.view()).teams[0]?.plan.tasks[0]?.status).toBe('awaiting_approval')
    for (let i = 0; i < 5; i++) clock.advance(60_000)
    const [doubt] = await doubtsIn(second)
    expect(doubt?.activation).toMatch(/>work\/pay\/payer$/)
    await run.control.settleDoubt({ id: doubt!.id, happened: true, value: 'receipt by mail' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toHaveLength(1)
  })

  test('a yes is for one attempt: each further one asks again', async () => {
    let tries = 0
    const payer = agent({
      name: 'payer',
      description: 'Pays.',
      run: () => {
        if (++tries < 3) throw new Error('a slip')
        return 'paid'
      },
    })
    const subtasks = [{ id: 'pay', description: 'pay the bill', action: 'pay_bill' }]
    const root = crew(payer, { planner: { subtasks }, oversight: { mode: 'in-the-loop' } })
    const run = await (await runtimeOf([root])).start(root, 'Go')
    for (let asked = 1; asked <= 3; asked++) {
      const { waiting: open } = await waiting(run)
      expect(tries).toBe(asked - 1)
      await run.decide({ approvalId: open[0]!.id, decision: 'approve', approver: 'ann' })
    }
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
  })
})

describe('a delegation', () => {
  const payTool = (pay: ReturnType<typeof bank>['pay']) =>
    tool({ name: 'pay', effect: 'once', execute: (_input: unknown, io) => pay(io) })
  const leader = (worker: ReturnType<typeof agent>, delegation: object, ...script: Parameters<typeof scripted>) =>
    supervisor({
      name: 'S',
      model: scripted(delegates([worker.name, 'pay invoice 1']), ...script),
      workers: [worker],
      delegation,
    })
  const slips = () => {
    let slipped = false
    return () => {
      if (slipped) return 'W'
      slipped = true
      throw new Error('the provider failed after the payment')
    }
  }

  test('K6: a retried `once` tool call with the same arguments has its earlier result, at any turn', async () => {
    const { paid, pay } = bank()
    let asked = 0
    const end = slips()
    const w = agent({
      name: 'w',
      description: 'w',
      retry: { attempts: 1 },
      tools: [payTool(pay), tool({ name: 'look', execute: () => 'seen' })],
      model: ({ messages }) => {
        const seen = messages.flatMap((message) => (message.role === 'tool' ? [message.name] : []))
        // the second attempt looks first, so that its payment is called at another turn
        if (++asked > 2 && !seen.includes('look')) return calls(['look', {}])
        return seen.includes('pay') ? end() : calls(['pay', { invoice: 1 }])
      },
    })
    const S = leader(w, { retry: { attempts: 2, backoffMs: 0 } }, 'done')
    expect(await (await runtimeOf([S])).run(S, 'Go')).toMatchObject({ status: 'completed', output: 'done' })
    expect(paid).toHaveLength(1)
  })

  test('K6: is tried again: so is what workers of the worker did for the same brief', async () => {
    const { paid, pay } = bank()
    const below = agent({
      name: 'below',
      description: 'below',
      run: (ctx) => step(ctx, 'pay', pay, { effect: 'once' }),
    })
    const end = slips()
    const w = supervisor({
      name: 'w',
      description: 'w',
      retry: { attempts: 1 },
      workers: [below],
      model: ({ messages }: ModelRequest) =>
        messages.some(({ role }) => role === 'tool') ? end() : delegates(['below', 'pay invoice 1']),
    })
    const S = leader(w, { retry: { attempts: 2, backoffMs: 0 } }, 'done')
    expect(await (await runtimeOf([S])).run(S, 'Go')).toMatchObject({ status: 'completed', output: 'done' })
    expect(paid).toHaveLength(1)
  })

  test('K6: a retry whose worker words its delegation differently is in doubt, so an operator is asked', async () => {
    const { paid, pay } = bank()
    let briefs = 0
    const below = agent({
      name: 'below',
      description: 'below',
      tools: [payTool(pay)],
      model: ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'paid' : calls(['pay', { invoice: 1 }])),
    })
    const end = slips()
    const w = supervisor({
      name: 'w',
      description: 'w',
      retry: { attempts: 1 },
      workers: [below],
      model: ({ messages }: ModelRequest) =>
        messages.some(({ role }) => role === 'tool')
          ? end()
          : delegates(['below', `pay invoice 1, in other words ${++briefs}`]),
    })
    const S = leader(w, { retry: { attempts: 2, backoffMs: 0 } }, 'done')
    const runtime = await runtimeOf([S])
    const run = await runtime.start(S, 'Go')
    await until(async () => (await doubtsIn(runtime)).length === 1)
    expect(paid).toHaveLength(1)
    const [doubt] = await doubtsIn(runtime)
    await run.control.settleDoubt({ id: doubt!.id, happened: true })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(paid).toHaveLength(1)
  })

  test('K6: under redaction no digest of arguments is recorded, and a `once` call is always asked about', async () => {
    const { paid, pay } = bank()
    const end = slips()
    let invoices = 0
    const w = agent({
      name: 'w',
      description: 'w',
      retry: { attempts: 1 },
      tools: [payTool(pay)],
      model: ({ messages }) =>
        messages.some(({ role }) => role === 'tool') ? end() : calls(['pay', { invoice: ++invoices }]),
    })
    const S = leader(w, { retry: { attempts: 2, backoffMs: 0 } }, 'done')
    const runtime = await runtimeOf([S], { redact: { keys: ['password'] } })
    const run = await runtime.start(S, 'Go')
    await until(async () => (await doubtsIn(runtime)).length === 1)
    expect(paid).toHaveLength(1)
    const [doubt] = await doubtsIn(runtime)
    await run.control.settleDoubt({ id: doubt!.id, happened: false })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(paid).toHaveLength(2)
    const events = await eventsOf(run)
    expect(events.filter(({ type }) => type === 'tool.called')).toHaveLength(2)
    expect(events.filter((event) => 'inputHash' in event)).toEqual([])
  })

  test('K6: a hedge knows what the slow one has made', async () => {
    const clock = manualClock()
    const { paid, pay } = bank()
    let turns = 0
    const w = agent({
      name: 'w',
      description: 'w',
      tools: [payTool(pay)],
      model: ({ messages, signal }) => {
        if (!messages.some(({ role }) => role === 'tool')) return calls(['pay', { invoice: 1 }])
        if (++turns > 1) return 'W'
        return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      },
    })
    const S = leader(w, { workers: { w: { hedge: { afterMs: 1_000 } } } }, 'done')
    const run = await (await runtimeOf([S], { clock })).start(S, 'Go')
    await until(() => turns === 1)
    clock.advance(1_000)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(turns).toBe(2)
    expect(paid).toHaveLength(1)
  })

  test("a hedge's clock stands while its worker waits for a human", async () => {
    const clock = manualClock()
    const paid: string[] = []
    const gated = tool({ name: 'pay', sensitive: true, execute: () => void paid.push('1') })
    const w = agent({
      name: 'w',
      description: 'w',
      tools: [gated],
      model: scripted(calls(['pay', { invoice: 1 }]), 'W'),
    })
    const S = leader(w, { workers: { w: { hedge: { afterMs: 1_000 } } } }, 'done')
    const runtime = await runtimeOf([S], { clock })
    const run = await runtime.start(S, 'Go')
    const { waiting: open } = await waiting(run)
    await until(async () => (await run.delegations())[0]?.status === 'waiting')
    for (let i = 0; i < 5; i++) clock.advance(1_000)
    expect(await runtime.approvals()).toHaveLength(1)
    await run.decide({ approvalId: open[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(paid).toEqual(['1'])
    expect((await run.delegations()).map(({ label }) => label)).toEqual(['d1'])
  })

  test("a hedge's clock stands while its run is paused", async () => {
    const clock = manualClock()
    let begun = 0
    const w = agent({ name: 'w', description: 'w', model: () => (begun++, 'W') })
    const S = leader(w, { workers: { w: { hedge: { afterMs: 1_000 } } } }, 'done')
    const run = await (await runtimeOf([S], { clock })).start(S, 'Go', { runId: 'held' })
    await run.control.pause()
    await until(async () => (await run.view()).status === 'paused')
    for (let i = 0; i < 5; i++) clock.advance(1_000)
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(begun).toBe(1)
  })

  test("a hedge's clock that rings in a pause goes on with what was worked before", async () => {
    const clock = manualClock()
    const [first, second] = [door(), door()]
    const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
    const model = scripted(
      async (request) => (await first.before('')(request), calls(['look', {}])),
      second.before('W'),
      'of a hedge',
    )
    const w = agent({ name: 'w', description: 'w', tools: [look], model })
    const S = leader(w, { workers: { w: { hedge: { afterMs: 1_000 } } } }, 'done')
    const run = await (await runtimeOf([S], { clock })).start(S, 'Go')
    const seen: JournalEvent[] = []
    const reading = (async () => {
      for await (const { event } of run.events()) seen.push(event)
    })()
    await until(() => first.came === 1)
    await run.control.pause()
    first.open()
    await until(async () => (await run.view()).status === 'paused')
    for (let i = 0; i < 5; i++) clock.advance(1_000)
    await run.control.resume()
    await until(() => second.came === 1)
    // it rang, and has read how long the run was paused
    await until(() => seen.some((event) => event.type === 'step.settled' && event.address.includes('pauses')))
    expect((await run.view()).activations.map(({ agent: name }) => name)).toEqual(['S', 'w'])
    second.open()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(model.prompts).toHaveLength(2)
    await reading
  })
})
