/** Every door of the table with every foreign principal, over real HTTP: every route and every verb of a protocol. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test, vi } from 'vitest'
import { agent } from '@reeve/public'
import { a2a } from '../../protocols/src/a2a/index.ts'
import { agUi } from '../../protocols/src/ag-ui/index.ts'
import { uiMessages } from '../../protocols/src/ai-sdk/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../../protocols/src/openai/index.ts'
import type { Door } from '../src/access/door.ts'
import { protocolDoors, routeDoors, type ProtocolVerb } from '../src/access/doors.ts'
import { allows } from '../src/access/principal.ts'
import type { Route } from '../src/route.ts'
import { routes } from '../src/routes/index.ts'
import type { Principal, Role } from '../src/wire.ts'
import { serving, type Serving } from './serving.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const roles: readonly Role[] = ['viewer', 'operator', 'approver', 'admin']
const principals: Readonly<Record<string, Omit<Principal, 'name'>>> = {
  ann: { roles: ['operator', 'approver'], tenant: 'acme' },
  ...Object.fromEntries(roles.map((role) => [role, { roles: [role], tenant: 'acme' }])),
  nobody: { roles: [], tenant: 'acme' },
  bert: { roles: ['operator', 'approver'], tenant: 'acme' },
  mallory: { roles: ['admin'], tenant: 'other' },
  narrow: { roles: ['admin'], agents: ['free'] },
  narrower: { roles: ['admin'], tenant: 'acme', agents: ['free'] },
}
const auth = {
  tokens: Object.fromEntries(Object.entries(principals).map(([name, each]) => [tokenOf(name), { name, ...each }])),
}
/** To whom neither the agent nor its runs are there. */
const foreign = ['mallory', 'narrow', 'narrower']

const guarded = agent({
  name: 'guarded',
  description: 'Pays once it may.',
  run: async (ctx) => ((await ctx.approve('pay', { input: { amount: 5 } })).approved ? 'paid' : 'no'),
})
const free = agent({ name: 'free', description: 'Echoes.', model: () => 'hello' })

