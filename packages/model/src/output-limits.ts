/**
 * Output limits: how many tokens a model can answer with at most.
 *
 * Owns: the table, each row with its source. Does not own: what a budget makes of it (agent/conversation/output-cap.ts), what
 * else a provider takes (provider-limits.ts).
 */

interface OutputLimit {
  /** What the id of the model contains, without its provider. */
  readonly models: RegExp
  readonly tokens: number
}

/** The first row that fits holds. */
const limits: readonly OutputLimit[] = [
  // https://platform.claude.com/docs/en/about-claude/models/overview, as @ai-sdk/anthropic 4 has it in its table of models
  { models: /claude-(?:sonnet|opus|haiku)-4-5/, tokens: 64_000 },
  { models: /claude-opus-4(?:-1)?(?:$|-\d{8}|@)/, tokens: 32_000 },
  { models: /claude-sonnet-4(?:$|-\d{8}|@)/, tokens: 64_000 },
  { models: /claude-(?:sonnet-4-6|opus-4-[678]|(?:opus|sonnet|haiku|fable)-5)/, tokens: 128_000 },
  { models: /claude-3-haiku/, tokens: 4_096 },
  // https://platform.openai.com/docs/models: the page of each model
  { models: /gpt-5(?:$|[.-])/, tokens: 128_000 },
  { models: /gpt-4\.1/, tokens: 32_768 },
  { models: /gpt-4o/, tokens: 16_384 },
  { models: /^o[134](?:$|-)/, tokens: 100_000 },
  // https://ai.google.dev/gemini-api/docs/models
  { models: /gemini-(?:2\.5|3)/, tokens: 65_536 },
  { models: /gemini-2\.0/, tokens: 8_192 },
]

/** The most tokens that a model answers with; undefined if that is not known. `modelId`: `provider/model`. */
export function outputLimitOf(modelId: string): number | undefined {
  const name = modelId.slice(modelId.lastIndexOf('/') + 1)
  return limits.find(({ models }) => models.test(name))?.tokens
}

/** Every model in use takes a cap of so many tokens: the smallest limit of the table. */
export const leastOutputLimit = 4_096
