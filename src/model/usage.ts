/**
 * Usage: what a provider says a call used, read from the shapes of v2 (flat) and v3/v4 (nested).
 *
 * Owns: the reading. What is missing or not a number stays unknown; what is reported as 0 is 0.
 */
import type { CallUsage } from '../core/index.ts'
import type { BilledUsage } from './price.ts'

/** The usage with its cost, if both are known; undefined if the provider reported no tokens at all. */
export function readUsage(reported: unknown, cost: (usage: BilledUsage) => number | undefined): CallUsage | undefined {
  const billed = tokensOf(reported)
  if (billed.input === undefined && billed.output === undefined) return undefined
  const usd = cost(billed)
  const { cacheWrite: _, ...usage } = billed
  return { ...usage, ...(usd !== undefined && { usd }) }
}

function tokensOf(reported: unknown): BilledUsage {
  const usage = membersOf(reported)
  const nestedInput = membersOf(usage.inputTokens)
  const nestedOutput = membersOf(usage.outputTokens)
  const input = count(usage.inputTokens) ?? count(nestedInput.total)
  const output = count(usage.outputTokens) ?? count(nestedOutput.total)
  const cached = count(usage.cachedInputTokens) ?? count(nestedInput.cacheRead)
  const cacheWrite = count(nestedInput.cacheWrite)
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  }
}

function membersOf(value: unknown): { readonly [member: string]: unknown } {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
