/**
 * MCP in both directions: a team that any MCP client may use, and an agent that uses the tools of an MCP server. Here
 * the one is the client of the other. Needs @modelcontextprotocol/server and @modelcontextprotocol/client.
 */
import { agent, createRuntime, type JsonObject } from 'reeve'
import { mcp, mcpServer } from 'reeve/mcp'
import { createServer, listen } from 'reeve/server'

const token = 'a token of 24 characters or more'.replaceAll(' ', '-')
const translator = agent({
  name: 'translator',
  description: 'Translates a word into French.',
  run: (_ctx, word) => ({ bread: 'pain', milk: 'lait' })[word] ?? 'I do not know.',
})

// #region server
const runtime = await createRuntime({ agents: [translator] })
const auth = { tokens: { [token]: { name: 'desk', roles: ['operator' as const] } } }
const server = await listen(createServer({ runtime, auth, protocols: [mcpServer()] }), { port: 0 })
// #endregion

// #region client
const tools = await mcp({ url: `${server.url}/mcp`, headers: { Authorization: `Bearer ${token}` } })
const helper = agent({ name: 'helper', description: 'Helps.', tools, model: rules })
// #endregion

/** The place of a language model: it asks for one translation and says what it was told. */
function rules({ messages }: { messages: readonly { role: string; content: unknown }[] }) {
  const last = messages.at(-1)!
  if (last.role !== 'tool') return { calls: [{ name: 'start_run', input: { input: 'bread', key: 'order-7' } }] }
  const { outcome } = last.content as { outcome: JsonObject }
  return `bread is ${JSON.stringify(outcome['output'])}`
}

const home = await createRuntime({ agents: [helper] })
console.log(tools.map(({ name }) => name).join(', '))
const ended = await home.run('helper', 'What is bread in French?')
console.log(ended.status === 'completed' ? ended.output : ended)
const [run] = await runtime.runs()
console.log(`${run!.agent} worked for ${run!.caller.user}`)

await home.close()
await tools.close()
await server.close()
await runtime.close()
