/** Who makes a request, and which requests are looked at: the parts, without a server. */
import { describe, expect, test } from 'vitest'
import { createAccess, type AccessOptions } from '../../src/server/access/access.ts'
import { allows, asPrincipal, principalProblems } from '../../src/server/access/principal.ts'
import { RateLimit } from '../../src/server/access/rate-limit.ts'
import { jsonBody } from '../../src/server/access/request-body.ts'
import type { Role } from '../../src/server/wire.ts'
import { manualClock } from '../../src/testing/index.ts'

const token = 'a-token-that-is-long-enough'
const other = 'another-token-that-is-long-enough'
const auth = {
  tokens: {
    [token]: { name: 'Ann', roles: ['approver'] },
    [other]: { name: 'bob', roles: ['admin'], tenant: 'acme' },
  },
} as const
const at = (path: string, init: RequestInit = {}): Request => new Request(`http://127.0.0.1:4040${path}`, init)
const bearer = (secret: string): RequestInit => ({ headers: { authorization: `Bearer ${secret}` } })
const codeOf = async (doing: () => unknown): Promise<string> => {
  try {
    await doing()
    return 'let in'
  } catch (thrown) {
    return (thrown as { readonly code?: string }).code ?? String(thrown)
  }
}

describe('a principal', () => {
  test('a role includes what it includes', () => {
    const roles: readonly Role[] = ['viewer', 'operator', 'approver', 'admin']
    const table = roles.map((has) => roles.map((needs) => allows({ roles: [has] }, needs)))
    expect(table).toEqual([
      [true, false, false, false],
      [true, true, false, false],
      [true, false, true, false],
      [true, true, true, true],
    ])
    expect(roles.map((needs) => allows({ roles: [] }, needs))).toEqual([false, false, false, false])
    expect(roles.map((needs) => allows({ roles: ['operator', 'approver'] }, needs))).toEqual([true, true, true, false])
  })

  test.each([
    ['no object', 'ann'],
    ['no name', { roles: [] }],
    ['a name that nobody sees', { name: '\u200b \u202e', roles: [] }],
    ['a name with something invisible in it', { name: 'b\u200bob', roles: [] }],
    ['a name with a space around it', { name: 'bob ', roles: [] }],
    ['a name in another form than it is recorded in', { name: 'Rene\u0301', roles: [] }],
    ['a name of full width', { name: '\uff42ob', roles: [] }],
    ['a name with a blank that is no space', { name: 'bob\u2800', roles: [] }],
    ['a name without end', { name: 'a'.repeat(257), roles: [] }],
    ['no roles', { name: 'ann' }],
    ['a role that is none', { name: 'ann', roles: ['root'] }],
    ['a role that every object has', { name: 'ann', roles: ['constructor'] }],
    ['roles that are no list', { name: 'ann', roles: 'admin' }],
    ['a misspelt tenant, which would see all runs', { name: 'ann', roles: [], tenent: 'acme' }],
    ['a tenant that is no name', { name: 'ann', roles: [], tenant: 'a/b' }],
    ['an empty tenant', { name: 'ann', roles: [], tenant: '' }],
    ['members that it inherits', Object.create({ name: 'ann', roles: ['admin'] })],
    [
      'accessors of its class',
      new (class {
        get name() {
          return 'ann'
        }
        get roles() {
          return ['admin']
        }
      })(),
    ],
  ])('is refused with %s', (_what, given) => {
    expect(principalProblems(given, 'auth')).not.toEqual([])
  })

  test('is recorded under the name that it has, in any script', () => {
    for (const name of ['Ann Lee', 'Renée', 'Сара', '山田 太郎', 'ann@example.com'])
      expect(principalProblems({ name, roles: [] }, 'auth')).toEqual([])
    expect(asPrincipal({ name: 'Ann Lee', roles: ['viewer', 'viewer'], tenant: 'acme' })).toEqual({
      name: 'Ann Lee',
      roles: ['viewer'],
      tenant: 'acme',
    })
  })
})

