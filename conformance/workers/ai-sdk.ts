/** A real `ToolLoopAgent` with a mock language model, as a worker that plays a part. */
import { ToolLoopAgent, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { aiSdkAgent, currentSegment } from 'reeve/ai-sdk/agent'
import type { WorkerHonours, WorkerPart, WorkerUnderTest } from 'reeve/testing'
import { z } from 'zod'
import { everything } from '../worker-report.ts'

type Call = Parameters<MockLanguageModelV4['doStream']>[0]
type Streamed = Awaited<ReturnType<MockLanguageModelV4['doStream']>>
type Part = Streamed['stream'] extends ReadableStream<infer P> ? P : never

const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? Object.values(value).map(textOf).join('\n')
      : ''

export function playing(part: WorkerPart): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    provider: 'mock',
    modelId: part.usage.model,
    doStream: async ({ prompt }: Call): Promise<Streamed> => {
      const results = prompt.flatMap(({ role, content }) =>
        role === 'tool' ? content.filter(({ type }) => type === 'tool-result') : [],
      ).length
      const turn = await part.model(results, textOf(prompt))
      const { model, input, output } = part.usage
      const finish = (unified: 'stop' | 'tool-calls'): Part => ({
        type: 'finish',
        finishReason: { unified, raw: unified },
        usage: {
          inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: output, text: output, reasoning: 0 },
        },
      })
      const stream = new ReadableStream<Part>({
        async start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] })
          controller.enqueue({ type: 'response-metadata', modelId: model })
          if ('say' in turn) {
            controller.enqueue({ type: 'text-start', id: '0' })
            for await (const delta of part.pieces(turn.say)) controller.enqueue({ type: 'text-delta', id: '0', delta })
            controller.enqueue({ type: 'text-end', id: '0' })
            controller.enqueue(finish('stop'))
          } else {
            const [toolName, args] = 'ask' in turn ? ['ask', { question: turn.ask }] : [turn.call, turn.input]
            controller.enqueue({
              type: 'tool-call',
              toolCallId: `call_${results}`,
              toolName,
              input: JSON.stringify(args),
            })
            controller.enqueue(finish('tool-calls'))
          }
          controller.close()
        },
      })
      return { stream }
    },
  })
}

const loop = (part: WorkerPart): ToolLoopAgent<never, any> =>
  new ToolLoopAgent({
    model: playing(part),
    maxRetries: 0,
    tools: {
      work: tool({
        inputSchema: z.object({ item: z.string() }),
        execute: (input, { abortSignal }) => part.work(input, { key: currentSegment()?.key, signal: abortSignal }),
      }),
      publish: tool({
        inputSchema: z.object({ text: z.string() }),
        execute: (input, { abortSignal }) => part.publish(input, { key: currentSegment()?.key, signal: abortSignal }),
      }),
      // no execute: somebody outside answers
      ask: tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.string() }),
    },
    toolApproval: { publish: 'user-approval' },
    onError: () => {},
  })

const subject = (maxSteps: number | undefined, honours: WorkerHonours) => (): WorkerUnderTest => ({
  honours,
  worker: (part) =>
    aiSdkAgent({
      name: 'ai_sdk',
      description: 'Plays its part.',
      agent: loop(part),
      ...(maxSteps === undefined ? undefined : { maxSteps }),
    }),
})

export const aiSdk = subject(undefined, {
  ...everything,
  finished: 'what it did since its last approval or question is repeated; `maxSteps` records each step',
})
export const aiSdkStepwise = subject(20, everything)
