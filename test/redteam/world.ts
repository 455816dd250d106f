/**
 * The world that is attacked: a store in a file, a runtime with agents of every kind, a server with all protocols on a
 * socket, people of every role in two tenants.
 *
 * Owns: setting it up, requests by each person over each protocol, waiting for what a run comes to. Does not own: what
 * is tried (attacks/).
 * Holds: all that is asked goes over HTTP. What a tool did and what a model was shown is noted by the world itself.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { a2a } from '../../packages/protocols/src/a2a/index.ts'
import { agUi } from '../../packages/protocols/src/ag-ui/index.ts'
import { uiMessages } from '../../packages/protocols/src/ai-sdk/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../../packages/protocols/src/openai/index.ts'
import type { Agent } from '@reeve/agent'
import { isObject, own, type Json, type JsonObject } from '@reeve/core'
import { agent, clientTool, createRuntime, interrupt, step, supervisor, team, tool, type Runtime } from '@reeve/public'
import { createServer, listen, type ListeningServer, type Protocol, type ReeveServerOptions } from '@reeve/server'
import { slackApp } from '../../packages/notify/src/slack-app/index.ts'
import { everyone, people, principalOf, tokenOf, type Person } from './people.ts'

/** An answer of the server. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined for what is no JSON. */
  readonly json: Json | undefined
}

/** A question that waits. */
export interface Asked {
  readonly id: string
  readonly kind: string
  readonly run: string
  readonly activation: string
  readonly approval?: { readonly input: Json; readonly inputHash: string }
}

/** What the protocols are asked in. */
export interface Message {
  /** The conversation: thread, context, chat, session. */
  readonly session?: string
  /** The name of this message, where the protocol has one. */
  readonly id?: string
  readonly text?: string
  readonly more?: JsonObject
}

/** The protocols by which a run is started. */
export const protocolNames = ['http', 'openai', 'responses', 'chat', 'ag-ui', 'a2a', 'mcp'] as const
export type ProtocolName = (typeof protocolNames)[number]

/** So long may a request take. Milliseconds. */
const patience = 20_000

const commonAgents = [
  'echo',
  'payer',
  'poster',
  'asker',
  'pager',
  'failing',
  'treasurer',
  'lead',
  'crew',
  'typed',
  'chatty',
  'lengthy',
] as const

/** The secret that Slack signs with, and the workspace. */
export const slackSecret = 'signing-secret-of-slack'
export const slackTeam = 'T0WORLD'
/** The id of a person in Slack. */
export const slackIdOf = (person: string): string => `U${person.toUpperCase()}`
/** Its Web API is away: what people are told there does not matter here. */
const slack = slackApp({
  token: 'xoxb-token-of-the-world',
  signingSecret: slackSecret,
  channel: 'C0WORLD',
  team: slackTeam,
  people: Object.fromEntries(people.map((person) => [slackIdOf(person), principalOf(person)])),
  fetch: () => Promise.reject(new Error('Slack is away')),
  onError: () => {},
})

export class World {
  /** What tools have done, in order. */
  readonly effects: { readonly tool: string; readonly input: Json }[] = []
  /** What models were shown, in order. */
  readonly shown: { readonly agent: string; readonly messages: string }[] = []
  /** Errors that were reported as the server's own. */
  readonly errors: unknown[] = []
  readonly folder = mkdtempSync(join(tmpdir(), 'reeve-redteam-'))
  readonly store = join(this.folder, 'reeve.db')
  readonly agents = this.#agents()
  runtime!: Runtime
  server!: ListeningServer
  readonly #ends: (() => unknown)[] = []
  #drawn = 0

  static async begin(): Promise<World> {
    const world = new World()
    world.runtime = await boundRuntime(world.store, world.agents)
    world.after(() => world.runtime.close({ graceMs: 0 }))
    world.server = await world.serve()
    return world
  }

  /** Another server over the same runtime. */
  async serve(options: Partial<ReeveServerOptions> = {}): Promise<ListeningServer> {
    const handler = createServer({
      runtime: this.runtime,
      auth: everyone,
      protocols: this.protocols(),
      onError: (error) => this.errors.push(error),
      ...options,
    })
    const server = await listen(handler, { port: 0 })
    this.after(() => server.close())
    return server
  }

  protocols(): readonly Protocol[] {
    const agents = this.agents.map(({ name }) => name)
    return [openai(), uiMessages({ agents }), agUi({ agents }), a2a({ agents }), mcpServer(), slack.protocol]
  }

