/**
 * Filters: what of the results an answer is made of (spec team 1.11, R-11). Separate steps, each of which may be
 * switched off. Pure.
 *
 * Owns: when a result is left out, and which lines of one are. Does not own: the switches (options.ts), what is made of
 * the rest (synthesis.ts).
 */
import { asText, canonical, type Json, type TaskResult } from '@reeve/core'
import { wordsIn } from '../learn/similarity.ts'
import type { SynthesisOptions } from './options.ts'

/** Why a result is no part of an answer. */
export type DropReason = 'not-succeeded' | 'empty' | 'duplicate' | 'near-duplicate' | 'uninformative'

/** A result that is left out, and why. */
export interface Dropped {
  readonly task: string
  readonly reason: DropReason
}

/** What is left of the results, and what is not. */
export interface Filtered<R extends TaskResult> {
  /** In the order in which they were. `output` is without the lines that say nothing. */
  readonly usable: readonly R[]
  readonly dropped: readonly Dropped[]
}

/** Defaults (spec team 1.11). */
const similarAboveByDefault = 0.92
const shortLine = 200

/** Leaves out what is nothing, or nothing new. */
export function filtered<R extends TaskResult>(results: readonly R[], options: SynthesisOptions = {}): Filtered<R> {
  const { dedupe = true, similarAbove = similarAboveByDefault, dropUninformative = true } = options
  const dropped: Dropped[] = []
  let rest: readonly R[] = results
  const drop = (reason: DropReason, found: readonly R[]): void => {
    dropped.push(...found.map(({ task }) => ({ task, reason })))
    rest = rest.filter((each) => !found.includes(each))
  }
  drop('not-succeeded', rest.filter(({ status }) => status !== 'succeeded')) // prettier-ignore
  drop('empty', rest.filter(({ output }) => isEmpty(output))) // prettier-ignore
  if (dedupe) {
    drop('duplicate', duplicates(rest))
    drop('near-duplicate', nearDuplicates(rest, similarAbove))
  }
  if (!dropUninformative) return { usable: rest, dropped }
  const informative = new Map(rest.map((each) => [each, withoutEmptyTalk(each.output ?? null)]))
  drop('uninformative', rest.filter((each) => isEmpty(informative.get(each)))) // prettier-ignore
  return { usable: rest.map((each) => ({ ...each, output: informative.get(each) ?? null })), dropped }
}

/** Whether an output says nothing at all. */
export const isEmpty = (output: Json | undefined): boolean =>
  output === undefined || output === null || (typeof output === 'string' && output.trim() === '')

/** An output as it is compared: a text as it is, JSON with its names in order. */
const comparable = ({ output = null }: TaskResult): string => (typeof output === 'string' ? output : canonical(output))

/** Those that say exactly what one before them says, but for case and white space around it. */
function duplicates<R extends TaskResult>(results: readonly R[]): readonly R[] {
  const seen = new Set<string>()
  return results.filter((each) => {
    const text = comparable(each).trim().toLowerCase()
    if (seen.has(text)) return true
    seen.add(text)
    return false
  })
}

/** Those whose words are, by more than `above`, the words of one before them that is kept. Exactly `above` is kept. */
function nearDuplicates<R extends TaskResult>(results: readonly R[], above: number): readonly R[] {
  const kept: ReadonlySet<string>[] = []
  return results.filter((each) => {
    const words = new Set(wordsIn(comparable(each)))
    if (kept.some((before) => isAlike(words, before, above))) return true
    kept.push(words)
    return false
  })
}

/**
 * Whether the words that two sets have in common are more than this part of all their words. Looks no further than it
 * must.
 */
function isAlike(one: ReadonlySet<string>, other: ReadonlySet<string>, above: number): boolean {
  const [small, large] = one.size <= other.size ? [one, other] : [other, one]
  let common = small.size
  const isMore = (): boolean => common / (small.size + large.size - common) > above
  if (!isMore()) return false // also where neither has a word
  for (const word of small) {
    if (large.has(word)) continue
    common--
    if (!isMore()) return false
  }
  return true
}

const verbs = 'access|find|retrieve|fetch|open|load|reach|locate|obtain|determine|read|view|browse|verify|answer'
const known = 'info|information|data|details?|results?|sources?|answers?|matches|records?'
const subject = `${known}|page|site|website|link|url|article|document|file|content`
const notBe =
  "(?:is|are|was|were) not|(?:isn|aren|wasn|weren)['’]t|(?:cannot|can not|can['’]t|could not|couldn['’]t) be"
const be = 'is|are|was|were|could be|can be|has been|have been'
/** How a line begins that is about its author: a bullet, an apology, `I` and `we`. */
const opening =
  "^[^\\p{L}\\p{N}]*(?:(?:sorry|unfortunately|apologies|regrettably|however)[^\\p{L}]+(?:but )?)*(?:(?:i|we)(?:['’](?:m|re)| am| are| was| were)? )?(?:currently |still )?"
/**
 * Phrases that say that there is no result. What is said of others (`small firms are unable to obtain credit`) is a
 * result.
 */
const emptyTalk: readonly RegExp[] = [
  `${opening}(?:unable|not able) to (?:${verbs})\\b`,
  `${opening}(?:cannot|can not|can['’]t|could not|couldn['’]t) (?:${verbs})\\b`,
  `${opening}(?:do not|don['’]t|did not|didn['’]t) (?:have (?:\\p{L}+ ){0,2}(?:access|${known})\\b|find any)`,
  `${opening}(?:there (?:${be}) )?(?:no|not any) (?:\\p{L}+ )?(?:${known})(?:[^\\p{L}\\p{N}]*$| (?:(?:${be}) )?(?:found|available|provided|given|known|returned|accessible)\\b)`,
  `${opening}(?:there (?:${be}) )?no (?:\\p{L}+ )?(?:info|information|details) (?:on|about|regarding|concerning|for)\\b`,
  `${opening}(?:nothing (?:was )?found|access (?:(?:is|was) )?denied|not found|n/a)[^\\p{L}\\p{N}]*$`,
  `\\b(?:${subject}) (?:${notBe}) (?:\\p{L}+ )?(?:accessed|found|retrieved|loaded|opened|reached|available|accessible)\\b`,
  `\\b(?:${subject}) (?:is|are|was|were) (?:currently )?(?:unavailable|inaccessible)\\b`,
].map((phrase) => new RegExp(phrase, 'u'))
/** What makes a line worth keeping, whatever it says: figures, prices, addresses. */
const informing = /[:$%]|http|\d{2}/iu

/** Whether a line says only that there is no information. */
export function isUninformative(line: string): boolean {
  if ([...line].length >= shortLine || informing.test(line)) return false
  const said = line.toLowerCase()
  return emptyTalk.some((phrase) => phrase.test(said))
}

/** Whether this is JSON, or begins as if it were. */
export const looksLikeJson = (output: Json): boolean => typeof output !== 'string' || /^\s*[{[]/u.test(output)

/**
 * An output without the lines that say that there is no information. JSON, and what stands in a fence of code, is left
 * as it is.
 */
export function withoutEmptyTalk(output: Json): Json {
  if (looksLikeJson(output)) return output
  let fenced = false
  const lines = asText(output).split('\n')
  const kept = lines.filter((line) => {
    if (/^\s*(?:```|~~~)/u.test(line)) fenced = !fenced
    return fenced || !isUninformative(line.trim())
  })
  return kept.length === lines.length ? output : kept.join('\n')
}
