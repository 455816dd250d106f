/** Tools of an MCP server for an agent, and the agent for any MCP client. */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { agent, createRuntime } from 'reeve'
import { mcp, mcpServer } from 'reeve/mcp'
import { createServer, listen } from 'reeve/server'

await using tools = await mcp({
  command: process.execPath,
  args: [`${import.meta.dirname}/e-tools.ts`],
  hints: 'trusted',
})
const clerk = agent({ name: 'clerk', instructions: 'Say where an order is.', tools, model: 'openai/gpt-5-mini' })
await using runtime = await createRuntime({ agents: [clerk] })

// #region serve
const auth = { tokens: { [process.env['REEVE_TOKEN']!]: { name: 'ann', roles: ['operator' as const] } } }
await using server = await listen(createServer({ runtime, auth, protocols: [mcpServer()] }), { port: 0 })
// #endregion

const client = new Client({ name: 'somebody', version: '1' })
const headers = { Authorization: `Bearer ${process.env['REEVE_TOKEN']!}` }
await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }))
const { structuredContent } = await client.callTool({ name: 'start_run', arguments: { input: 'Where is order 7?' } })
await client.close()
console.log(JSON.stringify((structuredContent as { outcome: unknown }).outcome))
assert.match(JSON.stringify(structuredContent), /It is done: .*order 7: sent/)
