/**
 * OpenID Connect: principals by the bearer tokens of an identity provider.
 *
 * Owns: `oidc()`: which tokens are taken, what of their claims becomes the principal. Does not own: cryptography (the
 * package jose, an optional peer), sign-in pages (the identity provider).
 * Holds: a token is taken only with a signature by a key of the issuer, by an asymmetric algorithm that is allowed, with
 * `iss`, `aud` and `exp` as they must be, and if it is an access token. The key of a token is never taken from the token.
 * What is wrong with a token or its claims is the caller's (401). No more of a provider's document is read than is needed.
 */
import type * as JoseModule from 'jose'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import {
  choice,
  cut,
  expects,
  functionCheck,
  hasNames,
  interval,
  listOf,
  messageOf,
  mustBeOptions,
  optionProblems,
  optionalPeer,
  refuseProblems,
  required,
  text,
  visible,
  type Checks,
} from '@reeve/core'
import type { Principal, Role } from '../wire.ts'
import { bearerOf, type VerifyRequest } from './authentication.ts'
import { principalProblems } from './principal.ts'

/** The claims of a verified token (RFC 7519). Written here, since the package jose and its types may not be installed. */
export interface TokenClaims {
  readonly iss?: string
  readonly sub?: string
  readonly aud?: string | string[]
  readonly jti?: string
  /** Seconds since 1970, as `nbf` and `iat`. */
  readonly exp?: number
  readonly nbf?: number
  readonly iat?: number
  readonly [claim: string]: unknown
}

/** Public keys of an issuer: a JSON Web Key Set. */
export interface KeySet {
  readonly keys: readonly object[]
}

/** How tokens are verified, and what becomes of their claims. */
export interface OidcOptions {
  /** The issuer, exactly as in the claim `iss`: `https://login.example.com/`. */
  readonly issuer: string
  /** The claim `aud` must be or contain one of these. */
  readonly audience: string | readonly string[]
  /** Its keys: an address, or the keys. Default: the `jwks_uri` of `<issuer>/.well-known/openid-configuration`. */
  readonly jwks?: string | KeySet
  /** The roles by the claims of a verified token. */
  readonly roles: (claims: TokenClaims) => readonly Role[]
  /**
   * The tenant by the claims. Undefined: the token is refused. Null: a principal without a tenant, who sees all runs.
   * Default: nobody has a tenant.
   */
  readonly tenant?: (claims: TokenClaims) => string | null | undefined
  /** The name by the claims, under which decisions are recorded. Undefined: the token is refused. Default: `sub`. */
  readonly name?: (claims: TokenClaims) => string | undefined
  /**
   * What tokens may say of their type (the header `typ`): `['at+jwt']` for a provider that follows RFC 9068. Default: `at+jwt`,
   * `JWT` or nothing, and no token that has the claims of an ID token (`nonce`, `at_hash`, `c_hash`) or of a logout (`events`).
   */
  readonly typ?: readonly string[]
  /** Default: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA. */
  readonly algorithms?: readonly string[]
  /** How far clocks may differ. Milliseconds. Default 30,000. */
  readonly clockToleranceMs?: number
}

/** Asymmetric alone: with a symmetric one, the public key of the issuer would be a valid secret. */
const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

const isText = (given: unknown): boolean => typeof given === 'string' && given !== ''
const isAddress = (given: unknown): boolean => typeof given === 'string' && isSafeAddress(given)

/** Keys are fetched over TLS, or from this machine: whoever can change them on the way can forge every token. */
function isSafeAddress(given: string): boolean {
  const { protocol, hostname } = URL.parse(given) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname ?? ''))
}

const address = 'an https address (http only on this machine)'
const oidcChecks: Checks<OidcOptions> = {
  issuer: required(expects(isAddress, address)),
  audience: required(
    expects(
      (given) => isText(given) || (Array.isArray(given) && given.length > 0 && given.every(isText)),
      'an audience, or a list of them',
    ),
  ),
  jwks: expects((given) => isAddress(given) || hasNames(given), `${address}, or { keys: […] }`),
  roles: required(functionCheck),
  tenant: functionCheck,
  name: functionCheck,
  typ: listOf(text, 'types'),
  algorithms: listOf(choice(...asymmetric), 'algorithms'),
  clockToleranceMs: interval,
}

/**
 * Verifies bearer tokens of an OpenID Connect provider, for `auth` of `createServer`. Needs the package `jose`. Throws
 * `config.invalid` for invalid options. Keys are fetched at the first request, and again for a key that is unknown, at
 * most every 30 seconds.
 */
export function oidc(options: OidcOptions): VerifyRequest {
  mustBeOptions(options, 'oidc', 'config.invalid')
  refuseProblems(
    'config.invalid',
    optionProblems(oidcChecks, options, 'oidc', ({ algorithms, typ }) => [
      Array.isArray(typ) && typ.length === 0 && 'oidc: typ is empty',
      Array.isArray(algorithms) && algorithms.length === 0 && 'oidc: algorithms is empty',
    ]),
  )
  let keys: Promise<JWTVerifyGetKey> | undefined
  const verify = async (request: Request): Promise<Principal | undefined> => {
    const token = bearerOf(request)
    if (token === undefined) return undefined
    const jose = await loadJose()
    keys ??= keysOf(options, jose)
    let key: JWTVerifyGetKey
    try {
      key = await keys
    } catch (thrown) {
      keys = undefined // the provider may answer the next time
      throw thrown
    }
    const claims = await claimsOf(token, key, options, jose)
    return claims === undefined ? undefined : principalOf(claims, options)
  }
  return Object.assign(verify, { via: 'oidc' as const, unguessable: true, until: endOf })
}

