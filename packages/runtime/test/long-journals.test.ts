/** What asks for a run reads its journal by the page, however long that is. */
import { afterEach, expect, test, vi } from 'vitest'
import { agent, interrupt, step } from '@reeve/public'
import { foldPage } from '@reeve/journal'
import type { Run } from '../src/index.ts'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'
import { journalReads } from '../../../test/journal-reads.ts'

afterEach(() => vi.restoreAllMocks())

const steps = 400
const walk = async (ctx: Parameters<typeof step>[0]): Promise<void> => {
  for (let i = 0; i < steps; i++) await step(ctx, 'walk', () => i)
}
const asker = agent({
  name: 'asker',
  run: async (ctx) => {
    await walk(ctx)
    return await interrupt(ctx, 'Go on?')
  },
})
const faller = agent({
  name: 'faller',
  run: async (ctx) => {
    await walk(ctx)
    await step(ctx, 'fall', () => Promise.reject(new Error('no')))
    return 'done'
  },
})

const countOf = async (run: Run<unknown>): Promise<number> => {
  let count = 0
  for await (const { event } of run.events()) if (event.type === 'step.settled') count++
  return count
}

test('a fork, a retry and the commands of an operator decode a page at a time', async () => {
  await using runtime = await createRuntime({ agents: [asker, faller] })
  const long = await runtime.start(asker, 'Go.', { runId: 'long' })
  await long.until('waiting')
  const failed = await runtime.start(faller, 'Go.', { runId: 'failed' })
  expect((await failed.outcome()).status).toBe('failed')
  const reads = journalReads()
  const fork = await runtime.fork({ run: 'long', runId: 'fork' })
  // the same fork once more
  expect((await runtime.fork({ run: 'long', runId: 'fork', at: (await long.view()).position })).created).toBe(false)
  const retry = await runtime.retry('failed')
  const unknown = { code: 'delegation.unknown' }
  await expect(long.control.stop({ delegation: 'd1' })).rejects.toMatchObject(unknown)
  await expect(long.control.complete({ delegation: 'd1', output: 1 })).rejects.toMatchObject(unknown)
  await expect(long.control.handBack()).rejects.toMatchObject({ code: 'run.not-taken-over' })
  expect((await long.control.takeOver()).takenOver).toBe(true)
  await long.control.handBack()
  expect(Math.max(...reads)).toBe(foldPage.events)
  vi.restoreAllMocks()

  const waiting = await fork.until('waiting')
  await fork.answer({ interruptId: 'questions' in waiting ? waiting.questions[0]!.id : '', value: 'yes' })
  expect(await fork.outcome()).toMatchObject({ status: 'completed', output: 'yes' })
  expect(await countOf(fork)).toBe(steps)
  expect((await retry.outcome()).status).toBe('failed')
  expect(await countOf(retry)).toBe(steps + 1)
})

test('which versions runs use is told by the page', async () => {
  await using runtime = await createRuntime({ agents: [agent({ name: 'brief', run: () => Promise.resolve('done') })] })
  for (let i = 0; i < 5; i++) await (await runtime.start('brief', i, { runId: `r${i}` })).outcome()
  const all = await runtime.versions.uses()
  const first = await runtime.versions.uses({ limit: 2 })
  const rest = await runtime.versions.uses({ limit: 10, after: first.at(-1)! })
  expect(all.length).toBe(5)
  expect([...first, ...rest]).toEqual(all)
})
