/**
 * Middlewares: hooks that throw, wait and keep something (spec collaboration 1.17, 119), wherever their agent works and
 * whenever its process dies.
 */
import { describe, expect, test } from 'vitest'
import { agent, step, tool, type Middleware } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import { approve, interrupt } from '@reeve/oversight'
import { supervisor } from '@reeve/supervisor'
import { scripted as byConversation, simulate, teamScenario } from '@reeve/testing'
import { calls, delegates, pause, runtimeOf, scripted, store, told } from './team.ts'
import { note, watching } from './watching.ts'

describe('a hook that throws', () => {
  const boom = (): never => {
    throw new Error('boom')
  }
  const hooks = { before: boom, beforeModel: boom, afterModel: boom, wrapTool: boom, after: boom } satisfies Omit<
    Middleware,
    'name'
  >

  test.each(Object.keys(hooks) as (keyof typeof hooks)[])(
    'in %s fails the agent, and says who and where',
    async (hook) => {
      const log: string[] = []
      const A = agent({
        name: 'A',
        model: scripted(calls(['note', {}]), 'final'),
        tools: [note()],
        outputKey: 'k',
        middleware: [
          {
            name: 'outer',
            after: (outcome) => void log.push(outcome.status === 'failed' ? outcome.failure.code : outcome.status),
          },
          { name: 'bad', [hook]: hooks[hook] },
        ],
      })
      const run = await (await runtimeOf([A])).start(A, 'go')
      expect(await run.outcome()).toMatchObject({
        status: 'failed',
        failure: {
          code: 'middleware.failed',
          message: `the middleware "bad" failed in ${hook}: boom`,
          details: { middleware: 'bad', hook },
          retryable: false,
        },
      })
      expect(log).toEqual(['middleware.failed']) // whoever is further out is told
    },
  )

  test('a FailureError is the agent’s own failure: a middleware may refuse', async () => {
    const refuses: Middleware = {
      name: 'guard',
      before: (_begins, { brief }) => {
        if (brief === 'bad') throw new FailureError(failure('permission.denied', 'not here', 'policy'))
      },
    }
    const model = scripted('final')
    const A = agent({ name: 'A', model, middleware: [refuses] })
    const runtime = await runtimeOf([A])
    expect(await runtime.run(A, 'bad')).toMatchObject({
      failure: {
        code: 'permission.denied',
        message: 'not here',
        class: 'policy',
        details: { middleware: 'guard', hook: 'before' },
      },
    })
    expect(await runtime.run(A, 'good')).toMatchObject({ output: 'final' })
    expect(model.prompts).toHaveLength(1)
  })

  test('around one of several calls: the others settle first, and no result of theirs saves the agent', async () => {
    const done: string[] = []
    const slow = tool({
      name: 'slow',
      execute: async () => (await pause(30), done.push('slow'), 'slowly'),
      action: 'return',
    })
    const bad: Middleware = { name: 'bad', wrapTool: (call, run) => (call.name === 'note' ? boom() : run()) }
    const A = agent({
      name: 'A',
      model: scripted(calls(['note', {}], ['slow', {}])),
      tools: [note(), slow],
      middleware: [bad],
    })
    expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({
      status: 'failed',
      failure: { details: { middleware: 'bad' } },
    })
    expect(done).toEqual(['slow'])
  })

  test('further in is not to be swallowed further out', async () => {
    const swallows: Middleware = {
      name: 'swallows',
      wrapTool: (_call, run) => run().catch(() => ({ content: 'fine' })),
    }
    const forgets: Middleware = { name: 'forgets', wrapTool: (_call, run) => (void run(), { content: 'fine' }) }
    for (const outer of [swallows, forgets]) {
      const middleware = [outer, { name: 'bad', wrapTool: boom }]
      const A = agent({ name: 'A', model: scripted(calls(['note', {}]), 'final'), tools: [note()], middleware })
      expect(await (await runtimeOf([A])).run(A, 'go')).toMatchObject({ failure: { details: { middleware: 'bad' } } })
    }
  })

  test('collaboration 119: an after-hook that throws after success: the answer, one error, no output kept', async () => {
    const reads = agent({
      name: 'reads',
      run: async (ctx) => ({ good: await ctx.values.get('good'), bad: await ctx.values.get('bad') }),
    })
    const sees: Middleware = {
      name: 'sees',
      after: async (_outcome, at) => void (await at.ctx.values.update('in-after', () => [])),
    }
    const good = agent({
      name: 'good',
      description: 'Good.',
      model: scripted('a good answer'),
      outputKey: 'good',
      middleware: [sees],
    })
    const bad = agent({
      name: 'bad',
      description: 'Bad.',
      model: scripted('an answer'),
      outputKey: 'bad',
      middleware: [{ name: 'm', after: boom }],
    })
    const flow = sequential({ name: 'flow', agents: [good, bad] })
    const runtime = await runtimeOf([flow, reads])
    const run = await runtime.start(flow, 'go', { session: 'ses_1' })
    expect(await run.outcome()).toMatchObject({
      status: 'failed',
      failure: { code: 'middleware.failed', details: { middleware: 'm', hook: 'after', agent: 'bad' } },
    })
    const spoken: string[][] = []
    for await (const message of run.messages())
      spoken.push([message.agent, message.type, message.type === 'assistant' ? message.text : ''])
    expect(spoken).toEqual([
      ['good', 'assistant', 'a good answer'],
      ['bad', 'assistant', 'an answer'],
      ['bad', 'error', ''],
    ])
    expect(await runtime.run(reads, 'go', { session: 'ses_1' })).toMatchObject({
      output: { good: 'a good answer', bad: null },
    })
  })

  test('under a router the lead is told as of any failure, without the worker’s transfer', async () => {
    const out = tool({ name: 'out', execute: () => 'bye', action: 'exit' })
    const lead = scripted(calls(['transfer_to_agent', { agent_name: 'W1' }]), 'the lead answers')
    const W1 = agent({
      name: 'W1',
      description: 'One.',
      model: scripted(calls(['out', {}])),
      tools: [out],
      middleware: [{ name: 'm', after: boom }],
    })
    const Sup = router({ name: 'Sup', model: lead, workers: [W1] })
    expect(await (await runtimeOf([Sup])).run(Sup, 'go')).toMatchObject({ output: 'the lead answers' })
    expect(JSON.stringify(lead.prompts[1]!.at(-1))).toMatch(/failed: its code failed/)
  })

  test('a cancel passes through every hook', async () => {
    const log: string[] = []
    const waits: Middleware = {
      name: 'waits',
      wrapTool: async (_call, run, { ctx }) => {
        await interrupt(ctx, 'go on?')
        return run()
      },
    }
    const A = agent({
      name: 'A',
      model: scripted(calls(['note', {}]), 'final'),
      tools: [note()],
      middleware: [watching('x', log), waits],
    })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await expect.poll(async () => (await run.view()).interrupts.length).toBe(1)
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(log).not.toContain('x.after A 1')
  })
})

