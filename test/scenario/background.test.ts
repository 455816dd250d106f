/** Delegations that go on while their leader does something else: spec delegation 68 to 78. */
import { describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Message } from '@reeve/model'
import { supervisor, type Delegation } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting, type Scripted } from './team.ts'
import { pay, worker } from './control.ts'
import { door, until } from './doors.ts'

const team = (
  model: Scripted,
  workers: readonly ReturnType<typeof worker>[],
  delegation: Delegation<string>,
  more: object = {},
) => supervisor({ name: 'S', model, workers, delegation, ...more })

/** What stands in a prompt as the results of calls, in order. */
const results = (prompt: readonly Message[] | undefined): Json[] =>
  (prompt ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []))
const placeholder = /^\[d\d+: "\w+" works in the background/

const isPlaceholder = (result: Json): boolean => typeof result === 'string' && placeholder.test(result)

/** No prompt has a placeholder of what has ended, or ends with an assistant's message. */
function mustBeSound(model: Scripted): void {
  for (const prompt of model.prompts) expect(prompt.at(-1)?.role).not.toBe('assistant')
}

describe('a delegation that its leader does not wait for', () => {
  test('delegation 68: the call is answered at once; later its result stands there once, with a note', async () => {
    const open = door()
    const model = scripted(delegates(['w1', 'go', 'c1']), 'meanwhile', 'now I know')
    const w1 = worker('w1', scripted(open.before('out-1')))
    const leader = team(model, [w1], { background: ['w1'] })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => model.prompts.length === 2)
    expect(results(model.prompts[1])).toEqual([expect.stringMatching(placeholder)])
    open.open()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'now I know' })
    expect(results(model.prompts[2])).toEqual(['out-1'])
    expect(model.prompts[2]!.slice(-2)).toMatchObject([
      { role: 'assistant', content: 'meanwhile' },
      { role: 'user', content: expect.stringMatching(/d1 \("w1", completed\)/) },
    ])
    mustBeSound(model)
    const events = await eventsOf(run)
    expect(events.filter(({ type }) => type === 'delegation.deferred')).toMatchObject([
      { worker: 'w1', callId: 'c1', delegation: 'd1' },
    ])
    expect((await run.view()).activations).toMatchObject([
      { agent: 'S' },
      { agent: 'w1', state: 'completed', path: ['S', 'w1'] },
    ])
  })

  test('delegation 69: one at a time: the second is pending until the first ended; the run waits for both', async () => {
    const gates = [door(), door()] as const
    const order: string[] = []
    const one = (name: string, at: 0 | 1) =>
      worker(
        name,
        scripted(
          async (request) => (
            order.push(`${name} begins`),
            await gates[at].before('')(request),
            order.push(`${name} ends`),
            `${name} out`
          ),
        ),
      )
    const model = scripted(delegates(['w1', 'go'], ['w2', 'go']), 'waiting', 'still', 'final')
    const leader = team(model, [one('w1', 0), one('w2', 1)], { background: { workers: 'all', concurrency: 1 } })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => model.prompts.length === 2 && order.length === 1)
    expect((await run.delegations()).map(({ status }) => status)).toEqual(['running', 'pending'])
    gates[0].open()
    await until(() => order.length === 3)
    gates[1].open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(order).toEqual(['w1 begins', 'w1 ends', 'w2 begins', 'w2 ends'])
    expect(results(model.prompts[2])).toEqual(['w1 out', expect.stringMatching(placeholder)])
    expect(results(model.prompts[3])).toEqual(['w1 out', 'w2 out'])
    mustBeSound(model)
  })

  test("delegation 69: the leader's own concurrency holds for them too", async () => {
    let most = 0
    let now = 0
    const busy = (name: string) =>
      worker(
        name,
        scripted(async () => {
          most = Math.max(most, ++now)
          await new Promise((resolve) => setTimeout(resolve, 20))
          now--
          return 'done'
        }),
      )
    const model = scripted(delegates(['w1', 'a'], ['w2', 'b'], ['w3', 'c']), 'final')
    const leader = team(model, [busy('w1'), busy('w2'), busy('w3')], { background: ['w1', 'w2'] }, { concurrency: 1 })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(most).toBe(1)
  })

  test.each([
    [
      'each',
      [
        ['w1 out', 'pending'],
        ['w1 out', 'w2 out'],
      ],
    ],
    ['all', [['w1 out', 'w2 out']]],
  ] as const)('delegation 70: with react %s the leader is asked again %j', async (react, seen) => {
    const gates = { w1: door(), w2: door() }
    const one = (name: 'w1' | 'w2') => worker(name, scripted(gates[name].before(`${name} out`)))
    const model = scripted(delegates(['w1', 'go'], ['w2', 'go']), 'waiting', 'reacts', 'reacts')
    const leader = team(model, [one('w1'), one('w2')], { background: { workers: 'all', react } })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => model.prompts.length === 2)
    gates.w1.open()
    await until(async () => (await run.delegations())[0]?.status === 'completed')
    if (react === 'each') await until(() => model.prompts.length === 3)
    gates.w2.open()
    expect(await run.outcome()).toMatchObject({ output: 'reacts' })
    const shown = model.prompts
      .slice(2)
      .map((prompt) => results(prompt).map((result) => (isPlaceholder(result) ? 'pending' : result)))
    expect(shown).toEqual(seen)
    mustBeSound(model)
  })

  test('delegation 70: what ends while the model is asked is told before its answer ends the run', async () => {
    const open = door()
    const model = scripted(delegates(['w1', 'go']), open.before('too early'), 'final')
    const w1 = worker(
      'w1',
      scripted(() => 'out'),
    )
    const leader = team(model, [w1], { background: ['w1'] })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(async () => (await run.delegations())[0]?.status === 'completed')
    open.open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[2])).toEqual(['out'])
  })
})

