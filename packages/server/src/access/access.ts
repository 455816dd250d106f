/**
 * Access: who may do what on a server.
 *
 * Owns: the options of access, the order in which a request is looked at: where it was sent and from which page, who
 * makes it, how often, whether their role allows it, how much of its body is read. Does not own: routes, what a handler
 * does.
 * Holds: nothing of a request is read before its Host and Origin are known to be right. Without `auth`, one token that
 * is drawn at the start, and nothing else, lets a caller in. Who reads a stream is asked about again while it is open.
 */
import {
  duration,
  expects,
  listOf,
  newSecret,
  number,
  object,
  present,
  ReeveError,
  systemClock,
  text,
  wholeNumber,
  type Checks,
  type Clock,
} from '@reeve/core'
import type { BrowserSessionView, Me, Principal, Role } from '../wire.ts'
import {
  authCheck,
  authenticate,
  bearerTokens,
  type Auth,
  type Authenticated,
  type VerifyRequest,
} from './authentication.ts'
import {
  corsHeaders,
  hostCheck,
  isLoopback,
  mustBeAddressedHere,
  mustNotBeForged,
  originCheck,
  preflight,
  type GuardRules,
} from './guard.ts'
import { Denials, type Denial } from './denials.ts'
import { resources, type Door, type Resource } from './door.ts'
import { Guesses } from './guesses.ts'
import { networkOf } from './network.ts'
import { administers, allows, mustAllow, mustReachAll } from './principal.ts'
import { OpenStreams, RateLimit, tooMany } from './rate-limit.ts'
import { RequestBodies, type BodySharer, type RequestBody } from './request-body.ts'
import { withHeaders } from './security-headers.ts'
import {
  browserSessionCheck,
  BrowserSessions,
  withAuthorization,
  type BrowserSessionOptions,
  type FoundSession,
} from './session.ts'
import type { Values } from './session-table.ts'

/** How much one caller may ask for. */
export interface RequestLimits {
  /** The largest body. Bytes. Default 1 MiB. A caller without a credential may send 16 KiB. */
  readonly bodyBytes?: number
  /**
   * The bodies that have begun and not ended, together. Bytes. Default 64 MiB. Half of them are for one tenant, a quarter
   * for one principal, a quarter for all who have no credential, a sixteenth for one network of these.
   */
  readonly allBodiesBytes?: number
  /** A body of which nothing comes for so many milliseconds is given up: 408. Default 10,000. */
  readonly bodyIdleMs?: number
  /** How deep the JSON of a body may nest. Default 100. */
  readonly bodyDepth?: number
  /** Requests of one principal, per second in the long run. Default 200. */
  readonly requestsPerSecond?: number
  /** How many requests may come at once. Default 2,000. */
  readonly burst?: number
  /** Open streams of one principal, and requests of theirs that wait. Default 100. */
  readonly streams?: number
}

/** Who may do what. */
export interface AccessOptions {
  /**
   * Who may use the server. Default: the bearer of one token, drawn when the server is made (`server.token`), on this
   * machine alone.
   */
  readonly auth?: Auth
  /** The name of who comes with the token that is drawn. Default `operator`. */
  readonly user?: string
  /**
   * Names under which the server is reached: `reeve.example.com`. Those of loopback and the host that it listens on are
   * always right. A request to any other name is refused.
   */
  readonly hosts?: readonly string[]
  /** Origins of other sites whose pages may call it with a bearer token. Default: none. */
  readonly origins?: readonly string[]
  /** Cookies of browsers. */
  readonly session?: BrowserSessionOptions
  readonly limits?: RequestLimits
  /**
   * The address of a caller, by whose network guesses are counted: of IPv6 the first 64 bits. Default: that of the connection. Behind a proxy, read the
   * header that your proxy sets: `(request) => request.headers.get('x-real-ip') ?? undefined`.
   */
  readonly clientAddress?: (request: Request) => string | undefined
  /**
   * Told of requests that were answered with 401, 403 or 429: when, from where, by whom, for what; never the credential. Of
   * a flood some are told, with how many were not. Default: nobody is told.
   */
  readonly onDenied?: (denial: Denial) => void
}

const isFunction = expects((given) => typeof given === 'function', 'a function')
const limit = wholeNumber(1)

