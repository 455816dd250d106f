/** Sessions: a conversation that several runs continue, one at a time, and never lose. */
import { afterEach, expect, test } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { completed, failed, failure } from '@reeve/core'
import { briefText } from '@reeve/edge'
import { agent, interrupt, type Agent } from '@reeve/public'
import type { Run, RunWaiting, Runtime } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'
import { manualClock } from '@reeve/testing'
import { effect, hand } from './hand.ts'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})
async function runtimeWith(agents: readonly Agent[], store = ':memory:'): Promise<Runtime> {
  const runtime = await createRuntime({ agents, store, strict: true })
  open.push(runtime)
  return runtime
}

/**
 * Answers with what it was asked and what was said before; a brief that begins with "wait" waits for a message first.
 */
const talker = hand('talker', async (ctx, edge) => {
  const text = briefText(edge.work.brief)
  if (text.startsWith('wait')) await ctx.next((each) => each.type === 'message' && each.body === 'go')
  if (text === 'fail') return failed(failure('agent.failed', 'as asked', 'internal'))
  if (text === 'throw') throw new Error('a defect')
  const before = (edge.work.history ?? []).map((each) => `${each.role}: ${each.text}`)
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
  expect(outcome).toMatchObject({
    output: {
      said: 'two',
      before: [
        'user: one',
        'assistant: {"said":"one","before":[]}',
        'user: fail',
        'user: [not answered: the run failed (agent.failed)]',
      ],
    },
  })
  expect(await runtime.run(talker, 'three', { session: 'ses_2' })).toMatchObject({ output: { before: [] } })
})

test('a session belongs to its tenant: the same name in another one, or in none, is another session', async () => {
  const runtime = await runtimeWith([talker])
  const saidBefore = async (tenant?: string): Promise<unknown> => {
    const outcome = await runtime.run(talker, 'hello', { session, ...(tenant === undefined ? {} : { tenant }) })
    return outcome.status === 'completed' && (outcome.output as { before: string[] }).before.length
  }
  expect([await saidBefore('north'), await saidBefore('south'), await saidBefore()]).toEqual([0, 0, 0])
  expect([await saidBefore('north'), await saidBefore('south'), await saidBefore()]).toEqual([2, 2, 2])
  const run = await runtime.start(talker, 'again', { session, tenant: 'north', runId: 't1' })
  expect((await run.view()).caller).toEqual({ session, tenant: 'north' })
  await expect(runtime.start(talker, 'again', { session, tenant: 'south', runId: 't1' })).rejects.toMatchObject({
    code: 'run.conflict',
    message: expect.stringContaining('another tenant') as string,
  })
  for (const tenant of ['', 'a/b', '../x', 'ü', 7])
    await expect(runtime.start(talker, 'x', { tenant: tenant as never })).rejects.toMatchObject({
      code: 'input.invalid',
      message: expect.stringContaining('expected a tenant') as string,
    })
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
  for (const each of [second, third])
    expect(await each.view()).toMatchObject({ status: 'queued', queued: { behind: 'r1' } })
  expect(await first.view()).not.toHaveProperty('queued')
  await first.post(rootOf(first), 'go')
  const ends = await Promise.all([first.outcome(), second.outcome(), third.outcome()])
  expect(
    ends.map((end) => (end.status === 'completed' ? (end.output as { before: string[] }).before.length : end.status)),
  ).toEqual([0, 2, 4])
})

test('a run that waits for its turn says behind which run, and is told what that one needs', async () => {
  const asker = agent({ name: 'asker', run: async (ctx) => (await interrupt(ctx, 'well?')) as string })
  const runtime = await runtimeWith([asker])
  const first = await runtime.start(asker, 'one', { session, runId: 'r1' })
  const [question] = (await waiting(first)).questions
  const second = await runtime.start(asker, 'two', { session, runId: 'r2' })
  const state = await second.until('waiting')
  expect(state).toMatchObject({
    status: 'queued',
    waiting: [],
    questions: [],
    queued: { behind: 'r1', needs: { status: 'waiting', questions: [{ id: question!.id }] } },
  })
  expect((await runtime.runs({ status: ['queued'] })).map(({ run, queued }) => [run, queued])).toEqual([
    ['r2', { behind: 'r1' }],
  ])
  expect((await runtime.runs({ status: ['running'] })).map(({ run }) => run)).not.toContain('r2')
  expect(
    (await runtime.runs({ status: ['running', 'queued', 'waiting'] })).map(({ run, status }) => [run, status]),
  ).toEqual([
    ['r2', 'queued'],
    ['r1', 'waiting'],
  ])
  await first.answer({ interruptId: question!.id, value: 'fine' })
  expect(await waiting(second)).toMatchObject({ status: 'waiting', questions: [{ run: 'r2' }] })
  expect(await second.view()).toMatchObject({ status: 'waiting' })
  await second.answer({ interruptId: (await waiting(second)).questions[0]!.id, value: 'too' })
  expect(await second.outcome()).toMatchObject({ output: 'too' })
})

