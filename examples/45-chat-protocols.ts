/**
 * One team behind two protocols of others: the AI SDK's `useChat`, and OpenAI's API. Here plain requests stand for the
 * clients.
 */
import assert from 'node:assert/strict'
import { agent, supervisor, tool } from 'reeve'
import { z } from 'zod'

const sent: string[] = []
const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  sensitive: true,
  execute: ({ to }) => {
    sent.push(to)
    return { sent: true }
  },
})
const postman = agent({
  name: 'postman',
  description: 'Sends mails.',
  tools: [sendMail],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'The mail is on its way.'
      : { calls: [{ name: 'send_mail', input: { to: 'ann@example.org' } }] },
})
const office = supervisor({
  name: 'office',
  workers: [postman],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Ann was greeted.'
      : { calls: [{ name: 'delegate', input: { worker: 'postman', instructions: 'Greet Ann.' } }] },
})
const token = 'a-token-of-this-example-alone'
const auth = { tokens: { [token]: { name: 'bob', roles: ['operator', 'approver'] as const } } }
const store = ':memory:'
const port = 0

// #region usechat
import { createRuntime } from 'reeve'
import { uiMessages } from 'reeve/ai-sdk'
import { createServer, listen } from 'reeve/server'
await using runtime = await createRuntime({ store, agents: [office] })
const chatServer = await listen(createServer({ runtime, auth, protocols: [uiMessages({ agent: 'office' })] }), { port })
// #endregion

// #region openai
import { openai } from 'reeve/openai'
const apiServer = await listen(createServer({ runtime, auth, protocols: [openai()] }), { port })
// #endregion

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
/** The chunks of a UI message stream. */
const chunks = async (response: Response): Promise<readonly { readonly [name: string]: unknown }[]> =>
  (await response.text())
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as { readonly [name: string]: unknown })

// what useChat sends, and what addToolApprovalResponse makes it send then
const asked = await chunks(
  await post(`${chatServer.url}/chat`, {
    id: 'chat-1',
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Greet Ann.' }] }],
  }),
)
const request = asked.find(({ type }) => type === 'tool-approval-request')!
const { run, position } = asked.at(-1)!['messageMetadata'] as { run: string; position: number }
const approval = { id: request['approvalId'], approved: true }
const parts = [{ type: 'dynamic-tool', state: 'approval-responded', approval }]
const answer = await chunks(
  await post(`${chatServer.url}/chat`, {
    id: 'chat-1',
    messages: [{ id: run, role: 'assistant', metadata: { run, position }, parts }],
  }),
)
const text = answer.map(({ delta = '' }) => delta as string).join('')
console.log(text, sent)
assert.equal(text, 'Ann was greeted.')
assert.deepEqual(sent, ['ann@example.org'])

// #region route
import { uiMessageStreamResponse } from 'reeve/ai-sdk'
async function POST(request: Request): Promise<Response> {
  const { id: session, messages } = (await request.json()) as { id: string; messages: UIMessage[] }
  const { id, parts } = messages.at(-1)!
  const input = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const run = await runtime.start('office', input, { session, runId: `${session}-${id}` }) // sent twice, it is one run
  return uiMessageStreamResponse(run, { signal: request.signal })
}
// #endregion
interface UIMessage {
  readonly id: string
  readonly parts: readonly { readonly type: string; readonly text: string }[]
}
const given = { id: 'chat-2', messages: [{ id: 'm1', parts: [{ type: 'text', text: 'Greet Ann.' }] }] }
const own = await POST(new Request('http://localhost/', { method: 'POST', body: JSON.stringify(given) }))
const last = (await chunks(own)).at(-1)!
assert.equal(last['type'], 'finish')
assert.equal((last['messageMetadata'] as { status: string }).status, 'waiting')

// what a client of OpenAI's API sends: at the approval it is told that the answer is not finished
const messages = [{ role: 'user', content: 'Greet Ann.' }]
const completion = (await (
  await post(`${apiServer.url}/v1/chat/completions`, { model: 'office', messages })
).json()) as { choices: { finish_reason: string; message: { content: string } }[] }
console.log(completion.choices[0]!.message.content)
assert.equal(completion.choices[0]!.finish_reason, 'length')
await chatServer.close()
await apiServer.close()
