/**
 * Telling people that something waits for them: over a terminal and a signed webhook, whose receiver fails at first.
 * The run waits meanwhile, whatever becomes of the channels; a notice shows, and only a decision decides.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { agent, createRuntime, tool } from 'reeve'
import { terminal, verifyWebhook, webhook } from 'reeve/notify'

const secret = 'only you and your receiver know it'

// #region receiver
const seen = new Set<string>()
let tries = 0
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
  request.on('end', () => {
    tries++
    const told = verifyWebhook(request.headers, body, secret)
    if (told === undefined) return response.writeHead(401).end()
    if (tries === 1) return response.writeHead(503).end() // it is told again, under the same key
    if (!seen.has(told.key)) console.log(`the receiver heard: ${told.notice.title}`)
    seen.add(told.key)
    return response.writeHead(204).end()
  })
})
// #endregion
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/reeve`

const sent: string[] = []
const sendMail = tool({
  name: 'send_mail',
  sensitive: true,
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  execute: (input) => sent.push((input as { to: string }).to),
})

// #region channels
const postman = agent({
  name: 'postman',
  description: 'Sends mails.',
  tools: [sendMail],
  oversight: { approval: { notify: ['desk', 'hook'] } }, // who is told, by name
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Sent.' : { calls: [{ name: 'send_mail', input: { to: 'ann@example.org' } }] },
})

await using runtime = await createRuntime({
  agents: [postman],
  channels: [terminal({ name: 'desk', write: (text) => console.log(text) }), webhook({ name: 'hook', url, secret })],
})
// #endregion
const run = await runtime.start(postman, 'Greet Ann.')
const told: string[] = []
for await (const { event } of run.events()) {
  if (event.type === 'notice.sent') told.push(event.channel)
  if (told.length === 2) break
}

const [approval] = await runtime.approvals()
await run.decide({ approvalId: approval!.id, decision: 'approve', approver: 'ann' })
const outcome = await run.outcome()
receiver.close()
receiver.closeAllConnections()
console.log(outcome.status, sent, `told: ${told.sort().join(', ')}; tries of the webhook: ${tries}`)
if (outcome.status !== 'completed' || told.join() !== 'desk,hook' || tries !== 2 || sent.length !== 1)
  process.exitCode = 1
