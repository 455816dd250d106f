/** Who may do what, over real HTTP: every route of the table with every role, other tenants, hostile pages, links. */
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { agent } from '@reeve/public'
import { allows } from '../src/access/principal.ts'
import type { Route } from '../src/route.ts'
import { routes } from '../src/routes/index.ts'
import type { Principal, Role } from '../src/wire.ts'
import { serving, type Serving } from './serving.ts'

const roles: readonly Role[] = ['viewer', 'operator', 'approver', 'admin']
const tokenOf = (name: string): string => `the-token-of-${name}-which-is-long`
const people: Readonly<Record<string, Principal>> = {
  ...Object.fromEntries(roles.map((role) => [role, { name: role, roles: [role] }])),
  nobody: { name: 'nobody', roles: [] },
  acme: { name: 'alice', roles: ['admin'], tenant: 'acme' },
  other: { name: 'mallory', roles: ['admin'], tenant: 'other' },
}
const auth = { tokens: Object.fromEntries(Object.entries(people).map(([name, each]) => [tokenOf(name), each])) }
const as = (name: string): Record<string, string> => ({ Authorization: `Bearer ${tokenOf(name)}` })

const asks = agent({
  name: 'asks',
  description: 'Pays once it may.',
  run: async (ctx) =>
    (await ctx.approve('pay', { input: { to: '\u202e<b>eve</b>', amount: 5 } })).approved ? 'paid' : 'no',
})

async function withRun(tenant?: string): Promise<Serving & { readonly id: string }> {
  const all = await serving({ agents: [asks] }, { auth, limits: { burst: 100_000 } })
  await all.runtime.start(asks, 'go', { runId: 'r1', ...(tenant === undefined ? {} : { tenant }) })
  const [approval] = await vi.waitUntil(async () => {
    const found = await all.runtime.approvals()
    return found.length > 0 ? found : undefined
  }, 25_000)
  return { ...all, id: approval!.id }
}

/** The path of a route, with what is there. */
const pathOf = ({ path }: Route, id: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ({ run: 'r1', other: 'r1', id })[name] ?? 'none')