  /** To be called when the world ends, the last one first. */
  after(end: () => unknown): void {
    this.#ends.push(end)
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await Promise.resolve(end()).catch(() => undefined)
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** A name that is used nowhere else. */
  fresh(prefix = 'x'): string {
    return `${prefix}${this.#drawn++}`
  }

  /** A request by a person; undefined: without a credential. */
  async ask(
    who: Person | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    server: ListeningServer = this.server,
  ): Promise<Answer> {
    const token = who === undefined ? undefined : tokenOf(who)
    return answered(server.url + path, { method, token, body, headers })
  }

  get(who: Person | undefined, path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.ask(who, 'GET', `/api${path}`, undefined, headers)
  }

  post(who: Person | undefined, path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.ask(who, 'POST', `/api${path}`, body, headers)
  }

  /** Says something to an agent over a protocol. Answers when the run rests. */
  async say(
    protocol: ProtocolName,
    who: Person,
    agentName: string,
    { session, id = this.fresh('m'), text = 'hello', more = {} }: Message = {},
  ): Promise<Answer> {
    const thread = session ?? this.fresh('s')
    switch (protocol) {
      case 'http': {
        const key = session === undefined ? {} : { session }
        const answer = await this.post(who, '/runs', { agent: agentName, input: text, ...key, ...more })
        const run = memberOf(answer.json, 'run')
        if (typeof run === 'string') await this.rest(run)
        return answer
      }
      case 'openai':
        return this.ask(who, 'POST', '/v1/chat/completions', {
          model: agentName,
          messages: [{ role: 'user', content: text }],
          ...more,
        })
      case 'responses':
        return this.ask(who, 'POST', '/v1/responses', { model: agentName, input: text, ...more })
      case 'chat':
        return this.ask(who, 'POST', '/chat', {
          id: thread,
          agent: agentName,
          messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }],
          ...more,
        })
      case 'ag-ui':
        return this.ask(who, 'POST', `/ag-ui/${agentName}`, {
          threadId: thread,
          runId: id,
          messages: [{ id, role: 'user', content: text }],
          state: {},
          tools: [],
          context: [],
          forwardedProps: {},
          ...more,
        })
      case 'a2a':
        return this.a2a(who, agentName, 'SendMessage', {
          message: {
            messageId: id,
            role: 'ROLE_USER',
            parts: [{ text }],
            ...(session === undefined ? {} : { contextId: session }),
            ...more,
          },
        })
      case 'mcp':
        return this.mcp(who, 'start_run', {
          agent: agentName,
          input: text,
          wait_seconds: 5,
          ...(session === undefined ? {} : { session }),
          ...more,
        })
    }
  }

  a2a(who: Person, agentName: string, method: string, params: JsonObject): Promise<Answer> {
    return this.ask(
      who,
      'POST',
      `/a2a/${agentName}`,
      { jsonrpc: '2.0', id: 1, method, params },
      { 'A2A-Version': '1.0' },
    )
  }

  mcp(who: Person, name: string, args: JsonObject, more: JsonObject = {}): Promise<Answer> {
    return this.mcpMethod(who, 'tools/call', { name, arguments: args, ...more })
  }

  mcpMethod(who: Person, method: string, params: JsonObject): Promise<Answer> {
    return this.ask(
      who,
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method, params },
      { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
    )
  }

  /** Starts a run over HTTP. Rejects where that is refused: it is no attack. */
  async start(who: Person, agentName: string, input: Json = 'hello', more: JsonObject = {}): Promise<string> {
    const answer = await this.post(who, '/runs', { agent: agentName, input, ...more })
    const run = memberOf(answer.json, 'run')
    if (typeof run !== 'string') throw new Error(`${who} could not start ${agentName}: ${answer.status} ${answer.text}`)
    return run
  }

  /** Waits until a run has ended, or needs a person. */
  async rest(run: string, ms = patience): Promise<void> {
    await this.runtime.handle(run).until('waiting', { signal: AbortSignal.timeout(ms) })
  }

  /** The question that a run asks. */
  async question(run: string): Promise<Asked> {
    await this.rest(run)
    const answer = await this.get('ada', `/questions?run=${encodeURIComponent(run)}`)
    const [first] = itemsOf<Asked>(answer)
    if (first === undefined) throw new Error(`run ${run} asks nothing`)
    return first
  }

  /** A run of an agent that waits for a person, and what it asks. */
  async asked(who: Person, agentName: string, input: Json = '{"usd":1}', more: JsonObject = {}): Promise<Asked> {
    return this.question(await this.start(who, agentName, input, more))
  }

  /** Decides, and waits for what comes of it. */
  async decide(who: Person, { id, run }: Asked, body: JsonObject = { decision: 'approve' }): Promise<Answer> {
    const answer = await this.post(who, `/approvals/${id}/decision`, body)
    if (answer.status === 204) await this.settled(run, id)
    return answer
  }

  /** Waits until a question has been read by the run that asked it. */
  async settled(run: string, question: string): Promise<void> {
    await until(async () => {
      const { approvals, interrupts } = await this.runtime.handle(run).view()
      return [...approvals, ...interrupts].some(({ id, resolvedAt }) => id === question && resolvedAt !== undefined)
    })
    await this.rest(run)
  }

  async events(run: string): Promise<readonly { readonly position: number; readonly event: JsonObject }[]> {
    return itemsOf(await this.get('ada', `/runs/${run}/events?limit=1000`))
  }

  /** The names that the audit of a run gives, and what its check says. */
  async audit(
    run: string,
  ): Promise<{ readonly names: readonly string[]; readonly isSound: boolean; readonly text: string }> {
    const { json, text } = await this.get('ada', `/runs/${run}/audit`)
    const entries = memberOf(memberOf(json, 'document'), 'entries') ?? []
    const names = (entries as readonly Json[]).flatMap((entry) => {
      const who = memberOf(entry, 'who')
      return typeof who === 'string' ? [who] : []
    })
    return { names: [...new Set(names)], isSound: memberOf(memberOf(json, 'report'), 'ok') === true, text }
  }

  /** What models of an agent were shown, as one text. */
  shownTo(agentName: string): string {
    return this.shown
      .filter((each) => each.agent === agentName)
      .map(({ messages }) => messages)
      .join('\n')
  }

  #agents(): readonly Agent[] {
    const effect = (name: string, input: Json): string => {
      this.effects.push({ tool: name, input })
      return `${name} done`
    }
    const noted =
      (name: string, answer: (messages: readonly { readonly role: string; readonly content: unknown }[]) => unknown) =>
      ({ messages }: { readonly messages: readonly { readonly role: string; readonly content: unknown }[] }): never => {
        this.shown.push({ agent: name, messages: JSON.stringify(messages) })
        return answer(messages) as never
      }
    const calls =
      (name: string) =>
      (messages: readonly { readonly role: string; readonly content: unknown }[]): unknown =>
        messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name, input: inputIn(messages) }] }
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      sensitive: true,
      execute: (input: unknown) => effect('pay', input as Json),
    })
    const post = tool({
      name: 'post',
      description: 'Posts.',
      effect: 'once',
      approval: {},
      execute: (input: unknown) => effect('post', input as Json),
    })
    const wire = tool({
      name: 'wire',
      description: 'Wires.',
      effect: 'once',
      approval: { risk: 'high' },
      execute: (input: unknown) => effect('wire', input as Json),
    })
    const plain = (name: string, description = name): Agent =>
      agent({
        name,
        description,
        model: noted(name, (messages) => `${name} heard ${short(textOf(messages))}`),
      })
    const hold = agent({
      name: 'hold',
      description: 'Waits.',
      run: async (ctx) => {
        await interrupt(ctx, 'hold')
        return 'held'
      },
    })
    const member = agent({
      name: 'member',
      description: 'A member.',
      run: async (ctx) => {
        await interrupt(ctx, 'What now?')
        return 'done'
      },
    })
    return [
      plain('echo'),
      plain('support_acme', 'Support of acme; the discount code is ACME-SECRET.'),
      plain('support_globex', 'Support of globex; the discount code is GLOBEX-SECRET.'),
      agent({ name: 'payer', description: 'Pays.', tools: [pay], model: noted('payer', calls('pay')) }),
      agent({ name: 'poster', description: 'Posts.', tools: [post], model: noted('poster', calls('post')) }),
      agent({
        name: 'treasurer',
        description: 'Wires, if the CFO says so.',
        tools: [wire],
        oversight: { approval: { approvers: [{ who: ['cfo'] }] } },
        model: noted('treasurer', calls('wire')),
      }),
      agent({
        name: 'asker',
        description: 'Asks before it deletes.',
        run: async (ctx) => {
          const said = await interrupt(ctx, 'May I delete?')
          if (said === 'yes') await step(ctx, 'delete', () => effect('delete', said), { effect: 'once' })
          return JSON.stringify(said)
        },
      }),
      agent({
        name: 'pager',
        description: 'Has the page of its user sign.',
        tools: [clientTool({ name: 'sign', description: 'Signs on the page.', output: { type: 'string' } })],
        model: noted('pager', calls('sign')),
      }),
      agent({
        name: 'failing',
        description: 'Fails.',
        run: () => {
          throw new Error('it fails')
        },
      }),
      agent({
        name: 'typed',
        description: 'Takes an amount.',
        input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        run: (_ctx: unknown, input: unknown) => {
          effect('typed', input as Json)
          return 'taken'
        },
      } as never),
      // a journal of 10 MB
      agent({
        name: 'chatty',
        description: 'Says much.',
        run: async (ctx) => {
          for (let i = 0; i < 50; i++) await step(ctx, 'say', () => `${i} ${'B'.repeat(200_000)}`)
          await interrupt(ctx, 'Go on?')
          return 'done'
        },
      }),
      // a journal of 20,000 events
      agent({
        name: 'lengthy',
        description: 'Takes many steps.',
        run: async (ctx) => {
          for (let i = 0; i < 10_000; i++) await step(ctx, 'count', () => i)
          await interrupt(ctx, 'Go on?')
          return 'done'
        },
      }),
      supervisor({
        name: 'lead',
        description: 'Leads.',
        workers: [hold],
        model: noted('lead', (messages) =>
          messages.at(-1)?.role === 'tool'
            ? 'end'
            : { calls: [{ name: 'delegate', input: { worker: 'hold', instructions: 'x' } }] },
        ),
      }),
      team({
        name: 'crew',
        roles: { generalist: member },
        planner: { subtasks: [{ id: 'first', description: 'Begin.', role: 'generalist' }] },
        mailbox: {},
      }),
    ]
  }
}

