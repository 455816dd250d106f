/** createRuntime and run handles, over the embedded engine with agents made by hand. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completed, type ErrorCode, type Json } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import type { Runtime, RuntimeOptions } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'
import { asker, echo, effect, hand, payer, sleeper, typed } from './hand.ts'

const open: Runtime[] = []
async function runtimeWith(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ strict: true, ...options })
  open.push(runtime)
  return runtime
}
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-runtime-'))
})
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})
const coded = (code: ErrorCode): { code: ErrorCode } => expect.objectContaining({ code }) as { code: ErrorCode }

describe('starting', () => {
  test('runs an agent and says which run it was and what it used', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    expect(await runtime.run(echo, 'hello', { runId: 'r1' })).toEqual({
      status: 'completed',
      output: 'hello',
      run: 'r1',
      usage: [],
    })
  })
  test('the same run id is the same run; another input or agent is a conflict', async () => {
    const runtime = await runtimeWith({ agents: [echo, typed] })
    let calls = 0
    const once = hand('once', async (ctx) => completed(await effect(ctx, 'count', () => ++calls)))
    const again = await runtimeWith({ agents: [once] })
    for (let i = 0; i < 3; i++) expect(await again.run(once, 'go', { runId: 'r1' })).toMatchObject({ output: 1 })
    expect(calls).toBe(1)
    await runtime.start(echo, 'hello', { runId: 'r1' })
    await expect(runtime.start(echo, 'other', { runId: 'r1' })).rejects.toMatchObject({
      code: 'run.conflict',
      message: 'run r1 exists already and was started with another input',
      hint: 'Use a new run id, or look at the existing run: runtime.handle("r1").',
    })
    await expect(runtime.start(typed, { n: 1 }, { runId: 'r1' })).rejects.toEqual(coded('run.conflict'))
  })
  test.each<[string, Json | undefined, object, ErrorCode]>([
    ['an empty text', '', {}, 'input.invalid'],
    ['a text without a word', ' \n\t', {}, 'input.invalid'],
    ['a list of messages', [{ role: 'user', content: 'hello' }], {}, 'input.invalid'],
    ['no JSON', undefined, {}, 'input.not-json'],
    ['a date', new Date(0) as unknown as Json, {}, 'input.not-json'],
    ['a bad run id', 'x', { runId: '../x' }, 'run.invalid-id'],
    ['a bad session id', 'x', { session: '' }, 'session.invalid'],
    ['an unknown option', 'x', { runID: 'r1' }, 'input.invalid'],
    ['a bad limit', 'x', { limits: { turns: -1 } }, 'input.invalid'],
    ['a reserved value', 'x', { values: { $turns: [] } }, 'input.invalid'],
    ['metadata that is no object', 'x', { metadata: [1] }, 'input.invalid'],
  ])('refuses %s, and starts nothing', async (_what, input, options, code) => {
    const runtime = await runtimeWith({ agents: [echo] })
    await expect(runtime.start('echo', input as Json, options)).rejects.toEqual(coded(code))
    expect(await runtime.runs()).toEqual([])
  })
  test('says where messages belong that are given as the input; other lists are one', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    const messages = [{ role: 'user', content: 'hello' }] as const
    await expect(runtime.start('echo', [...messages])).rejects.toMatchObject({
      hint: expect.stringContaining('{ messages: [...] }') as string,
    })
    expect(await runtime.run('echo', [1, { role: 'none', content: 'x' }])).toMatchObject({ status: 'completed' })
  })
  test('says where an input nests too deep, and how much of a long path it leaves out', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    let deep: Json = 0
    for (let i = 0; i < 1_500; i++) deep = { a: deep }
    const path = `input${'.a'.repeat(1_000)}`
    await expect(runtime.start('echo', deep)).rejects.toMatchObject({
      code: 'input.not-json',
      message: `${path.slice(0, 74)}…+${path.length - 74} nests deeper than 1000 levels`,
    })
  })
  test('checks the input against the schema of the agent', async () => {
    const runtime = await runtimeWith({ agents: [typed] })
    await expect(runtime.start(typed, { n: 'one' })).rejects.toEqual(coded('input.invalid'))
    expect(await runtime.run(typed, { n: 1 })).toMatchObject({ output: { n: 1 } })
  })
  test('knows only registered agents and whom they can reach', async () => {
    const leader = hand('leader', async (ctx) => completed(await effect(ctx, 'x', () => 1)), { related: () => [echo] })
    const runtime = await runtimeWith({ agents: [leader] })
    expect(await runtime.run('echo', 'hi')).toMatchObject({ output: 'hi' })
    await expect(runtime.start(typed, { n: 1 })).rejects.toEqual(coded('agent.not-registered'))
    await expect(runtime.start('nobody', 'x')).rejects.toEqual(coded('agent.not-registered'))
  })
  test('hands user, metadata and values to the run', async () => {
    const reader = hand('reader', async (ctx) =>
      completed({ caller: ctx.place.caller as Json, value: await ctx.values.get('colour') }),
    )
    const runtime = await runtimeWith({ agents: [reader] })
    const outcome = await runtime.run(reader, 'x', { user: 'ann', metadata: { team: 7 }, values: { colour: 'blue' } })
    expect(outcome).toMatchObject({ output: { caller: { user: 'ann', metadata: { team: 7 } }, value: 'blue' } })
  })
})

describe('reading', () => {
  test('until is called off by its signal', async () => {
    const runtime = await runtimeWith({ agents: [sleeper()] })
    const run = await runtime.start('sleeper', 'x')
    const left = new AbortController()
    const waiting = run.until('waiting', { signal: left.signal })
    left.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await run.control.cancel()
    expect(await run.until('waiting', { signal: new AbortController().signal })).toMatchObject({ status: 'cancelled' })
  })
  test('events are the journal, then live, until the end; from a position on', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const run = await runtime.start(payer, 3)
    await run.until('waiting')
    const seen: Recorded[] = []
    const reading = (async () => {
      for await (const event of run.events()) seen.push(event)
    })()
    const [approval] = await runtime.approvals()
    await run.decide({ approvalId: approval!.id, decision: 'approve' })
    await reading
    expect(seen.map(({ event }) => event.type)).toEqual([
      'activation.started',
      'approval.requested',
      'ask.settled',
      'approval.resolved',
      'step.begun',
      'step.settled',
      'activation.settled',
    ])
    const rest: Recorded[] = []
    for await (const event of run.events({ from: seen[3]!.position })) rest.push(event)
    expect(rest).toEqual(seen.slice(4))
  })
  test('leaving changes nothing, also while waiting for news', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const run = await runtime.start(payer, 3)
    await run.until('waiting')
    const events = run.events()
    await events.next()
    await events.next()
    const pending = events.next()
    expect(await events.return?.()).toEqual({ value: undefined, done: true })
    expect((await pending).done).toBe(true)
    const stop = new AbortController()
    const aborted = run.events({ signal: stop.signal })
    stop.abort()
    expect((await aborted.next()).done).toBe(true)
    expect((await run.view()).status).toBe('waiting')
  })
  test('a view shows the run and is a copy', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const run = await runtime.start(payer, 3)
    await run.until('waiting')
    const view = await run.view()
    expect(view).toMatchObject({ status: 'waiting', agent: 'payer', approvals: [{ tool: 'pay', open: true }] })
    ;(view.approvals as unknown[]).length = 0
    expect((await run.view()).approvals).toHaveLength(1)
  })
  test('live parts reach a reader, merged, and end with the run', async () => {
    const talker = hand('talker', async (ctx) =>
      completed(
        await effect(ctx, 'talk', async (io) => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          for (const text of ['Hel', 'lo, ', 'world']) io.emit({ type: 'text.delta', id: '0', text })
          return 'Hello, world'
        }),
      ),
    )
    const runtime = await runtimeWith({ agents: [talker] })
    const run = await runtime.start(talker, 'x')
    const texts = async (options: { path?: string[] }): Promise<string> => {
      let text = ''
      for await (const delta of run.text(options)) text += delta
      return text
    }
    expect(await Promise.all([texts({}), texts({ path: ['talker'] }), texts({ path: ['nobody'] })])).toEqual([
      'Hello, world',
      'Hello, world',
      '',
    ])
  })
  test('an unknown run is said to be unknown, by every method', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    const run = runtime.handle('nope')
    for (const ask of [
      () => run.outcome(),
      () => run.view(),
      () => run.usage(),
      () => run.until('waiting'),
      () => run.events().next(),
      () => run.control.pause(),
      () => run.control.cancel(),
    ]) {
      await expect(ask()).rejects.toEqual(coded('run.unknown'))
    }
  })
  test('an ended run takes no command', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    const { run } = await runtime.run(echo, 'x')
    await expect(runtime.handle(run).control.cancel()).rejects.toEqual(coded('run.ended'))
    await runtime.remove(run)
    await expect(runtime.handle(run).view()).rejects.toEqual(coded('run.unknown'))
  })
})

describe('deciding', () => {
  test('approve, edit, reject and retry reach the agent', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const decided = async (runId: string, said: object): Promise<Json> => {
      const run = await runtime.start(payer, { usd: 3 }, { runId })
      const state = await run.until('waiting')
      if (!('waiting' in state)) throw new Error('it did not wait')
      await run.decide({ approvalId: state.waiting[0]!.id, ...said } as never)
      const outcome = await run.outcome()
      return outcome.status === 'completed' ? outcome.output : outcome.status
    }
    expect(await decided('a', { decision: 'approve', approver: 'bob' })).toEqual({ paid: { usd: 3 }, approver: 'bob' })
    expect(await decided('b', { decision: 'edit', input: { usd: 2 } })).toEqual({ paid: { usd: 2 }, approver: null })
    expect(await decided('c', { decision: 'reject', comment: 'no' })).toBe('not paid: rejected')
    expect(await decided('d', { decision: 'retry' })).toBe('not paid: retry')
  })
  test('a bad, unknown or second decision is an error, and nothing runs', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const run = await runtime.start(payer, 3)
    await run.until('waiting')
    const id = (await runtime.approvals())[0]!.id
    for (const bad of [
      { decision: 'approve' },
      { approvalId: id },
      { approvalId: id, decision: 'maybe' },
      { approvalId: id, decision: 'edit' },
      { approvalId: id, decision: 'approve', input: 1 },
      { approvalId: id, decision: 'approve', why: 'x' },
    ]) {
      await expect(run.decide(bad as never)).rejects.toEqual(coded('approval.invalid'))
      await expect(run.decide(bad as never)).rejects.toMatchObject({ hint: 'Nothing was decided.' })
    }
    for (const [bad, problem] of [
      [{ decision: 'approve', by: 'ann' }, 'unknown field "by" of a decision: did you mean "approver"?'],
      [{ decision: 'approve', comnent: 'x' }, 'unknown field "comnent" of a decision: did you mean "comment"?'],
      [{ decision: 'yes' }, 'decision is "yes", expected "approve", "reject", "edit" or "retry"'],
      [
        { decision: 'rejct' },
        'decision is "rejct", expected "approve", "reject", "edit" or "retry": did you mean "reject"?',
      ],
    ] as const)
      await expect(run.decide({ approvalId: id, ...bad } as never)).rejects.toMatchObject({ message: problem })
    await expect(runtime.start(payer, 3, { oversite: {} } as never)).rejects.toMatchObject({
      code: 'input.invalid',
      message: 'start has no option "oversite": did you mean "oversight"?',
      hint: 'Nothing was started.',
    })
    await expect(runtime.fork({ run: run.id, edit: { type: 'outcom' } as never })).rejects.toMatchObject({
      message: expect.stringMatching(/^fork: edit.type is the text "outcom", .*: did you mean "outcome"\?$/) as string,
    })
    await expect(run.decide({ approvalId: 'apr_none', decision: 'approve' })).rejects.toEqual(coded('approval.unknown'))
    expect((await run.view()).status).toBe('waiting')
    const both = await Promise.allSettled([
      run.decide({ approvalId: id, decision: 'approve' }),
      run.decide({ approvalId: id, decision: 'reject' }),
    ])
    // which of two comes first is for the store to say: they travel on connections of their own
    const won = both.findIndex(({ status }) => status === 'fulfilled')
    expect(both[1 - won]).toEqual({ status: 'rejected', reason: coded('approval.already-decided') })
    expect(await run.outcome()).toMatchObject({
      status: 'completed',
      output: won === 0 ? { paid: 3 } : 'not paid: rejected',
    })
    await expect(runtime.decide({ approvalId: id, decision: 'approve' })).rejects.toEqual(
      coded('approval.already-decided'),
    )
  })
  test('an interrupt is answered once, by its id, with any value', async () => {
    const runtime = await runtimeWith({ agents: [asker] })
    for (const value of [false, 0, '', null, { a: [1] }]) {
      const run = await runtime.start(asker, 'x')
      await run.until('waiting')
      const [question] = await runtime.questions({ run: run.id })
      await expect(run.answer({ interruptId: 'int_none', value })).rejects.toEqual(coded('interrupt.unknown'))
      await run.answer({ interruptId: question!.id, value })
      await expect(run.answer({ interruptId: question!.id, value })).rejects.toEqual(
        coded('interrupt.already-answered'),
      )
      expect(await run.outcome()).toMatchObject({ output: value })
    }
  })
  test('after the deadline a decision comes too late', async () => {
    const hasty = hand('hasty', async (ctx) => {
      const until = new Date(ctx.now().getTime() + 30)
      const as = {
        type: 'approval.requested',
        id: ctx.id('apr'),
        path: ['hasty'],
        tool: 't',
        toolVersion: '1',
        input: 1,
        inputHash: '',
        reason: 'r',
        risk: 'low',
        onTimeout: 'reject',
      } as const
      const { outcome } = await ctx.next(ctx.ask('approval', { until, as }))
      ctx.emit({ type: 'approval.resolved', id: as.id, resolution: 'timed-out-rejected' })
      return completed(outcome.status)
    })
    const runtime = await runtimeWith({ agents: [hasty] })
    const run = await runtime.start(hasty, 'x')
    expect(await run.outcome()).toMatchObject({ output: 'timed-out' })
    const [approval] = (await run.view()).approvals
    await expect(run.decide({ approvalId: approval!.id, decision: 'approve' })).rejects.toEqual(
      coded('approval.expired'),
    )
  })
})

describe('another process', () => {
  test('looks and decides without the agents; the driver goes on', async () => {
    const store = join(folder, 'reeve.db')
    const driver = await runtimeWith({ store, agents: [payer] })
    const run = await driver.start(payer, 3)
    await run.until('waiting')
    const desk = await runtimeWith({ store, drive: false })
    expect(await desk.runs()).toMatchObject([{ run: run.id, status: 'waiting', agent: 'payer' }])
    const [approval] = await desk.approvals({ run: run.id })
    await desk.decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: { paid: 3, approver: 'ann' } })
    expect(await desk.handle(run.id).outcome()).toMatchObject({ status: 'completed' })
    await expect(desk.start(payer, 3)).rejects.toEqual(coded('agent.not-registered'))
  })
  test('a decision made while no process drives is read when one does', async () => {
    const store = join(folder, 'reeve.db')
    const first = await createRuntime({ store, agents: [payer] })
    const { id } = await first.start(payer, 3)
    await first.handle(id).until('waiting')
    await first.close()
    const desk = await createRuntime({ store, drive: false })
    await desk.decide({ approvalId: (await desk.approvals())[0]!.id, decision: 'approve' })
    expect((await desk.handle(id).view()).status).toBe('waiting')
    await desk.close()
    const again = await runtimeWith({ store, agents: [payer] })
    expect(await again.handle(id).outcome()).toMatchObject({ output: { paid: 3 } })
  })
})

describe('controlling', () => {
  test('pause holds effects back, resume lets them go', async () => {
    const runtime = await runtimeWith({ agents: [payer] })
    const run = await runtime.start(payer, 3)
    await run.until('waiting')
    await run.control.pause({ reason: 'lunch', by: 'ann' })
    await expect.poll(async () => (await run.view()).status).toBe('paused')
    await run.decide({ approvalId: (await runtime.approvals())[0]!.id, decision: 'approve' })
    expect(await run.until('waiting')).toMatchObject({ status: 'paused' })
    await run.control.resume('ann')
    expect(await run.outcome()).toMatchObject({ output: { paid: 3 } })
  })
  test('cancel ends it, and its effects hear of it', async () => {
    let aborts = 0
    const agent = sleeper(() => aborts++)
    const runtime = await runtimeWith({ agents: [agent] })
    const run = await runtime.start(agent, 'x')
    await expect.poll(async () => (await run.view()).activations[0]?.open.length).toBe(1)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(aborts).toBe(1)
  })
  test('a message reaches an agent at work', async () => {
    const listener = hand('listener', async (ctx) => {
      const arrival = await ctx.next((each) => each.type === 'message')
      return completed(arrival.type === 'message' ? arrival.body : null)
    })
    const runtime = await runtimeWith({ agents: [listener] })
    const run = await runtime.start(listener, 'x')
    const root = (await run.view()).activations[0]!.activation
    expect(await run.post(root, { hi: 1 }, { id: 'm1' })).toBe('accepted')
    expect(await run.outcome()).toMatchObject({ output: { hi: 1 } })
    expect(await run.post(root, 'late')).toBe('closed')
  })
})

describe('an owned run', () => {
  test('shows events and parts to its end', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    const types: string[] = []
    for await (const item of runtime.stream(echo, 'hi'))
      types.push(item.type === 'event' ? item.event.event.type : 'part')
    expect(types.at(-1)).toBe('activation.settled')
  })
  test('leaving cancels it, without throwing, and another run works', async () => {
    let aborts = 0
    const agent = sleeper(() => aborts++)
    const runtime = await runtimeWith({ agents: [agent, echo] })
    const stream = runtime.stream(agent, 'x')
    for await (const item of stream) if (item.type === 'event' && item.event.event.type === 'step.begun') break
    expect(await (await stream.run).outcome()).toMatchObject({ status: 'cancelled' })
    expect(aborts).toBe(1)
    expect(await runtime.run(echo, 'still here')).toMatchObject({ output: 'still here' })
  })
  test('one that cannot start says so where it is read', async () => {
    const runtime = await runtimeWith({ agents: [echo] })
    await expect(runtime.stream(echo, '').next()).rejects.toEqual(coded('input.invalid'))
    expect((await runtime.stream(echo, '').return()).done).toBe(true)
  })
})
