/** Signers: what they sign is read by their keys and by no other, however it is changed. */
import { describe, expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '@reeve/core'
import { jwtVerify } from './jws.ts'
import { ed25519Signer, ed25519Verifier, hmacSigner, newEd25519Key, readSigned, signDocument } from '../src/index.ts'

const secret = 'a secret of more than thirty-two bytes'
const document = { b: [1, 'ü', null], a: { z: 1, y: 'x' } }

describe('signers', () => {
  test('a document is read by the key that signed it, with its members in any order', async () => {
    const key = await newEd25519Key()
    for (const [signer, keys] of [
      [hmacSigner(secret, 'h'), [hmacSigner(secret, 'h')]],
      [
        ed25519Signer(key, 'e'),
        [hmacSigner(secret, 'h'), ed25519Verifier({ kty: 'OKP', crv: 'Ed25519', x: key.x }, 'e')],
      ],
    ] as const) {
      const text = await signDocument(signer, 'a-type', document)
      expect(text).toBe(await signDocument(signer, 'a-type', { a: { y: 'x', z: 1 }, b: document.b }))
      expect(await readSigned(keys, 'a-type', text)).toEqual({ ok: true, document, key: signer.id })
      expect(await readSigned(keys, 'another-type', text)).toEqual({ ok: false, why: 'malformed' })
    }
  })
  test('another key, another algorithm under the same id, another secret: not read', async () => {
    const [key, other] = [await newEd25519Key(), await newEd25519Key()]
    const text = await signDocument(ed25519Signer(key, 'k'), 't', document)
    expect(await readSigned([], 't', text)).toEqual({ ok: false, why: 'unknown-key' })
    expect(await readSigned([ed25519Verifier(other, 'k')], 't', text)).toEqual({ ok: false, why: 'bad-signature' })
    expect(await readSigned([hmacSigner(secret, 'k')], 't', text)).toEqual({ ok: false, why: 'unknown-key' })
    // the public part of a key pair as the secret of a text that says HS256: the trick that chooses an algorithm by
    // what a text says of itself
    const forged = await signDocument(hmacSigner(key.x.padEnd(40, 'A'), 'k'), 't', document)
    expect(await readSigned([ed25519Verifier(key, 'k')], 't', forged)).toEqual({ ok: false, why: 'unknown-key' })
  })
  test('no byte of the text may be another', async () => {
    const signer = hmacSigner(secret)
    const text = await signDocument(signer, 't', { a: 1 })
    for (let i = 0; i < text.length; i++) {
      const changed = `${text.slice(0, i)}${text[i] === 'A' ? 'B' : 'A'}${text.slice(i + 1)}`
      expect(await readSigned([signer], 't', changed), `at ${i}`).toMatchObject({ ok: false })
    }
    for (const bad of ['', '..', text.slice(0, -1), `${text}A`, `${text}=`, `${text}.x`, ` ${text}`, 'a.b.c'])
      expect(await readSigned([signer], 't', bad), bad).toMatchObject({ ok: false })
  })
  test('it is a JWS: node:crypto alone verifies it', async () => {
    const key = await newEd25519Key()
    const text = await signDocument(ed25519Signer(key), 't', document)
    expect(jwtVerify(text, key)).toEqual({ header: { alg: 'EdDSA', kid: 'ed25519', typ: 't' }, payload: document })
  })
  test('a short secret and a key without its private part are refused', () => {
    expect(() => hmacSigner('too short')).toThrow(/at least 32/)
    expect(() => ed25519Signer({ kty: 'OKP', crv: 'Ed25519', x: 'x' })).toThrow(/private part/)
    expect(() => ed25519Verifier({ kty: 'RSA' } as never)).toThrow(/OKP/)
  })
  test('base64url there and back', () => {
    for (let n = 0; n < 40; n++) {
      const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 89 + n * 7) % 256)
      expect(fromBase64url(toBase64url(bytes))).toEqual(bytes)
      expect(toBase64url(bytes)).toBe(Buffer.from(bytes).toString('base64url'))
    }
    for (const bad of ['a b', 'a=', 'a+b/', 'ü', 'a']) expect(fromBase64url(bad), bad).toBeUndefined()
  })
})
