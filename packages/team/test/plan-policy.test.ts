/** How policies are asked: in order, once, and closed where they fail. Spec team R-8, X10. */
import { afterEach, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { agent } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { decide, type PolicyQuestion, type TeamPolicy } from '../src/policy.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** What code makes of it in a run, and the steps that were recorded. */
async function inRun(code: (ctx: Context) => Promise<unknown>): Promise<{ output: unknown; steps: string[] }> {
  const asker = agent({
    name: 'asker',
    description: 'Asks.',
    run: async (ctx) => (await code(ctx)) as Json as never,
    output: {},
  })
  const runtime = await createRuntime({ store: ':memory:', agents: [asker], strict: true })
  open.push(runtime)
  const run = await runtime.start(asker, 'go')
  const outcome = await run.outcome()
  const steps: string[] = []
  for await (const { event } of run.events()) if (event.type === 'step.begun') steps.push(event.address)
  return { output: outcome.status === 'completed' ? outcome.output : outcome, steps }
}
const question: PolicyQuestion = {
  action: 'recruit',
  actor: 'analyst_1',
  run: 'run_1',
  teamSize: 3,
  details: { deep: { a: 1 } },
}
const rules = (...policies: (TeamPolicy | undefined)[]) => inRun((ctx) => decide(ctx, policies, question))

test('team R-8: without a policy everything is allowed, and nothing is recorded', async () => {
  for (const policies of [[], [undefined], [undefined, undefined]])
    expect(await rules(...policies)).toEqual({ output: { verdict: 'allow' }, steps: [] })
})

test('team R-8: all are asked in order, and the first that does not allow it decides', async () => {
  const asked: string[] = []
  const saying =
    (name: string, word: ReturnType<TeamPolicy>): TeamPolicy =>
    () => (asked.push(name), word)
  expect(
    (await rules(saying('a', 'allow'), undefined, saying('b', { verdict: 'allow', reason: 'fine' }))).output,
  ).toEqual({
    verdict: 'allow',
  })
  expect(asked.splice(0)).toEqual(['a', 'b'])
  expect(
    (await rules(saying('a', 'allow'), saying('b', { verdict: 'ask', reason: 'is new' }), saying('c', 'deny'))).output,
  ).toEqual({
    verdict: 'ask',
    reason: 'is new',
  })
  expect(asked.splice(0)).toEqual(['a', 'b'])
  expect((await rules(saying('a', Promise.resolve('deny' as const)), saying('b', 'allow'))).output).toMatchObject({
    verdict: 'deny',
  })
  expect(asked.splice(0)).toEqual(['a'])
})

const failing = (thrown: unknown) => (): never => {
  throw thrown
}
test.each<readonly [string, () => unknown, string]>([
  ['throws', failing(new Error('the engine is down')), 'the policy failed: the engine is down'],
  ['rejects', () => Promise.reject(new Error('timeout')), 'the policy failed: timeout'],
  ['throws what is no error', failing('down'), 'the policy failed: down'],
  ['says nothing', () => undefined, 'the policy said undefined, expected "allow", "deny" or "ask"'],
  ['says yes in other words', () => true, 'the policy said true, expected "allow", "deny" or "ask"'],
  ['says an unknown word', () => 'Allow', 'the policy said the text "Allow", expected "allow", "deny" or "ask"'],
  [
    'says an object without a verdict',
    () => ({ allow: true }),
    'the policy said undefined, expected "allow", "deny" or "ask"',
  ],
  ['gives a reason that is none', () => ({ verdict: 'deny', reason: 7 }), 'the policy does not allow it'],
  ['gives an empty reason', () => ({ verdict: 'deny', reason: ' ' }), 'the policy does not allow it'],
])('team X10: one that %s has said no, is asked once, and says why', async (_name, policy, reason) => {
  const { output, steps } = await rules(policy as never)
  expect(output).toEqual({ verdict: 'deny', reason })
  expect(steps).toHaveLength(1)
})

test('team R-8: a policy that writes into its question changes nothing for the next one, nor for who asks', async () => {
  const seen: unknown[] = []
  const writing = ((asked: { actor: string; details: { deep: { a: number } } }) => {
    asked.actor = 'somebody else'
    asked.details.deep.a = 2
    return 'allow'
  }) as never
  await rules(writing, (asked) => {
    seen.push(asked)
    return 'allow'
  })
  expect(seen).toEqual([question])
  expect(question.details).toEqual({ deep: { a: 1 } })
})

test('team R-8: two questions at once are two, each with its own verdict', async () => {
  const policy: TeamPolicy = async ({ actor }) => {
    if (actor === 'a') await new Promise((resolve) => setTimeout(resolve, 20))
    return actor === 'a' ? 'allow' : 'deny'
  }
  const { output, steps } = await inRun((ctx) =>
    Promise.all(['a', 'b', 'a'].map(async (actor) => (await decide(ctx, [policy], { ...question, actor })).verdict)),
  )
  expect(output).toEqual(['allow', 'deny', 'allow'])
  expect(new Set(steps).size).toBe(3)
})