describe('ends of every kind', () => {
  test('delegation 73: a stopped worker ends with its marker in the history, and no prompt says it runs', async () => {
    const never = door()
    const model = scripted(
      delegates(['w1', 'go']),
      calls(['stop_delegation', { delegation: 'd1', reason: 'not needed' }]),
      'final',
    )
    const leader = team(model, [worker('w1', scripted(never.before('never')))], { background: ['w1'] })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    never.open()
    expect(results(model.prompts[2])).toEqual([
      '[worker "w1" was cancelled: stopped by its leader: not needed]',
      '[stopped: d1 ("w1")]',
    ])
    expect(model.prompts[2]!.filter(({ content }) => typeof content === 'string' && placeholder.test(content))).toEqual(
      [],
    )
    expect((await run.view()).activations[1]).toMatchObject({ state: 'cancelled' })
    mustBeSound(model)
  })

  test('delegation 73: stopping what has ended, or what never was, is a result that says so', async () => {
    const model = scripted(
      delegates(['w1', 'go']),
      'waiting',
      calls(
        ['stop_delegation', { delegation: 'd1' }],
        ['stop_delegation', { delegation: 'd9' }],
        ['stop_delegation', {}],
      ),
      'final',
    )
    const leader = team(model, [worker('w1')], { background: ['w1'] })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(told(model.prompts[3])).toEqual([
      expect.stringMatching(/"d1" has ended already. None is under way/),
      expect.stringMatching(/no delegation "d9"/),
      expect.stringMatching(/must be the name of a delegation/),
    ])
  })

  test('a failed one and one at its limit are told as such, in place', async () => {
    const model = scripted(delegates(['bad', 'go'], ['short', 'go']), 'waiting', 'final')
    const bad = agent({
      name: 'bad',
      description: 'Fails.',
      run: () => {
        throw new Error('no luck')
      },
    })
    const short = agent({
      name: 'short',
      description: 'Is limited.',
      model: scripted(calls(['nope', {}])),
      limits: { turns: 1 },
    })
    const leader = team(model, [bad, short] as never, { background: { workers: 'all', react: 'all' } })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(results(model.prompts[2])).toEqual([
      expect.stringMatching(/worker "bad" failed/),
      expect.stringMatching(/limit of turns/),
    ])
    expect(model.prompts[2]!.at(-1)!.content).toMatch(/d1 \("bad", failed\).*d2 \("short", limited\)/)
  })

  test('delegation 74: ours: a cancel of the run always reaches them; there is no way out of it', async () => {
    const never = door()
    const heard: string[] = []
    const model = scripted(delegates(['w1', 'go']), 'waiting')
    const w1 = worker('w1', scripted(never.before('never')))
    const leader = team(model, [w1], { background: ['w1'], onComplete: ({ status }) => void heard.push(status) })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => model.prompts.length === 2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    never.open()
    expect((await run.view()).activations.map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
    expect(heard).toEqual(['cancelled'])
  })

  test('with whenDone stop the answer stands; workers are stopped with a typed outcome that hooks see', async () => {
    const never = door()
    const heard: string[] = []
    const model = scripted(delegates(['w1', 'go']), 'done')
    const w1 = worker('w1', scripted(never.before('never')))
    const delegation: Delegation<string> = {
      background: { workers: ['w1'], whenDone: 'stop' },
      onComplete: ({ outcome }) => void heard.push(outcome.status === 'cancelled' ? outcome.reason : outcome.status),
    }
    const leader = team(model, [w1], delegation)
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'done' })
    never.open()
    expect(heard).toEqual(['its leader is done'])
    expect((await run.view()).activations[1]).toMatchObject({ state: 'cancelled' })
    expect(model.prompts).toHaveLength(2)
  })

  test('a leader at its limit stops what is under way', async () => {
    const never = door()
    const model = scripted(delegates(['w1', 'go']), delegates(['w2', 'go']))
    const leader = team(
      model,
      [worker('w1', scripted(never.before('never'))), worker('w2')],
      { background: ['w1'] },
      { limits: { turns: 3 } },
    )
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ status: 'limited', limit: 'turns' })
    expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toContain('w1 cancelled')
  })

  test('a hook that bails ends the leader, also where it waits', async () => {
    const open = door()
    const never = door()
    const model = scripted(delegates(['w1', 'go'], ['w2', 'go']), 'waiting', 'never asked')
    const w1 = worker('w1', scripted(open.before('enough')))
    const w2 = worker('w2', scripted(never.before('never')))
    const leader = team(model, [w1, w2], {
      background: ['w1', 'w2'],
      onComplete: ({ worker: who }) => (who === 'w1' ? { bail: true } : undefined),
    })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => model.prompts.length === 2)
    open.open()
    expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'enough' })
    never.open()
    expect(model.prompts).toHaveLength(2)
    expect((await run.view()).activations.map(({ state }) => state)).toEqual(['bailed', 'completed', 'cancelled'])
  })

  test('a hook that bails while the model is asked ends the leader at its next turn', async () => {
    const shut = door()
    const model = scripted(delegates(['w1', 'go']), shut.before('an answer'), 'never asked')
    const leader = team(model, [worker('w1')], {
      background: ['w1'],
      onComplete: () => ({ bail: { answer: 'enough' } }),
    })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(async () => (await run.delegations())[0]?.status === 'completed')
    shut.open()
    expect(await run.outcome()).toMatchObject({ status: 'bailed', text: 'enough' })
    expect(model.prompts).toHaveLength(2)
  })

  test('feedback of a hook reaches the model with the result', async () => {
    const model = scripted(delegates(['w1', 'go']), 'waiting', 'final')
    const leader = team(model, [worker('w1')], {
      background: ['w1'],
      onComplete: () => ({ feedback: 'check the sources', result: 'checked' }),
    })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(results(model.prompts.at(-1))).toEqual(['checked'])
    expect(model.prompts.at(-1)!.map(({ content }) => content)).toContain('check the sources')
  })
})

