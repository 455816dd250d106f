/** Who makes a request, and which requests are looked at: the parts, without a server. */
import { describe, expect, test } from 'vitest'
import { createAccess, type Access, type AccessOptions } from '../src/access/access.ts'
import { authCheck, type BearerTokens } from '../src/access/authentication.ts'
import { allows, asPrincipal, principalProblems } from '../src/access/principal.ts'
import { networkOf } from '../src/access/network.ts'
import { RateLimit } from '../src/access/rate-limit.ts'
import { RequestBodies, type BodyLimits } from '../src/access/request-body.ts'
import type { Denial } from '../src/access/denials.ts'
import type { Values } from '../src/access/session-table.ts'
import type { Json } from '@reeve/core'
import type { Principal, Role } from '../src/wire.ts'
import { manualClock } from '@reeve/testing'

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
const unauthenticated = 'request.not-authenticated'
/** Values as those of a store that several processes share. */
function shared(): Values & { readonly text: () => string } {
  const all = new Map<string, Json>()
  return {
    get: (key) => Promise.resolve(structuredClone(all.get(key) ?? null)),
    update(key, change) {
      all.set(key, structuredClone(change(structuredClone(all.get(key) ?? null))))
      return Promise.resolve(all.get(key)!)
    },
    text: () => JSON.stringify([...all]),
  }
}
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
    expect(await ask('one more', '10.0.0.2')).toBe('request.not-authenticated')
    clock.advance(1_000)
    expect(await ask('and one more', '10.0.0.1')).toBe('request.not-authenticated')
    expect(await ask('and one more', '10.0.0.1')).toBe('request.too-many')
  })

  test('guesses from one network of IPv6 are counted together, and IPv4 that is mapped into it as IPv4', async () => {
    const access = createAccess({ auth }, manualClock())
    const ask = (peer: string): Promise<string> => codeOf(() => access.enter(at('/', bearer('guess')), rule, peer))
    for (let i = 0; i < 20; i++) expect(await ask(`2001:db8:1:2:${i.toString(16)}::1`)).toBe(unauthenticated)
    for (const same of ['2001:db8:1:2::', '2001:0DB8:0001:0002:ffff::%eth0'])
      expect(await ask(same)).toBe('request.too-many')
    for (const next of ['2001:db8:1:3::1', '2001:db8::1', '::1']) expect(await ask(next)).toBe(unauthenticated)
    for (let i = 0; i < 20; i++) expect(await ask('::ffff:10.0.0.1')).toBe(unauthenticated)
    for (const same of ['10.0.0.1', '::ffff:a00:1']) expect(await ask(same)).toBe('request.too-many')
    for (const other of ['::ffff:10.0.0.2', 'unknown', 'a:b']) expect(await ask(other)).toBe(unauthenticated)
  })

  test('a valid token is locked out by no wrong ones of its address', async () => {
    const access = createAccess({ auth }, manualClock())
    const ask = (secret: string): Promise<string> =>
      codeOf(() => access.enter(at('/', bearer(secret)), rule, '10.0.0.1'))
    for (let i = 0; i < 40; i++) await ask(`guess ${i}`)
    expect(await ask('one more')).toBe('request.too-many')
    for (let i = 0; i < 40; i++) expect(await ask(token)).toBe('let in')
    const signed = await access.beginSession(at('/api/session', { method: 'POST' }), token, '10.0.0.1')
    const cookie = signed.cookie.split(';')[0]!
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie } }), rule, '10.0.0.1'))).toBe('let in')
    expect(await ask('one more')).toBe('request.too-many')
  })

  test('of a function that may be guessed, a credential that was right before is let in, and a new one waits', async () => {
    const clock = manualClock()
    const asked: string[] = []
    const right = new Set(['Basic ann', 'Basic bob'])
    const access = createAccess(
      {
        auth(request) {
          const given = request.headers.get('authorization') ?? ''
          asked.push(given)
          return right.has(given) ? { name: 'ann', roles: ['viewer'] } : undefined
        },
      },
      clock,
    )
    const ask = (authorization: string): Promise<string> =>
      codeOf(() => access.enter(at('/', { headers: { authorization } }), rule, '10.0.0.1'))
    expect(await ask('Basic ann')).toBe('let in')
    // those that come at once are as many guesses
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(`Basic ${i}`)))
    expect(answers.filter((code) => code === 'request.not-authenticated')).toHaveLength(20)
    expect(asked).toHaveLength(21)
    expect(await ask('Basic bob')).toBe('request.too-many')
    expect(await ask('Basic ann')).toBe('let in')
    right.delete('Basic ann')
    expect(await ask('Basic ann')).toBe('request.too-many')
    clock.advance(1_000)
    expect(await ask('Basic bob')).toBe('let in')
  })

  test('a route of another role is refused, and one that tenants share', async () => {
    const access = createAccess({ auth })
    expect(await codeOf(() => access.enter(at('/', bearer(token)), { role: 'operator' }))).toBe('request.forbidden')
    expect(await codeOf(() => access.enter(at('/', bearer(token)), { role: 'approver' }))).toBe('let in')
    expect(await codeOf(() => access.enter(at('/', bearer(other)), { role: 'admin', resource: 'installation' }))).toBe(
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
  test('a token that is too short is refused, with how to draw one, and is not shown', () => {
    const auth = { tokens: { hunter2: { name: 'ann', roles: ['admin'] } } } as const
    const message = authCheck(auth, 'auth').join('; ')
    expect(message).toContain('token 1 has 7 characters, expected at least 24; draw one: openssl rand -hex 32')
    expect(message).not.toContain('hunter2')
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
    const { access, cookie } = await begin({ auth, clock, session: { idleMs: 24 * 3_600_000 } })
    const enter = (given: string, by = access) => codeOf(() => by.enter(at('/', { headers: { cookie: given } }), rule))
    expect(await enter(cookie)).toBe('let in')
    const [name, value = ''] = cookie.split('=')
    const flipped = (place: number): string =>
      value.slice(0, place) + (value[place] === 'A' ? 'B' : 'A') + value.slice(place + 1)
    for (const wrong of [
      ...[0, 20, 40, value.length - 10, value.length - 1].map(flipped),
      `${value}=`,
      `${value}A`,
      value.slice(1),
      value.slice(0, -1),
      `${value}.${value}`,
      'x',
      '',
    ])
      expect(await enter(`${name}=${wrong}`), wrong).toBe('request.not-authenticated')
    expect(await enter(cookie, createAccess({ auth }, clock))).toBe('request.not-authenticated')
    clock.advance(12 * 3_600_000)
    expect(await enter(cookie)).toBe('request.not-authenticated')
    const again = await access.beginSession(at('/api/session', { method: 'POST' }), token)
    const second = cookieOf(again.cookie)
    expect(await enter(second)).toBe('let in')
    expect(await access.leaveSession(at('/', { headers: { cookie: second } }))).toContain('Max-Age=0')
    expect(await enter(second)).toBe('request.not-authenticated')
  })

  test('is found beside cookies of the same name that other servers of the host have set', async () => {
    const { access, cookie } = await begin({ auth })
    const [name] = cookie.split('=')
    const foreign = cookieOf((await begin({ auth })).header)
    const hundred = Array.from({ length: 100 }, (_, i) => `${name}=bad${i}`).join('; ')
    for (const all of [
      `${hundred}; ${cookie}`,
      `${name}=bad; ${cookie}`,
      `${cookie}; ${name}=bad`,
      `${foreign}; ${name}=; x=y; ${cookie}`,
    ])
      expect(await codeOf(() => access.enter(at('/', { headers: { cookie: all } }), rule)), all).toBe('let in')
    await access.leaveSession(at('/', { headers: { cookie: `${name}=bad; ${cookie}` } }))
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie } }), rule))).toBe('request.not-authenticated')
  })

  const secret = 'the same secret in every server, long'

  test('stays signed in over a restart with the same secret, as who they are by then', async () => {
    const values = shared()
    const before = createAccess({ auth, session: { secret } }, undefined, values)
    const { cookie } = await before.beginSession(at('/api/session', { method: 'POST' }), token)
    const headers = { cookie: cookieOf(cookie) }
    const restarted = (tokens: BearerTokens['tokens']): Promise<unknown> =>
      createAccess({ auth: { tokens }, session: { secret } }, undefined, values)
        .enter(at('/api/runs', { headers }), rule)
        .then(
          ({ principal }) => principal,
          (thrown: { readonly code?: string }) => thrown.code,
        )
    expect(await restarted(auth.tokens)).toEqual({ name: 'Ann', roles: ['approver'] })
    expect(await restarted({ [token]: { name: 'Ann', roles: ['viewer'] } })).toEqual({ name: 'Ann', roles: ['viewer'] })
    expect(await restarted({ [token]: { name: 'Ann', roles: ['admin'], tenant: 'acme' } })).toBe(unauthenticated)
    expect(await restarted({ [token]: { name: 'bob', roles: ['admin'] } })).toBe(unauthenticated)
    expect(await restarted({ [other]: { name: 'Ann', roles: ['approver'] } })).toBe(unauthenticated)
  })

  test('is asked about at every request: what its function says now counts, for a stream that is open, too', async () => {
    const clock = manualClock()
    let says: unknown = { name: 'bob', roles: ['admin'] }
    const verify = (): never => {
      if (says instanceof Error) throw says
      return says as never
    }
    const access = createAccess({ auth: verify }, clock)
    const { cookie } = await access.beginSession(at('/api/session', { method: 'POST' }), token)
    const headers = { cookie: cookieOf(cookie) }
    const enter = (isStream = false) => access.enter(at('/', { headers }), { role: 'viewer', isStream }, '10.0.0.1')
    const reading = await enter(true)
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    clock.advance(30_000)
    await settled()
    // that nobody can say it now ends no stream, and lets nobody in
    says = new Error('away')
    clock.advance(30_000)
    await settled()
    expect(reading.ended?.aborted).toBe(false)
    expect(await codeOf(() => enter())).toBe('hook.failed')
    says = { name: 'bob', roles: ['viewer'] }
    expect((await enter()).principal.roles).toEqual(['viewer'])
    clock.advance(30_000)
    await settled()
    expect(reading.ended?.aborted).toBe(false)
    says = undefined
    expect(await codeOf(() => enter())).toBe(unauthenticated)
    clock.advance(30_000)
    await settled()
    expect(reading.ended?.aborted).toBe(true)
  })

  test('of a principal of some agents: a stream ends when one of them is taken, and not for another one', async () => {
    const clock = manualClock()
    let agents: readonly string[] | undefined = ['echo', 'payer']
    const says = () => Promise.resolve({ name: 'bob', roles: ['viewer'] as const, ...(agents && { agents }) })
    const access = createAccess({ auth: says }, clock)
    const readAs = async (before: typeof agents, after: typeof agents): Promise<boolean | undefined> => {
      agents = before
      const reading = await access.enter(at('/', bearer(token)), { role: 'viewer', isStream: true })
      agents = after
      clock.advance(30_000)
      await new Promise((resolve) => setImmediate(resolve))
      return reading.ended?.aborted
    }
    expect(await readAs(['echo', 'payer'], ['payer', 'echo', 'asker'])).toBe(false)
    expect(await readAs(['echo', 'payer'], undefined)).toBe(false)
    expect(await readAs(['echo', 'payer'], ['echo'])).toBe(true)
    expect(await readAs(undefined, ['echo'])).toBe(true)
  })

  test('signs out everywhere: in other processes, after a restart, and the streams that it reads here', async () => {
    const values = shared()
    const [one, two] = [1, 2].map(() => createAccess({ auth, session: { secret } }, undefined, values)) as [
      Access,
      Access,
    ]
    const { cookie } = await one.beginSession(at('/api/session', { method: 'POST' }), token)
    const headers = { cookie: cookieOf(cookie) }
    const reading = await one.enter(at('/', { headers }), { role: 'viewer', isStream: true })
    expect(await codeOf(() => two.enter(at('/', { headers }), rule))).toBe('let in')
    await one.leaveSession(at('/', { headers }))
    expect(reading.ended?.aborted).toBe(true)
    for (const each of [one, two, createAccess({ auth, session: { secret } }, undefined, values)])
      expect(await codeOf(() => each.enter(at('/', { headers }), rule))).toBe(unauthenticated)
  })

  test('ends after a while without a request, and not while it is used', async () => {
    const clock = manualClock()
    const { access, cookie } = await begin({ auth, clock, session: { idleMs: 60_000 } })
    const enter = () => codeOf(() => access.enter(at('/', { headers: { cookie } }), rule))
    for (let i = 0; i < 5; i++) {
      clock.advance(50_000)
      expect(await enter()).toBe('let in')
    }
    clock.advance(60_000)
    expect(await enter()).toBe(unauthenticated)
  })

  test('is listed and ended: by its principal, and by an admin of theirs', async () => {
    const access = createAccess({
      auth: {
        tokens: {
          [token]: { name: 'Ann', roles: ['viewer'] },
          [other]: { name: 'Ann', roles: ['viewer'], tenant: 'acme' },
        },
      },
    })
    const begun = async (secret: string, agent: string) => {
      const request = at('/api/session', { method: 'POST', headers: { 'user-agent': agent } })
      return cookieOf((await access.beginSession(request, secret, '10.0.0.7')).cookie)
    }
    const [first, second] = [await begun(token, 'one'), await begun(token, 'two')]
    await begun(other, 'three')
    const ann = { name: 'Ann', roles: ['viewer'] } as const
    const seenBy = async (principal: Principal) =>
      (await access.sessions(at('/', { headers: { cookie: first } }), principal))
        .map(({ userAgent = '' }) => userAgent)
        .toSorted((a, b) => a.localeCompare(b))
    expect(await seenBy(ann)).toEqual(['one', 'two'])
    expect(await seenBy({ ...ann, tenant: 'acme' })).toEqual(['three'])
    expect(await seenBy({ name: 'bob', roles: ['viewer'] })).toEqual([])
    expect(await seenBy({ name: 'root', roles: ['admin'] })).toEqual(['one', 'three', 'two'])
    expect(await seenBy({ name: 'root', roles: ['admin'], tenant: 'acme' })).toEqual(['three'])
    expect(await seenBy({ name: 'root', roles: ['admin'], tenant: 'globex' })).toEqual([])
    // who administers some agents has no say about people
    expect(await seenBy({ name: 'root', roles: ['admin'], agents: ['echo'] })).toEqual([])
    expect(await access.endSessions({ name: 'root', roles: ['admin'], agents: ['echo'] }, { name: 'Ann' })).toBe(0)
    const rows = await access.sessions(at('/', { headers: { cookie: first } }), ann)
    expect(rows.find(({ userAgent }) => userAgent === 'one')).toMatchObject({ isCurrent: true, address: '10.0.0.7' })
    expect(JSON.stringify(rows)).not.toContain(token)
    const id = rows.find(({ userAgent }) => userAgent === 'two')!.id
    expect(await access.endSessions({ ...ann, tenant: 'acme' }, { id })).toBe(0)
    expect(await access.endSessions({ name: 'eve', roles: ['viewer'] }, { id })).toBe(0)
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie: second } }), rule))).toBe('let in')
    expect(await access.endSessions(ann, { id })).toBe(1)
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie: second } }), rule))).toBe(unauthenticated)
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie: first } }), rule))).toBe('let in')
    expect(await access.endSessions({ name: 'root', roles: ['admin'] }, { name: 'Ann' })).toBe(2)
    expect(await codeOf(() => access.enter(at('/', { headers: { cookie: first } }), rule))).toBe(unauthenticated)
  })

  test('of one principal so many are signed in, and the store has no credential', async () => {
    const values = shared()
    const access = createAccess({ auth }, undefined, values)
    for (let i = 0; i < 60; i++) await access.beginSession(at('/api/session', { method: 'POST' }), token)
    expect(await access.sessions(at('/'), { name: 'Ann', roles: ['approver'] })).toHaveLength(50)
    expect(values.text()).toContain('Ann')
    expect(values.text()).not.toContain(token)
  })
  test('a wrong token gives no cookie, and guesses are counted', async () => {
    const access = createAccess({ auth }, manualClock())
    const sign = (secret: string) =>
      codeOf(() => access.beginSession(at('/api/session', { method: 'POST' }), secret, '10.0.0.9'))
    for (let i = 0; i < 20; i++) expect(await sign(`wrong\r\nX-Evil: ${i}`)).toBe('request.not-authenticated')
    expect(await sign('one more')).toBe('request.too-many')
    expect(await sign(token)).toBe('let in')
  })
})

