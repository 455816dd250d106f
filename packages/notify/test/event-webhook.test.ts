/** Events over HTTP against a real server: signed, under the id of the event, tried again until they are taken. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { eventWebhook, verifyEvent, verifyWebhook } from '../src/index.ts'
import { rootActivation, runId } from '@reeve/core'
import type { FeedEvent } from '@reeve/engine'

const secret = 'a secret of some length'
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

const event: FeedEvent = {
  id: 42,
  position: 7,
  run: runId('run_a'),
  activation: rootActivation(runId('run_a')),
  seq: 3,
  at: 1_000,
  event: { type: 'text.said', text: 'hello' } as FeedEvent['event'],
}

/** Answers the n-th post with the n-th status, and from then on with the last one. */
async function receiver(...statuses: readonly number[]) {
  const got: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      got.push({ headers: request.headers, body })
      response.writeHead(statuses[Math.min(got.length, statuses.length) - 1]!).end()
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('an event is posted again until it is taken, under one key, each time with a signature of its own', async () => {
  const { got, url } = await receiver(503, 429, 204)
  await eventWebhook({ url, secret, headers: { 'x-token': 't' } })(event)
  expect(got.map(({ headers }) => [headers['idempotency-key'], headers['x-token']])).toEqual(got.map(() => ['42', 't']))
  expect(got).toHaveLength(3)
  for (const { headers, body } of got) {
    expect(verifyEvent(headers, body, secret)).toEqual({ key: '42', event })
    expect(verifyEvent(headers, `${body} `, secret)).toBeUndefined()
    expect(verifyEvent(headers, body, 'another secret of this length')).toBeUndefined()
    // a notice is no event, and an event no notice
    expect(verifyWebhook(headers, body, secret)).toBeUndefined()
  }
})

test('what no other try would mend is thrown; the signal ends trying; wrong options are said at once', async () => {
  const { got, url } = await receiver(400)
  await expect(eventWebhook({ url, secret })(event)).rejects.toThrow('answered 400')
  expect(got).toHaveLength(1)
  const away = await receiver(503)
  const stop = new AbortController()
  const posting = eventWebhook({ url: away.url, secret })(event, stop.signal)
  await expect.poll(() => away.got.length).toBe(1)
  stop.abort(new Error('that is enough'))
  await expect(posting).rejects.toThrow('that is enough')
  expect(() => eventWebhook({ url, secret: 'short' })).toThrow('16 characters')
})
