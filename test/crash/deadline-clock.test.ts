/**
 * Whose clock decides whether a decision comes in time: the store's, whatever the process that decides takes for the
 * time (K2).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent, createRuntime, tool, type Run } from '@reeve/public'
import type { Clock } from '../../packages/public/src/engine.ts'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'reeve-deadline-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** An agent whose tool waits so long for a yes. */
function clerk(timeoutMs: number, ran: unknown[]) {
  return agent({
    name: 'clerk',
    tools: [tool({ name: 'pay', approval: { timeoutMs }, execute: () => (ran.push('paid'), 'paid') })],
    model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'end' : { calls: [{ name: 'pay', input: {} }] }),
  })
}
/** The approval that a run waits for. */
async function asked(run: Run): Promise<{ readonly id: string; readonly until: number }> {
  const state = await run.until('waiting')
  const approval = 'waiting' in state ? state.waiting[0] : undefined
  if (approval?.until === undefined) throw new Error(`it asks for nothing: ${state.status}`)
  return { id: approval.id, until: approval.until }
}
const hourBehind: Clock = { now: () => Date.now() - 3_600_000, timer: () => () => undefined }

test('an approval after its deadline is refused, even if the approver’s clock is behind and no process drives', async () => {
  const [store, ran] = [join(folder, 'reeve.db'), [] as unknown[]]
  const pays = clerk(300, ran)
  const first = await createRuntime({ store, agents: [pays] })
  const { id, until } = await asked(await first.start(pays, 'go', { runId: 'r' }))
  await first.close()
  while (Date.now() <= until) await new Promise((resolve) => setTimeout(resolve, 10))

  const behind = await createRuntime({ store, drive: false, clock: hourBehind })
  await expect(behind.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
    code: 'approval.expired',
  })
  // Past what the runtime looks at before it posts: the store itself takes the deadline's word.
  const { activation, address } = (await behind.questions())[0]!
  await behind.close()
  const engine = createEmbeddedEngine({ file: store, clock: hourBehind })
  const yes = {
    type: 'answer',
    activation,
    address,
    outcome: { status: 'completed', output: { decision: 'approve' } },
  } as const
  expect(await engine.post(yes)).toBe('lost')
  await engine.close()

  const again = await createRuntime({ store, agents: [pays] })
  expect(await again.handle('r').outcome()).toMatchObject({ status: 'completed' })
  expect(ran).toEqual([])
  await again.close()
})

test('a store that a clock of its own drives is not hurried by the time of the machine', async () => {
  const [store, ran, clock] = [join(folder, 'reeve.db'), [] as unknown[], manualClock()]
  const pays = clerk(1_000, ran)
  await using runtime = await createRuntime({ store, agents: [pays], clock })
  const run = await runtime.start(pays, 'go')
  const { id } = await asked(run)
  clock.advance(1_000)
  await run.decide({ approvalId: id, decision: 'approve' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  expect(ran).toEqual(['paid'])
})

test('until("waiting") gives no approval whose deadline has passed', async () => {
  const [store, ran] = [join(folder, 'reeve.db'), [] as unknown[]]
  const pays = clerk(200, ran)
  const first = await createRuntime({ store, agents: [pays] })
  const { until } = await asked(await first.start(pays, 'go', { runId: 'r' }))
  await first.close()
  while (Date.now() <= until) await new Promise((resolve) => setTimeout(resolve, 10))
  await using looks = await createRuntime({ store, drive: false })
  const state = looks.handle('r').until('waiting')
  // It ends when a process drives it: then there is nothing to wait for.
  await using _drives = await createRuntime({ store, agents: [pays] })
  expect(await state).toMatchObject({ status: 'completed' })
})
