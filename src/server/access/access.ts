/**
 * Access: who may do what on a server.
 *
 * Owns: the options of access, the order in which a request is looked at: where it was sent and from which page, how
 * often, who makes it, whether their role allows it. Does not own: routes, what a handler does.
 * Holds: nothing of a request is read before its Host and Origin are known to be right. Without `auth`, one token that
 * is drawn at the start, and nothing else, lets a caller in.
 */
import {
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
  type Json,
} from '../../core/index.ts'
import type { Me, Principal } from '../wire.ts'
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
import { resources, type Door, type Resource } from './doors.ts'
import { mustAllow, mustReachAll } from './principal.ts'
import { OpenStreams, RateLimit, tooMany } from './rate-limit.ts'
import { jsonBody } from './request-body.ts'
import { withHeaders } from './security-headers.ts'
import { browserSessionCheck, BrowserSessions, type BrowserSessionOptions } from './session.ts'

/** How much one caller may ask for. */
export interface RequestLimits {
  /** The largest body. Bytes. Default 1 MiB. */
  readonly bodyBytes?: number
  /** How deep the JSON of a body may nest. Default 100. */
  readonly bodyDepth?: number
  /** Requests of one principal, per second in the long run. Default 200. */
  readonly requestsPerSecond?: number
  /** How many requests may come at once. Default 2,000. */
  readonly burst?: number
  /** Open streams of one principal. Default 100. */
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
   * The address of a caller, by which guesses are counted. Default: that of the connection. Behind a proxy, read the
   * header that your proxy sets: `(request) => request.headers.get('x-real-ip') ?? undefined`.
   */
  readonly clientAddress?: (request: Request) => string | undefined
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
    bodyDepth: wholeNumber(1, 1_000),
    requestsPerSecond: number((given) => given >= 1, 'a number of at least 1'),
    burst: number((given) => given >= 1, 'a number of at least 1'),
    streams: limit,
  }),
  clientAddress: isFunction,
}

/** What access needs to know of a route. */
export interface AccessRule extends Pick<Door, 'role'> {
  /** What it opens. Default `public`. */
  readonly resource?: Resource
  readonly isStream?: boolean
  /** A page that any link may open. */
  readonly isPage?: boolean
}

/** A request that was let in. */
export interface Entrance {
  /** Of an open route, of an unknown caller: nobody, without roles. */
  readonly principal: Principal
  readonly via?: Me['via']
  /** Of a stream: aborts when the credential of its reader ends, or who reads it signs out. */
  readonly ended?: AbortSignal
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
  /** The JSON of the body. Throws `input.too-large`, `request.not-json`, `input.invalid`. */
  body(request: Request): Promise<Json | undefined>
  /**
   * A cookie for a token, or for the credential of the request itself. Throws `request.not-authenticated`,
   * `request.too-many`.
   */
  beginSession(
    request: Request,
    token: string | undefined,
    peer?: string,
  ): Promise<{ readonly cookie: string; readonly caller: Authenticated }>
  /** Ends the session of this request. Returns the header that removes its cookie. */
  endSession(request: Request): string
  /** The response with the headers that every response has. */
  finish(request: Request, response: Response): Response
  /** Permits a server to be bound to a host. Throws `config.invalid` for another than loopback without `auth`. */
  bind(host: string): void
}

/** Guesses of a credential: so many at once, then one per second. */
const guesses = 20
const nobody: Principal = { name: '', roles: [] }

