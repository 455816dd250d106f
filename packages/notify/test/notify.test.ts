/** Channels that need no server: what they say of a notice, and that hostile words do nothing. */
import { describe, expect, test } from 'vitest'
import { slackMessage } from '../src/slack.ts'
import { mailOf } from '../src/email.ts'
import { email, slack, terminal, verifyWebhook, webhook } from '../src/index.ts'
import { signed } from '../src/signature.ts'
import type { Notice } from '@reeve/oversight'
import { hostile, io, notice } from './notices.ts'

const secret = 'a secret of some length'
const written = async (given: Notice, options: Parameters<typeof terminal>[0] = {}): Promise<string> => {
  let text = ''
  await terminal({ ...options, write: (more) => (text += more) }).notify(given, io())
  return text
}
/** Everything in a value that is a text. */
const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : []

describe('terminal', () => {
  test('shows what is asked, the exact arguments and the commands that decide', async () => {
    expect(await written(notice(), { store: './my store.db' }))
      .toBe(`[reeve] office > postman asks for approval of send_mail
    │ "send_mail" is a sensitive tool
  Asked by: office > postman
  Risk: high
  Escalated: sensitive_action (highest): it sends
  May decide: ann, bob
  Until: 2026-01-02 03:34:05 UTC
  Run: run_1
  Approval: apr_0123456789abcdef0123
  With:
    │ {
    │   "to": "ann@example.org",
    │   "text": "Hello"
    │ }
  Decide: reeve approve apr_0123456789abcdef0123 --store './my store.db'
          reeve reject apr_0123456789abcdef0123 --reason '…' --store './my store.db'
`)
  })
  test('a question, with the command that answers it', async () => {
    const text = await written(notice({ type: 'interrupt', id: 'int_1', input: 'which city?' }), {
      config: 'reeve.config.ts',
    })
    expect(text).toContain(
      `  The question:\n    │ "which city?"\n  Answer: reeve answer int_1 '<JSON or text>' --config reeve.config.ts\n`,
    )
  })
  test('words of a model move no cursor, and a hostile id is one word of the shell', async () => {
    const text = await written(hostile({ id: "x'; rm -rf / #\u001b[2J" }))
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u)
    expect(text).toContain(String.raw`reeve approve 'x'\''; rm -rf / #\u001b[2J'`)
    // a line break of a model begins no line of ours
    expect(text.split('\n').filter((line) => /^\S/.test(line))).toHaveLength(1)
  })
  test('words of a model are taken for no line of ours', async () => {
    const lie = notice({ text: 'money\n  Decide: reeve approve apr_another' })
    const decides = (text: string): unknown =>
      text.split('\n').filter((line) => /^\s*(Decide:|reeve approve) /.test(line)).length
    expect(decides(await written(lie))).toBe(1)
    // nor where the screen would break a long line
    const wide = `${' '.repeat(130)}reeve approve apr_another`
    const broken = await written(notice({ text: wide, input: { [wide]: wide }, path: ['office', wide], context: wide }))
    const lines = broken.split('\n').filter((line) => !/^ {10}reeve reject | {2}Decide: /.test(line))
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100)
    for (const line of lines) expect(line).toMatch(/^(?:\[reeve\] | {2}[A-Z][a-z ]+:| {4}│ |$)/)
    const { text } = mailOf({ ...lie, text: 'money\nIn a shell:\nreeve approve apr_another' }, 'k', {
      from: 'a@b.example',
      to: [],
      address: undefined,
    })
    expect(decides(text)).toBe(1)
  })
  test('a line of wide characters is broken before the screen does', async () => {
    const text = await written(notice({ input: `${'漢'.repeat(48)}amount: 10` }))
    expect(text).toContain(`    │ "${'漢'.repeat(46)}\n    │ 漢漢amount: 10"\n`)
  })
  test('the same key is written once', async () => {
    let count = 0
    const channel = terminal({ write: () => void count++ })
    for (const key of ['a', 'a', 'b']) await channel.notify(notice(), io(key))
    expect(count).toBe(2)
  })
  test('long arguments are cut and measured, and never in the middle of a character', async () => {
    const text = await written(notice({ input: '🙂'.repeat(3_000) }))
    expect(text).toMatch(/… \(6002 characters; the run has them all\)/)
    expect(text).not.toMatch(/\p{Cs}|\uFFFD/u)
  })
})

interface Text {
  readonly type: string
  readonly text: string
}

