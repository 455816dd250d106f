/** An MCP server of somebody else. */
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const server = new McpServer({ name: 'orders', version: '1' })
const about = {
  description: 'Finds an order.',
  inputSchema: z.object({ id: z.string() }),
  annotations: { readOnlyHint: true },
}
server.registerTool('find_order', about, ({ id }) => ({ content: [{ type: 'text', text: `order ${id}: sent` }] }))
await server.connect(new StdioServerTransport())
