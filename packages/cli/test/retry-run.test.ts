/** `reeve retry-run`, from a terminal that runs nothing. */
import { expect, test } from 'vitest'
import { agent, createRuntime, step } from '@reeve/public'
import { reeve, storeHere } from './at-store.ts'

test('one run by its id, many by a filter: progress, a summary, and a code that says whether all was done', async () => {
  let isBroken = true
  const shop = agent({
    name: 'shop',
    description: 'Sells.',
    run: (ctx) =>
      step(
        ctx,
        'sell',
        () => {
          if (isBroken) throw new Error('out of order')
          return 'sold'
        },
        { retry: { attempts: 1 } },
      ),
  })
  const other = agent({ name: 'other', description: 'Fails.', model: () => ({ calls: [{ name: 'none', input: {} }] }) })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [shop, other] })
    for (const runId of ['run_a', 'run_b', 'run_c'])
      await runtime.run(shop, 'Go', { runId, user: runId === 'run_b' ? 'bob' : 'ann', metadata: { n: 1 } })
    await runtime.run(other, 'Go', { runId: 'run_limit', limits: { turns: 1 } })
  }
  const one = await reeve('retry-run', 'run_a', '--run', 'run_a2', '--reason', 'mended')
  expect(one).toMatchObject({ code: 0, err: '' })
  expect(one.out).toContain('The run run_a2 retries run_a from position ')
  expect(one.out).toMatch(
    /It goes on before position \d+: shop makes the effect that failed again; of the origin, 0 model calls and 1 effect after it are not kept\./,
  )
  expect(one.out).toContain('reeve diff run_a run_a2')
  expect((await reeve('show', 'run_a2')).out).toContain('forked from run_a at ')

  expect(await reeve('retry-run', '--status', 'failed')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('3 runs would be retried') as string,
  })
  for (const [count, ...filter] of [
    ['1 run', '--user', 'bob'],
    ['2 runs', '--user', 'ann', '--meta', 'n=1'],
    ['3 runs', '--since', '2020-01-01'],
  ] as const)
    expect((await reeve('retry-run', ...filter)).err).toContain(`${count} would be retried`)
  expect((await reeve('retry-run', '--meta', 'n=2', '--yes')).out).toBe('No run matches.\n')
  const many = await reeve('retry-run', '--agent', 'shop', '--limit', '2', '--yes')
  expect(many.out.split('\n').filter((line) => /^\[\d\/2\] run_[abc] → run_/.test(line))).toHaveLength(2)
  expect(many.out).toContain('2 retried, 0 retried before, 0 refused; partial')
  expect(many.code).toBe(0)
  const rest = await reeve('retry-run', '--status', 'failed', 'limited', '--yes')
  expect(rest.code).toBe(1)
  expect(rest.out).toContain('run_limit: refused: run run_limit reached its limit of turns')
  expect(rest.out).toContain('1 retried, 2 retried before, 1 refused')
  expect((await reeve('retry-run', '--agent', 'nobody', '--yes')).out).toBe('No run matches.\n')
  isBroken = false
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [shop, other] })
    expect(await runtime.handle('run_a2').outcome()).toMatchObject({ output: 'sold' })
  }
  for (const wrong of [
    [],
    ['run_a', '--user', 'ann'],
    ['--since', 'noon'],
    ['run_a', '--status', 'failed'],
    ['--status', 'completed'],
    ['--agent', 'shop', '--again'],
  ])
    expect((await reeve('retry-run', ...wrong)).code).toBe(2)
  expect((await reeve('retry-run', 'run_a2')).err).toContain('ended as completed')
})

test('runs that failed by an answer: how many new model calls are certain', async () => {
  const parser = agent({ name: 'parser', output: { type: 'object' }, model: () => 'no JSON' })
  {
    await using runtime = await createRuntime({ store: storeHere(), agents: [parser] })
    for (const runId of ['run_a', 'run_b', 'run_c']) await runtime.run(parser, 'Go', { runId })
  }
  const one = await reeve('retry-run', 'run_a')
  expect(one.out).toContain(
    'parser asks its model again; of the origin, 3 model calls and 0 effects after it are not kept',
  )
  const many = await reeve('retry-run', '--status', 'failed', '--yes')
  expect(many.out).toContain('2 retried, 1 retried before, 0 refused')
  expect(many.out).toContain('They make at least 2 new model calls; 6 calls of their origins are not kept')
})
