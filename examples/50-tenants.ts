/**
 * Each tenant has its own key and its own address of a model: a team per tenant, of one definition. The two servers
 * here stand for two accounts; they note with which key they are asked.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { agent, createRuntime, supervisor, tool } from 'reeve'

const seen: string[] = []
/** A server that speaks the chat protocol of OpenAI, and the address at which it does. */
async function account(name: string) {
  const server = createServer((request, response) => {
    seen.push(`${name}: ${request.headers.authorization}`)
    const chunk = { id: '1', created: 0, model: 'small', object: 'chat.completion.chunk' }
    const choice = { index: 0, delta: { role: 'assistant', content: `Hello from ${name}.` }, finish_reason: 'stop' }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\ndata: [DONE]\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}
const [acme, globex] = [await account('acme'), await account('globex')]

// #region team
interface Tenant {
  readonly name: string
  readonly apiKey: string // from your vault: no key is ever recorded
  readonly baseURL: string
}

const rate = tool({ name: 'rate', effect: 'read', execute: () => 4 })
function supportOf({ name, apiKey, baseURL }: Tenant) {
  const model = createOpenAICompatible({ name, apiKey, baseURL }).chatModel('small')
  const clerk = agent({ name: `clerk_${name}`, description: 'Knows the rates.', model, tools: [rate] })
  return supervisor({ name: `support_${name}`, model, workers: [clerk] })
}
// #endregion

const tenants: readonly Tenant[] = [
  { name: 'acme', apiKey: 'key-of-acme', baseURL: acme.baseURL },
  { name: 'globex', apiKey: 'key-of-globex', baseURL: globex.baseURL },
]
// #region run
await using runtime = await createRuntime({
  store: ':memory:',
  agents: tenants.map(supportOf),
  tenants: { acme: { agents: ['support_acme'] }, globex: { agents: ['support_globex'] } },
})
for (const { name } of tenants) {
  const outcome = await runtime.run(`support_${name}`, 'Hello.', { tenant: name })
  console.log(name, outcome.status === 'completed' ? outcome.output : outcome)
}
const runs = await runtime.runs({ tenant: 'acme' }) // those of one tenant
// #endregion
// to acme, globex's team is not there: its key is lent to nobody
await assert.rejects(runtime.run('support_globex', 'Hello.', { tenant: 'acme' }), /is not registered/)
assert.deepEqual(seen, ['acme: Bearer key-of-acme', 'globex: Bearer key-of-globex'])
assert.deepEqual(
  runs.map(({ agent }) => agent),
  ['support_acme'],
)
for (const { server } of [acme, globex]) server.close()
