/**
 * What differs between models of Anthropic.
 *
 * Owns: the table. Source of the limits: https://platform.claude.com/docs/en/about-claude/models/overview; of what newer
 * models refuse: the notes at `temperature`, `top_p` and `top_k` in
 * https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/messages/messages.ts and
 * https://github.com/vercel/ai/blob/main/packages/anthropic/src/anthropic-model-catalog.ts.
 */

/** What one model takes. */
export interface AnthropicModel {
  /** The most tokens that it writes; unknown for a model that is not in the table. */
  readonly maxOutput: number | undefined
  /** Whether the last message may be the beginning of its answer. */
  readonly prefill: boolean
  /** Whether it takes temperature, `top_k` and `top_p`. */
  readonly sampling: boolean
  /** Whether it takes only one of temperature and `top_p`. */
  readonly oneSampler: boolean
  /** Whether it can be forced to call a tool. */
  readonly forcedCalls: boolean
  /** Whether it takes a budget for thinking. */
  readonly budgets: boolean
  /** Whether thinking can be turned off. */
  readonly canStopThinking: boolean
}

const old: AnthropicModel = {
  maxOutput: undefined,
  prefill: true,
  sampling: true,
  oneSampler: false,
  forcedCalls: true,
  budgets: true,
  canStopThinking: true,
}
const since41: AnthropicModel = { ...old, oneSampler: true }
const since46: AnthropicModel = { ...since41, prefill: false, maxOutput: 128_000 }
const since47: AnthropicModel = { ...since46, sampling: false }
const always: AnthropicModel = { ...since47, budgets: false, canStopThinking: false, forcedCalls: false }

/** The first that matches. */
const table: readonly (readonly [pattern: RegExp, model: AnthropicModel])[] = [
  [/claude-(?:sonnet|opus)-5-5/, always],
  [/claude-haiku-5-5/, { ...since47, budgets: false }],
  [/claude-fable-5-[12]/, always],
  [/claude-fable-5/, { ...always, forcedCalls: true }],
  [/claude-(?:opus|sonnet|haiku)-5/, since47],
  [/claude-opus-4-[78]/, since47],
  [/claude-(?:opus|sonnet)-4-6/, since46],
  [/claude-(?:opus|sonnet|haiku)-4-5/, { ...since41, maxOutput: 64_000 }],
  [/claude-opus-4-1/, { ...since41, maxOutput: 32_000 }],
  [/claude-opus-4/, { ...old, maxOutput: 32_000 }],
  [/claude-sonnet-4/, { ...old, maxOutput: 64_000 }],
  [/claude-3-7-sonnet/, { ...old, maxOutput: 64_000 }],
  [/claude-3-5-(?:sonnet|haiku)/, { ...old, maxOutput: 8_192 }],
  [/claude-3-(?:haiku|opus|sonnet)/, { ...old, maxOutput: 4_096 }],
]

/** What a model takes; an unknown one counts as an old one without a limit. */
export const anthropicModel = (id: string): AnthropicModel => table.find(([pattern]) => pattern.test(id))?.[1] ?? old
