/**
 * Price: what a call costs in US dollars, from a dated table. Unknown stays unknown, it is never 0 (K11).
 *
 * Owns: the table, the arithmetic. Does not own: the account that is charged (edge/budget).
 */
import { described, isObject, own, type CallUsage, type Check } from '@reeve/core'

/** What a model costs. */
export interface ModelPrice {
  /** US dollars for a million tokens. */
  readonly usdPerMillionTokens: {
    readonly input: number
    /** Reasoning included. */
    readonly output: number
    /** Input read from the provider's cache. Default: the price of other input. */
    readonly cacheRead?: number
    /** Input written to the provider's cache, for five minutes or for as long as it stays. Default: as other input. */
    readonly cacheWrite?: number
    /** Input written to the cache for an hour. Default: not known, so a call that writes some has no known price. */
    readonly cacheWrite1h?: number
  }
  /** The price holds only for calls with at most so many input tokens; above, the price is unknown. */
  readonly upToInputTokens?: number
}

/** Prices by model id (`provider/model`). */
export type Prices = { readonly [modelId: string]: ModelPrice }

/** The day the table was made. Providers change prices without asking us: pass your own to be exact. */
export const pricesAsOf = '2026-11-21'

const price = (input: number, output: number, cacheRead?: number, cacheWrite?: number, upTo?: number): ModelPrice => ({
  usdPerMillionTokens: {
    input,
    output,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  },
  ...(upTo !== undefined && { upToInputTokens: upTo }),
})

/**
 * Of Claude: an hour in the cache costs twice the input, five minutes a quarter more
 * (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#pricing).
 */
const claude = (input: number, output: number, cacheRead: number, cacheWrite: number, upTo?: number): ModelPrice => {
  const { usdPerMillionTokens, ...more } = price(input, output, cacheRead, cacheWrite, upTo)
  return { usdPerMillionTokens: { ...usdPerMillionTokens, cacheWrite1h: 2 * input }, ...more }
}

/**
 * List prices for standard service. Data, not code: a handful of well-known models. Sources, all read through copies of
 * the pages and not from the pages themselves: platform.claude.com/docs (model pages, 2026-11),
 * developers.openai.com/api/docs/pricing and ai.google.dev/gemini-api/docs/pricing (as transcribed by third parties,
 * 2026-10 and earlier).
 */
export const listPrices: Prices = {
  'anthropic/claude-opus-5-5': claude(4, 20, 0.2, 5),
  'anthropic/claude-sonnet-5-5': claude(2, 10, 0.1, 2.5),
  'anthropic/claude-haiku-5-5': claude(0.1, 0.5, 0.01, 0.125, 100_000),
  'anthropic/claude-opus-5': claude(5, 25, 0.5, 6.25),
  'anthropic/claude-sonnet-5': claude(2, 10, 0.2, 2.5),
  'anthropic/claude-haiku-4-5': claude(1, 5, 0.1, 1.25),
  'google/gemini-3.5-flash': price(1.5, 9),
  'google/gemini-3.5-flash-lite': price(0.3, 2.5),
  'google/gemini-3.1-pro-preview': price(2, 12, undefined, undefined, 200_000),
  'openai/gpt-6-sol': price(2, 10, 0.2, 2.5, 272_000),
  'openai/gpt-6-luna': price(0.1, 0.5, 0.01, 0.125, 272_000),
  'openai/gpt-5.2': price(1.75, 14, 0.175),
  'openai/gpt-5': price(1.25, 10, 0.125),
  'openai/gpt-5-mini': price(0.25, 2, 0.025),
  'openai/gpt-4.1': price(2, 8, 0.5),
  'openai/gpt-4o-mini': price(0.15, 0.6, 0.075),
}

/** Nothing is charged: rules, and models on the caller's own machine. */
export const freeOfCharge: ModelPrice = { usdPerMillionTokens: { input: 0, output: 0, cacheWrite1h: 0 } }

const dated = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

/**
 * The price of a model in a table. A dated version (`…-2026-08-07`, `…-20260929`) costs what the undated model costs.
 */
