/**
 * Sessions of browsers: a cookie in exchange for a credential.
 *
 * Owns: what is in the cookie, its attributes, how a session ends. Does not own: who the caller is (authentication.ts),
 * where sessions are kept (session-table.ts), the header that a change needs (guard.ts).
 * Holds: the cookie holds the credential that it was given for, sealed: at every request that credential is asked about
 * again, so a cookie is worth what its principal is worth now. It ends with the credential, after `maxAgeMs` at the latest,
 * after `idleMs` without a request, with a new secret, and when the session is ended, from whichever process. The secret
 * of a server that is given none is drawn at its start: then no cookie outlives the process.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { duration, flag, hasNames, newId, object, present, type Check, type Clock } from '@reeve/core'
import type { Principal } from '../wire.ts'
import type { Authenticated } from './authentication.ts'
import { SessionTable, type KeptSession, type Values } from './session-table.ts'

/** How long a browser stays signed in. */
export interface BrowserSessionOptions {
  /**
   * Seals cookies, at least 32 characters. The same one in several servers of a store, or after a restart, takes the same
   * cookies. Default: drawn when the server is made.
   */
  readonly secret?: string
  /** Milliseconds, from signing in. Default 12 hours. */
  readonly maxAgeMs?: number
  /** A session ends after so many milliseconds without a request, to a tenth. An open page makes some. Default 1 hour. */
  readonly idleMs?: number
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
  idleMs: duration,
  secure: flag,
})

const hour = 3_600_000
/** A cookie may have about 4,096 bytes, with its name and attributes. */
const longestCookie = 3_800
const longestUserAgent = 200

/** What is sealed. */
interface Ticket {
  readonly id: string
  /** Of the principal, in the table. */
  readonly owner: string
  /** The header `Authorization` that the session was begun with. */
  readonly authorization?: string
  readonly until: number
}

/** A session whose cookie a request has. */
export interface FoundSession {
  readonly id: string
  readonly owner: string
  readonly until: number
  /** The request with the credential of the session: whoever it stands for now is the caller. */
  readonly asking: Request
}

/** Makes cookies, reads them, ends sessions. */
export class BrowserSessions {
  readonly #key: Buffer
  readonly #maxAgeMs: number
  readonly #secure: boolean | undefined
  readonly #clock: Clock
  readonly #table: SessionTable
  readonly #endings = new EventTarget()

  constructor(options: BrowserSessionOptions, clock: Clock, values?: Values) {
    const { secret, maxAgeMs = 12 * hour, idleMs = hour, secure } = options
    this.#key = secret === undefined ? randomBytes(32) : createHmac('sha256', secret).update('reeve session').digest()
    this.#maxAgeMs = maxAgeMs
    this.#secure = secure
    this.#clock = clock
    this.#table = new SessionTable(idleMs, values)
  }

