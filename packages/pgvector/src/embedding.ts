/**
 * Embedding: texts become vectors by the function or the model that the application gives.
 *
 * Owns: calling it, a bounded number of attempts, the checks of what it returns. Does not own: which texts (memory.ts),
 * how vectors are stored (table.ts).
 * Holds: a vector that leaves here has the dimensions of the table, finite numbers, and a direction.
 */
import { described, FailureError, failure, pause } from '@reeve/core'
import type { StepIO } from '@reeve/engine'

/** Returns one vector for each text, in their order. `io.signal` is aborted when the step is stopped. */
export type EmbedFunction = (
  texts: readonly string[],
  io: StepIO,
) => readonly (readonly number[])[] | Promise<readonly (readonly number[])[]>

/** An embedding model of the AI SDK, such as `openai.embedding('text-embedding-3-small')`. */
export interface EmbeddingModel {
  readonly modelId: string
  doEmbed(options: never): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>
}

/** The vector of one text. Rejects if no attempt gave a sound one. */
export type Embed = (text: string, io: StepIO) => Promise<readonly number[]>

/** How often a text is embedded before that fails, and the waits between. Milliseconds. */
const waits = [250, 1_000] as const

/** Whether this is an embedding model rather than a function. */
export const isEmbeddingModel = (given: unknown): given is EmbeddingModel =>
  typeof given === 'object' && given !== null && typeof (given as Partial<EmbeddingModel>).doEmbed === 'function'

/** Makes the embedding of single texts, with three attempts each. */
export function embedding(given: EmbedFunction | EmbeddingModel, dimensions: number): Embed {
  const ask = isEmbeddingModel(given) ? byModel(given) : given
  return async (text, io) => {
    for (let attempt = 0; ; attempt++) {
      try {
        const vectors: unknown = await ask([text], io)
        const problem = vectorsProblem(vectors, dimensions)
        if (problem !== undefined) throw new FailureError(failure('hook.failed', `embed: ${problem}`, 'validation'))
        return (vectors as readonly (readonly number[])[])[0]!
      } catch (thrown) {
        const wait = waits[attempt]
        if (wait === undefined || io.signal.aborted || isFinal(thrown)) throw thrown
        await pause(wait, io.signal)
        if (io.signal.aborted) throw thrown
      }
    }
  }
}

const byModel =
  (model: EmbeddingModel): EmbedFunction =>
  async (texts, { signal }) =>
    (await model.doEmbed({ values: [...texts], abortSignal: signal } as never)).embeddings

/** A wrong vector stays wrong; providers of the AI SDK say whether another attempt may help. */
const isFinal = (thrown: unknown): boolean =>
  thrown instanceof FailureError || (isError(thrown) && thrown.isRetryable === false)

const isError = (thrown: unknown): thrown is { readonly isRetryable?: unknown } =>
  typeof thrown === 'object' && thrown !== null

function vectorsProblem(given: unknown, dimensions: number): string | undefined {
  if (!Array.isArray(given)) return `it returned ${described(given)}, expected a list of vectors`
  if (given.length !== 1) return `it returned ${given.length} vectors for 1 text`
  const vector: unknown = given[0]
  if (!Array.isArray(vector)) return `it returned ${described(vector)} as a vector, expected a list of numbers`
  if (vector.length !== dimensions) return `it returned a vector of ${vector.length} dimensions, expected ${dimensions}`
  const bad = vector.findIndex((each) => typeof each !== 'number' || !Number.isFinite(Math.fround(each)))
  if (bad !== -1) return `it returned a vector with ${described(vector[bad])} at ${bad}, expected finite numbers`
  return vector.every((each) => Math.fround(each as number) === 0)
    ? 'it returned a vector of zeros, which has no direction to compare'
    : undefined
}
