/**
 * What a licence expression asks of those who use the package: reading SPDX expressions and the common spellings before
 * SPDX.
 * Owns: the classes. Does not own: where a licence was read (`dependencies.ts`). This is a sorting aid, not legal
 * advice.
 */
import { isFields, type Fields } from './manifests.ts'

/** From least to most demanding; `other` is a licence this table does not know (it is shown, not judged). */
export type LicenceClass = 'permissive' | 'other' | 'weak-copyleft' | 'strong-copyleft' | 'network-copyleft'

const ranks: readonly LicenceClass[] = ['permissive', 'other', 'weak-copyleft', 'strong-copyleft', 'network-copyleft']

const permissive =
  /^(0BSD|AFL-[\d.]+|Apache-[\d.]+|Apache 2\.0|Apache License 2\.0|Artistic-2\.0|BlueOak-1\.0\.0|BSD|BSD-[1-4]-Clause(-\w+)?|BSL-1\.0|CC0-1\.0|CC-BY-[\d.]+|curl|HPND|ICU|ISC|JSON|Libpng|MIT(-\w+)?|MIT\/X11|MS-PL|NCSA|OFL-1\.1|OpenSSL|PHP-3\.01?|PostgreSQL|PSF-2\.0|Python-2\.0(\.1)?|Ruby|TCL|Unicode-3\.0|Unicode-DFS-\d+|Unicode-TOU|Unlicense|UPL-1\.0|Vim|W3C(-\d+)?|WTFPL|X11|Zlib|ZPL-2\.1|Public Domain)$/i
const network = /\b(AGPL|SSPL|OSL-|EUPL-|RPL-|CPAL-)/i
const weak = /\b(LGPL|MPL|EPL|CDDL|CPL|MS-RL|CECILL-C)\b/i
const strong = /\b(GPL|CECILL|CC-BY-(NC-)?SA|ODbL|Sleepycat|QPL)/i

/** The class of a licence expression: `OR` takes the least demanding side, `AND` the most demanding. */
export function licenceClass(expression: string): LicenceClass {
  const whole = single(expression.trim())
  if (whole === 'permissive') return whole
  const tokens = expression.match(/\(|\)|[^\s()]+/g) ?? []
  return alternatives(tokens) ?? whole
}

/** Reads `A OR B`, eating what it reads; `null` when the text is no SPDX expression. */
function alternatives(tokens: string[]): LicenceClass | null {
  let best = both(tokens)
  while (best !== null && /^OR$/i.test(tokens[0] ?? '')) {
    tokens.shift()
    const next = both(tokens)
    best = next === null ? null : (ranks[Math.min(ranks.indexOf(best), ranks.indexOf(next))] ?? null)
  }
  return tokens.length === 0 || tokens[0] === ')' ? best : null
}

function both(tokens: string[]): LicenceClass | null {
  let worst = one(tokens)
  while (worst !== null && /^AND$/i.test(tokens[0] ?? '')) {
    tokens.shift()
    const next = one(tokens)
    worst = next === null ? null : (ranks[Math.max(ranks.indexOf(worst), ranks.indexOf(next))] ?? null)
  }
  return worst
}

function one(tokens: string[]): LicenceClass | null {
  const token = tokens.shift()
  if (token === undefined || /^(OR|AND|WITH|\))$/i.test(token)) return null
  if (token === '(') {
    const inner = alternatives(tokens)
    return tokens.shift() === ')' ? inner : null
  }
  const found = single(token)
  if (!/^WITH$/i.test(tokens[0] ?? '')) return found
  tokens.shift()
  const exception = tokens.shift() ?? ''
  return found === 'strong-copyleft' && /exception/i.test(exception) ? 'weak-copyleft' : found
}

function single(name: string): LicenceClass {
  if (permissive.test(name)) return 'permissive'
  if (network.test(name)) return 'network-copyleft'
  if (weak.test(name)) return 'weak-copyleft'
  return strong.test(name) ? 'strong-copyleft' : 'other'
}

/** Whether a class asks something of those who pass the package on. */
export function isCopyleft(found: LicenceClass): boolean {
  return found.endsWith('copyleft')
}

/**
 * The licence a package.json states, the old forms included; `null` when it states none. Never guessed from a LICENSE
 * file.
 */
export function statedLicence(json: Fields): string | null {
  const one = named(json['license'])
  if (one !== null) return one
  if (!Array.isArray(json['licenses'])) return named(json['licenses'])
  const all = json['licenses'].map(named).filter((name) => name !== null)
  return all.length === 0 ? null : all.length === 1 ? (all[0] ?? null) : `(${all.join(' OR ')})`
}

function named(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value.trim()
  return isFields(value) && typeof value['type'] === 'string' && value['type'] !== '' ? value['type'] : null
}