describe('who may', () => {
  const prompt = (input: Json): ReturnType<typeof calls> => calls(['delegate', input])

  test('delegation 75: a background request for a worker that may not run so is ignored and never reaches it', async () => {
    const model = scripted(prompt({ worker: 'w2', instructions: 'go', background: true }), 'final')
    const w2 = worker('w2')
    const leader = team(model, [worker('w1'), w2], { background: ['w1'] })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(model.prompts[1])).toEqual(['w2 result'])
    const started = (await eventsOf(run)).filter((event) => event.type === 'activation.started' && event.agent === 'w2')
    expect(JSON.stringify(started)).not.toContain('background')
  })

  test('delegation 75: without a permitted worker nothing is offered', async () => {
    const model = scripted('final')
    const leader = team(model, [worker('w1')], {})
    await (await runtimeOf([leader])).run(leader, 'hi')
    expect(model.tools[0]!.map(({ name }) => name)).toEqual(['delegate', 'forward_message'])
    expect(JSON.stringify(model.tools[0])).not.toContain('background')
  })

  test('delegation 75: a typed worker does not get the word either; one that takes a field of that name does', async () => {
    const seen: Json[] = []
    const typed = (name: string, properties: Record<string, Json>) =>
      agent({
        name,
        description: 'Typed.',
        input: { type: 'object', properties, additionalProperties: false } as never,
        run: (_ctx, brief) => (seen.push(brief as Json), 'done'),
      })
    const model = scripted(
      calls(
        ['delegate_plain', { q: 1, background: false }],
        ['delegate_no', { q: 2, background: true }],
        ['delegate_own', { background: 'blue' }],
      ),
      'final',
    )
    const plain = typed('plain', { q: { type: 'number' } })
    const no = typed('no', { q: { type: 'number' } })
    const own = typed('own', { background: { type: 'string' } })
    const leader = team(model, [plain, no, own] as never, { background: ['plain'] })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(seen).toHaveLength(3)
    expect(seen).toEqual(expect.arrayContaining([{ q: 1 }, { q: 2 }, { background: 'blue' }]))
    expect(JSON.stringify(model.tools[0]!.find(({ name }) => name === 'delegate_plain'))).toContain('background')
  })

  test.each([
    ['deferred', undefined, true],
    ['deferred', false, false],
    ['deferred', null, true],
    ['awaited', undefined, false],
    ['awaited', true, true],
  ] as const)(
    'a worker whose way is %s, asked with background %j, is deferred: %j',
    async (background, wish, deferred) => {
      const model = scripted(
        prompt({ worker: 'w1', instructions: 'go', ...(wish === undefined ? {} : { background: wish }) }),
        'waiting',
        'final',
      )
      const leader = team(model, [worker('w1')], { workers: { w1: { background } } })
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      await run.outcome()
      expect((await eventsOf(run)).some(({ type }) => type === 'delegation.deferred')).toBe(deferred)
    },
  )

  test('what is wrong with the options is said at once', () => {
    const wrong = { workers: ['nobody'], default: 'later', concurrency: 0, react: 'some', whenDone: 'never', extra: 1 }
    const delegation = {
      background: wrong,
      timeoutMs: -1,
      retry: { attempts: 0, when: 1 },
      several: 'yes',
      workers: { w1: { background: 'maybe', hedge: { afterMs: -1, with: 'x' } } },
    }
    expect(() => team(scripted('x'), [worker('w1')], delegation as never)).toThrow(
      /has no option "extra"[^]*names the text "nobody"|names the text "nobody"[^]*|timeoutMs is -1/,
    )
    const said = ((): string => {
      try {
        team(scripted('x'), [worker('w1')], delegation as never)
        return ''
      } catch (thrown) {
        return (thrown as Error).message
      }
    })()
    for (const each of [
      '"extra"',
      'nobody',
      'default',
      'concurrency',
      'react',
      'whenDone',
      'timeoutMs',
      'attempts',
      'when',
      'several',
      'background',
      'afterMs',
      'hedge.with',
    ])
      expect(said).toContain(each)
    expect(() => team(scripted('x'), [worker('w1')], { background: {} })).toThrow(
      /lets no worker work in the background/,
    )
  })
})