describe('authentication', () => {
  const rule = { role: 'viewer' } as const
  const enter = (options: AccessOptions, request: Request): Promise<string> =>
    codeOf(() => createAccess(options).enter(request, rule, '10.0.0.1'))

  test('a bearer token lets its principal in, and no other text does', async () => {
    const access = createAccess({ auth })
    expect(await access.enter(at('/api/runs', bearer(token)), rule)).toMatchObject({
      principal: { name: 'Ann', roles: ['approver'] },
      via: 'bearer',
    })
    for (const wrong of [`${token}x`, token.slice(1), token.toUpperCase(), '__proto__', 'constructor', '-'])
      expect(await enter({ auth }, at('/api/runs', bearer(wrong)))).toBe('request.not-authenticated')
    expect(await enter({ auth }, at('/api/runs'))).toBe('request.not-authenticated')
    expect(await enter({ auth }, at('/api/runs', { headers: { authorization: `Basic ${token}` } }))).toBe(
      'request.not-authenticated',
    )
    expect(await enter({ auth }, at(`/api/runs?token=${token}`))).toBe('request.not-authenticated')
  })

  test('without auth one token lets in, drawn anew for each server', async () => {
    const [one, two] = [createAccess({}), createAccess({})]
    expect(one.token).toMatch(/^[\w-]{43}$/)
    expect(one.token).not.toBe(two.token)
    expect(await one.enter(at('/api/runs', bearer(one.token!)), rule)).toMatchObject({ via: 'local' })
    expect(await codeOf(() => two.enter(at('/api/runs', bearer(one.token!)), rule))).toBe('request.not-authenticated')
    expect(createAccess({ auth }).token).toBeUndefined()
  })

  test('what a verify function says is checked, and its failure lets nobody in', async () => {
    const principal = { name: 'ann', roles: ['viewer'] } as const
    expect(await enter({ auth: () => principal }, at('/'))).toBe('let in')
    expect(await enter({ auth: async () => Promise.resolve(principal) }, at('/'))).toBe('let in')
    expect(await enter({ auth: () => undefined }, at('/'))).toBe('request.not-authenticated')
    expect(await enter({ auth: () => ({ ...principal, tenent: 'a' }) as never }, at('/'))).toBe('hook.failed')
    expect(await enter({ auth: () => 'ann' as never }, at('/'))).toBe('hook.failed')
    expect(await enter({ auth: () => Promise.reject(new Error('database away')) }, at('/'))).toBe('hook.failed')
  })

  test('guesses from one address are counted, and those of others are not', async () => {
    const clock = manualClock()
    const access = createAccess({ auth }, clock)
    const ask = (secret: string, peer: string): Promise<string> =>
      codeOf(() => access.enter(at('/', bearer(secret)), rule, peer))
    for (let i = 0; i < 20; i++) expect(await ask(`guess ${i}`, '10.0.0.1')).toBe('request.not-authenticated')
    expect(await ask('one more', '10.0.0.1')).toBe('request.too-many')
    expect(await ask(token, '10.0.0.1')).toBe('request.too-many')
    expect(await ask(token, '10.0.0.2')).toBe('let in')
    clock.advance(1_000)
    expect(await ask(token, '10.0.0.1')).toBe('let in')
  })

  test('a route of another role is refused, and one that tenants share', async () => {
    const access = createAccess({ auth })
    expect(await codeOf(() => access.enter(at('/', bearer(token)), { role: 'operator' }))).toBe('request.forbidden')
    expect(await codeOf(() => access.enter(at('/', bearer(token)), { role: 'approver' }))).toBe('let in')
    expect(await codeOf(() => access.enter(at('/', bearer(other)), { role: 'admin', isShared: true }))).toBe(
      'request.forbidden',
    )
  })
})

