/** Hooks of a start: named functions around one run, on top of the agent's own, in every process that drives it. */
import { describe, expect, test } from 'vitest'
import { agent, type Iteration, type ScorerInput } from '@reeve/agent'
import { router, sequential } from '@reeve/flow'
import type { Hooks } from '@reeve/runtime'
import {
  reflect,
  supervisor,
  type DelegationEnd,
  type DelegationMessages,
  type DelegationStart,
  type SupervisorOptions,
} from '@reeve/supervisor'
import type { SessionShown, StartOptions } from '@reeve/public'
import { interrupt } from '@reeve/oversight'
import { delegates, eventsOf, runtimeOf, scripted, store, told, waiting, type Scripted } from './team.ts'
import { withoutSystem, worker } from './control.ts'

type Options = Partial<SupervisorOptions<string, [], undefined, undefined>>

/** A leader of w1 and w2, started with hooks, to its end. */
async function led(
  hooks: Hooks,
  options: StartOptions,
  lead: Scripted,
  own: Options = {},
  workers = [worker('w1'), worker('w2')],
) {
  const boss = supervisor({ name: 'boss', model: lead, workers, ...(own as object) })
  const runtime = await runtimeOf([boss], { hooks })
  const run = await runtime.start(boss, 'go', options)
  const outcome = await run.outcome()
  return { runtime, boss, run, outcome, told: told(lead.prompts[1]), events: await eventsOf(run) }
}

describe('around delegations', () => {
  test('they are asked after the own ones, are shown what those have left, and what they say comes on top', async () => {
    const log: string[] = []
    const w1 = scripted('one')
    const lead = scripted(delegates(['w1', 'brief']), 'final')
    const played = await led(
      {
        begin: ({ prompt }: DelegationStart) => (
          log.push(`start: ${prompt}`),
          { prompt: `${prompt} for you`, instructions: 'B.' }
        ),
        end: ({ text }: DelegationEnd) => (log.push(`end: ${text}`), { result: `${text}!`, feedback: 'fb start' }),
      },
      { delegation: { onStart: 'begin', onComplete: 'end' } },
      lead,
      {
        delegation: {
          onStart: ({ prompt }) => (log.push(`own: ${prompt}`), { prompt: `${prompt} of mine`, instructions: 'A.' }),
          onComplete: ({ text }) => (log.push(`own end: ${text}`), { result: 'changed', feedback: 'fb own' }),
        },
      },
      [worker('w1', w1), worker('w2')],
    )
    expect(log).toEqual(['own: brief', 'start: brief of mine', 'own end: one', 'end: changed'])
    expect(w1.prompts[0]).toEqual([
      { role: 'system', content: expect.stringMatching(/A\.\n\nB\.$/) as string },
      { role: 'user', content: 'brief of mine for you' },
    ])
    expect(played.outcome).toMatchObject({ output: 'final' })
    expect(lead.prompts[1]!.at(-2)).toMatchObject({ role: 'tool', content: 'changed!' })
    expect(lead.prompts[1]!.at(-1)).toEqual({ role: 'user', content: 'fb own\n\nfb start' })
  })

  test('either may refuse; whom the own one refuses, that of the start is not asked about', async () => {
    const asked: string[] = []
    const hooks: Hooks = {
      guard: ({ worker: name }: DelegationStart) => (
        asked.push(name),
        name === 'w2' ? { proceed: false, reason: 'start' } : undefined
      ),
    }
    const own: Options = {
      delegation: { onStart: ({ worker: name }) => (name === 'w1' ? { proceed: false, reason: 'own' } : undefined) },
    }
    const played = await led(
      hooks,
      { delegation: { onStart: 'guard' } },
      scripted(delegates(['w1', 'a'], ['w2', 'b']), 'final'),
      own,
    )
    expect(played.told).toEqual(['[not delegated: rejected: own]', '[not delegated: rejected: start]'])
    expect(asked).toEqual(['w2'])
  })

  test('filters come one after the other, and one alone opens the conversation to be filtered', async () => {
    const seen: number[] = []
    const w1 = scripted('one')
    await led(
      {
        filter: ({ messages }: DelegationMessages) => (
          seen.push(messages.length),
          messages.map((each) => ({ ...each, text: each.text.toUpperCase() }))
        ),
      },
      { delegation: { filterMessages: 'filter' } },
      scripted(delegates(['w1', 'brief']), 'final'),
      {},
      [worker('w1', w1)],
    )
    expect(seen).toEqual([1])
    expect(withoutSystem(w1.prompts[0])).toEqual([
      { role: 'user', content: 'GO' },
      { role: 'user', content: 'brief' },
    ])
  })

  test('a failing one refuses, or is ignored if the start says so; the journal tells it from an own one', async () => {
    const hooks: Hooks = {
      fails: () => {
        throw new Error('no')
      },
    }
    const script = () => scripted(delegates(['w1', 'a']), 'final')
    const strict = await led(hooks, { delegation: { onStart: 'fails' } }, script())
    expect(strict.told).toEqual([expect.stringContaining('[not delegated: start.onStart failed')])
    expect(strict.events.find(({ type }) => type === 'hook.failed')).toMatchObject({ hook: 'start.onStart' })
    const lenient = await led(hooks, { delegation: { onStart: 'fails', hookErrors: 'lenient' } }, script())
    expect(lenient.told).toEqual(['w1 result'])
  })

  test('one may bail; a leader that is code is led so, too', async () => {
    const hooks: Hooks = { enough: ({ bail }: DelegationEnd) => bail('enough') }
    const delegation = { onComplete: 'enough' }
    expect((await led(hooks, { delegation }, scripted(delegates(['w1', 'a']), 'final'))).outcome).toMatchObject({
      status: 'bailed',
      text: 'enough',
    })
    const code = supervisor({
      name: 'code',
      workers: [worker('w1')],
      run: async (_ctx, _brief, team) => (await team.delegate('w1' as never, 'x' as never)).text,
    })
    const runtime = await runtimeOf([code], { hooks })
    expect(await runtime.run(code, 'go', { delegation })).toMatchObject({ status: 'bailed', text: 'enough' })
  })

  test('they hold for the leader that was started, and not for one below it', async () => {
    const asked: string[] = []
    const hooks: Hooks = { note: ({ leader, worker: name }: DelegationStart) => void asked.push(`${leader} > ${name}`) }
    const inner = supervisor({
      name: 'inner',
      description: 'Leads.',
      model: scripted(delegates(['w1', 'x']), 'in'),
      workers: [worker('w1')],
    })
    await led(hooks, { delegation: { onStart: 'note' } }, scripted(delegates(['inner', 'a']), 'final'), {}, [inner])
    expect(asked).toEqual(['boss > inner'])
  })
})

