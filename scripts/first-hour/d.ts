/** A chat of the AI SDK with a team; a worker's tool asks for an approval in the chat. */
import assert from 'node:assert/strict'
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses as answered } from 'ai'
import type { ChatState, ChatStatus, UIMessage } from 'ai'
import { agent, createRuntime, supervisor, tool } from 'reeve'
import { uiMessages } from 'reeve/ai-sdk'
import { createServer, listen } from 'reeve/server'

const model = 'openai/gpt-5-mini'
const send = tool({ name: 'send', description: 'Sends a mail.', sensitive: true, execute: () => 'sent' })
const postman = agent({ name: 'postman', description: 'Sends mails.', tools: [send], model })
const office = supervisor({ name: 'office', workers: [postman], model })
await using runtime = await createRuntime({ agents: [office] })
const token = process.env['REEVE_TOKEN']!
const auth = { tokens: { [token]: { name: 'bob', roles: ['admin' as const] } } }
await using server = await listen(createServer({ runtime, auth, protocols: [uiMessages({ agent: 'office' })] }), {
  port: 0,
})

// #region client: what `useChat` does, without React
class Messages implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined
  messages: UIMessage[] = []
  pushMessage = (message: UIMessage) => void this.messages.push(message)
  popMessage = () => void this.messages.pop()
  replaceMessage = (at: number, message: UIMessage) => void (this.messages[at] = message)
  snapshot = <T>(thing: T): T => structuredClone(thing)
}
class Chat extends AbstractChat<UIMessage> {}
const transport = new DefaultChatTransport({ api: `${server.url}/chat`, headers: { Authorization: `Bearer ${token}` } })
const { promise: finished, resolve } = Promise.withResolvers<void>()
const chat = new Chat({
  transport,
  state: new Messages(),
  sendAutomaticallyWhen: answered,
  onFinish: ({ message }) => message.parts.some(({ type }) => type === 'text') && resolve(),
})
// #endregion

await chat.sendMessage({ text: 'Greet Ann.' })
const [asked] = chat.messages
  .at(-1)!
  .parts.filter((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested')
assert.ok(asked?.type === 'dynamic-tool' && asked.state === 'approval-requested')
console.log(`the worker asks for ${asked.toolName}`, asked.input)
await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true })
await finished
const text = chat.messages
  .at(-1)!
  .parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  .join('')
console.log(text)
assert.match(text, /It is done/)
