/**
 * Channels over HTTP against a real server: signatures, keys, what is tried again and when, and that no redirect is
 * followed.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { slack, verifyWebhook, webhook, type WebhookOptions } from '../src/index.ts'
import { agent } from '@reeve/agent'
import { present, type Clock, type FailureError } from '@reeve/core'
import { approve, type Channel } from '@reeve/oversight'
import { createRuntime, type Run, type Runtime } from '@reeve/runtime'
import { fastClock } from '../../../test/scenario/team.ts'
import { io, notice } from './notices.ts'

const secret = 'a secret of some length'
const hour = 3_600_000
const servers: Server[] = []
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

interface Got {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
/** A server on this machine that answers the n-th request in the n-th way, and from then on in the last one. */
async function receiver(...answers: readonly ((response: ServerResponse) => void)[]) {
  const got: Got[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      got.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(pieces).toString(),
      })
      answers[Math.min(got.length, answers.length) - 1]!(response)
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
const says =
  (status: number, headers: { readonly [name: string]: string } = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end('x'.repeat(1_000))

/** A run that asks, and tells this channel. */
async function asking(
  channel: Channel,
  clock?: Clock,
): Promise<{ run: Run<unknown>; notices: () => Promise<unknown[]> }> {
  const root = agent({
    name: 'asker',
    description: 'Asks.',
    run: async (ctx) => {
      const rules = { notify: [channel.name] }
      const about = { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money', timeoutMs: 24 * hour }
      return (await approve(ctx, { ...about, rules })).approved
    },
  })
  const runtime = await createRuntime({ strict: true, agents: [root], channels: [channel], ...present({ clock }) })
  runtimes.push(runtime)
  const run: Run<unknown> = await runtime.start(root, 'go')
  const notices = async (): Promise<unknown[]> => {
    const found: unknown[] = []
    for await (const { event } of run.events({ signal: AbortSignal.timeout(20) }))
      if (event.type === 'notice.sent') found.push('sent')
      else if (event.type === 'notice.failed') found.push(event.failure)
    return found
  }
  return { run, notices }
}
async function decided(run: Run<unknown>): Promise<unknown> {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error('it does not wait')
  await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
  return run.outcome()
}
/** The failure of one try. */
const failureOf = async (options: Omit<WebhookOptions, 'secret'>): Promise<FailureError['failure']> => {
  const told = Promise.resolve(webhook({ secret, ...options }).notify(notice(), io()))
  return told.then(
    () => Promise.reject(new Error('it was told')),
    (thrown: FailureError) => thrown.failure,
  )
}

describe('a webhook in a run', () => {
  test('team C84: a 500 is retried under the same key with a valid signature; a later decision still counts', async () => {
    const { got, url } = await receiver(says(500), says(500), says(200))
    const { run, notices } = await asking(
      webhook({ url: `${url}/hook?a=1`, secret, headers: { authorization: 'Bearer x' } }),
    )
    await expect.poll(notices, { timeout: 15_000 }).toEqual(['sent'])
    expect(got).toHaveLength(3)
    for (const { method, url: at, headers } of got)
      expect([method, at, headers.authorization, headers['content-type']]).toEqual([
        'POST',
        '/hook?a=1',
        'Bearer x',
        'application/json',
      ])
    expect(new Set(got.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    const read = got.map(({ headers, body }) => verifyWebhook(headers, body, secret))
    expect(read[0]).toMatchObject({ notice: { type: 'approval', run: run.id, path: ['asker'], input: { amount: 10 } } })
    expect(read[1]).toEqual(read[0])
    expect(verifyWebhook(got[0]!.headers, got[0]!.body, 'another secret of some length')).toBeUndefined()
    expect(await decided(run)).toMatchObject({ output: true })
  }, 20_000)
  test('a receiver that is away for more than a few attempts is notified once it is back, under the same key', async () => {
    const { got, url } = await receiver(...Array.from({ length: 9 }, () => says(503)), says(204))
    const { run, notices } = await asking(webhook({ url, secret, timeoutMs: hour }), fastClock())
    await expect.poll(notices, { timeout: 15_000 }).toEqual(['sent'])
    expect(got).toHaveLength(10)
    expect(new Set(got.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(await decided(run)).toMatchObject({ output: true })
  }, 20_000)
  test('team C84: a hanging receiver fails after its timeout and does not delay the approver', async () => {
    const { got, url } = await receiver(() => {})
    const { run, notices } = await asking({ ...webhook({ url, secret, timeoutMs: 50 }), attempts: 1 })
    await expect.poll(notices).toMatchObject([{ code: 'effect.timed-out', class: 'timeout' }])
    expect(got).toHaveLength(1)
    expect(await decided(run)).toMatchObject({ output: true })
    const slow = await asking(webhook({ url, secret }))
    await expect.poll(() => got.length).toBe(2)
    expect(await decided(slow.run)).toMatchObject({ output: true })
    expect(await slow.notices()).toEqual([])
  })
})

describe('what an answer means', () => {
  test.each([
    [400, {}, { class: 'validation', retryable: false }],
    [401, {}, { class: 'validation', retryable: false }],
    [404, { 'retry-after': '5' }, { class: 'validation', retryable: false }],
    [408, {}, { class: 'transport', retryable: true }],
    [429, { 'retry-after': '7' }, { class: 'rate-limit', retryable: true, retryAfterMs: 7_000 }],
    [429, { 'retry-after': 'soon' }, { class: 'rate-limit', retryable: true }],
    [500, {}, { class: 'transport', retryable: true }],
    [503, { 'retry-after': '999999' }, { class: 'transport', retryable: true, retryAfterMs: 900_000 }],
    [503, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, { class: 'transport', retryAfterMs: 0 }],
  ])('%i %j', async (status, headers, expected) => {
    const { url } = await receiver(says(status, headers))
    const failed = await failureOf({ url: `${url}/a-secret-path` })
    expect(failed).toMatchObject({ code: 'notice.failed', details: { status }, ...expected })
    expect(JSON.stringify(failed)).not.toContain('a-secret-path')
  })
  test.each([200, 201, 204])('%i is a yes', async (status) => {
    const { url, got } = await receiver((response) => void response.writeHead(status).end())
    await webhook({ url, secret }).notify(notice(), io())
    expect(got).toHaveLength(1)
  })
  test('a redirect is not followed, wherever it leads', async () => {
    const elsewhere = await receiver(says(200))
    const { url } = await receiver(says(307, { location: elsewhere.url }))
    expect(await failureOf({ url })).toMatchObject({
      retryable: false,
      message: expect.stringContaining('redirects are not followed') as string,
    })
    expect(elsewhere.got).toEqual([])
  })
  test('an unreachable receiver is retried, and the error does not contain its address', async () => {
    const { url } = await receiver(says(200))
    const { port } = new URL(url)
    const server = servers.pop()!
    await new Promise((resolve) => server.close(resolve))
    expect(await failureOf({ url: `${url}/a-secret-path` })).toMatchObject({
      code: 'notice.failed',
      class: 'transport',
      message: `127.0.0.1:${port} could not be reached: ECONNREFUSED`,
    })
  })
  test('a key that no header can hold is sent as its digest', async () => {
    const { url, got } = await receiver(says(200))
    const channel = webhook({ url, secret })
    for (const key of ['act_run_1>ü:tell', 'act_run_1>ü:tell', 'x\r\ny: z']) await channel.notify(notice(), io(key))
    const keys = got.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual([keys[0], keys[0], keys[2]])
    for (const key of keys) expect(key).toMatch(/^sha256-[0-9a-f]{64}$/)
    expect(verifyWebhook(got[0]!.headers, got[0]!.body, secret)?.key).toBe('act_run_1>ü:tell')
  })
  test('Slack: its message arrives; a refusal does not tell the address of the webhook', async () => {
    const { url, got } = await receiver(says(200), says(403))
    const channel = slack({
      webhookUrl: `${url}/services/T0/B0/secret`,
      link: ({ run }) => `https://studio.example/${run}`,
    })
    await channel.notify(notice(), io())
    expect(JSON.parse(got[0]!.body)).toMatchObject({ blocks: { length: 6 }, unfurl_links: false })
    await expect(channel.notify(notice(), io())).rejects.toMatchObject({
      failure: { retryable: false, message: expect.not.stringContaining('secret') as string },
    })
  })
})
