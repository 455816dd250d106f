/**
 * Output cap: the most tokens that one answer may have, and what a budget sets aside for it.
 *
 * Owns: when a budget caps an answer, and at what. Does not own: the limits of models (model/output-limits.ts), the
 * account (the engine), what follows an answer that hit the cap (answer-end.ts).
 * Holds: K3: it follows from the limits of the edge and from what the agent's own recorded answers used.
 */
import type { CallUsage } from '@reeve/core'
import type { Limits } from '@reeve/edge'
import type { Charge } from '@reeve/journal'
import {
  leastCostOf,
  leastOutputLimit,
  outputLimitOf,
  type Model,
  type ModelPrice,
  type ModelSettings,
} from '@reeve/model'

/** The cap of one answer. */
export interface OutputCap {
  /** Absent: none is sent, and the model's own limit holds. */
  readonly tokens?: number
  /** A limit in tokens or dollars leaves no room for more. */
  readonly byBudget?: true
}

/** What is set aside for the output of a call of which it is not known how long its answer will be, in tokens. */
const usualOutput = 4_096

/** What is known before a call. */
export interface CapInput {
  readonly model: Pick<Model, 'id' | 'settingLimits'>
  /** What the model costs, if that is known. */
  readonly price: ModelPrice | undefined
  readonly settings: ModelSettings | undefined
  readonly limits: Limits | undefined
  /** The estimated tokens of the prompt. */
  readonly input: number
  /** What the answers of this agent used so far. */
  readonly spent: { readonly tokens: number; readonly usd: number }
}

/**
 * The cap of one answer. What the settings say holds. A budget caps an answer only where it has less left than the model
 * can answer with; of a model whose limit is not known, where it has less left than any model can.
 */
export function outputCapOf(given: CapInput): OutputCap {
  const { model, settings } = given
  if (settings?.maxOutputTokens !== undefined) return givenCap(settings)
  const left = outputLeft(given)
  if (left >= (outputLimitOf(model.id) ?? leastOutputLimit)) return {}
  // a provider refuses a smaller cap than it knows; the account ends what goes over it
  return { tokens: Math.max(model.settingLimits?.leastOutput ?? 1, left), byBudget: true }
}

/** The cap that the settings set. */
export const givenCap = (settings: ModelSettings | undefined): OutputCap =>
  settings?.maxOutputTokens === undefined ? {} : { tokens: settings.maxOutputTokens }

/** How many tokens of output the limits have room for. */
function outputLeft({ price, settings, limits, input, spent }: CapInput): number {
  const tokens = limits?.tokens === undefined ? Infinity : limits.tokens - spent.tokens - input
  if (limits?.usd === undefined || price === undefined || price.usdPerMillionTokens.output === 0)
    return Math.floor(tokens)
  const usd = limits.usd - spent.usd - (leastCostOf({ ...inputOf(input, settings), output: 0 }, price) ?? 0)
  return Math.floor(Math.min(tokens, (usd * 1_000_000) / price.usdPerMillionTokens.output))
}

/** The prompt as it costs most: where it is to be kept in a cache, all of it may have to be written. */
const inputOf = (input: number, { cache = false }: ModelSettings = {}): CallUsage => ({
  input,
  ...(cache === false ? {} : { cacheWrite: input }),
  ...(cache === '1h' ? { cacheWrite1h: input } : {}),
})

/** What is set aside for a call: its prompt, and the cap of its answer or what an answer usually has. */
export function reserveFor({ tokens: cap, byBudget }: OutputCap, { price, settings, limits, input }: CapInput): Charge {
  const share = limits?.tokens === undefined ? usualOutput : Math.max(1, Math.floor(limits.tokens / 4))
  const usual = Math.min(usualOutput, share)
  const output = cap === undefined ? usual : byBudget === true ? Math.min(cap, usual) : cap
  const usd = price === undefined ? undefined : leastCostOf({ ...inputOf(input, settings), output }, price)
  return { turns: 1, tokens: input + output, ...(usd === undefined ? undefined : { usd }) }
}

/** The sum with what an answer used; what is not known is left out. */
export const spentWith = (
  { tokens, usd }: CapInput['spent'],
  used: CallUsage | undefined,
): { readonly tokens: number; readonly usd: number } => ({
  tokens: tokens + (used?.input ?? 0) + (used?.output ?? 0),
  usd: usd + (used?.usd ?? 0),
})
