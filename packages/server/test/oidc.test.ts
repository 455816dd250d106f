/** Tokens of an identity provider, over HTTP: which are taken, which are not, and keys that change. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createAccess } from '../src/access/access.ts'
import { oidc, type OidcOptions } from '../src/access/oidc.ts'

type Keys = Awaited<ReturnType<typeof generateKeyPair>>

/** An identity provider with the keys that it has now. */
let server: Server
let issuer = ''
let keys: Record<string, Keys> = {}
let asked: string[] = []
let answers = true
let endless: string | undefined
let sentBytes = 0

beforeEach(async () => {
  keys = { one: await generateKeyPair('ES256', { extractable: true }) }
  asked = []
  answers = true
  server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const reply = (body: unknown): unknown =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (request.url === endless) {
      response.write('{"x":"')
      const more = (): void => {
        while (!response.destroyed && response.write('a'.repeat(100_000))) sentBytes += 100_000
      }
      response.on('drain', more)
      return more()
    }
    if (!answers) return response.writeHead(503).end()
    if (request.url === '/.well-known/openid-configuration') return reply({ issuer, jwks_uri: `${issuer}/keys` })
    const all = Object.entries(keys).map(async ([kid, { publicKey }]) => ({
      ...(await exportJWK(publicKey)),
      kid,
      alg: 'ES256',
      use: 'sig',
    }))
    return Promise.all(all).then((jwks) => reply({ keys: jwks }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  vi.useRealTimers()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const settings = (more: Partial<OidcOptions> = {}): OidcOptions => ({
  issuer,
  audience: 'reeve',
  roles: ({ groups }) => (Array.isArray(groups) && groups.includes('approvers') ? ['approver'] : ['viewer']),
  ...more,
})
const claims = (more: JWTPayload = {}): JWTPayload => ({ sub: 'ann', iss: issuer, aud: 'reeve', ...more })
const signed = (payload: JWTPayload = claims(), kid = 'one', by: Keys = keys['one']!): Promise<string> =>
  new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 300, ...payload })
    .setProtectedHeader({ alg: 'ES256', kid })
    .sign(by.privateKey)

const typed = (typ: string, more: JWTPayload = {}): Promise<string> =>
  new SignJWT({ exp: Math.floor(Date.now() / 1_000) + 300, ...claims(more) })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ })
    .sign(keys['one']!.privateKey)

async function outcome(token: string, auth = oidc(settings())): Promise<unknown> {
  try {
    const request = new Request('http://127.0.0.1/api/me', { headers: { authorization: `Bearer ${token}` } })
    const { principal, via } = await createAccess({ auth }).enter(request, { role: 'viewer' })
    return { ...principal, via }
  } catch (thrown) {
    return (thrown as { readonly code?: string }).code
  }
}
const unknown = 'request.not-authenticated'

