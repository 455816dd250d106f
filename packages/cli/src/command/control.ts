/**
 * `reeve pause`, `reeve stop` and `reeve cancel`: control commands to a run.
 *
 * Owns: the output. The process that drives the run carries the command out.
 */
import { present } from '@reeve/core'
import { currentUser, type CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { driveCommand, resumeCommand } from '../next-command.ts'
import { withRuns } from '../store.ts'

/** Pauses a run before its next effect. */
export function pause(context: CommandContext, run: string, { reason }: { readonly reason?: string }): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    await runtime.handle(run).control.pause({ by: currentUser(), ...(reason === undefined ? {} : { reason }) })
    const further = await resumeCommand({ context, runtime, place, run })
    terminal.line(`The run ${run} pauses before its next effect. Resume it with:\n  ${further}`)
    return exits.done
  })
}

/** Stops one delegation; the rest of the run continues. */
export function stop(
  { terminal, options, cwd }: CommandContext,
  run: string,
  delegation: string,
  { reason }: { readonly reason?: string },
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    await runtime
      .handle(run)
      .control.stop({ delegation, by: currentUser(), ...(reason === undefined ? {} : { reason }) })
    terminal.line(`Asked the leader of ${delegation} to stop it. The run ${run} continues.`)
    return exits.done
  })
}

/** Cancels a run. If no process drives the run now, it ends when `reeve resume` or a worker next drives it. */
export function cancel(
  context: CommandContext,
  run: string,
  { reason, undo }: { readonly reason?: string; readonly undo?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd } = context
  return withRuns(options, cwd, async (runtime, place) => {
    await runtime.handle(run).control.cancel(reason, currentUser(), present({ undo }))
    const further = await driveCommand({ context, runtime, place, run })
    terminal.line(`Asked the run ${run} to cancel. If no worker is running, end it with:\n  ${further}`)
    return exits.done
  })
}
