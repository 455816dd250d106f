/**
 * A whole team under `simulate`: it dies at every point where it can and comes to the same end (K5, K6). And the kit
 * itself: it finds what is wrong.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, step, tool } from '@reeve/agent'
import { supervisor } from '@reeve/supervisor'
import type { Runtime } from '@reeve/runtime'
import { scripted, simulate, teamScenario } from '@reeve/testing'
import { calls, delegates, runtimeOf } from './team.ts'

/** Says yes to approvals, answers questions, and says of what is in doubt that it has happened. */
async function person(runtime: Runtime): Promise<void> {
  for (const { id, kind } of await runtime.questions()) {
    const word =
      kind === 'approval'
        ? runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
        : runtime.settleDoubt({ id, happened: true, value: 'published' })
    await word.catch(() => undefined) // somebody was faster: the person before the crash
  }
}

describe('a team that dies', () => {
  test('K5: with background tools, an approval, an inheriting worker, and start hooks', async () => {
    const look = tool({ name: 'look', background: true, effect: 'read', execute: () => 'seen' })
    const publish = tool({ name: 'publish', background: true, sensitive: true, execute: () => 'published' })
    const isOpen = (text: unknown): boolean => JSON.stringify(text).includes('works in the background')
    const brain = (name: string, input: Record<string, string> = {}) =>
      function think({ messages }: { readonly messages: readonly { readonly role: string }[] }) {
        if (!messages.some(({ role }) => role === 'tool')) return calls([name, input])
        return isOpen(messages) ? 'waiting' : 'done'
      }
    const finder = agent({ name: 'finder', description: 'Finds.', tools: [look], model: brain('look') })
    const boss = supervisor({
      name: 'boss',
      workers: [finder],
      tools: [publish],
      model: ({ messages }) => {
        const told = messages.filter(({ role }) => role === 'tool').length
        if (told < 2)
          return told === 0
            ? calls(['publish', {}], ['delegate', { worker: 'finder', instructions: 'find' }])
            : 'waiting'
        return isOpen(messages) ? 'waiting' : 'final'
      },
    })
    const scenario = teamScenario({
      agents: [boss],
      input: 'go',
      outside: person,
      hooks: { named: () => ({ instructions: 'Be brief.' }), good: () => true },
      delegation: { onStart: 'named' },
      isComplete: { scorers: ['good'] },
    })
    const { end, differences, repeated, points } = await simulate(scenario)
    expect(end.outcome).toMatchObject({ status: 'completed', output: 'final' })
    expect({ differences, repeated }).toEqual({ differences: [], repeated: [] })
    expect(points).toBeGreaterThan(20)
  })

  test('K5: with parallel workers, parallel tools, an approval inside a worker, a recruit, and a forward', async () => {
    const look = tool({ name: 'look', effect: 'read', input: { type: 'object' }, execute: (input) => ({ saw: input }) })
    const publish = tool({ name: 'publish', sensitive: true, execute: () => 'published' })
    const researcher = agent({
      name: 'researcher',
      description: 'Finds.',
      tools: [look],
      model: scripted(calls(['look', { n: 1 }], ['look', { n: 2 }]), 'found'),
    })
    const writer = agent({
      name: 'writer',
      description: 'Writes.',
      tools: [publish],
      model: scripted(calls(['publish', {}]), 'written'),
    })
    const boss = supervisor({
      name: 'boss',
      workers: [researcher, writer],
      specialists: [agent({ name: 'lawyer', description: 'Checks.', model: scripted('fine') })],
      model: scripted(
        delegates(['researcher', 'find'], ['writer', 'write']),
        calls(['recruit', { worker: 'lawyer', reason: 'to be sure' }]),
        calls(['delegate', { worker: 'lawyer', instructions: 'check' }], ['forward_message', { worker: 'lawyer' }]),
      ),
    })
    const { end, differences, repeated, points } = await simulate(
      teamScenario({ agents: [boss], input: 'go', outside: person }),
    )
    expect(end.outcome).toEqual({ status: 'completed', output: 'fine' })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(50)
  }, 60_000)

  test('K5: with a code leader whose worker fails, and values', async () => {
    const broken = agent({ name: 'broken', description: 'Fails.', model: scripted(new Error('no')) })
    const boss = agent({
      name: 'boss',
      workers: [broken],
      run: async (ctx, brief) => {
        const [first, second] = await Promise.all([delegate(ctx, broken, 'a'), delegate(ctx, broken, 'b')])
        const count = await ctx.values.update('runs', (value) => Number(value ?? 0) + 1)
        return [brief, first.status, second.status, count, await step(ctx, 'note', () => 'noted')]
      },
    })
    const { end, differences, repeated } = await simulate(
      teamScenario({ agents: [boss], input: 'go', values: { runs: 1 } }),
    )
    const lost = { worker: 'broken', code: 'model.failed' }
    expect(end.outcome).toEqual({
      status: 'completed',
      output: ['go', 'failed', 'failed', 2, 'noted'],
      failures: [lost, lost],
    })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
  }, 60_000)
})

describe('the kit', () => {
  test('finds code that takes chance from elsewhere', async () => {
    let calls = 0
    const root = agent({ name: 'root', run: async (ctx) => `${await step(ctx, 'work', () => 'done')} ${calls++}` })
    const { differences } = await simulate(teamScenario({ agents: [root], input: 'go' }))
    expect(differences.length).toBeGreaterThan(0)
  })

  test('a script goes by the conversation, and its end is a failure that says so', async () => {
    const model = scripted('one')
    const root = agent({ name: 'root', model, tools: [tool({ name: 'again', execute: () => 'x' })] })
    const runtime = await runtimeOf([root])
    for (let i = 0; i < 2; i++) expect(await runtime.run(root, 'go')).toMatchObject({ output: 'one' })
    expect(model.prompts).toEqual([[{ role: 'user', content: 'go' }], [{ role: 'user', content: 'go' }]])
    const short = agent({
      name: 'short',
      model: scripted(calls(['again', {}])),
      tools: [tool({ name: 'again', execute: () => 'x' })],
    })
    const outcome = await (await runtimeOf([short])).run(short, 'go')
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { message: expect.stringContaining('the script has 1 lines') as string },
    })
  })
})
