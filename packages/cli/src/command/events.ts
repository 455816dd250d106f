/** `reeve events`: the events of a run as lines or NDJSON, up to now or until its end. Reading changes no run (K9). */
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { eventLines } from '../event-lines.ts'
import { withRuns } from '../store.ts'
import type { Recorded } from '@reeve/runtime'

/** Prints the events of a run. */
export function events(
  { terminal, options, cwd, interrupted }: CommandContext,
  id: string,
  {
    follow = false,
    json = false,
    from = 0,
  }: { readonly follow?: boolean; readonly json?: boolean; readonly from?: number },
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const lineOf = eventLines()
    const print = (recorded: Recorded): void => {
      const line = json ? JSON.stringify(recorded) : lineOf(recorded)
      if (line !== undefined && recorded.position > from) terminal.line(line)
    }
    const end = follow ? undefined : (await runtime.handle(id).view()).position
    for await (const recorded of runtime.handle(id).events({ from: 0, signal: interrupted })) {
      print(recorded)
      if (end !== undefined && recorded.position >= end) break
    }
    return interrupted.aborted ? exits.interrupted : exits.done
  })
}
