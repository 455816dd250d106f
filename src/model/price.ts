/**
 * Price: what a call costs in US dollars, from a dated table. Unknown stays unknown, it is never 0 (K11).
 *
 * Owns: the table, the arithmetic. Does not own: the account that is charged (edge/budget).
 */
import { own, type CallUsage } from '../core/index.ts'

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly inputPerMillion: number
  readonly outputPerMillion: number
  /** Input read from the provider's cache. Default: the price of other input. */
  readonly cachedPerMillion?: number
  /** Input written to the provider's cache. Default: the price of other input. */
  readonly cacheWritePerMillion?: number
  /** The price holds only for calls with at most so many input tokens; above, the price is unknown. */
  readonly upToInputTokens?: number
}

/** Prices by model id (`provider/model`). */
export type Prices = { readonly [modelId: string]: ModelPrice }

/** The day the table was made. Providers change prices without asking us: pass your own to be exact. */
export const pricesAsOf = '2026-11-21'

const price = (input: number, output: number, cached?: number, write?: number, upTo?: number): ModelPrice => ({
  inputPerMillion: input,
  outputPerMillion: output,
  ...(cached !== undefined && { cachedPerMillion: cached }),
  ...(write !== undefined && { cacheWritePerMillion: write }),
  ...(upTo !== undefined && { upToInputTokens: upTo }),
})

/**
 * List prices for standard service. Data, not code: a handful of well-known models. Sources, all read through copies of
 * the pages and not from the pages themselves: platform.claude.com/docs (model pages, 2026-11),
 * developers.openai.com/api/docs/pricing and ai.google.dev/gemini-api/docs/pricing (as transcribed by third parties,
 * 2026-10 and earlier).
 */
export const listPrices: Prices = {
  'anthropic/claude-opus-5-5': price(4, 20, 0.2, 5),
  'anthropic/claude-sonnet-5-5': price(2, 10, 0.1, 2.5),
  'anthropic/claude-haiku-5-5': price(0.1, 0.5, 0.01, 0.125, 100_000),
  'anthropic/claude-opus-5': price(5, 25, 0.5, 6.25),
  'anthropic/claude-sonnet-5': price(2, 10, 0.2, 2.5),
  'anthropic/claude-haiku-4-5': price(1, 5, 0.1, 1.25),
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
export const freeOfCharge: ModelPrice = { inputPerMillion: 0, outputPerMillion: 0 }

const dated = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

/**
 * The price of a model, own prices first. A dated version (`…-2026-08-07`, `…-20260929`) costs what the undated model
 * costs.
 */
export function findPrice(modelId: string, given: Prices = {}): ModelPrice | undefined {
  const listed = modelId.replace(/^openai-chat\//, 'openai/')
  const undated = listed.replace(dated, '')
  return (
    own(given, modelId) ??
    own(given, listed) ??
    own(given, undated) ??
    own(listPrices, listed) ??
    own(listPrices, undated)
  )
}

/** What a call used, with the tokens written to a cache if the provider reports them. */
export type BilledUsage = CallUsage & { readonly cacheWrite?: number }

/**
 * US dollars at a price; undefined if the input or output tokens are unknown, or the price does not hold for so many.
 */
export function costOf(usage: BilledUsage, at: ModelPrice): number | undefined {
  const { input, output, cached = 0, cacheWrite = 0 } = usage
  if (input === undefined || output === undefined) return undefined
  if (at.upToInputTokens !== undefined && input > at.upToInputTokens) return undefined
  const plain = Math.max(0, input - cached - cacheWrite)
  const dollars =
    plain * at.inputPerMillion +
    cached * (at.cachedPerMillion ?? at.inputPerMillion) +
    cacheWrite * (at.cacheWritePerMillion ?? at.inputPerMillion) +
    output * at.outputPerMillion
  return dollars / 1_000_000
}

/** US dollars of a call of a model; undefined if the price or the tokens are not known. */
export function priceOf(modelId: string, usage: BilledUsage, own?: Prices): number | undefined {
  const found = findPrice(modelId, own)
  return found === undefined ? undefined : costOf(usage, found)
}
