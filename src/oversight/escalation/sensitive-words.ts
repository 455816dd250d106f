/**
 * Sensitive actions: which ones a human has to see, by their names (spec team R-17).
 *
 * Owns: the words, how a name is looked at, that risk is only ever raised. Pure. Does not own: what follows from it
 * (escalation.ts).
 */
import { riskLevels, type Escalate, type RiskLevel } from '../../edge/index.ts'

/** Both lists that the sources have. */
export const sensitiveWords: readonly string[] = ['publish', 'send', 'send_email', 'delete', 'pay', 'share']

/**
 * The word for which an action is sensitive; undefined if it is not. A name that says nothing is not. Looking for parts
 * of names sees all that looking for words does, so it is never the looser one.
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
    if (exceptions.some((each) => plain(each) === plain(text))) continue
    const found = words.find((word) => (match !== 'word' && plain(text).includes(plain(word))) || hasWord(text, word))
    if (found !== undefined) return found
  }
  return undefined
}

/** One letter may be written in many ways, and is one letter. */
const composed = (text: string): string => text.normalize('NFKC')
const plain = (text: string): string => composed(text).toLowerCase()

/** The parts of a name: `sendEmail`, `send_email` and `send-email` have the same. */
const partsOf = (text: string): readonly string[] =>
  composed(text)
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')

/** Whether a name has a word as a whole; a word of several parts has to stand there in a row. */
function hasWord(text: string, word: string): boolean {
  const [parts, wanted] = [partsOf(text), partsOf(word)]
  return wanted.length > 0 && parts.some((_, i) => wanted.every((part, k) => parts[i + k] === part))
}

/** The worse of two risks. */
export const worse = (one: RiskLevel, other: RiskLevel): RiskLevel =>
  riskLevels.indexOf(one) >= riskLevels.indexOf(other) ? one : other
