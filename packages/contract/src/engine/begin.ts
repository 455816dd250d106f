/** Begin: agents as users write them, on the stage of a contract case. */
import { reachableAgents, type Agent } from '@reeve/agent'
import type { RunId } from '@reeve/core'
import { registerAgents, startRequest } from '@reeve/runtime'
import type { Stage } from './stage.ts'

/** Registers an agent with all agents that it can reach, and begins a run of it. */
export async function begin(stage: Stage, root: Agent): Promise<RunId> {
  const registry = registerAgents([root], [], 'move')
  await registry.load()
  stage.agents.push(...reachableAgents([root]).map(({ name }) => registry.find(name)!))
  await stage.drive()
  const request = startRequest(registry.require(root), 'task', { runId: 'flow' })
  await stage.engine.start(request)
  return request.run
}
