/**
 * Live display of a run: as a tree redrawn in place, as plain lines, or as NDJSON.
 *
 * Owns: the choice of the three, the redrawing; the display is complete up to the position where it stops. Does not
 * own: decisions (watch.ts), the content of a line (event-lines.ts, tree.ts). A display never changes a run (K9).
 */
import { pause, stopwatch } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { eventLines } from './event-lines.ts'
import type { Terminal } from './terminal.ts'
import { Painter, treeLines } from './tree.ts'

/** How a run is displayed. */
export interface DisplayOptions {
  readonly terminal: Terminal
  readonly json: boolean
  /** Skips events up to this position, except in the tree. */
  readonly from?: number
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** The display of a run. */
export interface RunDisplay {
  /** Resolves when the run has ended and all its events are displayed, or the display was stopped. */
  readonly done: Promise<void>
  /** Displays the events up to now, then stops. Resolves to the last position. */
  stop(): Promise<number>
}

/** Starts the display of a run. */
export function showRun(run: Run, options: DisplayOptions): RunDisplay {
  return !options.json && options.terminal.isLive ? asTree(run, options) : asLines(run, options)
}

function asLines(run: Run, { terminal, json, from = 0, interrupted }: DisplayOptions): RunDisplay {
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

function asTree(run: Run, { terminal, interrupted }: DisplayOptions): RunDisplay {
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
