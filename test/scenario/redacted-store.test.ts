/** A store that is redacted: what one process keeps out of it, the next does not write into it. K10. */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { interrupt } from '@reeve/oversight'
import { runtimeOf, store, waiting } from './team.ts'

const secret = 'sk-very-secret-4711'

test('a process without rules reads a redacted store; it may write only if it says nothing is redacted', async () => {
  const asks = agent({ name: 'asks', run: (ctx) => interrupt(ctx, 'which?') })
  const first = await runtimeOf([asks], { store: store(), redact: { values: [secret] } })
  const run = await first.start(asks, 'go')
  await waiting(run)
  await first.close()
  const refused = { code: 'store.redacted', hint: expect.stringContaining('redact') as string }
  await expect(runtimeOf([asks], { store: store() })).rejects.toMatchObject(refused)
  const reader = await runtimeOf([asks], { store: store(), drive: false })
  const [question] = await reader.questions({ run: run.id })
  expect((await reader.handle(run.id).view()).activations[0]).toMatchObject({ agent: 'asks' })
  await expect(reader.answer({ interruptId: question!.id, value: secret })).rejects.toMatchObject(refused)
  await expect(reader.start(asks, secret)).rejects.toMatchObject(refused)
  await expect(reader.handle(run.id).control.cancel(secret)).rejects.toMatchObject(refused)
  await expect(
    reader.trust.incident({ trust: 'x', severity: 'minor', note: secret, create: true }),
  ).rejects.toMatchObject(refused)
  await reader.close()
  const knows = await runtimeOf([asks], { store: store(), redact: {} })
  await knows.answer({ interruptId: question!.id, value: 'this' })
  expect(await knows.handle(run.id).outcome()).toMatchObject({ output: 'this' })
})
