/**
 * Quoting a line of the folder without the secrets in it. Owns: masking. Does not own: finding secrets, which a scanner
 * made for that does better.
 * Holds: it rather masks too much. A report and a journal are read by more people than the file that they quote.
 */

const secretName = String.raw`[\w.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|auth)`
const value = String.raw`[^\s"'\x60,;]{8,400}`

/** Each has the secret as its group `value`. */
const patterns: readonly RegExp[] = [
  new RegExp(String.raw`${secretName}["']?\s*[=:]\s*["'\x60]?(?!\$|[Bb]earer|[Bb]asic)(?<value>${value})`, 'gid'),
  new RegExp(String.raw`(?:${secretName}|\bbearer|\bbasic)["']?\s+["'\x60]?(?=\S*\d)(?!\$)(?<value>${value})`, 'gid'),
  // long runs of letters and digits: keys and tokens, whatever stands before them
  /(?<![\w+=-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])(?<value>[\w+=-]{20,400})/dg,
]
const credentials = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]{1,300}@/gi

/**
 * The first 2,000 characters of a text, with what looks like a secret masked: its first four characters, and its
 * length.
 */
export function withoutSecrets(text: string): string {
  return patterns.reduce(maskedBy, text.slice(0, 2_000).replace(credentials, '$1…@'))
}

function maskedBy(text: string, pattern: RegExp): string {
  let shown = ''
  let at = 0
  for (const { indices } of text.matchAll(pattern)) {
    const [start, end] = indices?.groups?.['value'] ?? [0, 0]
    if (text.slice(start, end).includes('…')) continue
    shown += text.slice(at, start) + mask(text.slice(start, end))
    at = end
  }
  return shown + text.slice(at)
}

/**
 * The first four characters and the length; only the length where four characters would give away more than a third.
 */
export function mask(secret: string): string {
  const characters = [...secret]
  return characters.length < 12 ? `…${characters.length}` : `${characters.slice(0, 4).join('')}…${characters.length}`
}