test('a run queued behind a working one waits; behind a paused one it is told so', async () => {
  const runtime = await runtimeWith([talker])
  const first = await runtime.start(talker, 'wait 1', { session, runId: 'r1' })
  await expect.poll(async () => (await first.view()).activations.length).toBe(1)
  await settle()
  const second = await runtime.start(talker, 'two', { session, runId: 'r2' })
  await expect.poll(async () => (await second.view()).status).toBe('queued')
  const state = second.until('waiting')
  expect(await Promise.race([state, settle()])).toBeUndefined()
  await first.control.pause({ by: 'ann' })
  expect(await state).toMatchObject({ status: 'queued', queued: { behind: 'r1', needs: { status: 'paused' } } })
  await first.control.resume()
  await first.post(rootOf(first), 'go')
  expect(await second.outcome()).toMatchObject({ status: 'completed' })
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

async function waiting(run: Run): Promise<RunWaiting> {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error(`the run has ended: ${state.status}`)
  return state
}
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
  await first.control.cancel('enough')
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
  await second.control.cancel('not needed')
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

/** Holds the session until it is answered, unless its input is `quick`. */
const holder = (version = '1') =>
  agent({
    name: 'holder',
    description: 'Works until it is answered.',
    version,
    run: async (ctx, input) => {
      if (input !== 'quick') await interrupt(ctx, 'well?')
      return 'done'
    },
  })
async function answerAll(runtime: Runtime): Promise<void> {
  for (const { id } of await runtime.questions()) await runtime.answer({ interruptId: id, value: 'go' })
}

test('K1: a run that is begun again after it was removed joins the line of its session anew', async () => {
  const made = holder()
  const runtime = await runtimeWith([made])
  await runtime.run(made, 'quick', { session, runId: 'r1' })
  await runtime.remove('r1')
  await runtime.start(made, 'first', { session, runId: 'r2' })
  await expect.poll(() => runtime.questions()).toHaveLength(1)
  const again = await runtime.start(made, 'second', { session, runId: 'r1' })
  await settle()
  expect((await runtime.questions()).map(({ run }) => run)).toEqual(['r2'])
  await answerAll(runtime)
  await expect.poll(async () => (await runtime.questions())[0]?.run).toBe('r1')
  await answerAll(runtime)
  expect(await again.outcome()).toMatchObject({ status: 'completed' })
})

test('a message from outside does not give the session away', async () => {
  const made = holder()
  const runtime = await runtimeWith([made])
  await runtime.start(made, 'first', { session, runId: 'r1' })
  await expect.poll(() => runtime.questions()).toHaveLength(1)
  const second = await runtime.start(made, 'second', { session, runId: 'r2' })
  await settle()
  await expect(second.post(rootOf(second), { type: '$session.your-turn' })).rejects.toMatchObject({
    code: 'input.invalid',
  })
  await settle()
  expect((await runtime.questions()).map(({ run }) => run)).toEqual(['r1'])
  await answerAll(runtime)
  await expect.poll(async () => (await runtime.questions())[0]?.run).toBe('r2')
  await answerAll(runtime)
  expect(await second.outcome()).toMatchObject({ status: 'completed' })
})

test('a session is freed by a run cancelled without its code: joining and waiting runs look again', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-session-')), 'reeve.db')
  const old = await createRuntime({ store, agents: [holder('1')] })
  await old.start('holder', 'slow', { session, runId: 'r1' })
  await expect.poll(() => old.questions()).toHaveLength(1)
  await old.close()
  const clock = manualClock()
  const made = holder('2')
  const runtime = await createRuntime({ store, agents: [made], onMissingVersion: 'park', clock, strict: true })
  open.push(runtime)
  const waiting = await runtime.start(made, 'quick', { session, runId: 'r2' })
  await settle()
  await runtime.handle('r1').control.cancel('its code is gone')
  expect(await runtime.handle('r1').outcome()).toMatchObject({ status: 'cancelled' })
  await settle()
  expect((await waiting.view()).status).toBe('running')
  clock.advance(5_000)
  expect(await waiting.outcome()).toMatchObject({ status: 'completed' })
  expect(await runtime.run(made, 'quick', { session })).toMatchObject({ status: 'completed' })
})

test('the run that joins next finds out that the head of the line has ended', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-session-')), 'reeve.db')
  const old = await createRuntime({ store, agents: [holder('1')] })
  await old.start('holder', 'slow', { session, runId: 'r1' })
  await expect.poll(() => old.questions()).toHaveLength(1)
  await old.close()
  const made = holder('2')
  const runtime = await createRuntime({
    store,
    agents: [made],
    onMissingVersion: 'park',
    clock: manualClock(),
    strict: true,
  })
  open.push(runtime)
  await runtime.handle('r1').control.cancel('its code is gone')
  await runtime.handle('r1').outcome()
  expect(await runtime.run(made, 'quick', { session, busySession: 'reject' })).toMatchObject({ status: 'completed' })
  expect(await runtime.run(made, 'quick', { session })).toMatchObject({ status: 'completed' })
})