/** The checks of the options of access. */
export const accessChecks: Checks<AccessOptions> = {
  auth: authCheck,
  user: text,
  hosts: listOf(hostCheck, 'hosts'),
  origins: listOf(originCheck, 'origins'),
  session: browserSessionCheck,
  limits: object<RequestLimits>({
    bodyBytes: limit,
    allBodiesBytes: limit,
    bodyIdleMs: duration,
    bodyDepth: wholeNumber(1, 1_000),
    requestsPerSecond: number((given) => given >= 1, 'a number of at least 1'),
    burst: number((given) => given >= 1, 'a number of at least 1'),
    streams: limit,
  }),
  clientAddress: isFunction,
  onDenied: isFunction,
}

/** What access needs to know of a route. */
export interface AccessRule extends Pick<Door, 'role'> {
  /** What it opens. Default `public`. */
  readonly resource?: Resource
  readonly isStream?: boolean
  /** Of what is open: how large a body may be, in bytes. Default: that of a token. */
  readonly openBodyBytes?: number
  /** A page that any link may open. */
  readonly isPage?: boolean
}

/** A request that was let in. */
export interface Entrance {
  /** Of an open route, of an unknown caller: nobody, without roles. */
  readonly principal: Principal
  readonly via?: Me['via']
  /** Of a stream: aborts when its reader may not read any more: the credential or the session ends, a role is taken. */
  readonly ended?: AbortSignal
  readonly body: RequestBody
  /**
   * Takes a place among the streams of the principal, for an answer that waits. Returns how it is given back, idempotent.
   * Throws `request.too-many`.
   */
  readonly place: () => () => void
  /** To be called when the stream ends. Idempotent. */
  readonly leave: () => void
}

/** Who may do what on one server. */
export interface Access {
  /** The token that lets a caller in, where no `auth` was given. */
  readonly token?: string
  /**
   * Refuses what was not meant for this server, before its route is looked for. Returns the answer to a preflight.
   * `isPage`: a link may open it. `headers`: what a page of `origins` may send to it, beside what it may send to every
   * path. Throws `request.forbidden`.
   */
  admit(request: Request, isPage?: boolean, headers?: readonly string[]): Response | undefined
  /** Lets a request into a route. Throws `request.not-authenticated`, `request.forbidden`, `request.too-many`. */
  enter(request: Request, rule: AccessRule, peer?: string): Promise<Entrance>
  /**
   * A cookie for a token, or for the credential of the request itself. Rejects with `request.not-authenticated`,
   * `request.too-many`, `store.*`.
   */
  beginSession(
    request: Request,
    token: string | undefined,
    peer?: string,
  ): Promise<{ readonly cookie: string; readonly caller: Authenticated }>
  /** Ends the session of this request, for every process. Returns the header that removes its cookie. */
  leaveSession(request: Request): Promise<string>
  /**
   * The sessions of browsers that hold: the principal's own; of an admin everyone's, or everyone's of their tenant. An
   * admin of some agents has their own alone.
   */
  sessions(request: Request, principal: Principal): Promise<readonly BrowserSessionView[]>
  /** Ends those of them that have this id and are of this name. Returns how many there were. */
  endSessions(principal: Principal, which: { readonly id?: string; readonly name?: string }): Promise<number>
  /** Tells the operator of a request that was refused. */
  denied(
    request: Request,
    error: { readonly status: number; readonly code: string },
    route: string,
    peer?: string,
  ): void
  /** The response with the headers that every response has. */
  finish(request: Request, response: Response): Response
  /** Permits a server to be bound to a host. Throws `config.invalid` for another than loopback without `auth`. */
  bind(host: string): void
}

const nobody: Principal = { name: '', roles: [] }
/** The largest JSON of a caller without a credential: it holds a token. Bytes. */
const largestOpenBody = 16_384
/** Who reads a stream is asked about again so often. Milliseconds. */
const askAgainMs = 30_000

/** For whom a body counts: no caller, no tenant and no crowd of strangers keeps all others out. */
function sharersOf(key: string, caller: CurrentCaller | undefined): readonly BodySharer[] {
  if (caller === undefined)
    return [
      { key, share: 1 / 16 },
      { key: 'without a credential', share: 1 / 4 },
    ]
  const { tenant } = caller.principal
  return [{ key, share: 1 / 4 }, ...(tenant === undefined ? [] : [{ key: `tenant ${tenant}`, share: 1 / 2 }])]
}

