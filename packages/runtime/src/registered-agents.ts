/**
 * Registered agents as data: what a caller may start, and what each can do.
 *
 * Owns: the description of an agent. Does not own: the registry (registry.ts).
 */
import { toolAgent, present, type JsonObject } from '@reeve/core'
import type { Agent } from '@reeve/agent'
import type { Agents } from './registry.ts'

/** An agent that is registered here, as data. */
export interface RegisteredAgent {
  readonly name: string
  readonly version: string
  readonly description?: string
  /** JSON Schema of its input. Absent: a text. */
  readonly inputSchema?: JsonObject
  /** The instructions of its model, as its definition says them. Absent: it has none, or they are not shown. */
  readonly instructions?: string
  /** Its own tools, without those that Reeve gives to leaders and members. */
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly inputSchema?: JsonObject
    /** Its model is not sent it before it finds it by search. Absent: it is always sent. */
    readonly searchable?: true
  }[]
  /** The names of its current workers or members. */
  readonly workers: readonly string[]
  /** The tenants that it belongs to. Absent: it is everybody's. */
  readonly tenants?: readonly string[]
}

/** Every agent in its newest version, by name. Tools that are agents inside are part of their agent. */
export function registeredAgents(registry: Agents): readonly RegisteredAgent[] {
  const ownersOf = registry.owners()
  return registry.names
    .flatMap((name) => registry.named(name) ?? [])
    .filter(({ name }) => !name.includes('.'))
    .map((agent) => ({ ...describedAgent(agent), ...present({ tenants: ownersOf(agent) }) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function describedAgent(agent: Agent): RegisteredAgent {
  const { name, version, description, inputSchema } = agent
  const searchable = new Set(agent.searchableTools?.())
  const tools = (agent.tools?.() ?? []).map(({ name: tool, description: what, parameters }) => ({
    name: tool,
    description: what,
    inputSchema: parameters,
    ...(searchable.has(tool) ? { searchable: true as const } : undefined),
  }))
  const own = new Set(tools.map((tool) => toolAgent(name, tool.name)))
  const related = (agent.members?.() ?? agent.related()).map((each) => each.name)
  return {
    name,
    version,
    ...present({
      description: description === '' ? undefined : description,
      inputSchema: inputSchema?.json,
      instructions: agent.instructions?.(),
    }),
    tools,
    workers: agent.team?.() ?? related.filter((each) => !own.has(each)),
  }
}