describe('what it keeps', () => {
  test('values are of one activation, of all its middlewares, and JSON only', async () => {
    const seen: Json[] = []
    const counts: Middleware = {
      name: 'counts',
      beforeModel: (_asked, { values }) => values.set('n', Number(values.get('n') ?? 0) + 1),
    }
    const tells: Middleware = {
      name: 'tells',
      after: (_outcome, { values }) => {
        seen.push(values.get('n') ?? null, values.delete('n'), values.delete('n'), values.get('n') ?? null)
      },
    }
    const A = agent({
      name: 'A',
      description: 'A',
      model: scripted(calls(['note', {}]), 'final'),
      tools: [note()],
      middleware: [counts, tells],
    })
    const flow = parallel({
      name: 'flow',
      agents: [A, agent({ name: 'B', model: scripted('b'), middleware: [counts, tells] })],
    })
    await (await runtimeOf([flow])).run(flow, 'go')
    expect(seen.filter((each) => typeof each === 'number').toSorted((a, b) => a - b)).toEqual([1, 2])
    expect(seen.filter((each) => each === true)).toHaveLength(2)
    const keeps = (value: unknown): Middleware => ({
      name: 'keeps',
      before: (_begins, { values }) => values.set('v', value as Json),
    })
    for (const value of [new Date(0), () => 1, Number.NaN, 1n, undefined]) {
      const bad = agent({ name: 'A', model: scripted('x'), middleware: [keeps(value)] })
      expect(await (await runtimeOf([bad])).run(bad, 'go')).toMatchObject({
        failure: { code: 'input.not-json', details: { middleware: 'keeps', hook: 'before' } },
      })
    }
    const list = [{ n: 1 }]
    const copies: Middleware = {
      name: 'copies',
      before: (_begins, { values }) => values.set('list', list),
      after: (_outcome, { values }) => ({ status: 'completed', output: values.get('list')! }),
      beforeModel: () => void (list[0]!.n = 99),
    }
    const C = agent({ name: 'C', model: scripted('x'), middleware: [copies] })
    expect(await (await runtimeOf([C])).run(C, 'go')).toMatchObject({ output: [{ n: 1 }] })
  })

  test('another outcome is that of the agent, if it has the promised form', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const make = (left: Json) =>
      agent({
        name: 'A',
        model: scripted('{"n":1}'),
        output,
        middleware: [{ name: 'm', after: () => ({ status: 'completed', output: left }) }],
      })
    expect(await (await runtimeOf([make({ n: 2 })])).run('A', 'go')).toMatchObject({ output: { n: 2 } })
    expect(await (await runtimeOf([make('two')])).run('A', 'go')).toMatchObject({ failure: { code: 'output.invalid' } })
    const saves: Middleware = {
      name: 'saves',
      after: (outcome) => (outcome.status === 'failed' ? { status: 'completed', output: 'sorry' } : undefined),
    }
    const B = agent({
      name: 'B',
      model: scripted(new FailureError(failure('model.bad-request', 'no', 'validation'))),
      middleware: [saves],
    })
    expect(await (await runtimeOf([B])).run(B, 'go')).toMatchObject({ status: 'completed', output: 'sorry' })
  })
})

