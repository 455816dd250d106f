/**
 * What the tests of models ask, and how they look at what came of it.
 */
import { FailureError, type Failure, type ModelPart } from '@reeve/core'
import type { Message, Model, ModelRequest, ToolSpec } from '../src/index.ts'

/** The tool that fake models call. */
export const delegate: ToolSpec = {
  name: 'delegate',
  description: 'Delegates to a worker.',
  parameters: {
    type: 'object',
    properties: { worker: { type: 'string' }, instructions: { type: 'string' } },
    required: ['worker', 'instructions'],
    additionalProperties: false,
  },
}

/** A request with one user message, unless told otherwise. */
export function asking(content: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: 'user', content }],
    tools: [delegate],
    signal: new AbortController().signal,
    key: 'step-1',
    ...more,
  }
}

/** A conversation as a request. */
export function saying(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return asking('', { messages, ...more })
}

/** A sink and what went into it. */
export function sink(): { readonly parts: ModelPart[]; readonly emit: (part: ModelPart) => void } {
  const parts: ModelPart[] = []
  return { parts, emit: (part) => void parts.push(part) }
}

/** The failure of a call that must fail. */
export async function failureOf(model: Model, request: ModelRequest): Promise<Failure> {
  try {
    const answer = await model.call(request)
    throw new Error(`the call succeeded: ${JSON.stringify(answer)}`)
  } catch (error) {
    if (error instanceof FailureError) return error.failure
    throw error
  }
}

/** Waits until something is so, asking at every turn of the event loop. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
