/**
 * Every route, fuzzed from its OpenAPI document: the right status, an error body in JSON, nothing started, the process
 * alive. `REEVE_FUZZ=10000` makes more requests, `REEVE_SEED=…` others.
 */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { errorCodes, isObject, own, type Json, type JsonObject } from '@reeve/core'
import { seededRandom } from '@reeve/core/clock'
import { createServer } from '../src/index.ts'
import { asker, echo, payer } from '../../runtime/test/hand.ts'
import { answerProblem, documentOf, itemsOf, operationsOf, serving, type Operation } from './serving.ts'

const requests = Number(process.env['REEVE_FUZZ'] ?? 300)
const seed = process.env['REEVE_SEED'] ?? 'routes'

function dice(name: string): (below: number) => number {
  let drawn = 0
  return (below) => Math.floor(seededRandom(name, drawn++) * below)
}

/** Values that are wrong nearly everywhere. */
const strange: readonly Json[] = [
  null,
  true,
  -1,
  1e308,
  0.5,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '../../etc/passwd',
  "'; drop table runs; --",
  '\u202eabc',
  'x'.repeat(5_000),
  [],
  {},
  [[[[]]]],
  { toString: 1 },
]

/** Bodies that are no JSON at all, or more than that. */
const rawBodies: readonly string[] = [
  '{',
  'null',
  '[]',
  '"x"',
  '\u0000',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"agent":"echo","agent":"payer","input":"x","__proto__":null}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  '\uFEFF{}',
  '{"a":1}{"b":2}',
]

const names = [
  'none',
  '%00',
  '..%2f..',
  'a%20b',
  '%F0%9F%92%A9',
  'x'.repeat(2_000),
  "'%3B--",
  '%ED%A0%80',
  '%zz',
  '__proto__',
]

/** A value for a schema: one that fits, or now and then a strange one. */
function valueFor(schema: JsonObject, document: JsonObject, roll: (below: number) => number, depth = 0): Json {
  if (roll(4) === 0) return strange[roll(strange.length)]!
  const { $ref, anyOf, type, properties, items } = schema
  if (typeof $ref === 'string') {
    const schemas = (document['components'] as JsonObject)['schemas'] as JsonObject
    return valueFor(schemas[$ref.split('/').at(-1)!] as JsonObject, document, roll, depth)
  }
  if (Array.isArray(schema['enum'])) return (schema['enum'] as Json[])[roll((schema['enum'] as Json[]).length)]!
  if (Array.isArray(anyOf)) return valueFor((anyOf as JsonObject[])[roll(anyOf.length)]!, document, roll, depth)
  if (isObject(properties)) {
    const members = Object.entries(properties).filter(() => roll(3) > 0)
    const all = members.map(([key, each]) => [key, valueFor(each as JsonObject, document, roll, depth + 1)] as const)
    return Object.fromEntries(roll(10) === 0 ? [...all, ['by', 'eve']] : all)
  }
  if (type === 'array') return depth > 3 ? [] : [valueFor((items ?? {}) as JsonObject, document, roll, depth + 1)]
  if (type === 'integer' || type === 'number') return roll(100)
  if (type === 'boolean') return roll(2) === 0
  return `text ${roll(100)}`
}

function requestFor(
  url: string,
  { path, method, operation }: Operation,
  document: JsonObject,
  roll: (below: number) => number,
  token: string,
): Request {
  const parameters = operation.parameters ?? []
  const at = path.replaceAll(/\{\w+\}/g, () => names[roll(names.length)]!)
  const query = parameters
    .filter((each) => each.in === 'query' && roll(2) === 0)
    .map(({ name, schema }) => {
      const value = valueFor(schema, document, roll)
      return `${name}=${encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed())}`
    })
  const strangeQuery = roll(8) === 0 ? ['__proto__=1', 'a=%', 'limit=1&limit=2', 'limit=NaN', '%00=1'][roll(5)]! : ''
  const asked = [...query, strangeQuery].filter((each) => each !== '').join('&')
  const schema = operation.requestBody?.content['application/json'].schema
  const said =
    roll(3) === 0 ? rawBodies[roll(rawBodies.length)]! : JSON.stringify(valueFor(schema ?? {}, document, roll))
  const types = [
    'application/json',
    'application/json',
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
  ]
  return new Request(`${url}${at}${asked === '' ? '' : `?${asked}`}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(method === 'POST' ? { 'Content-Type': types[roll(types.length)]! } : {}),
    },
    ...(method === 'POST' ? { body: said } : {}),
  })
}

test(`every route takes ${requests} requests that are wrong, says so in JSON, and does nothing`, async () => {
  const { runtime, server, get, errors, token } = await serving({ agents: [echo, payer, asker] })
  const run = await runtime.start(payer, 'pay', { runId: 'r1' })
  await run.until('waiting')
  const before = await run.journal()
  const document = await documentOf(createServer({ runtime }))
  const operations = operationsOf(document)
  const roll = dice(seed)
  for (let i = 0; i < requests; i++) {
    const operation = operations[i % operations.length]!
    // a start that is right is no mistake: it has a test of its own
    if (operation.operation.operationId === 'postRuns') continue
    // pages for people: they answer in HTML, and have tests of their own
    if (operation.path.includes('/links/')) continue
    const request = requestFor(server.url, operation, document, roll, token)
    const where = `${i}: ${request.method} ${request.url}`
    const response = await fetch(request)
    // a stream that was opened goes on: it is left
    const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
    if (isStream) {
      await response.body?.cancel()
      continue
    }
    const text = await response.text()
    expect(response.status, where).toBeLessThan(500)
    if (response.status < 400) continue
    expect(response.headers.get('Content-Type'), where).toMatch(/^application\/json/)
    const body = JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
    expect(errorCodes, where).toContain(body.error.code)
    expect(text, where).not.toMatch(/node_modules|\.ts:\d|SQLITE|sqlite|at async|\/tmp\//)
    expect(
      answerProblem(document, request.method, new URL(request.url).pathname, { status: response.status, body }),
      where,
    ).toBeUndefined()
  }
  expect(errors).toEqual([])
  expect(await run.journal()).toEqual(before)
  expect(itemsOf(await get('/runs'))).toHaveLength(1)
  expect(await get('/health')).toMatchObject({ status: 200 })
}, 600_000)

test('starts that are wrong start nothing', async () => {
  const { server, get, errors, runtime, token } = await serving({ agents: [echo] })
  const document = await documentOf(createServer({ runtime }))
  const start = operationsOf(document).find(({ operation }) => operation.operationId === 'postRuns')!
  const roll = dice(`${seed} starts`)
  let started = 0
  for (let i = 0; i < 100; i++) {
    const response = await fetch(requestFor(server.url, start, document, roll, token))
    if (response.ok) started++
    expect(response.status).toBeLessThan(500)
    await response.text()
  }
  expect(errors).toEqual([])
  expect(itemsOf(await get('/runs'))).toHaveLength(started)
  expect(own({}, 'admin')).toBeUndefined()
}, 120_000)

test('what is no HTTP ends its own connection and no other', async () => {
  const { server, get } = await serving({ agents: [echo] })
  for (const raw of [
    'GET\r\n\r\n',
    'POST /api/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    '\u0000'.repeat(1_000),
  ]) {
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => socket.end(raw))
      socket
        .on('close', () => resolve())
        .on('error', () => {})
        .resume()
    })
  }
  expect(await get('/health')).toMatchObject({ status: 200 })
})