test('what a session stores grows with every run by one turn, not by all of them', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'reeve-session-')), 'reeve.db')
  const answer = (nth: string): string => `${nth} ${'x'.repeat(4_000)}`
  const long = hand('long', async (_ctx, edge) => completed(answer(briefText(edge.work.brief))))
  const runtime = await createRuntime({ store, agents: [long], durability: 'relaxed' })
  open.push(runtime)
  const reader = new DatabaseSync(store, { readOnly: true })
  const characters = (): number => {
    const sum = ['log', 'inbox', 'value', 'blob']
      .map((table) => `coalesce((SELECT sum(length(body)) FROM ${table}), 0)`)
      .join(' + ')
    return (reader.prepare(`SELECT ${sum} AS n`).get() as { n: number }).n
  }
  const after: number[] = [0]
  for (let nth = 1; nth <= 40; nth++) {
    await runtime.run(long, String(nth), { session })
    if (nth % 20 === 0) after.push(characters())
  }
  const [first, second] = [after[1]!, after[2]! - after[1]!]
  expect(second, `the second twenty runs of 4 KB took ${second} characters, the first ${first}`).toBeLessThan(
    first * 1.5,
  )
  expect(reader.prepare('SELECT count(*) AS n FROM done').get()).toEqual({ n: 0 })
  reader.close()
})

test('a session shows the newest hundred turns in their order', async () => {
  const seen: string[][] = []
  const quiet = hand('quiet', async (_ctx, edge) => {
    seen.push((edge.work.history ?? []).filter(({ role }) => role === 'user').map(({ text }) => text))
    return completed('yes')
  })
  const runtime = await runtimeWith([quiet])
  for (let nth = 1; nth <= 103; nth++) await runtime.run(quiet, `n${nth}`, { session })
  expect(seen[101]).toEqual(Array.from({ length: 100 }, (_, i) => `n${i + 2}`))
  expect(seen[102]).toEqual(Array.from({ length: 100 }, (_, i) => `n${i + 3}`))
})

test('keys that no store can tell apart are refused, and all others are values of their own', async () => {
  const keys = ['a\u0000b', 'a\u0000c', 'a', '__proto__', 'constructor', '', ' ', 'é', 'e\u0301']
  const code = agent({
    name: 'keys',
    run: async (ctx) => {
      for (const [i, key] of keys.entries()) await ctx.values.update(key, () => i)
      const refused: unknown[] = []
      for (const half of ['\ud800', 'x\udfff']) {
        await ctx.values.update(half, () => 1).catch((error: { code?: string }) => refused.push(error.code))
        await ctx.values.get(half).catch((error: { code?: string }) => refused.push(error.code))
      }
      return { read: await ctx.values.getAll(keys), refused }
    },
  })
  const runtime = await createRuntime({
    store: join(mkdtempSync(join(tmpdir(), 'reeve-keys-')), 'reeve.db'),
    agents: [code],
  })
  const bad = 'input.invalid'
  expect(await runtime.run(code, 'go')).toMatchObject({
    output: { read: keys.map((_, i) => i), refused: [bad, bad, bad, bad] },
  })
  await runtime.close()
})
