/**
 * The end of a command that drives runs: what is under way has its time of grace, and the terminal says what is waited
 * for.
 *
 * Owns: the lines about it, what another Ctrl-C does meanwhile. Does not own: the grace itself (the engine), the second
 * signal of a command that was told to stop (main.ts).
 */
import type { Runtime, UnderWay } from '@reeve/runtime'
import type { CommandContext } from './context.ts'

/** Disposed at the end of a command: closes the runtime in order. It stands after the runtime, so it comes first. */
export function orderlyEnd(
  runtime: Runtime,
  context: Pick<CommandContext, 'terminal' | 'interrupted'>,
): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => closeInOrder(runtime, context) }
}

async function closeInOrder(
  runtime: Runtime,
  { terminal, interrupted }: Pick<CommandContext, 'terminal' | 'interrupted'>,
): Promise<void> {
  let isFirst = true
  // a command that comes to its end by itself has not used its first Ctrl-C
  const endNow = (): void => void runtime.close({ graceMs: 0 })
  const onWaiting = (underWay: UnderWay, leftMs: number): void => {
    const what = shownWork(underWay)
    if (what === '') return
    terminal.note(
      isFirst
        ? `Waiting for ${what}, ${Math.ceil(leftMs / 1_000)} s at most; Ctrl-C${interrupted.aborted ? ' again' : ''} ends it at once.`
        : `Waiting for ${what}.`,
    )
    if (isFirst && !interrupted.aborted) interrupted.addEventListener('abort', endNow, { once: true })
    isFirst = false
  }
  try {
    await runtime.close({ onWaiting })
  } finally {
    interrupted.removeEventListener('abort', endNow)
  }
}

/** What is under way, in words: "2 model calls and 1 tool call". */
function shownWork({ modelCalls, toolCalls, steps }: UnderWay): string {
  const counted = (count: number, what: string): string[] =>
    count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`]
  const parts = [...counted(modelCalls, 'model call'), ...counted(toolCalls, 'tool call'), ...counted(steps, 'step')]
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(parts)
}
