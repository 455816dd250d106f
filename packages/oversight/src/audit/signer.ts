/**
 * Signatures: documents that a reader without access to the store can verify.
 *
 * Owns: the port of signers, two implementations, the form of a signed document. Does not own: what is signed
 * (capability.ts, audit.ts), storing keys (the application).
 * Holds: a signed document is a compact JWS (RFC 7515) over canonical JSON, which libraries of every language verify.
 * The reader picks a trusted key by its id, and with it the algorithm; the document's own algorithm is only compared.
 */
import { canonical, fromBase64url, isObject, ReeveError, toBase64url, type Json } from '@reeve/core'

/** Verifies signatures. */
export interface Verifier {
  /** The id of the key, part of every signed document. */
  readonly id: string
  /** The JWS algorithm: `EdDSA`, `HS256`, … */
  readonly alg: string
  verify(bytes: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
}

/** Signs documents, for example with a key service. */
export interface Signer extends Verifier {
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** A key pair of Ed25519 as a JSON Web Key: `kty` OKP, `crv` Ed25519, `x` the public part, `d` the private one. */
export interface Ed25519Key {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  /** The private part, needed only for signing. */
  readonly d?: string
}

/**
 * A signer with HMAC-SHA-256. Every verifier can also sign, so use it within one party. `secret`: at least 32 bytes;
 * throws `input.invalid` for a shorter one.
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

/** A signer with Ed25519. Throws `input.invalid` for a key without its private part. */
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
 * A verifier with Ed25519, which cannot sign. Ignores a private part. Throws `input.invalid` for another kind of key.
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

/** Creates a key pair. Keep `d` outside the store. */
export async function newEd25519Key(): Promise<Required<Ed25519Key>> {
  const pair = await subtle().generateKey('Ed25519', true, ['sign', 'verify'])
  if (!('privateKey' in pair)) throw new TypeError('expected a pair of keys')
  const { x, d } = await subtle().exportKey('jwk', pair.privateKey)
  return { kty: 'OKP', crv: 'Ed25519', x: x!, d: d! }
}

/**
 * Signs a document as a compact JWS over its canonical JSON. `type` prevents a document of one kind from passing as
 * another.
 */
export async function signDocument(signer: Signer, type: string, document: Json): Promise<string> {
  const signed = `${encoded(canonical({ alg: signer.alg, kid: signer.id, typ: type }))}.${encoded(canonical(document))}`
  return `${signed}.${toBase64url(await signer.sign(new TextEncoder().encode(signed)))}`
}

/** The result of reading a signed document. */
export type SignedDocument =
  | { readonly ok: true; readonly document: Json; readonly key: string }
  | { readonly ok: false; readonly why: 'malformed' | 'unknown-key' | 'bad-signature' }

/** Reads a document of this type that one of these keys signed. Never throws for an invalid text. */
export async function readSigned(keys: readonly Verifier[], type: string, text: string): Promise<SignedDocument> {
  const [head = '', body = '', signature = '', ...more] = text.split('.')
  const [header, document, given] = [parsed(head), parsed(body), fromBase64url(signature)]
  const isWhole = more.length === 0 && isObject(header) && document !== undefined && given !== undefined
  // one document has exactly one text: other spacing, member orders or unused bits are refused
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

/** Imports a key on first use, once. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined
  return () => (opened ??= open())
}

/** A private copy in a buffer of its own, as WebCrypto requires. */
const own = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)
