/**
 * One brief for several workers: the first, so many, the majority, a quorum; and hedges.
 */
import { describe, expect, test } from 'vitest'
import { agent, type Agent } from '@reeve/agent'
import { totalUsage, type Json, type Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Message } from '@reeve/model'
import {
  delegateToSeveral,
  supervisor,
  type Delegation,
  type SeveralOptions,
  type SeveralResult,
} from '@reeve/supervisor'
import { worker } from './control.ts'
import { door, until } from './doors.ts'
import { calls, delegates, eventsOf, fatal, runtimeOf, scripted, type Scripted } from './team.ts'

const results = (prompt: readonly Message[] | undefined): Json[] =>
  (prompt ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []))

/** A leader that is code and gives a brief to all of these; and what came of it. */
function asking(workers: readonly Agent[], options: SeveralOptions<unknown>) {
  let got: SeveralResult<Json> | undefined
  const root = agent({
    name: 'root',
    workers: () => [...new Set(workers)],
    run: async (ctx: Context) => {
      got = (await delegateToSeveral(ctx, workers, 'go', options)) as SeveralResult<Json>
      return got.output ?? null
    },
  })
  return { root, result: () => got! }
}
const says = (name: string, text: string): Agent => worker(name, scripted(text))
const fails = (name: string): Agent => agent({ name, description: 'Fails.', model: scripted(fatal('no')) })
const shut = (name: string) => {
  const never = door()
  return { never, agent: worker(name, scripted(never.before(`${name} late`))) }
}
const brief = (all: SeveralResult<Json>['all']): string[] =>
  all.map(({ worker: name, outcome }) => `${name} ${outcome.status}`)

