/**
 * `reeve content`: a large result of a run, which stands beside its journal. As it is into a file or a pipe; on a
 * terminal its control characters are visible.
 */
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'

/** Prints a content of a run. */
export function content(
  { terminal, options, cwd, interrupted }: CommandContext,
  id: string,
  name: string,
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    let isOpen = false
    for await (const piece of runtime.handle(id).contentPieces(name)) {
      if (interrupted.aborted) return exits.interrupted
      await terminal.piece(piece)
      isOpen = piece !== '' && !piece.endsWith('\n')
    }
    // a prompt begins on a line of its own
    if (isOpen && terminal.isLive) terminal.line()
    return exits.done
  })
}
