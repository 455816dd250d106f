/** A real agent of the OpenAI Agents SDK, with a model that plays a part. */
import {
  Agent,
  Runner,
  RunState,
  setTracingDisabled,
  tool,
  type Model,
  type ModelRequest,
  type StreamEvent,
} from '@openai/agents'
import { currentSegment, openAIAgent } from 'reeve/openai-agents'
import type { WorkerHonours, WorkerPart, WorkerUnderTest } from 'reeve/testing'
import { z } from 'zod'
import { everything } from '../worker-report.ts'

setTracingDisabled(true)

const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? Object.values(value).map(textOf).join('\n')
      : ''

function modelOf(part: WorkerPart): Model {
  return {
    getResponse: () => Promise.reject(new Error('it streams')),
    async *getStreamedResponse({ input }: ModelRequest): AsyncGenerator<StreamEvent> {
      const items = typeof input === 'string' ? [] : input
      const results = items.filter(({ type }) => type === 'function_call_result').length
      const turn = await part.model(results, textOf(input))
      const usage = {
        requests: 1,
        inputTokens: part.usage.input,
        outputTokens: part.usage.output,
        totalTokens: part.usage.input + part.usage.output,
      }
      if ('say' in turn) for await (const delta of part.pieces(turn.say)) yield { type: 'output_text_delta', delta }
      const output =
        'say' in turn
          ? {
              type: 'message' as const,
              role: 'assistant' as const,
              status: 'completed' as const,
              content: [{ type: 'output_text' as const, text: turn.say }],
            }
          : {
              type: 'function_call' as const,
              callId: `call_${results}`,
              status: 'completed' as const,
              name: 'ask' in turn ? 'ask' : turn.call,
              arguments: JSON.stringify('ask' in turn ? { question: turn.ask } : turn.input),
            }
      yield { type: 'response_done', response: { id: `response_${results}`, usage, output: [output] } }
    },
  }
}

const subject = (maxSteps: number | undefined, honours: WorkerHonours) => (): WorkerUnderTest => ({
  honours,
  worker(part) {
    const model = modelOf(part)
    const runner = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
    const agent = new Agent({
      name: 'part',
      model: part.usage.model,
      tools: [
        tool({
          name: 'work',
          description: 'Works.',
          parameters: z.object({ item: z.string() }),
          execute: (input, _context, details) =>
            part.work(input, { key: currentSegment()?.key, signal: details?.signal ?? currentSegment()?.signal }),
        }),
        tool({
          name: 'publish',
          description: 'Publishes.',
          parameters: z.object({ text: z.string() }),
          needsApproval: true,
          execute: (input) => part.publish(input, { key: currentSegment()?.key }),
        }),
      ],
    })
    return openAIAgent({
      name: 'openai',
      description: 'Plays its part.',
      sdk: { run: runner.run.bind(runner) as never, RunState },
      agent,
      ...(maxSteps === undefined ? undefined : { maxSteps }),
    })
  },
})

const question = 'the SDK has no questions; its interruptions are approvals of tools'
export const openAI = subject(undefined, {
  ...everything,
  question,
  finished: 'what it did since its last approval is repeated; `maxSteps` records each turn',
})
export const openAIStepwise = subject(20, { ...everything, question })