describe('a token', () => {
  test('of the issuer lets in, with the roles of its claims', async () => {
    expect(await outcome(await signed())).toEqual({ name: 'ann', roles: ['viewer'], via: 'oidc' })
    const approver = await signed(claims({ groups: ['approvers'], aud: ['other', 'reeve'] }))
    expect(await outcome(approver)).toEqual({ name: 'ann', roles: ['approver'], via: 'oidc' })
    expect(asked).toEqual(['/.well-known/openid-configuration', '/keys', '/.well-known/openid-configuration', '/keys'])
  })

  test.each<[string, () => Promise<string> | string]>([
    ['expired', () => signed(claims({ exp: Math.floor(Date.now() / 1_000) - 31 }))],
    ['not valid yet', () => signed(claims({ nbf: Math.floor(Date.now() / 1_000) + 60 }))],
    ['for another audience', () => signed(claims({ aud: 'another' }))],
    ['of another issuer', () => signed(claims({ iss: 'https://evil.example' }))],
    ['without a subject', () => signed({ iss: issuer, aud: 'reeve' })],
    [
      'without an end',
      () => new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(keys['one']!.privateKey),
    ],
    ['without a signature (alg none)', () => new UnsecuredJWT(claims()).setExpirationTime('5m').encode()],
    [
      'signed with the public key as a secret (HS256)',
      async () => {
        const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(keys['one']!.publicKey)))
        return new SignJWT(claims())
          .setExpirationTime('5m')
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(secret)
      },
    ],
    ['of an unknown key', async () => signed(claims(), 'two', await generateKeyPair('ES256'))],
    ['of another key under a known name', async () => signed(claims(), 'one', await generateKeyPair('ES256'))],
    [
      'that brings its own key',
      async () => {
        const own = await generateKeyPair('ES256', { extractable: true })
        const jwk = await exportJWK(own.publicKey)
        return new SignJWT(claims())
          .setExpirationTime('5m')
          .setProtectedHeader({ alg: 'ES256', jwk, jku: 'https://evil.example' })
          .sign(own.privateKey)
      },
    ],
    [
      'whose claims were changed',
      async () => {
        const [header, , signature] = (await signed()).split('.')
        return `${header}.${Buffer.from(JSON.stringify(claims({ sub: 'root', exp: 9e9 }))).toString('base64url')}.${signature}`
      },
    ],
    ['that is no token', () => 'a.b.c'],
    ['of a logout', () => typed('logout+jwt')],
    ['of a logout, by its claims', () => typed('JWT', { events: {} })],
    ['of another kind', () => typed('application/dpop+jwt')],
    ['an ID token', () => typed('JWT', { nonce: 'n' })],
    ['an ID token without a type', () => signed(claims({ at_hash: 'h' }))],
    ['from tomorrow', () => signed(claims({ iat: Math.floor(Date.now() / 1_000) + 86_400 }))],
    ['without a name', () => signed(claims({ sub: '' }))],
    ['of a number', () => signed(claims({ sub: 5 as never }))],
    ['of an object', () => signed(claims({ sub: { a: 1 } as never }))],
  ])('that is %s lets nobody in', async (_what, make) => expect(await outcome(await make())).toBe(unknown))

  test('says which type it is of, where that is asked for', async () => {
    for (const typ of ['at+jwt', 'application/AT+JWT', 'JWT'])
      expect(await outcome(await typed(typ))).toMatchObject({ name: 'ann' })
    expect(await outcome(await typed('at+jwt', { nonce: 'n' }))).toMatchObject({ name: 'ann' })
    const strict = oidc(settings({ typ: ['at+jwt'] }))
    expect(await outcome(await typed('at+jwt'), strict)).toMatchObject({ name: 'ann' })
    expect(await outcome(await typed('JWT'), strict)).toBe(unknown)
    expect(await outcome(await signed(), strict)).toBe(unknown)
  })

  test('a clock may differ by 30 seconds', async () => {
    const exp = Math.floor(Date.now() / 1_000) - 20
    expect(await outcome(await signed(claims({ exp })))).toMatchObject({ name: 'ann' })
    expect(await outcome(await signed(claims({ exp })), oidc(settings({ clockToleranceMs: 0 })))).toBe(unknown)
  })

  test('no cookie outlives it', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 300
    const request = new Request('http://127.0.0.1/api/session', { method: 'POST' })
    const { cookie, caller } = await createAccess({ auth: oidc(settings()) }).beginSession(
      request,
      await signed(claims({ exp })),
    )
    expect(caller.until).toBe(exp * 1_000)
    expect(Number(/Max-Age=(\d+)/.exec(cookie)![1])).toBeLessThanOrEqual(300)
  })
})

