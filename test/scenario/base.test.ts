/**
 * Any brain may lead a team: a model agent, another supervisor, code. Spec delegation L1, L11, and 32, 46, 79, 82 for a
 * leader that is code.
 */
import { describe, expect, test } from 'vitest'
import { agent, askSupervisor, delegate, exit, tool, type Agent } from '@reeve/agent'
import { copy, failure, FailureError, type Json, type Outcome } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import { parallel, router, sequential } from '@reeve/flow'
import { supervisor, type DelegationEnd, type DelegationResult } from '@reeve/supervisor'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, store, told, waiting } from './team.ts'

const worker = <const Name extends string>(name: Name, model = scripted(`${name} is done`)) =>
  agent({ name, description: `Does what ${name} does.`, model })
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'team.invalid', message: expect.stringMatching(message) as string }) as Error
const facts = (result: DelegationResult<unknown>): Json => copy({ ...result, outcome: result.outcome.status })

describe('a base with a model', () => {
  test('its model, instructions, tools, middleware, settings and templating lead; its name does not', async () => {
    const lead = scripted(delegates(['w', 'one']), calls(['look', {}]), 'final')
    const seen: string[] = []
    const analyst = agent({
      name: 'analyst',
      description: 'Thinks about {topic}.',
      instructions: 'Think about {topic}.',
      templating: true,
      model: lead,
      tools: [tool({ name: 'look', execute: () => 'looked' })],
      middleware: [{ name: 'm', beforeModel: ({ messages }) => void seen.push(`${messages.length}`) }],
      settings: { temperature: 0.5 },
    })
    const boss = supervisor({ name: 'boss', base: analyst, workers: [worker('w')] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go', { values: { topic: 'cats' } })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect(boss.description).toBe('Thinks about {topic}.')
    expect(lead.prompts[0]![0]!.content).toMatch(/^Think about cats\.\n\nYou lead a team.*\n- w: Does what w does\.$/s)
    expect(lead.tools[0]!.map(({ name }) => name)).toEqual(['look', 'delegate', 'forward_message'])
    expect(told(lead.prompts[2])).toEqual(['looked'])
    expect(seen).toHaveLength(3)
    expect((await run.view()).activations.map(({ path }) => path.join('/'))).toEqual(['boss', 'boss/w'])
  })

  test('what is said of the supervisor itself wins; the base stays what it is and works for others', async () => {
    const [theirs, ours] = [scripted('theirs'), scripted('ours')]
    const base = agent({
      name: 'base',
      description: 'Is a base.',
      instructions: 'Base.',
      model: theirs,
      limits: { turns: 3 },
    })
    const boss = supervisor({
      name: 'boss',
      base,
      model: ours,
      instructions: 'Boss.',
      guidance: '{workers}',
      workers: [worker('w'), base],
    })
    const runtime = await runtimeOf([boss])
    expect(await runtime.run(boss, 'go')).toMatchObject({ output: 'ours' })
    expect(ours.prompts[0]![0]!.content).toBe('Boss.\n\n- w: Does what w does.\n- base: Is a base.')
    expect(boss.limits).toEqual({ turns: 3 })
    expect(await runtime.run(base, 'go')).toMatchObject({ output: 'theirs' })
    expect(theirs.prompts[0]![0]!.content).toBe('Base.')
  })

  test('its output schema, its orchestration tools and its version go with it', async () => {
    const inside: string[] = []
    const make = (version: string) =>
      agent({
        name: 'base',
        version,
        output: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
        tools: [
          tool({ name: 'ask', run: async (ctx) => void inside.push((await delegate(ctx, helper, 'help')).status) }),
        ],
        model: scripted(calls(['ask', {}]), '{"ok": "no"}', '{"ok": true}'),
      })
    const helper = worker('helper')
    const boss = supervisor({ name: 'boss', base: make('1'), workers: [helper] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ status: 'completed', output: { ok: true } })
    expect(inside).toEqual(['completed'])
    expect(supervisor({ name: 'boss', base: make('2'), workers: [helper] }).version).toMatch(/^2\+/)
    expect(boss.version).toMatch(/^1\+/)
  })

  test('no agent without a model can be a base, and that is said with everything else', () => {
    const code = agent({ name: 'code', description: 'Is code.', run: () => 'x' })
    const boss =
      (base: Agent, more: object = {}) =>
      () =>
        supervisor({ name: 'boss', base, workers: [worker('w')], ...more })
    const noModel = /supervisor "boss": its base "\w+" has no model that could lead a team/
    for (const base of [
      code,
      sequential({ name: 'flow', agents: [worker('a')] }),
      parallel({ name: 'flow', agents: [worker('a')] }),
      router({ name: 'flow', model: scripted('x'), workers: [worker('a')] }),
    ])
      expect(boss(base)).toThrow(invalid(noModel))
    expect(boss(code, { worker: [] })).toThrow(invalid(/has no model that could lead[^]*did you mean "workers"/))
    expect(boss('analyst' as never)).toThrow(invalid(/base is the text "analyst", expected an agent/))
    expect(() => supervisor({ name: 'boss', workers: [worker('w')] } as never)).toThrow(
      /has no model, no base and no run/,
    )
    expect(boss(worker('b'), { run: () => 'x' })).toThrow(/has both a base and a run/)
    expect(boss(worker('b'), { verbs: { delegate: '' } })).toThrow(invalid(/verbs.delegate is the text ""/))
    const named = agent({ name: 'n', model: scripted('x'), tools: [tool({ name: 'delegate', execute: () => 'x' })] })
    expect(boss(named)).toThrow(invalid(/"delegate" is taken/))
  })
})

describe('a base that leads already', () => {
  test('its workers stay, with ours after them; its policy and its verbs hold where we say nothing', async () => {
    const lead = scripted(
      calls(['assign', { worker: 'a', instructions: '1' }], ['assign', { worker: 'b', instructions: '2' }]),
      'final',
    )
    const [a, b] = [scripted('a is done'), scripted('b is done')]
    const ended: string[] = []
    const first = supervisor({
      name: 'first',
      model: lead,
      instructions: 'First.',
      workers: [worker('a', a)],
      specialists: [worker('s')],
      verbs: { delegate: 'assign' },
      guidance: 'Team: {workers}',
      delegation: {
        context: 'conversation',
        onComplete: ({ worker: name }) => void ended.push(name),
        workers: { a: { context: 'brief' } },
      },
    })
    const boss = supervisor({ name: 'boss', base: first, workers: [worker('b', b)], verbs: { forward: 'relay' } })
    expect(boss.team()).toEqual(['a', 'b'])
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'final' })
    expect(lead.tools[0]!.map(({ name }) => name)).toEqual(['assign', 'relay', 'recruit'])
    expect(lead.prompts[0]![0]!.content).toBe('First.\n\nTeam: - a: Does what a does.\n- b: Does what b does.')
    expect([JSON.stringify(a.prompts[0]).includes('go'), JSON.stringify(b.prompts[0]).includes('go')]).toEqual([
      false,
      true,
    ])
    expect(ended.sort()).toEqual(['a', 'b'])
    expect(first.team()).toEqual(['a'])
  })

  test('workers that joined before are inherited, later ones not; two workers of one name are refused', async () => {
    const first = supervisor({ name: 'first', model: scripted('x'), workers: [worker('a')] })
    first.add(worker('late'))
    const boss = supervisor({ name: 'boss', base: first, workers: [] })
    first.add(worker('later'))
    expect(boss.team()).toEqual(['a', 'late'])
    expect(boss.remove('a')?.name).toBe('a')
    expect([boss.team(), first.team()]).toEqual([['late'], ['a', 'late', 'later']])
    expect(() => supervisor({ name: 'boss', base: first, workers: [worker('a')] })).toThrow(
      invalid(/two workers are called "a"/),
    )
    const open = supervisor({ name: 'open', model: scripted('x'), workers: () => [worker('a')] })
    expect(supervisor({ name: 'boss', base: open, workers: [worker('b')] }).team()).toEqual(['a', 'b'])
  })

  test('code that leads may be a base, too', async () => {
    const first = supervisor({
      name: 'first',
      workers: [worker('a')],
      run: async (_ctx, brief, team) => `${brief}: ${team.names.join()} ${(await team.delegate('a', 'x')).text}`,
    })
    const boss = supervisor({ name: 'boss', base: first, workers: [worker('b')] })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({ output: 'go: a,b a is done' })
  })
})

