/**
 * Sensitive words: which actions an approver must see, by their names (spec team R-17).
 *
 * Owns: the words, the matching of names, the comparison of risks. Pure. Does not own: the consequences
 * (escalation.ts).
 */
import { redactedMark, riskLevels, type RiskLevel } from '@reeve/core'
import { type Escalate } from '@reeve/edge'

/** Both lists that the sources have. */
export const sensitiveWords: readonly string[] = ['publish', 'send', 'send_email', 'delete', 'pay', 'share']

/**
 * The word that makes an action sensitive; undefined if none does. Matching parts of names finds everything that
 * matching whole words finds, so it is never less strict. A text of which redaction has removed a part is sensitive, by
 * the mark that stands there: the part may have been such a word.
 */
export function sensitiveWord(
  action: string | undefined,
  rules: Escalate = {},
  description?: string,
): string | undefined {
  const { sensitive = [], exceptions = [], match = 'substring', scanDescription = false } = rules
  if (sensitive === false) return undefined
  const words = [...sensitiveWords, ...sensitive]
  const looked = [action, scanDescription ? description : undefined]
  for (const text of looked) {
    if (text === undefined || text.trim() === '') continue
    if (text.includes(redactedMark)) return redactedMark
    if (exceptions.some((each) => plain(each) === plain(text))) continue
    const found = words.find((word) => (match !== 'word' && plain(text).includes(plain(word))) || hasWord(text, word))
    if (found !== undefined) return found
  }
  return undefined
}

/** Normalises letters that can be written in several ways. */
const composed = (text: string): string => text.normalize('NFKC')
const plain = (text: string): string => composed(text).toLowerCase()

/** The parts of a name: the same for `sendEmail`, `send_email` and `send-email`. */
const partsOf = (text: string): readonly string[] =>
  composed(text)
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')

/** Whether a name contains a whole word; the parts of a compound word must be adjacent. */
function hasWord(text: string, word: string): boolean {
  const [parts, wanted] = [partsOf(text), partsOf(word)]
  return wanted.length > 0 && parts.some((_, i) => wanted.every((part, k) => parts[i + k] === part))
}

/** The higher of two risks. */
export const worse = (one: RiskLevel, other: RiskLevel): RiskLevel =>
  riskLevels.indexOf(one) >= riskLevels.indexOf(other) ? one : other
