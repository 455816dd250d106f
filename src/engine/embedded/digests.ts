/**
 * Digests as Node makes them: SHA-256, and content keys.
 *
 * Owns: with what content keys are made, and how those of one secret are told from those of another. Does not own: of what they are made (../../journal/content-key.ts, whoever begins an operation).
 */
import { createHmac, hash, randomBytes } from 'node:crypto'
import { redactor, type Redaction, type Sha256 } from '../../core/index.ts'
import { writtenKey } from '../../journal/index.ts'
import type { Digests } from '../host.ts'

/** SHA-256 of a text, as hexadecimal digits. */
export const sha256: Sha256 = (text) => hash('sha256', text)

/** Of a process whose rules have none. Nowhere recorded: what is made with it is worth nothing to whoever has the store, and compares with nothing of another process. */
const ownSecret = randomBytes(32)

/** Under these rules of redaction. With rules that take something out, or a secret, content keys are HMACs. */
export function digestsOf(rules: Redaction | undefined): Digests {
  if (rules?.secret === undefined && redactor(rules) === undefined) return { sha256, keyOf: (content) => writtenKey(sha256(content)) }
  const secret = rules?.secret ?? ownSecret
  const keyed: Sha256 = (text) => createHmac('sha256', secret).update(text).digest('hex')
  // a text that is no JSON, and so no content
  const scheme = `hmac-1-${keyed('the secret of content keys').slice(0, 8)}`
  return { sha256, keyOf: (content) => writtenKey(keyed(content), scheme) }
}
