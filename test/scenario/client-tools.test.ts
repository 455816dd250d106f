/**
 * Tools that the client runs: the question that is put to it, what its answer does, who asks again and who does not.
 * Cites K2, K6, K10.
 */
import { describe, expect, test } from 'vitest'
import { agent, clientTool, tool, type Agent, type ClientToolOptions } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { router } from '@reeve/flow'
import { clientCallIn } from '@reeve/oversight'
import type { Recorded } from '@reeve/journal'
import type { Question, Run, Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { manualClock } from '@reeve/testing'
import { xfer } from './control.ts'
import { until } from './doors.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, store, told, waiting, type Scripted } from './team.ts'
import { replayProblems } from './verified.ts'

const picked = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const
const pick = (more: Partial<ClientToolOptions<'pick', undefined>> = {}) =>
  clientTool({ name: 'pick', description: 'Lets the user pick a file.', output: picked, ...more })
const picker = (model: Scripted, more: Partial<ClientToolOptions<'pick', undefined>> = {}): Agent =>
  agent({ name: 'picker', description: 'Picks files.', model, tools: [pick(more)] })
const openCalls = async (runtime: Runtime): Promise<readonly Question[]> =>
  (await runtime.questions()).filter(({ body }) => clientCallIn(body as Json) !== undefined)
const answered = (id: string, output: Json, by = 'ada') => ({ interruptId: id, value: { output }, by })
const asksOf = async (run: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(run)).filter((event) => event.type === 'interrupt.raised')
/** What is recorded of a run up to now. */
async function eventsOfNow(run: Run<unknown>): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const list: Recorded[] = []
  for await (const each of run.events()) {
    list.push(each)
    if (each.position >= position) break
  }
  return list
}