/** Calls a route and reads no more than its status. */
async function statusOf(
  { server }: Serving,
  { method }: Route,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  const response = await fetch(`${server.url}/api${path}`, {
    method,
    headers: { ...headers, 'Content-Type': 'application/json' },
    // a body that no schema takes: the role is asked for before
    ...(method === 'POST' ? { body: '{"no such member":1}' } : {}),
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  return response.status
}

describe('the whole table', () => {
  test('every role, every route: let in or 403 as the role of the route says; nobody: 401', async () => {
    const all = await withRun()
    const wrong: string[] = []
    for (const route of routes) {
      const path = pathOf(route, all.id)
      const label = `${route.method} ${route.path}`
      if (route.role === 'open') continue
      const unknown = await statusOf(all, route, path, {})
      if (unknown !== 401) wrong.push(`${label}: ${unknown} without a credential`)
      for (const name of ['nobody', ...roles]) {
        if (label === 'DELETE /runs/{run}' && name === 'admin') continue
        const status = await statusOf(all, route, path, as(name))
        const isLetIn = allows(people[name]!, route.role)
        if ((status === 403) === isLetIn) wrong.push(`${label}: ${status} as ${name}`)
      }
    }
    expect(wrong).toEqual([])
    expect(all.errors).toEqual([])
  })

  test('another tenant: on every route a run, an approval and a question of acme are not there', async () => {
    const all = await withRun('acme')
    const wrong: string[] = []
    const scoped = routes.filter(({ path, role }) => role !== 'open' && /\{(?:run|other|id)\}/.test(path))
    expect(scoped.length).toBeGreaterThan(10)
    for (const route of scoped) {
      const there = await fetchJson(all, route, pathOf(route, all.id), as('other'))
      const missing = await fetchJson(all, route, pathOf(route, 'apr_none').replaceAll('r1', 'r9'), as('other'))
      const said = JSON.stringify(there)
        .replaceAll(all.id, 'apr_none')
        .replaceAll(/\br1\b/g, 'r9')
      if (said !== JSON.stringify(missing) || ![404, 400].includes(there.status))
        wrong.push(`${route.method} ${route.path}: ${said} instead of ${JSON.stringify(missing)}`)
    }
    expect(wrong).toEqual([])
    expect((await all.get('/runs', as('other'))).body).toMatchObject({ items: [] })
    expect((await all.get('/questions', as('other'))).body).toMatchObject({ items: [] })
    expect((await all.get('/runs', as('acme'))).body).toMatchObject({ items: [{ run: 'r1' }] })
    expect((await all.get('/questions', as('acme'))).body).toMatchObject({ items: [{ id: all.id }] })
    for (const route of routes.filter(({ resource }) => resource === 'installation'))
      expect(await statusOf(all, route, pathOf(route, all.id), as('acme'))).toBe(403)
    expect(await all.post(`/approvals/${all.id}/decision`, { decision: 'approve' }, as('other'))).toMatchObject({
      status: 404,
    })
    expect(await all.runtime.approvals()).toHaveLength(1)
    expect(await all.post(`/approvals/${all.id}/decision`, { decision: 'approve' }, as('acme'))).toMatchObject({
      status: 204,
    })
  })

  test('who decides too late is told so in a tenant, too, and nobody of another one', async () => {
    const all = await withRun('acme')
    const decide = (name: string): Promise<object> =>
      all.post(`/approvals/${all.id}/decision`, { decision: 'approve' }, as(name))
    expect(await decide('acme')).toMatchObject({ status: 204 })
    await all.runtime.handle('r1').outcome()
    expect(await decide('acme')).toMatchObject({ status: 409, body: { error: { code: 'approval.already-decided' } } })
    expect(await decide('other')).toMatchObject({ status: 404, body: { error: { code: 'approval.unknown' } } })
    const link = (name: string): Promise<object> => all.post(`/approvals/${all.id}/link`, { approver: 'Ann' }, as(name))
    expect(await link('acme')).toMatchObject({ status: 409 })
    expect(await link('other')).toMatchObject({ status: 404 })
  })

  test('what a tenant starts is the tenant’s', async () => {
    const all = await withRun('acme')
    expect(await all.post('/runs', { agent: 'asks', input: 'go', runId: 'r2' }, as('other'))).toMatchObject({
      status: 201,
    })
    expect((await all.runtime.handle('r2').summary()).caller).toMatchObject({ tenant: 'other', user: 'mallory' })
    expect(await all.get('/runs/r2', as('acme'))).toMatchObject({ status: 404 })
    expect(await all.post('/runs', { agent: 'asks', input: 'go', tenant: 'acme' }, as('other'))).toMatchObject({
      status: 400,
    })
  })

  test('GET and HEAD change nothing', async () => {
    const all = await withRun()
    const { token } = await all.runtime.links.create({ approvalId: all.id, approver: 'Ann' })
    const before = await all.runtime.handle('r1').journal()
    for (const route of routes.filter(({ method }) => method === 'GET'))
      for (const method of ['GET', 'HEAD'] as const) {
        const path = pathOf(route, all.id).replace('/links/none', `/links/${token}`)
        const response = await fetch(`${all.server.url}/api${path}`, {
          method,
          headers: as('admin'),
          signal: AbortSignal.timeout(10_000),
        })
        await response.body?.cancel()
      }
    expect(await all.runtime.handle('r1').journal()).toEqual(before)
    expect(await all.runtime.approvals()).toHaveLength(1)
    expect(await all.runtime.runs()).toHaveLength(1)
  })
})

async function fetchJson(
  { server }: Serving,
  { method, body, path: pattern }: Route,
  path: string,
  headers: Record<string, string>,
) {
  const response = await fetch(`${server.url}/api${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(bodies[pattern] ?? {}) }),
    signal: AbortSignal.timeout(10_000),
  })
  return { status: response.status, body: await response.text() }
}
/** Bodies that the schema takes, so that the handler is reached. */
const bodies: Readonly<Record<string, unknown>> = {
  '/approvals/{id}/decision': { decision: 'approve' },
  '/approvals/{id}/link': { approver: 'Ann' },
  '/interrupts/{id}/answer': { value: 1 },
  '/questions/{id}/settle': { happened: true },
}

/** A request as a hostile page or program would send it. */
function raw(
  { server }: Serving,
  path: string,
  init: { method?: string; headers: Record<string, string>; body?: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method: init.method ?? 'GET', headers: init.headers },
      (response) => (response.resume(), resolve(response.statusCode ?? 0)),
    )
    request.on('error', reject)
    request.end(init.body)
  })
}

describe('a hostile page', () => {
  test('reaches nothing by a name that points here, on any path, with or without a token', async () => {
    const all = await withRun()
    for (const path of ['/api/health', '/api/runs', '/api/links/x', '/api/runs/r1/feed', '/', '/nothing'])
      expect(await raw(all, path, { headers: { ...as('admin'), host: `evil.example:${all.server.port}` } })).toBe(403)
    expect(await raw(all, '/api/health', { headers: { host: `localhost:${all.server.port}` } })).toBe(200)
  })

  test('reaches nothing by a path that is written in another way', async () => {
    const all = await withRun()
    const opened = { ...as('admin'), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    for (const path of ['/api/runs', '/%61pi/runs', '/api/%72uns', '/./api/runs'])
      expect(await raw(all, path, { headers: opened }), path).toBe(403)
  })

  test('reaches nothing by a target with another host than its header', async () => {
    const all = await withRun()
    const headers = { ...as('admin'), host: `127.0.0.1:${all.server.port}` }
    expect(await raw(all, 'http://evil.example/api/runs', { headers })).toBe(400)
    expect(await raw(all, `http://127.0.0.1:${all.server.port}/api/runs`, { headers })).toBe(200)
  })

  test('is refused by its origin, for reading, streams and changes', async () => {
    const all = await withRun()
    const origin = { origin: 'https://evil.example', host: `127.0.0.1:${all.server.port}` }
    expect(await raw(all, '/api/runs', { headers: { ...as('admin'), ...origin } })).toBe(403)
    expect(await raw(all, '/api/runs/r1/feed', { headers: { ...as('admin'), ...origin } })).toBe(403)
    expect(await raw(all, '/api/runs/r1/cancel', { method: 'POST', headers: { ...as('admin'), ...origin } })).toBe(403)
    expect(
      await raw(all, '/api/runs', {
        method: 'OPTIONS',
        headers: { ...origin, 'access-control-request-method': 'POST' },
      }),
    ).toBe(403)
  })

  test('cannot use the cookie of a signed-in browser by a form', async () => {
    const all = await withRun()
    const signed = await all.post('/session', { token: tokenOf('admin') }, { Authorization: '' })
    expect(signed).toMatchObject({ status: 200, body: { name: 'admin', via: 'cookie' } })
    const cookie = signed.headers.getSetCookie()[0]!.split(';')[0]!
    const post = (headers: Record<string, string>, body = ''): Promise<number> =>
      raw(all, `/api/approvals/${all.id}/decision`, { method: 'POST', headers: { cookie, ...headers }, body })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(await post(form, 'decision=approve')).toBe(403)
    expect(await post({ 'content-type': 'text/plain' }, '{"decision":"approve"}')).toBe(403)
    expect(await post({ 'content-type': 'application/json' }, '{"decision":"approve"}')).toBe(403)
    expect(await post({ ...form, 'x-reeve': '1' }, 'decision=approve')).toBe(415)
    expect(
      await post(
        { 'content-type': 'application/json', 'x-reeve': '1', 'sec-fetch-site': 'same-site' },
        '{"decision":"approve"}',
      ),
    ).toBe(403)
    expect(await all.runtime.approvals()).toHaveLength(1)
    expect(await post({ 'content-type': 'application/json', 'x-reeve': '1' }, '{"decision":"approve"}')).toBe(204)
    await all.runtime.handle('r1').outcome()
    expect((await all.runtime.audit('r1')).entries.find(({ what }) => what === 'approval.decided')).toMatchObject({
      who: 'admin',
    })
    expect(await raw(all, '/api/session', { method: 'DELETE', headers: { cookie, 'x-reeve': '1' } })).toBe(204)
    expect(await raw(all, '/api/me', { headers: { cookie } })).toBe(401)
  })

  test('cannot fill memory by a body without end', async () => {
    const all = await withRun()
    const socket = connect(all.server.port, '127.0.0.1')
    socket.write(
      `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${tokenOf('admin')}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    let sent = 0
    const status = await new Promise<string>((resolve) => {
      const more = (): void => {
        while (!socket.destroyed && sent < 100_000_000 && socket.write(chunk)) sent += 65_536
      }
      socket.on('drain', more)
      socket.on('error', () => {})
      socket.once('data', (data) => resolve(data.toString().split('\r\n')[0]!))
      more()
    })
    socket.destroy()
    expect(status).toBe('HTTP/1.1 413 Payload Too Large')
    expect(sent).toBeLessThan(20_000_000)
    expect(await all.get('/health')).toMatchObject({ status: 200 })
  })

  test('every response says what a browser may not do', async () => {
    const all = await withRun()
    for (const path of ['/health', '/runs', '/nothing']) {
      const { headers } = await all.get(path, as('viewer'))
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect((await all.get('/runs', { Authorization: '' })).headers.get('www-authenticate')).toMatch(/^Bearer/)
  })
})

describe('an approval link', () => {
  const opened = (url: string, init: RequestInit = {}): Promise<Response> => fetch(url, init)
  const decide = (url: string, decision = 'approve', headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, { method: 'POST', headers, body: new URLSearchParams({ decision, comment: 'seen' }) })
  const issue = async (all: Serving & { readonly id: string }): Promise<string> => {
    const { status, body } = await all.post(`/approvals/${all.id}/link`, { approver: 'Ann' }, as('admin'))
    expect(status).toBe(201)
    return (body as { readonly url: string }).url
  }

  test('shows a page without script to anyone, decides nothing by it, and decides once by a post', async () => {
    const all = await withRun()
    const url = await issue(all)
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await opened(url, { method })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).toContain("script-src 'none'")
      const page = await response.text()
      if (method === 'HEAD') continue
      expect(page).toContain('&lt;b&gt;eve&lt;/b&gt;')
      expect(page).toContain(String.raw`\u202e`)
      expect(page).not.toContain('<b>')
      expect(page).not.toContain('<script')
      expect(page).not.toContain('\u202e')
    }
    const followed = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      host: `127.0.0.1:${all.server.port}`,
    }
    expect(await raw(all, new URL(url).pathname, { headers: followed })).toBe(200)
    expect(await raw(all, new URL(url).pathname, { method: 'POST', headers: followed })).toBe(403)
    expect(await all.runtime.approvals()).toHaveLength(1)
    expect((await decide(url, 'approve', { origin: 'https://evil.example' })).status).toBe(403)
    expect((await decide(url, 'edit')).status).toBe(400)
    const both = await Promise.all([decide(url), decide(url, 'reject')])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    const again = await decide(url)
    expect(again.status).toBe(409)
    expect(await again.text()).toContain('This was decided already')
    await all.runtime.handle('r1').outcome()
    const decided = (await all.runtime.audit('r1')).entries.find(({ what }) => what === 'approval.decided')
    expect(decided).toMatchObject({ who: 'Ann', evidence: { link: { by: 'admin' } } })
  })

  test('of a run that was cancelled, and removed, it decides nothing, and says so to a person outside', async () => {
    const all = await withRun()
    const url = await issue(all)
    const run = all.runtime.handle('r1')
    await run.control.cancel('no longer needed')
    await run.outcome()
    const gone = async (status: number): Promise<void> => {
      for (const response of [await opened(url), await decide(url)]) {
        expect(response.status).toBe(status)
        const page = await response.text()
        expect(page).toContain('Nothing is left to decide. You can close this page.')
        expect(page).not.toMatch(/runtime\.|reeve (show|approve)|onTimeout/)
      }
    }
    await gone(409)
    await all.runtime.remove(run.id)
    await gone(404)
  })

  test('is issued in one\u2019s own name, or by an admin: nobody has the decision of another in hand', async () => {
    const all = await withRun()
    const ask = (approver: string, who: string) => all.post(`/approvals/${all.id}/link`, { approver }, as(who))
    for (const name of ['Ann', 'admin', 'APPROVER', 'approver2', 'appr\u03bfver'])
      expect(await ask(name, 'approver')).toMatchObject({ status: 403, body: { error: { code: 'request.forbidden' } } })
    expect(await ask('approver', 'operator')).toMatchObject({ status: 403 })
    expect(await all.runtime.links.list(all.id)).toEqual([])
    expect(await ask('approver', 'approver')).toMatchObject({ status: 201 })
    expect(await ask('Ann', 'admin')).toMatchObject({ status: 201 })
  })

  test('of an approval that names its approvers: only for one of them, by them or by an admin', async () => {
    const all = await serving({ agents: [asks] }, { auth })
    const approvers = [{ who: ['approver', 'cfo'] }]
    await all.runtime.start(asks, 'go', { runId: 'r1', oversight: { approval: { approvers } } })
    const [approval] = await vi.waitUntil(async () => {
      const found = await all.runtime.approvals()
      return found.length > 0 ? found : undefined
    }, 25_000)
    const ask = (approver: string, who: string) => all.post(`/approvals/${approval!.id}/link`, { approver }, as(who))
    expect(await ask('cfo', 'approver')).toMatchObject({ status: 403 })
    expect(await ask('admin', 'admin')).toMatchObject({ status: 403, body: { error: { code: 'approval.forbidden' } } })
    expect(await ask('cfo', 'admin')).toMatchObject({ status: 201 })
    expect(await ask('approver', 'approver')).toMatchObject({ status: 201 })
  })

  test('is listed for those whose it is, and revoked by them', async () => {
    const all = await withRun()
    const own = await all.post(`/approvals/${all.id}/link`, { approver: 'approver' }, as('approver'))
    const url = await issue(all)
    const listed = async (who: string): Promise<readonly { readonly id: string; readonly approver: string }[]> =>
      (await all.get(`/approvals/${all.id}/links`, as(who))).body as never
    const names = async (who: string) => (await listed(who)).map(({ approver }) => approver)
    expect(await names('approver')).toEqual(['approver'])
    expect(await names('admin')).toEqual(['approver', 'Ann'])
    expect(JSON.stringify(await listed('admin'))).not.toContain(url.split('/').at(-1))
    const [mine, anns] = await listed('admin')
    const revoke = async (link: string, who: string): Promise<number> =>
      (await fetch(`${all.server.url}/api/approvals/${all.id}/links/${link}`, { method: 'DELETE', headers: as(who) }))
        .status
    expect(await revoke(mine!.id, 'operator')).toBe(403)
    expect(await revoke(mine!.id, 'other')).toBe(404)
    expect(await revoke(anns!.id, 'approver')).toBe(404)
    expect(await revoke('none', 'admin')).toBe(404)
    expect((await opened(url)).status).toBe(200)
    expect(await revoke(anns!.id, 'admin')).toBe(204)
    expect(await revoke(mine!.id, 'approver')).toBe(204)
    for (const gone of [url, (own.body as { readonly url: string }).url]) {
      expect((await opened(gone)).status).toBe(409)
      const late = await decide(gone)
      expect(late.status).toBe(409)
      expect(await late.text()).toContain('This link was revoked')
    }
    expect(await all.runtime.approvals()).toHaveLength(1)
    expect(await listed('admin')).toMatchObject([{ revoked: { by: 'approver' } }, { revoked: { by: 'admin' } }])
  })

  test('changed, or at another name, it is not known', async () => {
    const all = await withRun()
    const url = await issue(all)
    expect((await opened(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404)
    expect((await opened(url.replace('127.0.0.1', 'localhost'))).status).toBe(404)
    expect((await decide(url.replace('127.0.0.1', 'localhost'))).status).toBe(404)
    expect((await opened(url)).status).toBe(200)
  })
})

describe('the files of the studio', () => {
  let folder = ''
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('are served by their names alone; a page gets the index', async () => {
    folder = mkdtempSync(join(tmpdir(), 'reeve-studio-'))
    const assets = join(folder, 'studio')
    mkdirSync(join(assets, 'assets'), { recursive: true })
    writeFileSync(join(assets, 'index.html'), '<!doctype html><title>studio</title>')
    writeFileSync(join(assets, 'assets', 'main-abc.js'), 'export {}')
    writeFileSync(join(folder, 'secret.txt'), 'secret')
    symlinkSync(join(folder, 'secret.txt'), join(assets, 'link.txt'))
    const all = await serving({}, { assets })
    const get = async (path: string, accept = '*/*'): Promise<readonly [number, string, string | null]> => {
      const response = await fetch(`${all.server.url}${path}`, { headers: { accept } })
      return [response.status, (await response.text()).slice(0, 20), response.headers.get('cache-control')]
    }
    expect(await get('/')).toEqual([200, '<!doctype html><titl', 'no-store'])
    expect(await get('/runs/r1', 'text/html')).toEqual([200, '<!doctype html><titl', 'no-store'])
    expect(await get('/assets/main-abc.js')).toEqual([200, 'export {}', 'public, max-age=31536000, immutable'])
    for (const path of [
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/../../secret.txt',
      '/link.txt',
      '/assets',
      '/nothing.js',
    ])
      expect((await get(path))[0]).toBe(404)
    for (const path of ['/api/nothing', '/nothing.js', '/style.css', '/assets/other.js', '/assets/nothing'])
      expect((await get(path, 'text/html'))[0], path).toBe(404)
    expect(await raw(all, '/../secret.txt', { headers: { host: '127.0.0.1' } })).toBe(404)
  })
})
