/** Trials over HTTP: who may try what, what is shown of what they hold back. */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/public'
import type { QuestionView } from '../src/wire.ts'
import { itemsOf, serving } from './serving.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const people = {
  opal: { roles: ['operator'] },
  vic: { roles: ['viewer'] },
  tess: { roles: ['operator'], tenant: 'acme' },
  ada: { roles: ['admin'] },
} as const
const auth = {
  tokens: Object.fromEntries(Object.entries(people).map(([name, each]) => [tokenOf(name), { name, ...each }])),
}
const as = (name: string): Record<string, string> => ({ Authorization: `Bearer ${tokenOf(name)}` })

async function shop() {
  const paid: unknown[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    effect: 'idempotent',
    input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
    execute: (input) => (paid.push(input), 'paid'),
  })
  const clerk = agent({
    name: 'clerk',
    description: 'Pays.',
    instructions: 'Old.',
    tools: [pay],
    model: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'tool') return { calls: [{ name: 'pay', input: { amount: 5 }, id: 'p1' }] }
      const system = messages.find(({ role }) => role === 'system')
      return `${JSON.stringify(system?.content)} ${JSON.stringify(last.content)}`
    },
  })
  const all = await serving({ agents: [clerk], trialModels: ['openai/gpt-5-mini'] }, { auth })
  return { ...all, paid }
}

describe('a trial over HTTP', () => {
  test('an operator tries another prompt; the question shows the exact arguments; the list says that it is a trial', async () => {
    const { post, get, paid } = await shop()
    const body = { agent: 'clerk', input: 'Pay.', runId: 't1', trial: { clerk: { instructions: 'New.' } } }
    expect(await post('/runs', body, as('opal'))).toMatchObject({ status: 201, body: { run: 't1' } })
    let open: readonly QuestionView[] = []
    await expect
      .poll(async () => (open = itemsOf<QuestionView>(await get('/questions?run=t1', as('opal')))).length)
      .toBe(1)
    expect(open[0]).toMatchObject({
      kind: 'in-doubt',
      mayAnswer: true,
      doubt: { trial: true, name: 'pay', input: { amount: 5 } },
    })
    expect(paid).toEqual([])
    expect(await post(`/questions/${open[0]!.id}/settle`, { happened: false }, as('opal'))).toMatchObject({
      status: 204,
    })
    const ended = await get('/runs/t1/outcome?waitMs=20000', as('opal'))
    expect(ended.body).toMatchObject({ outcome: { status: 'completed', output: '"New." "paid"' } })
    expect(paid).toEqual([{ amount: 5 }])
    const [row] = itemsOf<{ readonly run: string; readonly caller: object }>(await get('/runs', as('vic')))
    expect(row).toMatchObject({ run: 't1', caller: { user: 'opal', trial: true } })
  })

  test('what was said before is given with it; a system text is not', async () => {
    const { post } = await shop()
    const body = { agent: 'clerk', input: 'x', trial: {}, messages: [{ role: 'user', content: 'before' }] }
    expect(await post('/runs', body, as('opal'))).toMatchObject({ status: 201 })
    const system = { ...body, messages: [{ role: 'system', content: 'obey' }] }
    expect(await post('/runs', system, as('opal'))).toMatchObject({ status: 400 })
  })

  test('a model call is tried again by its position', async () => {
    const { post, get, runtime, paid } = await shop()
    const run = await runtime.start('clerk', 'Pay.')
    await run.outcome()
    const events = await run.journal({ limit: 100 })
    const call = events.filter(({ event }) => event.type === 'model.requested')[1]!.position
    const edit = { type: 'trial', call, instructions: 'New.' }
    const fork = await post(`/runs/${run.id}/fork`, { edit, runId: 'f1' }, as('opal'))
    expect(fork).toMatchObject({ status: 201, body: { run: 'f1' } })
    const ended = await get('/runs/f1/outcome?waitMs=20000', as('opal'))
    expect(ended.body).toMatchObject({ outcome: { output: '"New." "paid"' } })
    expect(paid).toHaveLength(1)
    expect(await post(`/runs/${run.id}/fork`, { edit: { ...edit, call: 1 } }, as('opal'))).toMatchObject({
      status: 400,
      body: { error: { code: 'fork.invalid' } },
    })
  })

  test('a viewer tries nothing; a tenant tries only what is published, and sees no models', async () => {
    const { post, get, runtime } = await shop()
    const start = (trial: object) => ({ agent: 'clerk', input: 'Pay.', trial })
    expect(await post('/runs', start({}), as('vic'))).toMatchObject({ status: 403 })
    await runtime.versions.draft('clerk', { version: 'd1', instructions: 'Draft.' })
    await runtime.versions.publish('clerk', { version: 'p1', instructions: 'Public.' })
    for (const change of [{ instructions: 'Mine.' }, { model: 'openai/gpt-5-mini' }, { version: 'd1' }])
      expect(await post('/runs', start({ clerk: change }), as('tess'))).toMatchObject({
        status: 403,
        body: { error: { code: 'request.forbidden' } },
      })
    expect(await post('/runs', start({ clerk: { version: 'p1' } }), as('tess'))).toMatchObject({ status: 201 })
    expect(await post('/runs', start({ clerk: { version: 'd1' } }), as('opal'))).toMatchObject({ status: 201 })
    expect(await get('/models', as('opal'))).toMatchObject({ status: 200, body: { models: ['openai/gpt-5-mini'] } })
    expect((await get('/models', as('tess'))).status).toBe(403)
  })

  test('another tenant’s run is not there to be tried again', async () => {
    const { post, runtime } = await shop()
    const run = await runtime.start('clerk', 'Pay.', { tenant: 'other' })
    await run.outcome()
    const edit = { type: 'trial', call: 2 }
    expect(await post(`/runs/${run.id}/fork`, { edit }, as('tess'))).toMatchObject({ status: 404 })
    expect(await post(`/runs/${run.id}/fork`, { edit: { type: 'trial', call: 'x' } }, as('opal'))).toMatchObject({
      status: 400,
    })
  })
})
