/**
 * Channels under fire: random hostile words in every field, receivers that answer every status there is, moments that a
 * clock cannot hold, secrets, replays. Spec team C84.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { email, slack, terminal, verifyWebhook, webhook, type EmailMessage } from '../src/index.ts'
import { seededRandom } from '@reeve/core'
import type { Json, FailureError } from '@reeve/core'
import type { Channel, Notice } from '@reeve/oversight'
import { io, notice } from './notices.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0))
    await new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve())))
})
async function receiver(answer: (request: IncomingMessage, n: number) => readonly [number, Record<string, string>?]) {
  const got: { headers: IncomingMessage['headers']; body: string; method: string | undefined }[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      got.push({ headers: request.headers, body: Buffer.concat(pieces).toString(), method: request.method })
      const [status, headers = {}] = answer(request, got.length)
      response.writeHead(status, headers).end('x'.repeat(100_000))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}
const secret = 'a secret of 24 characters'
const told = async (channel: Channel, given: Notice = notice(), at = io()): Promise<FailureError | undefined> => {
  try {
    await channel.notify(given, at)
    return undefined
  } catch (thrown) {
    return thrown as FailureError
  }
}

/** Pieces of which hostile words are made. */
const pieces = [
  '\r\n',
  '\n',
  '\r',
  '\u0000',
  '\u001b[2J',
  '\u009b1m',
  '\u202E',
  '\u2066',
  '\u2028',
  '\uD800',
  '\uDC00',
  '\u200b',
  '<',
  '>',
  '&',
  '"',
  "'",
  '`',
  '```',
  '|',
  '<!channel>',
  '<@U1>',
  '[a](https://evil.example)',
  'https://evil.example/approve',
  'Bcc: eve@evil.example',
  '<script>',
  '</pre>',
  '<img src=x onerror=y>',
  '$(rm -rf /)',
  "'; rm -rf /",
  '\\',
  '%0d%0a',
  'reeve approve apr_x',
  'é',
  '😀',
  ' ',
  'word',
  '.',
  '\n.\r\n',
]
const words = (seed: number): string => {
  let text = ''
  for (let n = 0; n < 12; n++) text += pieces[Math.floor(seededRandom(`words ${seed}`, n) * pieces.length)]!
  return text
}
const evil = (seed: number): Notice => {
  const bad = words(seed)
  return notice({
    type: seed % 2 === 0 ? 'approval' : 'interrupt',
    id: bad,
    title: bad,
    text: bad,
    path: [bad, words(seed + 1)],
    input: { [bad]: [words(seed + 2), { [words(seed + 3)]: bad }] } as Json,
    hits: [{ code: bad as never, priority: bad as never, detail: bad }],
    approvers: [bad],
    run: bad as never,
    risk: bad as never,
    until: seed % 3 === 0 ? Number.NaN : seed % 3 === 1 ? Infinity : 8.7e15,
  })
}

