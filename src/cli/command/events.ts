/** `reeve events`: what happened in a run, as lines or NDJSON, up to now or until its end. Owns: nothing; a reader changes nothing (K9). */
import type { CommandContext } from '../context.ts'
import { exits, usage, type Exit } from '../exit.ts'
import { eventLine } from '../lines.ts'
import { look } from '../store.ts'
import { hasEnded, type Recorded, type Runtime } from '../../runtime/index.ts'

/** Prints the events of a run. */
export function events({ terminal, options, cwd, interrupted }: CommandContext, id: string, { follow = false, json = false, from = 0 }: { readonly follow?: boolean; readonly json?: boolean; readonly from?: number }): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const agents = new Map<string, string>()
    const print = (recorded: Recorded): void => {
      const { activation, event, position } = recorded
      if (event.type === 'activation.started') agents.set(activation, event.agent)
      if (position <= from) return
      const line = json ? JSON.stringify(recorded) : eventLine(recorded, agents.get(activation) ?? '?')
      if (line !== undefined) terminal.line(line)
    }
    const end = follow ? undefined : await lastPosition(runtime, id)
    if (end === 0) return exits.done
    for await (const recorded of runtime.handle(id).events({ from: 0, signal: interrupted })) {
      print(recorded)
      if (end !== undefined && recorded.position >= end) break
    }
    return interrupted.aborted ? exits.interrupted : exits.done
  })
}

/** Where the journal of a run ends now. */
async function lastPosition(runtime: Runtime, id: string): Promise<number> {
  const view = await runtime.handle(id).view()
  if (view.position === 0 && !hasEnded(view.status as 'running')) throw usage(`there is no run "${id}" in this store`, 'List them with: reeve runs')
  return view.position
}
