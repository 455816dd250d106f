/**
 * One team, reached by a user interface over AG-UI and by another agent over A2A. The approval inside it is an
 * interrupt to the one, and a task that requires input to the other. Here plain requests stand in for their clients.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, tool } from 'reeve'
// #region setup
import { a2a } from 'reeve/a2a'
import { agUi } from 'reeve/ag-ui'
import { createServer, listen } from 'reeve/server'
// #endregion
import { z } from 'zod'

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  sensitive: true,
  execute: ({ to }) => ({ sent: to }),
})
const postman = agent({
  name: 'postman',
  description: 'Sends mails.',
  tools: [sendMail],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'It is sent.' : { calls: [{ name: 'send_mail', input: { to: 'ann' } }] },
})

await using runtime = await createRuntime({ agents: [postman] })
// #region serve
const server = createServer({ runtime, protocols: [agUi({ agent: postman }), a2a({ agents: [postman] })] })
const listening = await listen(server, { port: 0 })
// #endregion

const post = async (path: string, body: object): Promise<string> => {
  const headers = {
    Authorization: `Bearer ${server.token}`,
    'Content-Type': 'application/json',
    'A2A-Version': '1.0',
  }
  const response = await fetch(listening.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(response.status, 200)
  return response.text()
}

// #region ag-ui
interface AgUiEvent {
  readonly type: string
  readonly outcome?: { readonly type: string; readonly interrupts?: readonly { id: string; message: string }[] }
}
const run = async (body: object): Promise<readonly AgUiEvent[]> => {
  const stream = await post('/ag-ui', { threadId: 'thread-1', messages: [], ...body })
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as AgUiEvent)
}
const first = await run({ runId: 'run-1', messages: [{ id: 'm1', role: 'user', content: 'Write to Ann.' }] })
const [interrupt] = first.at(-1)!.outcome!.interrupts!
console.log('AG-UI:', interrupt!.message)
const entry = { interruptId: interrupt!.id, status: 'resolved', payload: { approved: true } }
const second = await run({ runId: 'run-2', resume: [entry] })
console.log('AG-UI:', second.map(({ type }) => type).join(' '))
// #endregion

// #region a2a
interface Task {
  readonly id: string
  readonly status: {
    readonly state: string
    readonly message?: { readonly parts: readonly { data?: { id: string } }[] }
  }
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
}
const send = async (message: object): Promise<Task> =>
  (JSON.parse(await post('/a2a/postman/message:send', { message })) as { task: Task }).task
const task = await send({ messageId: 'a1', role: 'ROLE_USER', parts: [{ text: 'Write to Ann.' }] })
const asked = task.status.message!.parts.flatMap(({ data }) => data ?? [])[0]!
console.log('A2A:', task.status.state)
const decision = { data: { id: asked.id, decision: 'approve' } }
const done = await send({ messageId: 'a2', role: 'ROLE_USER', taskId: task.id, parts: [decision] })
console.log('A2A:', done.status.state, done.artifacts?.[0]?.parts[0]?.text)
// #endregion
await listening.close()
assert.equal(second.at(-1)!.outcome!.type, 'success')
assert.equal(done.status.state, 'TASK_STATE_COMPLETED')
