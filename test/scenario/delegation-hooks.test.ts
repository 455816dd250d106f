/**
 * What a leader's hooks may say around a delegation, and what becomes of it: spec delegation 21 to 23, 26 to 29, 31 to
 * 33, 44.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import {
  supervisor,
  type Delegation,
  type DelegationEnd,
  type DelegationHooks,
  type DelegationMessages,
  type DelegationStart,
} from '@reeve/supervisor'
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
import { withoutSystem, worker } from './control.ts'

const failedHooks = (events: readonly JournalEvent[]) => events.filter((event) => event.type === 'hook.failed')

/** A leader of w1 and w2, played to its end. */
async function led(delegation: Delegation, lead: Scripted, workers = [worker('w1'), worker('w2')]) {
  const boss = supervisor({ name: 'boss', model: lead, workers, delegation })
  const run = await (await runtimeOf([boss])).start(boss, 'go')
  const outcome = await run.outcome()
  return { run, outcome, events: await eventsOf(run), told: told(lead.prompts[1]) }
}

describe('onStart', () => {
  test('delegation 21: a rejected worker never runs, the reason is told, siblings go on', async () => {
    const ended: string[] = []
    const w1 = scripted('never')
    const played = await led(
      {
        onStart: ({ worker: name }) => (name === 'w1' ? { proceed: false, reason: 'not today' } : undefined),
        onComplete: ({ worker: name }) => void ended.push(name),
      },
      scripted(delegates(['w1', 'a', 'c1'], ['w2', 'b', 'c2']), 'final'),
      [worker('w1', w1), worker('w2')],
    )
    expect(played.outcome).toMatchObject({ output: 'final' })
    expect(played.told).toEqual(['[not delegated: rejected: not today]', 'w2 result'])
    expect([w1.prompts, ended]).toEqual([[], ['w2']])
    expect(played.events.find((event) => event.type === 'delegation.refused')).toMatchObject({
      worker: 'w1',
      callId: 'c1',
      delegation: 'd1',
      failure: { code: 'delegation.refused', class: 'rejected' },
    })
  })
  test.each([[undefined], [''], [null as unknown as string]])(
    'delegation 21: rejected for the reason %j, the model is told that there is none',
    async (reason) => {
      const onStart = () => ({ proceed: false, ...(reason === undefined ? {} : { reason }) }) as const
      expect((await led({ onStart }, scripted(delegates(['w1', 'a']), 'final'))).told).toEqual([
        '[not delegated: rejected: no reason given]',
      ])
    },
  )
  test('delegation 22: a changed prompt is the last message, added instructions follow, turns may exceed its own', async () => {
    const note = tool({ name: 'note', effect: 'read', execute: () => 'noted' })
    const busy = scripted(calls(['note', {}]), calls(['note', {}]), calls(['note', {}]), 'done')
    const w1 = agent({
      name: 'w1',
      description: 'Works.',
      instructions: 'Own text.',
      model: busy,
      tools: [note],
      limits: { turns: 2 },
    })
    const played = await led(
      { onStart: () => ({ prompt: 'other', instructions: 'Added text.', turns: 4 }) },
      scripted(delegates(['w1', 'first']), 'final'),
      [w1],
    )
    expect(played.told).toEqual(['done'])
    expect(busy.prompts[0]).toEqual([
      { role: 'system', content: 'Own text.\n\nAdded text.' },
      { role: 'user', content: 'other' },
    ])
    expect(busy.prompts).toHaveLength(4)
  })
  test.each([
    [50, 5],
    [3, 3],
    ['3', 3],
    [null, 5],
  ])('delegation 23: the model asks for %j turns of a worker that has five: it has %i', async (turns, has) => {
    const busy = scripted(calls(['note', {}]))
    const note = tool({ name: 'note', effect: 'read', execute: () => 'noted' })
    const w1 = agent({ name: 'w1', description: 'Works.', model: busy, tools: [note], limits: { turns: 5 } })
    await led({}, scripted(calls(['delegate', { worker: 'w1', instructions: 'x', turns }]), 'final'), [w1])
    expect(busy.prompts).toHaveLength(has)
  })
  test('what it is told: whose call it is, and the conversation without machinery', async () => {
    const starts: DelegationStart[] = []
    const lead = scripted(
      { ...delegates(['w1', 'first', 'c1']), text: 'Let me see.' },
      delegates(['w2', 'second', 'c2']),
      'final',
    )
    const boss = supervisor({
      name: 'boss',
      instructions: 'secret',
      model: lead,
      workers: [worker('w1'), worker('w2')],
      delegation: { onStart: (start) => void starts.push(start) },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go', { user: 'ann' })
    await run.outcome()
    expect(starts).toMatchObject([
      {
        worker: 'w1',
        delegation: 'd1',
        callId: 'c1',
        turn: 1,
        leader: 'boss',
        path: ['boss'],
        run: run.id,
        caller: { user: 'ann' },
        prompt: 'first',
      },
      { worker: 'w2', delegation: 'd2', callId: 'c2', turn: 2, prompt: 'second' },
    ])
    expect(starts[1]!.messages).toEqual([
      { role: 'user', text: 'go' },
      { role: 'assistant', text: 'Let me see.', agent: 'boss' },
      { role: 'assistant', text: 'w1 result', agent: 'w1' },
    ])
  })
  test('a typed input may be another one, and is checked like the first', async () => {
    const seen: Json[] = []
    const adder = agent({
      name: 'adder',
      description: 'Adds.',
      input: z.object({ n: z.number().min(1) }),
      run: (_ctx, input) => (seen.push(input), `${input.n}`),
    })
    const inputs: (Json | undefined)[] = [{ n: 2 }, { n: 0 }]
    const played = await led(
      {
        onStart: ({ input, delegation }) => ({
          input: delegation === 'd1' ? { n: (input as { n: number }).n + 1 } : inputs[1]!,
        }),
      },
      scripted(calls(['delegate_adder', { n: 1 }], ['delegate_adder', { n: 1 }]), 'final'),
      [adder] as never,
    )
    expect(seen).toEqual([{ n: 2 }])
    expect(played.told).toEqual(['2', expect.stringMatching(/onStart failed: it gave an input that does not fit: "n"/)])
  })
})

describe('a hook that fails', () => {
  const broken = (hook: string) => () => {
    throw new Error(`${hook} is broken`)
  }
  test('delegation 26: a failed onStart, strict: no worker runs, a failed result in the journal', async () => {
    const w1 = scripted('never')
    const played = await led({ onStart: broken('start') }, scripted(delegates(['w1', 'a', 'c1']), 'final'), [
      worker('w1', w1),
    ])
    expect(played.told).toEqual(['[not delegated: onStart failed: its code failed]']) // the journal has what it threw
    expect(w1.prompts).toEqual([])
    expect(failedHooks(played.events)).toMatchObject([
      { hook: 'onStart', worker: 'w1', callId: 'c1', delegation: 'd1', failure: { code: 'hook.failed' } },
    ])
  })
  test('delegation 26: a failed onStart, lenient: it goes on as it was asked, and the journal has it', async () => {
    const w1 = scripted('out')
    const played = await led(
      { onStart: broken('start'), hookErrors: 'lenient' },
      scripted(delegates(['w1', 'as asked']), 'final'),
      [worker('w1', w1)],
    )
    expect([played.told, w1.prompts[0]!.at(-1)]).toEqual([['out'], { role: 'user', content: 'as asked' }])
    expect(failedHooks(played.events)).toMatchObject([{ hook: 'onStart' }])
  })
  test.each<[string, unknown, RegExp]>([
    ['a text', 'no', /it returned the text "no"; expected nothing or \{ proceed, reason, prompt, /],
    ['a list', [], /it returned a list; expected nothing or/],
    ['no', false, /it returned false; expected nothing or/],
    ['an unknown name', { modifiedPrompt: 'x' }, /no option "modifiedPrompt"/],
    ['a prompt that is no text', { prompt: 7 }, /prompt is 7, expected a text/],
    ['turns below one', { turns: 0 }, /turns is 0/],
    ['metadata that is no object', { metadata: [] }, /metadata is a list, expected a plain object/],
    ['an input for a worker of instructions', { input: {} }, /gave an input to a worker that takes instructions/],
    ['what JSON cannot hold', { metadata: { at: new Date(0) } }, /instance of Date/],
  ])('delegation 26: onStart gives %s: it has failed', async (_what, word, why) => {
    const played = await led({ onStart: () => word as never }, scripted(delegates(['w1', 'a']), 'final'))
    expect(played.told).toEqual([expect.stringMatching(why)])
    expect(failedHooks(played.events)).toHaveLength(1)
  })
  test('a failed onComplete, strict: a good result becomes a failed one, and nothing of it is passed on', async () => {
    const lead = scripted(
      delegates(['w1', 'a']),
      calls(['forward_message', { worker: 'w1' }]),
      delegates(['w2', 'b']),
      'final',
    )
    const w2 = scripted('w2 result')
    const onComplete = ({ worker: name }: DelegationEnd) => (name === 'w1' ? broken('complete')() : undefined)
    const played = await led({ onComplete, context: 'conversation' }, lead, [
      worker('w1', scripted('leaky')),
      worker('w2', w2),
    ])
    expect(played.told).toEqual(['[the answer of "w1" is withheld: onComplete failed: its code failed]'])
    expect(told(lead.prompts[2])).toEqual([expect.stringMatching(/there is no output of "w1" to forward/)])
    expect(JSON.stringify([lead.prompts, w2.prompts])).not.toContain('leaky')
  })
  test('a failed onComplete, lenient: the result is told as it is', async () => {
    const played = await led(
      { onComplete: broken('complete'), hookErrors: 'lenient' },
      scripted(delegates(['w1', 'a']), 'final'),
    )
    expect([played.told, failedHooks(played.events).length]).toEqual([['w1 result'], 1])
  })
  test.each(['strict', 'lenient'] as const)(
    'delegation 33: a failed onComplete of a failed delegation, %s: failure told, hook noted',
    async (hookErrors) => {
      const lead = scripted(delegates(['w1', 'a']), 'final')
      const played = await led({ onComplete: broken('complete'), hookErrors }, lead, [
        worker('w1', scripted(fatal('down'))),
      ])
      expect(played.told).toEqual(['[worker "w1" failed: its model could not answer]'])
      expect(await played.run.delegations()).toMatchObject([
        {
          status: 'failed',
          outcome: { failure: { code: 'model.bad-request', message: 'down' } },
          hookFailures: [{ hook: 'onComplete', failure: { message: 'onComplete failed: complete is broken' } }],
        },
      ])
    },
  )
})

describe('onComplete', () => {
  test('delegation 27: another result is what the model sees, in this run; the raw text stays readable', async () => {
    const played = await led({ onComplete: () => ({ result: 'in short' }) }, scripted(delegates(['w1', 'a']), 'final'))
    expect(played.told).toEqual(['in short'])
    expect(await played.run.delegations()).toMatchObject([{ label: 'd1', status: 'completed', output: 'w1 result' }])
  })
  test('delegation 27: the other result is also what is forwarded, and what later workers are shown', async () => {
    const w2 = scripted('w2 result')
    const onComplete = ({ worker: name }: DelegationEnd) => (name === 'w1' ? { result: 'clean' } : undefined)
    const lead = scripted(delegates(['w1', 'a']), delegates(['w2', 'b']), calls(['forward_message', { worker: 'w1' }]))
    const played = await led({ context: 'answers', onComplete }, lead, [
      worker('w1', scripted('raw')),
      worker('w2', w2),
    ])
    expect(played.outcome).toMatchObject({ status: 'completed', output: 'clean' })
    expect(JSON.stringify(w2.prompts)).toContain('clean')
    expect(JSON.stringify(w2.prompts)).not.toContain('raw')
  })
  test('an empty result is told as none', async () => {
    const played = await led({ onComplete: () => ({ result: '' }) }, scripted(delegates(['w1', 'a']), 'final'))
    expect(played.told).toEqual(['[no result]'])
  })
  test('delegation 28: another result of a failure is told, and it stays a failure with its cause', async () => {
    const lead = scripted(delegates(['w1', 'a']), 'final')
    const played = await led({ onComplete: () => ({ result: 'try w2' }) }, lead, [
      worker('w1', scripted(fatal('down'))),
    ])
    expect(lead.prompts[1]!.at(-1)).toMatchObject({ role: 'tool', content: 'try w2', isError: true })
    expect(await played.run.delegations()).toMatchObject([
      { status: 'failed', outcome: { failure: { message: 'down' } } },
    ])
  })
  test('delegation 29: feedback is there in the very next model call, as a user', async () => {
    const lead = scripted(delegates(['w1', 'a'], ['w2', 'b']), delegates(['w1', 'c']), 'final')
    await led(
      { onComplete: ({ delegation }) => (delegation === 'd1' ? { feedback: 'check the sources' } : undefined) },
      lead,
    )
    expect(withoutSystem(lead.prompts[1]).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'go'],
      ['assistant', ''],
      ['tool', 'w1 result'],
      ['tool', 'w2 result'],
      ['user', 'check the sources'],
    ])
    expect(lead.prompts[2]!.filter(({ content }) => content === 'check the sources')).toHaveLength(1)
  })
  test('delegation 32, 44: onComplete gets status, original failure, usage and the result to be told', async () => {
    const ends: DelegationEnd[] = []
    const lead = scripted(
      { ...delegates(['w1', 'a'], ['w2', 'b']), usage: { input: 3, output: 1 } },
      { text: 'final', usage: { input: 2, output: 1 } },
    )
    const w2 = worker('w2', scripted({ text: 'w2 result', usage: { input: 7, output: 3 } }))
    const played = await led({ onComplete: (end) => void ends.push(end) }, lead, [
      worker('w1', scripted(fatal('boom-secret'))),
      w2,
    ])
    ends.sort((one, other) => one.delegation.localeCompare(other.delegation))
    expect(ends).toMatchObject([
      {
        worker: 'w1',
        status: 'failed',
        attempt: 1,
        text: '[worker "w1" failed: its model could not answer]',
        outcome: { failure: { message: 'boom-secret' } },
      },
      { worker: 'w2', status: 'completed', text: 'w2 result', usage: [{ agent: 'w2', input: 7, output: 3 }] },
    ])
    expect(played.told).toEqual(['[worker "w1" failed: its model could not answer]', 'w2 result'])
    expect(played.outcome.usage.map(({ agent: name, input }) => [name, input])).toContainEqual(['w2', 7])
  })
  test("results: 'full' tells the model what the worker's tools came to; 'report' only the hook", async () => {
    const note = tool({ name: 'note', effect: 'read', execute: () => 'noted' })
    const w1 = () =>
      agent({
        name: 'w1',
        description: 'Works.',
        model: scripted(calls(['note', { n: 1 }, 'k1']), 'out'),
        tools: [note],
      })
    const said: number[] = []
    const onComplete = ({ said: report = [] }: DelegationEnd) => void said.push(report.length)
    const full = await led({ results: 'full', onComplete }, scripted(delegates(['w1', 'a']), 'final'), [w1()])
    expect(full.told).toEqual([
      { answer: 'out', tools: [{ tool: 'note', callId: 'k1', input: { n: 1 }, result: 'noted', isError: false }] },
    ])
    const report = await led({ results: 'report', onComplete }, scripted(delegates(['w1', 'a']), 'final'), [w1()])
    const answer = await led({ onComplete }, scripted(delegates(['w1', 'a']), 'final'), [w1()])
    expect([report.told, answer.told, said]).toEqual([['out'], ['out'], [3, 3, 0]])
    // applications see them always
    for (const each of [full, report, answer])
      expect(await each.run.delegations()).toMatchObject([
        { tools: [{ tool: 'note', callId: 'k1', input: { n: 1 }, result: 'noted', isError: false }] },
      ])
  })
})

describe('once', () => {
  test('each hook runs once per delegation, even if the worker waits for a human over a restart', async () => {
    const asked: string[] = []
    const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
    const w1 = agent({ name: 'w1', description: 'Pays.', model: scripted(calls(['pay', {}]), 'paid it'), tools: [pay] })
    const lead = scripted(delegates(['w1', 'a']), 'final')
    const delegation: DelegationHooks = {
      onStart: () => void asked.push('start'),
      filterMessages: ({ messages }) => (asked.push('filter'), messages),
      onComplete: () => void asked.push('complete'),
    }
    const boss = supervisor({ name: 'boss', model: lead, workers: [w1], delegation })
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    await waiting(run)
    expect(await run.delegations()).toMatchObject([{ status: 'waiting', attempts: 1 }])
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    await resumed.decide({ approvalId: (await waiting(resumed)).waiting[0]!.id, decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ output: 'final' })
    expect(asked).toEqual(['start', 'filter', 'complete'])
  })
  test('they may take their time; siblings do not wait for each other', async () => {
    const order: string[] = []
    const onStart = async ({ worker: name }: DelegationStart) => {
      await pause(name === 'w1' ? 60 : 0)
      order.push(`start ${name}`)
    }
    const played = await led(
      { onStart, onComplete: ({ worker: name }) => void order.push(`end ${name}`) },
      scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final'),
    )
    expect(played.told).toEqual(['w1 result', 'w2 result'])
    expect(order).toEqual(['start w2', 'end w2', 'start w1', 'end w1'])
  })
  test('what a hook changes in what it is given changes nothing', async () => {
    const w1 = scripted('w1 result')
    const spoil = (given: object): void => {
      for (const [name, value] of Object.entries(given)) {
        if (typeof value === 'object' && value !== null) spoil(value as object)
        else if (typeof value === 'string') (given as Record<string, unknown>)[name] = 'spoilt'
      }
    }
    const keptOf = (
      { messages, ...rest }: DelegationMessages,
      change: (given: object) => void,
    ): DelegationMessages['messages'] => {
      const kept = structuredClone(messages)
      change({ messages, ...rest })
      return kept
    }
    const played = await led(
      {
        onStart: (start) => spoil(start),
        filterMessages: (given) => keptOf(given, spoil),
        onComplete: (end) => spoil(end),
      },
      scripted(delegates(['w1', 'a']), 'final'),
      [worker('w1', w1)],
    )
    expect([played.told, w1.prompts[0]!.map(({ content }) => content)]).toEqual([['w1 result'], ['go', 'a']])
    expect(failedHooks(played.events)).toEqual([])
  })
  test('delegation M21: hooks belong to one level: a leader below has its own', async () => {
    const asked: string[] = []
    const w1 = worker('w1')
    const hooks = (who: string): DelegationHooks => ({
      onStart: ({ worker: name }) => void asked.push(`${who} > ${name}`),
    })
    const mid = supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'x']), 'mid ends'),
      workers: [w1],
      delegation: hooks('mid'),
    })
    const low = supervisor({
      name: 'low',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'x']), 'low ends'),
      workers: [w1],
    })
    await led(hooks('boss'), scripted(delegates(['mid', 'a']), delegates(['low', 'b']), 'final'), [mid, low] as never)
    expect(asked).toEqual(['boss > mid', 'mid > w1', 'boss > low'])
  })
})

test('options of hooks that make no sense are refused together', () => {
  const wrong = {
    onStart: 1,
    filterMessages: 'x',
    onComplete: {},
    hookErrors: 'loud',
    references: { above: 0, under: 1 },
    onstart: () => {},
  }
  const make = () =>
    supervisor({ name: 'boss', model: scripted('x'), workers: [worker('w1')], delegation: wrong as never })
  for (const what of [
    /onStart is .*expected a function/,
    /filterMessages is/,
    /onComplete is/,
    /hookErrors is the text "loud"/,
    /references.above is 0/,
    /"under"/,
    /"onstart".*"onStart"/,
  ])
    expect(make).toThrow(what)
})