interface Doors extends Serving {
  readonly question: string
  readonly send: (
    as: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Told>
}
interface Told {
  readonly status: number
  readonly text: string
}

/** Serves a run of acme's agent that waits for an approval: `run-77`, in ann's session `sess-77`. */
async function doors(): Promise<Doors> {
  const protocols = [
    agUi({ agents: ['guarded', 'free'] }),
    uiMessages({ agents: ['guarded', 'free'] }),
    openai(),
    a2a({ agents: ['guarded', 'free'] }),
    mcpServer(),
  ]
  const tenants = { acme: { agents: ['guarded'] }, other: { agents: [] } }
  const all = await serving({ agents: [guarded, free], tenants }, { auth, protocols, limits: { burst: 100_000 } })
  await all.runtime.start(guarded, 'go', { runId: 'run-77', session: 'sess-77', user: 'ann', tenant: 'acme' })
  const [approval] = await vi.waitUntil(async () => {
    const found = await all.runtime.approvals()
    return found.length > 0 ? found : undefined
  }, 25_000)
  const send: Doors['send'] = async (as, method, path, body, headers = {}) => {
    const response = await fetch(all.server.url + path, {
      method,
      headers: {
        ...(as === '' ? {} : { Authorization: `Bearer ${tokenOf(as)}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
    if (!(response.headers.get('Content-Type') ?? '').startsWith('text/event-stream'))
      return { status: response.status, text: await response.text() }
    // what a stream says first
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const { value = '' } = await reader.read()
    await reader.cancel()
    return { status: response.status, text: value }
  }
  return { ...all, question: approval!.id, send }
}

/** An answer without what the caller has named itself: that is no news. */
const news = (text: string): string =>
  text
    .replaceAll('\\"', '"')
    .replaceAll(
      /(?:there is no (?:GET|POST)|no agent answers at) "[^"]*"|(?:the agent|model|no model) "guarded"|(?:response "resp_|run |run "|task "|message ")run-77|(?:session|chat|thread|of this thread|"id":)\s?"sess-77"/g,
      '',
    )

/** The path of a route, with what is there. */
const pathOf = ({ path }: Pick<Route, 'path'>, question: string): string =>
  `/api${path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ({ run: 'run-77', other: 'run-77', id: question, session: 'sess-77' })[name] ?? 'none')}`

/** Bodies that the schemas take, so that the handler is reached. */
const bodies: Readonly<Record<string, unknown>> = {
  'POST /runs': { agent: 'guarded', input: 'go' },
  'POST /approvals/{id}/decision': { decision: 'approve' },
  'POST /batches': { verb: 'cancel', filter: { status: ['waiting'] } },
  'POST /approvals/decisions': { decisions: [{ id: 'apr_none', inputHash: 'x', decision: 'approve' }] },
  'POST /approvals/{id}/link': { approver: 'Ann' },
  'POST /interrupts/{id}/answer': { value: 1 },
  'POST /questions/{id}/settle': { happened: true },
  'POST /sessions/{session}/share': { with: ['eve'] },
  'POST /sessions/{session}/unshare': { with: ['eve'] },
}
const labelOf = ({ method, path }: Route): string => `${method} ${path}`
const queryOf = (label: string): string =>
  label.endsWith(' /grants') ? '?session=sess-77' : label === 'DELETE /browser-sessions' ? '?id=none' : ''

/** What a foreign principal is answered, whose role would allow it. Absent: an answer that says nothing of the run. */
const refusedTo: Readonly<Partial<Record<Door['resource'], number>>> = { run: 404, question: 404, installation: 403 }
const statusFor: Readonly<Record<string, number>> = {
  'POST /runs': 404,
  'GET /sessions/{session}/access': 404,
  'POST /sessions/{session}/share': 404,
  'POST /sessions/{session}/unshare': 404,
  'POST /session': 200,
}

describe('every route', () => {
  test('has its row, and every row its route', () => {
    expect(routes.map(labelOf).toSorted()).toEqual(Object.keys(routeDoors).toSorted())
    for (const route of routes)
      expect(routeDoors[labelOf(route) as keyof typeof routeDoors]).toMatchObject({
        role: route.role,
        resource: route.resource,
      })
  })

  test('asks for a credential and the role of its row', async () => {
    const { send, question, errors } = await doors()
    const wrong: string[] = []
    for (const route of routes) {
      if (route.role === 'open') continue
      const path = pathOf(route, question) + queryOf(labelOf(route))
      const of = async (as: string): Promise<number> =>
        (await send(as, route.method, path, route.method === 'POST' ? { 'no such member': 1 } : undefined)).status
      const unknown = await of('')
      if (unknown !== 401) wrong.push(`${labelOf(route)}: ${unknown} without a credential`)
      for (const as of ['nobody', ...roles]) {
        if (labelOf(route) === 'DELETE /runs/{run}' && as === 'admin') continue
        const isLetIn = allows({ roles: principals[as]!.roles }, route.role) && route.resource !== 'installation'
        const status = await of(as)
        if ((status === 403) === isLetIn) wrong.push(`${labelOf(route)}: ${status} as ${as}`)
      }
    }
    expect(wrong).toEqual([])
    expect(errors).toEqual([])
  })

  test.each(foreign)('says nothing of a run, an agent and a session that are not of %s', async (as) => {
    const { send, question, runtime, errors } = await doors()
    const wrong: string[] = []
    for (const route of routes) {
      const label = labelOf(route)
      // the session is of acme, as this principal is
      if (as === 'narrower' && route.resource === 'session') continue
      const path = pathOf(route, question) + queryOf(label)
      const body = route.method === 'POST' ? (bodies[label] ?? {}) : undefined
      const { status, text } = await send(as, route.method, path, body)
      const expected = statusFor[label] ?? refusedTo[route.resource]
      const isRefused =
        route.path.startsWith('/links/') || (label === 'DELETE /grants' && as === 'narrow' ? status === 403 : undefined)
      if (isRefused === undefined && (expected === undefined ? status >= 400 : status !== expected))
        wrong.push(`${label}: ${status} ${text}`)
      const said = news(text)
      if (/-77|guarded/.test(said)) wrong.push(`${label} tells: ${text.slice(0, 200)}`)
    }
    expect(wrong).toEqual([])
    expect(errors).toEqual([])
    expect(await runtime.approvals()).toHaveLength(1)
    expect(await runtime.runs()).toHaveLength(1)
  })

  test('answers of what is another’s as of what is not there, in words and in time', async () => {
    const { send, question } = await doors()
    const wrong: string[] = []
    for (const route of routes.filter(({ resource }) => resource === 'run' || resource === 'question')) {
      const ask = (of: (text: string) => string): Promise<Told> =>
        send(
          'mallory',
          route.method,
          of(pathOf(route, question)),
          route.method === 'POST' ? (bodies[labelOf(route)] ?? {}) : undefined,
        )
      const absent = (text: string): string => text.replaceAll('run-77', 'gone-run').replaceAll(question, 'apr_none')
      const [there, missing] = [await ask((text) => text), await ask(absent)]
      if (there.status !== missing.status || absent(there.text) !== missing.text)
        wrong.push(`${labelOf(route)}: ${there.text} instead of ${missing.text}`)
    }
    expect(wrong).toEqual([])
    const median = async (run: string): Promise<number> => {
      const times: number[] = []
      for (let i = 0; i < 15; i++) {
        const begun = performance.now()
        await send('mallory', 'GET', `/api/runs/${run}`)
        times.push(performance.now() - begun)
      }
      return times.toSorted((a, b) => a - b)[7]!
    }
    // each refusal takes a fixed time, far above what reading a run takes
    expect(await median('run-77')).toBeGreaterThanOrEqual(9)
    expect(await median('gone-run')).toBeGreaterThanOrEqual(9)
  })
})

// a press in Slack has no credential: packages/notify/test/slack-app.test.ts has its principals
type Verb = Exclude<ProtocolVerb, `mcp ${string}` | `slack ${string}`>
const agUiBody = (agentName: string, more: object) => ({
  threadId: 'sess-77',
  runId: 'again',
  messages: [{ id: 'm1', role: 'user', content: 'go' }],
  tools: [],
  context: [],
  state: {},
  ...more,
  agentName,
})
const a2aCall = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const version = { 'A2A-Version': '1.0' }
const response = 'resp_run-77'

/** Each verb as one principal uses it on what is acme's. `own`: no one else's session, so that the role decides. */
const verbs: Readonly<Record<Verb, (at: Doors, as: string, session: string) => Promise<Told>>> = {
  'ag-ui start': ({ send }, as, session) => {
    const { agentName: _agent, ...body } = agUiBody('guarded', { threadId: session, runId: session })
    return send(as, 'POST', '/ag-ui/guarded', body)
  },
  'ag-ui resume': ({ send, question }, as) => {
    const { agentName: _agent, ...body } = agUiBody('guarded', {
      messages: [],
      resume: [{ interruptId: question, status: 'resolved', payload: { approved: true } }],
    })
    return send(as, 'POST', '/ag-ui/guarded', body)
  },
  'chat read': ({ send }, as) => send(as, 'GET', '/chat/sess-77'),
  'chat start': ({ send }, as, session) =>
    send(as, 'POST', '/chat', {
      id: session,
      agent: 'guarded',
      messages: [{ id: session, role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    }),
  'chat answer': ({ send, question }, as) =>
    send(as, 'POST', '/chat', {
      id: 'sess-77',
      messages: [
        { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'go' }] },
        {
          id: 'run-77',
          role: 'assistant',
          metadata: { run: 'run-77' },
          parts: [
            {
              type: 'dynamic-tool',
              toolName: 'pay',
              toolCallId: 'c1',
              state: 'approval-responded',
              input: {},
              approval: { id: question, approved: true },
            },
          ],
        },
      ],
    }),
  'chat stop': ({ send }, as) => send(as, 'POST', '/chat/sess-77/stop', {}),
  'openai models': ({ send }, as) => send(as, 'GET', '/v1/models'),
  'openai start': ({ send }, as) =>
    send(as, 'POST', '/v1/responses', { model: 'guarded', input: 'go', background: true }),
  'openai read': ({ send }, as) => send(as, 'GET', `/v1/responses/${response}`),
  'openai answer': ({ send, question }, as) =>
    send(as, 'POST', '/v1/responses', {
      model: 'guarded',
      previous_response_id: response,
      input: [{ type: 'mcp_approval_response', approval_request_id: question, approve: true }],
    }),
  'openai cancel': ({ send }, as) => send(as, 'POST', `/v1/responses/${response}/cancel`, {}),
  'a2a card': ({ send }, as) => send(as, 'GET', '/a2a/guarded/.well-known/agent-card.json'),
  'a2a start': ({ send }, as, contextId) =>
    send(
      as,
      'POST',
      '/a2a/guarded',
      a2aCall('SendMessage', {
        message: { messageId: contextId, contextId, role: 'ROLE_USER', parts: [{ text: 'go' }] },
        configuration: { returnImmediately: true },
      }),
      version,
    ),
  'a2a read': ({ send }, as) => send(as, 'POST', '/a2a/guarded', a2aCall('GetTask', { id: 'run-77' }), version),
  'a2a answer': ({ send, question }, as) =>
    send(
      as,
      'POST',
      '/a2a/guarded',
      a2aCall('SendMessage', {
        message: {
          messageId: 'm2',
          taskId: 'run-77',
          role: 'ROLE_USER',
          parts: [{ data: { id: question, decision: 'approve' } }],
        },
      }),
      version,
    ),
  'a2a cancel': ({ send }, as) => send(as, 'POST', '/a2a/guarded', a2aCall('CancelTask', { id: 'run-77' }), version),
}

/** JSON-RPC says in its body what went wrong. */
const refusal = ({ status, text }: Told): Told => ({
  status: status === 200 && text.startsWith('{"jsonrpc"') && text.includes('"error":') ? 400 : status,
  text,
})

describe('every verb of a protocol', () => {
  const all = Object.entries(verbs) as readonly (readonly [Verb, (typeof verbs)[Verb]])[]

  test('is refused without a credential, without its role, and to everyone to whom it is not there', async () => {
    const at = await doors()
    const wrong: string[] = []
    for (const [verb, use] of all) {
      const { role, resource } = protocolDoors[verb]
      const unknown = refusal(await use(at, '', 'fresh'))
      if (unknown.status !== (role === 'open' ? 404 : 401))
        wrong.push(`${verb}: ${unknown.status} without a credential`)
      for (const as of ['viewer', 'nobody']) {
        const { status, text } = refusal(await use(at, as, 'fresh'))
        const isLetIn = allows({ roles: principals[as]!.roles }, role === 'open' ? 'viewer' : role)
        // a reply asks for the role of the route that does the same
        const isReply = resource === 'question'
        if (!isLetIn || isReply ? status < 400 : status === 401) wrong.push(`${verb}: ${status} as ${as}: ${text}`)
      }
      for (const as of foreign) {
        const { status, text } = refusal(await use(at, as, 'sess-77'))
        const isEmpty = ['chat read', 'openai models'].includes(verb) || (verb === 'chat stop' && status === 204)
        if (isEmpty ? status >= 400 && status !== 403 : status < 400) wrong.push(`${verb}: ${status} as ${as}: ${text}`)
        const said = news(text)
        if (/-77|guarded/.test(said)) wrong.push(`${verb} tells ${as}: ${text.slice(0, 300)}`)
      }
    }
    expect(wrong).toEqual([])
    expect(await at.runtime.runs()).toHaveLength(1)
    expect(await at.runtime.approvals()).toHaveLength(1)
    expect(at.errors).toEqual([])
  })

  test('another user of the tenant neither goes on with a session nor is shown it by an agent', async () => {
    const at = await doors()
    for (const verb of ['ag-ui start', 'chat start', 'a2a start'] as const) {
      const { status, text } = await verbs[verb](at, 'bert', 'sess-77')
      expect([verb, status, text]).toEqual([verb, 403, expect.stringContaining('of another user')])
    }
    const direct = await at.send('bert', 'POST', '/api/runs', { agent: 'free', input: 'x', session: 'sess-77' })
    expect(direct).toMatchObject({ status: 403, text: expect.stringContaining('session.forbidden') })
    expect((await at.send('bert', 'GET', '/chat/sess-77')).status).toBe(403)
    expect(await at.runtime.runs()).toHaveLength(1)
  })

  test('the tools of MCP are those of the role; they start and find what is the principal’s alone', async () => {
    const at = await doors()
    const tools = Object.entries(protocolDoors).flatMap(([verb, { role }]) =>
      verb.startsWith('mcp ') ? [{ name: verb.slice(4), role: role as Role }] : [],
    )
    const told: { readonly offered: unknown; readonly refused: unknown; readonly lists: unknown }[] = []
    for (const as of [...roles, ...foreign]) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
      const requestInit = { headers: { Authorization: `Bearer ${tokenOf(as)}` } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${at.server.url}/mcp`), { requestInit }))
      const offered = await client.listTools()
      const allowed = tools.filter(({ role }) => allows({ roles: principals[as]!.roles }, role))
      expect([as, offered.tools.map(({ name }) => name).toSorted()]).toEqual([
        as,
        allowed.map(({ name }) => name).toSorted(),
      ])
      if (foreign.includes(as)) told.push({ offered, ...(await triedOn(client, at)) })
      await client.close()
    }
    expect(told).toHaveLength(foreign.length)
    for (const { offered, refused, lists } of told) {
      expect(refused).toEqual([true, true, true])
      expect(JSON.stringify([offered, lists])).not.toMatch(/-77|guarded/)
    }
    expect(await at.runtime.approvals()).toHaveLength(1)
  })
})

/** What the tools say of a run that is not there for the caller, and what they list. */
async function triedOn(client: Client, at: Doors) {
  const results = await Promise.all([
    client.callTool({ name: 'run_result', arguments: { run: 'run-77' } }),
    client.callTool({ name: 'decide', arguments: { question: at.question, decision: 'approve' } }),
    client.callTool({ name: 'cancel', arguments: { run: 'run-77' } }),
  ])
  const lists = await Promise.all(
    ['run_status', 'list_questions'].map((name) => client.callTool({ name, arguments: {} })),
  )
  return { refused: results.map(({ isError }) => isError), lists }
}
