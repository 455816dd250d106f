/** The schema of an answer: recorded with the question, and shown by every protocol that can make a form of it. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createRuntime, human } from '@reeve/public'
import { a2a } from '../src/a2a/index.ts'
import { agUi } from '../src/ag-ui/index.ts'
import { uiMessages } from '../src/ai-sdk/index.ts'
import { openai } from '../src/openai/index.ts'
import { servingProtocols, streamed } from './protocol-serving.ts'

const schema = { type: 'string', enum: ['Oslo', 'Riga'] }
const guide = agent({
  name: 'guide',
  description: 'Asks where to go.',
  run: async (ctx) => `To ${await ctx.interrupt('Which city?', { schema: z.enum(['Oslo', 'Riga']) })}.`,
})
const number = z.object({ number: z.number() })
const clerk = human({ name: 'clerk', description: 'Gives a number.', output: number })

const serve = () =>
  servingProtocols(
    [guide, clerk],
    [uiMessages({ agent: 'guide' }), openai(), agUi({ agent: 'guide' }), a2a({ agents: ['guide'] })],
  )

test('it is in the journal, the view and the list of questions', async () => {
  const { runtime, get } = await serve()
  const run = await runtime.start('guide', 'Where?')
  await run.until('waiting')
  const events = await run.journal()
  const raised = events.find(({ event }) => event.type === 'interrupt.raised')!
  expect(raised.event).toMatchObject({ question: 'Which city?', schema })
  expect((await run.view()).interrupts).toMatchObject([{ question: 'Which city?', schema }])
  const { body } = await get(`/questions?run=${run.id}`, { Authorization: `Bearer ${'ann'.padEnd(24, '-')}` })
  expect(body).toMatchObject({ items: [{ interrupt: { question: 'Which city?', schema } }] })
  // what does not fit is asked again, with the same form
  const [first] = await runtime.questions({ run: run.id })
  await runtime.answer({ interruptId: first!.id, value: 'Rome' })
  await expect
    .poll(async () => (await runtime.questions({ run: run.id }))[0]?.body)
    .toMatchObject({
      schema,
      question: { question: 'Which city?', problem: expect.stringContaining('does not fit') as string },
    })
})

test('a registered secret is taken out of it', async () => {
  await using runtime = await createRuntime({ agents: [guide], redact: { values: ['Oslo'] } })
  const run = await runtime.start('guide', 'Where?')
  await run.until('waiting')
  const [question] = await runtime.questions({ run: run.id })
  expect(question!.body).toMatchObject({ schema: { type: 'string', enum: ['[redacted]', 'Riga'] } })
})

test('of a person it is the schema of the output', async () => {
  const { runtime } = await serve()
  const run = await runtime.start('clerk', 'A number.')
  await run.until('waiting')
  expect(await runtime.questions({ run: run.id })).toMatchObject([
    { body: { schema: { type: 'object', properties: { number: { type: 'number' } }, required: ['number'] } } },
  ])
})

test('useChat, AG-UI, OpenAI and A2A show it', async () => {
  const { ask } = await serve()
  const chat = await streamed(
    await ask('/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Where?' }] }] }),
  )
  expect(chat.find(({ type }) => type === 'data-question')).toMatchObject({ data: { question: 'Which city?', schema } })
  const run = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Where?' }] }
  const events = await streamed(await ask('/ag-ui', { ...run, tools: [], context: [], state: {} }))
  expect(events.at(-1)).toMatchObject({ outcome: { interrupts: [{ responseSchema: schema }] } })
  const response = (await (await ask('/v1/responses', { model: 'guide', input: 'Where?' })).json()) as {
    readonly output: readonly { readonly arguments: string; readonly call_id: string }[]
    readonly id: string
  }
  expect(JSON.parse(response.output[0]!.arguments)).toMatchObject({ question: 'Which city?', schema })
  // an answer that has to be a text is one, also where it reads like JSON
  const answered = await ask('/v1/responses', {
    model: 'guide',
    previous_response_id: response.id,
    input: [{ type: 'function_call_output', call_id: response.output[0]!.call_id, output: 'Riga' }],
  })
  expect(await answered.json()).toMatchObject({ status: 'completed' })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Where?' }] }
  const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const task = await (await ask('/a2a/guide', rpc, 'ann', { 'A2A-Version': '1.0' })).text()
  expect(task).toContain(JSON.stringify({ value: { ...schema } }).slice(1, -1))
})
