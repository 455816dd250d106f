/**
 * The guard: which requests are looked at, before anyone asks who makes them.
 *
 * Owns: the names under which the server may be reached (DNS rebinding), the origins that may call it, what a request
 * that changes something must carry (CSRF), CORS. Pure. Does not own: who makes the request (authentication.ts), what is
 * in its body.
 */
import { expects, ReeveError } from '@reeve/core'

/** What the guard lets pass. */
export interface GuardRules {
  /** Names under which the server is reached, besides those of loopback; with a port or, for all ports, without. */
  readonly hosts: readonly string[]
  /** Origins of other sites that may call it from a browser: `https://app.example.com`. */
  readonly origins: readonly string[]
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']
const hostForm = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(\d{1,5}))?$/u

/** A host that is this machine alone. */
export const isLoopback = (host: string): boolean => loopbackNames.includes(host) || host === '::1'

/** The check of one host of the option `hosts`. */
export const hostCheck = expects(
  (given) => typeof given === 'string' && hostForm.test(given),
  'a host name in lower case, with or without a port, such as "reeve.example.com"',
)

/** The check of one origin of the option `origins`. */
export const originCheck = expects(
  (given) =>
    typeof given === 'string' &&
    /^https?:$/.test(URL.parse(given)?.protocol ?? '') &&
    URL.parse(given)?.origin === given,
  'an origin, such as "https://app.example.com"',
)

/**
 * Refuses what a page of another site, or a name that was pointed here, may have sent. Throws `request.forbidden`. Asked
 * first of all, for every request. `navigable`: a page, which any link may open.
 */
export function mustBeAddressedHere(request: Request, rules: GuardRules, navigable: boolean): void {
  const host = hostOf(request)
  if (host === undefined || !isKnown(host, rules.hosts))
    throw forbidden(
      `this server is not reached as ${JSON.stringify(host ?? request.headers.get('Host') ?? '')}`,
      'Name the hosts under which it is reached: createServer({ hosts: ["reeve.example.com"] }).',
    )
  const origin = request.headers.get('Origin')
  if (origin !== null && !isOwnOrigin(origin, host) && !rules.origins.includes(origin))
    throw forbidden(`pages of the origin ${JSON.stringify(origin)} may not call this server`, namingOrigins)
  const site = request.headers.get('Sec-Fetch-Site')
  const isFromElsewhere = site !== null && site !== 'same-origin' && site !== 'none'
  if (!isFromElsewhere || (origin !== null && rules.origins.includes(origin))) return
  const isOpened = navigable && isRead(request) && request.headers.get('Sec-Fetch-Mode') === 'navigate'
  if (!isOpened) throw forbidden('pages of another site may not call this server', namingOrigins)
}

const namingOrigins = 'Name the origins that may: createServer({ origins: ["https://app.example.com"] }).'

const forbidden = (message: string, hint: string): ReeveError =>
  new ReeveError('request.forbidden', message, { hint: `${hint} Nothing was done.` })

/** The host that a request names, in one form; undefined if it names none, or two. */
function hostOf(request: Request): string | undefined {
  const named = request.headers.get('Host')?.toLowerCase()
  const ofAddress = new URL(request.url).host.toLowerCase()
  const host = (named ?? ofAddress).replace(/\.(?=:|$)/u, '')
  return hostForm.test(host) ? host : undefined
}

function isKnown(host: string, hosts: readonly string[]): boolean {
  const [, name = ''] = hostForm.exec(host) ?? []
  return loopbackNames.includes(name) || hosts.includes(name) || hosts.includes(host)
}

/** A page that this server gave: its host was checked before. */
const isOwnOrigin = (origin: string, host: string): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/** Whether a method changes nothing. */
const isRead = ({ method }: Pick<Request, 'method'>): boolean => method === 'GET' || method === 'HEAD'

/** The header that every change by a cookie must carry: a form of another site cannot set one. */
const changeHeader = 'x-reeve'

/**
 * Refuses a change that a form could have sent: one that a cookie authenticates needs the header. Throws
 * `request.forbidden`.
 */
export function mustNotBeForged(request: Request): void {
  if (isRead(request) || request.headers.get(changeHeader) === '1') return
  throw forbidden(
    `a change that a cookie authenticates needs the header ${changeHeader}: 1`,
    'Send the header, or a bearer token instead of the cookie.',
  )
}

/** The headers of CORS for a named origin; none for any other. */
export function corsHeaders(request: Request, { origins }: GuardRules): Readonly<Record<string, string>> {
  if (origins.length === 0) return {}
  const origin = request.headers.get('Origin')
  return origin !== null && origins.includes(origin)
    ? { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': 'Retry-After', Vary: 'Origin' }
    : { Vary: 'Origin' }
}

/** Request headers that every caller may send. */
const requestHeaders = [
  'authorization',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'tracestate',
  changeHeader,
]

/**
 * The answer to a preflight of a named origin; undefined if the request is none. Cookies are not allowed across sites.
 * `headers`: what may be sent to this path besides.
 */
export function preflight(request: Request, rules: GuardRules, headers: readonly string[]): Response | undefined {
  const isPreflight = request.method === 'OPTIONS' && request.headers.has('Access-Control-Request-Method')
  if (!isPreflight) return undefined
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders(request, rules),
      'Access-Control-Allow-Methods': 'GET, POST, DELETE',
      'Access-Control-Allow-Headers': [...requestHeaders, ...headers].join(', '),
      'Access-Control-Max-Age': '600',
    },
  })
}
