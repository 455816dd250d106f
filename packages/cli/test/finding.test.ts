/** `reeve runs` with filters, `reeve questions`, `reeve settle`: what operators find and do at a terminal. */
import { expect, test } from 'vitest'
import { agent, createRuntime, delegate, interrupt, loop } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

const asker = agent({ name: 'asker', run: async (ctx) => (await interrupt(ctx, 'how many?')) as number })
const breaker = agent({ name: 'breaker', run: () => Promise.reject(new Error('a defect')) })

async function seeded(): Promise<string> {
  await using runtime = await createRuntime({ store: storeHere(), agents: [asker, breaker], onWarning: () => {} })
  const caller = { user: 'ann', tenant: 'north' }
  await runtime.run('breaker', 'go', { runId: 'broken', ...caller, metadata: { n: 1, plan: 'gold' } })
  const run = await runtime.start('asker', 'go', { runId: 'asks', ...caller, metadata: { n: '1' } })
  await run.until('waiting')
  return (await runtime.questions())[0]!.id
}

test('runs are found by what they are, with why they failed, what they wait for and what they cost', async () => {
  const id = await seeded()
  const found = async (...options: string[]): Promise<readonly string[]> =>
    (await reeve('runs', '--json', ...options)).out
      .trim()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { run: string }).run]))
  expect(await found()).toEqual(['asks', 'broken'])
  expect(await found('--status', 'waiting')).toEqual(['asks'])
  expect(await found('--status', 'failed,waiting', '--agent', 'breaker')).toEqual(['broken'])
  expect(await found('--user', 'ann', '--tenant', 'south')).toEqual([])
  expect([await found('--meta', 'n=1'), await found('--meta', 'n="1"')]).toEqual([['broken'], ['asks']])
  expect(await found('--meta', 'n=1', '--meta', 'plan=gold')).toEqual(['broken'])
  expect([await found('--since', '2020-01-01'), await found('--before', '2020-01-01')]).toEqual([
    ['asks', 'broken'],
    [],
  ])
  expect(await found('--min-usd', '0.5')).toEqual([])
  const table = await reeve('runs', '--why', '--usd')
  expect(table.out).toContain('a defect')
  expect(table.out).toMatch(new RegExp(`waits for interrupt ${id}, asked .*, no deadline`))
  expect(table.out).toContain('$0.0000')
  const page = await reeve('runs', '--limit', '1')
  const [, cursor] = /--after (\S+)/.exec(page.err)!
  expect(await found('--after', cursor!)).toEqual(['broken'])
  for (const wrong of [
    ['--meta', 'x'],
    ['--since', 'soon'],
    ['--after', 'x'],
    ['--status', 'wating'],
  ])
    expect((await reeve('runs', ...wrong)).code, wrong.join(' ')).toBe(2)
})

test('everything that is open is listed with the command that answers it; a settlement names what it settles', async () => {
  const id = await seeded()
  const { out } = await reeve('questions')
  expect(out).toContain(`${id}  interrupt  asks asker: "how many?"`)
  expect(out).toContain(`reeve answer ${id}`)
  expect((await reeve('questions', '--kind', 'approval')).out).toBe('Nothing is open.\n')
  expect((await reeve('settle', id)).err).toContain('it is not said what became of it')
  expect((await reeve('settle', id, '--execute', '--drop')).code).toBe(2)
  const refused = await reeve('settle', id, '--happened', 'yes')
  expect(refused.code).not.toBe(0)
  expect(refused.err).toContain('not an effect in doubt')
})

test('a completed run shows that workers of it failed, and that a loop stopped at its bound', async () => {
  const root = agent({
    name: 'root',
    workers: [breaker],
    run: async (ctx) => {
      await delegate(ctx, breaker, 'one')
      await delegate(ctx, breaker, 'two')
      return 'all the same'
    },
  })
  const round = loop({ name: 'round', agents: [root], maxIterations: 1, until: () => false })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [round], onWarning: () => {} })
    await runtime.run('round', 'go', { runId: 'r' })
  }
  expect((await reeve('runs')).out).toMatch(/^r {2}completed .* {2}2 workers failed$/m)
  expect((await reeve('runs', '--why')).out).toContain(
    '2 workers failed: breaker (orchestration.threw), breaker (orchestration.threw)',
  )
  const row = JSON.parse((await reeve('runs', '--json')).out) as { readonly failures: unknown }
  expect(row.failures).toEqual([
    { worker: 'breaker', code: 'orchestration.threw' },
    { worker: 'breaker', code: 'orchestration.threw' },
  ])
  const shown = (await reeve('show', 'r')).out
  expect(shown).toContain('2 workers failed: breaker (orchestration.threw)')
  expect(shown).toContain('not reached: the loop stopped at its bound')
})