/** Who may do what, by options that were checked. */
export function createAccess(options: AccessOptions, clock: Clock = systemClock): Access {
  const { auth, origins = [], session = {}, limits = {}, clientAddress, user = 'operator' } = options
  const { bodyBytes = 1_048_576, bodyDepth = 100, requestsPerSecond = 200, burst = 2_000, streams = 100 } = limits
  const hosts = [...(options.hosts ?? [])]
  const rules: GuardRules = { hosts, origins }
  const token = auth === undefined ? newSecret() : undefined
  const verify: VerifyRequest =
    auth === undefined
      ? bearerTokens({ tokens: { [token!]: { name: user, roles: ['admin'] } } }, 'local')
      : typeof auth === 'function'
        ? auth
        : bearerTokens(auth)
  const sessions = new BrowserSessions(session, clock)
  const failures = new RateLimit(1, guesses, clock)
  const requests = new RateLimit(requestsPerSecond, burst, clock)
  const open = new OpenStreams(streams)

  const addressOf = (request: Request, peer: string | undefined): string | undefined => clientAddress?.(request) ?? peer

  /** Whom the credential of a request stands for: its own, not a cookie. */
  const credentialOf = async (request: Request, address: string | undefined): Promise<Authenticated | undefined> => {
    // where nobody's address is known, one who guesses would lock out all others
    if (address !== undefined && !failures.has(address)) throw tooMany('too many requests with a wrong credential')
    const found = await authenticate(verify, request)
    if (found === undefined && address !== undefined && request.headers.has('Authorization')) failures.take(address)
    return found
  }
  const callerOf = async (request: Request, address: string | undefined): Promise<Authenticated | undefined> => {
    if (request.headers.has('Authorization')) return credentialOf(request, address)
    const bySession = sessions.find(request)
    if (bySession !== undefined) {
      mustNotBeForged(request)
      return bySession
    }
    return credentialOf(request, address)
  }
  return {
    ...present({ token }),
    admit(request, isPage = false, headers = []) {
      mustBeAddressedHere(request, rules, isPage)
      return preflight(request, rules, headers)
    },
    async enter(request, { role, resource = 'public', isStream = false }, peer) {
      const address = addressOf(request, peer)
      const caller = role === 'open' ? undefined : await callerOf(request, address)
      if (role !== 'open' && caller === undefined) throw unknownCaller(request)
      const { principal, via, until } = caller ?? { principal: nobody }
      const key =
        caller === undefined
          ? `address ${address ?? ''}`
          : `principal ${JSON.stringify([principal.tenant, principal.name])}`
      if (!requests.take(key)) throw tooMany('too many requests')
      if (role !== 'open') mustAllow(principal, role)
      if (resources[resource] === 'refused') mustReachAll(principal)
      if (!isStream) return { principal, leave: () => {}, ...present({ via }) }
      const left = open.enter(key)
      if (left === undefined) throw tooMany(`${streams} streams are open already`)
      const ended = new AbortController()
      const callOffs = [
        ...(until === undefined ? [] : [clock.timer(until, () => ended.abort())]),
        ...(via === 'cookie' ? [sessions.whenEnded(request, () => ended.abort())] : []),
      ]
      const leave = (): void => {
        for (const callOff of callOffs) callOff()
        left()
      }
      return { principal, leave, ended: ended.signal, ...present({ via }) }
    },
    body: (request) => jsonBody(request, { bytes: bodyBytes, depth: bodyDepth }),
    async beginSession(request, given, peer) {
      const asking = given === undefined ? request : withToken(request, given)
      const caller = await credentialOf(asking, addressOf(request, peer))
      if (caller === undefined) throw unknownCaller(asking)
      const cookie = sessions.begin(caller, request)
      if (cookie === undefined)
        throw new ReeveError('request.forbidden', 'the principal does not fit into a cookie', {
          hint: 'Use a bearer token.',
        })
      return { cookie, caller }
    },
    endSession: (request) => sessions.end(request),
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
function withToken({ url, method, headers }: Request, token: string): Request {
  const all = new Headers(headers)
  // what is no token is none that is known
  all.set('Authorization', /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : 'Bearer -')
  all.delete('Content-Length')
  return new Request(url, { method, headers: all })
}

const unknownCaller = (request: Request): ReeveError =>
  new ReeveError(
    'request.not-authenticated',
    request.headers.has('Authorization') ? 'the credential is not known, or has expired' : 'no credential was sent',
    { hint: 'Send Authorization: Bearer <token>, or sign in. Nothing was done.' },
  )
