/**
 * What a human gives in somebody's place fits what those promise: of a whole run, of a worker at work, of a task that
 * nobody has begun. Spec team C73.
 */
import { expect, test } from 'vitest'
import { agent, supervisor, team } from '@reeve/public'
import { hanging, heldAlone } from './held.ts'
import { delegates, runtimeOf, scripted, store } from './team.ts'

const output = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] } as const
const wrong = { code: 'input.invalid', message: expect.stringContaining('output schema') as string }

test('team C73: an unfitting output of a run or worker by hand is refused and changes nothing', async () => {
  const held = hanging('{"price": 1}')
  const pricer = agent({
    name: 'pricer',
    description: 'Says prices.',
    model: scripted(({ signal }) => held.work(signal)),
    output,
  })
  const boss = supervisor({
    name: 'boss',
    model: scripted(delegates(['pricer', 'x', 'c1']), '{"price": 2}'),
    workers: [pricer],
    output,
  })
  const runtime = await runtimeOf([boss])
  const run = await runtime.start(boss, 'go')
  await heldAlone(run, held)
  await run.control.takeOver({ by: 'ann' })
  await expect(run.control.complete({ delegation: 'c1', output: 'cheap' })).rejects.toMatchObject(wrong)
  await expect(run.control.finish({ output: { price: 'cheap' } })).rejects.toMatchObject(wrong)
  expect((await run.control.state()).ops).toHaveLength(1)
  await run.control.complete({ delegation: 'c1', output: { price: 0 }, by: 'ann' })
  await run.control.finish({ output: { price: 0 }, by: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: { price: 0 }, by: 'ann' })
  await expect(run.control.finish({ output: 'late' })).rejects.toMatchObject({ code: 'run.ended' })
})

test('team C73: a pending task: an output that does not fit its role is refused', async () => {
  const held = hanging('{"price": 1}')
  const pricer = agent({
    name: 'pricer',
    description: 'Says prices.',
    model: scripted(({ signal }) => held.work(signal)),
    output,
  })
  const subtasks = [
    { id: 'one', description: 'one', role: 'pricer' },
    { id: 'two', description: 'two', role: 'pricer', dependencies: ['one'] },
  ]
  const crew = team({ name: 'crew', roles: { pricer }, planner: { subtasks } })
  const run = await (await runtimeOf([crew])).start(crew, 'go')
  await heldAlone(run, held)
  await run.control.takeOver({ by: 'ann' })
  await expect(run.control.complete({ task: 'two', output: 'cheap' })).rejects.toMatchObject({ code: 'plan.invalid' })
  await expect(run.control.complete({ task: 'one', output: 'cheap' })).rejects.toMatchObject(wrong)
  await run.control.complete({ task: 'two', output: { price: 0 } })
  await run.control.complete({ task: 'one', output: { price: 0 } })
  await run.control.handBack()
  expect((await run.outcome()).results?.tasks.map((each) => each.output)).toEqual([{ price: 0 }, { price: 0 }])
})

test('a process without agents accepts any output: it has no schema to check', async () => {
  const held = hanging('{"price": 1}')
  const pricer = agent({
    name: 'pricer',
    description: 'Says prices.',
    model: scripted(({ signal }) => held.work(signal)),
    output,
  })
  const before = await runtimeOf([pricer], { store: store() })
  const run = await before.start(pricer, 'go', { runId: 'run_p' })
  await heldAlone(run, held)
  await run.control.takeOver({ by: 'ann' })
  const other = await runtimeOf([], { store: store(), drive: false })
  await other.handle('run_p').control.finish({ output: 'cheap', by: 'ann' })
  expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'cheap' })
})

test('K8: invalid pause options are refused, all of them, and nothing changes', async () => {
  const held = hanging('done')
  const slow = agent({ name: 'slow', description: 'Slow.', model: scripted(({ signal }) => held.work(signal)) })
  const run = await (await runtimeOf([slow])).start(slow, 'go')
  await heldAlone(run, held)
  const strange = { at: 'whenever', within: Number.NaN, by: '', hurry: true } as never
  await expect(run.control.pause(strange)).rejects.toMatchObject({
    code: 'input.invalid',
    message: expect.stringMatching(/hurry.*by is.*at is.*within is/u) as string,
  })
  expect((await run.control.state()).ops).toEqual([])
  await run.control.pause({ by: 'ann', reason: 'lunch' })
  await expect.poll(async () => (await run.control.state()).by, { timeout: 10_000 }).toBe('ann')
  await run.control.resume()
  held.end()
  expect(await run.outcome()).toMatchObject({ output: 'done' })
})
