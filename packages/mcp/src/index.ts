/**
 * `reeve/mcp`: teams for MCP clients (`mcpServer`, `serveMcpStdio`), and tools of MCP servers for agents (`mcp`).
 *
 * Owns: what the subpath exports. Needs the optional peer `@modelcontextprotocol/server` to serve, and
 * `@modelcontextprotocol/client` to call.
 */
export { mcpServer, type McpServerOptions } from './server-protocol.ts'
export { serveMcpStdio, type McpStdioOptions } from './stdio.ts'
export type { StdioOptions } from './tool-server.ts'
export { mcp, type McpOptions, type McpTools } from './client-tools.ts'
export type { McpToolRules } from './tool-definition.ts'