export function priceIn(prices: Prices, modelId: string): ModelPrice | undefined {
  const listed = modelId.replace(/^openai-chat\//, 'openai/')
  return own(prices, modelId) ?? own(prices, listed) ?? own(prices, listed.replace(dated, ''))
}

/** The list price of a model. */
export const listPrice = (modelId: string): ModelPrice | undefined => priceIn(listPrices, modelId)

/** What a model costs where this table of one's own comes first; undefined if that is not known. */
export const priceOfModel = (
  model: { readonly id: string; readonly price?: ModelPrice },
  prices: Prices | undefined,
): ModelPrice | undefined => (prices && priceIn(prices, model.id)) ?? model.price

/** What a call used. `tier`: the service tier that answered, if it has prices of its own, which are not known here. */
export type BilledUsage = CallUsage & { readonly tier?: string }

/**
 * US dollars at a price; undefined if the input or output tokens are unknown, or the price does not hold for so many,
 * for that tier, or says nothing of what was written to a cache for an hour.
 */
export function costOf(
  usage: BilledUsage,
  { usdPerMillionTokens: at, upToInputTokens }: ModelPrice,
): number | undefined {
  const { input, output, cached = 0, cacheWrite = 0, cacheWrite1h = 0, tier } = usage
  if (input === undefined || output === undefined) return undefined
  if (upToInputTokens !== undefined && input > upToInputTokens) return undefined
  const hour = cacheWrite1h === 0 ? 0 : at.cacheWrite1h
  const isFree = at.input === 0 && at.output === 0
  if (hour === undefined || (tier !== undefined && !isFree)) return undefined
  const plain = Math.max(0, input - cached - Math.max(cacheWrite, cacheWrite1h))
  const dollars =
    plain * at.input +
    cached * (at.cacheRead ?? at.input) +
    Math.max(0, cacheWrite - cacheWrite1h) * (at.cacheWrite ?? at.input) +
    cacheWrite1h * hour +
    output * at.output
  return dollars / 1_000_000
}

/**
 * What a call cost at least, where `costOf` cannot say: at the price of usual service and of a prompt that the price
 * holds for. An hour in the cache without a price counts as other input.
 */
export function leastCostOf(usage: CallUsage, price: ModelPrice): number | undefined {
  const { input, cacheWrite1h = input } = price.usdPerMillionTokens
  return costOf(usage, { usdPerMillionTokens: { ...price.usdPerMillionTokens, cacheWrite1h } })
}

/** US dollars of a call of a model; undefined if the price or the tokens are not known. */
export function priceOf(modelId: string, usage: BilledUsage, own: Prices = {}): number | undefined {
  const found = priceIn(own, modelId) ?? listPrice(modelId)
  return found === undefined ? undefined : costOf(usage, found)
}

const members = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] as const
const isAmount = (given: unknown): boolean => typeof given === 'number' && Number.isFinite(given) && given >= 0

/** What is wrong with a table of prices, one sentence each. */
export const pricesCheck: Check = (given, where) => {
  if (!isObject(given)) return [`${where} is ${described(given)}, expected prices by model id`]
  return Object.entries(given).flatMap(([id, price]) => problemsOfPrice(price, `${where}["${id}"]`))
}

function problemsOfPrice(given: unknown, where: string): string[] {
  const form = `expected { usdPerMillionTokens: { input, output, ${members.slice(2).join(', ')} } }`
  if (!isObject(given)) return [`${where} is ${described(given)}, ${form}`]
  const { usdPerMillionTokens: amounts, upToInputTokens, ...others } = given
  const strange = Object.keys(others).map((name) => `${where}: unknown option "${name}", ${form}`)
  if (!isObject(amounts)) return [...strange, `${where}.usdPerMillionTokens is ${described(amounts)}, ${form}`]
  const at = `${where}.usdPerMillionTokens`
  return [
    ...strange,
    ...Object.keys(amounts).flatMap((name) =>
      members.some((member) => member === name) ? [] : [`${at}: unknown option "${name}", ${form}`],
    ),
    ...members.flatMap((name) => {
      const amount = own(amounts, name)
      const isMissing = amount === undefined && (name === 'input' || name === 'output')
      return isMissing || (amount !== undefined && !isAmount(amount))
        ? [`${at}.${name} is ${described(amount)}, expected US dollars, not below 0`]
        : []
    }),
    ...(upToInputTokens === undefined || isAmount(upToInputTokens)
      ? []
      : [`${where}.upToInputTokens is ${described(upToInputTokens)}, expected a number of tokens`]),
  ]
}