  /**
   * Begins a session of a caller who sent `asking`. Returns the header that gives the cookie; undefined for a credential
   * that does not fit into one.
   */
  async begin(
    { principal, until = Infinity }: Authenticated,
    asking: Request,
    request: Request,
    address: string | undefined,
  ): Promise<string | undefined> {
    const now = this.#clock.now()
    const ends = Math.min(until, now + this.#maxAgeMs)
    const authorization = asking.headers.get('Authorization') ?? undefined
    const ticket: Ticket = {
      id: newId('bse'),
      owner: this.#table.ownerOf(principal),
      until: ends,
      ...present({ authorization }),
    }
    const value = this.#sealed(ticket)
    if (value.length > longestCookie) return undefined
    const userAgent = request.headers.get('User-Agent')?.slice(0, longestUserAgent)
    await this.#table.add(principal, {
      id: ticket.id,
      begun: now,
      seen: now,
      until: ends,
      ...present({ address, userAgent }),
    })
    return this.#cookie(request, value, Math.max(0, Math.floor((ends - now) / 1_000)))
  }

  /** The session of a request, if it has one that holds. Rejects with `store.*` where that cannot be read. */
  async find(request: Request): Promise<FoundSession | undefined> {
    const now = this.#clock.now()
    for (const { id, owner, until, authorization } of this.#ticketsOf(request)) {
      if (until <= now || !(await this.#table.holds(owner, id, now))) continue
      return { id, owner, until, asking: withAuthorization(request, authorization) }
    }
    return undefined
  }

  /** Whether a session is that of this principal. */
  isOf({ owner }: FoundSession, principal: Principal): boolean {
    return owner === this.#table.ownerOf(principal)
  }

  /** Calls back when this session is ended in this process. Returns what calls that off. */
  whenEnded({ id }: Pick<FoundSession, 'id'>, call: () => void): () => void {
    this.#endings.addEventListener(id, call, { once: true })
    return () => this.#endings.removeEventListener(id, call)
  }

  /** Ends the sessions of a request. Returns the header that removes its cookie. */
  async leave(request: Request): Promise<string> {
    for (const { id, owner } of this.#ticketsOf(request)) await this.#end(owner, id)
    return this.#cookie(request, '', 0)
  }

  /** The sessions that hold: of one principal, or of all of a tenant, or of everyone. Newest first. */
  list(whose: Principal | { readonly all: string | undefined }): Promise<readonly KeptSession[]> {
    return this.#table.list(whose, this.#clock.now())
  }

  /** Ends those of these sessions that have this id and are of this name. Returns how many there were. */
  async end(
    whose: Principal | { readonly all: string | undefined },
    { id, name }: { readonly id?: string; readonly name?: string },
  ): Promise<number> {
    const found = (await this.list(whose)).filter(
      (each) => (id === undefined || each.id === id) && (name === undefined || each.name === name),
    )
    for (const each of found) await this.#end(this.#table.ownerOf(each), each.id)
    return found.length
  }

  async #end(owner: string, id: string): Promise<void> {
    await this.#table.remove(owner, id, this.#clock.now())
    this.#endings.dispatchEvent(new Event(id))
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

  #sealed(ticket: Ticket): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    const sealed = Buffer.concat([nonce, cipher.update(JSON.stringify(ticket), 'utf8'), cipher.final()])
    return `${sealed.toString('base64url')}.${cipher.getAuthTag().toString('base64url')}`
  }

  /** What is in the cookies that were sealed here; others of the same name are another server's. */
  #ticketsOf(request: Request): readonly Ticket[] {
    return cookiesOf(request, this.#name(request)).flatMap((value) => this.#opened(value) ?? [])
  }

  #opened(value: string): Ticket | undefined {
    const [sealed, tag, ...rest] = value.length > longestCookie ? [] : value.split('.').map(bytesIn)
    if (sealed === undefined || tag?.length !== tagBytes || rest.length > 0) return undefined
    try {
      const cipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
      cipher.setAuthTag(tag)
      const text = cipher.update(sealed.subarray(nonceBytes), undefined, 'utf8') + cipher.final('utf8')
      const ticket: unknown = JSON.parse(text)
      return isTicket(ticket) ? ticket : undefined
    } catch {
      return undefined
    }
  }
}

/** The bytes of base64url. One text for the same bytes: a cookie that was changed is not taken, whatever was changed. */
function bytesIn(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

const [nonceBytes, tagBytes] = [12, 16]

/** Another version of Reeve may have sealed it. */
function isTicket(given: unknown): given is Ticket {
  if (!hasNames(given)) return false
  const { id, owner, until, authorization = '' } = given as { readonly [Name in keyof Ticket]?: unknown }
  return [id, owner, authorization].every((each) => typeof each === 'string') && typeof until === 'number'
}

/** The request with this credential instead of its own. It has no body. */
export function withAuthorization({ url, method, headers }: Request, authorization: string | undefined): Request {
  const all = new Headers(headers)
  if (authorization === undefined) all.delete('Authorization')
  else all.set('Authorization', authorization)
  all.delete('Content-Length')
  return new Request(url, { method, headers: all })
}

/** All cookies of this name: a path or a parent domain can add some, and their order says nothing. */
const cookiesOf = (request: Request, name: string): readonly string[] =>
  (request.headers.get('Cookie') ?? '').split(';').flatMap((part) => {
    const at = part.indexOf('=')
    return at !== -1 && part.slice(0, at).trim() === name ? [part.slice(at + 1).trim()] : []
  })
