/**
 * What differs between models of Google.
 *
 * Owns: how a model's generation is read from its name. Source of what newer models refuse:
 * https://ai.google.dev/gemini-api/docs/gemini-3 and https://github.com/pipecat-ai/pipecat/pull/5821.
 */

/** What one model takes. */
export interface GoogleModel {
  /** `2.5` of `gemini-2.5-flash`; 0 for what is no Gemini. */
  readonly generation: number
  /** Whether the last content may be the beginning of its answer. */
  readonly prefill: boolean
}

/** What a model takes. `gemini-flash-latest` counts as the newest. */
export function googleModel(id: string): GoogleModel {
  const version = /gemini-(\d+(?:\.\d+)?)/.exec(id)?.[1]
  const generation = version === undefined ? (/gemini-.*latest/.test(id) ? Infinity : 0) : Number(version)
  return { generation, prefill: generation <= 3.1 || id === 'gemini-pro-latest' }
}
