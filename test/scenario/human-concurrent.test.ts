/**
 * People in every place at once, and code that asks people: answers in every order, over processes, over a new segment
 * of the journal, while the run is taken over. Spec team 1.16, C79, C81,
 * C89, C90.
 */
import { describe, expect, test } from 'vitest'
import {
  agent,
  asTool,
  human,
  parallel,
  sequential,
  supervisor,
  team,
  tool,
  type Agent,
  type Json,
} from '@reeve/public'
import { roundtable } from '@reeve/public/team'
import type { Run, Runtime } from '@reeve/runtime'
import { calls, delegates, runtimeOf, scripted, store, told, waiting } from './team.ts'

const falsy: readonly Json[] = [false, 0, '', null]
const ann = human({ name: 'ann', description: 'Knows.' })
const bob = human({ name: 'bob', description: 'Knows, too.' })

/** So many open questions, by who asks. */
async function asked(runtime: Runtime, run: Run | Run<unknown>, count: number): Promise<Map<string, string>> {
  await expect.poll(async () => (await runtime.questions({ run: run.id })).length, { timeout: 10_000 }).toBe(count)
  const open = await runtime.questions({ run: run.id })
  return new Map(open.map(({ id, body }) => [(body as unknown as { path: string[] }).path.at(-1)!, id]))
}

