/** Who may approve, and what: asked at the decision, whatever the way. */
import { createHmac } from 'node:crypto'
import type { Json, JsonObject } from '@reeve/core'
import type { Principal } from '@reeve/server'
import { area, holds, short } from '../attack.ts'
import { everyone, tokenOf, type Person } from '../people.ts'
import {
  answered,
  memberOf,
  slackIdOf,
  slackSecret,
  slackTeam,
  until,
  type Answer,
  type Asked,
  type World,
} from '../world.ts'

/** Approves over each way, as this person. */
const ways: Readonly<Record<string, (world: World, who: Person, asked: Asked, session: string) => Promise<Answer>>> = {
  http: (world, who, { id }) => world.post(who, `/approvals/${id}/decision`, { decision: 'approve' }),
  interrupt: (world, who, { id }) =>
    world.post(who, `/interrupts/${id}/answer`, { value: { decision: 'approve', approver: 'cfo' } }),
  settle: (world, who, { id }) =>
    world.post(who, `/questions/${id}/settle`, { happened: true, value: { decision: 'approve' } }),
  chat: (world, who, { id, run }, session) =>
    world.ask(who, 'POST', '/chat', {
      id: session,
      messages: [
        {
          id: run,
          role: 'assistant',
          parts: [{ type: 'dynamic-tool', state: 'approval-responded', approval: { id, approved: true } }],
        },
      ],
    }),
  responses: (world, who, { id, run }) =>
    world.ask(who, 'POST', '/v1/responses', {
      model: 'x',
      previous_response_id: run.replace('run_', 'resp_'),
      input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }],
    }),
  'ag-ui': (world, who, { id, run }, session) =>
    agentOf(world, run).then((agent) =>
      world.say('ag-ui', who, agent, {
        session,
        more: { messages: [], resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }] },
      }),
    ),
  a2a: (world, who, { id, run }) =>
    agentOf(world, run).then((agent) =>
      world.a2a(who, agent, 'SendMessage', {
        message: {
          messageId: world.fresh('m'),
          role: 'ROLE_USER',
          taskId: run,
          parts: [{ data: { id, decision: 'approve' } }],
        },
      }),
    ),
  mcp: (world, who, { id }) => world.mcp(who, 'decide', { approval: id, decision: 'approve' }),
  slack: (world, who, asked) => pressedInSlack(world, slackIdOf(who), asked),
  link: async (world, who, { id }) => {
    const link = await world.post(who, `/approvals/${id}/link`, { approver: 'cfo' })
    const url = memberOf(link.json, 'url')
    return typeof url === 'string' ? byLink(url, 'decision=approve') : link
  },
}

/** A press of Approve in Slack. `at`: when, in milliseconds since 1970. */
function pressedInSlack(
  world: World,
  user: string,
  { id, run, approval }: Asked,
  {
    at = Date.now(),
    secret = slackSecret,
    team = slackTeam,
    hash = approval?.inputHash ?? '',
  }: { readonly at?: number; readonly secret?: string; readonly team?: string; readonly hash?: string } = {},
): Promise<Answer> {
  const payload = {
    type: 'block_actions',
    user: { id: user, team_id: team, name: 'cfo', username: 'cfo' },
    team: { id: team },
    container: { type: 'message', channel_id: 'C0WORLD', message_ts: '1.1' },
    trigger_id: 'x',
    actions: [{ action_id: 'reeve:approve', value: JSON.stringify({ approvalId: id, inputHash: hash, run }) }],
    approver: 'cfo',
  }
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
  const seconds = String(Math.floor(at / 1_000))
  const signature = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
  return answered(`${world.server.url}/slack`, {
    body,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Slack-Request-Timestamp': seconds,
      'X-Slack-Signature': `v0=${signature}`,
    },
  })
}

const agentOf = async (world: World, run: string): Promise<string> => (await world.runtime.handle(run).summary()).agent

/** Posts the form of a link. */
const byLink = (url: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  answered(url, { body, headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers } })

/** A link for an approval, and its approval. */
async function linked(world: World, body: JsonObject = {}): Promise<{ readonly asked: Asked; readonly url: string }> {
  const asked = await world.asked('alice', 'payer')
  const answer = await world.post('amy', `/approvals/${asked.id}/link`, { approver: 'amy', ...body })
  const url = memberOf(answer.json, 'url')
  if (typeof url !== 'string') throw new Error(`no link: ${answer.text}`)
  return { asked, url }
}

