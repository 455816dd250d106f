/**
 * Workers from elsewhere: an agent of the AI SDK works under a supervisor. Its tool approval is an approval of Reeve, its
 * usage is in the run. Then the worker contract says what a worker of your own honours.
 */
import assert from 'node:assert/strict'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { ToolLoopAgent, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { agent, createRuntime, step, supervisor } from 'reeve'
import { aiSdkAgent } from 'reeve/ai-sdk/agent'
import { workerContract, workerTable, type WorkerResult, type WorkerUnderTest } from 'reeve/testing'
import { z } from 'zod'

const sent: string[] = []

// #region agent
const mailer = new ToolLoopAgent({
  model: mockModel(), // any model of the AI SDK
  tools: {
    send: tool({
      inputSchema: z.object({ to: z.string() }),
      execute: ({ to }) => `sent to ${sent.push(to) > 0 ? to : ''}`,
    }),
  },
  toolApproval: { send: 'user-approval' },
})

const office = supervisor({
  name: 'office',
  workers: [aiSdkAgent({ name: 'mailer', description: 'Sends mail.', agent: mailer, maxSteps: 20 })],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'mailer' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'mailer', instructions: 'Write to Ann.' } }] },
})
// #endregion

await using runtime = await createRuntime({ agents: [office] })
const run = await runtime.start(office, 'Tell Ann.')
const state = await run.until('waiting')
assert.ok('waiting' in state)
const [approval] = state.waiting
console.log(`${approval!.path.join(' > ')} asks for ${approval!.tool} ${JSON.stringify(approval!.input)}`)
assert.deepEqual(sent, [])
await run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'bob' })
const outcome = await run.outcome()
assert.deepEqual(sent, ['ann'])
assert.equal(outcome.status === 'completed' && outcome.output, 'It is sent.')
console.log(
  outcome.usage.map(({ agent: by, calls, input, output }) => `${by}: ${calls} calls, ${input} + ${output} tokens`),
)

// #region contract
const make = (): WorkerUnderTest => ({
  worker: (part) =>
    agent({
      name: 'mine',
      description: 'A worker of your own.',
      run: async (ctx, brief) => {
        const turn = await step(ctx, 'think', () => part.model(0, brief), { retry: { attempts: 1 } })
        return 'say' in turn ? turn.say : ''
      },
    }),
  // true, false, or the limit in a few words
  honours: {
    brief: true,
    result: 'only answers without a tool',
    failure: true,
    cancel: false,
    timeout: false,
    approval: false,
    edits: false,
    reasons: false,
    question: false,
    usage: 'its model reports none',
    streaming: false,
    crash: false,
    finished: false,
  },
})
const results: WorkerResult[] = []
for (const each of workerContract(make, { name: 'mine' })) results.push(await each.run()) // or a test for each
console.log(workerTable(results))
// #endregion
assert.deepEqual(
  results.filter(({ honoured }) => honoured).map(({ claim }) => claim),
  ['brief', 'failure'],
)

/** Calls `send` first, and answers then. */
function mockModel(): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 4, text: 4, reasoning: 0 },
  }
  const asks: LanguageModelV4StreamPart[] = [
    { type: 'tool-call', toolCallId: 'c1', toolName: 'send', input: '{"to":"ann"}' },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage },
  ]
  const answers: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'It is sent.' },
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ]
  return new MockLanguageModelV4({
    doStream: ({ prompt }) =>
      Promise.resolve({ stream: ReadableStream.from(prompt.at(-1)?.role === 'tool' ? answers : asks) }),
  })
}