describe('people in every place', () => {
  /** What a model is told of an answer that says nothing is the leader's to say. */
  const isTold = (output: Json | undefined, value: Json): void =>
    value === '' || value === null
      ? expect(output).toContain('told')
      : expect(output).toBe(`told ${JSON.stringify([value])}`)
  test.each(falsy)(
    'the answer %j is an answer: of a worker, agent as tool, step, branch, speaker, task, in the background',
    async (value) => {
      const model = (...script: Parameters<typeof scripted>) => scripted(...script)
      const leads: readonly (readonly [
        string,
        () => Agent,
        (outcome: { output?: Json; results?: { tasks: readonly { output?: Json }[] } }) => void,
      ])[] = [
        [
          'worker',
          () =>
            supervisor({
              name: 'boss',
              model: model(delegates(['ann', 'x', 'c1']), ({ messages }) => `told ${JSON.stringify(told(messages))}`),
              workers: [ann],
            }),
          ({ output }) => isTold(output, value),
        ],
        [
          'tool',
          () =>
            agent({
              name: 'boss',
              description: 'x',
              model: model(
                calls(['ann', { request: 'x' }, 't1']),
                ({ messages }) => `told ${JSON.stringify(told(messages))}`,
              ),
              tools: [asTool(ann)],
            }),
          ({ output }) => isTold(output, value),
        ],
        [
          'last step',
          () => sequential({ name: 'line', agents: [agent({ name: 'a', description: 'a', model: model('a') }), ann] }),
          ({ output }) => expect(output).toEqual(value),
        ],
        [
          'branch',
          () => parallel({ name: 'both', agents: [ann, agent({ name: 'a', description: 'a', model: model('a') })] }),
          ({ output }) => expect(output).toEqual([value, 'a']),
        ],
        [
          'speaker',
          () =>
            roundtable({
              name: 'table',
              agents: [agent({ name: 'a', description: 'a', model: model('a') }), ann],
              speaker: 'round-robin',
              maxRounds: 2,
            }),
          ({ output }) =>
            expect(value === '' || value === null ? [value, 'a'] : [value, JSON.stringify(value)]).toContainEqual(
              output,
            ),
        ],
        [
          'task',
          () =>
            team({
              name: 'crew',
              roles: { ann },
              planner: { subtasks: [{ id: 'one', description: 'one', role: 'ann' }] },
            }),
          ({ results }) => expect(results?.tasks[0]?.output).toEqual(value),
        ],
      ]
      for (const [where, make, is] of leads) {
        const root = make()
        const runtime = await runtimeOf([root])
        const run = await runtime.start(root, 'task')
        const open = await asked(runtime, run, 1)
        await run.answer({ interruptId: open.get('ann')!, value, by: 'ann' })
        const outcome = await run.outcome()
        // a team that has nothing but an answer that says nothing has nothing to answer with
        expect([where, outcome.status]).toEqual([
          where,
          where === 'task' && (value === '' || value === null) ? 'failed' : 'completed',
        ])
        is(outcome as never)
      }
    },
    30_000,
  )

  test('team C79: three people in parallel at different depths, answered in reverse: each gets its own answer', async () => {
    const inner = supervisor({
      name: 'inner',
      model: scripted(delegates(['cleo', 'x', 'c1']), ({ messages }) => `cleo: ${JSON.stringify(told(messages)[0])}`),
      workers: [human({ name: 'cleo', description: 'c' })],
    })
    const root = parallel({ name: 'root', agents: [ann, sequential({ name: 'line', agents: [bob] }), inner] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'task')
    const open = await asked(runtime, run, 3)
    for (const [name, value] of [
      ['cleo', 3],
      ['bob', 2],
      ['ann', 1],
    ] as const)
      await run.answer({ interruptId: open.get(name)!, value })
    expect(await run.outcome()).toMatchObject({ output: [1, 2, 'cleo: 3'] })
    await expect(run.answer({ interruptId: open.get('ann')!, value: 9 })).rejects.toMatchObject({
      code: expect.any(String) as string,
    })
  })

  test('a person leading a planned team with a person in it; a bad answer is asked for again, nothing is lost', async () => {
    const crew = team({
      name: 'crew',
      description: 'Plans.',
      roles: { ann },
      planner: { subtasks: [{ id: 'one', description: 'one', role: 'ann' }] },
    })
    const chief = human({ name: 'chief', workers: [crew as unknown as Agent, bob] })
    const runtime = await runtimeOf([chief])
    const run = await runtime.start(chief, 'task')
    const next = async (value: Json, before?: string): Promise<string> => {
      await expect.poll(async () => (await asked(runtime, run, 1)).get('chief') ?? before).not.toBe(before)
      const id = (await asked(runtime, run, 1)).get('chief')!
      await run.answer({ interruptId: id, value, by: 'chief@x' })
      return id
    }
    let last = await next({ delegate: { worker: 'nobody', instructions: 'x' } })
    last = await next({ forward: 'd9' }, last)
    last = await next('what?', last)
    last = await next(
      {
        delegate: [
          { worker: 'crew', instructions: 'x' },
          { worker: 'bob', instructions: 'y' },
        ],
      },
      last,
    )
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(2)
    const open = await asked(runtime, run, 2)
    await run.answer({ interruptId: open.get('bob')!, value: 0 })
    await run.answer({ interruptId: open.get('ann')!, value: false })
    last = await next({ forward: 'bob' }, last)
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 0 })
    expect((await run.delegations()).map(({ worker, status }) => [worker, status])).toEqual([
      ['crew', 'completed'],
      ['bob', 'completed'],
    ])
  })

  test('a deadline and an answer during a takeover: the first of them counts, after the hand back', async () => {
    const late = human({ name: 'late', timeoutMs: 300, onTimeout: { answer: 'nobody' } })
    const runtime = await runtimeOf([late, ann])
    const run = await runtime.start(late, 'x')
    await asked(runtime, run, 1)
    await run.control.takeOver({ by: 'eve' })
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length, { timeout: 10_000 }).toBe(0)
    expect((await run.view()).status).toBe('human_control')
    await run.control.handBack()
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'nobody' })
    const other = await runtime.start(ann, 'x')
    const open = await asked(runtime, other, 1)
    await other.control.takeOver({ by: 'eve' })
    await other.answer({ interruptId: open.get('ann')!, value: '', by: 'ann' })
    expect((await other.view()).status).toBe('human_control')
    await other.control.handBack()
    expect(await other.outcome()).toMatchObject({ status: 'completed', output: '', by: 'ann' })
  })
})