/** What is used of the package. */
type Jose = Pick<typeof JoseModule, 'createLocalJWKSet' | 'createRemoteJWKSet' | 'customFetch' | 'jwtVerify' | 'errors'>

const loadJose = (): Promise<Jose> => optionalPeer('jose', 'npm install jose@6')

async function keysOf({ issuer, jwks }: OidcOptions, jose: Jose): Promise<JWTVerifyGetKey> {
  if (jwks !== undefined && typeof jwks !== 'string') return jose.createLocalJWKSet(jwks as JSONWebKeySet)
  return jose.createRemoteJWKSet(new URL(jwks ?? (await discovered(issuer))), {
    [jose.customFetch]: async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
      return new Response(await boundedText(response, url), { status: response.status })
    },
  })
}

/** The largest document of a provider that is read, in bytes. */
const largestDocument = 1_000_000

/** The text of a response; of a larger one no more than that is read. Its time is bounded by the signal of the request. */
async function boundedText(response: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += (piece as Uint8Array).length
    if (bytes > largestDocument) throw new Error(`${url} answered more than ${largestDocument} bytes`)
    pieces.push(piece as Uint8Array)
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}

/** The address of the issuer's keys (OpenID Connect Discovery 1.0, section 4). */
async function discovered(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(5_000) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const document: unknown = JSON.parse(await boundedText(response, url))
  const member = (name: string): unknown =>
    hasNames(document) && Object.hasOwn(document, name) ? Reflect.get(document, name) : undefined
  if (member('issuer') !== issuer) throw new Error(`${url} names another issuer than ${issuer}`)
  const keys = member('jwks_uri')
  if (!isAddress(keys)) throw new Error(`${url} names no safe jwks_uri`)
  return keys as string
}

/** The claims of a valid token; undefined if the token is not valid. Throws if the keys cannot be fetched. */
async function claimsOf(
  token: string,
  key: JWTVerifyGetKey,
  { issuer, audience, typ, algorithms = asymmetric, clockToleranceMs = 30_000 }: OidcOptions,
  { jwtVerify, errors }: Jose,
): Promise<TokenClaims | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, key, {
      issuer,
      audience: typeof audience === 'string' ? audience : [...audience],
      algorithms: [...algorithms],
      clockTolerance: clockToleranceMs / 1_000,
      requiredClaims: ['exp', 'sub'],
    })
    const isFromTomorrow = payload.iat !== undefined && payload.iat * 1_000 > Date.now() + clockToleranceMs
    return isFromTomorrow || !isAccessToken(protectedHeader.typ, payload, typ) ? undefined : payload
  } catch (thrown) {
    const isOfToken =
      thrown instanceof errors.JOSEError &&
      !(thrown instanceof errors.JWKSTimeout) &&
      !(thrown instanceof errors.JWKSInvalid) &&
      thrown.code !== 'ERR_JOSE_GENERIC'
    if (isOfToken) return undefined
    throw thrown
  }
}

/** Claims that access tokens do not have: those of ID tokens, and of logout and other events. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 'events']

/** Whether a token is one that gives access (RFC 8725, 3.11). `typ` is compared as a media type: RFC 7515, 4.1.9. */
function isAccessToken(given: string | undefined, claims: TokenClaims, allowed: OidcOptions['typ']): boolean {
  const plain = (typ: string): string => typ.toLowerCase().replace(/^application\//, '')
  const type = given === undefined ? undefined : plain(given)
  if (allowed !== undefined) return type !== undefined && allowed.some((each) => plain(each) === type)
  if (type === 'at+jwt') return true
  return (type === undefined || type === 'jwt') && !foreignClaims.some((name) => Object.hasOwn(claims, name))
}

/** The principal of a token; undefined where its claims make none. Code that throws had claims that it did not expect. */
function principalOf(claims: TokenClaims, { roles, tenant, name }: OidcOptions): Principal | undefined {
  if (typeof claims.sub !== 'string' || claims.sub === '') return undefined
  let principal: unknown
  try {
    const called = name === undefined ? claims.sub : name(claims)
    const of = tenant === undefined ? null : tenant(claims)
    if (called === undefined || of === undefined) return undefined
    principal = { name: called, roles: roles(claims), ...(of === null ? undefined : { tenant: of }) }
  } catch (thrown) {
    warn(messageOf(thrown))
    return undefined
  }
  const [problem] = principalProblems(principal, 'the principal')
  if (problem === undefined) return principal as Principal
  warn(problem)
  return undefined
}

/** Problems that were told: a claim may hold anything, and each caller may send many. */
const warned = new Set<string>()
const mostWarnings = 10

/** The operator is told of claims that make no principal: the options may not fit the provider. */
function warn(problem: string): void {
  const said = cut(visible(problem), 300)
  if (warned.has(said) || warned.size >= mostWarnings) return
  warned.add(said)
  process.emitWarning(`oidc: a valid token was refused: ${said}`)
}

/** When a token ends, of one that was verified. */
function endOf(request: Request): number | undefined {
  const payload = bearerOf(request)?.split('.')[1]
  if (payload === undefined) return undefined
  const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenClaims
  return exp === undefined ? undefined : exp * 1_000
}
