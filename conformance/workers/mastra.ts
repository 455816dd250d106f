/** A real agent of Mastra, with the mock language model of the AI SDK that plays a part. */
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { noopLogger } from '@mastra/core/logger'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { currentSegment, mastraAgent } from 'reeve/mastra'
import type { MakeWorker, WorkerPart } from 'reeve/testing'
import { z } from 'zod'
import { everything } from '../worker-report.ts'
import { playing } from './ai-sdk.ts'

function agentOf(part: WorkerPart, storage: InMemoryStore): Agent {
  const agent = new Agent({
    id: 'part',
    name: 'part',
    instructions: 'Play your part.',
    model: playing(part) as never,
    maxRetries: 0,
    tools: {
      work: createTool({
        id: 'work',
        description: 'Works.',
        inputSchema: z.object({ item: z.string() }),
        execute: (input, { abortSignal }) => part.work(input, { key: currentSegment()?.key, signal: abortSignal }),
      }),
      publish: createTool({
        id: 'publish',
        description: 'Publishes.',
        inputSchema: z.object({ text: z.string() }),
        requireApproval: true,
        execute: (input, { abortSignal }) => part.publish(input, { key: currentSegment()?.key, signal: abortSignal }),
      }),
      ask: createTool({
        id: 'ask',
        description: 'Asks.',
        inputSchema: z.object({ question: z.string() }),
        suspendSchema: z.object({ question: z.string() }),
        resumeSchema: z.any(),
        execute: async ({ question }, { agent }) => {
          if (agent?.resumeData !== undefined) return agent.resumeData
          await agent?.suspend({ question })
          return undefined
        },
      }),
    },
  })
  return new Mastra({ agents: { part: agent }, storage, logger: noopLogger }).getAgent('part') as Agent
}

export const mastra: MakeWorker = () => {
  // stands for a database: it outlives the process that is killed
  const storage = new InMemoryStore()
  return {
    honours: {
      ...everything,
      edits: 'Mastra takes no edited arguments: an approval that was edited is declined',
      finished: 'what it did since its last approval or question is repeated',
    },
    worker: (part) => mastraAgent({ name: 'mastra', description: 'Plays its part.', agent: agentOf(part, storage) }),
  }
}
