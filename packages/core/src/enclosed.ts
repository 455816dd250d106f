/**
 * Enclosed: text of others inside a prompt, between tags that it cannot close.
 *
 * Owns: the tags. Pure: the same text has the same tags, so a replay asks the same. Does not own: what is enclosed.
 * Holds: the number in the tags is a digest of the text between them: no text can be written that holds its own.
 */
import { digest } from './hash.ts'

/** The text between tags of this name. */
export function enclosed(name: string, text: string): string {
  const tag = `${name}-${digest(`${name}\0${text}`).slice(0, 16)}`
  return `<${tag}>\n${text}\n</${tag}>`
}