describe('one call', () => {
  test('is a question with the tool, the exact arguments and the schema of the answer', async () => {
    const model = scripted(calls(['pick', { kind: 'pdf' }, 'c1']), 'done')
    const root = picker(model)
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const { questions } = await waiting(run)
    expect(questions).toHaveLength(1)
    expect(questions[0]).toMatchObject({
      kind: 'interrupt',
      body: {
        tool: 'pick',
        callId: 'c1',
        path: ['picker'],
        question: { type: 'client-tool', tool: 'pick', callId: 'c1', input: { kind: 'pdf' }, effect: 'once' },
      },
    })
    expect(clientCallIn(questions[0]!.body as Json)).toMatchObject({ tool: 'pick', output: picked })
    await runtime.answer(answered(questions[0]!.id, { path: 'a.pdf' }))
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(told(model.prompts[1])).toEqual([{ path: 'a.pdf' }])
    expect(await replayProblems(run, root)).toEqual([])
    const results: Json[] = []
    for await (const each of run.messages()) if (each.type === 'tool') results.push(each.content)
    expect(results).toEqual([{ path: 'a.pdf' }])
  })

  test('an answer that does not fit is refused and changes nothing; then the first that fits wins', async () => {
    const root = picker(scripted(calls(['pick', {}]), 'done'))
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    const before = (await run.view()).position
    for (const value of [
      null,
      'x',
      {},
      { path: 'a' },
      { output: 7 },
      { output: {} },
      { output: { path: 'a' }, error: 'x' },
      { error: 7 },
    ])
      // prettier-ignore
      await expect(runtime.answer({ interruptId: id, value, by: 'ada' })).rejects.toMatchObject({
        code: 'interrupt.invalid',
        message: expect.stringContaining('the answer for the tool "pick"') as unknown,
      })
    expect((await run.view()).position).toBe(before)
    await runtime.answer(answered(id, { path: 'a' }))
    await expect(runtime.answer(answered(id, { path: 'b' }, 'eve'))).rejects.toMatchObject({
      code: 'interrupt.already-answered',
    })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await asksOf(run)).toHaveLength(1)
  })

  test('an answer of nothing is refused where anything fits, and the call stays open', async () => {
    const root = agent({
      name: 'picker',
      model: scripted(calls(['pick', {}]), 'done'),
      tools: [clientTool({ name: 'pick', description: 'Picks.' })],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await expect(runtime.answer(answered(id, undefined as never))).rejects.toMatchObject({ code: 'interrupt.invalid' })
    await runtime.answer(answered(id, null))
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await asksOf(run)).toHaveLength(1)
  })

  test('an error of the client is a result that is an error, bounded and visible', async () => {
    const model = scripted(calls(['pick', {}]), 'done')
    const root = picker(model)
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await runtime.answer({ interruptId: id, value: { error: `no\u0007 ${'x'.repeat(50_000)}` }, by: 'ada' })
    await run.outcome()
    const [content] = told(model.prompts[1]) as [string]
    expect(content).toMatch(/^\[tool "pick" failed: no/)
    expect(content).not.toContain('\u0007')
    expect(content.length).toBeLessThan(2_200)
    expect(model.prompts[1]!.at(-1)).toMatchObject({ isError: true })
  })

  test.each([
    ['once', 'the client did not run "pick" within 5 s, or did not say so: whether it was done is not known'],
    ['read', 'the client did not run "pick" within 5 s'],
  ] as const)(
    'a deadline of a tool that is %s: the model is told so, and no late answer counts',
    async (effect, said) => {
      const clock = manualClock()
      const model = scripted(calls(['pick', {}]), 'done')
      const root = picker(model, { timeoutMs: 5_000, effect })
      const runtime = await runtimeOf([root], { clock })
      const run = await runtime.start(root, 'go')
      const [{ id, until: deadline }] = (await waiting(run)).questions as [Question]
      expect(deadline).toBe(clock.now() + 5_000)
      clock.advance(5_001)
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      expect(told(model.prompts[1])).toEqual([`[${said}]`])
      await expect(runtime.answer(answered(id, { path: 'a' }))).rejects.toMatchObject({ code: 'interrupt.expired' })
    },
  )

  test('an approval comes first; a rejected call is never put to the client', async () => {
    const model = scripted(calls(['pick', {}]), calls(['pick', {}]), 'done')
    const root = picker(model, { sensitive: true })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [first] = (await waiting(run)).questions as [Question]
    expect(first.kind).toBe('approval')
    await runtime.decide({ approvalId: first.id, decision: 'reject', approver: 'ann' })
    await until(async () => (await runtime.questions()).some(({ id }) => id !== first.id))
    const [second] = (await runtime.questions()) as [Question]
    expect((await run.view()).interrupts).toEqual([])
    await runtime.decide({ approvalId: second.id, decision: 'approve', approver: 'ann' })
    await until(async () => (await openCalls(runtime)).length === 1)
    await runtime.answer(answered((await openCalls(runtime))[0]!.id, { path: 'a' }))
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await asksOf(run)).toHaveLength(1)
  })

  test('a cancelled run takes no answer', async () => {
    const root = picker(scripted(calls(['pick', {}]), 'done'))
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await run.control.cancel('enough', 'ann')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    await expect(runtime.answer(answered(id, { path: 'a' }))).rejects.toMatchObject({ code: 'interrupt.expired' })
  })

  test('a paused run takes the answer, and goes on with it when it goes on', async () => {
    const root = picker(scripted(calls(['pick', {}]), 'done'))
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await run.control.pause({ by: 'ann' })
    await until(async () => (await run.view()).status === 'paused')
    await runtime.answer(answered(id, { path: 'a' }))
    expect((await run.view()).status).toBe('paused')
    await run.control.resume('ann')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
  })

  test('a question of code is no call of the client, whatever it says', async () => {
    const root = agent({
      name: 'liar',
      run: (ctx) => ctx.interrupt({ type: 'client-tool', tool: 'pick', callId: 'c', input: {} }),
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await waiting(run)
    expect(await openCalls(runtime)).toEqual([])
  })
})

describe('where it runs', () => {
  test('two workers call at once: each answer goes to its own call, in any order', async () => {
    const one = scripted(calls(['pick', { who: 1 }]), 'one')
    const two = scripted(calls(['pick', { who: 2 }]), 'two')
    const named = (name: string, model: Scripted) => agent({ name, description: 'Picks.', model, tools: [pick()] })
    const root = supervisor({
      name: 'boss',
      model: scripted(delegates(['a', 'go'], ['b', 'go']), 'done'),
      workers: [named('a', one), named('b', two)],
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await until(async () => (await openCalls(runtime)).length === 2)
    const open = [...(await openCalls(runtime))].reverse()
    for (const { id, body } of open) {
      const { who } = clientCallIn(body as Json)!.input as { who: number }
      await runtime.answer(answered(id, { path: `for ${who}` }))
    }
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect([told(one.prompts[1]), told(two.prompts[1])]).toEqual([[{ path: 'for 1' }], [{ path: 'for 2' }]])
  })

  test('in a planned team, and after a transfer', async () => {
    const planned = team({
      name: 'crew',
      roles: { generalist: picker(scripted(calls(['pick', {}]), 'picked')) },
      planner: { subtasks: [{ id: 'one', description: 'pick it' }] },
    })
    const moved = router({
      name: 'desk',
      model: scripted(xfer('picker')),
      transfer: { returns: 'never' },
      workers: [picker(scripted(calls(['pick', {}]), 'picked'))],
    })
    for (const root of [planned, moved]) {
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await until(async () => (await openCalls(runtime)).length === 1)
      await runtime.answer(answered((await openCalls(runtime))[0]!.id, { path: 'a' }))
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      await runtime.close()
    }
  })

  test('another process answers days later', async () => {
    const path = store()
    const model = () => scripted(calls(['pick', {}]), 'done')
    const first = await runtimeOf([picker(model())], { store: path })
    const { id } = await first.start('picker', 'go')
    const [question] = (await waiting(first.handle(id))).questions as [Question]
    await first.close()
    // the model of the second process is asked for its second answer alone
    const again = scripted('done')
    const second = await runtimeOf([picker(again)], { store: path })
    await second.answer(answered(question.id, { path: 'a' }))
    const run = second.handle(id)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    expect(told(again.prompts[0])).toEqual([{ path: 'a' }])
  })
})

describe('another attempt at the same work', () => {
  /** A worker whose first attempt fails once the client has answered, and a leader that gives the work again. */
  const failingOnce = (effect: 'once' | 'idempotent') => {
    let failures = 0
    const member = agent({
      name: 'member',
      description: 'Picks.',
      model: ({ messages }) => {
        if (!messages.some(({ role }) => role === 'tool')) return { calls: [{ name: 'pick', input: { n: 1 } }] }
        if (failures++ === 0) throw fatal('the model is gone')
        return 'picked'
      },
      tools: [pick({ effect })],
    })
    return supervisor({
      name: 'boss',
      model: scripted(delegates(['member', 'go']), delegates(['member', 'go']), 'done'),
      workers: [member],
    })
  }

  test.each([
    ['once', 1],
    ['idempotent', 2],
  ] as const)('of a tool that is %s the client is asked %i times', async (effect, times) => {
    const root = failingOnce(effect)
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    let seen = 0
    const ended = run.outcome()
    for (let isOver = false; !isOver;) {
      isOver = await Promise.race([ended.then(() => true), new Promise<false>((pass) => setTimeout(pass, 5, false))])
      for (const { id } of await openCalls(runtime)) {
        seen++
        await runtime.answer(answered(id, { path: 'a' }))
      }
    }
    expect(await ended).toMatchObject({ status: 'completed' })
    expect(seen).toBe(times)
    expect(await asksOf(run)).toHaveLength(times)
  })
})

describe('an attempt whose client did not answer in time', () => {
  test('the next one asks an approver first: it may have been run', async () => {
    const clock = manualClock()
    let failures = 0
    const member = agent({
      name: 'member',
      description: 'Picks.',
      model: ({ messages }) => {
        if (!messages.some(({ role }) => role === 'tool')) return { calls: [{ name: 'pick', input: { n: 1 } }] }
        if (failures++ === 0) throw fatal('the model is gone')
        return 'picked'
      },
      tools: [pick({ timeoutMs: 1_000 })],
    })
    const root = supervisor({
      name: 'boss',
      model: scripted(delegates(['member', 'go']), delegates(['member', 'go']), 'done'),
      workers: [member],
    })
    const runtime = await runtimeOf([root], { clock })
    const run = await runtime.start(root, 'go')
    await until(async () => (await openCalls(runtime)).length === 1)
    clock.advance(1_001)
    await until(async () => (await runtime.questions()).some(({ kind }) => kind === 'approval'))
    const [asked] = (await runtime.questions()) as [Question]
    expect((asked.body as { reason?: string }).reason).toMatch(/began it.*and perhaps did it/)
    await runtime.decide({ approvalId: asked.id, decision: 'approve', approver: 'ann' })
    await until(async () => (await openCalls(runtime)).length === 1)
    await runtime.answer(answered((await openCalls(runtime))[0]!.id, { path: 'a' }))
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
  })
})

describe('ways back', () => {
  test('a fork behind the answer keeps it; one before it asks again, an approver first: it was done before', async () => {
    const model = scripted(calls(['pick', {}]), 'done')
    const root = picker(model)
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await runtime.answer(answered(id, { path: 'a' }))
    await run.outcome()
    const events: { readonly type: string; readonly position: number }[] = []
    for await (const { event, position } of run.events()) events.push({ type: event.type, position })
    const after = events.findLast(({ type }) => type === 'step.settled')!
    const kept = await runtime.fork({ run: run.id, at: after.position })
    expect(await kept.outcome()).toMatchObject({ status: 'completed' })
    expect(await asksOf(kept)).toHaveLength(1)
    const start = events.find(({ type }) => type === 'step.settled')!
    const again = await runtime.fork({ run: run.id, at: start.position })
    const open = await waiting(again)
    expect(open.questions.map(({ kind }) => kind)).toEqual(['approval'])
    expect((open.questions[0]!.body as { reason?: string }).reason).toContain('had already done "pick"')
    await runtime.decide({ approvalId: open.questions[0]!.id, decision: 'approve', approver: 'ann' })
    await until(async () => (await openCalls(runtime)).length === 1)
    await runtime.answer(answered((await openCalls(runtime))[0]!.id, { path: 'b' }))
    expect(await again.outcome()).toMatchObject({ status: 'completed' })
  })

  test.each(['once', 'idempotent', 'read'] as const)(
    '%s: an answer that stands in a fork is not asked about, whether its result is recorded yet or not',
    async (effect) => {
      const root = agent({
        name: 'picker',
        model: ({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? 'done'
            : {
                calls: [
                  { name: 'pick', input: {} },
                  { name: 'draw', input: {} },
                ],
              },
        tools: [pick({ effect }), clientTool({ name: 'draw', description: 'Draws.', effect })],
      })
      const runtime = await runtimeOf([root])
      const run = await runtime.start(root, 'go')
      await until(async () => (await openCalls(runtime)).length === 2)
      const names: string[] = []
      for (const { id, body } of await openCalls(runtime)) {
        names.push(clientCallIn(body as Json)!.tool)
        await runtime.answer(answered(id, { path: 'a' }))
        await until(
          async () =>
            (await eventsOfNow(run)).filter(({ event }) => event.type === 'ask.settled').length === names.length,
        )
      }
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      let stand = 0
      const problems: string[] = []
      for (const { event, position } of await eventsOfNow(run)) {
        if (event.type === 'activation.settled') break
        if (event.type === 'ask.settled') stand++
        const fork = await runtime.fork({ run: run.id, at: position })
        const state = await fork.until('waiting')
        const open = 'questions' in state ? [...state.questions] : []
        const asked = open.map(({ kind, body }) => [kind, (body as { tool?: string }).tool])
        expect([position, asked]).toEqual([
          position,
          names.slice(stand).map((tool) => [effect === 'read' ? 'interrupt' : 'approval', tool]),
        ])
        if (open.length > 0) await fork.control.cancel()
        else problems.push(...(await replayProblems(fork, root)))
      }
      expect(problems).toEqual([])
    },
  )
})

describe('definition', () => {
  test.each([
    [{ execute: () => 1 }, /no option "execute"/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ output: 7 }, /output/],
    [{ background: true, action: 'return' }, /cannot have an action/],
    [{ effect: 'twice' }, /effect/],
  ])('%j is refused', (more, said) => {
    expect(() => clientTool({ name: 'pick', ...more } as never)).toThrow(said)
  })

  test('one of the AI SDK without execute is run by the client, and its outputSchema holds', async () => {
    const model = scripted(calls(['where', {}]), 'done')
    const root = agent({
      name: 'picker',
      model,
      tools: { where: { description: 'Where?', inputSchema: { type: 'object' }, outputSchema: { type: 'number' } } },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const [{ id }] = (await waiting(run)).questions as [Question]
    await expect(runtime.answer(answered(id, 'x'))).rejects.toMatchObject({ code: 'interrupt.invalid' })
    await runtime.answer(answered(id, 7))
    await run.outcome()
    expect(told(model.prompts[1])).toEqual([7])
  })

  test('its version says that the client runs it, and what it gives', () => {
    const versions = [pick(), pick({ output: { type: 'string' } }), tool({ name: 'pick', execute: () => 1 })]
    expect(new Set(versions.map(({ version }) => version)).size).toBe(3)
  })
})
