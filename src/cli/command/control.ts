/**
 * `reeve pause`, `reeve stop` and `reeve cancel`: an operator's word to a run. Own: nothing but the words; whoever
 * drives the run obeys.
 */
import { present } from '../../core/index.ts'
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { furtherCommand, resumeCommand } from '../going-on.ts'
import { look } from '../store.ts'

/** Pauses a run before its next effect. */
export function pause(context: CommandContext, run: string, { reason }: { readonly reason?: string }): Promise<Exit> {
  const { terminal, options, cwd } = context
  return look(options, cwd, async (runtime, place) => {
    await runtime.handle(run).control.pause({ by: 'cli', ...(reason === undefined ? {} : { reason }) })
    const further = await resumeCommand({ context, runtime, place, run })
    terminal.line(`The run ${run} pauses before its next effect. Let it go on with:\n  ${further}`)
    return exits.done
  })
}

/** Ends one delegation; the run goes on without it. */
export function stop(
  { terminal, options, cwd }: CommandContext,
  run: string,
  delegation: string,
  { reason }: { readonly reason?: string },
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    await runtime.handle(run).control.stop({ delegation, by: 'cli', ...(reason === undefined ? {} : { reason }) })
    terminal.line(`The leader of ${delegation} is told to stop it. The run ${run} goes on.`)
    return exits.done
  })
}

/**
 * Ends a run. A run that nobody drives ends as soon as somebody does: with a store that may be this user, with an
 * engine it is a worker.
 */
export function cancel(
  context: CommandContext,
  run: string,
  { reason, undo }: { readonly reason?: string; readonly undo?: boolean },
): Promise<Exit> {
  const { terminal, options, cwd } = context
  return look(options, cwd, async (runtime, place) => {
    await runtime.handle(run).control.cancel(reason, 'cli', present({ undo }))
    const further = await furtherCommand({ context, runtime, place, run })
    terminal.line(`The run ${run} is told to end. If nothing drives it now, it ends with:\n  ${further}`)
    return exits.done
  })
}
