/** Many at the command line: one command for all runs that match, and several approvals in one call. */
import { describe, expect, test, vi } from 'vitest'
import { agent, approve, createRuntime, type Runtime } from '@reeve/public'
import { commandGroups } from '../src/command-groups.ts'
import { reeve, reeveOn, storeHere } from './at-store.ts'
import { fakeTerminal } from './fake-terminal.ts'

const pays = agent({
  name: 'pays',
  description: 'Pays if it may.',
  run: async (ctx, input) => {
    const { amount, to, risk } = JSON.parse(input) as { amount: number; to: string; risk?: 'critical' }
    const asked = {
      tool: 'pay',
      toolVersion: '1',
      input: { amount, to },
      reason: 'money',
      risk: risk ?? 'medium',
    } as const
    return (await approve(ctx, asked)).approved ? 'paid' : 'no'
  },
})

/** Runs that wait for an approval, left by their process: the ids of the approvals. */
async function waiting(inputs: readonly object[]): Promise<readonly string[]> {
  await using runtime = await createRuntime({ store: storeHere(), agents: [pays] })
  const ids: string[] = []
  for (const [i, input] of inputs.entries()) {
    const run = await runtime.start(pays, JSON.stringify(input), { runId: `run_${i}` })
    const state = await run.until('waiting')
    if (!('waiting' in state)) throw new Error(`run_${i} has ended`)
    ids.push(state.waiting[0]!.id)
  }
  return ids
}
async function withRuntime<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
  await using runtime = await createRuntime({ store: storeHere(), agents: [pays] })
  return await work(runtime)
}

describe('cancel, pause and resume of all that match', () => {
  test('each asks with the count, says what became of each run, and is a batch that can be shown', async () => {
    await waiting([1, 2, 3].map((amount) => ({ amount, to: 'ann' })))
    expect((await reeve('pause', '--status', 'waiting')).err).toContain('3 runs would be paused')
    const paused = await reeve('pause', '--agent', 'pays', '--limit', '2', '--yes', '--reason', 'lunch')
    expect(paused).toMatchObject({ code: 0 })
    expect(paused.out).toMatch(/^\[1\/2\] run_\d: paused$/m)
    expect(paused.out).toContain('2 paused, 0 paused before, 0 refused; partial: more runs match than the limit')
    await withRuntime((runtime) =>
      vi.waitUntil(async () => (await runtime.runs({ status: ['paused'] })).length === 2, 25_000),
    )
    const resumed = await reeve('resume', '--status', 'paused', '--yes')
    expect(resumed).toMatchObject({ code: 0 })
    expect(resumed.out).toContain('2 resumed, 0 at work already, 0 refused')
    const asked = fakeTerminal({ answers: ['n'] })
    expect((await reeveOn(asked, 'cancel', '--agent', 'pays')).code).toBe(4)
    const cancelled = await reeve('cancel', '--agent', 'pays', '--yes', '--reason', 'no more')
    expect(cancelled).toMatchObject({ code: 0 })
    expect(cancelled.out).toContain('3 cancelled, 0 cancelled before, 0 refused')
    const listed = (await reeve('batch')).out.trim().split('\n')
    expect(listed).toHaveLength(3)
    expect(listed[0]).toMatch(/^batch_\w+ {2}cancel 3 {2}completed .*: 3 cancelled, 0 cancelled before, 0 refused$/)
    const [id] = listed[0]!.split(' ')
    expect(JSON.parse((await reeve('batch', id!, '--json')).out)).toMatchObject({ verb: 'cancel', total: 3, done: 3 })
    expect((await reeve('runs')).out).not.toContain('batch_')
    for (const run of ['run_0', 'run_1', 'run_2'])
      expect(await withRuntime((runtime) => runtime.handle(run).outcome())).toMatchObject({
        status: 'cancelled',
        reason: 'no more',
      })
  })

  test('Ctrl-C leaves a batch that is gone on with; --stop ends one', async () => {
    await waiting([1, 2, 3].map((amount) => ({ amount, to: 'ann' })))
    const id = await withRuntime(async (runtime) => {
      const { id: batch } = await runtime.batch('cancel', { agent: 'pays' }, { id: 'b1' })
      await runtime.handle(batch).control.pause()
      await vi.waitUntil(async () => (await runtime.handle(batch).summary()).status !== 'running', 25_000)
      return batch
    })
    const { status } = await withRuntime((runtime) => runtime.handle(id).summary())
    const stopped = await reeve('batch', id, '--stop')
    expect(stopped.code).toBe(status === 'paused' ? 0 : 2)
    const shown = await reeve('batch', id)
    expect(shown.code).toBe(status === 'paused' ? 4 : 0)
  })

  test('without a run and without a filter, and with both, it is refused', async () => {
    await waiting([{ amount: 1, to: 'ann' }])
    for (const command of ['cancel', 'pause', 'resume', 'retry-run']) {
      expect((await reeve(command)).code).toBe(2)
      expect((await reeve(command, 'run_0', '--agent', 'pays')).err).toContain('a run and a filter were given')
    }
    expect((await reeve('cancel', '--status', 'failed')).code).toBe(2)
    expect((await reeve('batch', 'run_0')).code).toBe(2)
  })
})

