/**
 * `reeve watch`: one run, or all of them, live; with keys to decide at a terminal, as lines elsewhere.
 *
 * Owns: the choice between the two, the lines. Does not own: the screen (console/). Drives no run.
 */
import { visible } from '@reeve/core'
import type { Recorded, Run, Runtime } from '@reeve/runtime'
import { ConsoleSession } from '../console/session.ts'
import { whereOf, type CommandContext } from '../context.ts'
import { eventLines } from '../event-lines.ts'
import { exitOf, exits, type Exit } from '../exit.ts'
import { undrivenLine } from '../next-command.ts'
import { withRuns } from '../store.ts'

/** Watches until its user leaves; without a terminal, until the run has ended. */
export function watch(context: CommandContext, run: string | undefined): Promise<Exit> {
  const { terminal, options, cwd, interrupted } = context
  return withRuns(options, cwd, async (runtime, place) => {
    // an unknown run is an error here, and not on the screen
    if (run !== undefined) await runtime.handle(run).view()
    const { VISUAL: visual, EDITOR: editor = visual } = process.env
    if (terminal.isLive && terminal.canAsk && terminal.takeScreen !== undefined)
      return new ConsoleSession(runtime, run, {
        terminal,
        interrupted,
        editor: editor === '' ? undefined : editor,
        where: whereOf(options),
        undrivenLine: (of, agent) => undrivenLine({ context, runtime, place, run: of, agent }),
      }).show()
    const write = (text: string): void => terminal.line(text)
    return run === undefined
      ? linesOfAll(runtime, write, interrupted)
      : linesOfRun(runtime.handle(run), write, interrupted)
  })
}

async function linesOfRun(run: Run, write: (text: string) => void, signal: AbortSignal): Promise<Exit> {
  const lineOf = eventLines()
  for await (const recorded of run.events({ signal })) {
    const line = lineOf(recorded)
    if (line !== undefined) write(line)
  }
  const { outcome } = await run.view()
  return outcome === undefined ? exits.interrupted : exitOf(outcome.status)
}

/** What waits and runs now, then a line for each change. */
async function linesOfAll(runtime: Runtime, write: (text: string) => void, signal: AbortSignal): Promise<Exit> {
  // from before what is listed: a change in between comes twice rather than not at all
  const feed = runtime.feed({ from: 'now', signal })
  const first = feed.next()
  for (const { run, id, kind } of await runtime.questions()) write(`${visible(run)}  waits: ${kind} ${visible(id)}`)
  for (const { run, status, agent } of await runtime.runs({ status: ['running', 'paused', 'stuck'], limit: 200 }))
    write(`${visible(run)}  ${status}: ${visible(agent)}`)
  const formats = new Map<string, (recorded: Recorded) => string | undefined>()
  for (let next = await first; next.done !== true; next = await feed.next()) {
    const event = next.value
    const format = formats.get(event.run) ?? (await formatOf(runtime, event.run, event.position))
    formats.set(event.run, format)
    const line = format(event)
    if (line !== undefined) write(`${visible(event.run)}  ${line}`)
    // a run that has ended says nothing more
    if (event.event.type === 'activation.settled' && event.activation === `act_${event.run}`) formats.delete(event.run)
  }
  return exits.interrupted
}

/** The lines of a run that began before: it knows who works where. */
async function formatOf(
  runtime: Runtime,
  run: string,
  before: number,
): Promise<(recorded: Recorded) => string | undefined> {
  const format = eventLines()
  for await (const recorded of runtime.handle(run).events()) {
    if (recorded.position >= before) break
    format(recorded)
  }
  return format
}