describe('limits', () => {
  const read = (request: Request, limits: Partial<BodyLimits> = {}) =>
    new RequestBodies({ bytes: 1_000, depth: 10, allBytes: 100_000, idleMs: 10_000, ...limits }, manualClock())
      .of(request, [])
      .json()

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
    expect(await codeOf(() => read(request, { bytes: 10_000 }))).toBe('input.too-large')
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
    expect(await codeOf(() => read(request))).toBe(code)
  })

  /** A body of which so many bytes come, and then nothing more. */
  const halfSent = (bytes: number): Request => {
    let isSent = false
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (isSent) return new Promise<void>(() => {})
        isSent = true
        controller.enqueue(new Uint8Array(bytes).fill(32))
        return undefined
      },
    })
    return at('/', { method: 'POST', body, headers: { 'content-type': 'application/json' }, duplex: 'half' })
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  test('half-sent bodies are counted for each caller and in all, and given up when nothing comes', async () => {
    const clock = manualClock()
    const bodies = new RequestBodies({ bytes: 1_000, depth: 10, allBytes: 8_000, idleMs: 10_000 }, clock)
    const send = (caller: string, bytes = 1_000): Promise<string> =>
      codeOf(() => bodies.of(halfSent(bytes), [{ key: caller, share: 1 / 4 }]).json())
    const ofAnn = [send('ann'), send('ann')]
    await settled()
    // a quarter for one caller
    expect(await send('ann', 10)).toBe('request.too-many')
    const others = ['bob', 'eve', 'joe', 'kim', 'lee', 'may'].map((each) => send(each))
    await settled()
    expect(bodies.held).toBe(8_000)
    expect(await send('sue', 10)).toBe('request.too-many')
    clock.advance(9_999)
    await settled()
    expect(bodies.held).toBe(8_000)
    clock.advance(1)
    expect(new Set(await Promise.all([...ofAnn, ...others]))).toEqual(new Set(['request.timed-out']))
    expect(bodies.held).toBe(0)
    const whole = at('/', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } })
    expect(await bodies.of(whole, [{ key: 'ann', share: 1 / 4 }]).json()).toEqual({ a: 1 })
    expect(bodies.held).toBe(0)
  })

  test('half-sent bodies of strangers, or of one tenant, keep nobody else out', async () => {
    const acme = Array.from({ length: 8 }, (_, i) => `token-of-the-user-${i}-of-acme`)
    const tokens = {
      ...auth.tokens,
      ...Object.fromEntries(acme.map((each, i) => [each, { name: `user ${i}`, roles: ['viewer'], tenant: 'acme' }])),
    } as const
    const limits = { bodyBytes: 16_384, allBodiesBytes: 16 * 16_384 }
    const access = createAccess({ auth: { tokens }, limits }, manualClock())
    const send = async (address: string, secret?: string): Promise<string> => {
      const request = halfSent(16_000)
      if (secret !== undefined) request.headers.set('authorization', `Bearer ${secret}`)
      const { body } = await access.enter(request, { role: secret === undefined ? 'open' : 'viewer' }, address)
      const answer = codeOf(() => body.json())
      return Promise.race([answer, settled().then(() => 'taken')])
    }
    // one network has one address, as it is spelled
    expect(await send('2001:db8::1')).toBe('taken')
    for (const same of ['2001:db8:0:0:ffff::2', '2001:DB8::1', '2001:db8::1%eth0'])
      expect(await send(same)).toBe('request.too-many')
    const strangers = []
    for (let i = 0; i < 40; i++) strangers.push(await send(`2001:db8:${i + 1}::1`))
    expect(strangers.filter((each) => each === 'taken')).toHaveLength(3)
    const ofAcme = []
    for (const each of acme) for (let i = 0; i < 4; i++) ofAcme.push(await send('10.0.0.1', each))
    expect(ofAcme.filter((each) => each === 'taken')).toHaveLength(8)
    expect(await send('10.0.0.1', token)).toBe('taken')
  })

  test('an address is counted by its network', () => {
    expect(
      ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '2001:DB8::1', '2001:db8:0:0:1::', 'fe80::1%eth0', 'proxy'].map(
        networkOf,
      ),
    ).toEqual(['1.2.3.4', '1.2.3.4', '1.2.3.4', '2001:db8:0:0::/64', '2001:db8:0:0::/64', 'fe80:0:0:0::/64', 'proxy'])
  })

  test('a caller without a credential sends no more than a token needs', async () => {
    const access = createAccess({ auth, limits: { bodyBytes: 100_000 } })
    const body = JSON.stringify({ token: 'a'.repeat(20_000) })
    const sent = async (request: Request, role: 'open' | 'viewer') =>
      (await access.enter(request, { role }, '10.0.0.1')).body.json()
    const headers = { 'content-type': 'application/json' }
    expect(await codeOf(() => sent(at('/', { method: 'POST', body, headers }), 'open'))).toBe('input.too-large')
    const known = at('/', { method: 'POST', body, headers: { ...headers, authorization: `Bearer ${token}` } })
    expect(await codeOf(() => sent(known, 'viewer'))).toBe('let in')
  })

  test.each([
    ['9007199254740993', '.input.amount'],
    ['1e400', '.input.amount'],
    ['-9007199254740993', '.input.amount'],
    ['0.1234567890123456789012345', 'let in'],
    ['9007199254740992', 'let in'],
    ['9007199254740991', 'let in'],
  ])('a number that would become another one is refused with its place: %s', async (written, expected) => {
    const body = `{"input":{"amount":${written}}}`
    const request = at('/', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    const said = await read(request).then(
      () => 'let in',
      (thrown: { readonly message: string }) => thrown.message,
    )
    expect(said).toContain(expected)
  })

  test('requests that are denied are told: from where, by whom, for what; of a flood some', async () => {
    const clock = manualClock()
    const told: Denial[] = []
    const access = createAccess({ auth, onDenied: (denial) => void told.push(denial) }, clock)
    const refused = async (request: Request, role: Role, peer: string): Promise<void> => {
      const thrown = await access.enter(request, { role }, peer).catch((error: { code: string }) => error)
      const { code } = thrown as { readonly code: string }
      access.denied(request, { code, status: code === 'request.forbidden' ? 403 : 401 }, '/api/runs/{run}', peer)
    }
    await refused(at('/api/runs/r1', bearer(token)), 'admin', '10.0.0.1')
    expect(told).toEqual([
      {
        at: clock.now(),
        status: 403,
        code: 'request.forbidden',
        method: 'GET',
        route: '/api/runs/{run}',
        address: '10.0.0.1',
        principal: 'Ann',
      },
    ])
    for (let i = 0; i < 60; i++)
      await refused(at('/api/runs/r1', bearer('a-wrong-token-of-somebody')), 'viewer', '10.0.0.2')
    expect(told).toHaveLength(21)
    clock.advance(1_000)
    await refused(at('/api/runs/r1'), 'viewer', '10.0.0.2')
    expect(told.at(-1)).toMatchObject({ status: 401, omitted: 40, address: '10.0.0.2' })
    expect(JSON.stringify(told)).not.toContain('a-wrong-token')
    access.denied(at('/x'), { code: 'input.invalid', status: 400 }, '/x', '10.0.0.3')
    expect(told).toHaveLength(22)
    const broken = (): never => {
      throw new Error('broken')
    }
    const failing = createAccess({ auth, onDenied: broken, clientAddress: broken }, clock)
    expect(() => failing.denied(at('/x'), { code: 'request.forbidden', status: 403 }, '/x')).not.toThrow()
  })
})
