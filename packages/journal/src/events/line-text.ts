/**
 * What sentences about events are made of: names, reasons, lists, amounts, ends. Pure.
 *
 * Owns: how these are said. Does not own: which sentence says what (the rows).
 */
import {
  argumentsLine,
  asText,
  cut,
  describeOutcome,
  isContentRef,
  isObject,
  preview,
  shownParts,
  visible,
  visibleLine,
  type Json,
  type Outcome,
} from '@reeve/core'

const briefCharacters = 120

export const shown = (text: string): string => visibleLine(text)
/** A text that may be long. */
export const brief = (text: string): string => cut(shown(text), briefCharacters)
export const list = (names: readonly string[]): string => names.map(shown).join(', ')
export const by = (name: string | undefined): string => (name === undefined ? '' : ` by ${shown(name)}`)
/** An approver or operator who may have given no name. */
export const person = (name: string | undefined): string => (name === undefined ? 'a human' : shown(name))
/** A reason, behind a colon, if there is one. */
export const why = (reason: string | undefined): string =>
  reason === undefined || reason === '' ? '' : `: ${brief(reason)}`
export const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** The numbers of messages: `mail 3, 4`; above eight, only their count. */
export const mailNumbers = (seqs: readonly number[]): string =>
  seqs.length > 8 ? plural(seqs.length, 'message') : `mail ${seqs.join(', ')}`

/** Amounts in words: `8000 tokens, 0.5 usd`. */
export const amounts = (of: { readonly tokens?: number; readonly usd?: number }): string =>
  (['tokens', 'usd'] as const)
    .flatMap((each) => (of[each] === undefined || of[each] === 0 ? [] : [`${of[each]} ${each}`]))
    .join(', ') || 'nothing'

/** A human completed it in place of an agent. */
export const byHand = (outcome: Outcome): string =>
  outcome.status === 'completed' && outcome.by !== undefined ? `: done by hand (${shown(outcome.by)})` : ''

/** How an operation ended, with the beginning of its output. */
export const ended = (outcome: Outcome): string =>
  outcome.status === 'completed'
    ? `completed${by(outcome.by)}: ${preview(outcome.output)}`
    : shown(describeOutcome(outcome))

/** How an interrupt ended. */
export const answeredText = (outcome: Outcome): string =>
  outcome.status === 'completed'
    ? `answered${outcome.by === undefined ? '' : ` by ${visible(outcome.by)}`}: ${preview(outcome.output)}`
    : shown(describeOutcome(outcome))

/** Whether an effect ended without a result and was not called off. */
export const failedForGood = ({ status }: Outcome): boolean => status === 'failed' || status === 'timed-out'

/** How an effect failed for good, after how many attempts. */
export const lastFailureText = (outcome: Outcome, attempts = 1): string =>
  `${shown(describeOutcome(outcome))}${attempts === 1 ? '' : ` (attempt ${attempts}, the last)`}`

/** Where the whole of a large result is; undefined if it stands in the journal. `output`: of a step. */
export function keptLine(output: Json, agent: string, effect: string): string | undefined {
  const ref = shownParts(output)?.output ?? output
  return isContentRef(ref) ? `${agent}: ${effect} returned ${ref.size} characters, kept as ${ref.$content}` : undefined
}

/** What the provider of a model ran while it answered; undefined if nothing. `output`: of a step. */
export function ranLine(output: Json, agent: string): string | undefined {
  if (!isObject(output) || typeof output['model'] !== 'string' || !Array.isArray(output['ran'])) return undefined
  const calls = (output['ran'] as readonly Json[]).filter(isObject)
  const said = calls.map(({ tool = '', input = null, isError, summary }) => {
    const brought = typeof summary === 'string' ? `: ${isError === true ? 'failed, ' : ''}${brief(summary)}` : ''
    return `${asText(tool)} with ${argumentsLine(input)}${brought}`
  })
  return said.length === 0 ? undefined : `${agent}: the provider of ${output['model']} ran ${said.join('; ')}`
}
