/** What belongs to whom over real HTTP: sessions and their grants, versions, ids, principals of some agents. */
import { describe, expect, test, vi } from 'vitest'
import { agent, tool } from '@reeve/public'
import { a2a } from '../../protocols/src/a2a/index.ts'
import { agUi } from '../../protocols/src/ag-ui/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../../protocols/src/openai/index.ts'
import { derivedId } from '@reeve/core'
import type { RuntimeOptions } from '@reeve/runtime'
import type { Principal } from '../src/wire.ts'
import { itemsOf, serving, type Answer, type Serving } from './serving.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const principals: Readonly<Record<string, Omit<Principal, 'name'>>> = {
  ann: { roles: ['operator'], tenant: 'acme' },
  bob: { roles: ['operator'], tenant: 'acme' },
  cat: { roles: ['approver'], tenant: 'acme' },
  boss: { roles: ['admin'], tenant: 'acme' },
  eve: { roles: ['admin'], tenant: 'globex' },
  root: { roles: ['admin'] },
  olga: { roles: ['operator'] },
  narrow: { roles: ['operator', 'approver'], tenant: 'acme', agents: ['echo', 'absent'] },
}
const auth = {
  tokens: Object.fromEntries(Object.entries(principals).map(([name, each]) => [tokenOf(name), { name, ...each }])),
}
const as = (name: string, more: Record<string, string> = {}): Record<string, string> => ({
  Authorization: `Bearer ${tokenOf(name)}`,
  ...more,
})
const errorOf = ({ status, body }: Answer): readonly [number, string] => [
  status,
  (body as { readonly error: { readonly code: string } } | undefined)?.error.code ?? '',
]
const runIn = ({ body }: Answer): string => (body as { readonly run: string }).run

const sent: unknown[] = []
const post = tool({
  name: 'post',
  description: 'Posts.',
  effect: 'once',
  approval: {},
  execute: (input) => {
    sent.push(input)
    return 'posted'
  },
})
const poster = agent({
  name: 'poster',
  description: 'Posts.',
  tools: [post],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'post', input: { n: messages.length } }] },
})
const echo = agent({ name: 'echo', description: 'Echoes.', instructions: 'As in code.', model: () => 'hello' })

const served = (options: RuntimeOptions = {}): Promise<Serving> =>
  serving(
    { agents: [poster, echo], ...options },
    { auth, protocols: [openai(), mcpServer(), agUi({ agents: ['echo'] }), a2a({ agents: ['echo'] })] },
  )

const asked = ({ runtime }: Serving, run: string) =>
  vi.waitUntil(async () => (await runtime.approvals({ run }))[0], 25_000)

