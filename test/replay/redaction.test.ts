/** K10: redaction happens before recording, and live code sees the redacted value. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agent, createRuntime, interrupt, step, tool } from '../../src/index.ts'

const secret = 'hunter2-hunter2'

test('K10: a registered value and a named member reach neither the store nor the code that reads a result', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-redaction-'))
  const seen: unknown[] = []
  const login = tool({
    name: 'login',
    description: 'Logs in.',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ text: `token is ${secret}`, apiKey: 'another-secret', user: 'ann' }),
  })
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    tools: [login],
    model: ({ messages }) => {
      const last = messages.at(-1)!
      if (last.role !== 'tool') return { calls: [{ name: 'login', input: {} }] }
      seen.push(last.content)
      return 'done'
    },
  })
  const code = agent({
    name: 'code',
    description: 'Runs code.',
    run: async (ctx) => {
      seen.push(await step(ctx, 'read', () => secret))
      seen.push(await ctx.values.update('key', () => secret))
      return interrupt(ctx, { ask: secret })
    },
  })
  const runtime = await createRuntime({
    store: join(folder, 'reeve.db'),
    agents: [worker, code],
    redact: { keys: ['apikey'], values: [secret] },
  })
  const outcome = await runtime.run(worker, `log in with ${secret}`, { metadata: { password: secret } })
  const run = await runtime.start(code, 'go')
  const [question] = await expect
    .poll(() => runtime.questions())
    .toHaveLength(1)
    .then(() => runtime.questions())
  await run.answer({ interruptId: question!.id, value: `it is ${secret}` })
  const answered = await run.outcome()
  await runtime.close()

  expect(outcome.status).toBe('completed')
  expect(JSON.stringify(seen)).not.toContain(secret)
  expect(JSON.stringify(seen)).not.toContain('another-secret')
  expect(JSON.stringify(seen)).toContain('ann')
  expect(answered).toMatchObject({ status: 'completed', output: 'it is [redacted]' })
  for (const file of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, file), 'latin1')
    expect(bytes).not.toContain(secret)
    expect(bytes).not.toContain('another-secret')
  }
})
