/**
 * Fuzz of every protocol with two tenants: requests that are nearly right, by people of both, on one server.
 *
 * Owns: making requests, changing them, what must hold of every answer and of what is recorded in the end. Does not own:
 * how many (main.ts, fuzz.test.ts).
 * Holds: the same seed makes the same requests, as far as the ids that a server draws allow. Each tenant's data has a
 * mark that stands in no request of the other one: where it is read there, it was told by the server.
 */
import { isObject, seededRandom, type Json } from '@reeve/core'
import type { ListeningServer } from '@reeve/server'
import { short } from './attack.ts'
import { people, principalOf, tokenOf, type Person } from './people.ts'
import { memberOf, send, World } from './world.ts'

/** What came of it. */
export interface Fuzzed {
  readonly requests: number
  /** How many were answered with each status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}

type Tenant = 'acme' | 'globex'
const tenants = ['acme', 'globex'] as const
const markOf = (tenant: Tenant): string => `mark-of-${tenant}-7f3a91`
const otherOf = (tenant: Tenant): Tenant => (tenant === 'acme' ? 'globex' : 'acme')
/** A name that nobody has: no request is made under it. */
const forged = 'the-ceo'
/** What a stream may take. Milliseconds. */
const streamMs = 400
/** What any other answer may take: a command is waited for. Milliseconds. */
const patience = 60_000

interface Draft {
  readonly method: string
  readonly path: string
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
}

/** Ids that the server has told a tenant. */
class Pool {
  readonly runs: string[] = ['run_none']
  readonly questions: string[] = ['apr_none', 'int_none']
  readonly activations: string[] = ['act_none']
  readonly sessions: string[] = ['s1', 's2', 's3']

