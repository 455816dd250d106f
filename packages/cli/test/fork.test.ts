/** `reeve fork` and `reeve diff`, from a terminal that runs nothing. */
import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { agent, createRuntime, step } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

test('a run is forked with another result, shown with its origin, and compared; what cannot be is said', async () => {
  const shop = agent({
    name: 'shop',
    description: 'Sells.',
    run: async (ctx) => {
      const price = await step(ctx, 'price', () => 12, { effect: 'read' })
      return price > 10 ? 'too dear' : 'bought'
    },
  })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [shop] })
    expect(await runtime.run(shop, 'Buy it', { runId: 'run_a' })).toMatchObject({ output: 'too dear' })
  }
  const events = (await reeve('events', 'run_a', '--json')).out.trim().split('\n')
  const { position } = events
    .map((line) => JSON.parse(line) as { position: number; event: { type: string } })
    .find(({ event }) => event.type === 'step.settled')!
  const forked = await reeve(
    'fork',
    'run_a',
    '--at',
    String(position),
    '--output',
    '9',
    '--run',
    'run_b',
    '--reason',
    'what if',
  )
  expect(forked).toMatchObject({ code: 0, err: '' })
  expect(forked.out).toContain(`The run run_b is a fork of run_a at ${position}.`)
  expect(forked.out).toContain('reeve diff run_a run_b')
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [shop] })
    expect(await runtime.handle('run_b').outcome()).toMatchObject({ output: 'bought' })
  }
  expect((await reeve('show', 'run_b')).out).toContain(`forked from run_a at ${position}: what if`)
  expect((await reeve('events', 'run_b')).out).toContain(
    `forked from run_a at ${position} by ${userInfo().username}: what if`,
  )
  const { out } = await reeve('diff', 'run_a', 'run_b')
  expect(out).toContain('the first difference is at shop: price (step.settled)')
  expect(out).toContain('  - 12\n')
  expect(out).toContain('  + 9\n')
  expect(out.indexOf('bought')).toBeGreaterThan(out.indexOf('  + 9'))
  expect(JSON.parse((await reeve('diff', 'run_a', 'run_b', '--json')).out)).toMatchObject({
    one: 'run_a',
    other: 'run_b',
    differences: [{}, {}],
  })
  expect((await reeve('diff', 'run_a', 'run_a')).out).toBe('no difference: 4 equal entries\n')
  expect((await reeve('diff', 'run_a', 'run_b', '--limit', '1')).out).toContain('… and 1 more')

  const again = await reeve('fork', 'run_a', '--input', 'Buy the other', '--run', 'run_c')
  expect(again).toMatchObject({ code: 0 })
  expect((await reeve('show', 'run_c')).out).toContain('Buy the other')
  expect(await reeve('fork', 'run_a')).toMatchObject({ code: 2, err: expect.stringContaining('has ended') as string })
  expect(await reeve('fork', 'run_none')).toMatchObject({ code: 2, err: expect.stringContaining('run_none') as string })
  expect(await reeve('fork', 'run_a', '--at', 'x')).toMatchObject({ code: 2 })
  expect(await reeve('fork', 'run_a', '--input', '1', '--output', '2')).toMatchObject({ code: 2 })
})