/** The first object in the last message of the user. */
function inputIn(messages: readonly { readonly role: string; readonly content: unknown }[]): Json {
  const text = textOf(messages)
  try {
    return JSON.parse(text) as Json
  } catch {
    return { said: text }
  }
}

function textOf(messages: readonly { readonly role: string; readonly content: unknown }[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => (part as { readonly text?: string }).text ?? '').join('') : ''
}

const short = (text: string): string => text.slice(0, 100)

/** A member of what may be no object. */
export const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  isObject(value) ? own(value, name) : undefined

/** The items of a page; none of what is no page. */
export const itemsOf = <T = JsonObject>({ json }: Answer): readonly T[] => {
  const items = memberOf(json, 'items')
  return Array.isArray(items) ? (items as readonly T[]) : []
}

/** The run that an answer of a protocol is about. */
export const runIn = ({ text }: Pick<Answer, 'text'>): string | undefined => {
  const found = /"(?:run|taskId|id|runId)":"(?<run>run_[0-9a-z]+(?:@[a-z]+)?)"/.exec(text)?.groups?.['run']
  return found ?? /resp_(?<run>[0-9a-z]+(?:@[a-z]+)?)/.exec(text)?.groups?.['run']?.replace(/^/, 'run_')
}

/** A request. */
export interface Sent {
  /** Default `POST` with a body, `GET` without one. */
  readonly method?: string | undefined
  /** Of the bearer. Default: none. */
  readonly token?: string | undefined
  /** A text is sent as it is, everything else as JSON. */
  readonly body?: unknown
  /** Default `application/json` as the type of a body. */
  readonly headers?: Record<string, string>
  /** Default: some seconds. */
  readonly signal?: AbortSignal
}

