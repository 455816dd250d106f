/**
 * An agent with the 600 tools of an MCP server, on a provider that takes 128. Started as a script it is the process that
 * is killed. Arguments: the store, the address of the server, the model, the options of `resolveModel` as JSON.
 */
import { agent, searchable, type Agent } from '@reeve/agent'
import { mcp, type McpTools } from '@reeve/mcp'
import { resolveModel, type Model, type ResolveOptions } from '@reeve/model'
import { createRuntime } from '@reeve/runtime'

export const services = ['tracker', 'mail', 'files', 'billing', 'sales']
export const verbs = ['create', 'list', 'read', 'update', 'delete', 'search']
export const objects = Array.from({ length: 20 }, (_, i) => `item${String.fromCharCode(97 + i)}`)

/** The agent, and the tools to close. */
export async function clerkOn(model: Model, url: string): Promise<{ readonly clerk: Agent; readonly tools: McpTools }> {
  const tools = await mcp({ url, name: 'office', hints: 'trusted' })
  const retry = { attempts: 1 }
  return { clerk: agent({ name: 'clerk', model, retry, tools: [searchable(tools)] }), tools }
}

if (import.meta.main) {
  const [store, url, model, options] = process.argv.slice(2) as [string, string, string, string]
  const { clerk } = await clerkOn(resolveModel(model, JSON.parse(options) as ResolveOptions), url)
  const runtime = await createRuntime({ store, agents: [clerk] })
  await runtime.start('clerk', 'Create item c in billing.', { runId: 'r' })
}