describe('keys', () => {
  test('are fetched once, and again for one that is new', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const auth = oidc(settings())
    expect(await outcome(await signed(), auth)).toMatchObject({ name: 'ann' })
    expect(await outcome(await signed(), auth)).toMatchObject({ name: 'ann' })
    expect(asked).toHaveLength(2)
    keys = { two: await generateKeyPair('ES256', { extractable: true }) }
    const fresh = (): Promise<string> => signed(claims(), 'two', keys['two'])
    // unknown keys do not make the server ask the provider at every request
    expect(await outcome(await fresh(), auth)).toBe(unknown)
    expect(asked).toHaveLength(2)
    vi.setSystemTime(Date.now() + 31_000)
    expect(await outcome(await fresh(), auth)).toMatchObject({ name: 'ann' })
    expect(asked).toHaveLength(3)
  })

  test('a provider that is away is no refusal, and is asked again', async () => {
    answers = false
    const auth = oidc(settings())
    expect(await outcome(await signed(), auth)).toBe('hook.failed')
    answers = true
    expect(await outcome(await signed(), auth)).toMatchObject({ name: 'ann' })
    const direct = oidc(settings({ jwks: `${issuer}/keys` }))
    answers = false
    expect(await outcome(await signed(), direct)).toBe('hook.failed')
    answers = true
    expect(await outcome(await signed(), direct)).toMatchObject({ name: 'ann' })
  })

  test.each(['/.well-known/openid-configuration', '/keys'])('without end are read no further: %s', async (path) => {
    endless = path
    const before = sentBytes
    expect(await outcome(await signed())).toBe('hook.failed')
    expect(sentBytes - before).toBeLessThan(30_000_000)
    endless = undefined
    expect(await outcome(await signed())).toMatchObject({ name: 'ann' })
  })

  test('may be given', async () => {
    const jwks = { keys: [{ ...(await exportJWK(keys['one']!.publicKey)), kid: 'one' }] }
    expect(await outcome(await signed(), oidc(settings({ jwks })))).toMatchObject({ name: 'ann' })
    expect(asked).toEqual([])
  })
})

describe('claims', () => {
  test('without a tenant are refused where tenants are asked for; null is for all', async () => {
    const tenant: OidcOptions['tenant'] = ({ org }) => (org === 'all' ? null : (org as string | undefined))
    const auth = oidc(settings({ tenant }))
    expect(await outcome(await signed(claims({ org: 'acme' })), auth)).toMatchObject({ tenant: 'acme' })
    expect(await outcome(await signed(claims({ org: 'all' })), auth)).not.toHaveProperty('tenant')
    expect(await outcome(await signed(), auth)).toBe(unknown)
  })
  test('of which code makes no roles let nobody in', async () => {
    const groups = (claim: unknown, roles: OidcOptions['roles']) =>
      signed(claims({ groups: claim })).then((token) => outcome(token, oidc(settings({ roles }))))
    expect(await groups('admin', ({ groups: all }) => all as never)).toBe(unknown)
    expect(await groups({ length: 1, 0: 'admin' }, ({ groups: all }) => all as never)).toBe(unknown)
    expect(await groups('admin', ({ groups: all }) => (all as string[]).filter(() => true) as never)).toBe(unknown)
    expect(await groups(['root'], ({ groups: all }) => all as never)).toBe(unknown)
    expect(await outcome(await signed(), oidc(settings({ roles: () => [] })))).toBe('request.forbidden')
    expect(await outcome(await signed(), oidc(settings({ name: ({ email }) => email as string | undefined })))).toBe(
      unknown,
    )
  })
})

test.each<[string, Partial<Record<keyof OidcOptions, unknown>>]>([
  ['no issuer', { issuer: undefined }],
  ['keys that anyone on the way may change', { issuer: 'http://login.example.com' }],
  ['no audience', { audience: [] }],
  ['no roles', { roles: undefined }],
  ['a symmetric algorithm', { algorithms: ['HS256'] }],
  ['no algorithm', { algorithms: [] }],
  ['the algorithm none', { algorithms: ['none'] }],
])('options with %s are refused', (_what, more) => {
  expect(() => oidc({ ...settings(), ...more } as OidcOptions)).toThrow(
    expect.objectContaining({ code: 'config.invalid' }),
  )
})
