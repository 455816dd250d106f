/**
 * Signatures: keys that stand outside the store, for what is to be believed by somebody who cannot ask the store.
 *
 * Owns: the port, two ready signers, the form of a signed text. Does not own: what is signed (capability.ts, audit.ts),
 * where keys are kept (whoever makes the runtime). The text is a compact JWS (RFC 7515) over canonical JSON: other
 * services verify it with a library of theirs. A key is chosen by its id among those that the reader trusts, and with
 * it the algorithm: what a text says of its own algorithm is only compared.
 */
import { canonical, fromBase64url, isObject, ReeveError, toBase64url, type Json } from '../../core/index.ts'

/** Says whether a signature is right. */
export interface Verifier {
  /** The name of the key: it stands in what is signed. */
  readonly id: string
  /** As JWS names it: `EdDSA`, `HS256`, … */
  readonly alg: string
  verify(bytes: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
}

/** Signs. A key service can stand behind it. */
export interface Signer extends Verifier {
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** A key pair of Ed25519 as a JSON Web Key: `kty` OKP, `crv` Ed25519, `x` the public part, `d` the private one. */
export interface Ed25519Key {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  /** The private part: only who signs needs it. */
  readonly d?: string
}

/**
 * HMAC with SHA-256. Whoever can verify can sign, too: for one party alone. `secret`: at least 32 bytes. Throws
 * `input.invalid` for a shorter one.
 */
export function hmacSigner(secret: string | Uint8Array, id = 'hmac'): Signer {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  if (bytes.length < 32)
    throw new ReeveError('input.invalid', `hmacSigner: the secret has ${bytes.length} bytes, expected at least 32`, {
      hint: 'Make one: crypto.getRandomValues(new Uint8Array(32)).',
    })
  const key = once(() =>
    subtle().importKey('raw', own(bytes), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']),
  )
  return {
    id,
    alg: 'HS256',
    sign: async (text) => new Uint8Array(await subtle().sign('HMAC', await key(), own(text))),
    verify: async (text, signature) => subtle().verify('HMAC', await key(), own(signature), own(text)),
  }
}

/** Ed25519. `key` with its private part. Throws `input.invalid` without. */
export function ed25519Signer(key: Ed25519Key, id = 'ed25519'): Signer {
  if (!isObject(key) || typeof key.d !== 'string')
    throw new ReeveError('input.invalid', 'ed25519Signer: the key has no private part, expected a JSON Web Key with d')
  const { kty, crv, x, d } = key
  const secret = once(() => subtle().importKey('jwk', { kty, crv, x, d }, 'Ed25519', false, ['sign']))
  return {
    ...ed25519Verifier(key, id),
    sign: async (text) => new Uint8Array(await subtle().sign('Ed25519', await secret(), own(text))),
  }
}

/**
 * The public half of Ed25519: it verifies and cannot sign. A private part that is given is not looked at. Throws
 * `input.invalid` for another kind of key.
 */
export function ed25519Verifier(key: Ed25519Key, id = 'ed25519'): Verifier {
  if (!isObject(key) || key.kty !== 'OKP' || key.crv !== 'Ed25519' || typeof key.x !== 'string')
    throw new ReeveError('input.invalid', 'ed25519: expected a JSON Web Key with kty "OKP", crv "Ed25519" and x')
  const { kty, crv, x } = key
  const open = once(() => subtle().importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify']))
  return {
    id,
    alg: 'EdDSA',
    verify: async (text, signature) => subtle().verify('Ed25519', await open(), own(signature), own(text)),
  }
}

/** A new pair of keys. Keep `d` outside the store. */
export async function newEd25519Key(): Promise<Required<Ed25519Key>> {
  const pair = await subtle().generateKey('Ed25519', true, ['sign', 'verify'])
  if (!('privateKey' in pair)) throw new TypeError('expected a pair of keys')
  const { x, d } = await subtle().exportKey('jwk', pair.privateKey)
  return { kty: 'OKP', crv: 'Ed25519', x: x!, d: d! }
}

/**
 * Signs a document: a compact JWS over its canonical JSON. `type` says what it is, so that one kind never passes for
 * another.
 */
export async function signDocument(signer: Signer, type: string, document: Json): Promise<string> {
  const signed = `${encoded(canonical({ alg: signer.alg, kid: signer.id, typ: type }))}.${encoded(canonical(document))}`
  return `${signed}.${toBase64url(await signer.sign(new TextEncoder().encode(signed)))}`
}

/** What came of reading a signed document. */
export type SignedDocument =
  | { readonly ok: true; readonly document: Json; readonly key: string }
  | { readonly ok: false; readonly why: 'malformed' | 'unknown-key' | 'bad-signature' }

/** Reads a signed document of this type, if one of these keys has signed it. Never throws for a bad text. */
export async function readSigned(keys: readonly Verifier[], type: string, text: string): Promise<SignedDocument> {
  const [head = '', body = '', signature = '', ...more] = text.split('.')
  const [header, document, given] = [parsed(head), parsed(body), fromBase64url(signature)]
  const isWhole = more.length === 0 && isObject(header) && document !== undefined && given !== undefined
  // one text for one document: spaces, other orders and unused bits are no other way to write it
  if (
    !isWhole ||
    header['typ'] !== type ||
    encoded(canonical(header)) !== head ||
    encoded(canonical(document)) !== body
  )
    return { ok: false, why: 'malformed' }
  if (toBase64url(given) !== signature) return { ok: false, why: 'malformed' }
  const key = keys.find(({ id, alg }) => id === header['kid'] && alg === header['alg'])
  if (key === undefined) return { ok: false, why: 'unknown-key' }
  const isRight = await Promise.resolve(key.verify(new TextEncoder().encode(`${head}.${body}`), given)).catch(
    () => false,
  )
  return isRight ? { ok: true, document, key: key.id } : { ok: false, why: 'bad-signature' }
}

const encoded = (text: string): string => toBase64url(new TextEncoder().encode(text))

function parsed(text: string): Json | undefined {
  const bytes = fromBase64url(text)
  if (bytes === undefined) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json
  } catch {
    return undefined
  }
}

const subtle = () => globalThis.crypto.subtle

/** Keys are opened when they are needed first, and once. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined
  return () => (opened ??= open())
}

/** A copy that nobody else changes, and that stands alone in its buffer. */
const own = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)