/** Whether a principal of these agents is one of all of them still. */
const isWithinAgents = (before: Principal['agents'], now: Principal['agents']): boolean =>
  now === undefined || (before !== undefined && before.every((each) => now.includes(each)))

/** A caller, by a credential of the request or by the session of its browser. */
interface CurrentCaller extends Authenticated {
  readonly session?: FoundSession
}

/** Who may do what, by options that were checked. `values`: where sessions are kept; default: in this process. */
export function createAccess(options: AccessOptions, clock: Clock = systemClock, values?: Values): Access {
  const { auth, origins = [], session = {}, limits = {}, clientAddress, user = 'operator' } = options
  const { bodyBytes = 1_048_576, bodyDepth = 100, requestsPerSecond = 200, burst = 2_000, streams = 100 } = limits
  const { allBodiesBytes = 67_108_864, bodyIdleMs = 10_000 } = limits
  const hosts = [...(options.hosts ?? [])]
  const rules: GuardRules = { hosts, origins }
  const token = auth === undefined ? newSecret() : undefined
  const verify: VerifyRequest =
    auth === undefined
      ? bearerTokens({ tokens: { [token!]: { name: user, roles: ['admin'] } } }, 'local')
      : typeof auth === 'function'
        ? auth
        : bearerTokens(auth)
  const sessions = new BrowserSessions(session, clock, values)
  const guesses = new Guesses(clock)
  const requests = new RateLimit(requestsPerSecond, burst, clock)
  const open = new OpenStreams(streams)
  const bodies = new RequestBodies(
    { bytes: bodyBytes, depth: bodyDepth, allBytes: allBodiesBytes, idleMs: bodyIdleMs },
    clock,
  )
  const denials = new Denials(options.onDenied, clock)
  /** Whose a request is, as soon as that is known. */
  const principals = new WeakMap<Request, Principal>()

  const addressOf = (request: Request, peer: string | undefined): string | undefined => clientAddress?.(request) ?? peer

  /** Whom the credential of a request stands for: its own, not a cookie. */
  const credentialOf = (request: Request, address: string | undefined): Promise<Authenticated | undefined> =>
    guesses.counted(request, address && networkOf(address), verify.unguessable === true, () =>
      authenticate(verify, request),
    )
  /** Whom the session of a request stands for now. */
  const bySession = async (request: Request): Promise<CurrentCaller | undefined> => {
    const found = await sessions.find(request)
    const caller = found === undefined ? undefined : await authenticate(verify, found.asking)
    if (found === undefined || caller === undefined || !sessions.isOf(found, caller.principal)) return undefined
    const until = Math.min(found.until, caller.until ?? Infinity)
    return { principal: caller.principal, via: 'cookie', until, session: found }
  }
  const callerOf = async (request: Request, address: string | undefined): Promise<CurrentCaller | undefined> => {
    if (request.headers.has('Authorization')) return credentialOf(request, address)
    const caller = request.headers.has('Cookie') ? await bySession(request) : undefined
    if (caller === undefined) return credentialOf(request, address)
    mustNotBeForged(request)
    return caller
  }
  /** Calls `end` when who reads a stream may not any more. Returns what calls that off. */
  const whileAllowed = (
    request: Request,
    { principal: { name, tenant, agents }, until, session: own }: CurrentCaller,
    { role, address }: { readonly role: Role; readonly address: string | undefined },
    end: () => void,
  ): (() => void) => {
    let isOver = false
    const isAllowed = async (): Promise<boolean> => {
      const now = await callerOf(request, address)
      return (
        now !== undefined &&
        now.principal.name === name &&
        now.principal.tenant === tenant &&
        isWithinAgents(agents, now.principal.agents) &&
        allows(now.principal, role)
      )
    }
    let callOff = (): void => {}
    const ask = (): void => {
      callOff = clock.timer(clock.now() + askAgainMs, () => {
        // where it cannot be found out now, it is asked again: an outage ends no stream
        isAllowed().then(
          (isIt) => (isOver ? undefined : isIt ? ask() : end()),
          () => (isOver ? undefined : ask()),
        )
      })
    }
    ask()
    const others = [
      ...(until === undefined ? [] : [clock.timer(until, end)]),
      ...(own === undefined ? [] : [sessions.whenEnded(own, end)]),
    ]
    return () => {
      isOver = true
      callOff()
      for (const each of others) each()
    }
  }
  const whose = (principal: Principal): Principal | { readonly all: string | undefined } =>
    administers(principal) ? { all: principal.tenant } : principal
  return {
    ...present({ token }),
    admit(request, isPage = false, headers = []) {
      mustBeAddressedHere(request, rules, isPage)
      return preflight(request, rules, headers)
    },
    async enter(request, { role, resource = 'public', isStream = false, openBodyBytes = largestOpenBody }, peer) {
      const address = addressOf(request, peer)
      const caller = role === 'open' ? undefined : await callerOf(request, address)
      if (role !== 'open' && caller === undefined) throw unknownCaller(request)
      const { principal, via } = caller ?? { principal: nobody }
      principals.set(request, principal)
      const key =
        caller === undefined
          ? `network ${networkOf(address ?? '')}`
          : `principal ${JSON.stringify([principal.tenant, principal.name])}`
      if (!requests.take(key)) throw tooMany('too many requests')
      if (role !== 'open') mustAllow(principal, role)
      if (resources[resource] === 'refused') mustReachAll(principal)
      const body = bodies.of(request, sharersOf(key, caller), caller === undefined ? openBodyBytes : undefined)
      const place = (): (() => void) => {
        const left = open.enter(key)
        if (left === undefined) throw tooMany(`${streams} streams are open already`)
        return left
      }
      const letIn = { principal, body, place, ...present({ via }) }
      if (!isStream) return { ...letIn, leave: () => {} }
      const left = place()
      const ended = new AbortController()
      const callOff =
        caller === undefined || role === 'open'
          ? () => {}
          : whileAllowed(request, caller, { role, address }, () => ended.abort())
      const leave = (): void => {
        callOff()
        left()
      }
      return { ...letIn, leave, ended: ended.signal }
    },
    async beginSession(request, given, peer) {
      const asking = given === undefined ? request : withToken(request, given)
      const address = addressOf(request, peer)
      const caller = await credentialOf(asking, address)
      if (caller === undefined) throw unknownCaller(asking)
      const cookie = await sessions.begin(caller, asking, request, address)
      if (cookie === undefined)
        throw new ReeveError('request.forbidden', 'the credential does not fit into a cookie', {
          hint: 'Use a shorter token, or send it as a bearer token.',
        })
      return { cookie, caller }
    },
    leaveSession: (request) => sessions.leave(request),
    async sessions(request, principal) {
      const current = (await sessions.find(request))?.id
      return (await sessions.list(whose(principal))).map((each) => ({ ...each, isCurrent: each.id === current }))
    },
    endSessions: (principal, which) => sessions.end(whose(principal), which),
    denied(request, { status, code }, route, peer) {
      const address = (): string | undefined => addressOf(request, peer)
      denials.tell({ request, status, code, route, address, principal: principals.get(request) })
    },
    finish: (request, response) => withHeaders(response, corsHeaders(request, rules)),
    bind(host) {
      if (isLoopback(host)) return
      if (auth === undefined)
        throw new ReeveError(
          'config.invalid',
          `the host ${JSON.stringify(host)} is reached by others than this machine, and there is no authentication`,
          {
            hint: 'Give createServer `auth` (for reeve serve: export const server = { auth: … } in the config), or listen on 127.0.0.1. Nothing was opened.',
          },
        )
      hosts.push(host.includes(':') ? `[${host.toLowerCase()}]` : host.toLowerCase())
    },
  }
}

/** The request as if it had come with this token. */
const withToken = (request: Request, token: string): Request =>
  // what is no token is none that is known
  withAuthorization(request, /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : 'Bearer -')

const unknownCaller = (request: Request): ReeveError =>
  new ReeveError(
    'request.not-authenticated',
    request.headers.has('Authorization') ? 'the credential is not known, or has expired' : 'no credential was sent',
    { hint: 'Send Authorization: Bearer <token>, or sign in. Nothing was done.' },
  )