describe('code gives one brief to several', () => {
  test('the first answer is kept, the others are stopped, and every worker is accounted for', async () => {
    const slow = shut('slow')
    const other = shut('other')
    const quick = worker('quick', scripted({ text: 'quick', usage: { input: 3, output: 2 } }))
    const { root, result } = asking([slow.agent, quick, other.agent], { keep: 'first' })
    const run = await (await runtimeOf([root])).start(root, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'quick' })
    expect(result()).toMatchObject({
      status: 'decided',
      output: 'quick',
      kept: [{ worker: 'quick', usage: [{ input: 3 }] }],
    })
    expect(brief(result().all)).toEqual(['slow cancelled', 'quick completed', 'other cancelled'])
    const ids = result().all.map(({ activation }) => activation)
    expect((await eventsOf(run)).find(({ type }) => type === 'delegation.decided')).toMatchObject({
      rule: 'first',
      kept: [ids[1]],
      stopped: [ids[0], ids[2]],
    })
    expect((await run.usage()).map(({ agent: name }) => name)).toContain('quick')
  })

  test.each([
    ['the first', {}],
    ['out of time', { timeoutMs: 100 }],
  ])('K11: a model call that was stopped half-way is a call of unknown usage (%s)', async (_what, more) => {
    const slow = shut('slow')
    const late = shut('late')
    const both = () => until(() => slow.never.came + late.never.came === 2)
    const quick = worker(
      'quick',
      scripted(() => both().then(() => 'quick')),
    )
    const workers = 'timeoutMs' in more ? [slow.agent, late.agent] : [slow.agent, late.agent, quick]
    const { root, result } = asking(workers, { keep: 'first', ...more })
    const outcome = await (await runtimeOf([root])).run(root, 'hi')
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: workers.length, unknown: 2, unpriced: 2 })
    expect(result().all.slice(0, 2)).toMatchObject([
      { worker: 'slow', usage: [{ agent: 'slow', calls: 1, unknown: 1 }] },
      { worker: 'late', usage: [{ agent: 'late', calls: 1, unknown: 1 }] },
    ])
  })

  test('what is empty, or failed, is no answer', async () => {
    const { root, result } = asking([says('empty', ' '), fails('bad'), says('good', 'yes')], { keep: 'first' })
    await (await runtimeOf([root])).run(root, 'hi')
    expect(result()).toMatchObject({ status: 'decided', output: 'yes' })
  })

  test('so many: their answers in the order of the workers', async () => {
    const late = shut('late')
    const { root, result } = asking([late.agent, says('b', 'B'), fails('bad'), says('c', 'C')], { keep: 2 })
    await (await runtimeOf([root])).run(root, 'hi')
    expect(result()).toMatchObject({ status: 'decided', output: ['B', 'C'] })
    expect(brief(result().all)).toEqual(['late cancelled', 'b completed', 'bad failed', 'c completed'])
  })

  test('the majority: equal answers, also in other white space or key order', async () => {
    const slow = shut('slow')
    const typed = (name: string, output: Json) => agent({ name, description: 'Votes.', run: () => output as never })
    const { root, result } = asking([typed('a', { x: 1, y: 2 }), slow.agent, typed('b', { y: 2, x: 1 })], {
      keep: 'majority',
    })
    await (await runtimeOf([root])).run(root, 'hi')
    expect(result()).toMatchObject({
      status: 'decided',
      output: { x: 1, y: 2 },
      kept: [{ worker: 'a' }, { worker: 'b' }],
    })
    const text = asking([says('a', 'yes'), says('b', 'no'), says('c', ' yes\n')], { keep: { quorum: 2 } })
    await (await runtimeOf([text.root])).run(text.root, 'hi')
    expect(text.result()).toMatchObject({ status: 'decided', output: 'yes' })
  })

  test('undecided as soon as it is certain, without waiting in vain', async () => {
    const never = shut('never')
    const votes = asking([says('a', 'yes'), says('b', 'no'), fails('c'), never.agent], { keep: 'majority' })
    const run = await (await runtimeOf([votes.root])).start(votes.root, 'hi')
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: null })
    expect(votes.result()).toMatchObject({ status: 'undecided', kept: [] })
    expect(brief(votes.result().all)).toEqual(['a completed', 'b completed', 'c failed', 'never cancelled'])
    const all = asking([fails('x'), fails('y')], { keep: 'first' })
    await (await runtimeOf([all.root])).run(all.root, 'hi')
    expect(all.result()).toMatchObject({ status: 'undecided', kept: [] })
  })

  test('what is good, and what is the same, is up to the caller', async () => {
    const good = (outcome: Outcome<unknown>): boolean =>
      outcome.status === 'completed' && String(outcome.output).length > 3
    const { root, result } = asking([says('a', 'no'), says('b', 'long enough')], { keep: 'first', good })
    await (await runtimeOf([root])).run(root, 'hi')
    expect(result()).toMatchObject({ output: 'long enough' })
    const same = (output: unknown): string => String(output).slice(0, 1)
    const votes = asking([says('c', 'x1'), says('d', 'x2')], { keep: { quorum: 2 }, same })
    await (await runtimeOf([votes.root])).run(votes.root, 'hi')
    expect(votes.result()).toMatchObject({ status: 'decided', output: 'x1' })
  })

  test('the same worker twice, and a brief for each', async () => {
    const echo = agent({ name: 'echo', description: 'Echoes.', run: (_ctx, given) => `${given}!` })
    let got: SeveralResult<string> | undefined
    const root = agent({
      name: 'root',
      workers: [echo],
      run: async (ctx) => {
        got = await delegateToSeveral(
          ctx,
          [
            [echo, 'one'],
            [echo, 'two'],
          ],
          'unused',
          { keep: 2 },
        )
        return 'done'
      },
    })
    await (await runtimeOf([root])).run(root, 'hi')
    expect(got).toMatchObject({ status: 'decided', output: ['one!', 'two!'] })
    expect(new Set(got?.all.map(({ activation }) => activation)).size).toBe(2)
  })

  test('hedged: the second begins only when the first is slow, or at once when it ends badly', async () => {
    const quick = asking([says('a', 'A'), says('b', 'B')], { keep: 'first', hedgeAfterMs: 5_000 })
    const first = await (await runtimeOf([quick.root])).start(quick.root, 'hi')
    await first.outcome()
    expect(brief(quick.result().all)).toEqual(['a completed'])
    expect((await first.view()).activations[0]!.open).toEqual([])

    const bad = asking([fails('c'), says('d', 'D'), says('e', 'E')], { keep: 'first', hedgeAfterMs: 5_000 })
    await (await runtimeOf([bad.root])).run(bad.root, 'hi')
    expect(brief(bad.result().all)).toEqual(['c failed', 'd completed'])

    const slow = shut('f')
    const late = asking([slow.agent, says('g', 'G')], { keep: 'first', hedgeAfterMs: 20 })
    await (await runtimeOf([late.root])).run(late.root, 'hi')
    expect(late.result()).toMatchObject({ output: 'G' })
    expect(brief(late.result().all)).toEqual(['f cancelled', 'g completed'])
  })

  test('one that runs out of time, one that an operator stops', async () => {
    const slow = shut('slow')
    const timed = asking([slow.agent], { keep: 'first', timeoutMs: 30 })
    await (await runtimeOf([timed.root])).run(timed.root, 'hi')
    expect(brief(timed.result().all)).toEqual(['slow timed-out'])

    const held = shut('held')
    const stopped = asking([held.agent, fails('bad')], { keep: 'first' })
    const run = await (await runtimeOf([stopped.root])).start(stopped.root, 'hi')
    await until(() => held.never.came === 1)
    await run.control.stop({
      delegation: (await run.view()).activations.find(({ agent: name }) => name === 'held')!.activation,
    })
    await run.outcome()
    expect(stopped.result()).toMatchObject({ status: 'undecided' })
    expect(brief(stopped.result().all)).toEqual(['held cancelled', 'bad failed'])
  })

  test('a cancel reaches all workers', async () => {
    const [a, b] = [shut('a'), shut('b')]
    const { root } = asking([a.agent, b.agent], { keep: 'first' })
    const run = await (await runtimeOf([root])).start(root, 'hi')
    await until(() => a.never.came + b.never.came === 2)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect((await run.view()).activations.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })

  test.each([
    [{ keep: 0 }, /keep/],
    [{ keep: 3 }, /wants 3 answers/],
    [{ keep: { quorum: 9 } }, /wants 9/],
    [{ keep: 'first', hedgeAfterMs: -1 }, /hedgeAfterMs/],
    [{ keep: 'first', hedgeafterMs: 1 }, /hedgeafterMs/],
    [{ keep: 'first', limits: { turn: 1 } }, /turn/],
    [{}, /keep/],
  ])('%j is refused', async (options, words) => {
    const { root } = asking([says('a', 'A'), says('b', 'B')], options as never)
    expect(await (await runtimeOf([root])).run(root, 'hi')).toMatchObject({
      status: 'failed',
      failure: { code: 'input.invalid', message: expect.stringMatching(words) },
    })
  })
})

