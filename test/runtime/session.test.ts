/** Sessions: a conversation that several runs continue, one at a time, and never lose. */
import { afterEach, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completed, failed, failure } from '../../src/core/index.ts'
import { briefText } from '../../src/edge/index.ts'
import { createRuntime, type Run, type Runtime } from '../../src/runtime/index.ts'
import { effect, hand } from './hand.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})
async function runtimeWith(agents: ReturnType<typeof hand>[], store = ':memory:'): Promise<Runtime> {
  const runtime = await createRuntime({ agents, store, strict: true })
  open.push(runtime)
  return runtime
}

/** Answers with what it was asked and what was said before; a brief that begins with "wait" waits for a message first. */
const talker = hand('talker', async (ctx, edge) => {
  const text = briefText(edge.brief)
  if (text.startsWith('wait')) await ctx.next((each) => each.type === 'message' && each.body === 'go')
  if (text === 'fail') return failed(failure('agent.failed', 'as asked', 'internal'))
  if (text === 'throw') throw new Error('a defect')
  const before = (edge.history ?? []).map((each) => `${each.role}: ${each.text}`)
  return completed(await effect(ctx, 'say', () => ({ said: text, before })))
})
const session = 'ses_1'
const rootOf = (run: Run): never => `act_${run.id}` as never
const told = async (run: Run): Promise<void> => {
  await expect.poll(async () => (await run.view()).activations.length).toBe(1)
  await run.post(rootOf(run), 'go')
}

test('a run is shown what earlier runs were asked and answered', async () => {
  const runtime = await runtimeWith([talker])
  await runtime.run(talker, 'one', { session })
  await runtime.run(talker, 'fail', { session })
  const outcome = await runtime.run(talker, 'two', { session })
  expect(outcome).toMatchObject({ output: { said: 'two', before: ['user: one', 'assistant: {"said":"one","before":[]}'] } })
  expect(await runtime.run(talker, 'three', { session: 'ses_2' })).toMatchObject({ output: { before: [] } })
})

test('runs on one session queue in their order', async () => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, 'wait 1', { session, runId: 'r1' })
  await expect.poll(async () => (await first.view()).activations.length).toBe(1)
  await settle()
  const second = await runtime.start(talker, 'two', { session, runId: 'r2' })
  await settle()
  const third = await runtime.start(talker, 'three', { session, runId: 'r3' })
  await settle()
  expect((await second.view()).status).toBe('running')
  await first.post(rootOf(first), 'go')
  const ends = await Promise.all([first.outcome(), second.outcome(), third.outcome()])
  expect(ends.map((end) => (end.status === 'completed' ? (end.output as { before: string[] }).before.length : end.status))).toEqual([
    0, 2, 4,
  ])
})

test('a run may be refused instead', async () => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, 'wait', { session })
  await settle()
  expect(await runtime.run(talker, 'two', { session, busySession: 'reject' })).toMatchObject({
    status: 'failed',
    failure: { code: 'session.busy' },
  })
  await first.post(rootOf(first), 'go')
  await first.outcome()
  expect(await runtime.run(talker, 'two', { session, busySession: 'reject' })).toMatchObject({ status: 'completed' })
})

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50))

test.each(['fail', 'throw'])('the session is passed on by a run that ends otherwise: %s', async (how) => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, how, { session, runId: 'r1' })
  const second = await runtime.start(talker, 'two', { session, runId: 'r2' })
  expect(await first.outcome()).toMatchObject({ status: 'failed' })
  expect(await second.outcome()).toMatchObject({ status: 'completed' })
})

test('the session is passed on by a holder that is cancelled', async () => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, 'wait', { session, runId: 'r1' })
  await settle()
  const second = await runtime.start(talker, 'wait two', { session, runId: 'r2' })
  await settle()
  await first.cancel('enough')
  expect(await first.outcome()).toMatchObject({ status: 'cancelled' })
  await told(second)
  expect(await second.outcome()).toMatchObject({ status: 'completed' })
})

test('a run that is cancelled in the line leaves it', async () => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, 'wait', { session, runId: 'r1' })
  await settle()
  const second = await runtime.start(talker, 'two', { session, runId: 'r2' })
  await settle()
  const third = await runtime.start(talker, 'three', { session, runId: 'r3' })
  await settle()
  await second.cancel('not needed')
  expect(await second.outcome()).toMatchObject({ status: 'cancelled' })
  await first.post(rootOf(first), 'go')
  expect(await third.outcome()).toMatchObject({ status: 'completed' })
})

test('a holder whose process ends holds the session when it goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-session-'))
  try {
    const store = join(folder, 'reeve.db')
    const before = await createRuntime({ agents: [talker], store })
    await before.start(talker, 'wait 1', { session, runId: 'r1' })
    await settle()
    await before.start(talker, 'two', { session, runId: 'r2' })
    await settle()
    await before.close()
    const after = await runtimeWith([talker], store)
    await after.handle('r1').post(rootOf(after.handle('r1')), 'go')
    expect(await after.handle('r1').outcome()).toMatchObject({ status: 'completed' })
    expect(await after.handle('r2').outcome()).toMatchObject({ status: 'completed', output: { before: { length: 2 } } })
    await after.remove('r1')
    expect(await after.run(talker, 'three', { session })).toMatchObject({ output: { before: { length: 4 } } })
    await after.close()
    open.splice(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