describe('several approvals', () => {
  test('each is shown with what differs, and decided by itself; critical risk is left', async () => {
    const [first, second, third] = await waiting([
      { amount: 1, to: 'ann' },
      { amount: 2, to: 'ann' },
      { amount: 3, to: 'ann', risk: 'critical' },
    ])
    const said = await reeve('approve', first!, second!, third!, second!, '--by', 'zoe')
    expect(said.code).toBe(1)
    expect(said.out).toContain(`✓ Approved ${first!}: pays › pay (amount: 1)`)
    expect(said.out).toContain(`✓ Approved ${second!}: pays › pay (amount: 2)`)
    expect(said.out).toContain(`✗ approval "${third!}" is decided by itself: its risk is critical`)
    expect(said.out).toContain('2 of 3 decided.')
    expect(said.out).toContain(`Decide it alone: reeve approve ${third!}`)
    const again = await reeve('reject', first!, second!)
    expect(again).toMatchObject({ code: 1 })
    expect(again.out.match(/was already decided/g)).toHaveLength(2)
    for (const run of ['run_0', 'run_1'])
      expect(await withRuntime((runtime) => runtime.handle(run).outcome())).toMatchObject({ output: 'paid' })
    expect((await withRuntime((runtime) => runtime.handle('run_0').view())).approvals).toMatchObject([
      { approver: 'zoe', resolution: 'approved' },
    ])
  })

  test('at a terminal they are shown first, and nothing is decided without a yes', async () => {
    const ids = await waiting([1, 2].map((amount) => ({ amount, to: 'ann' })))
    const asked = fakeTerminal({ answers: ['n', 'y'] })
    expect((await reeveOn(asked, 'reject', ...ids)).code).toBe(4)
    expect(asked.written).toContain(`${ids[0]!}  pays › pay (amount: 1)`)
    expect((await reeveOn(asked, 'reject', ...ids)).code).toBe(0)
  })
})

describe('the help', () => {
  test('every command stands in one group; a group has its help', async () => {
    const { out } = await reeve('--help')
    const headings = commandGroups.map(({ heading }) => out.indexOf(`\n${heading}:`))
    expect(headings.every((at, i) => at > (headings[i - 1] ?? 0))).toBe(true)
    expect(out).not.toContain('\nMore:')
    const names = commandGroups.flatMap(({ commands }) => commands)
    expect(new Set(names).size).toBe(names.length)
    expect(commandGroups.filter(({ name }) => names.includes(name))).toEqual([])
    const control = await reeve('help', 'control')
    expect(control).toMatchObject({ code: 0 })
    expect(control.out).toMatch(/^Control runs:\n {2}resume .*\n {2}pause /)
    expect((await reeve('help', 'approve')).out).toContain('Usage: reeve approve')
  })
})
