/** Runs in numbers over HTTP: totals, causes, the search of runs, metrics; to a tenant only what is its own. */
import { expect, test } from 'vitest'
import { agent } from '@reeve/public'
import type { Causes, Totals } from '@reeve/runtime'
import { createClient } from 'reeve/client'
import { counterText, metricsType } from '../src/metrics.ts'
import type { Principal, RunPage } from '../src/wire.ts'
import { readExposition } from './exposition.ts'
import { itemsOf, serving } from './serving.ts'

const people: Readonly<Record<string, Principal>> = {
  'the-token-of-an-operator-of-all': { name: 'vic', roles: ['operator'] },
  'the-token-of-a-viewer-of-all': { name: 'vera', roles: ['viewer'] },
  'the-token-of-an-admin-of-acme': { name: 'alice', roles: ['admin'], tenant: 'acme' },
  'the-token-of-greeters-alone': { name: 'gus', roles: ['admin'], agents: ['greeter'] },
}
const as = (who: string): Record<string, string> => ({ Authorization: `Bearer the-token-of-${who}` })

const greeter = agent({
  name: 'greeter',
  description: 'Greets.',
  model: () => ({ text: 'hello there', usage: { input: 3, output: 2, reasoning: 1, cacheWrite: 2, usd: 0.25 } }),
})
const fails = agent({
  name: 'fails',
  description: 'Fails.',
  run: async (_ctx, input) => {
    throw new Error(`no answer to ${JSON.stringify(input)} at 10:15`)
  },
})

async function served() {
  const { runtime, get, server } = await serving(
    { agents: [greeter, fails], onWarning: () => {} },
    { auth: { tokens: people } },
  )
  await runtime.run(greeter, 'a word of acme', { runId: 'run_a', tenant: 'acme' })
  await runtime.run(greeter, 'a word of other', { runId: 'run_b', tenant: 'other' })
  for (const runId of ['run_c', 'run_d']) await runtime.run(fails, `question ${runId}`, { runId, tenant: 'other' })
  return { runtime, get, server }
}

test('totals, causes and runs are found by the filter of runs, each of the principal alone', async () => {
  const { get } = await served()
  const totals = async (query: string, who = 'a-viewer-of-all') =>
    (await get(`/totals${query}`, as(who))).body as Totals
  expect(await totals('?by=agent&bucket=day')).toMatchObject({
    behind: 0,
    all: { runs: 4, ends: { completed: 2, failed: 2 }, usage: { calls: 2, tokens: 10, usd: 0.5 } },
    groups: [
      { key: 'greeter', runs: 2, overTime: [{ runs: 2 }] },
      { key: 'fails', runs: 2 },
    ],
    overTime: [{ runs: 4 }],
  })
  expect((await totals('', 'an-admin-of-acme')).all.runs).toBe(1)
  expect((await totals('?by=tenant', 'an-admin-of-acme')).groups).toMatchObject([{ key: 'acme', runs: 1 }])
  expect((await totals('', 'greeters-alone')).all.runs).toBe(2)
  expect((await totals('?agent=fails', 'greeters-alone')).all.runs).toBe(0)
  const causes = async (who: string) => ((await get('/causes', as(who))).body as Causes).causes
  const [cause, ...none] = await causes('a-viewer-of-all')
  expect(none).toEqual([])
  expect(cause).toMatchObject({ agent: 'fails', runs: 2, newest: 'run_d', code: 'orchestration.threw' })
  expect(await causes('an-admin-of-acme')).toEqual([])
  expect(await causes('greeters-alone')).toEqual([])
  const runs = async (query: string, who = 'a-viewer-of-all') =>
    itemsOf<{ run: string }>(await get(`/runs${query}`, as(who))).map(({ run }) => run)
  expect(await runs(`?cause=${cause!.cause}`)).toEqual(['run_d', 'run_c'])
  expect(await runs('?code=orchestration.threw')).toEqual(['run_d', 'run_c'])
  expect(await runs('?text=word')).toEqual(['run_b', 'run_a'])
  expect(await runs('?text=word', 'an-admin-of-acme')).toEqual(['run_a'])
  expect(await runs('?text=question', 'greeters-alone')).toEqual([])
  expect(await runs(`?text=${encodeURIComponent('"of other" hel*')}`)).toEqual(['run_b'])
  const { behind, items } = (await get('/runs?text=word', as('a-viewer-of-all'))).body as RunPage
  expect(behind).toBeUndefined()
  expect(items[0]).toMatchObject({ input: { text: 'a word of other' }, output: { text: 'hello there' } })
  for (const bad of [
    '/totals?limit=1',
    '/totals?by=colour',
    '/totals?bucket=year',
    '/causes?by=agent',
    `/runs?text=${'x'.repeat(1_001)}`,
  ])
    expect((await get(bad, as('a-viewer-of-all'))).status, bad).toBe(400)
})

