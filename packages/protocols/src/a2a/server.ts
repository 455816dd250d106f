/**
 * The server side of A2A 1.0: agents for other agents, over JSON-RPC and over HTTP with JSON.
 *
 * Owns: the protocol's value, its paths, both bindings, the version that a request names. Does not own: the operations
 * (operations.ts), who may call (../../server).
 * Holds: a request is refused in the words of its own binding, with its own id.
 */
import {
  expects,
  hasNames,
  isObject,
  listOf,
  mustBeOptions,
  optionProblems,
  own,
  ReeveError,
  refuseProblems,
  required,
  text,
  unchecked,
  type Checks,
  type Json,
  type JsonObject,
} from '@reeve/core'
import type { Protocol, ProtocolContext } from '@reeve/server'
import { agentName, agentNameCheck, requestPath, usableAmong, type NamedAgent } from '../protocol-run/index.ts'
import { agentCard, type CardOptions } from './agent-card.ts'
import {
  cancelTask,
  getTask,
  listTasks,
  sendMessage,
  streamMessage,
  subscribe,
  type AgentRequest,
} from './operations.ts'
import { A2aRefusal, refusalError, restError, rpcError, shownAsA2a, type RpcId } from './protocol-error.ts'
import { protocolVersion, type StreamResponse } from './wire.ts'

/** The options of `a2a`. */
export interface A2aOptions extends CardOptions {
  /** The agents, or their names. Each answers at `path/<name>`; the card of the first one is at the well-known path. */
  readonly agents: readonly NamedAgent[]
  /** The public address of the server: `https://agents.example.com`. Default: that of the request for the card. */
  readonly url?: string
  /** Default `/a2a`. */
  readonly path?: string
}

const isAddress = (given: unknown): boolean =>
  typeof given === 'string' && /^https?:$/.test(URL.parse(given)?.protocol ?? '') && !given.endsWith('/')

const checks: Checks<A2aOptions> = {
  agents: required((given, where) => [
    ...listOf(agentNameCheck, 'agents')(given, where),
    ...(Array.isArray(given) && given.length === 0 ? [`${where} is empty`] : []),
  ]),
  url: expects(isAddress, 'an address without a slash at its end, such as "https://agents.example.com"'),
  path: expects((given) => typeof given === 'string' && /^(\/[\w.~-]+)+$/u.test(given), 'a path such as "/a2a"'),
  provider: expects(hasNames, '{ organization, url }'),
  documentationUrl: text,
  iconUrl: text,
  security: unchecked,
}

const wellKnown = '/.well-known/agent-card.json'

/** A2A for `createServer({ protocols: [...] })`. Throws `config.invalid` for invalid options. */
export function a2a(options: A2aOptions): Protocol {
  mustBeOptions(options, 'a2a', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(checks, options, 'a2a'))
  const { agents, url, path = '/a2a', ...card } = options
  const names = agents.map(agentName)
  const cards = new Map([
    [wellKnown, names[0]!],
    ...names.map((name) => [`${path}/${name}${wellKnown}`, name] as const),
  ])
  const bases = names.map((name) => [`${path}/${name}`, name] as const)
  const ids = new WeakMap<Request, RpcId>()
  return {
    paths: [wellKnown, path],
    headers: ['a2a-extensions', 'a2a-version'],
    open: [...cards.keys()],
    async handle(request, context) {
      const { origin } = new URL(request.url)
      const pathname = requestPath(request)
      const shown = cards.get(pathname)
      if (shown !== undefined) return cardOf(request, context, shown, `${url ?? origin}${path}/${shown}`, card)
      const found = bases.find(([base]) => pathname === base || pathname.startsWith(`${base}/`))
      if (found === undefined || !usableAmong(names, context).includes(found[1])) throw unknownPath(request)
      const [base, agent] = found
      const isRpc = pathname === base
      if (isRpc) ids.set(request, null)
      try {
        mustBeOfVersion(request)
        return isRpc
          ? await rpc(request, { context, agent }, (id) => ids.set(request, id))
          : await rest(request, { context, agent }, pathname.slice(base.length))
      } catch (thrown) {
        if (!(thrown instanceof A2aRefusal)) throw thrown
        const error = refusalError(thrown)
        return isRpc ? rpcError(error, ids.get(request) ?? null) : restError(error)
      }
    },
    refuse(error, request) {
      const pathname = requestPath(request)
      // by the form of the path: a refusal has the same form whether an agent answers there or not
      const isBase = pathname.startsWith(`${path}/`) && !pathname.slice(path.length + 1).includes('/')
      const isRpc = isBase && error.code !== 'request.unknown-path'
      return isRpc ? rpcError(shownAsA2a(error), ids.get(request) ?? null) : restError(shownAsA2a(error))
    },
  }
}

function cardOf(
  request: Request,
  { runtime }: ProtocolContext,
  name: string,
  address: string,
  options: CardOptions,
): Response {
  const agent = runtime.agents().find((each) => each.name === name)
  if (agent === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) throw unknownPath(request)
  return Response.json(agentCard(agent, address, options))
}

const unknownPath = ({ method, url }: Request): ReeveError =>
  new ReeveError('request.unknown-path', `there is no ${method} ${JSON.stringify(new URL(url).pathname)}`, {
    hint: `${wellKnown} says where the agent answers.`,
  })

/** A request without a version is one of 0.3. */
function mustBeOfVersion(request: Request): void {
  const named = request.headers.get('A2A-Version') ?? new URL(request.url).searchParams.get('A2A-Version') ?? ''
  if (/^1\.0(\.\d{1,3})?$/.test(named)) return
  const said = named === '' ? 'no version of A2A is named (0.3 is meant)' : `A2A ${JSON.stringify(named.slice(0, 20))}`
  throw new A2aRefusal('VERSION_NOT_SUPPORTED', `${said}: send A2A-Version: ${protocolVersion}`)
}

