/** What the store refuses stops nobody but its author, who is set aside until an operator says what becomes of it. */
import { mkdtempSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { agent, createRuntime, interrupt, step, team, type Runtime, type RuntimeOptions } from '@reeve/public'
import type { RunSummary } from '@reeve/public/views'
import { encodeEnd } from '@reeve/engine'
import { encode } from '@reeve/journal'
import { reeve } from '../../packages/cli/test/command.ts'

const newStore = (): string => join(mkdtempSync(join(tmpdir(), 'reeve-refused-')), 'reeve.db')

/**
 * Adds a rule to the store under which nothing may be recorded that holds this text; returns what takes it away again.
 */
function forbid(store: string, text: string): () => void {
  const other = new DatabaseSync(store)
  other.exec('PRAGMA busy_timeout=5000')
  for (const table of ['log', 'inbox'])
    other.exec(
      `CREATE TRIGGER no_${table} BEFORE INSERT ON ${table} WHEN NEW.body LIKE '%${text}%' BEGIN SELECT RAISE(ABORT, 'forbidden text'); END`,
    )
  return () => {
    other.exec('DROP TRIGGER no_log; DROP TRIGGER no_inbox')
    other.close()
  }
}

let undone = 0
/** Asks, and then records three more words for the letter that it is given. */
const clerk = agent({
  name: 'clerk',
  run: async (ctx) => {
    ctx.onCancel('undo', async () => void undone++)
    const letter = (await interrupt(ctx, 'go on?')) as string
    return step(ctx, 'repeat', () => letter.repeat(3))
  },
})

const warnings: string[] = []
const open = (store: string, more: Pick<RuntimeOptions, 'durability'> = {}): Promise<Runtime> =>
  createRuntime({ store, agents: [clerk], onWarning: (code) => void warnings.push(code), ...more })

const summaryOf = async (runtime: Runtime, run: string): Promise<RunSummary | undefined> =>
  (await runtime.runs()).find((each) => each.run === run)

/** Starts `n` runs that all wait, and answers all of them at once: `x` for the first, `o` for the others. */
async function answered(runtime: Runtime, n: number): Promise<void> {
  for (let i = 0; i < n; i++) await runtime.start('clerk', 'begin', { runId: `r${i}` })
  await expect.poll(() => runtime.questions()).toHaveLength(n)
  const questions = await runtime.questions()
  await Promise.all(
    questions.map(({ run, id }) => runtime.answer({ interruptId: id, value: run === 'r0' ? 'x' : 'o' })),
  )
}

/** A store with a run that was set aside, because it may not record `xxx`. */
async function withOneSetAside(): Promise<{ store: string; allow: () => void; runtime: Runtime }> {
  const store = newStore()
  const runtime = await open(store)
  const allow = forbid(store, 'xxx')
  await answered(runtime, 1)
  await expect.poll(async () => (await summaryOf(runtime, 'r0'))?.status).toBe('stuck')
  return { store, allow, runtime }
}

for (const durability of ['full', 'strict'] as const)
  test(`K5: what the store refuses of one run is left out; runs in the same commit go on (${durability})`, async () => {
    const store = newStore()
    await using runtime = await open(store, { durability })
    const allow = forbid(store, 'xxx')
    await answered(runtime, 8)
    for (let i = 1; i < 8; i++)
      expect(await runtime.handle(`r${i}`).outcome()).toMatchObject({ status: 'completed', output: 'ooo' })
    await expect.poll(async () => (await summaryOf(runtime, 'r0'))?.status).toBe('stuck')
    expect(await summaryOf(runtime, 'r0')).toMatchObject({
      failure: { code: 'store.refused', message: expect.stringContaining('forbidden text') as string },
      reason: expect.stringContaining('store.refused') as string,
    })
    allow()
  })

test('a run that is set aside says so everywhere and is left alone by restarts, answers and messages', async () => {
  const { store, allow, runtime } = await withOneSetAside()
  expect(await runtime.handle('r0').view()).toMatchObject({ status: 'stuck' })
  expect(await runtime.handle('r0').until('waiting')).toMatchObject({
    status: 'stuck',
    failure: { code: 'store.refused' },
  })
  const { position } = await runtime.handle('r0').view()
  await runtime.close()
  allow()
  await using again = await open(store)
  await again.handle('r0').post('act_r0' as never, 'are you there?')
  // another run that this process drives from its beginning to its end: it has looked at the store by then
  await again.start('clerk', 'begin', { runId: 'other' })
  await expect.poll(() => again.questions({ run: 'other' })).toHaveLength(1)
  await again.answer({ interruptId: (await again.questions({ run: 'other' }))[0]!.id, value: 'o' })
  expect(await again.handle('other').outcome()).toMatchObject({ output: 'ooo' })
  expect(await again.handle('r0').view()).toMatchObject({ status: 'stuck', position })
  const shown = await reeve(dirname(store), 'show', 'r0', '--store', store)
  expect(shown.out).toContain('stuck: store.refused')
  expect(shown.out).toContain('reeve resume r0')
  expect((await reeve(dirname(store), 'runs', '--store', store)).out).toMatch(/r0 .*stuck(.|\n)*store\.refused/)
})

test('resume retries a run that was set aside: it goes on from its journal, or is set aside again', async () => {
  const { allow, runtime } = await withOneSetAside()
  const refusals = (): number => warnings.filter((code) => code === 'store.refused').length
  const before = refusals()
  await runtime.handle('r0').control.resume('ann')
  await expect.poll(refusals).toBe(before + 1)
  await expect.poll(async () => (await summaryOf(runtime, 'r0'))?.status).toBe('stuck')
  allow()
  await runtime.handle('r0').control.resume('ann')
  expect(await runtime.handle('r0').outcome()).toMatchObject({ status: 'completed', output: 'xxx' })
  await runtime.close()
})

test('K7: a run that was set aside can be cancelled while its writes are still refused; no code runs', async () => {
  const { store, allow, runtime } = await withOneSetAside()
  await runtime.close()
  undone = 0
  await using again = await open(store)
  await again.handle('r0').control.cancel('enough')
  expect(await again.handle('r0').outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
  expect(undone).toBe(0)
  allow()
})

test('what the store refuses from outside is refused to its sender, and the run it was sent to goes on', async () => {
  const store = newStore()
  await using runtime = await open(store)
  const allow = forbid(store, 'xxx')
  const run = await runtime.start('clerk', 'begin', { runId: 'r' })
  await expect.poll(() => runtime.questions()).toHaveLength(1)
  const { id } = (await runtime.questions())[0]!
  await expect(runtime.answer({ interruptId: id, value: 'xxx' })).rejects.toMatchObject({ code: 'store.refused' })
  await expect(runtime.start('clerk', 'xxx', { runId: 'never' })).rejects.toMatchObject({ code: 'store.refused' })
  await runtime.answer({ interruptId: id, value: 'o' })
  expect(await run.outcome()).toMatchObject({ output: 'ooo' })
  expect(await summaryOf(runtime, 'never')).toBeUndefined()
  allow()
})

test('K4: names that differ only in surrogate halves have different addresses in every store', async () => {
  const store = newStore()
  const worker = agent({
    name: 'worker',
    description: 'Says what it is asked.',
    run: (_ctx, brief) => `did ${String(brief)}`,
  })
  const lead = agent({
    name: 'lead',
    workers: [worker],
    run: async (ctx) => {
      const names = ['\ud800', '\ud801', '\udc00', '%d800', '\ud83d\ude00']
      return Promise.all(
        names.map((name, i) =>
          ctx
            .scope(name)
            .delegate(worker, `${i}`)
            .then((outcome) => outcome.status),
        ),
      )
    },
  })
  await using runtime = await createRuntime({ store, agents: [lead] })
  expect(await runtime.run(lead, 'go', { runId: 'r' })).toMatchObject({
    output: Array.from({ length: 5 }, () => 'completed'),
  })
  const born = (await runtime.handle('r').view()).activations.map(({ activation }) => activation)
  expect(new Set(born).size).toBe(6)
  expect(born.every((id) => id.isWellFormed())).toBe(true)
})

test('a planned team whose tasks are named by surrogate halves ends, and so do the runs beside it', async () => {
  const generalist = agent({
    name: 'generalist',
    description: 'Works.',
    model: ({ messages }) => `done ${messages.length}`,
  })
  const plan = JSON.stringify({
    complexity: 0.9,
    subtasks: ['\ud800', '\ud801'].map((id) => ({ id, role: 'generalist', description: `task ${id.charCodeAt(0)}` })),
  })
  const crew = team({ name: 'crew', roles: { generalist }, planner: { model: () => plan } })
  await using runtime = await createRuntime({ store: newStore(), agents: [crew, clerk], onWarning: () => undefined })
  const beside = await runtime.start('clerk', 'begin', { runId: 'beside' })
  const run = await runtime.start(crew, 'go')
  expect((await run.outcome()).status).toBe('completed')
  await expect.poll(() => runtime.questions({ run: 'beside' })).toHaveLength(1)
  await runtime.answer({ interruptId: (await runtime.questions({ run: 'beside' }))[0]!.id, value: 'o' })
  expect(await beside.outcome()).toMatchObject({ output: 'ooo' })
})

test('an id that no store can hold is refused from outside, an entry too large to record where it arises', async () => {
  await using runtime = await open(newStore())
  await runtime.start('clerk', 'begin', { runId: 'r' })
  await expect(runtime.handle('r').post('act_r' as never, 'x', { id: '\ud800' })).rejects.toMatchObject({
    code: 'input.invalid',
  })
  const { type, outcome } = {
    type: 'step.settled',
    outcome: { status: 'completed', output: 'x'.repeat(2_000) },
  } as const
  expect(() => encode({ type, address: 'a', outcome }, 100)).toThrow(
    expect.objectContaining({ code: 'input.too-large' }) as Error,
  )
  const end = encodeEnd({ type, address: 'a', outcome }, (event) => encode(event, 1_000))
  // what was done stays done; of a model's call the answer is the whole point
  expect(end.event.outcome).toMatchObject({
    status: 'completed',
    output: { beginning: 'x'.repeat(256) },
    kept: { as: 'part', why: expect.stringContaining('2002 characters') as string },
  })
  const model = encodeEnd({ type, address: 'a', outcome }, (event) => encode(event, 1_000), { type: 'model.requested' })
  expect(model.event.outcome).toMatchObject({ status: 'failed', failure: { code: 'input.too-large' } })
})
