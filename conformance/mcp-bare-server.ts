/**
 * A bare server of the official package, without Reeve: what it fails is not ours. Prints its address; for the baseline
 * in mcp-baseline.yaml.
 */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bare', version: '1' })
  server.registerTool('hello', { description: 'Says hello.' }, () => ({ content: [{ type: 'text', text: 'hello' }] }))
  return server
})
const server = serve({ fetch: (request) => handler.fetch(request), hostname: '127.0.0.1', port: 0 }, () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
)
