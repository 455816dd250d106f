/**
 * TLS between a process and the servers of its engine: a certificate that is not trusted, and a server that speaks
 * without TLS, are told as what they are, with the option that decides it.
 */
import { writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { temporal, type TemporalOptions } from '../../temporal/src/index.ts'
import { agent } from '@reeve/agent'
import { connectionErrorText } from '@reeve/core'
import { createRuntime } from '@reeve/runtime'
import { selfSigned } from '../../../test/servers/certificate.ts'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'

const rule = agent({ name: 'rule', model: () => 'done' })
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ends.push(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What a worker on Temporal is told when it begins. */
function refusal(options: Partial<TemporalOptions>): Promise<unknown> {
  const dir = temporaryFolder('reeve-tls-')
  ends.push(() => removeFolder(dir))
  return createRuntime({ engine: temporal({ store: join(dir, 'runs.db'), ...options }), agents: [rule] }).then(
    (runtime) => runtime.close(),
    (thrown: unknown) => thrown,
  )
}

test('Temporal: a certificate that is not trusted is no outage', async () => {
  const address = await listening(http2.createSecureServer(selfSigned()))
  expect(await refusal({ address, tls: true })).toMatchObject({
    code: 'engine.not-trusted',
    retryable: false,
    message: expect.stringMatching(/certificate of the Temporal server .* is not trusted: .*self-signed/) as string,
    hint: expect.stringContaining('tls.serverRootCACertificate') as string,
  })
})

test.each([
  [{ tls: true }, 'over TLS, which tls switches on', 'leave out tls.'],
  [{ apiKey: 'secret' }, 'over TLS, which apiKey switches on', 'leave out apiKey and tls.'],
])('Temporal: a server that speaks without TLS, and %o', async (options, why, hint) => {
  const address = await listening(http2.createServer())
  const thrown = await refusal({ address, ...options })
  expect(thrown).toMatchObject({
    code: 'engine.wrong-address',
    retryable: false,
    message: expect.stringContaining(`${why}: it answers without TLS`) as string,
    hint: expect.stringContaining(hint) as string,
  })
  expect(String(thrown)).not.toContain('secret')
  expect(String(thrown)).not.toMatch(/\n|openssl/)
})

test.each([
  ['no PEM', { crt: Buffer.from('x'), key: Buffer.from('y') }],
  ['a key of another certificate', { crt: Buffer.from(selfSigned().cert), key: Buffer.from(selfSigned().key) }],
])('Temporal: a certificate of its own that cannot be used is no outage: %s', async (_what, clientCertPair) => {
  expect(await refusal({ address: '127.0.0.1:9', tls: { clientCertPair } })).toMatchObject({
    code: 'config.invalid',
    retryable: false,
    message: expect.stringMatching(/^temporal: a certificate or key in tls cannot be used: [a-z ]+$/) as string,
    hint: expect.stringContaining('PEM') as string,
  })
})

test('PostgreSQL: a key of its own that cannot be used is no outage', async () => {
  const dir = temporaryFolder('reeve-tls-')
  ends.push(() => removeFolder(dir))
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  writeFileSync(cert, selfSigned().cert)
  writeFileSync(key, 'x')
  const address = await listening(createServer((socket) => socket.once('data', () => socket.write('S'))))
  const store = `postgres://ann@${address}/app?sslmode=verify-full&sslcert=${cert}&sslkey=${key}`
  await expect(createRuntime({ store, agents: [rule] })).rejects.toMatchObject({
    code: 'store.unavailable',
    retryable: false,
    hint: expect.stringContaining('sslkey') as string,
  })
})

test('PostgreSQL: a server that speaks without TLS', async () => {
  // what a server without ssl answers to the request for it
  const address = await listening(createServer((socket) => socket.once('data', () => socket.end('N'))))
  const store = `postgres://ann:secret@${address}/app?sslmode=verify-full`
  const thrown: unknown = await createRuntime({ store, agents: [rule] }).catch((error: unknown) => error)
  expect(thrown).toMatchObject({
    code: 'store.unavailable',
    retryable: false,
    message: expect.stringContaining('does not support SSL') as string,
    hint: expect.stringContaining('sslmode') as string,
  })
  expect(String(thrown)).not.toContain('secret')
})

test('of what OpenSSL says the reason is told, in one line', () => {
  const said = (reason: string, rest: string): string =>
    `408D8E478E7F0000:error:0A000410:SSL routines:ssl3_read_bytes:${reason}:../deps/openssl/ssl/rec_layer_s3.c:1590:${rest}\n`
  expect(connectionErrorText(`${said('wrong version number', '')}Try again`)).toBe('wrong version number Try again')
  expect(connectionErrorText(said('ssl/tls alert handshake failure', 'SSL alert number 40'))).toBe(
    'ssl/tls alert handshake failure',
  )
  expect(connectionErrorText('connect ECONNREFUSED 127.0.0.1:5432')).toBe('connect ECONNREFUSED 127.0.0.1:5432')
})