describe('code that leads', () => {
  test('delegates in order or at once, by typed names, through the same hooks, and usage counts', async () => {
    const moments: string[] = []
    const [w, v] = [scripted({ text: 'w said', usage: { input: 7, output: 3 } }), scripted('v said')]
    const boss = supervisor({
      name: 'boss',
      workers: [worker('w', w), worker('v', v)],
      delegation: {
        onStart: ({ worker: name, delegation, leader, turn }) => {
          moments.push(`start ${delegation} ${name} ${leader} ${turn}`)
          return name === 'w' ? { prompt: 'another brief', instructions: 'Be quick.' } : undefined
        },
        onComplete: ({ worker: name, status, text }) => {
          moments.push(`end ${name} ${status} ${text}`)
          return name === 'w' ? { result: 'better said', feedback: 'mind the gap' } : undefined
        },
      },
      run: async (_ctx, brief, team) => {
        const both = await Promise.all([
          team.delegate('w', `${brief} 1`),
          team.delegate('v', `${brief} 2`, { turns: 1 }),
        ])
        return { both: both.map(facts), raw: both[0].outcome.status === 'completed' ? both[0].outcome.output : '' }
      },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    expect(await run.outcome()).toMatchObject({
      output: {
        both: [
          { worker: 'w', delegation: 'd1', outcome: 'completed', text: 'better said', feedback: 'mind the gap' },
          { worker: 'v', delegation: 'd2', outcome: 'completed', text: 'v said' },
        ],
        raw: 'w said',
      },
    })
    expect(w.prompts[0]).toMatchObject([
      { role: 'system', content: 'Be quick.' },
      { role: 'user', content: 'another brief' },
    ])
    expect(v.prompts[0]).toMatchObject([{ role: 'user', content: 'go 2' }])
    expect(moments.slice(0, 2).sort()).toEqual(['start d1 w boss 1', 'start d2 v boss 1'])
    expect(moments.slice(2).sort()).toEqual(['end v completed v said', 'end w completed w said'])
    expect(await run.usage()).toContainEqual(expect.objectContaining({ agent: 'w', input: 7, output: 3 }))
  })

  test('a failed, refused or missing worker is an outcome; invalid options throw', async () => {
    const boss = supervisor({
      name: 'boss',
      workers: [worker('w', scripted(fatal('boom-secret'))), worker('v')],
      specialists: [worker('s')],
      delegation: { onStart: ({ worker: name }) => (name === 'v' ? { proceed: false, reason: 'not now' } : undefined) },
      run: async (_ctx, _brief, team) => {
        const wrong = await team.delegate('w', 'x', { turn: 1 } as never).then(
          () => 'accepted',
          (thrown: { code: string; message: string }) => `${thrown.code} ${thrown.message}`,
        )
        const list = [await team.delegate('w', 'x'), await team.delegate('v', 'x'), await team.delegate('s', 'x')]
        const joined = [team.recruit('s', 'needed'), team.recruit('nobody' as 's', 'needed')].map(
          (each) => each?.code ?? 'joined',
        )
        const after = await team.delegate('s', 'x')
        const failures = list.map(({ outcome }) =>
          outcome.status === 'failed' ? outcome.failure.code : outcome.status,
        )
        return {
          wrong,
          failures,
          texts: list.map(({ text }) => text),
          joined,
          after: after.text,
          names: [...team.names],
        }
      },
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const outcome = (await run.outcome()) as Outcome<Record<string, Json>>
    expect(outcome).toMatchObject({
      output: {
        wrong: expect.stringMatching(/^input.invalid .*did you mean "turns"/) as string,
        failures: ['model.bad-request', 'delegation.refused', 'delegation.unknown-worker'],
        texts: [
          '[worker "w" failed: its model could not answer]',
          '[not delegated: rejected: not now]',
          expect.stringContaining('It must be recruited first.') as string,
        ],
        joined: ['joined', 'delegation.unknown-worker'],
        after: 's is done',
        names: ['w', 'v', 's'],
      },
    })
    expect(
      (await eventsOf(run)).flatMap((event) => (event.type === 'delegation.refused' ? [event.worker] : [])),
    ).toEqual(['v', 's'])
  })

  test('delegation 79: it forwards word for word, by name or delegation; 82: by name the last in call order', async () => {
    const w = scripted('first\n  ', 'second')
    const boss = (what: 'w' | 'd1' | 'd3') =>
      supervisor({
        name: 'boss',
        workers: [worker('w', w)],
        run: async (_ctx, _brief, team) => {
          await team.delegate('w', 'x')
          await team.delegate('w', 'x')
          return what === 'w' ? team.forward(what) : team.forward(what)
        },
      })
    const run = await (await runtimeOf([boss('d1')])).start('boss', 'go')
    expect(await run.outcome()).toMatchObject({ output: 'first\n  ' })
    expect((await eventsOf(run)).find(({ type }) => type === 'output.forwarded')).toMatchObject({ worker: 'w' })
    expect(await (await runtimeOf([boss('w')])).run('boss', 'go')).toMatchObject({ output: 'second' })
    const failed = await (await runtimeOf([boss('d3')])).run('boss', 'go')
    expect(failed).toMatchObject({
      status: 'failed',
      failure: { code: 'work.rejected', message: expect.stringContaining('d1 (w)') as string },
    })
  })

  test('a hook that bails ends it as bailed, whatever its code returns or throws, without further delegation', async () => {
    const seen: Json[] = []
    const boss = (then: 'returns' | 'throws') =>
      supervisor({
        name: 'boss',
        workers: [worker('w')],
        delegation: { onComplete: () => ({ bail: { answer: 'enough' } }) },
        run: async (_ctx, _brief, team) => {
          seen.push(facts(await team.delegate('w', 'x')), facts(await team.delegate('w', 'y')))
          if (then === 'throws') throw new FailureError(failure('work.rejected', 'what now', 'rejected'))
          return 'another answer'
        },
      })
    for (const then of ['returns', 'throws'] as const)
      expect(await (await runtimeOf([boss(then)])).run('boss', 'go')).toMatchObject({
        status: 'bailed',
        text: 'enough',
      })
    expect(seen[0]).toMatchObject({ outcome: 'completed', text: 'w is done' })
    expect(seen[1]).toMatchObject({ outcome: 'failed', text: expect.stringContaining('not delegated') as string })
  })

  test('under another leader it is a normal worker: context crosses, its report lists delegations, it may exit', async () => {
    const inner = scripted('inner is done')
    const ends: DelegationEnd[] = []
    const mid = supervisor({
      name: 'mid',
      description: 'Leads by code.',
      workers: [worker('w', inner)],
      delegation: { context: 'conversation' },
      run: async (_ctx, brief, team, talk) => {
        await team.delegate('w', 'first')
        await team.delegate('w', 'second')
        talk.say('thinking')
        return exit(`${brief} by ${talk.history.length}`)
      },
    })
    const top = supervisor({
      name: 'top',
      model: scripted(delegates(['mid', 'do it']), 'final'),
      workers: [mid],
      delegation: { results: 'report', onComplete: (end) => void ends.push(end) },
    })
    expect(await (await runtimeOf([top])).run(top, 'go')).toMatchObject({ output: 'final' })
    expect(inner.prompts[1]!.map(({ content }) => content)).toEqual(
      ['do it', 'For context: [w] said: inner is done.', 'second'].map((text, i) => (i === 1 ? 'inner is done' : text)),
    )
    expect(ends[0]).toMatchObject({ status: 'completed', text: 'do it by 1' })
    expect(
      ends[0]!.said!.flatMap(({ message }) =>
        message.role === 'assistant' ? (message.calls ?? []).map(({ input }) => input) : [],
      ),
    ).toEqual([
      { worker: 'w', instructions: 'first' },
      { worker: 'w', instructions: 'second' },
    ])
  })

  test('delegation 46: cancelled while two work: its hooks see the cancel, and its code goes no further', async () => {
    const heard: string[] = []
    const asks = <const Name extends string>(name: Name) =>
      agent({ name, description: 'Asks.', run: async (ctx) => (await interrupt(ctx, `${name}?`)) as string })
    const boss = supervisor({
      name: 'boss',
      workers: [asks('a'), asks('b')],
      delegation: { onComplete: ({ worker: name, status }) => void heard.push(`${name} ${status}`) },
      run: async (_ctx, _brief, team) => {
        await Promise.all([team.delegate('a', 'x'), team.delegate('b', 'x')])
        heard.push('went on')
        return 'done'
      },
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    while ((await runtime.questions()).length < 2) await run.until('waiting')
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(heard.sort()).toEqual(['a cancelled', 'b cancelled'])
  })

  test('what a worker asks is answered by the code of the leader, and told with the result', async () => {
    const boss = supervisor({
      name: 'boss',
      workers: [
        agent({ name: 'w', description: 'Asks.', run: async (ctx) => (await askSupervisor(ctx, 'which?')).text }),
      ],
      delegation: { questions: { onQuestion: ({ question }) => `the ${question}` } },
      run: async (_ctx, _brief, team) => {
        const { text, feedback = '' } = await team.delegate('w', 'x')
        return { text, feedback }
      },
    })
    expect(await (await runtimeOf([boss])).run(boss, 'go')).toMatchObject({
      output: { text: 'the which?', feedback: expect.stringContaining('asked you: which?') as string },
    })
  })

  test('permits, removal of workers and an empty team hold for it as for a model agent', async () => {
    let [now, most] = [0, 0]
    const busy = (name: string) =>
      agent({
        name,
        description: 'Is busy.',
        model: scripted(async () => {
          most = Math.max(most, ++now)
          await new Promise((resolve) => setTimeout(resolve, 5))
          now--
          return `${name} is done`
        }),
      })
    const names = ['a', 'b', 'c'] as const
    const boss = supervisor({
      name: 'boss',
      workers: names.map(busy),
      concurrency: 1,
      run: async (_ctx, _brief, team) =>
        (await Promise.all(team.names.map((name) => team.delegate(name, 'x')))).map(({ text }) => text),
    })
    const runtime = await runtimeOf([boss])
    expect(await runtime.run(boss, 'go')).toMatchObject({ output: ['a is done', 'b is done', 'c is done'] })
    expect(most).toBe(1)
    for (const name of names) boss.remove(name)
    expect(await runtime.run(boss, 'go')).toMatchObject({ status: 'failed', failure: { code: 'team.empty' } })
    expect(() => supervisor({ name: 'boss', workers: [], run: () => 'x' })).toThrow(/has no workers/)
    expect(() => supervisor({ name: 'boss', workers: [worker('w')], run: () => 'x', guidance: 'x' } as never)).toThrow(
      /has no option "guidance"/,
    )
    expect(() =>
      supervisor({ name: 'boss', workers: [worker('w')], model: scripted('x'), run: () => 'x' } as never),
    ).toThrow(/both a model and a run/)
  })

  test('it goes on after a restart in the middle of an approval below it, and nothing is delegated twice', async () => {
    const asked: number[] = []
    const make = () =>
      supervisor({
        name: 'boss',
        workers: [
          agent({
            name: 'payer',
            description: 'Pays.',
            tools: [tool({ name: 'pay', sensitive: true, execute: () => 'paid' })],
            model: scripted(({ messages }) =>
              messages.at(-1)!.role === 'tool' ? 'I have paid' : (asked.push(1), calls(['pay', {}])),
            ),
          }),
        ],
        run: async (_ctx, _brief, team) => (await team.delegate('payer', 'pay')).text,
      })
    const before = await runtimeOf([make()], { store: store() })
    const [open] = (await waiting(await before.start('boss', 'go', { runId: 'r1' }))).waiting
    await before.close()
    const after = await runtimeOf([make()], { store: store() })
    await after.decide({ approvalId: open!.id, decision: 'approve' })
    expect(await after.handle('r1').outcome()).toMatchObject({ output: 'I have paid' })
    expect(asked).toEqual([1])
  })
})