describe('code that asks', () => {
  /** Asks four things at once, and two more in a new segment of its journal. */
  const asker = agent({
    name: 'asker',
    description: 'Asks.',
    run: async (ctx) => {
      const [yes, no, one, two] = await Promise.all([
        ctx.approve('ship', { input: { n: 1 } }),
        ctx.approve('burn', { input: { n: 2 } }),
        ctx.interrupt('one'),
        ctx.scope('branch').interrupt('two', { timeoutMs: 60_000 }),
      ])
      const after = await ctx.interrupt('after')
      return { yes: yes.approved, no: no.approved ? 'yes' : no.feedback, one, two, after } as never
    },
  })
  const orders = [
    ['ship', 'burn', 'one', 'two'],
    ['two', 'one', 'burn', 'ship'],
    ['one', 'ship', 'two', 'burn'],
  ]
  test.each(orders)('team C79: at once: %s, %s, %s, %s, with another process between any two', async (...order) => {
    let runtime = await runtimeOf([asker], { store: store() })
    await runtime.start(asker, 'go', { runId: 'run_q' })
    const open = async (count: number): Promise<Map<string, string>> => {
      await expect.poll(async () => (await runtime.questions({ run: 'run_q' })).length, { timeout: 10_000 }).toBe(count)
      const all = await runtime.questions({ run: 'run_q' })
      return new Map(
        all.map(({ id, body }) => [
          String((body as { tool?: string; question?: string }).tool ?? (body as { question?: string }).question),
          id,
        ]),
      )
    }
    const first = await open(4)
    let left = 4
    for (const what of order) {
      await runtime.close()
      runtime = await runtimeOf([asker], { store: store() })
      const now = await open(left)
      expect(now.get(what)).toBe(first.get(what)) // C90: the same question
      if (what === 'ship') await runtime.decide({ approvalId: now.get(what)!, decision: 'approve', approver: 'ann' })
      else if (what === 'burn')
        await runtime.decide({ approvalId: now.get(what)!, decision: 'reject', approver: 'bob', comment: 'no' })
      else await runtime.answer({ interruptId: now.get(what)!, value: what === 'one' ? 0 : null })
      left--
      if (left > 0) await open(left)
    }
    await expect.poll(async () => (await open(1)).has('after'), { timeout: 10_000 }).toBe(true)
    await runtime.answer({ interruptId: (await open(1)).get('after')!, value: false })
    const no = expect.stringContaining('no') as string
    expect(await runtime.handle('run_q').outcome()).toMatchObject({
      status: 'completed',
      output: { yes: true, no, one: 0, two: null, after: false },
    })
  })

  test('in an orchestration tool called three times: a cancel keeps answers, late ones are refused', async () => {
    const ask = tool({
      name: 'ask',
      input: { type: 'object', properties: { n: { type: 'number' } } },
      run: async (ctx, input) => {
        const { n } = input as { n: number }
        return { n, said: await ctx.interrupt(`n${n}`), ok: (await ctx.approve(`do${n}`, { input: { n } })).approved }
      },
    })
    const model = scripted(calls(['ask', { n: 1 }, 'a'], ['ask', { n: 2 }, 'b'], ['ask', { n: 3 }, 'c']), 'final')
    const root = agent({ name: 'root', description: 'x', model, tools: [ask] })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    await expect.poll(async () => (await runtime.questions({ run: run.id })).length).toBe(3)
    for (const { id, body } of (await waiting(run)).questions.toReversed())
      await run.answer({ interruptId: id, value: (body as { question: string }).question })
    await expect.poll(async () => (await runtime.approvals({ run: run.id })).length).toBe(3)
    const approvals = await runtime.approvals({ run: run.id })
    for (const { id, input } of approvals.slice(1))
      await run.decide({ approvalId: id, decision: (input as { n: number }).n === 2 ? 'approve' : 'reject' })
    const { id } = approvals[0]!
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    await expect(run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
      code: expect.stringMatching(/approval|run/) as string,
    })
    expect((await run.view()).approvals.find((each) => each.id === id)?.resolution).toBe('cancelled') // C89
  })

  test('over a new segment of the journal: what was asked before is answered after', async () => {
    const root = agent({
      name: 'root',
      description: 'x',
      run: async (ctx) => {
        const state = (ctx.carried ?? { n: 0, said: [] }) as { n: number; said: Json[] }
        const yes = await ctx.approve('go on', { input: { n: state.n } })
        const said = [...state.said, yes.approved, await ctx.interrupt(`n${state.n}`)]
        if (state.n < 2) ctx.restart({ n: state.n + 1, said })
        return said as never
      },
    })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const ids = new Set<string>()
    for (let n = 0; n < 6; n++) {
      await expect
        .poll(async () => (await runtime.questions({ run: run.id })).filter(({ id }) => !ids.has(id)).length, {
          timeout: 10_000,
        })
        .toBe(1)
      const [{ id, kind } = {} as never] = (await runtime.questions({ run: run.id })).filter(
        (each) => !ids.has(each.id),
      )
      ids.add(id)
      if (kind === 'approval') await run.decide({ approvalId: id, decision: n === 2 ? 'reject' : 'approve' })
      else await run.answer({ interruptId: id, value: n })
    }
    expect(await run.outcome()).toMatchObject({ output: [true, 1, false, 3, true, 5] })
    expect(ids.size).toBe(6)
  })
})
