/** That an ended run replays: every activation of it does again what its journal says. */
import type { Agent } from '@reeve/agent'
import type { Recorded } from '@reeve/journal'
import { registerAgents } from '../../packages/runtime/src/registry.ts'
import { verifyJournal } from '@reeve/testing'

/** What a replay does otherwise than the journal says; empty where it does the same. */
export async function replayProblems(
  run: { events(): AsyncIterable<Recorded> },
  ...agents: readonly Agent[]
): Promise<readonly string[]> {
  const events: Recorded[] = []
  for await (const each of run.events()) events.push(each)
  return (await verifyJournal(events, registerAgents(agents, [], 'move'))).problems
}
