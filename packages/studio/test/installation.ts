/** What an installation has after a while: sessions, trust with a history, versions of an agent, and runs that use them. */
import type { StudioServer } from './browser.ts'

const v1 = 'Greet the caller.\nUse their name.\nAsk what they need.'
const instructions = {
  v1,
  v2: `${v1.replace('Ask what they need.', 'Ask what they need, once.')}\nNever promise a refund.`,
  v3: `${v1}\nAnswer in the language of the caller.`,
} as const

/** Three versions of the greeter (v1 and v2 published, v3 a draft), two trust records, and a session of three runs. */
export async function furnish(server: StudioServer): Promise<void> {
  for (const status of ['completed', 'failed'] as const)
    await server.run(status === 'completed' ? 'greeter' : 'breaker', 2, { session: 'order-1042' })
  await server.run('greeter', 1, { session: 'order-1042' })
  await server.call('POST', '/sessions/order-1042/share', { with: ['tom@example.com'] })
  await server.run('greeter', 1, { user: 'tom@example.com', session: 'order-1042' })
  await server.call('POST', '/versions/greeter', {
    status: 'published',
    revision: { version: 'v1', instructions: instructions.v1 },
  })
  await server.call('POST', '/runs', {
    agent: 'greeter',
    input: 'hi',
    versions: { greeter: 'v1' },
    runId: 'pinned-to-v1',
  })
  await server.call('POST', '/versions/greeter', {
    status: 'published',
    revision: { version: 'v2', instructions: instructions.v2, limits: { turns: 4 } },
  })
  await server.call('POST', '/versions/greeter', {
    status: 'draft',
    revision: { version: 'v3', instructions: instructions.v3 },
  })
  const level = (trust: string, level: string, reason: string): Promise<unknown> =>
    server.call('POST', `/trust/${trust}/level`, { level, reason, create: true })
  await level('refunds', 'proficient', 'Ninety days of clean refunds, checked by hand.')
  await server.call('POST', '/trust/refunds/incidents', {
    severity: 'serious',
    note: 'Refunded one order twice; the customer returned the money.',
    run: 'pinned-to-v1',
  })
  await level('mails', 'expert', 'Only templates since March.')
}
