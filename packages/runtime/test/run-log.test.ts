/** The logger of a runtime: what its process records, once, at a level, and no word of what it redacts. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agent, step, supervisor, type Logger, type LogFields } from '@reeve/public'
import { engineUnderTest, runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

interface Line extends LogFields {
  readonly level: keyof Logger
  readonly message: string
}

function keeper(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = []
  const at =
    (level: keyof Logger) =>
    (fields: LogFields, message: string): number =>
      lines.push({ level, message, ...fields })
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

const fails = agent({
  name: 'fails',
  description: 'Fails.',
  run: (ctx) =>
    step(ctx, 'try', () => Promise.reject(new Error('no such invoice')), { retry: { attempts: 2, backoffMs: 0 } }),
})
const head = supervisor({
  name: 'head',
  workers: [fails],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'It did not work.'
      : { calls: [{ name: 'delegate', input: { worker: 'fails', instructions: 'Try.' } }] },
})

test('begins, failed attempts and ends, each once, with names and codes', async () => {
  const { lines, logger } = keeper()
  await using runtime = await createRuntime({ agents: [head, fails], logger })
  const run = await runtime.start(head, 'Go.')
  await run.outcome()
  const failed = await runtime.start(fails, 'Go.')
  await failed.outcome()
  const loud = lines.filter(({ level }) => level !== 'debug')
  expect(loud.map(({ level, run: of, agent: who, event, code }) => [level, of, who, event, code])).toEqual([
    ['info', run.id, 'head', 'activation.started', undefined],
    ['warn', run.id, 'fails', 'step.attempt-failed', 'agent.failed'],
    ['warn', run.id, 'fails', 'activation.settled', 'agent.failed'],
    ['info', run.id, 'head', 'activation.settled', undefined],
    ['info', failed.id, 'fails', 'activation.started', undefined],
    ['warn', failed.id, 'fails', 'step.attempt-failed', 'agent.failed'],
    ['error', failed.id, 'fails', 'activation.settled', 'agent.failed'],
  ])
  expect(loud[2]!.message).toContain('no such invoice')
  expect(lines).toContainEqual(
    expect.objectContaining({ level: 'debug', event: 'activation.started', agent: 'fails', run: run.id }),
  )
})

test('a logger that throws stops nothing', async () => {
  const thrower = (): never => {
    throw new Error('disk full')
  }
  const logger = { debug: thrower, info: thrower, warn: thrower, error: thrower }
  await using runtime = await createRuntime({ agents: [head], logger })
  expect(await runtime.run(head, 'Go.')).toMatchObject({ status: 'completed', output: 'It did not work.' })
})

test('another process that goes on with a run logs its own part, with the names of the part before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-log-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const store = join(folder, 'runs.db')
  const payer = agent({ name: 'payer', run: async (ctx) => (await ctx.approve('pay')).approved })
  const first = keeper()
  const second = keeper()
  const before = await createRuntime({ store, agents: [payer], logger: first.logger })
  const run = await before.start(payer, 'Pay.')
  await run.until('waiting')
  await before.close()
  const after = await createRuntime({ store, agents: [payer], logger: second.logger })
  const [open] = await after.approvals()
  await after.decide({ approvalId: open!.id, decision: 'approve' })
  await after.handle(run.id).outcome()
  await after.close()
  const loud = (lines: readonly Line[]) =>
    lines.filter(({ level }) => level !== 'debug').map(({ event, agent: who }) => [event, who])
  expect(loud(first.lines)).toEqual([
    ['activation.started', 'payer'],
    ['approval.requested', 'payer'],
  ])
  expect(loud(second.lines)).toEqual([['activation.settled', 'payer']])
})

test('what is redacted is not logged', async () => {
  const { lines, logger } = keeper()
  const teller = agent({ name: 'teller', run: () => 'the word is swordfish' })
  await using runtime = await createRuntime({ agents: [teller], redact: { values: ['swordfish'] }, logger })
  await runtime.run(teller, 'Tell swordfish.')
  expect(lines.length).toBeGreaterThan(1)
  expect(JSON.stringify(lines)).not.toContain('swordfish')
})

// an engine that is given has its own `onWarning`
test.runIf(engineUnderTest() === 'embedded')('warnings go to the logger', async () => {
  const { lines, logger } = keeper()
  const foreign = agent({ name: 'foreign', run: () => new Promise((resolve) => setTimeout(resolve, 20, 'late')) })
  await using other = await createRuntime({ agents: [foreign], logger })
  await other.run(foreign, 'Go.')
  expect(lines.filter(({ code }) => code === 'orchestration.foreign-await')).toMatchObject([{ level: 'warn' }])
})

test('what is no logger is refused', async () => {
  await expect(createRuntime({ logger: { info() {} } as unknown as Logger })).rejects.toMatchObject({
    code: 'config.invalid',
    message: expect.stringContaining('logger') as string,
  })
})
