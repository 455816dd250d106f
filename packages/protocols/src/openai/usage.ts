/** Usage of a run as OpenAI's API says it. Owns: that, and nothing else. Undefined: a model did not say what it used. */
import { totalUsage, type Usage } from '@reeve/core'

interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
  readonly [name: string]: number | { readonly [name: string]: number }
}

/** Of a chat completion: the whole tree of the run. */
export function chatUsage(usage: Usage): ChatUsage | undefined {
  const { input, output, cached, reasoning, unknown } = totalUsage(usage)
  if (unknown > 0) return undefined
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}

interface TokenUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
  readonly [name: string]: number | { readonly [name: string]: number }
}

/** Of a response. */
export function responseUsage(usage: Usage): TokenUsage | undefined {
  const { input, output, cached, reasoning = 0, unknown } = totalUsage(usage)
  if (unknown > 0) return undefined
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