describe('a session', () => {
  test('is shared by its owner or an admin, over HTTP, and by nobody else', async () => {
    const all = await served()
    const start = (who: string): Promise<Answer> =>
      all.post('/runs', { agent: 'echo', input: 'x', session: 's' }, as(who))
    expect((await start('ann')).status).toBe(201)
    expect(errorOf(await start('bob'))).toEqual([403, 'session.forbidden'])
    const share = (who: string, verb = 'share', query = ''): Promise<Answer> =>
      all.post(`/sessions/s/${verb}${query}`, { with: ['bob'] }, as(who))
    expect(errorOf(await share('bob'))).toEqual([403, 'session.forbidden'])
    expect(errorOf(await share('cat'))).toEqual([403, 'request.forbidden'])
    expect(errorOf(await share('eve'))).toEqual([404, 'session.unknown'])
    // a tenant's principal has the sessions of that tenant, whatever the query says
    expect(errorOf(await share('eve', 'share', '?tenant=acme'))).toEqual([404, 'session.unknown'])
    expect(errorOf(await share('root'))).toEqual([404, 'session.unknown'])
    expect(await share('ann')).toMatchObject({
      status: 200,
      body: { session: 's', tenant: 'acme', owner: 'ann', sharedWith: [{ user: 'bob', by: 'ann' }] },
    })
    expect((await start('bob')).status).toBe(201)
    expect((await share('root', 'unshare', '?tenant=acme')).status).toBe(200)
    expect(errorOf(await start('bob'))).toEqual([403, 'session.forbidden'])
    expect((await share('boss')).status).toBe(200)
    expect((await all.get('/sessions/s/access', as('cat'))).body).toMatchObject({
      owner: 'ann',
      sharedWith: [{ user: 'bob', by: 'boss' }],
    })
    // who starts for another user acts as that user
    const forAnn = await all.post('/runs', { agent: 'echo', input: 'x', session: 's', user: 'ann' }, as('boss'))
    expect(forAnn.status).toBe(201)
    expect(errorOf(await start('boss'))).toEqual([403, 'session.forbidden'])
  })

  test('has grants of the user in whose run they were given; their tenant lists and revokes them', async () => {
    const all = await served()
    const start = async (who: string): Promise<string> =>
      runIn(await all.post('/runs', { agent: 'poster', input: 'x', session: 's' }, as(who)))
    const approval = await asked(all, await start('ann'))
    sent.length = 0
    const granted = await all.post(
      `/approvals/${approval.id}/decision`,
      { decision: 'approve', grant: 'session' },
      as('cat'),
    )
    expect(granted.status).toBe(204)
    await vi.waitUntil(() => sent.length === 1, 25_000)
    await all.runtime.handle(await start('ann')).outcome()
    expect(sent).toHaveLength(2)
    await all.post('/sessions/s/share', { with: ['bob'] }, as('ann'))
    // it covers the calls of ann's runs, not those of whom the session is shared with
    expect(await asked(all, await start('bob'))).toMatchObject({ tool: 'post' })
    expect(sent).toHaveLength(2)
    const grants = (who: string, query = ''): Promise<Answer> => all.get(`/grants?session=s${query}`, as(who))
    expect((await grants('cat')).body).toMatchObject([{ tool: 'post', user: 'ann', approver: 'cat' }])
    expect((await grants('root', '&tenant=acme')).body).toMatchObject([{ tool: 'post' }])
    expect((await grants('root')).body).toEqual([])
    expect((await grants('eve', '&tenant=acme')).body).toEqual([])
    const revoke = async (who: string, query = ''): Promise<Answer> => {
      const response = await fetch(`${all.server.url}/api/grants?session=s${query}`, {
        method: 'DELETE',
        headers: as(who),
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    }
    expect(errorOf(await revoke('ann'))).toEqual([403, 'request.forbidden'])
    expect(await revoke('eve', '&tenant=acme')).toMatchObject({ status: 200, body: { revoked: 0 } })
    expect(await revoke('cat')).toMatchObject({ status: 200, body: { revoked: 1 } })
    expect((await grants('cat')).body).toEqual([])
  })
})

describe('a version', () => {
  test('that is not published is for who publishes: at a start, a fork and a retry', async () => {
    const fails = agent({ name: 'fails', description: 'Fails.', run: () => Promise.reject(new Error('no')) })
    const all = await served({ agents: [echo, fails], strict: false, onWarning: () => {} })
    await all.runtime.versions.publish('echo', { version: 'out', instructions: 'Published.' })
    await all.runtime.versions.draft('echo', { version: 'secret', instructions: 'A draft.' })
    await all.runtime.versions.draft('fails', { version: 'untried' })
    const start = (who: string, versions: object, more: object = {}): Promise<Answer> =>
      all.post('/runs', { agent: 'echo', input: 'x', versions, ...more }, as(who))
    for (const who of ['ann', 'boss', 'olga']) {
      for (const choice of [{ status: 'draft' }, 'secret', 'draft', { version: 'secret' }, 'nothing'])
        expect([who, errorOf(await start(who, { echo: choice }))]).toEqual([who, [403, 'request.forbidden']])
      for (const choice of [{ status: 'published' }, 'out', { version: 'out' }])
        expect([who, (await start(who, { echo: choice })).status]).toEqual([who, 201])
    }
    expect((await start('root', { echo: 'secret' }, { runId: 'drafted' })).status).toBe(201)
    await all.runtime.handle('drafted').outcome()
    const edit = { type: 'input', input: 'again' }
    expect(errorOf(await all.post('/runs/drafted/fork', { edit }, as('olga')))).toEqual([403, 'request.forbidden'])
    expect((await all.post('/runs/drafted/fork', { edit }, as('root'))).status).toBe(201)
    await all.runtime.run('fails', 'x', { runId: 'broken', versions: { fails: 'untried' } })
    expect(errorOf(await all.post('/runs/broken/retry', {}, as('olga')))).toEqual([403, 'request.forbidden'])
    await all.post('/batches', { verb: 'retry', filter: { status: ['failed'] }, id: 'b1' }, as('olga'))
    expect(await all.runtime.batches.of('b1').outcome()).toMatchObject({
      refused: 1,
      causes: [{ code: 'request.forbidden', runs: ['broken'] }],
    })
    await all.runtime.versions.publish('fails', 'untried')
    expect((await all.post('/runs/broken/retry', {}, as('olga'))).status).toBe(201)
  })

  test('that the installation chooses for all is everybody’s', async () => {
    const all = await served({ agents: [echo], defaultStatus: 'draft' })
    await all.runtime.versions.draft('echo', { version: 'secret', instructions: 'A draft.' })
    const run = runIn(await all.post('/runs', { agent: 'echo', input: 'x' }, as('ann')))
    await all.runtime.handle(run).outcome()
    const edit = { type: 'input', input: 'again' }
    expect((await all.post(`/runs/${run}/fork`, { edit }, as('ann'))).status).toBe(201)
  })
})

describe('an id', () => {
  test('of a key is one that nobody can take before', async () => {
    const all = await served()
    const parts = ['Idempotency-Key', 'acme', 'ann', 'order-7'] as const
    const guessed = derivedId('run', ...parts)
    for (const runId of [guessed, `${guessed}@key`, `${guessed}:key`])
      await all.post('/runs', { agent: 'echo', input: 'squat', runId }, as('eve'))
    const first = await all.post('/runs', { agent: 'echo', input: 'x' }, as('ann', { 'Idempotency-Key': 'order-7' }))
    const again = await all.post('/runs', { agent: 'echo', input: 'x' }, as('ann', { 'Idempotency-Key': 'order-7' }))
    expect([first.status, again.status, runIn(again)]).toEqual([201, 200, runIn(first)])
    const refused = await all.post('/runs', { agent: 'echo', input: 'x', runId: runIn(first) }, as('eve'))
    expect(errorOf(refused)).toEqual([400, 'run.invalid-id'])
  })

  test('that is taken by another’s run says nothing of it, whether what is sent is as it was or not', async () => {
    const all = await served()
    const body = { agent: 'poster', input: 'the input', session: 'theirs', runId: 'known' }
    await all.post('/runs', body, as('ann'))
    const own = runIn(await all.post('/runs', { agent: 'echo', input: 'x' }, as('eve')))
    await all.runtime.handle(own).outcome()
    const refusals = [
      await all.post('/runs', body, as('eve')),
      await all.post('/runs', { agent: 'echo', input: 'guess', runId: 'known' }, as('eve')),
      await all.post(`/runs/${own}/fork`, { runId: 'known', edit: { type: 'input', input: 'y' } }, as('eve')),
    ]
    expect(refusals.map(errorOf)).toEqual(refusals.map(() => [409, 'run.conflict']))
    const words = refusals.map(({ body: said }) => (said as { error: { message: string } }).error.message)
    expect(new Set(words)).toEqual(new Set(['the run id "known" is taken']))
    // whose it is, is told what differs
    const mine = await all.post('/runs', { ...body, input: 'another' }, as('ann'))
    expect(mine.body).toMatchObject({ error: { message: expect.stringContaining('another input') } })
  })
})

describe('a principal of some agents', () => {
  test('starts these alone and sees their runs alone, page by page; nothing that others share', async () => {
    const all = await served()
    for (let i = 0; i < 5; i++) {
      await all.runtime.run('echo', 'x', { runId: `e${i}`, tenant: 'acme' })
      await all.runtime.start('poster', 'x', { runId: `p${i}`, tenant: 'acme' })
      await asked(all, `p${i}`)
    }
    await all.runtime.run('echo', 'x', { runId: 'foreign', tenant: 'globex' })
    const seen: string[] = []
    for (let after = ''; ;) {
      const page = await all.get(`/runs?limit=2${after}`, as('narrow'))
      seen.push(...itemsOf<{ run: string }>(page).map(({ run }) => run))
      const { next } = page.body as { readonly next?: string }
      if (next === undefined) break
      after = `&after=${encodeURIComponent(next)}`
    }
    expect(seen).toEqual(['e4', 'e3', 'e2', 'e1', 'e0'])
    expect(itemsOf(await all.get('/questions?limit=2', as('narrow')))).toEqual([])
    expect(itemsOf(await all.get('/runs?agent=poster', as('narrow')))).toEqual([])
    expect((await all.get('/agents', as('narrow'))).body).toMatchObject([{ name: 'echo' }])
    expect(errorOf(await all.get('/runs/p0', as('narrow')))).toEqual([404, 'run.unknown'])
    const question = (await all.runtime.approvals({ run: 'p0' }))[0]!.id
    expect(errorOf(await all.post(`/approvals/${question}/decision`, { decision: 'approve' }, as('narrow')))).toEqual([
      404,
      'approval.unknown',
    ])
    for (const name of ['poster', 'nothing', 'absent']) {
      const refused = await all.post('/runs', { agent: name, input: 'x' }, as('narrow'))
      expect(errorOf(refused)).toEqual([404, 'agent.not-registered'])
      expect((refused.body as { error: { hint: string } }).error.hint).toContain('Registered: echo.')
    }
    expect((await all.post('/runs', { agent: 'echo', input: 'x' }, as('narrow'))).status).toBe(201)
    expect((await all.get('/me', as('narrow'))).body).toMatchObject({ agents: ['echo', 'absent'] })
    expect(await (await fetch(`${all.server.url}/v1/models`, { headers: as('narrow') })).json()).toMatchObject({
      data: [{ id: 'echo' }],
    })
    expect((await all.get('/system', as('narrow'))).body).toMatchObject({ runs: {} })
  })
})

test('a card of an agent that belongs to tenants is for them; one that is everybody’s is open', async () => {
  const all = await served({ tenants: { acme: { agents: ['echo'] } } })
  const card = async (headers: Record<string, string>): Promise<number> =>
    (
      await fetch(`${all.server.url}/a2a/echo/.well-known/agent-card.json`, {
        headers: { 'A2A-Version': '1.0', ...headers },
      })
    ).status
  expect([await card({}), await card(as('eve')), await card(as('ann')), await card(as('root'))]).toEqual([
    404, 404, 200, 200,
  ])
  expect(await card({ Authorization: 'Bearer unknown' })).toBe(401)
})