/** Sends a request and follows no redirect. The body of what comes is not read yet. */
export const send = (
  url: string,
  { body, method = body === undefined ? 'GET' : 'POST', token, headers, signal }: Sent = {},
): Promise<Response> =>
  fetch(url, {
    method,
    redirect: 'manual',
    signal: signal ?? AbortSignal.timeout(patience),
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })

/** The status of what comes, whose body is left. */
export async function statusOf(url: string, sent: Sent): Promise<number> {
  const { status, body } = await send(url, sent)
  await body?.cancel()
  return status
}

/** Sends a request, and reads what comes. */
export async function answered(url: string, sent: Sent = {}): Promise<Answer> {
  const response = await send(url, sent)
  const text = await response.text()
  let json: Json | undefined
  try {
    json = JSON.parse(text) as Json
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** Waits until this is so. Rejects after some seconds. */
export async function until(isSo: () => boolean | Promise<boolean>, what = 'a condition'): Promise<void> {
  const end = performance.now() + patience
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what} did not come about`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Binds agents to tenants. */
const boundRuntime = (store: string, agents: readonly Agent[]): Promise<Runtime> =>
  createRuntime({
    store,
    agents,
    tenants: {
      acme: { agents: [...commonAgents, 'support_acme'] },
      globex: { agents: [...commonAgents, 'support_globex'] },
    },
  })
