/** Reads a JWS as a service would that knows nothing of Reeve: with node:crypto alone. */
import { createPublicKey, verify } from 'node:crypto'
import type { Ed25519Key } from '../src/index.ts'

const parsed = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))

export function jwtVerify(text: string, { kty, crv, x }: Ed25519Key): { header: unknown; payload: unknown } {
  const [header = '', payload = '', signature = ''] = text.split('.')
  const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
  if (!verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')))
    throw new Error('bad signature')
  return { header: parsed(header), payload: parsed(payload) }
}
