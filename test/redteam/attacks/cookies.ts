/** Cookies and credentials: worth what their principal is worth now, on every server. */
import type { ListeningServer, Principal } from '@reeve/server'
import { area, holds, short } from '../attack.ts'
import { everyone, tokenOf } from '../people.ts'
import { answered, memberOf, statusOf, type Answer, type World } from '../world.ts'

const session = { secret: 'k'.repeat(40) } as const
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })

/** A cookie for a token. */
async function signIn(server: ListeningServer, token: string): Promise<string> {
  const { status, headers } = await answered(`${server.url}/api/session`, { body: { token } })
  const cookie = headers.get('Set-Cookie')?.split(';')[0]
  if (cookie === undefined) throw new Error(`no cookie: ${status}`)
  return cookie
}

const me = ({ url }: ListeningServer, headers: Record<string, string>): Promise<Answer> =>
  answered(`${url}/api/me`, { headers })

/** The cookie of one server under the name that another one gives its own. */
const moved = (cookie: string, to: ListeningServer): string =>
  `reeve_${to.port}=${cookie.slice(cookie.indexOf('=') + 1)}`

/** Principals as a directory knows them at this moment. */
function directory(): {
  readonly users: Map<string, Principal>
  readonly auth: (request: Request) => Principal | undefined
} {
  const users = new Map<string, Principal>([['bob', { name: 'bob', roles: ['admin'] }]])
  return {
    users,
    auth: (request) => users.get(request.headers.get('Authorization')?.replace('Bearer ', '') ?? ''),
  }
}

/** Signs bob in, changes what he is, and says whether his cookie is still what he was. */
async function afterChange(world: World, change: (users: Map<string, Principal>) => void): Promise<Answer> {
  const { users, auth } = directory()
  const server = await world.serve({ auth, session })
  const cookie = await signIn(server, 'bob')
  if ((await me(server, { Cookie: cookie })).status !== 200) throw new Error('the cookie does not hold at first')
  change(users)
  // whoever is looked up again by their own credential is known to have changed
  await me(server, bearer('bob'))
  return me(server, { Cookie: cookie })
}