type Answered = Response | Json | ((signal: AbortSignal) => AsyncIterable<StreamResponse>)
type Operation = (request: AgentRequest, params: JsonObject) => Promise<Exclude<Answered, Response>>

const unsupported =
  (reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' | 'UNSUPPORTED_OPERATION', problem: string): Operation =>
  () =>
    Promise.reject(new A2aRefusal(reason, problem))
const noPush = unsupported('PUSH_NOTIFICATION_NOT_SUPPORTED', 'push notifications are not supported')
const noExtendedCard = unsupported('UNSUPPORTED_OPERATION', 'there is no extended card')
const asJson =
  <T extends object>(operation: (request: AgentRequest, params: JsonObject) => Promise<T>): Operation =>
  async (request, params) =>
    (await operation(request, params)) as unknown as Json

const methods: Readonly<Record<string, Operation>> = {
  SendMessage: sendMessage,
  SendStreamingMessage: streamMessage,
  GetTask: asJson(getTask),
  ListTasks: asJson(listTasks),
  CancelTask: asJson(cancelTask),
  SubscribeToTask: subscribe,
  GetExtendedAgentCard: noExtendedCard,
  CreateTaskPushNotificationConfig: noPush,
  GetTaskPushNotificationConfig: noPush,
  ListTaskPushNotificationConfigs: noPush,
  DeleteTaskPushNotificationConfig: noPush,
}

async function rpc(request: Request, asked: AgentRequest, isCalled: (id: RpcId) => void): Promise<Response> {
  if (request.method !== 'POST')
    throw new ReeveError('request.wrong-method', 'JSON-RPC takes POST', { hint: 'Nothing was done.' })
  const body = await jsonOf(asked.context)
  if (!isObject(body)) throw new A2aRefusal('INVALID_REQUEST', 'the body is not one JSON-RPC request')
  const id = own(body, 'id') ?? null
  if (id !== null && typeof id !== 'string' && !Number.isSafeInteger(id))
    throw new A2aRefusal('INVALID_REQUEST', 'id is neither a text nor a whole number')
  isCalled(id as RpcId)
  const method = own(body, 'method')
  if (own(body, 'jsonrpc') !== '2.0' || typeof method !== 'string')
    throw new A2aRefusal('INVALID_REQUEST', 'the body is not a request of JSON-RPC 2.0')
  if (!Object.hasOwn(methods, method))
    throw new A2aRefusal('METHOD_NOT_FOUND', `unknown method ${JSON.stringify(method.slice(0, 60))}`)
  const params = own(body, 'params') ?? {}
  if (!isObject(params)) throw new A2aRefusal('INVALID_PARAMS', 'params is not an object')
  const answer = await methods[method]!(asked, params)
  const said = (result: unknown): unknown => ({ jsonrpc: '2.0', id, result })
  return typeof answer === 'function'
    ? asked.context.stream((signal) => mapped(answer(signal), said))
    : Response.json(said(answer))
}

async function* mapped<T>(source: AsyncIterable<T>, change: (value: T) => unknown): AsyncGenerator<unknown> {
  for await (const each of source) yield change(each)
}

/** Rejects with an `A2aRefusal` for what is no JSON. */
async function jsonOf(context: ProtocolContext): Promise<Json | undefined> {
  try {
    return await context.body()
  } catch (thrown) {
    if (ReeveError.is(thrown, 'input.invalid')) throw new A2aRefusal('PARSE_ERROR', thrown.message)
    throw thrown
  }
}

/** The routes of HTTP+JSON below the address of an agent. A name in braces is a parameter. */
const routes: readonly { readonly method: string; readonly path: RegExp; readonly operation: Operation }[] = [
  { method: 'POST', path: /^\/message:send$/, operation: sendMessage },
  { method: 'POST', path: /^\/message:stream$/, operation: streamMessage },
  { method: 'GET', path: /^\/tasks$/, operation: asJson(listTasks) },
  { method: 'GET', path: /^\/tasks\/(?<id>[^/:]+)$/, operation: asJson(getTask) },
  { method: 'POST', path: /^\/tasks\/(?<id>[^/:]+):cancel$/, operation: asJson(cancelTask) },
  { method: 'GET', path: /^\/tasks\/(?<id>[^/:]+):subscribe$/, operation: subscribe },
  { method: 'POST', path: /^\/tasks\/(?<id>[^/:]+):subscribe$/, operation: subscribe },
  { method: 'GET', path: /^\/extendedAgentCard$/, operation: noExtendedCard },
  ...['GET', 'POST', 'DELETE'].map((method) => ({
    method,
    path: /^\/tasks\/[^/:]+\/pushNotificationConfigs(\/[^/]+)?$/,
    operation: noPush,
  })),
]

async function rest(request: Request, asked: AgentRequest, path: string): Promise<Response> {
  const { method, url } = request
  const route = routes.find((each) => each.method === method && each.path.test(path))
  if (route === undefined) throw unknownPath(request)
  const named = Object.entries(route.path.exec(path)?.groups ?? {}).map(([name, value]) => [name, decoded(value)])
  const hasBody = method === 'POST' && path.startsWith('/message:')
  const body = hasBody ? await jsonOf(asked.context) : Object.fromEntries(new URL(url).searchParams)
  if (!isObject(body)) throw new A2aRefusal('INVALID_PARAMS', 'the body is not an object')
  const answer = await route.operation(asked, { ...body, ...(Object.fromEntries(named) as JsonObject) })
  return typeof answer === 'function' ? asked.context.stream(answer) : Response.json(answer)
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new A2aRefusal('INVALID_PARAMS', 'the path is not valid')
  }
}
