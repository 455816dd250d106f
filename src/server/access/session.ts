/**
 * Sessions of browsers: a cookie in exchange for a credential.
 *
 * Owns: what is in the cookie, its attributes, how it ends. Does not own: who the caller is (authentication.ts), the
 * header that a change needs (guard.ts).
 * Holds: the cookie is signed and holds the principal; it is no secret of the application, and ends with the credential
 * that it was given for, after `maxAgeMs` at the latest, or with a new secret. The secret of a server that is given none
 * is drawn at its start: then no cookie outlives the process.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { duration, expects, flag, hasNames, object, type Check, type Clock } from '../../core/index.ts'
import type { Authenticated } from './authentication.ts'
import { asPrincipal, principalProblems } from './principal.ts'

/** How long a browser stays signed in. */
export interface BrowserSessionOptions {
  /**
   * Signs cookies, at least 32 characters. The same one in several servers, or after a restart, takes the same cookies.
   * Default: drawn when the server is made.
   */
  readonly secret?: string
  /** Milliseconds. Default 12 hours. */
  readonly maxAgeMs?: number
  /** Cookies go over TLS alone. Set it where a proxy ends TLS. Default: as the address of the request. */
  readonly secure?: boolean
}

const shortestSecret = 32

/** The check of the option `session`. */
export const browserSessionCheck: Check = object<BrowserSessionOptions>({
  secret: (given, where) =>
    typeof given === 'string' && given.length >= shortestSecret
      ? []
      : [`${where} is too short: at least ${shortestSecret} characters are needed`],
  maxAgeMs: duration,
  secure: flag,
})

/** How many ended sessions are remembered until they would have ended anyway. */
const mostEnded = 10_000
const twelveHours = 12 * 3_600_000
/** A cookie may have about 4,096 bytes, with its name and attributes. */
const longestCookie = 3_800

/** What is signed. */
interface Ticket {
  readonly id: string
  readonly principal: unknown
  readonly until: number
}

/** Makes cookies, reads them, ends them. */
export class BrowserSessions {
  readonly #key: Buffer
  readonly #maxAgeMs: number
  readonly #secure: boolean | undefined
  readonly #clock: Clock
  readonly #ended = new Map<string, number>()
  readonly #endings = new EventTarget()

  constructor({ secret, maxAgeMs = twelveHours, secure }: BrowserSessionOptions, clock: Clock) {
    this.#key = secret === undefined ? randomBytes(32) : createHmac('sha256', secret).update('reeve session').digest()
    this.#maxAgeMs = maxAgeMs
    this.#secure = secure
    this.#clock = clock
  }

  /** The header that begins a session; undefined for a principal that does not fit into a cookie. */
  begin({ principal, until = Infinity }: Authenticated, request: Request): string | undefined {
    const now = this.#clock.now()
    const ends = Math.min(until, now + this.#maxAgeMs)
    const ticket: Ticket = { id: randomBytes(16).toString('base64url'), principal, until: ends }
    const body = Buffer.from(JSON.stringify(ticket)).toString('base64url')
    const value = `${body}.${this.#signature(body)}`
    const age = Math.max(0, Math.floor((ends - now) / 1_000))
    return value.length > longestCookie ? undefined : this.#cookie(request, value, age)
  }

  /** Whom the cookie of a request stands for; undefined if it has none that holds. */
  find(request: Request): Authenticated | undefined {
    const ticket = this.#ticketOf(request)
    if (ticket === undefined || this.#ended.has(ticket.id)) return undefined
    return { principal: asPrincipal(ticket.principal), via: 'cookie', until: ticket.until }
  }

  /** Calls back when the session of a request is ended. Returns what calls that off. */
  whenEnded(request: Request, call: () => void): () => void {
    const ticket = this.#ticketOf(request)
    if (ticket === undefined) return () => {}
    this.#endings.addEventListener(ticket.id, call, { once: true })
    return () => this.#endings.removeEventListener(ticket.id, call)
  }

  /** Ends the session of a request, and the streams that it reads from this server. Returns the header that removes the cookie. */
  end(request: Request): string {
    const ticket = this.#ticketOf(request)
    if (ticket !== undefined) {
      this.#ended.set(ticket.id, ticket.until)
      this.#endings.dispatchEvent(new Event(ticket.id))
    }
    const now = this.#clock.now()
    if (this.#ended.size > mostEnded) for (const [id, until] of this.#ended) if (until <= now) this.#ended.delete(id)
    if (this.#ended.size > mostEnded) this.#ended.delete(this.#ended.keys().next().value!)
    return this.#cookie(request, '', 0)
  }

  #cookie(request: Request, value: string, age: number): string {
    const secure = this.#isSecure(request) ? '; Secure' : ''
    return `${this.#name(request)}=${value}; Max-Age=${age}; Path=/; HttpOnly; SameSite=Strict${secure}`
  }

  #isSecure(request: Request): boolean {
    return this.#secure ?? new URL(request.url).protocol === 'https:'
  }

  /** Cookies are shared by all ports of a host: servers on several ports must not take each other's. */
  #name(request: Request): string {
    const { port } = new URL(request.url)
    return `${this.#isSecure(request) ? '__Host-' : ''}reeve${port === '' ? '' : `_${port}`}`
  }

  #signature(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }

  #ticketOf(request: Request): Ticket | undefined {
    const [body = '', signature = '', ...rest] = (cookieOf(request, this.#name(request)) ?? '').split('.')
    const [given, due] = [Buffer.from(signature), Buffer.from(this.#signature(body))]
    if (rest.length > 0 || given.length !== due.length || !timingSafeEqual(given, due)) return undefined
    const ticket = ticketIn(body)
    return ticket === undefined || ticket.until <= this.#clock.now() ? undefined : ticket
  }
}

const isTicket = expects(
  (given) =>
    hasNames(given) &&
    typeof (given as Ticket).id === 'string' &&
    typeof (given as Ticket).until === 'number' &&
    principalProblems((given as Ticket).principal, '').length === 0,
  'a ticket',
)

/** What is in a cookie with a right signature. Another version of Reeve may have written it. */
function ticketIn(body: string): Ticket | undefined {
  try {
    const ticket: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
    return isTicket(ticket, '').length === 0 ? (ticket as Ticket) : undefined
  } catch {
    return undefined
  }
}

function cookieOf(request: Request, name: string): string | undefined {
  for (const part of (request.headers.get('Cookie') ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at !== -1 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return undefined
}