describe('wherever it works', () => {
  test('around a lead each time it has control, a worker, a member of a flow, an agent as a tool', async () => {
    const log: string[] = []
    const middleware = [watching('x', log)]
    const deep = agent({ name: 'deep', description: 'Deep.', model: scripted('deep'), middleware })
    const W1 = agent({
      name: 'W1',
      description: 'One.',
      model: scripted(calls(['deep', { request: 'x' }]), 'w1'),
      tools: [asTool(deep)],
      middleware,
    })
    const Sup = router({
      name: 'Sup',
      model: scripted(calls(['transfer_to_agent', { agent_name: 'W1' }]), 'sup'),
      workers: [W1],
      middleware,
    })
    const last = agent({ name: 'last', model: scripted('last'), middleware })
    const flow = sequential({ name: 'flow', agents: [Sup, last] })
    expect(await (await runtimeOf([flow])).run(flow, 'go')).toMatchObject({ output: 'last' })
    expect(log.filter((line) => /before |after /.test(line))).toEqual([
      'x.before Sup 0',
      'x.after Sup 1',
      'x.before W1 0',
      'x.before deep 0',
      'x.after deep 1',
      'x.after W1 2',
      'x.before Sup 0',
      'x.after Sup 1',
      'x.before last 0',
      'x.after last 1',
    ])
  })

  test('K3: hooks may wait: a question before the work and an approval around a call, in any order', async () => {
    const asks: Middleware = {
      name: 'asks',
      before: async ({ instructions }, { ctx }) => ({
        instructions: `${instructions ?? ''}${(await interrupt(ctx, 'which tone?')) as string}`,
      }),
      wrapTool: async (call, run, { ctx }) => {
        const verdict = await approve(ctx, {
          tool: call.name,
          toolVersion: '1',
          callId: call.id,
          input: call.input,
          reason: 'the house asks',
          sensitive: false,
        })
        return verdict.approved ? run() : { content: 'no', isError: true }
      },
    }
    const model = scripted(calls(['note', { n: 1 }, 'c1'], ['note', { n: 2 }, 'c2']), 'final')
    const A = agent({ name: 'A', model, tools: [note()], middleware: [asks] })
    const run = await (await runtimeOf([A])).start(A, 'go')
    await expect.poll(async () => (await run.view()).interrupts.length).toBe(1)
    await run.answer({ interruptId: (await run.view()).interrupts[0]!.id, value: 'kindly' })
    await expect.poll(async () => (await run.view()).approvals.length).toBe(2)
    const open = (await run.view()).approvals
    await run.decide({
      approvalId: open.find(({ input }) => (input as { n: number }).n === 2)!.id,
      decision: 'approve',
    })
    await run.decide({ approvalId: open.find(({ input }) => (input as { n: number }).n === 1)!.id, decision: 'reject' })
    await run.outcome()
    expect(model.prompts[0]![0]).toEqual({ role: 'system', content: 'kindly' })
    expect(told(model.prompts[1])).toEqual(['no', 'noted'])
  })

  test('K10: a hook that waits goes on in another process, and nothing before it happens twice', async () => {
    const ran: string[] = []
    const asks: Middleware = {
      name: 'asks',
      before: async (_begins, { ctx, values }) =>
        values.set('id', await step(ctx, 'id', () => (ran.push('id'), 'id-1'))),
      after: async (outcome, { ctx, values }) => {
        const word = await interrupt(ctx, 'fine?')
        return outcome.status === 'completed'
          ? { status: 'completed', output: [outcome.output, word, values.get('id')!] }
          : undefined
      },
    }
    const model = scripted(calls(['note', {}]), 'final')
    const log: Json[] = []
    const A = agent({ name: 'A', model, tools: [note(log)], middleware: [asks] })
    const first = await runtimeOf([A], { store: store() })
    const { id } = await first.start(A, 'go')
    await first.handle(id).until('waiting')
    await first.close()
    const second = await runtimeOf([A], { store: store() })
    const run = second.handle(id)
    await run.answer({ interruptId: (await run.view()).interrupts[0]!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ output: ['final', 'yes', 'id-1'] })
    expect([ran, log.length, model.prompts.length]).toEqual([['id'], 1, 2])
  })

  test('K10, K5: steps and changes of hooks are recorded once, whenever the process dies', async () => {
    const steps: Middleware = {
      name: 'steps',
      before: async (_begins, { ctx, values }) => values.set('id', await step(ctx, 'id', () => 'id-1')),
      beforeModel: async ({ messages }, { ctx }) => ({
        messages: [...messages, { role: 'user', content: await step(ctx, 'recall', () => 'remembered') }],
      }),
      afterModel: async ({ text }, { ctx }) =>
        text === 'bad' ? { again: await step(ctx, 'judge', () => 'worse') } : undefined,
      wrapTool: async (_call, run, { ctx, values }) => {
        await step(ctx, 'audit', () => 'audited', { effect: 'idempotent' })
        return { content: `${(await run()).content as string} ${values.get('id') as string}` }
      },
      after: async (outcome, { ctx }) => {
        await step(ctx, 'report', () => 'reported')
        return outcome.status === 'completed'
          ? { status: 'completed', output: `${outcome.output as string}!` }
          : undefined
      },
    }
    const look = tool({ name: 'look', effect: 'read', execute: () => 'seen' })
    const A = agent({
      name: 'A',
      description: 'Works.',
      model: byConversation(calls(['look', {}], ['look', {}]), 'bad', 'good'),
      tools: [look],
      middleware: [steps, { ...steps, name: 'again' }],
      outputKey: 'answer',
      instructions: 'For {who}.',
      templating: true,
    })
    const boss = supervisor({
      name: 'boss',
      model: byConversation(delegates(['A', 'x']), 'done'),
      workers: [A],
      middleware: [steps],
      outputKey: 'all',
    })
    const { end, differences, repeated, points } = await simulate(
      teamScenario({ agents: [boss], input: 'go', values: { who: 'ann' } }),
    )
    expect(end.outcome).toEqual({ status: 'completed', output: 'done!' })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(50)
  }, 60_000)
})
