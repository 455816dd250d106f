/** The protocols read the journal of a long run by the page: its task, its response, its chat, its thread. */
import { afterEach, expect, test, vi } from 'vitest'
import { agent, interrupt, step } from '@reeve/public'
import { a2a } from '../src/a2a/index.ts'
import { agUi } from '../src/ag-ui/index.ts'
import { uiMessages } from '../src/ai-sdk/index.ts'
import { openai } from '../src/openai/index.ts'
import { asText } from '@reeve/core'
import { foldPage } from '@reeve/journal'
import { journalReads } from '../../../test/journal-reads.ts'
import { servingProtocols, streamed } from './protocol-serving.ts'

afterEach(() => vi.restoreAllMocks())

const walker = agent({
  name: 'walker',
  description: 'Walks for long, then asks.',
  run: async (ctx) => {
    for (let i = 0; i < 260; i++) await step(ctx, 'walk', () => i)
    return `To ${asText(await interrupt(ctx, 'Which city?'))}.`
  },
})

test('each of them decodes a page at a time', { timeout: 120_000 }, async () => {
  const { runtime, ask } = await servingProtocols(
    [walker],
    [uiMessages({ agent: 'walker' }), openai(), agUi({ agent: 'walker' }), a2a({ agents: ['walker'] })],
  )
  const rpc = async (method: string, params: object): Promise<string> =>
    (await ask('/a2a/walker', { jsonrpc: '2.0', id: 1, method, params }, 'ann', { 'A2A-Version': '1.0' })).text()
  const said = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Go.' }] }
  expect(await rpc('SendMessage', { message: said })).toContain('Which city?')
  const [task] = await runtime.runs({ limit: 1 })
  const response = (await (await ask('/v1/responses', { model: 'walker', input: 'Go.' })).json()) as {
    readonly id: string
  }
  const go = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }
  const shown = await streamed(await ask('/chat', { id: 'c', messages: [go] }))
  const question = shown.find(({ type }) => type === 'data-question') as unknown as { readonly id: string }
  const thread = { threadId: 't', tools: [], context: [], state: {} }
  const messages = [{ id: 'm', role: 'user', content: 'Go.' }]
  const first = await streamed(await ask('/ag-ui', { ...thread, runId: 'r1', messages }))
  const { interrupts } = first.at(-1)!['outcome'] as unknown as {
    readonly interrupts: readonly { readonly id: string }[]
  }

  const reads = journalReads()
  expect(await rpc('GetTask', { id: task!.run })).toContain('Which city?')
  expect(await (await ask(`/v1/responses/${response.id}`, undefined)).text()).toContain('Which city?')
  const [chat] = await runtime.runs({ session: 'c' })
  const asked = { id: chat!.run, role: 'assistant', parts: [] }
  const rest = await streamed(await ask('/chat', { id: 'c', messages: [asked], answers: { [question.id]: 'Riga' } }))
  expect(JSON.stringify(rest)).toContain('To Riga.')
  // a thread that is opened anew, then its answer
  const again = await streamed(await ask('/ag-ui', { ...thread, runId: 'r2', messages }))
  expect(again.at(-1)).toMatchObject({ outcome: { interrupts: [{ id: interrupts[0]!.id }] } })
  const resume = [{ interruptId: interrupts[0]!.id, status: 'resolved', payload: 'Oslo' }]
  const last = await streamed(await ask('/ag-ui', { ...thread, runId: 'r3', messages: [], resume }))
  expect(JSON.stringify(last)).toContain('To Oslo.')
  expect(Math.max(...reads)).toBe(foldPage.events)
})
