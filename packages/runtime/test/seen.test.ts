/** A failed run is seen (decision record 0014): by type, by `unwrap`, and as a warning if nobody can have planned it. */
import { expect, test } from 'vitest'
import { agent, ReeveError, supervisor, unwrap, type Runtime, type RuntimeOptions } from '@reeve/public'
import { runtimeUnderTest as createRuntime } from '../../../test/engine-under-test.ts'

type Warned = [code: string, message: string][]
/** A runtime, and what it says of agents; engines warn of other things, too. */
async function watched(options: RuntimeOptions): Promise<Runtime & { readonly warned: Warned }> {
  const warned: Warned = []
  const runtime = await createRuntime({
    ...options,
    onWarning: (code, message) => void (message.startsWith('agent "') && warned.push([code, message])),
  })
  return Object.assign(runtime, { warned })
}
const keyless = agent({ name: 'writer', description: 'Writes.', model: 'groq/x' })

test('an agent without its key warns once of cause and remedy, whoever leads it and whatever becomes of the run', async () => {
  const lead = supervisor({
    name: 'lead',
    workers: [keyless],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'I did without it.'
        : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'Write.' } }] },
  })
  await using runtime = await watched({ agents: [lead] })
  expect(unwrap(await runtime.run(lead, 'go', { runId: 'first' }))).toBe('I did without it.')
  expect((await runtime.run(keyless, 'go')).status).toBe('failed')
  expect(runtime.warned).toEqual([
    [
      'model.not-authorized',
      expect.stringMatching(/^agent "writer" failed in first: .*GROQ_API_KEY is not set\. Set GROQ_API_KEY/),
    ],
  ])
})

test('a defect is a warning, without secrets; a failure that the work can have is none', async () => {
  const broken = agent({ name: 'broken', run: () => Promise.reject(new Error('key s3cr3t-s3cr3t is wrong')) })
  const refused = agent({
    name: 'refused',
    model: () => ({ calls: [{ name: 'nothing', input: {} }] }),
    limits: { turns: 1 },
  })
  await using runtime = await watched({ agents: [broken, refused], redact: { values: ['s3cr3t-s3cr3t'] } })
  for (const each of [broken, broken, refused]) expect((await runtime.run(each, 'go')).status).not.toBe('completed')
  expect(runtime.warned.map(([code]) => code)).toEqual(['orchestration.threw'])
  expect(runtime.warned.join()).not.toContain('s3cr3t')
})

test('a rule with a defect warns, and says where it threw; any other error is a failure that the work can have', async () => {
  const broken = agent({
    name: 'broken',
    retry: { backoffMs: 1 },
    model: ({ messages }) => (messages as unknown as { none: { text: string } }).none.text,
  })
  const lost = agent({ name: 'lost', retry: { backoffMs: 1 }, model: () => Promise.reject(new Error('no answer')) })
  await using runtime = await watched({ agents: [broken, lost] })
  const outcome = await runtime.run(broken, 'go', { runId: 'r' })
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: {
      code: 'model.failed',
      hint: expect.stringMatching(/^Correct the function at .*seen\.test\.ts:\d+\.$/) as string,
    },
  })
  expect(runtime.warned).toEqual([
    [
      'model.failed',
      expect.stringMatching(/^agent "broken" failed in r: rule\/broken failed: Cannot read .*seen\.test/),
    ],
  ])
  expect(await runtime.run(lost, 'go')).toMatchObject({ failure: { code: 'model.failed', details: { attempts: 3 } } })
  expect(runtime.warned).toHaveLength(1)
})

test('20 turns used up: the outcome says that this is the default, and what lifts it', async () => {
  const round = { calls: [{ name: 'nothing', input: {} }] }
  const usual = agent({ name: 'usual', model: () => round })
  const own = agent({ name: 'own', model: () => round, limits: { turns: 2 } })
  await using runtime = await watched({ agents: [usual, own] })
  expect(await runtime.run(usual, 'go')).toMatchObject({
    status: 'limited',
    message: expect.stringContaining(
      '20 turns are used up (20 is the default; limits: { turns: … } of this agent',
    ) as string,
  })
  expect(await runtime.run(own, 'go')).toMatchObject({ status: 'limited', message: '2 turns are used up' })
})

test('unwrap gives the output, or throws what the outcome says', async () => {
  const slow = agent({ name: 'slow', run: (ctx) => ctx.interrupt('?') })
  const quick = agent({ name: 'quick', model: () => 'done' })
  await using runtime = await watched({ agents: [keyless, slow, quick] })
  expect(unwrap(await runtime.run(quick, 'go'))).toBe('done')
  const failed = await runtime.run(keyless, 'go', { runId: 'keyless' })
  const thrown = ((): unknown => {
    try {
      return unwrap(failed)
    } catch (error) {
      return error
    }
  })()
  expect(ReeveError.is(thrown, 'model.not-authorized')).toBe(true)
  expect(thrown).toMatchObject({
    message: expect.stringMatching(/^the run "keyless" failed: .*GROQ_API_KEY is not set$/) as string,
    hint: expect.stringContaining('Set GROQ_API_KEY') as string,
  })
  const run = await runtime.start(slow, 'go', { runId: 'slow' })
  await run.until('waiting')
  await run.control.cancel('enough')
  const cancelled = await run.outcome()
  expect(() => unwrap(cancelled)).toThrow(/the run "slow" cancelled: enough/)
  // @ts-expect-error: the output of an outcome that may not have completed
  expect(cancelled.output).toBeUndefined()
})
