/** Tokens of an identity provider: taken only as what they are, from whom they must be. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import { oidc, type ListeningServer } from '@reeve/server'
import { area, holds, short } from '../attack.ts'
import { answered, type Answer, type World } from '../world.ts'

interface Provider {
  readonly issuer: string
  readonly server: ListeningServer
  readonly sign: (claims?: object, header?: object, key?: jose.CryptoKey) => Promise<string>
  readonly publicKey: jose.CryptoKey
  readonly get: (token: string) => Promise<Answer>
}

/** An identity provider, and a server that asks it. `document`: answers for the discovery document itself. */
async function provided(
  world: World,
  document?: (response: ServerResponse, issuer: string) => boolean,
): Promise<Provider> {
  const { publicKey, privateKey } = await jose.generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }
  const http = createServer((request, response) => {
    const { port } = http.address() as AddressInfo
    const issuer = `http://127.0.0.1:${port}`
    if (!request.url!.includes('well-known')) return response.end(JSON.stringify({ keys: [jwk] }))
    if (document?.(response, issuer) === true) return undefined
    return response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }))
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  world.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const server = await world.serve({
    auth: oidc({ issuer, audience: 'reeve', roles: ({ groups }) => (Array.isArray(groups) ? (groups as never) : []) }),
  })
  const now = Math.floor(Date.now() / 1_000)
  return {
    issuer,
    server,
    publicKey,
    sign: (claims = {}, header = {}, key = privateKey) =>
      new jose.SignJWT({ groups: ['admin'], sub: 'u1', iss: issuer, aud: 'reeve', iat: now, exp: now + 600, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'at+jwt', ...header })
        .sign(key),
    get: (token) => answered(`${server.url}/api/me`, { token }),
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = Math.floor(Date.now() / 1_000)

export const identity = area('Tokens of an identity provider', [
  {
    id: 'oidc-good',
    holds: 'A token as it must be is taken: what is tried below is no idle word.',
    async run(world) {
      const { sign, get } = await provided(world)
      const { status, text } = await get(await sign())
      holds(status === 200, `${status} ${short(text)}`)
    },
  },
  ...(
    [
      ['aud-other', { aud: 'other' }, {}],
      ['aud-missing', { aud: undefined }, {}],
      ['aud-prefix', { aud: 'reeve-2' }, {}],
      ['aud-object', { aud: { 0: 'reeve' } }, {}],
      ['iss-other', { iss: 'http://127.0.0.1/' }, {}],
      ['iss-missing', { iss: undefined }, {}],
      ['expired', { exp: now - 600 }, {}],
      ['exp-missing', { exp: undefined }, {}],
      ['exp-text', { exp: '9999999999' }, {}],
      ['nbf-future', { nbf: now + 6_000 }, {}],
      ['iat-future', { iat: now + 86_400 }, {}],
      ['sub-missing', { sub: undefined }, {}],
      ['sub-number', { sub: 5 }, {}],
      ['sub-empty', { sub: '' }, {}],
      ['sub-object', { sub: { toString: 'x' } }, {}],
      ['sub-invisible', { sub: '\u202e' }, {}],
      ['roles-unknown', { groups: ['root'] }, {}],
      ['roles-object', { groups: [{ toString: 'admin' }] }, {}],
      ['typ-logout', {}, { typ: 'logout+jwt' }],
      ['typ-dpop', {}, { typ: 'dpop+jwt' }],
      ['typ-secevent', {}, { typ: 'secevent+jwt' }],
      ['id-token', { nonce: 'abc', at_hash: 'x' }, { typ: 'JWT' }],
      ['kid-other', {}, { kid: 'k2' }],
      ['kid-path', {}, { kid: '../../etc/passwd' }],
    ] as readonly (readonly [string, object, object])[]
  ).map(([id, claims, header]) => ({
    id: `oidc-${id}`,
    holds: `A token with ${id.replaceAll('-', ' ')} is answered 401, and is no error of the server.`,
    async run(world: World) {
      const { sign, get } = await provided(world)
      const token = await sign(claims, header)
      const { status, text } = await get(token)
      holds(status === 401 || (id === 'roles-unknown' && status === 403), `${status} ${short(text)}`)
      holds(world.errors.length === 0, `reported: ${String(world.errors[0])}`)
    },
  })),
  {
    id: 'oidc-foreign-key',
    holds: 'A token that brings its own key, or an address of one, is not taken, and the address is not asked.',
    async run(world) {
      const { get, sign } = await provided(world)
      let hits = 0
      const internal = createServer((_request, response) => {
        hits++
        response.end('{"keys":[]}')
      }).listen(0, '127.0.0.1')
      await once(internal, 'listening')
      world.after(() => internal.close())
      const url = `http://127.0.0.1:${(internal.address() as AddressInfo).port}/keys`
      const evil = await jose.generateKeyPair('RS256', { extractable: true })
      for (const header of [
        {},
        { jwk: await jose.exportJWK(evil.publicKey) },
        { jku: url },
        { x5u: url },
        { jku: url, kid: 'k9' },
      ])
        holds((await get(await sign({}, header, evil.privateKey))).status === 401, short(header))
      holds(hits === 0, `${hits} requests went to the address of a token`)
    },
  },
  {
    id: 'oidc-algorithms',
    holds: 'Without a signature, or with the public key as a secret, no token is taken.',
    async run(world) {
      const { get, publicKey, issuer } = await provided(world)
      const claims = { sub: 'u', iss: issuer, aud: 'reeve', exp: now + 600, groups: ['admin'] }
      const pem = await jose.exportSPKI(publicKey)
      for (const token of [
        `${part({ alg: 'none' })}.${part(claims)}.`,
        `${part({ alg: 'NoNe', typ: 'at+jwt' })}.${part(claims)}.`,
        `${part({ alg: 'RS256', kid: 'k1' })}.${part(claims)}.`,
        `${part({ kid: 'k1' })}.${part(claims)}.AAAA`,
        await new jose.SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
          .sign(new TextEncoder().encode(pem)),
        'a.b.c',
        '...',
        'a',
        `a.${'b'.repeat(8_000)}.c`,
        `${part({ alg: 'RS256', crit: ['x'], x: 1, kid: 'k1' })}.${part(claims)}.AAAA`,
      ])
        holds((await get(token)).status === 401, short(token, 60))
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  },
  {
    id: 'oidc-document-without-end',
    holds: 'A discovery document without end is given up, and little of it is read.',
    needs: 'load',
    async run(world) {
      let sent = 0
      const { get, sign } = await provided(world, (response) => {
        response.write('{"x":"')
        const timer = setInterval(() => {
          if (response.destroyed) return clearInterval(timer)
          sent++
          return response.write('a'.repeat(1_048_576))
        }, 2)
        response.on('close', () => clearInterval(timer))
        return true
      })
      const { status } = await get(await sign())
      holds(status === 503, `${status}`)
      holds(sent < 20, `${sent} MB were read`)
    },
  },
  {
    id: 'oidc-document-hostile',
    holds: 'A discovery document of another issuer, with an internal address, or a redirect, lets nobody in.',
    async run(world) {
      for (const document of [
        (response: ServerResponse, issuer: string) =>
          response.end(JSON.stringify({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` })),
        (response: ServerResponse, issuer: string) =>
          response.end(JSON.stringify({ issuer, jwks_uri: 'http://169.254.169.254/keys' })),
        (response: ServerResponse, issuer: string) =>
          response.end(JSON.stringify({ issuer, jwks_uri: 'file:///etc/passwd' })),
        (response: ServerResponse, issuer: string) => response.writeHead(302, { Location: `${issuer}/other` }).end(),
        (response: ServerResponse, issuer: string) =>
          response.end(`{"__proto__":{"issuer":"${issuer}","jwks_uri":"${issuer}/keys"}}`),
        (response: ServerResponse) => response.end('null'),
        (response: ServerResponse) => response.end('<html>'),
      ]) {
        const { get, sign } = await provided(world, (response, issuer) => {
          document(response, issuer)
          return true
        })
        holds((await get(await sign())).status === 503, document.toString())
      }
    },
  },
])
