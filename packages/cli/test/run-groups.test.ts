/** `reeve runs` in numbers: groups, causes, runs by their texts, the beginning of an input beside a run. */
import { expect, test } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { runs } from '../src/command/runs.ts'
import { reeve, storeHere } from './at-store.ts'
import { fakeTerminal } from './fake-terminal.ts'

const clerk = agent({
  name: 'clerk',
  description: 'Works.',
  model: () => ({ text: 'a refund is on its way', usage: { input: 1, output: 1, usd: 0.25 } }),
})
const breaker = agent({
  name: 'breaker',
  run: (_ctx, input) => Promise.reject(new Error(`order ${JSON.stringify(input).length} is not there`)),
})

async function seeded(): Promise<string> {
  const store = storeHere()
  await using runtime = await createRuntime({ store, agents: [clerk, breaker], onWarning: () => {} })
  await runtime.run(clerk, 'Where is\nmy refund \u001b[31mof April?', { runId: 'one' })
  await runtime.run(clerk, 'another thing', { runId: 'two' })
  await runtime.run('breaker', 'go', { runId: 'bad' })
  await runtime.run('breaker', 'go there', { runId: 'worse' })
  return store
}

test('groups are tables of runs, ends, cost and durations; the cost by agent and day is one command', async () => {
  await seeded()
  const { out, code } = await reeve('runs', '--group', 'agent')
  expect(code).toBe(0)
  const [head, ...rows] = out.trimEnd().split('\n')
  expect(head).toMatch(/^agent +runs +not completed +cost +took p50 +p95 +waited p50 +p95$/)
  expect(rows[0]).toMatch(/^clerk +2 +0 +\$0\.5000 /)
  expect(rows[1]).toMatch(/^breaker +2 +2 +\$0\.0000 /)
  expect(rows[2]).toMatch(/^all +4 +2 +\$0\.5000 /)
  const day = new Date().toISOString().slice(0, 10)
  const both = (await reeve('runs', '--group', 'agent,day')).out
  expect(both).toMatch(new RegExp(`^${day.slice(0, 8)}\\d\\d +clerk +2 +0 +\\$0\\.5000`, 'm'))
  expect((await reeve('runs', '--group', 'day', '--agent', 'clerk')).out).toMatch(/^\d{4}-\d\d-\d\d +2 +0/m)
  const [line] = (await reeve('runs', '--group', 'model', '--json')).out.split('\n')
  expect(JSON.parse(line!)).toMatchObject({ group: ['rule/clerk'], runs: 2, usage: { calls: 2, usd: 0.5 } })
  for (const wrong of ['colour', 'agent,model', 'cause,day', ''])
    expect((await reeve('runs', '--group', wrong)).code, wrong).toBe(2)
})

test('causes name the failure, the newest run and the command that lists them all', async () => {
  await seeded()
  const { out } = await reeve('runs', '--group', 'cause')
  expect(out).toMatch(/^2 {2}orchestration\.threw {2}breaker: order \d+ is not there\n {3}newest worse, /)
  const [, cause] = /--cause (\S+)/.exec(out)!
  const found = (await reeve('runs', '--cause', cause!, '--json')).out.trim().split('\n')
  expect(found.map((line) => (JSON.parse(line) as { run: string }).run)).toEqual(['worse', 'bad'])
  expect((await reeve('runs', '--group', 'cause', '--agent', 'clerk')).out).toBe('No run of this filter has failed.\n')
})

test('runs are found by their text and code; a live terminal shows the beginning of each input where it has room', async () => {
  const store = await seeded()
  expect((await reeve('runs', '--text', 'refund apr*')).out).toMatch(/^one .*\n$/)
  expect((await reeve('runs', '--text', '"thing another"')).out).toBe('No run fits this filter.\n')
  expect((await reeve('runs', '--code', 'orchestration.threw')).out.trim().split('\n')).toHaveLength(2)
  const shown = async (columns: number, isLive: boolean): Promise<string> => {
    const terminal = fakeTerminal({ columns, isLive })
    await runs({ terminal, options: { store }, cwd: process.cwd() } as never, { limit: 9, text: 'april' })
    return terminal.written.trimEnd()
  }
  expect(await shown(160, true)).toMatch(/took \S+ {2}Where is my refund \\u001b\[31mof April\?$/)
  expect(await shown(75, true)).toMatch(/ {2}Where is.*…$/)
  expect((await shown(75, true)).length).toBeLessThanOrEqual(75)
  expect(await shown(50, true)).not.toContain('Where')
  expect(await shown(160, false)).not.toContain('Where')
})