describe('after turns', () => {
  test('the word of the start on going on goes before the own one; the feedback of both is told', async () => {
    const model = scripted('one', 'two')
    const A = agent({
      name: 'A',
      model,
      onIterationComplete: ({ turn }) => (turn === 1 ? { continue: false, feedback: 'own' } : undefined),
    })
    const seen: number[] = []
    const more = ({ turn }: Iteration) => (
      seen.push(turn),
      turn === 1 ? { continue: true, feedback: 'start' } : undefined
    )
    const runtime = await runtimeOf([A], { hooks: { more } })
    expect(await runtime.run(A, 'go', { onIterationComplete: 'more' })).toMatchObject({ output: 'two' })
    expect(model.prompts[1]!.at(-1)).toEqual({ role: 'user', content: 'own\n\nstart' })
    expect(seen).toEqual([1, 2])
    expect(await runtime.run(A, 'go')).toMatchObject({ output: 'two' }) // a run without them has none
    expect(seen).toEqual([1, 2])
  })

  test('an answer must pass the own scorers, then those of the start: functions, or agents', async () => {
    const model = scripted('a', 'b', 'c', 'd')
    const asked: string[] = []
    const is =
      (...good: string[]) =>
      ({ text }: ScorerInput) => (asked.push(`${good.join('')}?${text}`), good.includes(text))
    const A = agent({ name: 'A', model, isComplete: { scorers: [{ name: 'own', score: is('b', 'c', 'd') }] } })
    const strictJudge = agent({
      name: 'strict',
      model: ({ messages }) => (/>\\nd\\n<\//.test(JSON.stringify(messages)) ? '1' : '0'),
    })
    const runtime = await runtimeOf([A, strictJudge], { hooks: { second: is('c', 'd') } })
    const run = await runtime.start(A, 'go', { isComplete: { scorers: ['second', 'strict'], parallel: false } })
    expect(await run.outcome()).toMatchObject({ output: 'd' })
    expect(asked).toEqual(['bcd?a', 'bcd?b', 'cd?b', 'bcd?c', 'cd?c', 'bcd?d', 'cd?d'])
    const scored = (await eventsOf(run)).flatMap((event) =>
      event.type === 'completion.scored' ? [event.results.map(({ scorer }) => scorer).join()] : [],
    )
    expect(scored).toEqual(['own', 'own', 'second', 'own', 'second,strict', 'own', 'second,strict'])
  })

  test('they reach a router’s leader and a reflection’s agent', async () => {
    const turns: string[] = []
    const hooks: Hooks = { note: ({ agent: name, turn }: Iteration) => void turns.push(`${name} ${turn}`) }
    const lead = scripted({ calls: [{ name: 'transfer_to_agent', input: { agent_name: 'w1' } }] }, 'led')
    const desk = router({ name: 'desk', model: lead, workers: [worker('w1')] })
    const mirror = reflect(agent({ name: 'inner', description: 'Works.', model: scripted('x') }), {
      judge: () => 1,
      memory: false,
    })
    const runtime = await runtimeOf([desk, mirror], { hooks })
    expect(await runtime.run(desk, 'go', { onIterationComplete: 'note' })).toMatchObject({ output: 'led' })
    expect(await runtime.run(mirror, 'go', { onIterationComplete: 'note' })).toMatchObject({ output: 'x' })
    expect(turns).toEqual(['desk 1', 'desk 1', 'inner 1'])
  })
})

describe('what a run is shown of its session', () => {
  test('all of it, nothing, or what a hook lets through; one that fails lets nothing through', async () => {
    const model = scripted('one', 'two', 'three', 'four', 'five')
    const A = agent({ name: 'A', model })
    const hooks: Hooks = {
      last: async ({ messages, prompt }: SessionShown) => [
        ...(await Promise.resolve(messages)).slice(-1),
        { role: 'user', text: `before ${prompt}` },
      ],
      fails: () => {
        throw new Error('no')
      },
    }
    const runtime = await runtimeOf([A], { hooks })
    const ask = async (input: string, more: StartOptions = {}) => {
      await runtime.run(A, input, { session: 's', ...more })
      return model.prompts.at(-1)!.map(({ content }) => content)
    }
    await ask('1')
    expect(await ask('2', { context: 'brief' })).toEqual(['2'])
    expect(await ask('3', { context: 'last' })).toEqual(['two', 'before 3', '3'])
    expect(await ask('4', { context: 'fails' })).toEqual(['4'])
    expect(await ask('5', { context: 'conversation' })).toEqual([
      '1',
      'one',
      '2',
      'two',
      '3',
      'three',
      '4',
      'four',
      '5',
    ])
    await expect(runtime.start(A, 'x', { context: 'brief' })).rejects.toMatchObject({ code: 'input.invalid' })
  })
})

describe('in another process', () => {
  const script = () => scripted(delegates(['w1', 'a']), delegates(['w2', 'b']), 'final')
  const asker = (name: string) => agent({ name, description: 'Asks.', run: (ctx) => interrupt(ctx, 'well?') })
  const definition = (model: Scripted) => supervisor({ name: 'boss', model, workers: [asker('w1'), worker('w2')] })
  const begun = async () => {
    const boss = definition(script())
    const before = await runtimeOf([boss], { store: store(), hooks: { guard: () => undefined } })
    const run = await before.start(boss, 'go', { runId: 'r1', delegation: { onStart: 'guard' } })
    await waiting(run)
    await before.close()
  }
  const goneOn = async (hooks: Hooks | undefined) => {
    const lead = scripted(delegates(['w2', 'b']), 'final')
    const after = await runtimeOf([definition(lead)], { store: store(), ...(hooks === undefined ? {} : { hooks }) })
    const [question] = await after.questions({ run: 'r1' })
    await after.answer({ interruptId: question!.id, value: 'yes' })
    expect(await after.handle('r1').outcome()).toMatchObject({ output: 'final' })
    return told(lead.prompts[1])
  }
  test('a run that goes on there has them', async () => {
    await begun()
    const asked: string[] = []
    expect(await goneOn({ guard: ({ worker: name }: DelegationStart) => void asked.push(name) })).toEqual(['w2 result'])
    expect(asked).toEqual(['w2']) // what was asked before is not asked again
  })
  test('where one is missing, it fails as a hook that throws: nothing that it might refuse goes on', async () => {
    await begun()
    expect(await goneOn(undefined)).toEqual([
      expect.stringContaining('the hook "guard" is not registered in this process'),
    ])
  })
})

describe('what is refused', () => {
  const boss = supervisor({ name: 'boss', model: () => 'x', workers: [worker('w1')] })
  const plain = agent({ name: 'plain', model: () => 'x' })
  const code = agent({ name: 'code', run: () => 'x' })
  const flow = sequential({ name: 'flow', agents: [plain] })
  test.each<[string, typeof boss | typeof plain, StartOptions, RegExp]>([
    [
      'a name that nobody registered',
      boss,
      { delegation: { onStart: 'gard' } },
      /delegation\.onStart names "gard".*did you mean "guard"/,
    ],
    [
      'a function',
      boss,
      { onIterationComplete: (() => {}) as never },
      /onIterationComplete is a function, expected the name/,
    ],
    ['a name that every object has', boss, { onIterationComplete: 'constructor' }, /names "constructor"/],
    [
      'an option that there is not',
      boss,
      { delegation: { onBegin: 'guard' } as never },
      /delegation has no option "onBegin"/,
    ],
    [
      'hookErrors that are none',
      boss,
      { delegation: { hookErrors: 'loud' as never } },
      /hookErrors is the text "loud"/,
    ],
    [
      'delegation for somebody who does not delegate',
      plain,
      { delegation: { onStart: 'guard' } },
      /for agents that delegate, and "plain" is none/,
    ],
    [
      'turns of code',
      code as never,
      { isComplete: { scorers: ['guard'] } },
      /for agents that think with a model, and "code" is none/,
    ],
    [
      'turns of a flow',
      flow as never,
      { onIterationComplete: 'guard' },
      /for agents that think with a model, and "flow" is none/,
    ],
    ['no scorers', plain, { isComplete: { scorers: [] } }, /scorers is empty/],
    [
      'a strategy that is none',
      plain,
      { isComplete: { scorers: ['guard'], strategy: 'most' as never } },
      /strategy is the text "most"/,
    ],
    [
      'a scorer that is a function',
      plain,
      { isComplete: { scorers: [(() => 1) as never] } },
      /scorers\[0\] is a function/,
    ],
    ['a context that nobody registered', plain, { session: 's', context: 'breif' }, /context names "breif"/],
  ])('%s', async (_what, root, options, message) => {
    const runtime = await runtimeOf([boss, plain, code, flow], { hooks: { guard: () => undefined } })
    await expect(runtime.start(root as never, 'go', options)).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.stringMatching(message) as string,
    })
    expect(await runtime.runs()).toEqual([])
  })
  test('invalid runtime hooks, or those with a taken name', async () => {
    await expect(
      runtimeOf([plain], { hooks: { brief: () => 1, 'a.b': () => 1, c: 1 as never } }),
    ).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringMatching(/"brief".*\n.*"a\.b".*\n.*hooks\.c is 1/) as string,
    })
  })
  test('the same start with other hooks is another start', async () => {
    const runtime = await runtimeOf([plain], { hooks: { guard: () => undefined } })
    const first = { runId: 'r1', onIterationComplete: 'guard' }
    await runtime.start(plain, 'go', first)
    await runtime.start(plain, 'go', first)
    await expect(runtime.start(plain, 'go', { runId: 'r1' })).rejects.toMatchObject({ code: 'run.conflict' })
  })
})