describe('where a request was sent', () => {
  const admit = (headers: Record<string, string>, options: AccessOptions = {}, isPage = false, method = 'GET') =>
    codeOf(() => createAccess(options).admit(at('/api/runs', { method, headers }), isPage))

  test.each(['127.0.0.1', '127.0.0.1:4040', 'localhost:1', '[::1]:80', 'LOCALHOST', 'localhost.:80'])(
    'loopback is right: %s',
    async (host) => expect(await admit({ host })).toBe('let in'),
  )
  test.each([
    'evil.example',
    'evil.example:4040',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '127.0.0.1@evil',
    '',
    '10.0.0.1',
    '[::2]',
    '127.0.0.1, evil',
    '2130706433',
  ])('a name that was pointed here is refused: %s', async (host) =>
    expect(await admit({ host })).toBe('request.forbidden'),
  )
  test('named hosts are right, with a port only at that port', async () => {
    const hosts = ['reeve.example.com', 'other.example:8080']
    expect(await admit({ host: 'reeve.example.com:99' }, { hosts })).toBe('let in')
    expect(await admit({ host: 'other.example:8080' }, { hosts })).toBe('let in')
    expect(await admit({ host: 'other.example' }, { hosts })).toBe('request.forbidden')
  })
  test.each([
    'http://evil.example',
    'null',
    'http://127.0.0.1:3000',
    'http://localhost:4040',
    'file://',
    'http://127.0.0.1:4040.evil.example',
    'http://127.0.0.1:4040/',
  ])('a page of another origin is refused: %s', async (origin) =>
    expect(await admit({ host: '127.0.0.1:4040', origin })).toBe('request.forbidden'),
  )
  test('its own page and a named origin may call', async () => {
    expect(await admit({ host: '127.0.0.1:4040', origin: 'http://127.0.0.1:4040' })).toBe('let in')
    const origins = ['https://app.example.com']
    expect(await admit({ origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' }, { origins })).toBe(
      'let in',
    )
    expect(await admit({ origin: 'https://app.example.com.evil.example' }, { origins })).toBe('request.forbidden')
  })
  test('a browser that says that another site asks is believed; a link may open a page', async () => {
    expect(await admit({ 'sec-fetch-site': 'cross-site' })).toBe('request.forbidden')
    expect(await admit({ 'sec-fetch-site': 'same-site' })).toBe('request.forbidden')
    expect(await admit({ 'sec-fetch-site': 'same-origin' })).toBe('let in')
    expect(await admit({ 'sec-fetch-site': 'none' })).toBe('let in')
    const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    expect(await admit(opened, {}, true)).toBe('let in')
    expect(await admit(opened, {}, false)).toBe('request.forbidden')
    expect(await admit(opened, {}, true, 'POST')).toBe('request.forbidden')
  })
  test('CORS is for named origins alone, exactly', () => {
    const origins = ['https://app.example.com']
    const access = createAccess({ auth, origins })
    const asked = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }
    const preflight = access.admit(at('/api/runs', { method: 'OPTIONS', headers: asked }))!
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const finished = access.finish(at('/', { headers: { origin: origins[0]! } }), new Response('x'))
    expect(finished.headers.get('vary')).toBe('Origin')
    const plain = createAccess({ auth }).finish(at('/', { headers: { origin: origins[0]! } }), new Response('x'))
    expect(plain.headers.get('access-control-allow-origin')).toBeNull()
    expect(plain.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'/)
    expect(plain.headers.get('content-security-policy')).not.toContain('unsafe')
  })
  test('another host than loopback needs auth', () => {
    expect(() => createAccess({}).bind('0.0.0.0')).toThrow(expect.objectContaining({ code: 'config.invalid' }))
    expect(() => createAccess({}).bind('127.0.0.1')).not.toThrow()
    const access = createAccess({ auth })
    access.bind('10.1.2.3')
    expect(() => access.admit(at('/', { headers: { host: '10.1.2.3:80' } }))).not.toThrow()
  })
})

describe('a browser', () => {
  const cookieOf = (header: string): string => header.split(';')[0]!
  const begin = async (options: AccessOptions & { clock?: ReturnType<typeof manualClock> }) => {
    const { clock, ...others } = options
    const access = createAccess(others, clock)
    const { cookie } = await access.beginSession(at('/api/session', { method: 'POST' }), token)
    return { access, header: cookie, cookie: cookieOf(cookie) }
  }
  const rule = { role: 'viewer' } as const

  test('gets a cookie that no script reads and no other site sends', async () => {
    const { access, header, cookie } = await begin({ auth })
    expect(header).toMatch(/^reeve_4040=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(header).not.toContain(token)
    expect(await access.enter(at('/api/runs', { headers: { cookie } }), rule)).toMatchObject({
      principal: { name: 'Ann', roles: ['approver'] },
      via: 'cookie',
    })
  })
  test('over TLS the cookie is for TLS and this host alone', async () => {
    const access = createAccess({ auth, hosts: ['reeve.example.com'] })
    const request = new Request('https://reeve.example.com/api/session', { method: 'POST' })
    const { cookie } = await access.beginSession(request, token)
    expect(cookie).toMatch(/^__Host-reeve=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
  })
  test('needs the header for a change, and not to read', async () => {
    const { access, cookie } = await begin({ auth })
    const post = (headers: Record<string, string>) =>
      codeOf(() => access.enter(at('/api/runs', { method: 'POST', headers: { cookie, ...headers } }), rule))
    expect(await post({})).toBe('request.forbidden')
    expect(await post({ 'content-type': 'application/x-www-form-urlencoded' })).toBe('request.forbidden')
    expect(await post({ 'x-reeve': '1' })).toBe('let in')
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie } }), rule))).toBe('let in')
  })
  test('a changed, ended, expired or foreign cookie lets nobody in', async () => {
    const clock = manualClock()
    const { access, cookie } = await begin({ auth, clock })
    const enter = (given: string, by = access) => codeOf(() => by.enter(at('/', { headers: { cookie: given } }), rule))
    expect(await enter(cookie)).toBe('let in')
    const [name, value = ''] = cookie.split('=')
    const [body = '', signature = ''] = value.split('.')
    const forged = Buffer.from(
      JSON.stringify({
        ...JSON.parse(Buffer.from(body, 'base64url').toString()),
        principal: { name: 'eve', roles: ['admin'] },
      }),
    ).toString('base64url')
    for (const wrong of [
      `${forged}.${signature}`,
      `${body}.`,
      body,
      `${body}.${signature.slice(1)}`,
      `${body}.${signature}.x`,
      '',
    ])
      expect(await enter(`${name}=${wrong}`)).toBe('request.not-authenticated')
    expect(await enter(cookie, createAccess({ auth }, clock))).toBe('request.not-authenticated')
    clock.advance(12 * 3_600_000)
    expect(await enter(cookie)).toBe('request.not-authenticated')
    const again = await access.beginSession(at('/api/session', { method: 'POST' }), token)
    const second = cookieOf(again.cookie)
    expect(await enter(second)).toBe('let in')
    expect(access.endSession(at('/', { headers: { cookie: second } }))).toContain('Max-Age=0')
    expect(await enter(second)).toBe('request.not-authenticated')
  })
  test('stays signed in over a restart with the same secret', async () => {
    const session = { secret: 'the same secret in every server, long' }
    const { cookie } = await begin({ auth, session })
    const restarted = createAccess({ auth, session })
    expect(await restarted.enter(at('/', { headers: { cookie } }), rule)).toMatchObject({ principal: { name: 'Ann' } })
  })
  test('a wrong token gives no cookie, and guesses are counted', async () => {
    const access = createAccess({ auth }, manualClock())
    const sign = (secret: string) =>
      codeOf(() => access.beginSession(at('/api/session', { method: 'POST' }), secret, '10.0.0.9'))
    for (let i = 0; i < 20; i++) expect(await sign(`wrong\r\nX-Evil: ${i}`)).toBe('request.not-authenticated')
    expect(await sign(token)).toBe('request.too-many')
  })
})

