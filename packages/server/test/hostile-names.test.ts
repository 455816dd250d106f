/** Names that strangers choose: what a wrong one costs, and what is said of it, is bounded. */
import { expect, test } from 'vitest'
import { nearest, optionProblems, text, unknownNames, type Json } from '@reeve/core'
import { openai } from '../../protocols/src/openai/index.ts'
import { agent } from '@reeve/public'
import { createRuntime } from '@reeve/runtime'
import { createServer } from '../src/index.ts'
import { wireProblem, object, optional, text as wireText } from '../src/wire-schema.ts'

/** CPU milliseconds of this process: other processes on the machine do not count. */
function cpu(doing: () => unknown): number {
  const before = process.cpuUsage()
  doing()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const long = 'tokex'.repeat(200_000)
const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]))

test('a slip is found, and what is too long for one is not compared', () => {
  expect(nearest('tokne', ['name', 'token'])).toBe('token')
  expect(nearest('temprature', ['temperature', 'topP'])).toBe('temperature')
  expect(nearest('toks', ['token', 'tenants'])).toBeUndefined()
  expect(nearest('colour', ['color', 'colours', 'colour'])).toBe('colour')
  expect(cpu(() => expect(nearest(long, ['token'])).toBeUndefined())).toBeLessThan(50)
  expect(cpu(() => expect(nearest(long, [`${long}x`])).toBeUndefined())).toBeLessThan(50)
})

test('a long name, and very many of them, are told by their beginning', () => {
  const body = object<{ readonly token?: string }>('Body', { token: optional(wireText()) })
  for (const given of [{ [long]: 1 }, many] as Json[]) {
    let said = ''
    expect(cpu(() => (said = wireProblem(given, body) ?? ''))).toBeLessThan(300)
    expect(said).toContain('unknown member')
    expect(said.length).toBeLessThan(300)
  }
  const checks = { token: text }
  for (const problems of [
    unknownNames({ [long]: 1 }, checks, 'it'),
    unknownNames(many, checks, 'it'),
    optionProblems<{ readonly token?: string }>(checks, { token: 1, ...many }, 'it'),
  ])
    expect(problems.join('\n').length).toBeLessThan(3_000)
  expect(unknownNames({ 'a\u202eb': 1 }, checks, 'it')[0]).toContain('a\\u202eb')
})

test('what a caller has sent is not sent back whole, on any path or protocol', async () => {
  const token = 'a-token-that-is-long-enough'
  await using runtime = await createRuntime({ agents: [agent({ name: 'a', model: () => 'hi' })] })
  const auth = { tokens: { [token]: { name: 'ann', roles: ['admin'] } } } as const
  const server = createServer({ runtime, auth, protocols: [openai()] })
  const bodies: readonly (readonly [string, Json])[] = [
    ['/api/runs', { agent: 'a', input: 'x', versions: { [long.slice(0, 900_000)]: 'x' } }],
    ['/api/runs', { agent: 'a', input: 'x', limits: { [long.slice(0, 900_000)]: 1 } }],
    ['/api/runs', { agent: 'a', input: 'x', limits: Object.fromEntries(Object.entries(many).slice(0, 50_000)) }],
    ['/v1/chat/completions', { model: long.slice(0, 900_000), messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/responses', { model: 'a', input: 'x', previous_response_id: long.slice(0, 900_000) }],
  ]
  for (const [path, body] of bodies) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = new Request(`http://127.0.0.1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const answer = await server.fetch(request, '10.0.0.1')
    expect([400, 404]).toContain(answer.status)
    expect((await answer.text()).length).toBeLessThan(10_000)
  }
  server.close()
})

test('no caller without a credential holds the server up, or is sent its own megabyte', async () => {
  await using runtime = await createRuntime()
  const server = createServer({ runtime })
  const post = (body: string): Promise<Response> =>
    server.fetch(
      new Request('http://127.0.0.1/api/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }),
      '10.0.0.1',
    )
  const before = process.cpuUsage()
  for (let i = 0; i < 10; i++) {
    const answer = await post(`{"${long}":1}`)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect((await answer.text()).length).toBeLessThan(1_000)
  }
  const { user } = process.cpuUsage(before)
  expect(user / 1_000).toBeLessThan(1_000)
  const wrong = await post(`{"${'tokex'.repeat(2_000)}":1}`)
  expect(wrong.status).toBe(400)
  expect((await wrong.text()).length).toBeLessThan(1_000)
  server.close()
})