const notPaid = (world: World, what: string): void =>
  holds(world.effects.length === 0, `${what}: ${short(world.effects)}`)

/** A number that is no longer exact as a double. */
const inexact = '9007199254740993'

export const approvals = area('Who may approve, and what', [
  ...Object.keys(ways).flatMap((way) =>
    (['avery', 'alice', 'gary', 'greta'] as const).map((who) => ({
      id: `approve-${way}-${who}`,
      holds: `${{ avery: 'A viewer', alice: 'An operator', gary: 'An approver of another tenant', greta: 'An operator and approver of another tenant' }[who]} approves nothing (${way}).`,
      async run(world: World) {
        const asked = await world.asked('alice', 'payer', '{"usd":1}', { session: 's1' })
        const answer = await ways[way]!(world, who, asked, 's1')
        await world.rest(asked.run)
        notPaid(world, `${answer.status}`)
      },
    })),
  ),
  {
    id: 'approve-by-approver',
    holds: 'Each of these ways decides for an approver of the tenant: what is tried above is no idle word.',
    async run(world) {
      for (const way of ['http', 'chat', 'responses', 'ag-ui', 'a2a', 'mcp', 'slack']) {
        world.effects.length = 0
        const session = world.fresh('s')
        const asked = await world.asked('anton', 'payer', '{"usd":1}', { session })
        const answer = await ways[way]!(world, 'anton', asked, session)
        await world.settled(asked.run, asked.id).catch(() => undefined)
        holds(world.effects.length === 1, `${way}: ${answer.status} ${short(answer.text)}`)
      }
      world.effects.length = 0
      const { url } = await linked(world)
      const answer = await byLink(url, 'decision=approve')
      await until(() => world.effects.length === 1).catch(() => undefined)
      holds(world.effects.length === 1, `link: ${answer.status} ${short(answer.text)}`)
    },
  },
  ...Object.keys(ways).map((way) => ({
    id: `approvers-${way}`,
    holds: `Where the CFO alone may approve, another approver cannot (${way}).`,
    async run(world: World) {
      const asked = await world.asked('otto', 'treasurer', '{"usd":1000000}', { session: 's1' })
      const answer = await ways[way]!(world, 'otto', asked, 's1')
      await world.rest(asked.run)
      notPaid(world, `${answer.status}`)
      const { names } = await world.audit(asked.run)
      holds(!names.includes('cfo'), 'the audit says that the CFO approved it')
    },
  })),
  {
    id: 'slack-forged',
    holds: 'A press in Slack that Slack has not signed now, with this secret, decides nothing.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const more of [
        { secret: 'another-secret-of-16' },
        { secret: '' },
        { at: Date.now() - 301_000 },
        { at: Date.now() + 330_000 },
        { at: 0 },
      ]) {
        const { status } = await pressedInSlack(world, slackIdOf('anton'), asked, more)
        holds(status === 401, `${short(more)}: ${status}`)
      }
      await world.rest(asked.run)
      notPaid(world, 'a forged press')
    },
  },
  {
    id: 'slack-stranger',
    holds: 'Who is no one here, or is of another workspace, decides nothing in Slack, whatever they are called there.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const user of ['U0EVE', '__proto__', 'constructor', 'anton', '']) await pressedInSlack(world, user, asked)
      await pressedInSlack(world, slackIdOf('anton'), asked, { team: 'T0ELSEWHERE' })
      await world.rest(asked.run)
      notPaid(world, 'a stranger in Slack')
    },
  },
  {
    id: 'slack-other-arguments',
    holds: 'A press under a message that shows other arguments decides nothing.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const hash of ['f'.repeat(64), '', 'x']) await pressedInSlack(world, slackIdOf('anton'), asked, { hash })
      await world.rest(asked.run)
      notPaid(world, 'other arguments')
    },
  },
  {
    id: 'approvers-link-used-by-issuer',
    holds: 'Who issues a link in the name of the CFO does not decide by it as the CFO, nor under a look-alike name.',
    async run(world) {
      const asked = await world.asked('otto', 'treasurer', '{"usd":1000000}')
      for (const approver of ['cfo', 'CFO', 'c\u200bfo', 'ｃｆｏ', ' cfo ', 'ⅽfo']) {
        const link = await world.post('otto', `/approvals/${asked.id}/link`, { approver })
        const url = memberOf(link.json, 'url')
        if (typeof url === 'string') await byLink(url, 'decision=approve')
      }
      await world.rest(asked.run)
      notPaid(world, 'a link')
    },
  },
  ...(
    [
      ['zero-width', 'c\u200bfo'],
      ['full-width', 'ｃｆｏ'],
      ['soft-hyphen', 'c\u00adfo'],
      ['spaces', ' cfo '],
      ['no-break', '\u00a0cfo'],
      ['roman-numeral', 'ⅽfo'],
      ['word-joiner', 'cfo\u2060'],
    ] as const
  ).map(([id, name]) => ({
    id: `approver-name-${id}`,
    holds: `An identity provider’s user whose name only looks like "cfo" (${id}) is another person.`,
    async run(world: World) {
      const auth = (request: Request): Principal | undefined =>
        request.headers.get('Authorization') === 'Bearer eve' ? { name, roles: ['operator', 'approver'] } : undefined
      const server = await world.serve({ auth })
      const asked = await world.asked('otto', 'treasurer', '{"usd":1}')
      const body = { decision: 'approve' }
      const answer = await answered(`${server.url}/api/approvals/${asked.id}/decision`, { token: 'eve', body })
      await world.rest(asked.run)
      notPaid(world, `let in: ${answer.status}`)
    },
  })),
  {
    id: 'approve-own-by-proxy',
    holds:
      'Who starts a run for another user does not become free of rules about who asked for it: the audit names the starter.',
    async run(world) {
      const run = await world.start('agnes', 'payer', '{"usd":1}', { user: 'alice' })
      await world.rest(run)
      const events = JSON.stringify(await world.events(run))
      const { text } = await world.audit(run)
      holds(events.includes('agnes') || text.includes('agnes'), 'nothing says that agnes began it')
    },
  },
  {
    id: 'approve-other-arguments',
    holds: 'A decision that names the hash of other arguments than those that would run is refused.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const inputHash of [
        'deadbeef',
        '0'.repeat(64),
        asked.approval!.inputHash.toUpperCase(),
        ` ${asked.approval!.inputHash}`,
      ])
        await world.post('amy', `/approvals/${asked.id}/decision`, { decision: 'approve', inputHash })
      await world.rest(asked.run)
      notPaid(world, 'other arguments')
    },
  },
  {
    id: 'approve-exact-bytes',
    holds: 'What was shown is what runs, with whatever keys, escapes and duplicates it has.',
    async run(world) {
      const raw =
        '{"to":"a","__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"dup":1,"dup":2,"nul":"a\\u0000b","sur":"\\ud800","k\\u202e":"v","":"empty","toString":"z"}'
      const answer = await world.post('alice', '/runs', { agent: 'payer', input: raw })
      const run = memberOf(answer.json, 'run')
      if (typeof run !== 'string') return
      const asked = await world.question(run)
      await world.decide('amy', asked, { decision: 'approve', inputHash: asked.approval!.inputHash })
      const ran = world.effects[0]?.input
      holds(JSON.stringify(ran) === JSON.stringify(asked.approval!.input), `ran ${short(ran)}`)
      holds(({} as { admin?: unknown }).admin === undefined, 'the prototype is polluted')
    },
  },
  ...(
    [
      [
        'start',
        (world: World, _asked: Asked) => world.post('alice', '/runs', `{"agent":"typed","input":{"n":${inexact}}}`),
      ],
      [
        'start-values',
        (world: World) =>
          world.post('alice', '/runs', `{"agent":"typed","input":{"n":1},"session":"s","values":{"n":${inexact}}}`),
      ],
      [
        'edit',
        (world: World, { id }: Asked) =>
          world.post('amy', `/approvals/${id}/decision`, `{"decision":"edit","input":{"n":${inexact}}}`),
      ],
      [
        'mcp-edit',
        (world: World, { id }: Asked) =>
          raw(
            world,
            'amy',
            '/mcp',
            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"decide","arguments":{"approval":"${id}","decision":"edit","input":{"n":${inexact}}}}}`,
            { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
          ),
      ],
      [
        'mcp-start',
        (world: World) =>
          raw(
            world,
            'alice',
            '/mcp',
            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_run","arguments":{"agent":"typed","input":{"n":${inexact}}}}}`,
            { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
          ),
      ],
      [
        'a2a-data',
        (world: World) =>
          raw(
            world,
            'alice',
            '/a2a/typed',
            `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":${inexact}}}]}}}`,
            { 'A2A-Version': '1.0' },
          ),
      ],
      [
        'a2a-edit',
        (world: World, { id, run }: Asked) =>
          raw(
            world,
            'anton',
            '/a2a/payer',
            `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","taskId":"${run}","parts":[{"data":{"id":"${id}","decision":"edit","input":{"n":${inexact}}}}]}}}`,
            { 'A2A-Version': '1.0' },
          ),
      ],
      ['a2a-text', (world: World) => world.say('a2a', 'alice', 'typed', { text: `{"n":${inexact}}` })],
      ['openai-text', (world: World) => world.say('openai', 'alice', 'typed', { text: `{"n":${inexact}}` })],
      ['ag-ui-text', (world: World) => world.say('ag-ui', 'alice', 'typed', { text: `{"n":${inexact}}` })],
      [
        'ag-ui-edit',
        (world: World, { id }: Asked) =>
          raw(
            world,
            'anton',
            '/ag-ui/payer',
            `{"threadId":"s1","runId":"r","messages":[],"resume":[{"interruptId":"${id}","status":"resolved","payload":{"approved":true,"input":{"n":${inexact}},"editedArgs":{"n":${inexact}}}}]}`,
          ),
      ],
      [
        'fork',
        (world: World, { run }: Asked) =>
          world.post('alice', `/runs/${run}/fork`, `{"edit":{"type":"input","input":{"n":${inexact}}}}`),
      ],
      [
        'message',
        (world: World, { run, activation }: Asked) =>
          world.post('alice', `/runs/${run}/messages`, `{"to":"${activation}","message":{"n":${inexact}}}`),
      ],
      [
        'finish',
        async (world: World, { run }: Asked) => {
          await world.post('alice', `/runs/${run}/take-over`, {})
          return world.post('alice', `/runs/${run}/finish`, `{"output":{"n":${inexact}}}`)
        },
      ],
      [
        'metadata',
        (world: World) => world.post('alice', '/runs', `{"agent":"echo","input":"x","metadata":{"n":${inexact}}}`),
      ],
    ] as const satisfies readonly (readonly [string, (world: World, asked: Asked) => Promise<Answer>])[]
  ).map(([way, tried]) => ({
    id: `number-${way}`,
    holds: `A whole number beyond 2^53 is refused or kept, and not changed without a word (${way}).`,
    async run(world: World) {
      const asked = await world.asked('alice', 'payer', '{"usd":1}', { session: 's1' })
      await tried(world, asked)
      for (const { run } of await world.runtime.runs()) await world.rest(run)
      const recorded: string[] = []
      for (const { run, caller } of await world.runtime.runs())
        recorded.push(JSON.stringify(caller), JSON.stringify(await world.runtime.handle(run).journal()))
      const seen = `${recorded.join('')}${JSON.stringify(world.effects)}`
      holds(!seen.includes('9007199254740992'), `it became ${short(/.{30}9007199254740992/.exec(seen)?.[0] ?? '')}`)
    },
  })),
  {
    id: 'number-answer',
    holds: 'A whole number beyond 2^53 in an answer is refused or kept, over every protocol.',
    async run(world) {
      for (const way of ['http', 'responses', 'chat', 'a2a'] as const) {
        const asked = await world.asked('anton', 'asker', 'x', { session: `s-${way}` })
        await {
          http: () => world.post('anton', `/interrupts/${asked.id}/answer`, `{"value":{"n":${inexact}}}`),
          responses: () =>
            world.ask('anton', 'POST', '/v1/responses', {
              previous_response_id: asked.run.replace('run_', 'resp_'),
              input: [{ type: 'function_call_output', call_id: asked.id, output: `{"n":${inexact}}` }],
            }),
          chat: () =>
            raw(
              world,
              'anton',
              '/chat',
              `{"id":"s-chat","messages":[{"id":"${asked.run}","role":"assistant","parts":[]}],"answers":{"${asked.id}":{"n":${inexact}}}}`,
            ),
          a2a: () =>
            raw(
              world,
              'anton',
              '/a2a/asker',
              `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","taskId":"${asked.run}","parts":[{"data":{"id":"${asked.id}","value":{"n":${inexact}}}}]}}}`,
              { 'A2A-Version': '1.0' },
            ),
        }[way]()
        await world.rest(asked.run)
        const journal = JSON.stringify(await world.runtime.handle(asked.run).journal())
        holds(!journal.includes('9007199254740992'), `${way}: it was changed`)
      }
    },
  },

  {
    id: 'link-read-decides-nothing',
    holds: 'GET, HEAD, PUT, DELETE and words in the query of a link decide nothing.',
    async run(world) {
      const { url } = await linked(world)
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
        await answered(`${url}?decision=approve`, { method, headers: { 'X-HTTP-Method-Override': 'POST' } })
      notPaid(world, 'it was approved')
    },
  },
  {
    id: 'link-forms',
    holds: 'A form with another decision, two decisions, or from another origin decides nothing.',
    async run(world) {
      const { url, asked } = await linked(world)
      for (const form of [
        'decision=edit&input=%7B%7D',
        'decision=retry',
        'decision=__proto__',
        'decision=',
        '',
        'decision=approve%00',
        'DECISION=approve',
      ])
        await byLink(url, form)
      await byLink(url, 'decision=approve', { Origin: 'http://evil.example' })
      await byLink(url, 'decision=approve', { Origin: 'null' })
      await byLink(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`, 'decision=approve')
      await byLink(url.replace('127.0.0.1', 'localhost'), 'decision=approve')
      await answered(url, { body: { decision: 'approve' } })
      await world.rest(asked.run)
      notPaid(world, 'it was approved')
    },
  },
  {
    id: 'link-once',
    holds: 'A link decides once, and not after an edit, a cancellation or its end.',
    async run(world) {
      const first = await linked(world)
      await byLink(first.url, 'decision=reject')
      await world.settled(first.asked.run, first.asked.id)
      await byLink(first.url, 'decision=approve')
      const second = await linked(world)
      await world.post('alice', `/runs/${second.asked.run}/cancel`, {})
      await world.rest(second.asked.run)
      await byLink(second.url, 'decision=approve')
      const third = await linked(world, { expiresInMs: 1 })
      await byLink(third.url, 'decision=approve')
      await world.rest(third.asked.run)
      notPaid(world, 'it was approved')
    },
  },
  {
    id: 'link-of-issuer-without-role',
    holds: 'A link decides nothing when who issued it may not approve any more.',
    leftOpen: 'a link carries no credential that could be asked again: revoke the links of those who leave',
    async run(world) {
      const roles: { eve: Principal['roles'] } = { eve: ['approver'] }
      const auth = (request: Request): Principal | undefined => {
        const token = request.headers.get('Authorization')
        if (token === `Bearer ${tokenOf('alice')}`) return everyone.tokens[tokenOf('alice')]
        return token === 'Bearer eve' && roles.eve.length > 0
          ? { name: 'eve', roles: roles.eve, tenant: 'acme' }
          : undefined
      }
      const server = await world.serve({ auth })
      const asked = await world.asked('alice', 'payer')
      const body = { approver: 'eve' }
      const issued = await answered(`${server.url}/api/approvals/${asked.id}/link`, { token: 'eve', body })
      const url = memberOf(issued.json, 'url')
      if (typeof url !== 'string') throw new Error(`no link: ${issued.text}`)
      roles.eve = []
      // whether the issuer is known any more is seen at their next request, if not before
      await answered(`${server.url}/api/me`, { token: 'eve' })
      await byLink(url, 'decision=approve')
      await world.rest(asked.run)
      notPaid(world, 'the link of someone who is no approver any more')
    },
  },
  {
    id: 'link-listed-and-revoked',
    holds: 'Links that were issued can be listed, and taken back before they decide.',
    async run(world) {
      const { json } = await world.get('ada', '/openapi.json')
      const paths = memberOf(json, 'paths') as JsonObject
      const has = (method: string): boolean =>
        Object.entries(paths).some(
          ([path, each]) => /link/.test(path) && !path.endsWith('{token}') && method in (each as JsonObject),
        )
      holds(has('get'), 'no route lists links')
      holds(has('delete'), 'no route takes a link back')
    },
  },
  {
    id: 'link-of-tenant',
    holds: 'No link is issued for an approval of another tenant.',
    async run(world) {
      const asked = await world.asked('gina', 'payer')
      const answer = await world.post('amy', `/approvals/${asked.id}/link`, { approver: 'amy' })
      holds(answer.status === 404 || answer.status === 403, `${answer.status} ${short(answer.text)}`)
    },
  },
  {
    id: 'link-for-other-host',
    holds: 'A link cannot be issued for a host that the server does not answer to, whatever headers say.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const headers of [
        { 'X-Forwarded-Host': 'evil.example' },
        { Forwarded: 'host=evil.example;proto=https' },
        { 'X-Forwarded-Proto': 'javascript' },
        { 'X-Original-URL': '/evil', 'X-Rewrite-URL': '/evil' },
      ]) {
        const { text } = await world.post('amy', `/approvals/${asked.id}/link`, { approver: 'amy' }, headers)
        holds(!/evil|javascript/.test(text), short(text))
      }
    },
  },
  {
    id: 'two-decide',
    holds:
      'Of many who decide at once, by decision and by link, on two servers, one wins, and the tool runs once at most.',
    async run(world) {
      const second = await world.serve()
      for (let round = 0; round < 10; round++) {
        world.effects.length = 0
        const { asked, url } = await linked(world)
        const decide = (who: Person, decision: string, server = world.server): Promise<Answer> =>
          world.ask(who, 'POST', `/api/approvals/${asked.id}/decision`, { decision }, {}, server)
        const all = await Promise.all([
          decide('amy', 'approve'),
          decide('anton', 'reject'),
          decide('amy', 'approve', second),
          decide('anton', 'reject', second),
          byLink(url, 'decision=approve'),
          byLink(url, 'decision=reject'),
        ])
        await world.settled(asked.run, asked.id)
        const won = all.filter(({ status }) => status < 300).length
        holds(won === 1 && world.effects.length <= 1, `${won} decisions won, ${world.effects.length} effects`)
      }
    },
  },
  {
    id: 'approve-by-retry-of-rejected',
    holds: 'What was rejected is asked again in a fork or a retry, wherever it begins.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      await world.decide('amy', asked, { decision: 'reject' })
      for (const { position } of await world.events(asked.run)) {
        const fork = memberOf((await world.post('alice', `/runs/${asked.run}/fork`, { at: position })).json, 'run')
        if (typeof fork === 'string') await world.rest(fork)
      }
      await world.post('alice', `/runs/${asked.run}/retry`, { again: true })
      notPaid(world, 'it was paid')
    },
  },
  {
    id: 'approve-by-fork-of-approved',
    holds: 'What was approved once does not run again in a fork without another approval.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      await world.decide('amy', asked)
      for (const { position } of await world.events(asked.run)) {
        const fork = memberOf((await world.post('alice', `/runs/${asked.run}/fork`, { at: position })).json, 'run')
        if (typeof fork === 'string') await world.rest(fork)
      }
      holds(world.effects.length === 1, `it ran ${world.effects.length} times`)
    },
  },
  {
    id: 'approve-permission-that-changes',
    holds:
      'What a person decides is what they were shown: the arguments of an approval cannot be changed while it waits.',
    async run(world) {
      const asked = await world.asked('alice', 'payer')
      for (const message of [
        { type: 'approval.requested', id: asked.id, input: { usd: 1e9 } },
        { type: 'edit', id: asked.id, input: { usd: 1e9 } },
      ])
        await world.post('alice', `/runs/${asked.run}/messages`, { to: asked.activation, message })
      const again = await world.question(asked.run)
      await world.decide('amy', again, { decision: 'approve', inputHash: asked.approval!.inputHash })
      const ran: Json = world.effects[0]?.input ?? null
      holds(JSON.stringify(ran) === '{"usd":1}', `ran ${short(ran)}`)
    },
  },
])

/** A body as it stands. */
const raw = (
  world: World,
  who: Person,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Answer> => world.ask(who, 'POST', path, body, headers)
