/**
 * Closing a process while its database is frozen: it takes connections and says nothing. Closing ends within its bound,
 * nothing is lost, and a server that is only slow is not given up.
 */
import { expect, test } from 'vitest'
import { agent, createRuntime, tool, type Runtime, type ToolIO } from '@reeve/public'
import { calls, scripted, waiting } from '../../../test/scenario/team.ts'
import { stoppablePostgres, type StoppablePostgres } from '../../../test/servers/postgres.ts'
import { Wire } from '../../engine/test/store/proxy.ts'

/** How often a process that closes looks whether its server has answered (close-watch.ts). Milliseconds. */
const lookMs = 250
/** Silence of the server after which it is given up: five seconds. */
const silentLooks = 20
/** The ten seconds that docs/how-to/engines.md promises, and one more. */
const boundLooks = 44

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

/** Time as this process has had it: a machine that gives it no processor makes neither its patience nor this longer. */
async function looksOf(work: () => Promise<unknown>): Promise<number> {
  let looks = 0
  const timer = setInterval(() => looks++, lookMs)
  try {
    await work()
    return looks
  } finally {
    clearInterval(timer)
  }
}

/** Resolves after so many looks. */
const looked = (count: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setInterval(() => {
      if (--count > 0) return
      clearInterval(timer)
      resolve()
    }, lookMs)
  })

test('a process whose database is frozen is closed within its bound; what waited goes on in the next one', async () => {
  await using server = await stoppablePostgres()
  const one = await opened(server, calls(['pay', { n: 1 }]))
  const run = await one.runtime.start(one.root, 'go', { runId: 'r' })
  const [open] = (await waiting(run)).waiting
  server.freeze()
  expect(await looksOf(() => one.runtime.close())).toBeLessThan(boundLooks)
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
  expect(await looksOf(() => one.runtime.close())).toBeLessThan(boundLooks)
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
  await using wire = await Wire.to(server.url)
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
  const one = await createRuntime({ store: wire.url, agents: [root], onWarning: () => undefined })
  await one.start(root, 'go', { runId: 'r' })
  await begun.promise
  server.freeze()
  // its commit is on its way before the process closes
  const committing = wire.asked('act_another')
  const another = one.start(root, 'go', { runId: 'another' })
  await committing
  const closing = one.close()
  // longer than a server may be silent
  await looked(silentLooks + 1)
  server.thaw()
  await another
  goOn.resolve()
  await closing

  const two = await createRuntime({ store: server.url, agents: [root], onWarning: () => undefined })
  expect(await two.handle('r').outcome()).toMatchObject({ output: 'paid' })
  await two.close()
}, 60_000)
