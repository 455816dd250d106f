/**
 * Showing a run while it goes on: as a tree in place, as plain lines, or as NDJSON.
 *
 * Owns: which of the three, that what was shown is complete up to where it stops, the redrawing. Does not own: what is
 * decided (watch.ts), what a line says (lines.ts, tree.ts). Showing changes nothing (K9).
 */
import { stopwatch } from '../core/index.ts'
import type { Run } from '../runtime/index.ts'
import { eventLines } from './lines.ts'
import type { Terminal } from './terminal.ts'
import { Painter, treeLines } from './tree.ts'

/** How a run is shown. */
export interface ShowingOptions {
  readonly terminal: Terminal
  readonly json: boolean
  /** Events up to this position are not shown again, except in the tree. */
  readonly from?: number
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** A run that is being shown. */
export interface Showing {
  /** Resolves when the run has ended and everything is shown, or the showing was stopped. */
  readonly done: Promise<void>
  /** Shows what has happened up to now and no more. Resolves to the last position. */
  stop(): Promise<number>
}

/** Begins to show a run. */
export function showRun(run: Run, options: ShowingOptions): Showing {
  return !options.json && options.terminal.isLive ? asTree(run, options) : asLines(run, options)
}

function asLines(run: Run, { terminal, json, from = 0, interrupted }: ShowingOptions): Showing {
  const stopped = new AbortController()
  const lineOf = eventLines()
  let shown = 0
  let last = Infinity
  const show = async (): Promise<void> => {
    for await (const recorded of run.events({ signal: AbortSignal.any([stopped.signal, interrupted]) })) {
      const { position } = recorded
      const line = json ? JSON.stringify(recorded) : lineOf(recorded)
      if (line !== undefined && position > from) terminal.line(line)
      shown = position
      if (shown >= last) return
    }
  }
  const done = show()
  return {
    done,
    async stop() {
      last = interrupted.aborted ? 0 : (await run.view()).position
      if (shown >= last) stopped.abort()
      await done
      return shown
    },
  }
}

const frameMs = 100

function asTree(run: Run, { terminal, interrupted }: ShowingOptions): Showing {
  const stopped = new AbortController()
  const signal = AbortSignal.any([stopped.signal, interrupted])
  const painter = new Painter(terminal)
  const begun = stopwatch()
  let shown = 0
  const draw = async (): Promise<boolean> => {
    const view = await run.view()
    const frame = Math.floor((stopwatch() - begun) / frameMs)
    painter.draw(
      treeLines(view, {
        now: Date.now(),
        columns: terminal.columns,
        rows: terminal.rows - 2,
        style: terminal.style,
        frame,
      }),
    )
    shown = view.position
    return view.endedAt !== undefined
  }
  const show = async (): Promise<void> => {
    let isOver = false
    while (!isOver && !signal.aborted) {
      isOver = await draw()
      if (!isOver) await pause(frameMs, signal)
    }
    if (!isOver) await draw()
  }
  const done = show()
  return {
    done,
    async stop() {
      stopped.abort()
      await done
      return shown
    },
  }
}

/** Resolves after a while, or at the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    signal.addEventListener('abort', over)
  })
}
