/**
 * OpenID Connect: principals by the bearer tokens of an identity provider.
 *
 * Owns: `oidc()`: which tokens are taken, what of their claims becomes the principal. Does not own: cryptography (the
 * package jose, an optional peer), sign-in pages (the identity provider).
 * Holds: a token is taken only with a signature by a key of the issuer, by an asymmetric algorithm that is allowed, with
 * `iss`, `aud` and `exp` as they must be. The key of a token is never taken from the token.
 */
import type * as JoseModule from 'jose'
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import {
  choice,
  expects,
  functionCheck,
  hasNames,
  interval,
  listOf,
  mustBeOptions,
  optionProblems,
  ReeveError,
  refuseProblems,
  required,
  type Checks,
} from '../../core/index.ts'
import type { Principal, Role } from '../wire.ts'
import { bearerOf, type VerifyRequest } from './authentication.ts'

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
    optionProblems(oidcChecks, options, 'oidc', ({ algorithms }) => [
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
type Jose = Pick<typeof JoseModule, 'createLocalJWKSet' | 'createRemoteJWKSet' | 'jwtVerify' | 'errors'>

async function loadJose(): Promise<Jose> {
  try {
    return await import('jose')
  } catch (thrown) {
    throw new ReeveError('config.invalid', 'oidc() needs the package jose, which is not installed', {
      hint: 'Install it: npm install jose@6',
      cause: thrown,
    })
  }
}

async function keysOf({ issuer, jwks }: OidcOptions, jose: Jose): Promise<JWTVerifyGetKey> {
  if (jwks !== undefined && typeof jwks !== 'string') return jose.createLocalJWKSet(jwks as JSONWebKeySet)
  return jose.createRemoteJWKSet(new URL(jwks ?? (await discovered(issuer))))
}

/** The largest discovery document that is read, in characters. */
const largestDocument = 1_000_000

/** The address of the issuer's keys (OpenID Connect Discovery 1.0, section 4). */
async function discovered(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(5_000) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  const said = await response.text()
  const document: unknown = said.length > largestDocument ? undefined : JSON.parse(said)
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
  { issuer, audience, algorithms = asymmetric, clockToleranceMs = 30_000 }: OidcOptions,
  { jwtVerify, errors }: Jose,
): Promise<TokenClaims | undefined> {
  try {
    const { payload } = await jwtVerify(token, key, {
      issuer,
      audience: typeof audience === 'string' ? audience : [...audience],
      algorithms: [...algorithms],
      clockTolerance: clockToleranceMs / 1_000,
      requiredClaims: ['exp', 'sub'],
    })
    return payload
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

function principalOf(claims: TokenClaims, { roles, tenant, name }: OidcOptions): Principal | undefined {
  const called = name === undefined ? claims.sub : name(claims)
  const of = tenant === undefined ? null : tenant(claims)
  if (called === undefined || of === undefined) return undefined
  return { name: called, roles: roles(claims), ...(of === null ? undefined : { tenant: of }) }
}

/** When a token ends, of one that was verified. */
function endOf(request: Request): number | undefined {
  const payload = bearerOf(request)?.split('.')[1]
  if (payload === undefined) return undefined
  const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenClaims
  return exp === undefined ? undefined : exp * 1_000
}
