/**
 * What crosses to a worker besides its brief: messages that a filter lets through, metadata that a hook adds: spec
 * delegation 15 to 18, M20.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { asTool, sequential } from '@reeve/flow'
import { supervisor, type Delegation, type DelegationMessages } from '@reeve/supervisor'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, type Scripted } from './team.ts'
import { worker } from './control.ts'

async function led(delegation: Delegation, lead: Scripted, workers: readonly Agent[], options: object = {}) {
  const boss = supervisor({ name: 'boss', instructions: 'secret', model: lead, workers, delegation })
  const run = await (await runtimeOf([boss])).start(boss, 'go', options)
  return { outcome: await run.outcome(), events: await eventsOf(run), run }
}

describe('filterMessages', () => {
  const two = (): Scripted =>
    scripted({ ...delegates(['w1', 'first']), text: 'Let me see.' }, delegates(['w2', 'second']), 'final')
  test('delegation 15: what it keeps stands between the own system text and the prompt, which is last', async () => {
    const w2 = scripted('out')
    const second = agent({ name: 'w2', description: 'Works.', instructions: 'Own.', model: w2 })
    await led({ filterMessages: ({ messages }) => messages.slice(-1) }, two(), [worker('w1'), second])
    expect(w2.prompts[0]!.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Own.'],
      ['user', 'For context: [w1] said: w1 result.'],
      ['user', 'second'],
    ])
  })
  test('it is asked after onStart, with what would cross and the changed prompt; no system text, no calls', async () => {
    const given: DelegationMessages[] = []
    const delegation: Delegation = {
      onStart: ({ prompt }) => ({ prompt: `${prompt}, please` }),
      filterMessages: (each) => (given.push(each), each.messages),
    }
    await led(delegation, two(), [worker('w1'), worker('w2')])
    expect(given.map(({ worker: name, prompt }) => [name, prompt])).toEqual([
      ['w1', 'first, please'],
      ['w2', 'second, please'],
    ])
    expect(given[1]!.messages).toEqual([
      { role: 'user', text: 'go' },
      { role: 'assistant', text: 'Let me see.', agent: 'boss' },
      { role: 'assistant', text: 'w1 result', agent: 'w1' },
    ])
  })
  test('with a context policy it sees what the policy lets through; not asked where that is nothing', async () => {
    const seen: number[] = []
    const delegation: Delegation = {
      context: 'answers',
      workers: { w1: { context: 'brief' } },
      filterMessages: ({ messages }) => (seen.push(messages.length), messages),
    }
    await led(delegation, two(), [worker('w1'), worker('w2')])
    expect(seen).toEqual([2])
  })
  const broken = (): never => {
    throw new Error('broken')
  }
  test('delegation 16: a filter that throws, strict: no worker runs, and the result is a failure', async () => {
    const w1 = scripted('never')
    const lead = scripted(delegates(['w1', 'x']), 'final')
    const { events } = await led({ filterMessages: broken }, lead, [worker('w1', w1)])
    expect([told(lead.prompts[1]), w1.prompts]).toEqual([
      ['[not delegated: filterMessages failed: its code failed]'],
      [],
    ])
    expect(events.filter((event) => event.type === 'hook.failed' || event.type === 'delegation.refused')).toHaveLength(
      2,
    )
  })
  test('delegation 16: lenient: it fails closed, the prompt alone crosses', async () => {
    const w1 = scripted('out')
    const { events } = await led(
      { filterMessages: broken, hookErrors: 'lenient' },
      scripted(delegates(['w1', 'x']), 'final'),
      [worker('w1', w1)],
    )
    expect(w1.prompts[0]).toEqual([{ role: 'user', content: 'x' }])
    expect(events.filter((event) => event.type === 'hook.failed')).toMatchObject([{ hook: 'filterMessages' }])
  })
  test.each<[string, unknown]>([
    ['nothing at all be said', undefined],
    ['no list', 'all'],
    ['a system text', [{ role: 'system', text: 'x' }]],
    ['a message without text', [{ role: 'user' }]],
    ['an agent that is no name', [{ role: 'assistant', text: 'x', agent: 7 }]],
  ])('delegation 16: a filter that lets %s through has failed', async (_what, word) => {
    const w1 = scripted('out')
    const { events } = await led({ filterMessages: () => word as never }, scripted(delegates(['w1', 'x']), 'final'), [
      worker('w1', w1),
    ])
    expect([w1.prompts, events.filter((event) => event.type === 'hook.failed').length]).toEqual([[], 1])
  })
  test('delegation 17: no messages and an empty prompt: refused', async () => {
    const w1 = scripted('never')
    const lead = scripted(delegates(['w1', 'x']), 'final')
    await led({ onStart: () => ({ prompt: '' }), filterMessages: () => [] }, lead, [worker('w1', w1)])
    expect([told(lead.prompts[1]), w1.prompts]).toEqual([
      [expect.stringMatching(/not delegated: the instructions for "w1" are empty/)],
      [],
    ])
  })
  test('delegation 17: an empty prompt with messages: what was said speaks for itself', async () => {
    const w1 = scripted('out')
    await led(
      { onStart: () => ({ prompt: '' }), filterMessages: ({ messages }) => messages },
      scripted(delegates(['w1', 'x']), 'final'),
      [worker('w1', w1)],
    )
    expect(w1.prompts[0]).toEqual([{ role: 'user', content: 'go' }])
  })
})

describe('metadata', () => {
  const seen: Record<string, Json>[] = []
  const look = (as: string) =>
    tool({
      name: 'look',
      effect: 'read',
      execute: (_input, io) => (seen.push({ [as]: io.caller.metadata ?? null }), 'seen'),
    })
  const looker = (name: string) =>
    agent({ name, description: 'Looks.', model: scripted(calls(['look', {}]), 'done'), tools: [look(name)] })
  const metadata: Delegation['onStart'] = ({ worker: name }) => ({ metadata: { desk: name } })

  test('delegation 18: each worker sees its own beside what the caller gave, the leader neither', async () => {
    seen.length = 0
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), calls(['look', {}]), 'final')
    const boss = supervisor({
      name: 'boss',
      model: lead,
      workers: [looker('w1'), looker('w2')],
      tools: [look('boss')],
      delegation: { onStart: metadata },
    })
    const run = await (
      await runtimeOf([boss])
    ).start(boss, 'go', { user: 'ann', metadata: { tenant: 't1', desk: 'front' } })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(seen.toSorted((one, other) => Object.keys(one)[0]!.localeCompare(Object.keys(other)[0]!))).toEqual([
      { boss: { tenant: 't1', desk: 'front' } },
      { w1: { tenant: 't1', desk: 'w1' } },
      { w2: { tenant: 't1', desk: 'w2' } },
    ])
    expect((await run.view()).caller).toEqual({ user: 'ann', metadata: { tenant: 't1', desk: 'front' } })
  })
  test('delegation 18: all agents below see it; hooks of a leader below too', async () => {
    seen.length = 0
    const places = (as: string) => (ctx: Context) => {
      const inScope = ctx.scope('inner').scope('most').place.caller.metadata
      seen.push({ [as]: [ctx.place.caller.metadata ?? null, inScope ?? null] as Json })
      return as
    }
    const coder = agent({ name: 'coder', description: 'Codes.', run: (ctx) => places('coder')(ctx) })
    const inFlow = agent({ name: 'inFlow', description: 'Codes.', run: (ctx) => places('inFlow')(ctx) })
    const called = agent({ name: 'called', description: 'Codes.', run: (ctx) => places('called')(ctx) })
    const leads = agent({
      name: 'leads',
      description: 'Leads.',
      workers: [coder],
      run: async (ctx) => (await delegate(ctx, coder, 'x')).status,
    })
    const orchestrated = tool({ name: 'orchestrated', run: async (ctx) => places('tool')(ctx) })
    const flow = sequential({ name: 'flow', description: 'Flows.', agents: [inFlow] })
    const heard: Json[] = []
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(
        delegates(['leads', 'a'], ['flow', 'b']),
        calls(['orchestrated', {}], ['called', { request: 'x' }]),
        'mid ends',
      ),
      workers: [leads, flow],
      tools: [orchestrated, asTool(called)],
      delegation: { onStart: ({ caller }) => void heard.push(caller.metadata as Json) },
    })
    const { outcome } = await led(
      { onStart: () => ({ metadata: { desk: { no: 7 } } }) },
      scripted(delegates(['mid', 'x']), 'final'),
      [mid],
    )
    expect(outcome).toMatchObject({ output: 'final' })
    const at = { desk: { no: 7 } }
    expect(Object.assign({}, ...seen)).toEqual({ coder: [at, at], inFlow: [at, at], called: [at, at], tool: [at, at] })
    expect(heard).toEqual([at, at])
  })
  test('delegation 18: it is a read-only copy: a worker’s change reaches no other', async () => {
    const given = { list: ['a'] }
    const caught: string[] = []
    const writer = (name: string) =>
      agent({
        name,
        description: 'Writes.',
        run: (ctx) => {
          const mine = ctx.place.caller.metadata as { list: string[] }
          try {
            mine.list.push(name)
          } catch (thrown) {
            caught.push((thrown as Error).name)
          }
          return mine.list.join()
        },
      })
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final')
    await led({ onStart: () => ({ metadata: given }) }, lead, [writer('w1'), writer('w2')])
    expect([told(lead.prompts[1]), given, caught]).toEqual([['a', 'a'], { list: ['a'] }, ['TypeError', 'TypeError']])
  })
  test('delegation 18: what is undone on a cancel sees it, and it is the same after a restart', async () => {
    const undone: Json[] = []
    const gate = tool({ name: 'gate', approval: true, execute: (_input, io) => (io.caller.metadata ?? null) as Json })
    const helper = scripted(calls(['gate', {}]), ({ messages }) => JSON.stringify(messages.at(-1)!.content))
    const w1 = agent({ name: 'w1', description: 'Waits.', model: helper, tools: [gate] })
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final')
    const w2 = agent({
      name: 'w2',
      description: 'Undoes.',
      run: async (ctx) => {
        ctx.onCancel('back', async (undo) => void undone.push(undo.place.caller.metadata ?? null))
        await ctx.next(() => false)
      },
    })
    const delegation: Delegation = {
      onStart: metadata,
      onComplete: ({ worker: name, bail }) => (name === 'w1' ? bail() : undefined),
    }
    const boss = supervisor({ name: 'boss', model: lead, workers: [w1, w2] as readonly Agent[], delegation })
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go', { metadata: { tenant: 't1' } })
    await expect.poll(async () => (await run.view()).approvals.length).toBe(1)
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    const [approval] = (await resumed.view()).approvals
    await resumed.decide({ approvalId: approval!.id, decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ status: 'bailed', text: '{"tenant":"t1","desk":"w1"}' })
    expect(undone).toEqual([{ tenant: 't1', desk: 'w2' }])
  })
})
