/**
 * Conversation-led teams: who speaks in a round, what it is shown, how a table ends, and that it is an agent like every
 * other.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, transferTo, interrupt, router, sequential, supervisor, type Agent } from '@reeve/public'
import { breakLoop, exit, ledger, roundtable } from '@reeve/public/team'
import type { Table } from '@reeve/supervisor'
import { asText } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import type { RoundtableOptions } from '@reeve/supervisor'
import { code, lines, pay, user, withoutSystem, worker, ways, xfer } from './control.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, told, waiting } from './team.ts'

const table = (more: Omit<RoundtableOptions<string, readonly Agent[], undefined>, 'name'>): Agent =>
  roundtable({ name: 'table', ...more })
const chosen = (events: readonly JournalEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'speaker.chosen' ? [`${event.speaker} by ${event.by}`] : []))
const speakers = (events: readonly JournalEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'speaker.chosen' ? [event.speaker] : []))
const noted = (events: readonly JournalEvent[], name: string): unknown[] =>
  events.flatMap((event) => (event.type === 'fact.noted' && event.name === name ? [event.data] : []))

async function held(root: Agent, input = 'task') {
  const run = await (await runtimeOf([root])).start(root, input)
  const outcome = await run.outcome()
  const events = await eventsOf(run)
  return { run, outcome, events, spoke: speakers(events), ended: noted(events, 'roundtable.ended')[0] }
}
const json = (value: object): string => JSON.stringify(value)

describe('who speaks', () => {
  test('round-robin: in order, each sees what was said; ends well after its rounds, with the last words', async () => {
    const [a, b] = [scripted('a1', 'a2'), scripted('b1', 'b2')]
    const { outcome, events, ended, run } = await held(
      table({ agents: [worker('a', a), worker('b', b)], speaker: 'round-robin', maxRounds: 3 }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'a2' })
    expect(chosen(events)).toEqual(['a by round-robin', 'b by round-robin', 'a by round-robin'])
    expect(withoutSystem(b.prompts[0])).toEqual([user('task'), user('For context: [a] said: a1.')])
    expect(withoutSystem(a.prompts[1])).toEqual([
      user('task'),
      { role: 'assistant', content: 'a1' },
      user('For context: [b] said: b1.'),
    ])
    expect(ended).toEqual({ why: 'rounds', rounds: 3 })
    expect(ways(await run.view())).toEqual(['table', 'table/a', 'table/b', 'table/a'])
  })

  test('round-robin: the same agent may sit at it more than once, elsewhere not', async () => {
    const [a, b, c] = [worker('a'), worker('b'), worker('c')]
    const { spoke } = await held(table({ agents: [a, b, a, c], speaker: 'round-robin', maxRounds: 5 }))
    expect(spoke).toEqual(['a', 'b', 'a', 'c', 'a'])
    expect(() => table({ agents: [a, b, a], speaker: 'random' })).toThrow(/agents lists "a" twice/)
  })

  test('10 rounds by default', async () => {
    expect((await held(table({ agents: [worker('a')], speaker: 'round-robin' }))).ended).toEqual({
      why: 'rounds',
      rounds: 10,
    })
  })

  test('random: no speaker twice in a row unless alone or allowed; order is fixed per run', async () => {
    const agents = ['a', 'b', 'c'].map((name) => worker(name))
    const root = table({ agents, speaker: 'random', maxRounds: 40 })
    const runtime = await runtimeOf([root])
    const orders = []
    for (const runId of ['run_one', 'run_two']) {
      const run = await runtime.start(root, 'task', { runId })
      await run.outcome()
      orders.push(speakers(await eventsOf(run)))
    }
    for (const order of orders) {
      expect(order.every((name, i) => name !== order[i - 1])).toBe(true)
      expect(new Set(order).size).toBe(3)
    }
    expect(orders[0]).not.toEqual(orders[1])
    expect((await held(table({ agents: [agents[0]!], speaker: 'random', maxRounds: 2 }))).spoke).toEqual(['a', 'a'])
    const { spoke } = await held(table({ agents, speaker: 'random', repeats: true, maxRounds: 40 }))
    expect(spoke.some((name, i) => name === spoke[i - 1])).toBe(true)
  })

  test('auto: a model chooses by descriptions and talk, gives an instruction, and ends it', async () => {
    const model = scripted(
      json({ speaker: 'writer', instruction: 'Write two lines.' }),
      json({ speaker: 'critic' }),
      json({ done: true }),
    )
    const [writer, critic] = [scripted('two lines'), scripted('fine')]
    const { outcome, events, ended, run } = await held(
      table({ agents: [worker('writer', writer), worker('critic', critic)], speaker: 'auto', model }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'fine' })
    expect(ended).toEqual({ why: 'speaker', rounds: 2 })
    expect(events.filter(({ type }) => type === 'speaker.chosen')).toMatchObject([
      { speaker: 'writer', round: 1, by: 'auto', instruction: 'Write two lines.' },
      { speaker: 'critic', round: 2, by: 'auto' },
    ])
    expect(withoutSystem(writer.prompts[0])).toEqual([user('task'), user('Write two lines.')])
    expect(withoutSystem(critic.prompts[0])).toEqual([
      user('task'),
      user('For context: [table] said: writer: Write two lines..'),
      user('For context: [writer] said: two lines.'),
    ])
    const asked = model.prompts[1]!.at(-1)!.content as string
    expect(asked).toContain('- critic: Does what critic does.')
    expect(asked).not.toContain('- writer:') // nobody twice in a row
    expect(model.prompts[0]!.at(-1)!.content).not.toContain('done') // not before anybody has spoken
    expect(model.tools).toEqual([[], [], []])
    expect(await lines(run)).toEqual(['writer table/writer says: two lines', 'critic table/critic says: fine']) // who is chosen is said to nobody
  })

  test('auto: repeats lets the same one speak again; what the selector used counts', async () => {
    const usage = { input: 3, output: 4 }
    const model = scripted(
      { text: json({ speaker: 'a' }), usage },
      { text: json({ speaker: 'a' }), usage },
      { text: json({ done: true }), usage },
    )
    const { spoke, run } = await held(
      table({ agents: [worker('a'), worker('b')], speaker: 'auto', model, repeats: true }),
    )
    expect(spoke).toEqual(['a', 'a'])
    expect((await run.view()).usage.find(({ agent: who }) => who === 'table')).toMatchObject({
      calls: 3,
      input: 9,
      output: 12,
    })
  })

  test('auto: an unknown name is corrected; a model that cannot choose falls back to turns, with a fact', async () => {
    const corrected = scripted(json({ speaker: 'ghost' }), json({ speaker: 'b' }), json({ done: true }))
    expect(
      (await held(table({ agents: [worker('a'), worker('b')], speaker: 'auto', model: corrected }))).spoke,
    ).toEqual(['b'])
    expect(corrected.prompts[1]!.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('speaker') as string,
    })

    const model = scripted('I would say b?')
    const { events, outcome } = await held(
      table({ agents: [worker('a'), worker('b')], speaker: 'auto', model, maxRounds: 2 }),
    )
    expect(outcome.status).toBe('completed')
    expect(chosen(events)).toEqual(['a by round-robin', 'b by round-robin'])
    expect(noted(events, 'speaker.fallback')).toMatchObject([
      { round: 1, problem: expect.stringContaining('not JSON') as string },
      { round: 2 },
    ])
    expect(model.prompts).toHaveLength(6) // each is asked, and corrected twice
  })

  test('auto: a call of a tool that is not there is told and forgiven; a model that fails ends the table', async () => {
    const model = scripted(calls(['search', {}]), json({ speaker: 'a' }), json({ done: true }))
    expect((await held(table({ agents: [worker('a'), worker('b')], speaker: 'auto', model }))).spoke).toEqual(['a'])
    const { outcome } = await held(
      table({ agents: [worker('a'), worker('b')], speaker: 'auto', model: scripted(fatal('no key')) }),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model.bad-request' } })
  })

  test('a function: sync or async, once per round and recorded, with its own copy; undefined does not end it', async () => {
    const seen: Table[] = []
    const a = scripted('a1')
    const { outcome, events } = await held(
      table({
        agents: [worker('a', a), worker('b')],
        speaker: async (at) => {
          seen.push({ ...at, said: at.said })
          ;(at.said as unknown[]).length = 0
          await Promise.resolve()
          return at.round === 1 ? { speaker: 'a', instruction: 'begin' } : at.round === 2 ? 'b' : undefined
        },
      }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'b result' })
    expect(chosen(events)).toEqual(['a by function', 'b by function'])
    expect(withoutSystem(a.prompts[0])).toEqual([user('task'), user('begin')])
    expect(seen).toHaveLength(3)
    expect(seen[2]).toMatchObject({ name: 'table', round: 3, maxRounds: 10, last: 'b', text: 'b result' })
    expect(seen[2]!.said.map(({ agent: who }) => who)).toEqual([undefined, 'table', 'a', 'b'])
  })

  test.each([
    ['throws', () => Promise.reject(new Error('broken')), 'hook.failed'],
    ['returns what is none', () => 7 as unknown as string, 'hook.failed'],
    ['names a stranger', () => 'ghost', 'delegation.unknown-worker'],
    ['lets nobody speak', () => undefined, 'agent.failed'],
  ])('a function that %s: the table fails and says so', async (_what, speaker, expected) => {
    const { outcome } = await held(table({ agents: [worker('a')], speaker }))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: expected } })
  })

  test('a Speaker of one’s own may ask agents', async () => {
    const moderator = worker('moderator', scripted('b', 'a', 'stop'))
    const { spoke, outcome } = await held(
      table({
        agents: [worker('a'), worker('b')],
        speaker: {
          name: 'moderated',
          agents: [moderator],
          open: () => ({
            next: async (ctx) => moderated(await delegate(ctx, moderator, 'who?')),
          }),
        },
      }),
    )
    expect(spoke).toEqual(['b', 'a'])
    expect(outcome).toMatchObject({ status: 'completed', output: 'a result' })
  })
})

const moderated = (said: { status: string; output?: unknown }) =>
  said.output === 'stop' ? ({ type: 'done' } as const) : ({ type: 'speaks', speaker: said.output as string } as const)

describe('how it ends', () => {
  const two = (): Agent[] => [worker('a', scripted('a1', 'a2 TERMINATE')), worker('b', scripted('b1'))]

  test('until: asked after each round that went well', async () => {
    const { outcome, ended } = await held(
      table({
        agents: two(),
        speaker: 'round-robin',
        maxRounds: Infinity,
        until: ({ text }) => text.includes('TERMINATE'),
      }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'a2 TERMINATE' })
    expect(ended).toEqual({ why: 'until', rounds: 3 })
    const bad = await held(table({ agents: two(), speaker: 'round-robin', until: () => 'yes' as unknown as boolean }))
    expect(bad.outcome).toMatchObject({ status: 'failed', failure: { code: 'hook.failed' } })
  })

  test('breakLoop by a member ends this table and nothing around it', async () => {
    const inner = roundtable({
      name: 'table',
      agents: [worker('a'), code('b', () => breakLoop('enough'))],
      speaker: 'round-robin',
    })
    const { outcome, events, ended } = await held(
      sequential({ name: 'line', agents: [inner, worker('last', scripted('after'))] }),
    )
    expect(outcome).toMatchObject({ status: 'completed', output: 'after' })
    expect(events.filter(({ type }) => type === 'loop.broken')).toMatchObject([{ from: 'b', iteration: 1 }])
    expect(ended).toEqual({ why: 'break', rounds: 2 })
  })

  test('exit by a member ends the run; exit of the supervisor only this table', async () => {
    const around = (scope: 'run' | 'supervisor'): Agent =>
      sequential({
        name: 'line',
        agents: [
          roundtable({
            name: 'table',
            agents: [code('a', () => exit('out', scope)), worker('b')],
            speaker: 'round-robin',
          }),
          worker('last'),
        ],
      })
    expect((await held(around('run'))).outcome).toMatchObject({ status: 'completed', output: 'out' })
    expect((await held(around('supervisor'))).outcome).toMatchObject({ status: 'completed', output: 'last result' })
  })

  test('a member that fails is told to the others, and it goes on; onFailure "end" ends it in the same way', async () => {
    const bad = (): Agent => worker('bad', scripted(fatal('down')))
    const b = scripted('b1')
    const { outcome } = await held(table({ agents: [bad(), worker('b', b)], speaker: 'round-robin', maxRounds: 2 }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'b1' })
    expect(withoutSystem(b.prompts[0]).at(-1)).toEqual(user('[worker "bad" failed: its model could not answer]'))
    const strict = await held(table({ agents: [bad(), worker('b')], speaker: 'round-robin', onFailure: 'end' }))
    expect(strict.outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'model.bad-request', details: { agent: 'bad' } },
    })
    expect(strict.ended).toEqual({ why: 'failure', rounds: 1 })
  })

  test('without progress it ends: after as many failures in a row as members', async () => {
    const { outcome, ended } = await held(
      table({
        agents: ['a', 'b', 'c'].map((name) => worker(name, scripted(fatal('down')))),
        speaker: 'round-robin',
        maxRounds: Infinity,
      }),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { details: { agent: 'c' } } })
    expect(ended).toEqual({ why: 'failure', rounds: 3 })
  })

  test('K7: who has nothing to say takes no answer away: what was answered before still stands', async () => {
    const agents = [worker('a', scripted('the answer')), worker('b', scripted(''))]
    for (const maxRounds of [2, 4])
      expect((await held(table({ agents, speaker: 'round-robin', maxRounds }))).outcome).toMatchObject({
        output: 'the answer',
      })
  })

  test('rounds that only one uses and fails: how it ended is how the table ends, not an empty success', async () => {
    const { outcome } = await held(
      table({ agents: [worker('a', scripted(fatal('down'))), worker('b')], speaker: 'round-robin', maxRounds: 1 }),
    )
    expect(outcome.status).toBe('failed')
  })

  test('a member has no transfer target', async () => {
    const hands = code('a', () => transferTo('b'))
    const { outcome } = await held(table({ agents: [hands, worker('b')], speaker: 'round-robin', onFailure: 'end' }))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'transfer.refused' } })
  })

  test('summary: an agent sees the conversation and answers; a function is a recorded step', async () => {
    const chronicler = scripted('minutes')
    const byAgent = await held(
      table({
        agents: [worker('a'), worker('b')],
        speaker: 'round-robin',
        maxRounds: 2,
        summary: worker('chronicler', chronicler),
      }),
    )
    expect(byAgent.outcome).toMatchObject({ status: 'completed', output: 'minutes' })
    expect(withoutSystem(chronicler.prompts[0])).toEqual([
      user('task'),
      user('For context: [a] said: a result.'),
      user('For context: [b] said: b result.'),
    ])
    const byCode = await held(
      table({
        agents: [worker('a')],
        speaker: 'round-robin',
        maxRounds: 2,
        summary: ({ said, text }) => ({ said: said.length, text }),
      }),
    )
    expect(byCode.outcome).toMatchObject({ status: 'completed', output: { said: 3, text: 'a result' } })
    const nothing = await held(
      table({ agents: [worker('a')], speaker: 'round-robin', maxRounds: 1, summary: () => undefined as never }),
    )
    expect(nothing.outcome).toMatchObject({ status: 'completed', output: 'a result' })
  })

  test('output: the answer must have the promised form', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const root = (said: string): Agent =>
      roundtable({ name: 'table', agents: [worker('a', scripted(said))], speaker: 'round-robin', maxRounds: 1, output })
    expect((await held(root('{"n":1}'))).outcome).toMatchObject({ status: 'completed', output: { n: 1 } })
    expect((await held(root('one'))).outcome).toMatchObject({ status: 'failed', failure: { code: 'output.invalid' } })
  })

  test('a limit of the whole tree ends it as limited', async () => {
    const { outcome } = await held(
      roundtable({ name: 'table', agents: [worker('a'), worker('b')], speaker: 'round-robin', limits: { turns: 3 } }),
    )
    expect(outcome).toMatchObject({ status: 'limited', limit: 'turns' })
    const auto = await held(
      roundtable({
        name: 'table',
        agents: [worker('a'), worker('b')],
        speaker: 'auto',
        model: scripted(({ messages }) =>
          json({ speaker: messages.at(-2)?.content === 'For context: [a] said: a result.' ? 'b' : 'a' }),
        ),
        limits: { turns: 3 },
      }),
    )
    expect(auto.outcome.status).toBe('limited')
  })
})

describe('an agent like every other', () => {
  const panel = (agents: readonly Agent[]): Agent =>
    roundtable({ name: 'panel', description: 'Discusses.', agents, speaker: 'round-robin', maxRounds: 2 })

  test('a worker of a supervisor: its answer is the result, and nothing else leaks', async () => {
    const model = scripted(delegates(['panel', 'discuss it']), 'done')
    const a = scripted('a says')
    const { outcome } = await held(supervisor({ name: 'boss', model, workers: [panel([worker('a', a), worker('b')])] }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(told(model.prompts[1])).toEqual(['b result'])
    expect(withoutSystem(a.prompts[0])).toEqual([user('discuss it')])
  })

  test('under a router it leaves what was said; tables sit at tables', async () => {
    const lead = scripted(xfer('panel'), 'final')
    const inner = roundtable({
      name: 'inner',
      agents: [worker('x'), worker('y')],
      speaker: 'round-robin',
      maxRounds: 2,
    })
    const { outcome, run } = await held(router({ name: 'lead', model: lead, workers: [panel([inner, worker('b')])] }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect(withoutSystem(lead.prompts[1])).toEqual([
      user('task'),
      user('For context: [x] said: x result.'),
      user('For context: [y] said: y result.'),
      user('For context: [b] said: b result.'),
    ])
    expect(ways(await run.view())).toContain('lead/panel/inner/y')
  })

  test('a user proxy: a member that asks outside, and the conversation goes on with the answer', async () => {
    const proxy = code('ann', async (ctx) => asText(await interrupt(ctx, 'What do you say?')))
    const b = scripted('thanks')
    const root = table({ agents: [worker('a'), proxy, worker('b', b)], speaker: 'round-robin', maxRounds: 3 })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'task')
    await waiting(run)
    const [question] = await runtime.questions()
    expect(question).toMatchObject({ kind: 'interrupt' })
    await runtime.answer({ interruptId: question!.id, value: 'more salt' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'thanks' })
    expect(withoutSystem(b.prompts[0]).at(-1)).toEqual(user('For context: [ann] said: more salt.'))
  })

  test('an approval inside a member, and a cancel', async () => {
    const done: unknown[] = []
    const payer = agent({
      name: 'payer',
      tools: [pay(done as never)],
      model: scripted(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'paid it' : calls(['pay', { n: 1 }]))),
    })
    const root = table({ agents: [payer, worker('b')], speaker: 'round-robin', maxRounds: 2 })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'task')
    const [approval] = (await waiting(run)).waiting
    await run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' } as never)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'b result' })
    expect(done).toEqual([{ n: 1 }])
    const other = await runtime.start(root, 'task')
    await waiting(other)
    await other.control.cancel('enough')
    expect(await other.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
  })

  test('agents may be defined later; who sits at it may not be found again below itself', async () => {
    const later: Agent[] = []
    const root = roundtable({ name: 'table', agents: () => later, speaker: 'round-robin', maxRounds: 1 })
    later.push(worker('a'))
    expect((await held(root)).outcome).toMatchObject({ output: 'a result' })
    const loop: Agent[] = []
    const inner = roundtable({ name: 'inner', agents: () => loop, speaker: 'round-robin' })
    loop.push(inner)
    await expect(runtimeOf([inner])).rejects.toThrow(/inner/)
    await expect(runtimeOf([roundtable({ name: 'none', agents: () => [], speaker: 'round-robin' })])).rejects.toThrow(
      /no agents/,
    )
  })

  test('in a session the next conversation knows what was said in the last one', async () => {
    const model = scripted('first', 'second')
    const root = table({ agents: [worker('a', model)], speaker: 'round-robin', maxRounds: 1 })
    const runtime = await runtimeOf([root])
    await runtime.run(root, 'one', { session: 'ann-1' })
    await runtime.run(root, 'two', { session: 'ann-1' })
    expect(withoutSystem(model.prompts[1]).map(({ content }) => content)).toEqual([
      'one',
      expect.stringContaining('first'),
      'two',
    ])
  })

  test('a Speaker may ask a model aloud: that is said', async () => {
    const model = scripted('Let a speak.')
    const { run } = await held(
      table({
        agents: [worker('a')],
        speaker: {
          name: 'host',
          open: (floor) => ({
            next: async (ctx, { round }) => {
              if (round > 1) return { type: 'done' }
              await floor.ask(ctx, model, 'Open the round.', { aloud: true })
              floor.tell('Mind the time.')
              return { type: 'speaks', speaker: 'a' }
            },
          }),
        },
      }),
    )
    expect(await lines(run)).toEqual(['table table says: Let a speak.', 'a table/a says: a result'])
    expect(withoutSystem(model.prompts[0])).toEqual([user('task'), user('Open the round.')])
  })

  test('outputKey, and instructions from its leader', async () => {
    const root = sequential({
      name: 'line',
      agents: [
        roundtable({
          name: 'panel',
          agents: [worker('a')],
          speaker: 'round-robin',
          maxRounds: 1,
          outputKey: 'verdict',
        }),
        code('reader', async (ctx) => `heard ${asText(await ctx.values.get('verdict'))}`),
      ],
    })
    expect((await held(root)).outcome).toMatchObject({ status: 'completed', output: 'heard a result' })
  })
})

test('everything that is wrong with a table is said at once', () => {
  const wrong = {
    name: 'table',
    agents: [],
    speaker: 'loudest',
    maxRounds: 0,
    until: 1,
    onFailure: 'x',
    summary: 3,
    model: 'a/b',
    repeats: 1,
    edge: { agents: { x: {} } },
    max: 2,
  }
  const make = (): unknown => roundtable(wrong as never)
  for (const part of [
    /no agents/,
    /speaker is the text "loudest"/,
    /maxRounds is 0/,
    /until is 1/,
    /onFailure is the text "x"/,
    /summary is 3/,
    /model is only for speaker "auto"/,
    /repeats is 1, expected true or false/,
    /repeats is only for the speakers "auto" and "random"/,
    /unknown agent "x"/,
    /no option "max"/,
  ])
    expect(make).toThrow(part)
  expect(() => table({ agents: [worker('a')], speaker: 'auto' })).toThrow(/needs a model/)
  expect(() => ledger({ maxStalls: 0, maxResets: -1 } as never)).toThrow(
    /model is missing[^]*maxStalls is 0[^]*maxResets is -1/,
  )
})
