/** `reeve runs`: the runs of a store, newest first. Owns: the table. */
import { visible, visibleLine } from '../../core/index.ts'
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'
import { duration } from '../tree.ts'
import type { RunStatus } from '../../runtime/index.ts'
import type { Style } from '../terminal.ts'

const colours: Partial<Record<RunStatus, Style>> = {
  completed: 'green',
  bailed: 'green',
  failed: 'red',
  limited: 'red',
  'timed-out': 'red',
  waiting: 'yellow',
  queued: 'yellow',
  stuck: 'yellow',
  running: 'cyan',
}

/** Lists runs. */
export function runs(
  { terminal, options, cwd }: CommandContext,
  { limit, json = false }: { readonly limit: number; readonly json?: boolean },
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const found = await runtime.runs({ limit })
    if (json) {
      for (const run of found) terminal.line(JSON.stringify(run))
      return exits.done
    }
    if (found.length === 0) terminal.line('No runs in this store.')
    const widest = Math.max(0, ...found.map((each) => each.run.length))
    for (const { run, status, agent, createdAt, endedAt, reason, queued } of found) {
      const took = endedAt === undefined ? '' : `  took ${duration(endedAt - createdAt)}`
      terminal.line(
        `${run.padEnd(widest)}  ${terminal.style(colours[status] ?? 'dim', status.padEnd(9))}  ${visible(agent)}  ${new Date(createdAt).toISOString().slice(0, 19)}Z${took}`,
      )
      if (queued !== undefined) terminal.line(`${' '.repeat(widest)}  behind ${queued.behind}`)
      if (reason !== undefined && endedAt === undefined) terminal.line(`${' '.repeat(widest)}  ${visibleLine(reason)}`)
    }
    return exits.done
  })
}