export const cookies = area('Cookies and credentials', [
  {
    id: 'cookie-after-removal',
    holds: 'The cookie of someone who is not known any more lets nobody in.',
    async run(world) {
      const { status, text } = await afterChange(world, (users) => users.delete('bob'))
      holds(status === 401, `${status} ${short(text)}`)
    },
  },
  {
    id: 'cookie-after-demotion',
    holds: 'The cookie of an admin who became a viewer is a viewer’s.',
    async run(world) {
      const { text } = await afterChange(world, (users) => users.set('bob', { name: 'bob', roles: ['viewer'] }))
      holds(!text.includes('admin'), short(text))
    },
  },
  {
    id: 'cookie-after-change-of-tenant',
    holds: 'The cookie of someone who went to another tenant sees nothing of the one before.',
    async run(world) {
      const { text } = await afterChange(world, (users) =>
        users.set('bob', { name: 'bob', roles: ['admin'], tenant: 'globex' }),
      )
      holds(text.includes('globex') || !text.includes('"admin"'), short(text))
    },
  },
  {
    id: 'cookie-after-restart',
    holds: 'With one secret, a cookie does not outlive its token over a restart.',
    async run(world) {
      const before = await world.serve({
        auth: { tokens: { [tokenOf('bob')]: { name: 'bob', roles: ['admin'] } } },
        session,
      })
      const cookie = await signIn(before, tokenOf('bob'))
      for (const tokens of [
        { [tokenOf('bob')]: { name: 'bob', roles: ['viewer'] } },
        { [tokenOf('ann')]: { name: 'ann', roles: ['viewer'] } },
      ] as const) {
        const after = await world.serve({ auth: { tokens }, session })
        const { text } = await me(after, { Cookie: moved(cookie, after) })
        holds(!text.includes('"admin"'), short(text))
      }
    },
  },
  {
    id: 'cookie-signed-out-elsewhere',
    holds: 'Who signs out at one server is signed out at the other one of the same store and secret.',
    async run(world) {
      const [one, two] = [await world.serve({ session }), await world.serve({ session })]
      const cookie = await signIn(one, tokenOf('ada'))
      await answered(`${one.url}/api/session`, { method: 'DELETE', headers: { Cookie: cookie, 'X-Reeve': '1' } })
      holds((await me(one, { Cookie: cookie })).status === 401, 'at the same server')
      const { status } = await me(two, { Cookie: moved(cookie, two) })
      holds(status === 401, `at the other one: ${status}`)
    },
  },
  {
    id: 'cookie-listed-and-ended',
    holds: 'Sessions of browsers can be listed and ended.',
    async run(world) {
      const { json } = await world.get('ada', '/openapi.json')
      const paths = Object.entries((memberOf(json, 'paths') ?? {}) as object).filter(([path]) =>
        /session|cookie|sign/.test(path),
      )
      const lists = paths.some(([path, each]) => 'get' in (each as object) && !/\/sessions(\/\{session\})?$/.test(path))
      holds(lists, `the routes: ${paths.map(([path]) => path).join(', ')}`)
    },
  },
  {
    id: 'cookie-of-neighbour',
    holds: 'A cookie that a neighbour on another port sets does not sign a user out.',
    async run(world) {
      const server = await world.serve({ session })
      const cookie = await signIn(server, tokenOf('ada'))
      const name = cookie.split('=')[0]!
      for (const all of [
        `${name}=bad; ${cookie}`,
        `${cookie}; ${name}=bad`,
        `${name}=; ${cookie}`,
        `${name}=a.b; ${cookie}`,
      ]) {
        const { status } = await me(server, { Cookie: all })
        holds(status === 200, `${short(all, 30)}: ${status}`)
      }
    },
  },
  {
    id: 'cookie-changed',
    holds: 'A cookie that was changed, cut, padded or written otherwise lets nobody in.',
    async run(world) {
      const server = await world.serve({ session })
      const cookie = await signIn(server, tokenOf('ada'))
      const [name, value] = [cookie.slice(0, cookie.indexOf('=')), cookie.slice(cookie.indexOf('=') + 1)]
      const [body, signature] = value.split('.') as [string, string]
      const forged = Buffer.from(Buffer.from(body, 'base64url').toString().replace('"ada"', '"eve"')).toString(
        'base64url',
      )
      for (const each of [
        `${body.slice(0, -1)}${body.endsWith('A') ? 'B' : 'A'}.${signature}`,
        `${forged}.${signature}`,
        `${forged}.`,
        `${body}.`,
        `.${signature}`,
        body,
        `${value}=`,
        `${value}.x`,
        '',
        `${body}.${signature.toLowerCase()}`,
        `${body}=.${signature}`,
        '..',
        `${value.slice(0, -1)}`,
      ])
        holds((await me(server, { Cookie: `${name}=${each}` })).status === 401, `it was taken: ${short(each, 40)}`)
    },
  },
  {
    id: 'cookie-of-other-secret',
    holds: 'A cookie of a server with another secret, or of another port of the same host, lets nobody in.',
    async run(world) {
      const [one, two] = [await world.serve({ session }), await world.serve({ session: { secret: 'z'.repeat(40) } })]
      const cookie = await signIn(one, tokenOf('ada'))
      holds((await me(two, { Cookie: moved(cookie, two) })).status === 401, 'with another secret')
      const third = await world.serve({ session })
      holds((await me(third, { Cookie: cookie })).status === 401, 'under the name of another port')
    },
  },
  {
    id: 'cookie-changes-by-form',
    holds: 'A cookie changes nothing without the header that no form of another site can send.',
    async run(world) {
      const server = await world.serve({ session })
      const cookie = await signIn(server, tokenOf('ada'))
      const body = '{"agent":"echo","input":"x"}'
      for (const headers of [
        { 'Content-Type': 'application/json' },
        { 'Content-Type': 'text/plain', 'X-Reeve': '1' },
        { 'Content-Type': 'application/x-www-form-urlencoded' },
        { 'Content-Type': 'application/json', 'X-Reeve': '0' },
        { 'Content-Type': 'application/json', 'X-Reeve': '1', Origin: 'http://evil.example' },
        { 'Content-Type': 'application/json', 'X-Reeve': '1', Origin: 'null' },
        { 'Content-Type': 'application/json', 'X-Reeve': '1', 'Sec-Fetch-Site': 'same-site' },
      ] as readonly Record<string, string>[])
        for (const path of ['/api/runs', '/v1/responses', '/chat', '/mcp', '/a2a/echo', '/ag-ui/echo'])
          await answered(server.url + path, { body, headers: { Cookie: cookie, ...headers } })
      holds((await world.runtime.runs()).length === 0, 'a run was started')
    },
  },
  {
    id: 'cookie-protocols-by-form',
    holds: 'No protocol takes a cookie from a form of another site: not one starts a run without the header.',
    async run(world) {
      const server = await world.serve({ session })
      const cookie = await signIn(server, tokenOf('ada'))
      const bodies = {
        '/v1/chat/completions': { model: 'echo', messages: [{ role: 'user', content: 'x' }] },
        '/v1/responses': { model: 'echo', input: 'x' },
        '/chat': {
          id: 'c',
          agent: 'echo',
          messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }],
        },
        '/ag-ui/echo': { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'x' }] },
        '/a2a/echo/message:send': { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } },
      }
      for (const [path, body] of Object.entries(bodies))
        for (const type of ['application/json', 'text/plain'])
          await answered(server.url + path, {
            body,
            headers: { Cookie: cookie, 'Content-Type': type, 'A2A-Version': '1.0' },
          })
      holds((await world.runtime.runs()).length === 0, 'a run was started')
    },
  },
  {
    id: 'cookie-renewed-by-cookie',
    holds: 'A cookie is no credential for another cookie, and a session is not one that the caller chose.',
    async run(world) {
      const server = await world.serve({ session })
      const cookie = await signIn(server, tokenOf('ada'))
      const headers = { Cookie: cookie, 'X-Reeve': '1' }
      const again = await answered(`${server.url}/api/session`, { body: {}, headers })
      holds(again.status === 401, `${again.status}`)
      const other = await signIn(server, tokenOf('ada'))
      holds(other !== cookie, 'the same session twice')
    },
  },
  {
    id: 'cookie-flags',
    holds: 'A cookie is HttpOnly and SameSite=Strict, and Secure over TLS.',
    async run(world) {
      const server = await world.serve({ session: { ...session, secure: true } })
      const response = await answered(`${server.url}/api/session`, { body: { token: tokenOf('ada') } })
      const cookie = response.headers.get('Set-Cookie') ?? ''
      for (const flag of ['HttpOnly', 'SameSite=Strict', 'Secure', '__Host-', 'Path=/'])
        holds(cookie.includes(flag), `${flag} is missing: ${short(cookie.replace(/=[^;]*/, ''))}`)
    },
  },
  {
    id: 'cookie-many',
    holds: 'A thousand cookies, or one without end, are refused or ignored.',
    async run(world) {
      for (const cookie of [
        Array.from({ length: 1_000 }, (_, i) => `c${i}=x`).join('; '),
        `reeve_${world.server.port}=${'a'.repeat(12_000)}`,
        `reeve_${world.server.port}=${'.'.repeat(5_000)}`,
        ';'.repeat(10_000),
        '='.repeat(10_000),
      ]) {
        const { status } = await me(world.server, { Cookie: cookie })
        holds(status === 401 || status === 431 || status === 400, `${status}`)
      }
      holds(world.errors.length === 0, String(world.errors[0]))
    },
  },
  {
    id: 'token-in-query',
    holds: 'A token in the query, the body or another header lets nobody in.',
    async run(world) {
      const token = tokenOf('ada')
      for (const [path, headers] of [
        [`/me?token=${token}`, {}],
        [`/me?access_token=${token}`, {}],
        ['/me', { 'X-Api-Key': token }],
        ['/me', { 'X-Reeve': token }],
        ['/me', { 'Proxy-Authorization': `Bearer ${token}` }],
        ['/me', { Authorization: `Basic ${Buffer.from(`ada:${token}`).toString('base64')}` }],
        ['/me', { Authorization: token }],
        ['/me', { Authorization: `Bearer ${token}, Bearer x` }],
        ['/me', { Authorization: `Bearer\t${token}` }],
        ['/me', { 'X-Forwarded-User': 'ada', 'X-Remote-User': 'ada', 'X-Forwarded-For': '127.0.0.1' }],
      ] as readonly (readonly [string, Record<string, string>])[])
        holds(
          (await answered(`${world.server.url}/api${path}`, { headers })).status === 401,
          `${path} ${short(headers)}`,
        )
    },
  },
  {
    id: 'token-guesses-lock-out',
    holds: 'Wrong credentials from an address do not lock a valid one out.',
    async run(world) {
      for (let i = 0; i < 40; i++) await me(world.server, bearer(`wrong-${i}`.padEnd(30, '-')))
      const { status } = await me(world.server, bearer(tokenOf('ada')))
      holds(status === 200, `the admin is answered ${status}`)
    },
  },
  {
    id: 'token-guesses-counted',
    holds: 'Guesses are still counted: an address that goes on guessing is told to wait.',
    async run(world) {
      const statuses = new Set<number>()
      for (let i = 0; i < 60; i++) statuses.add((await me(world.server, bearer(`wrong-${i}`.padEnd(30, '-')))).status)
      holds(statuses.has(429), `all were answered ${[...statuses].join(', ')}`)
    },
  },
  {
    id: 'token-guesses-ipv6',
    holds: 'Guesses from the addresses of one IPv6 network, which one machine has, are counted together.',
    async run(world) {
      let drawn = 0
      const server = await world.serve({ clientAddress: () => `2001:db8:1:2::${(drawn++).toString(16)}` })
      const statuses = new Set<number>()
      for (let i = 0; i < 100; i++) statuses.add((await me(server, bearer(`wrong-${i}`.padEnd(30, '-')))).status)
      holds(statuses.has(429), `100 guesses were answered ${[...statuses].join(', ')}`)
    },
  },
  {
    id: 'token-guesses-by-session',
    holds: 'Guesses by POST /session are counted with the others.',
    async run(world) {
      const statuses = new Set<number>()
      for (let i = 0; i < 60; i++)
        statuses.add(
          (await answered(`${world.server.url}/api/session`, { body: { token: `wrong-${i}`.padEnd(30, '-') } })).status,
        )
      holds(statuses.has(429) && !statuses.has(200), `all were answered ${[...statuses].join(', ')}`)
    },
  },
  {
    id: 'principal-misspelt',
    holds: 'A principal with a misspelt, inherited or wrong member lets nobody in.',
    async run(world) {
      for (const given of [
        { name: 'x', roles: ['admin'], tenent: 'a' },
        { name: 'x', roles: 'admin' },
        { name: 'x', roles: ['root'] },
        { name: '\u202e', roles: ['viewer'] },
        { name: '', roles: ['viewer'] },
        { name: 'x', roles: ['viewer'], tenant: '' },
        { name: 'x', roles: ['viewer'], tenant: null },
        { name: 'x', roles: ['viewer'], tenant: 'a/b' },
        { name: 'x', roles: ['viewer'], tenant: ['acme'] },
        { name: ['x'], roles: ['viewer'] },
        Object.create({ name: 'x', roles: ['admin'] }) as object,
        [],
        'x',
        7,
      ]) {
        const server = await world.serve({ auth: () => given as never })
        const { status } = await me(server, bearer('x'))
        await server.close()
        holds(status === 503 || status === 401, `${short(given)}: ${status}`)
      }
    },
  },
  ...(
    [
      ['nul', 'al\u0000ice'],
      ['newline', 'alice\nadmin'],
      ['bidi', 'a\u202elice'],
      ['tag', 'alice\u{e0061}'],
      ['cyrillic', '\u0430lice'],
      ['long', 'a'.repeat(256)],
    ] as const
  ).map(([id, name]) => ({
    id: `principal-name-${id}`,
    holds: `A principal whose name has unusual characters (${id}) is nobody else, in keys, audit and headers.`,
    async run(world: World) {
      const auth = (request: Request): Principal | undefined =>
        request.headers.get('Authorization') === 'Bearer eve'
          ? { name, roles: ['operator'], tenant: 'acme' }
          : everyone.tokens[request.headers.get('Authorization')?.replace('Bearer ', '') ?? '']
      const server = await world.serve({ auth })
      const post = (token: string): Promise<Answer> =>
        answered(`${server.url}/api/runs`, {
          token,
          headers: { 'Idempotency-Key': 'k1' },
          body: { agent: 'echo', input: 'x' },
        })
      const mine = await post(tokenOf('alice'))
      const theirs = await post('eve')
      holds(theirs.status < 500 || theirs.status === 503, `${theirs.status} ${short(theirs.text)}`)
      holds(memberOf(mine.json, 'run') !== memberOf(theirs.json, 'run') || theirs.status >= 400, 'they are one user')
      const users = (await world.runtime.runs()).map(({ caller }) => caller.user)
      holds(new Set(users).size === users.length, `recorded as ${short(users)}`)
    },
  })),
  {
    id: 'roles-empty',
    holds: 'A principal without a role does nothing, over no protocol.',
    async run(world) {
      const server = await world.serve({ auth: () => ({ name: 'nobody', roles: [] }) })
      for (const path of ['/api/runs', '/api/me', '/v1/models', '/chat/x', '/mcp', '/a2a/echo/tasks', '/api/changes']) {
        const status = await statusOf(server.url + path, { token: 'x', headers: { 'A2A-Version': '1.0' } })
        holds(status === 403, `${path}: ${status}`)
      }
    },
  },
  {
    id: 'open-routes',
    holds: 'Without a credential only health, the page of a link, a card and signing in are answered.',
    async run(world) {
      const { json } = await world.get('ada', '/openapi.json')
      for (const [path, methods] of Object.entries(memberOf(json, 'paths') as object))
        for (const method of Object.keys(methods as object)) {
          if (/health|links|\/session$|\/live$|\/ready$|openapi/.test(path)) continue
          const at = path.replaceAll(/\{\w+\}/g, 'x').replace(/^\/api/, '')
          const answer = await world.ask(
            undefined,
            method.toUpperCase(),
            `/api${at}`,
            method === 'post' ? {} : undefined,
          )
          holds(answer.status === 401, `${method} ${path}: ${answer.status}`)
        }
      for (const path of ['/v1/models', '/chat/x', '/mcp', '/a2a/echo', '/ag-ui/echo', '/a2a/echo/tasks'])
        holds((await world.ask(undefined, 'GET', path)).status === 401, path)
    },
  },
])