describe('words of models', () => {
  test('a terminal shows no control character but its own line breaks, and every line of theirs is indented', async () => {
    for (let seed = 0; seed < 300; seed++) {
      let shown = ''
      await terminal({ write: (text) => (shown += text) }).notify(evil(seed), io(`k${seed}`))
      expect(shown.replaceAll('\n', ''), `${seed}`).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      expect(
        shown.split('\n').filter((line) => /^\S/u.test(line)),
        `${seed}`,
      ).toHaveLength(1)
      const commands = shown.split('\n').filter((line) => /^ {2}(?:Decide:|Answer:| {7}) reeve /u.test(line))
      expect(commands.length, `${seed}`).toBeGreaterThan(0)
      // the id is one word of a shell
      for (const command of commands)
        expect(command.replace(/'(?:[^']|'\\'')*'/gu, 'W').replaceAll(String.raw`\'`, ''), command).not.toMatch(
          /[;$`<>|&]/u,
        )
    }
  })

  test('a mail has one line in each header, no tag and no address that is not ours', async () => {
    for (let seed = 0; seed < 300; seed++) {
      const sent: EmailMessage[] = []
      const channel = email({
        transport: { sendMail: async (mail) => void sent.push(mail) },
        from: 'reeve@example.org',
        to: 'ann@example.org',
        link: () => 'https://example.org/run?a="><b>',
      })
      await channel.notify(evil(seed), io(`k${seed}`))
      const [{ subject, html, to, messageId, headers } = {} as EmailMessage] = sent
      for (const header of [subject, messageId, ...Object.values(headers)])
        expect(header).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
      expect(to).toEqual(['ann@example.org'])
      expect(html.match(/<(?!\/?(?:h3|blockquote|table|tr|th|td|p|pre|a)\b)/gu)).toBeNull()
      expect(html.match(/href=/gu)).toHaveLength(1)
      expect(html.match(/<[^>]*\bon\w+=/gu)).toBeNull()
    }
  })

  test('Slack text carries no markup, name or address, and every block stays within its limits', async () => {
    for (let seed = 0; seed < 200; seed++) {
      const bodies: string[] = []
      const fetch = async (_address: string, init: RequestInit): Promise<Response> => (
        bodies.push(init.body as string),
        new Response('ok')
      )
      const given =
        seed % 10 === 0 ? { ...evil(seed), input: '&`<'.repeat(200_000), text: '&'.repeat(50_000) } : evil(seed)
      await slack({ webhookUrl: 'https://hooks.example.org/x', fetch }).notify(given, io())
      const body = JSON.parse(bodies[0]!) as {
        text: string
        blocks: { type: string; text?: { type: string; text: string }; fields?: { type: string; text: string }[] }[]
      }
      for (const { type, text, fields = [] } of body.blocks)
        for (const each of [...(text === undefined ? [] : [text]), ...fields]) {
          expect(each.text.length).toBeLessThanOrEqual(type === 'header' ? 150 : fields.includes(each) ? 2_000 : 3_000)
          expect(each.text).not.toBe('')
          expect(each.type === 'mrkdwn' ? each.text.slice(3, -3) : '').not.toMatch(/[<>`]/u)
        }
      expect(body.text.length).toBeLessThan(40_000)
      expect(body.text.replaceAll('```', '')).not.toMatch(/[<>]/u)
    }
  })
})

describe('receivers', () => {
  test('team C84: every status means what it means: taken, again, again later, or never', async () => {
    for (const status of [
      200, 201, 202, 204, 299, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 408, 409, 410, 413, 422, 425, 429, 500,
      501, 502, 503, 504, 599,
    ]) {
      const { url, got } = await receiver(() => [status, { location: 'http://127.0.0.1:1/elsewhere' }])
      const thrown = await told(webhook({ url, secret }))
      const retryable = status < 300 ? undefined : status >= 500 || [408, 425, 429].includes(status)
      expect([status, thrown?.failure.retryable]).toEqual([status, retryable])
      expect(thrown?.failure.message ?? '').not.toContain('/hook')
      expect(got).toHaveLength(1)
    }
  })

  test('retry-after in seconds, as a date, as nonsense, negative, huge', async () => {
    const after = async (value: string) => {
      const { url } = await receiver(() => [429, { 'retry-after': value }])
      return (await told(webhook({ url, secret })))!.failure.retryAfterMs
    }
    expect(await after('7')).toBe(7_000)
    expect(await after('99999999')).toBe(15 * 60_000)
    expect(await after(new Date(Date.now() + 60_000).toUTCString())).toBeGreaterThan(50_000)
    expect(await after(new Date(Date.now() - 60_000).toUTCString())).toBe(0)
    expect(await after('soon')).toBeUndefined()
    for (const odd of ['-1', '1e3', ''])
      expect([undefined, 0]).toContain((await after(odd)) === undefined ? undefined : Math.min(0, (await after(odd))!))
  })

  test('a webhook is only posted; its signature survives clock skew and fails for changed or old content', async () => {
    const { url, got } = await receiver(() => [204])
    await webhook({ url, secret, headers: { authorization: 'Bearer t' } }).notify(evil(2), io('key ✓'))
    const [{ headers, body, method }] = got as [{ headers: Record<string, string>; body: string; method: string }]
    expect([method, headers['authorization']]).toEqual(['POST', 'Bearer t'])
    const now = Date.now()
    expect(verifyWebhook(headers, body, secret)?.key).toBe('key ✓')
    for (const skew of [-290_000, 290_000])
      expect(verifyWebhook(headers, body, secret, { now: now + skew })).toBeDefined()
    for (const skew of [-310_000, 310_000])
      expect(verifyWebhook(headers, body, secret, { now: now + skew })).toBeUndefined()
    expect(verifyWebhook(headers, body, [secret, 'an older secret!'])).toBeDefined()
    expect(verifyWebhook(headers, body, 'another secret!!')).toBeUndefined()
    expect(verifyWebhook(headers, body, '')).toBeUndefined()
    expect(verifyWebhook(headers, body, [])).toBeUndefined()
    for (let n = 0; n < 100; n++) {
      const at = Math.floor(seededRandom('byte', n) * body.length)
      expect(
        verifyWebhook(headers, `${body.slice(0, at)}${body[at] === 'x' ? 'y' : 'x'}${body.slice(at + 1)}`, secret),
      ).toBeUndefined()
    }
    const signature = headers['reeve-signature']!
    for (const strange of [
      '',
      't=',
      'v1=',
      signature.replace('v1=', 'v0='),
      signature.replace(/t=\d+/u, `t=${Math.floor(now / 1_000) + 60}`),
      `${signature},t=1`.split(',').reverse().join(','),
      't=NaN,v1=00',
      signature.slice(0, -1),
    ])
      expect(verifyWebhook({ 'Reeve-Signature': strange }, body, secret), strange).toBeUndefined()
    for (const toleranceMs of [Number.NaN, -1])
      expect(verifyWebhook(headers, body, secret, { toleranceMs })).toBeUndefined()
    expect(verifyWebhook(new Headers(headers), new TextEncoder().encode(body), secret)).toBeDefined()
  })
})
