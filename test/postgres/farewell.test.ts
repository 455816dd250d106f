/**
 * Closing a process while its database is frozen: it takes connections and says nothing. Closing ends within its bound,
 * nothing is lost, and a server that is only slow is not given up.
 */
import { expect, test } from 'vitest'
import { agent, createRuntime, tool, type Runtime, type ToolIO } from '../../src/index.ts'
import { calls, scripted, waiting } from '../scenario/team.ts'
import { stoppablePostgres, type StoppablePostgres } from '../servers/postgres.ts'

/** What docs/how-to/engines.md promises, and a second for a busy machine. */
const boundMs = 11_000

interface Team {
  readonly runtime: Runtime
  readonly paid: string[]
  readonly heard: string[]
}

async function opened(
  server: StoppablePostgres,
  ...model: Parameters<typeof scripted>
): Promise<Team & { readonly root: ReturnType<typeof payer> }> {
  const [paid, heard]: [string[], string[]] = [[], []]
  const root = payer(paid, model)
  const runtime = await createRuntime({ store: server.url, agents: [root], onWarning: (code) => void heard.push(code) })
  return { runtime, paid, heard, root }
}

const payer = (paid: string[], model: Parameters<typeof scripted>) =>
  agent({
    name: 'root',
    description: 'Pays.',
    model: scripted(...model),
    tools: [tool({ name: 'pay', approval: true, execute: (_: unknown, io: ToolIO) => (paid.push(io.callId), 'paid') })],
  })

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

test('a process whose database is frozen is closed within its bound; what waited goes on in the next one', async () => {
  await using server = await stoppablePostgres()
  const one = await opened(server, calls(['pay', { n: 1 }]))
  const run = await one.runtime.start(one.root, 'go', { runId: 'r' })
  const [open] = (await waiting(run)).waiting
  server.freeze()
  expect(await millisecondsOf(() => one.runtime.close())).toBeLessThan(boundMs)
  server.thaw()

  const two = await opened(server, 'paid')
  const again = two.runtime.handle('r')
  await again.decide({ approvalId: open!.id, decision: 'approve' })
  expect(await again.outcome()).toMatchObject({ output: 'paid' })
  expect(two.paid).toHaveLength(1)
  await two.runtime.close()
}, 60_000)

test('so does one with a commit under way; it says the write is unknown, and the next process goes on from it', async () => {
  await using server = await stoppablePostgres()
  const frozen = Promise.withResolvers<void>()
  const one = await opened(server, () => {
    server.freeze()
    frozen.resolve()
    return calls(['pay', { n: 1 }])
  })
  const run = await one.runtime.start(one.root, 'go', { runId: 'r' })
  const outcome = run.outcome()
  outcome.catch(() => undefined)
  await frozen.promise
  expect(await millisecondsOf(() => one.runtime.close())).toBeLessThan(boundMs)
  await expect(outcome).rejects.toMatchObject({ code: 'engine.closed' })
  expect(one.heard).toContain('store.unavailable')
  server.thaw()

  const two = await opened(server, calls(['pay', { n: 1 }]), 'paid')
  const again = two.runtime.handle('r')
  const [open] = (await waiting(again)).waiting
  await again.decide({ approvalId: open!.id, decision: 'approve' })
  expect(await again.outcome()).toMatchObject({ status: 'completed' })
  expect([one.paid, two.paid].map(({ length }) => length)).toEqual([0, 1])
  await two.runtime.close()
}, 60_000)

test('closing waits for a silent server during a last effect: when it answers, the effect is recorded', async () => {
  await using server = await stoppablePostgres()
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const root = agent({
    name: 'root',
    description: 'Pays.',
    model: scripted(calls(['pay', { n: 1 }]), 'paid'),
    tools: [
      tool({
        name: 'pay',
        effect: 'once',
        execute: async () => {
          begun.resolve()
          await goOn.promise
          return 'paid'
        },
      }),
    ],
  })
  const one = await createRuntime({ store: server.url, agents: [root], onWarning: () => undefined })
  await one.start(root, 'go', { runId: 'r' })
  await begun.promise
  server.freeze()
  const another = one.start(root, 'go', { runId: 'another' })
  // its commit is on its way before the process closes
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  const closing = one.close()
  // longer than a server may be silent
  await new Promise((resolve) => setTimeout(resolve, 6_000))
  server.thaw()
  await another
  goOn.resolve()
  await closing

  const two = await createRuntime({ store: server.url, agents: [root], onWarning: () => undefined })
  expect(await two.handle('r').outcome()).toMatchObject({ output: 'paid' })
  await two.close()
}, 60_000)