test('the client asks for the same', async () => {
  const { server } = await served()
  const client = createClient({ baseUrl: server.url, token: 'the-token-of-an-operator-of-all' })
  expect((await client.totals({ by: 'code', status: ['failed'] })).groups).toMatchObject([
    { key: 'orchestration.threw', runs: 2 },
  ])
  const { causes } = await client.causes({ agent: 'fails' })
  expect(causes).toHaveLength(1)
  expect((await client.runs.list({ cause: causes[0]!.cause, text: 'question' })).items).toHaveLength(2)
  expect(readExposition(await client.metrics()).size).toBeGreaterThan(8)
})

test('metrics are Prometheus text, for operators of the installation alone', async () => {
  const { server } = await served()
  const ask = (who: string) => fetch(`${server.url}/api/metrics`, { headers: as(who) })
  for (const who of ['a-viewer-of-all', 'an-admin-of-acme', 'greeters-alone']) expect((await ask(who)).status).toBe(403)
  const response = await ask('an-operator-of-all')
  expect(response.headers.get('Content-Type')).toBe(metricsType)
  const metrics = readExposition(await response.text())
  const value = (name: string, labels: Record<string, string>): number | undefined =>
    metrics
      .get(name.replace(/_(bucket|sum|count)$/, ''))
      ?.samples.find(
        (each) => each.name === name && Object.entries(labels).every(([label, text]) => each.labels[label] === text),
      )?.value
  expect([...metrics.keys()]).toEqual([
    'reeve_runs_ended_total',
    'reeve_model_calls_total',
    'reeve_tokens_total',
    'reeve_reasoning_tokens_total',
    'reeve_cached_tokens_total',
    'reeve_cost_usd_total',
    'reeve_run_duration_seconds',
    'reeve_run_wait_seconds',
    'reeve_run_latency_seconds',
    'reeve_runs',
    'reeve_index_behind_runs',
    'reeve_ready_runs',
    'reeve_unheard_runs',
    'reeve_stalled_runs',
    'reeve_workers',
    'reeve_store_bytes',
    ...(metrics.has('reeve_event_loop_delay_seconds') ? ['reeve_event_loop_delay_seconds'] : []),
  ])
  expect(value('reeve_runs_ended_total', { status: 'failed', code: 'orchestration.threw', tenant: 'other' })).toBe(2)
  expect(value('reeve_tokens_total', { direction: 'input', tenant: 'acme', model: 'rule/greeter' })).toBe(3)
  expect(value('reeve_reasoning_tokens_total', { tenant: 'acme', model: 'rule/greeter' })).toBe(1)
  expect(value('reeve_cached_tokens_total', { access: 'write', tenant: 'acme' })).toBe(2)
  expect(value('reeve_cost_usd_total', { tenant: 'other', agent: 'greeter' })).toBe(0.25)
  expect(value('reeve_run_duration_seconds_count', { agent: 'fails' })).toBe(2)
  expect(value('reeve_runs', { status: 'completed' })).toBe(2)
  expect(value('reeve_index_behind_runs', {})).toBe(0)
})

test('labels of any text are written so that they are read as they were', () => {
  const texts = ['', '"', '\\', '\n', '\\n', '\r', '\u2028', 'ü', '\0', '{a="b"} 1', '\ud800']
  const lines = counterText(texts.map((agent) => ({ name: 'runs', labels: { agent, status: 'failed' }, value: 1e21 })))
  const read = readExposition(`${lines.join('\n')}\n`).get('reeve_runs_ended_total')!
  expect(read.samples.map(({ labels }) => labels['agent'])).toEqual(texts.map((text) => text.toWellFormed()))
  expect(read.samples[0]!.value).toBe(1e21)
})
