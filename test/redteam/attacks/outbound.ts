/** What goes out: notices, webhooks, the client. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { slack, verifyWebhook, webhook } from '../../../packages/notify/src/index.ts'
import { createClient } from '../../../packages/client/src/index.ts'
import { area, holds, short } from '../attack.ts'
import type { World } from '../world.ts'

const secret = 's'.repeat(24)
const notice = {
  title: 'Approve <!channel> <http://evil.example|click to approve> *bold* \u202e',
  text: 'see <https://evil.example|here> & `code` ```x``` <@U123>',
  input: { a: '<!here> <http://evil.example|x> ``` end' },
  kind: 'approval',
  approvalId: 'apr_1',
  id: 'apr_1',
  path: ['a\r\nX-Evil: 1'],
  agent: 'a',
  tool: 'pay\r\nTo: x@y',
  risk: 'high',
  reason: '<!channel>',
  run: 'r',
}

interface Sent {
  readonly body: string
  readonly headers: Record<string, string>
}

/** What a channel sends of a notice. */
async function sent(channel: (fetch: never) => { notify: (...given: never[]) => unknown }): Promise<Sent> {
  let seen: Sent | undefined
  const stub = (
    _url: string,
    { body, headers }: { readonly body: string; readonly headers: Record<string, string> },
  ) => {
    seen = { body, headers: Object.fromEntries(new Headers(headers)) }
    return Promise.resolve(new Response('ok'))
  }
  await channel(stub as never).notify(notice as never, { key: 'k', signal: new AbortController().signal } as never)
  if (seen === undefined) throw new Error('nothing was sent')
  return seen
}

const isPlainText = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'plain_text'

export const outbound = area('What goes out', [
  {
    id: 'slack-markup',
    holds: 'Nothing in a notice mentions a channel or person, or is a link, in Slack.',
    async run() {
      const { body } = await sent((fetch) => slack({ webhookUrl: 'https://hooks.slack.com/x', fetch }))
      // what is plain text there is not read for mentions and links
      const read = JSON.stringify(JSON.parse(body, (_key, value: unknown) => (isPlainText(value) ? null : value)))
      holds(
        !/<!channel>|<!here>|<@U123>|<https?:\/\/evil/.test(read),
        short(/.{20}<[!@h].{30}/.exec(read)?.[0] ?? read),
      )
    },
  },
  {
    id: 'webhook-forged',
    holds: 'A webhook that was changed, is old or early, or has another or no secret, is not verified.',
    async run() {
      const { body, headers } = await sent((fetch) => webhook({ url: 'http://127.0.0.1:1/', secret, fetch }))
      const is = (given = headers, text = body, key: unknown = secret, options: object = {}): boolean => {
        try {
          return verifyWebhook(given as never, text, key as never, options) !== undefined
        } catch {
          return false
        }
      }
      holds(is(), 'a good one is not verified')
      const signature = headers['reeve-signature']!
      for (const [what, tried] of Object.entries({
        changed: is(headers, body.replace('a', 'b')),
        'another secret': is(headers, body, 'z'.repeat(24)),
        'an empty secret': is(headers, body, ''),
        'no secret': is(headers, body, []),
        old: is(headers, body, secret, { now: Date.now() + 301_000 }),
        early: is(headers, body, secret, { now: Date.now() - 301_000 }),
        'a tolerance that is no number': is(headers, body, secret, { toleranceMs: Number.NaN, now: Date.now() + 1e9 }),
        'no signature': is({}),
        'an empty one': is({ 'reeve-signature': '' }),
        'two times': is({ 'reeve-signature': `t=1,${signature}` }),
        'a cut one': is({ 'reeve-signature': signature.slice(0, -2) }),
        'a longer one': is({ 'reeve-signature': `${signature}00` }),
      }))
        holds(!tried, `${what}: it was verified`)
    },
  },
  {
    id: 'client-redirect',
    holds: 'The client sends its token to no other origin, whatever the server answers.',
    async run(world) {
      const seen: (string | undefined)[] = []
      const other = createServer((request, response) => {
        seen.push(request.headers.authorization)
        response.end('{}')
      }).listen(0, '127.0.0.1')
      await once(other, 'listening')
      world.after(() => other.close())
      const location = `http://localhost:${(other.address() as AddressInfo).port}/api/me`
      for (const status of [301, 302, 303, 307, 308]) {
        const server = createServer((_request, response) => response.writeHead(status, { Location: location }).end())
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        world.after(() => server.close())
        const client = createClient({
          baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          token: 'SECRET',
          retries: 0,
        })
        await client.runs.list().catch(() => undefined)
      }
      holds(!seen.some((each) => each?.includes('SECRET')), 'the token went to another origin')
    },
  },
  {
    id: 'link-page-markup',
    holds: 'What a model wrote is text on the page of a link: no script, no link, no form but its own.',
    async run(world: World) {
      const attack =
        '</pre><script>alert(1)</script><form action="http://evil.example"><a href="javascript:x">x</a><img src=x onerror=x>'
      const asked = await world.asked('alice', 'payer', JSON.stringify({ a: attack, [attack]: 1 }))
      const link = await world.post('agnes', `/approvals/${asked.id}/link`, { approver: attack.slice(0, 200) })
      const url = (link.json as { readonly url?: string } | undefined)?.url
      if (url === undefined) throw new Error(link.text)
      const page = await (await fetch(url)).text()
      holds(!/<script|<img|<a |action="http/.test(page), short(/<(?:script|img|a )[^>]*/.exec(page)?.[0] ?? page))
      holds(page.includes('onerror=x'), 'it is not shown at all')
    },
  },
])
