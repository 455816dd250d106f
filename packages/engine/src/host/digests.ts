/**
 * Digests as Node makes them: SHA-256, and content keys.
 *
 * Owns: with what content keys are made, and how those of one secret are told from those of another. Does not own: of
 * what they are made (../../journal/content-key.ts, the code that begins an operation).
 */
import { createHmac, createSecretKey, hash, randomBytes } from 'node:crypto'
import { redactor, type Redaction, type Sha256 } from '@reeve/core'
import { writtenKey } from '@reeve/journal'
import type { Digests } from '../replay/activation-host.ts'

/** SHA-256 of a text, as hexadecimal digits. */
export const sha256: Sha256 = (text) => hash('sha256', text)

/**
 * The key of a process whose rules have none. It is not recorded: digests made with it tell nothing to a reader of the
 * store, and compares with nothing of another process. A key object, since a digest with plain bytes takes several
 * times as long.
 */
const ownSecret = createSecretKey(randomBytes(32))

/** Under these rules of redaction. With rules that take something out, or a secret, content keys are HMACs. */
export function digestsOf(rules: Redaction | undefined): Digests {
  if (rules?.secret === undefined && redactor(rules) === undefined)
    return { sha256, keyOf: (content) => writtenKey(hash('sha256', content, 'base64url')) }
  const secret = rules?.secret === undefined ? ownSecret : createSecretKey(rules.secret, 'utf8')
  const keyed = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url')
  // a text that is no content: contents begin with their kind
  const scheme = `hmac-1-${keyed('the secret of content keys').slice(0, 6)}`
  return { sha256, keyOf: (content) => writtenKey(keyed(content), scheme) }
}
