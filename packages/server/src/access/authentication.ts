/**
 * Authentication: the principal behind a credential.
 *
 * Owns: the `auth` option, bearer tokens, the call of a verify function. Does not own: cookies (session.ts), OpenID
 * Connect (oidc.ts), what a principal may do (principal.ts).
 * Holds: a token is compared by its hash, in the same time whether it is known or not. What a verify function returns
 * is checked; if it fails, nobody is let in.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  expects,
  hasNames,
  isFunction,
  messageOf,
  object,
  ReeveError,
  required,
  systemClock,
  type Check,
} from '@reeve/core'
import type { Me, Principal } from '../wire.ts'
import { asPrincipal, principalProblems } from './principal.ts'

/**
 * Finds out who makes a request: the principal, or undefined for an unknown caller (401). If it throws, or does not
 * answer within 10 seconds, the request is answered with 503. `via` says how it finds out; default `bearer`.
 */
export interface VerifyRequest {
  (request: Request): Principal | undefined | Promise<Principal | undefined>
  readonly via?: Exclude<Me['via'], 'cookie'>
  /**
   * Credentials are random or signed: nobody finds one by trying. Then a valid one is let in however many wrong ones came
   * from its address. True of bearer tokens and of `oidc`. Default false: of an address that has sent too many wrong ones,
   * only credentials that were right before are looked at.
   */
  readonly unguessable?: boolean
  /** When the credential of a request that was let in ends, in milliseconds since 1970: no cookie outlives it. */
  readonly until?: (request: Request) => number | undefined
}

/** Principals by their bearer tokens: secrets of at least 24 characters, for example `openssl rand -base64 32`. */
export interface BearerTokens {
  readonly tokens: Readonly<Record<string, Principal>>
}

/** Who may use a server: principals by bearer token, or a function that verifies a request, such as `oidc({ … })`. */
export type Auth = BearerTokens | VerifyRequest

/** Who makes a request, and how they proved it. */
export interface Authenticated {
  readonly principal: Principal
  readonly via: Me['via']
  /** When the credential ends, in milliseconds since 1970. */
  readonly until?: number
}

const shortestToken = 24

const tokenTable = expects(hasNames, 'an object: { token: principal }')
/** A token is a secret: the sentence names its place, never the token. */
const tokensCheck: Check = (given, where) => [
  ...tokenTable(given, where),
  ...(hasNames(given) ? Object.entries(given) : []).flatMap(([token, principal], i) => [
    ...(token.length < shortestToken
      ? [
          `${where}: token ${i + 1} has ${token.length} characters, expected at least ${shortestToken}; draw one: openssl rand -hex 32`,
        ]
      : []),
    ...(/^[\x21-\x7e]*$/.test(token) ? [] : [`${where}: token ${i + 1} is not printable ASCII without spaces`]),
    ...principalProblems(principal, `${where}: the principal of token ${i + 1}`),
  ]),
]

const bearerCheck = object<BearerTokens>({ tokens: required(tokensCheck) })

/** The check of the option `auth`. */
export const authCheck: Check = (given, where) => (isFunction(given) ? [] : bearerCheck(given, where))

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The verify function of bearer tokens. */
export function bearerTokens(
  { tokens }: BearerTokens,
  via: NonNullable<VerifyRequest['via']> = 'bearer',
): VerifyRequest {
  const known = Object.entries(tokens).map(([token, principal]) => ({
    hash: hash(token),
    principal: asPrincipal(principal),
  }))
  const verify = (request: Request): Principal | undefined => {
    const token = bearerOf(request)
    if (token === undefined) return undefined
    const given = hash(token)
    let found: Principal | undefined
    // every one is compared: how long it takes says nothing of which one it is
    for (const each of known) if (timingSafeEqual(each.hash, given)) found = each.principal
    return found
  }
  return Object.assign(verify, { via, unguessable: true })
}

/** The bearer token of a request. */
export const bearerOf = (request: Request): string | undefined =>
  /^Bearer +(\S+) *$/iu.exec(request.headers.get('Authorization') ?? '')?.[1]

/** How long a verify function may take. Milliseconds. */
const verifyTimeoutMs = 10_000

/** Asks a verify function. Throws `hook.failed` if it throws, is late, or returns no principal. */
export async function authenticate(verify: VerifyRequest, request: Request): Promise<Authenticated | undefined> {
  let given: unknown
  try {
    given = await inTime(verify(request))
  } catch (thrown) {
    throw failed(`auth failed: ${messageOf(thrown)}`, thrown)
  }
  if (given === undefined || given === null) return undefined
  const problems = principalProblems(given, 'auth: the principal')
  if (problems.length > 0) throw failed(problems.join('; '))
  const until = verify.until?.(request)
  return {
    principal: asPrincipal(given),
    via: verify.via ?? 'bearer',
    ...(until === undefined ? undefined : { until }),
  }
}

function inTime<T>(asked: T | Promise<T>): T | Promise<T> {
  if (!(asked instanceof Promise)) return asked
  let callOff = (): void => {}
  const late = new Promise<never>((_resolve, reject) => {
    callOff = systemClock.timer(systemClock.now() + verifyTimeoutMs, () =>
      reject(new Error(`no answer within ${verifyTimeoutMs} ms`)),
    )
  })
  return Promise.race([asked, late]).finally(() => callOff())
}

const failed = (message: string, cause?: unknown): ReeveError =>
  new ReeveError('hook.failed', message, {
    hint: 'Correct the function that `auth` of createServer was given. The request was refused.',
    retryable: true,
    cause,
  })