describe('a model gives one brief to several', () => {
  const team = (model: Scripted, workers: readonly Agent[], delegation: Delegation<string> = { several: true }) =>
    supervisor({ name: 'S', model, workers, delegation })

  test('it is told whom it has, and who was stopped; hooks hear of each; the kept one can be forwarded', async () => {
    const slow = shut('slow')
    const heard: string[] = []
    const model = scripted(
      calls(['delegate_to_several', { workers: ['slow', 'quick'], instructions: 'go', keep: 'first' }]),
      calls(['forward_message', { delegation: 'd1' }]),
    )
    const leader = team(model, [slow.agent, says('quick', 'here')], {
      several: true,
      onComplete: ({ delegation, status }) => void heard.push(`${delegation} ${status}`),
    })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'here' })
    expect(results(model.prompts[1])).toEqual([
      {
        decided: true,
        kept: [{ worker: 'quick', delegation: 'd1.2', result: 'here' }],
        others: [{ worker: 'slow', delegation: 'd1.1', ended: 'cancelled' }],
      },
    ])
    expect(heard).toEqual(['d1.2 completed', 'd1.1 cancelled'])
  })

  test('an operator stops them all by the call', async () => {
    const [a, b] = [shut('a'), shut('b')]
    const model = scripted(
      calls(['delegate_to_several', { workers: ['a', 'b'], instructions: 'go' }, 'c1'] as never),
      'final',
    )
    const leader = team(model, [a.agent, b.agent])
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await until(() => a.never.came + b.never.came === 2)
    await run.control.stop({ delegation: 'c1' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect((await run.view()).activations.map(({ state }) => state)).toEqual(['completed', 'cancelled', 'cancelled'])
  })

  test('undecided is reported with all answers', async () => {
    const model = scripted(
      calls(['delegate_to_several', { workers: ['a', 'b'], instructions: 'go', keep: 'majority' }]),
      'final',
    )
    const leader = team(model, [says('a', 'yes'), says('b', 'no')])
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'final' })
    expect(results(model.prompts[1])).toMatchObject([{ decided: false, ended: [{ result: 'yes' }, { result: 'no' }] }])
  })

  test.each([
    [{ workers: [], instructions: 'x' }, /"workers" must be/],
    [{ workers: ['a', 'ghost'], instructions: 'x' }, /unknown worker "ghost"/],
    [{ workers: ['a'], instructions: '' }, /"instructions" is empty/],
    [{ workers: ['a', 'b'], instructions: 'x', keep: 5 }, /wants 5 answers/],
    [{ workers: ['a', 'b'], instructions: 'x', keep: 'best' }, /keep must be/],
  ] as const)('%j is reported, and no worker runs', async (input, words) => {
    const model = scripted(calls(['delegate_to_several', input]), 'final')
    const leader = team(model, [says('a', 'A'), says('b', 'B')])
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    await run.outcome()
    expect(results(model.prompts[1])).toEqual([expect.stringMatching(words)])
    expect((await run.view()).activations).toHaveLength(1)
  })

  test('it is offered only where enabled', async () => {
    const model = scripted('final')
    const leader = team(model, [says('a', 'A')], {})
    await (await runtimeOf([leader])).run(leader, 'hi')
    expect(model.tools[0]!.map(({ name }) => name)).not.toContain('delegate_to_several')
  })

  test.each([['awaited'], ['deferred']] as const)(
    'a worker with a hedge: another one answers for one that is slow (%s)',
    async (background) => {
      const slow = shut('w1')
      const model = scripted(
        delegates(['w1', 'go']),
        ({ messages }) =>
          JSON.stringify(messages).includes('out of w2') ? calls(['forward_message', { delegation: 'd1' }]) : 'waiting',
        calls(['forward_message', { delegation: 'd1' }]),
      )
      const leader = team(model, [slow.agent, says('w2', 'out of w2')], {
        workers: { w1: { hedge: { afterMs: 20, with: 'w2' }, background } },
      })
      const run = await (await runtimeOf([leader])).start(leader, 'hi')
      expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'out of w2' })
      expect(results(model.prompts.at(-1))).toEqual(['out of w2'])
      expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toEqual([
        'S completed',
        'w1 cancelled',
        'w2 completed',
      ])
    },
  )

  test('where none is kept, the name of all is no answer, and the error says which there are', async () => {
    const model = scripted(
      calls(['delegate_to_several', { workers: ['a', 'b'], instructions: 'go', keep: 'majority' }]),
      calls(['forward_message', { delegation: 'd1' }]),
      calls(['forward_message', { delegation: 'd1.2' }]),
    )
    const leader = team(model, [says('a', 'A'), says('b', 'B')], { several: true })
    expect(await (await runtimeOf([leader])).run(leader, 'hi')).toMatchObject({ output: 'B' })
    expect(results(model.prompts[2]).at(-1)).toBe(
      '[there is no output of "d1" to forward. It went to several workers, and no answer counts for all of them: name one. There are: d1.1 (a), d1.2 (b).]',
    )
  })

  test('a delegation that is stopped has its hedge stopped with it: it never begins', async () => {
    const slow = shut('w1')
    const second = scripted('never')
    const model = scripted(
      delegates(['w1', 'go']),
      async () => {
        await until(() => slow.never.came === 1)
        return calls(['stop_delegation', { delegation: 'd1', reason: 'no need' }])
      },
      'final',
    )
    const leader = team(model, [slow.agent, agent({ name: 'w2', description: 'w2', model: second })], {
      background: ['w1'],
      workers: { w1: { hedge: { afterMs: 60_000, with: 'w2' } } },
    })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect((await run.view()).activations.map(({ agent: name, state }) => `${name} ${state}`)).toEqual([
      'S completed',
      'w1 cancelled',
    ])
    expect(second.prompts).toEqual([])
  })

  test('a hedge of the same worker that need not begin', async () => {
    const model = scripted(delegates(['w1', 'go']), 'final')
    const leader = team(model, [says('w1', 'quick')], { workers: { w1: { hedge: { afterMs: 5_000 } } } })
    const run = await (await runtimeOf([leader])).start(leader, 'hi')
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect((await run.view()).activations).toHaveLength(2)
    expect(results(model.prompts[1])).toEqual(['quick'])
  })
})