describe('humans, usage and restarts', () => {
  test('delegation 76: a tool that asks inside a background worker: once approved, the same worker runs it once', async () => {
    const done: Json[] = []
    const model = scripted(delegates(['w1', 'go']), 'waiting', 'final')
    const w1 = agent({
      name: 'w1',
      description: 'Pays.',
      model: scripted(calls(['pay', { n: 1 }]), 'paid it'),
      tools: [pay(done)],
    })
    const leader = team(model, [w1] as never, { background: ['w1'] })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    const state = await waiting(run)
    expect(state.waiting).toMatchObject([{ tool: 'pay', path: ['S', 'w1'] }])
    await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([done, results(model.prompts.at(-1))]).toEqual([[{ n: 1 }], ['paid it']])
    expect((await run.view()).activations).toHaveLength(2)
  })

  test('who works in the background is named with where it stands: at work, pending, waiting for a human', async () => {
    const asked = door()
    const never = door()
    const model = scripted(
      delegates(['w1', 'go'], ['w2', 'go'], ['w3', 'go']),
      async (request) => (await asked.before('')(request), calls(['stop_delegation', { delegation: 'd9' }])),
      calls(
        ['stop_delegation', { delegation: 'd1' }],
        ['stop_delegation', { delegation: 'd2' }],
        ['stop_delegation', { delegation: 'd3' }],
      ),
      'final',
    )
    const w1 = agent({
      name: 'w1',
      description: 'Pays.',
      model: scripted(calls(['pay', { n: 1 }]), 'paid it'),
      tools: [pay()],
    })
    const others = ['w2', 'w3'].map((name) => worker(name, scripted(never.before('never'))))
    const leader = team(model, [w1, ...others] as never, { background: { workers: 'all', concurrency: 1 } })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => never.came === 1)
    asked.open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(model.prompts[2])).toEqual([
      expect.stringContaining('Under way: d1 "w1": waiting for a human; d2 "w2": running; d3 "w3": pending.'),
    ])
    expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toEqual([
      'S completed',
      'w1 cancelled',
      'w2 cancelled',
    ])
  })

  test('below another leader: it answers when all below it have', async () => {
    const shut = door()
    const model = scripted(delegates(['w1', 'go']), 'waiting', 'S is done')
    const inner = supervisor({
      name: 'S',
      description: 'Leads in the background.',
      model,
      workers: [worker('w1', scripted(shut.before('out')))],
      delegation: { background: ['w1'] },
    })
    const top = scripted(delegates(['S', 'go']), 'final')
    const root = supervisor({ name: 'top', model: top, workers: [inner] })
    const run = await (await runtimeOf([root])).start(root, 'hi')
    await until(() => model.prompts.length === 2)
    shut.open()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(results(top.prompts[1])).toEqual(['S is done'])
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual(['top', 'top/S', 'top/S/w1'])
  })

  test('delegation 77: the outcome comes after the last result and counts all turns', async () => {
    const used = (text: string, input: number, output: number) => ({ text, usage: { input, output } })
    const model = scripted(
      { ...delegates(['w1', 'go']), usage: { input: 1, output: 1 } },
      used('waiting', 2, 2),
      used('final', 3, 3),
    )
    const leader = team(model, [worker('w1', scripted(used('out', 10, 20)))], { background: ['w1'] })
    const outcome = await (await runtimeOf([leader])).run(leader, 'hi')
    expect(outcome).toMatchObject({ output: 'final' })
    const sum = (name: string, what: 'input' | 'output') =>
      outcome.usage.filter((row) => row.agent === name).reduce((all, row) => all + (row[what] ?? 0), 0)
    expect([sum('S', 'input'), sum('w1', 'input'), sum('w1', 'output')]).toEqual([6, 10, 20])
  })

  test('delegation 78: a restart with one working and three pending: all four end once, never two at a time', async () => {
    const file = store()
    const ran: string[] = []
    let now = 0
    let most = 0
    const shut = door()
    let isFirst = true
    const names = ['w1', 'w2', 'w3', 'w4']
    const workers = names.map((name) =>
      worker(
        name,
        scripted(async (request) => {
          most = Math.max(most, ++now)
          try {
            return isFirst ? await shut.before('')(request) : `${name} out`
          } finally {
            now--
            ran.push(name)
          }
        }),
      ),
    )
    const rule = scripted((request) => {
      if (request.messages.every(({ role }) => role !== 'tool'))
        return delegates(...names.map((name) => [name, 'go'] as const))
      return results(request.messages).some(isPlaceholder) ? 'waiting' : 'final'
    })
    const leader = () => team(rule, workers, { background: { workers: 'all', concurrency: 1 } })
    const first = await runtimeOf([leader()], { store: file })
    const run = await first.start('S', 'hi', { runId: 'four' })
    await until(async () => now === 1 && (await run.delegations()).length === 4)
    isFirst = false
    await first.close({ graceMs: 0 })
    await until(() => now === 0)
    ran.length = 0
    const second = await runtimeOf([leader()], { store: file })
    const again = second.handle('four')
    expect(await again.outcome()).toMatchObject({ output: 'final' })
    expect(ran).toEqual(names)
    expect(most).toBe(1)
    expect((await again.delegations()).map(({ status, attempts }) => [status, attempts])).toEqual(
      names.map(() => ['completed', 1]),
    )
  })
})