describe('limits', () => {
  test('a caller asks so often, and again after a while; memory is bounded', async () => {
    const clock = manualClock()
    const limit = new RateLimit(2, 3, clock)
    expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([true, true, true, false])
    expect(limit.take('b')).toBe(true)
    clock.advance(500)
    expect([1, 2].map(() => limit.take('a'))).toEqual([true, false])
    for (let i = 0; i < 20_000; i++) limit.take(`key ${i}`)
    expect(limit.size).toBe(10_000)
  })
  test('a principal has so many streams open at once', async () => {
    const access = createAccess({ auth, limits: { streams: 2 } })
    const enter = () => access.enter(at('/', bearer(token)), { role: 'viewer', isStream: true })
    const first = await enter()
    await enter()
    expect(await codeOf(enter)).toBe('request.too-many')
    first.leave()
    first.leave()
    expect(await codeOf(enter)).toBe('let in')
    expect(await codeOf(enter)).toBe('request.too-many')
  })
  test('of a body that is too large no more is read, whatever it says', async () => {
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(1_000).fill(32))
      },
    })
    const request = at('/', {
      method: 'POST',
      body: endless,
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
    })
    expect(await codeOf(() => jsonBody(request, { bytes: 10_000, depth: 10 }))).toBe('input.too-large')
    expect(pulled).toBeLessThan(15)
  })
  test.each([
    ['no JSON', '{', 'application/json', 'input.invalid'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'application/json', 'input.invalid'],
    ['nests too deep', '['.repeat(12) + ']'.repeat(12), 'application/json', 'input.invalid'],
    ['is a form', 'a=1', 'application/x-www-form-urlencoded', 'request.not-json'],
    ['is text', '{}', 'text/plain', 'request.not-json'],
    ['is JSON', '{"a":[1]}', 'application/json; charset=utf-8', 'let in'],
  ])('a body that %s', async (_what, body, type, code) => {
    const request = at('/', { method: 'POST', body, headers: { 'content-type': type } })
    expect(await codeOf(() => jsonBody(request, { bytes: 1_000, depth: 10 }))).toBe(code)
  })
})