  learn(text: string): void {
    for (const [list, form] of [
      [this.runs, /run_[0-9a-z]{16,20}(?:@[a-z]+)?/g],
      [this.questions, /(?:apr|int)_[0-9a-z]{16,20}/g],
      [this.activations, /act_[0-9A-Za-z_>#.@-]{10,80}/g],
    ] as const)
      for (const [id] of text.matchAll(form)) {
        if (list.includes(id)) continue
        list.push(id)
        if (list.length > 40) list.splice(1, 1)
      }
  }
}

class Fuzzer {
  readonly #world: World
  readonly #server: ListeningServer
  readonly #seed: string
  readonly #pools: Readonly<Record<Tenant, Pool>> = { acme: new Pool(), globex: new Pool() }
  readonly #statuses: Record<string, number> = {}
  readonly #problems: string[] = []
  readonly #called: Record<Tenant, Set<string>> = { acme: new Set(), globex: new Set() }
  #drawn = 0
  #shownBefore = 0

  constructor(world: World, server: ListeningServer, seed: string) {
    this.#world = world
    this.#server = server
    this.#seed = seed
  }

  #roll(below: number): number {
    return Math.floor(seededRandom(this.#seed, this.#drawn++) * below)
  }

  #one<T>(of: readonly T[]): T {
    return of[this.#roll(of.length)]!
  }

  async run(requests: number): Promise<Fuzzed> {
    for (let i = 0; i < requests && this.#problems.length < 20; i++) await this.#request(i)
    await this.#recorded()
    return { requests, statuses: this.#statuses, problems: this.#problems }
  }

  async #request(i: number): Promise<void> {
    const tenant = this.#one(tenants)
    const all = people.filter((each) => principalOf(each).tenant === tenant)
    // those who may do more say more
    const who = this.#one(
      this.#roll(3) === 0
        ? all
        : all.filter((each) => principalOf(each).roles.some((role) => role === 'operator' || role === 'admin')),
    )
    // two in three name what is the tenant's own, if it is anything
    const draft = this.#changed(this.#draft(tenant, this.#roll(3) === 0 ? otherOf(tenant) : tenant))
    const where = `${this.#seed}, ${i}: ${who} ${draft.method} ${short(draft.path, 80)} ${short(draft.body ?? '', 300)}`
    this.#called[tenant].add(who)
    const { status, text } = await this.#ask(who, draft)
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
    if (status >= 500) this.#problems.push(`${where}: ${status} ${short(text)}`)
    const other = otherOf(tenant)
    for (const foreign of [markOf(other), `${other.toUpperCase()}-SECRET`, `support_${other} heard`])
      if (text.includes(foreign))
        this.#problems.push(`${where}: told ${foreign}: ${short(text.slice(Math.max(0, text.indexOf(foreign) - 80)))}`)
    for (const { agent, messages } of this.#world.shown.slice(this.#shownBefore)) {
      if (agent === `support_${other}` && messages.includes(markOf(tenant)))
        this.#problems.push(`${where}: the model of ${agent} was called for ${tenant}`)
      if (tenants.every((each) => messages.includes(markOf(each))))
        this.#problems.push(`${where}: a model of ${agent} was shown what both tenants said`)
    }
    this.#shownBefore = this.#world.shown.length
    for (const error of this.#world.errors.splice(0))
      this.#problems.push(`${where}: the server failed: ${String(error)}`)
    this.#pools[tenant].learn(text)
  }

  async #ask(who: Person, { method, path, body, headers = {} }: Draft): Promise<{ status: number; text: string }> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), patience)
    let text = ''
    try {
      const { signal } = controller
      const response = await send(this.#server.url + path, { method, token: tokenOf(who), body, headers, signal })
      const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
      const enough = isStream ? setTimeout(() => controller.abort(), streamMs) : undefined
      try {
        for await (const bytes of response.body ?? []) text += Buffer.from(bytes as Uint8Array).toString()
      } catch (thrown) {
        if (!isStream) throw thrown
      } finally {
        clearTimeout(enough)
      }
      return { status: response.status, text }
    } catch (thrown) {
      // what fetch itself refuses to send was not sent
      return { status: controller.signal.aborted ? 599 : 0, text: `${text}${String(thrown)}` }
    } finally {
      clearTimeout(timer)
    }
  }

  #draft(tenant: Tenant, of: Tenant): Draft {
    const pool = this.#pools[of]
    const text = this.#one([`hello ${markOf(tenant)}`, `{"usd":1,"note":"${markOf(tenant)}"}`])
    const agent = this.#one([
      'echo',
      'payer',
      'poster',
      'asker',
      'lead',
      'crew',
      'failing',
      `support_${tenant}`,
      `support_${otherOf(tenant)}`,
    ])
    const session = this.#one(pool.sessions)
    const run = this.#one(pool.runs)
    const question = this.#one(pool.questions)
    const activation = this.#roll(2) === 0 ? `act_${run}` : this.#one(pool.activations)
    const id = `m${this.#roll(30)}`
    const response = run.replace('run_', 'resp_')
    const decision = this.#one(['approve', 'reject', 'edit', 'retry'])
    const post = (path: string, body: Json, headers?: Record<string, string>): Draft =>
      headers === undefined ? { method: 'POST', path, body } : { method: 'POST', path, body, headers }
    const get = (path: string): Draft => ({ method: 'GET', path })
    const rpc = (method: string, params: Json): Draft =>
      post(`/a2a/${agent}`, { jsonrpc: '2.0', id: 1, method, params }, { 'A2A-Version': '1.0' })
    const tool = (name: string, args: Json): Draft =>
      post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
        { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
      )
    const edit = this.#one<Json>([
      { type: 'input', input: text },
      { type: 'message', to: activation, body: { type: '$note', by: forged } },
      { type: 'outcome', outcome: { status: 'completed', output: text, by: forged } },
    ])
    const recorded: readonly (() => Draft)[] = [
      () => post(`/api/runs/${run}/messages`, { to: `act_${run}`, message: { type: '$note', by: forged } }),
      () => post(`/api/runs/${run}/fork`, { edit }),
    ]
    const drafts: readonly (() => Draft)[] = [
      () => post('/api/runs', { agent, input: text, session, metadata: { m: markOf(tenant) } }),
      () => post('/api/runs', { agent, input: text, runId: run }),
      () => post('/api/runs', { agent, input: text }, { 'Idempotency-Key': id }),
      () =>
        post(`/api/approvals/${question}/decision`, {
          decision,
          ...(decision === 'edit' ? { input: { usd: 2 } } : {}),
          comment: forged,
        }),
      () => post(`/api/approvals/${question}/decision`, { decision: 'approve', grant: 'session' }),
      () => post(`/api/approvals/${question}/link`, { approver: principalOf(this.#one(people)).name }),
      () => post(`/api/interrupts/${question}/answer`, { value: { by: forged, said: markOf(tenant) } }),
      () => post(`/api/questions/${question}/settle`, { happened: true }),
      () =>
        post(`/api/runs/${run}/messages`, {
          to: activation,
          message: { type: this.#one(['$note', '$stop', 'note']), by: forged },
        }),
      () => post(`/api/runs/${run}/fork`, { at: this.#roll(12) + 1, edit }),
      () => post(`/api/runs/${run}/fork`, {}),
      () => post(`/api/runs/${run}/retry`, { again: true }),
      () =>
        post(`/api/runs/${run}/${this.#one(['pause', 'resume', 'cancel', 'take-over', 'hand-back'])}`, {
          reason: markOf(tenant),
        }),
      () => post(`/api/runs/${run}/team/post`, { to: '*', content: { from: forged, said: markOf(tenant) } }),
      () => post(`/api/runs/${run}/finish`, { output: markOf(tenant) }),
      () => post('/api/batches', { verb: 'retry', filter: { status: ['failed'] } }),
      () =>
        get(
          `/api/runs?${this.#one(['', 'limit=5', `session=${session}`, 'status=waiting', `metadata.m=${markOf(tenant)}`, 'user=alice', 'user=gina'])}`,
        ),
      () =>
        get(
          `/api/runs/${run}${this.#one(['', '/events', '/outcome', '/control', '/audit', '/delegations', '/spans', '/journal', '/conversation', '/takeover-context', '/feed', '/live'])}`,
        ),
      () => get(`/api/runs/${run}/diff/${this.#one(pool.runs)}`),
      () =>
        get(
          this.#one([
            '/api/questions',
            '/api/sessions',
            `/api/sessions/${session}`,
            '/api/system',
            '/api/agents',
            '/api/me',
            '/api/live',
            '/api/changes',
            `/api/questions/${question}`,
            `/api/grants?session=${session}`,
          ]),
        ),
      () => ({ method: 'DELETE', path: this.#one([`/api/runs/${run}`, `/api/grants?session=${session}`]) }),
      () =>
        post('/v1/chat/completions', {
          model: agent,
          messages: [{ role: 'user', content: text }],
          stream: this.#roll(2) === 0,
        }),
      () => post('/v1/responses', { model: agent, input: text, stream: this.#roll(2) === 0 }),
      () => post('/v1/responses', { model: agent, input: text, previous_response_id: response }),
      () =>
        post('/v1/responses', {
          previous_response_id: response,
          input: [{ type: 'mcp_approval_response', approval_request_id: question, approve: true }],
        }),
      () =>
        get(
          this.#one([
            '/v1/models',
            `/v1/models/${agent}`,
            `/v1/responses/${response}`,
            `/v1/responses/${response}?stream=true`,
          ]),
        ),
      () => post(`/v1/responses/${response}/cancel`, {}),
      () => post('/chat', { id: session, agent, messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }] }),
      () =>
        post('/chat', {
          id: session,
          messages: [
            {
              id: run,
              role: 'assistant',
              parts: [
                { type: 'dynamic-tool', state: 'approval-responded', approval: { id: question, approved: true } },
              ],
            },
          ],
        }),
      () =>
        post('/chat', {
          id: session,
          messages: [{ id: run, role: 'assistant', parts: [] }],
          answers: { [question]: 'yes' },
        }),
      () => get(this.#one([`/chat/${session}`, `/chat/${session}/stream`])),
      () => post(`/chat/${session}/stop`, {}),
      () =>
        post(`/ag-ui/${agent}`, {
          threadId: session,
          runId: id,
          messages: [{ id, role: 'user', content: text }],
          state: { by: forged },
          tools: [],
          context: [],
          forwardedProps: { tenant: otherOf(tenant) },
        }),
      () =>
        post(`/ag-ui/${agent}`, {
          threadId: session,
          runId: id,
          messages: [],
          resume: [
            { interruptId: question, status: this.#one(['resolved', 'cancelled']), payload: { approved: true } },
          ],
        }),
      () =>
        rpc('SendMessage', {
          message: {
            messageId: id,
            role: 'ROLE_USER',
            contextId: session,
            parts: [{ text }],
            metadata: { by: forged },
          },
        }),
      () =>
        rpc('SendMessage', {
          message: {
            messageId: id,
            role: 'ROLE_USER',
            taskId: run,
            parts: [{ data: { id: question, decision: 'approve' } }],
          },
        }),
      () => rpc(this.#one(['GetTask', 'CancelTask', 'SubscribeToTask']), { id: run, historyLength: 10 }),
      () => rpc('ListTasks', { contextId: session, includeArtifacts: true, historyLength: 10 }),
      () => get(this.#one([`/a2a/${agent}/.well-known/agent-card.json`, `/a2a/${agent}/tasks/${run}`])),
      () => tool('start_run', { agent, input: text, session, wait_seconds: 1 }),
      () => tool('start_run', { agent, input: text, key: id, wait_seconds: 0 }),
      () => tool(this.#one(['run_status', 'run_result', 'cancel_run']), { run }),
      () => tool('run_result', { key: id }),
      () => tool('list_questions', this.#one<Json>([{}, { run }, { after: question }])),
      () => tool('decide', { approval: question, decision: 'approve' }),
      () => tool('answer', { question, value: { said: markOf(tenant), by: forged } }),
      () =>
        post(
          '/mcp',
          { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
          { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
        ),
    ]
    // what is recorded of a caller is tried more often than the rest
    return this.#roll(6) === 0 ? this.#one(recorded)() : this.#one(drafts)()
  }

  /** One in three is sent as it is; the others with one to three changes. */
  #changed(draft: Draft): Draft {
    let { path, body, headers = {} } = draft
    for (let left = this.#roll(3) === 0 ? 0 : this.#roll(3) + 1; left > 0; left--) {
      const where = this.#roll(10)
      if (where < 6 && body !== undefined) body = this.#changedValue(body)
      else if (where < 8) path = this.#changedPath(path)
      else headers = { ...headers, ...this.#one(strangeHeaders) }
    }
    return { method: draft.method, path, headers, ...(body === undefined ? {} : { body }) }
  }

  #changedValue(value: Json): Json {
    if (Array.isArray(value) && value.length > 0 && this.#roll(4) > 0) {
      const at = this.#roll(value.length)
      const list = value as readonly Json[]
      return this.#roll(6) === 0
        ? [...list, list[at]!]
        : list.map((each, i) => (i === at ? this.#changedValue(each) : each))
    }
    if (isObject(value) && Object.keys(value).length > 0 && this.#roll(5) > 0) {
      const key = this.#one(Object.keys(value))
      const { [key]: old, ...rest } = value as Record<string, Json>
      switch (this.#roll(8)) {
        case 0:
          return rest
        case 1:
          return { ...value, [this.#one(strangeMembers)]: this.#strange() }
        case 2:
          return { ...rest, [this.#one(strangeMembers)]: old! }
        default:
          return { ...value, [key]: this.#changedValue(old!) }
      }
    }
    return this.#strange()
  }

  #strange(): Json {
    const pool = this.#pools[this.#one(tenants)]
    return this.#one<Json>([
      ...strangeValues,
      this.#one(pool.runs),
      this.#one(pool.questions),
      this.#one(pool.activations),
      this.#one(pool.sessions),
      this.#one(['echo', 'support_acme', 'support_globex', 'payer']),
    ])
  }

  #changedPath(path: string): string {
    const parts = path.split('/')
    const at = 1 + this.#roll(parts.length - 1)
    const given = this.#strange()
    const text = typeof given === 'string' ? given : JSON.stringify(given)
    parts[at] = encodeURIComponent(text.slice(0, 300).toWellFormed())
    return this.#roll(4) === 0
      ? `${path}${path.includes('?') ? '&' : '?'}${encodeURIComponent(this.#one(strangeMembers))}=${parts[at]}`
      : parts.join('/')
  }

  /** Every run is of the tenant and user of who asked, and its audit names nobody else. */
  async #recorded(): Promise<void> {
    // what waits in an inbox is read when its run ends
    for (const { run } of await this.#world.runtime.runs({ status: ['waiting', 'paused', 'human_control'] }))
      await this.#world.runtime
        .handle(run)
        .control.cancel('the end')
        .catch(() => undefined)
    for (const { run, caller } of await this.#world.runtime.runs({ limit: 1_000 })) {
      const tenant = caller.tenant as Tenant
      if (!tenants.includes(tenant) || !this.#called[tenant].has(String(caller.user)))
        this.#problems.push(`${run} began as ${short(caller)}, who did not call`)
      const document = (await this.#world.runtime.audit(run)) as unknown as Json
      for (const entry of (memberOf(document, 'entries') ?? []) as readonly Json[]) {
        const who = memberOf(entry, 'who')
        if (memberOf(entry, 'by') !== 'human' || typeof who !== 'string') continue
        // by a link a person outside decides: who issued it is one of the callers
        const issuer = memberOf(memberOf(memberOf(entry, 'evidence'), 'link'), 'by')
        if (!this.#called[tenant]?.has(typeof issuer === 'string' ? issuer : who))
          this.#problems.push(`the audit of ${run} names ${who}: ${short(entry)}`)
      }
      const journal = JSON.stringify(await this.#world.runtime.handle(run).journal())
      if (tenants.includes(tenant) && journal.includes(markOf(otherOf(tenant))))
        this.#problems.push(`the journal of ${run} of ${tenant} has what ${otherOf(tenant)} said`)
    }
  }
}

const strangeMembers = [
  'by',
  'tenant',
  'user',
  'approver',
  '__proto__',
  'constructor',
  '$note',
  'metadata',
  '_meta',
  'agent',
  'model',
  'session',
  'limits',
  'values',
  'versions',
  'oversight',
  '',
  'id',
]

const strangeValues: readonly Json[] = [
  null,
  true,
  -1,
  0,
  1e308,
  0.5,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202eabc',
  forged,
  'acme',
  'globex',
  '../../etc/passwd',
  "'; drop table runs; --",
  'x'.repeat(3_000),
  'file:///etc/passwd',
  [],
  {},
  [[[[]]]],
  { $note: 1, by: forged },
  { type: '$stop', by: forged },
  { toString: 1 },
]

const strangeHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'Last-Event-ID': '1e9' },
  { 'Last-Event-ID': '3' },
  { 'Idempotency-Key': 'k' },
  { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  { traceparent: 'x' },
  { 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-User': 'ada' },
  { 'A2A-Version': '0.3' },
  { Accept: 'text/html' },
  { 'Content-Type': 'text/plain' },
  { 'MCP-Session-Id': 'x' },
  { Cookie: 'reeve=x.y' },
]

/** Makes so many requests. Same seed, same requests. */
export async function fuzzTenants(requests: number, seed: string): Promise<Fuzzed> {
  const world = await World.begin()
  try {
    const server = await world.serve({ limits: { requestsPerSecond: 100_000, burst: 100_000 } })
    return await new Fuzzer(world, server, seed).run(requests)
  } finally {
    await world.end()
  }
}
