/** Mail against a real SMTP server: what arrives, by which id a repeated mail is known, what is tried again. */
import { afterEach, describe, expect, test } from 'vitest'
import type { AddressInfo } from 'node:net'
import { createTransport } from 'nodemailer'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { email, type MailTransport } from '../src/index.ts'
import { agent } from '@reeve/agent'
import { approve } from '@reeve/oversight'
import { createRuntime } from '@reeve/runtime'
import { hostile, io, notice } from './notices.ts'

const servers: SMTPServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise<void>((resolve) => server.close(() => resolve()))
})

interface Got {
  readonly from: string
  readonly to: readonly string[]
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}
/** A mail server on this machine that keeps what it is sent. */
async function mailServer(more: SMTPServerOptions = {}) {
  const got: Got[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        const end = text.indexOf('\r\n\r\n')
        const lines = text
          .slice(0, end)
          .replaceAll(/\r\n[ \t]+/g, ' ')
          .split('\r\n')
        const headers = Object.fromEntries(
          lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
        )
        const { mailFrom, rcptTo } = session.envelope
        got.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          headers,
          body: text.slice(end + 4),
        })
        done()
      })
    },
    ...more,
  })
  servers.push(server)
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return { got, smtp: { host: '127.0.0.1', port: (server.server.address() as AddressInfo).port } }
}
const addresses = { from: 'Reeve <reeve@example.org>', to: ['ann@example.org', 'bob@example.org'] }

/** Each part of a mail, decoded. */
const partsOf = ({ headers, body }: Got): string[] => {
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')![1]!
  return body.split(`--${boundary}`).flatMap((part) => {
    const end = part.indexOf('\r\n\r\n')
    if (end < 0) return []
    const text = part.slice(end + 4)
    if (/base64/i.test(part.slice(0, end))) return [Buffer.from(text, 'base64').toString()]
    const plain = text
      .replaceAll('=\r\n', '')
      .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    return [Buffer.from(plain, 'latin1').toString().replaceAll('\r\n', '\n')]
  })
}

describe('a mail', () => {
  test('team C84: a run tells by mail, in text and HTML; a second telling has the same id', async () => {
    const { got, smtp } = await mailServer()
    const channel = email({ smtp, ...addresses, link: ({ run }) => `https://studio.example/runs/${run}` })
    const root = agent({
      name: 'asker',
      description: 'Asks.',
      run: async (ctx) => {
        const rules = { notify: ['email'] }
        return (await approve(ctx, { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money', rules }))
          .approved
      },
    })
    await using runtime = await createRuntime({ strict: true, agents: [root], channels: [channel] })
    const run = await runtime.start(root, 'go')
    await expect.poll(() => got.length).toBe(1)
    const state = await run.until('waiting')
    const id = 'waiting' in state ? state.waiting[0]!.id : ''
    expect(got[0]).toMatchObject({
      from: 'reeve@example.org',
      to: ['ann@example.org', 'bob@example.org'],
      headers: { subject: '[reeve] asker asks for approval of pay', 'auto-submitted': 'auto-generated' },
    })
    const [text, html] = partsOf(got[0]!)
    expect(text).toContain(`reeve approve ${id}`)
    expect(html).toContain(`<a href="https://studio.example/runs/${run.id}">Look at the run</a>`)
    await run.decide({ approvalId: id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: true })
    for (const key of ['k', 'k', 'l']) await channel.notify(notice(), io(key))
    const ids = got.slice(1).map(({ headers }) => headers['message-id'])
    expect(ids).toEqual([ids[0], ids[0], expect.not.stringMatching(ids[0]!) as string])
    expect(ids[0]).toMatch(/^<[0-9a-f]{40}@example\.org>$/)
  })
  test('words of a model add no header and no receiver', async () => {
    const { got, smtp } = await mailServer()
    await email({ smtp, ...addresses }).notify(hostile(), io())
    expect(got[0]!.to).toEqual(addresses.to)
    expect(Object.keys(got[0]!.headers).sort()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ])
    const [text, html] = partsOf(got[0]!)
    expect(html).not.toMatch(/<script|<a |<!channel/)
    expect(text).not.toMatch(/[^\P{Cc}\n]/u)
  })
  test('a transport of nodemailer is taken as it is', async () => {
    const { got, smtp } = await mailServer()
    const transport: MailTransport = createTransport(smtp)
    await email({ transport, ...addresses, to: 'ann@example.org' }).notify(notice(), io())
    expect(got[0]!.to).toEqual(['ann@example.org'])
  })
})

describe('a server that refuses', () => {
  const failing = async (more: SMTPServerOptions, auth?: { user: string; pass: string }): Promise<unknown> => {
    const { smtp } = await mailServer(more)
    const channel = email({ smtp: { ...smtp, ...(auth === undefined ? undefined : { auth }) }, ...addresses })
    return Promise.resolve(channel.notify(notice(), io())).then(
      () => 'sent',
      (thrown: { failure: unknown }) => thrown.failure,
    )
  }
  const refusing = (responseCode: number): SMTPServerOptions => ({
    onRcptTo: (_address, _session, done) => done(Object.assign(new Error('not here'), { responseCode })),
  })
  test('for now: tried again; for good: not', async () => {
    expect(await failing(refusing(451))).toMatchObject({ code: 'notice.failed', retryable: true })
    expect(await failing(refusing(550))).toMatchObject({ code: 'notice.failed', retryable: false })
  })
  test('a password is never sent in the open', async () => {
    let asked = 0
    const options: SMTPServerOptions = {
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => {
        asked++
        done(null, { user: 'x' })
      },
    }
    expect(await failing(options, { user: 'reeve', pass: 'very secret' })).toMatchObject({
      retryable: false,
      message: expect.not.stringContaining('very secret') as string,
    })
    expect(asked).toBe(0)
  })
  test('one that hangs is left when the try is over', async () => {
    let reached = false
    const { smtp } = await mailServer({ onMailFrom: () => void (reached = true) })
    const over = new AbortController()
    const telling = Promise.resolve(email({ smtp, ...addresses }).notify(notice(), io('k', over.signal)))
    const ended = telling.then(
      () => 'sent',
      (thrown: Error) => thrown.name,
    )
    await expect.poll(() => reached).toBe(true)
    over.abort(new Error('too long'))
    expect(await ended).toBe('AbortError')
  })
  test('unreachable server', async () => {
    const { smtp } = await mailServer()
    await new Promise<void>((resolve) => servers.pop()!.close(() => resolve()))
    await expect(email({ smtp, ...addresses }).notify(notice(), io())).rejects.toMatchObject({
      failure: { code: 'notice.failed', class: 'transport', retryable: true },
    })
  })
})