describe('slack', () => {
  test('a message of blocks, with the arguments as code and a link that shows', () => {
    const message = slackMessage(notice(), 'https://studio.example/runs/run_1?a=1&b=2')
    expect(message).toMatchObject({
      text: expect.stringContaining('office &gt; postman asks for approval of send_mail') as string,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'office > postman asks for approval of send_mail' } },
        { type: 'section', text: { type: 'plain_text', text: '"send_mail" is a sensitive tool' } },
        { type: 'section' },
        { text: { type: 'mrkdwn', text: '```\n{\n  "to": "ann@example.org",\n  "text": "Hello"\n}\n```' } },
        { text: { text: expect.stringContaining('reeve approve apr_0123456789abcdef0123') as string } },
        { type: 'context', elements: [{ text: '<https://studio.example/runs/run_1?a=1&amp;b=2|Look at the run>' }] },
      ],
    })
  })
  test('text of a model carries no markup, mention or link, and cannot leave a code block', () => {
    for (const input of ['x'.repeat(9_000), '&'.repeat(9_000), '`'.repeat(50)]) {
      const message = slackMessage(hostile({ input }), undefined) as unknown as {
        text: string
        blocks: { text?: Text; fields?: Text[] }[]
      }
      const blocks = message.blocks.flatMap(({ text, fields = [] }) => [
        ...(text === undefined ? [] : [text]),
        ...fields,
      ])
      const marked = [message.text, ...blocks.flatMap(({ type, text }) => (type === 'mrkdwn' ? [text] : []))]
      expect(marked).toHaveLength(3)
      for (const text of marked) {
        expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
        // outside of the code there is nothing to follow
        const [before, , after, ...more] = text.split('```')
        expect([before, after, more]).toEqual([expect.not.stringMatching(/https?:\/\/|[[\]`]/), '', []])
      }
      expect(Math.max(...blocks.map(({ text }) => text.length))).toBeLessThanOrEqual(3_000)
      expect(textsIn(message).join('')).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Cs}]/u)
    }
  })
  test('nothing in it decides: no buttons, and no address but the one that shows', () => {
    const message = slackMessage(notice(), 'https://studio.example/runs/run_1')
    const texts = JSON.stringify(message)
    expect(texts).not.toMatch(/"(actions|button|url|action_id|value)"/)
    expect(new Set(texts.match(/https?:\/\/[^"|>\\]+/g))).toEqual(new Set(['https://studio.example/runs/run_1']))
  })
})

describe('email', () => {
  const at = {
    from: 'Reeve <reeve@example.org>',
    to: ['ann@example.org'],
    address: 'https://studio.example/runs/run_1?a=1&b="2"',
  }
  test('text and HTML, an id that follows from the key, and one link, which shows', () => {
    const mail = mailOf(notice(), 'key 1', at)
    expect(mail).toMatchObject({
      subject: '[reeve] office > postman asks for approval of send_mail',
      to: ['ann@example.org'],
    })
    expect(mail.text).toContain('With:\n{\n  "to": "ann@example.org",\n  "text": "Hello"\n}')
    expect(mail.html).toContain('<pre>{\n  &quot;to&quot;: &quot;ann@example.org&quot;,')
    expect(mail.messageId).toMatch(/^<[0-9a-f]{40}@example\.org>$/)
    expect([
      mailOf(notice(), 'key 1', at).messageId === mail.messageId,
      mailOf(notice(), 'key 2', at).messageId === mail.messageId,
    ]).toEqual([true, false])
    expect(mail.html.match(/href="[^"]*"/g)).toEqual([
      'href="https://studio.example/runs/run_1?a=1&amp;b=&quot;2&quot;"',
    ])
    expect([...mail.text.matchAll(/https?:\S+/g)].map(String)).toEqual([at.address])
    expect(`${mail.text}${mail.html}`).not.toMatch(/mailto:|<form|<input|<button/)
  })
  test('words of a model are no HTML and no header', () => {
    const mail = mailOf(hostile(), 'k', { ...at, address: undefined })
    expect(mail.subject).not.toMatch(/\p{Cc}/u)
    const tags = mail.html.match(/<\/?[^>]*>/g) ?? []
    const known = new Set(['blockquote', 'h3', 'p', 'pre', 'table', 'td', 'th', 'tr'])
    expect(new Set(tags.map((tag) => /^<\/?(\w+)/.exec(tag)?.[1]))).toEqual(known)
  })
})

describe('signatures of webhooks', () => {
  const body = JSON.stringify({ key: 'k', notice: notice() })
  const now = 1_800_000_000_000
  const verify = (header: string, text = body, more: object = {}, with_: string | string[] = secret) =>
    verifyWebhook({ 'Reeve-Signature': header }, text, with_, { now, ...more })
  test('only what was signed with the secret, as it was, and lately, is read', () => {
    const good = signed(secret, body, now)
    expect(verify(good)).toEqual({ key: 'k', notice: notice() })
    expect(
      verifyWebhook(new Headers({ 'reeve-signature': good }), new TextEncoder().encode(body), secret, { now }),
    ).toMatchObject({
      key: 'k',
    })
    expect(verify(good, body, {}, ['the next secret, too', secret])).toMatchObject({ key: 'k' })
    const wrong: [string, ReturnType<typeof verify>][] = [
      ['another body', verify(good, body.replace('Hello', 'Hullo'))],
      ['another secret', verify(signed('another secret!!', body, now))],
      ['too old', verify(signed(secret, body, now - 301_000))],
      ['too early', verify(signed(secret, body, now + 301_000))],
      ['another moment', verify(good.replace(/t=\d+/, `t=${now / 1_000 + 1}`))],
      ['no moment', verify(good.replace(/t=\d+/, 't='))],
      ['a moment that is none', verify(good.replace(/t=\d+/, 't=NaN'))],
      ['no signature', verify(`t=${now / 1_000}`)],
      ['half a signature', verify(good.slice(0, -1))],
      ['nothing', verify('')],
      ['no secret', verify(signed('', body, now), body, {}, '')],
      ['no header', verifyWebhook({}, body, secret, { now })],
      ['signed nonsense', verify(signed(secret, 'null', now), 'null')],
      ['signed noise', verify(signed(secret, '{', now), '{')],
    ]
    expect(wrong.filter(([, read]) => read !== undefined)).toEqual([])
    expect(verify(signed(secret, body, now - 301_000), body, { toleranceMs: 302_000 })).toMatchObject({ key: 'k' })
  })
})

describe('invalid options', () => {
  const why = (make: () => unknown): string => {
    try {
      make()
    } catch (thrown) {
      return `${(thrown as { code: string }).code}: ${(thrown as Error).message}`
    }
    return 'nothing'
  }
  const bad = <T>(options: unknown): T => options as T
  test('are refused at once, all of them, and no secret is in the words', () => {
    expect(why(() => terminal(bad({ wirte: 1, write: 2 })))).toBe(
      'config.invalid: terminal has no option "wirte": did you mean "write"?\nterminal: write is 2, expected a function',
    )
    expect(
      why(() =>
        webhook(bad({ url: 'ftp://x', secret: 'short', headers: { 'Idempotency-Key': 'x', 'a b': 'y', x: 'a\nb' } })),
      ),
    ).toBe(
      [
        'config.invalid: webhook: url is not an http(s) address',
        'webhook: secret must be a text of at least 16 characters',
        'webhook: the header "Idempotency-Key" is set by Reeve',
        'webhook: header "a b" has an invalid name or an invalid value',
        'webhook: header "x" has an invalid name or an invalid value',
      ].join('\n'),
    )
    expect(why(() => webhook({ url: 'https://user:pass@x.example/', secret }))).toMatch(
      /^config.invalid: webhook: url has a name or a password in it/,
    )
    expect(why(() => slack(bad({ webhookUrl: 'hooks.example/T0/secret', link: 'x' })))).toBe(
      'config.invalid: slack: webhookUrl is not an http(s) address\nslack: link is the text "x", expected a function',
    )
    expect(why(() => email(bad({ from: 'a@b.example\r\nBcc: eve@example.org', to: [] })))).toBe(
      'config.invalid: email: from is the text "a@b.example\\r\\nBcc: eve@example.org", expected one mail address\nemail: to names no receiver\nemail: give either smtp or a transport',
    )
    expect(why(() => email(bad({ smtp: {}, from: 'a@b.example', to: ['x'] })))).toBe(
      'config.invalid: email: smtp.host is missing\nemail: to is the text "x", expected one mail address',
    )
  })
  test('a notice with an invalid link is not sent', async () => {
    const channel = slack({
      webhookUrl: 'https://hooks.example/x',
      link: () => 'javascript:alert(1)',
      fetch: () => Promise.reject(new Error()),
    })
    await expect(channel.notify(notice(), io())).rejects.toMatchObject({
      failure: { code: 'notice.failed', retryable: false },
    })
  })
})
