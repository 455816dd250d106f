/** `reeve diff`: where two runs diverge. Owns: the lines of a difference and their order. */
import { describeOutcome, visible, visibleLine, argumentsLine, preview } from '@reeve/core'
import { diffOf, type JournalEvent, type Recorded, type RunDifference } from '@reeve/runtime'
import type { CommandContext } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { withRuns } from '../store.ts'

/** How the comparison is shown. */
export interface DiffOptions {
  readonly json?: boolean
  readonly limit: number
}

/** Compares two runs. */
export function diff(
  { terminal, options, cwd }: CommandContext,
  one: string,
  other: string,
  { json = false, limit }: DiffOptions,
): Promise<Exit> {
  return withRuns(options, cwd, async (runtime) => {
    const [a, b] = await Promise.all([eventsOf(runtime.handle(one)), eventsOf(runtime.handle(other))])
    const found = diffOf(a, b)
    if (json) {
      terminal.line(JSON.stringify(found))
      return exits.done
    }
    const { same, first, differences } = found
    if (first === undefined) {
      terminal.line(`no difference: ${same} equal entries`)
      return exits.done
    }
    terminal.line(`${same} equal entries; the first difference is at ${placeOf(first)}`)
    for (const each of differences.slice(0, limit)) {
      terminal.line(terminal.style('bold', placeOf(each)))
      if (each.one !== undefined) terminal.line(terminal.style('red', `  - ${eventText(each.one.event)}`))
      if (each.other !== undefined) terminal.line(terminal.style('green', `  + ${eventText(each.other.event)}`))
    }
    const more = differences.length - limit
    if (more > 0) terminal.line(`… and ${more} more: --limit ${differences.length}, or --json`)
    return exits.done
  })
}

/** The events up to now. */
async function eventsOf(run: {
  events(): AsyncIterable<Recorded>
  view(): Promise<{ readonly position: number }>
}): Promise<readonly Recorded[]> {
  const { position } = await run.view()
  const events: Recorded[] = []
  for await (const recorded of run.events()) {
    events.push(recorded)
    if (recorded.position >= position) break
  }
  return events
}

function placeOf({ path, agent, address, one, other }: RunDifference): string {
  const what = (one ?? other)?.event.type ?? ''
  const name = visibleLine(address ?? what)
  return `${visible(agent)}${path === '' ? '' : ` (${visible(path)})`}: ${name}${address === undefined ? '' : ` (${what})`}`
}

/** An event on one line. */
function eventText(event: JournalEvent): string {
  switch (event.type) {
    case 'step.settled':
    case 'worker.settled':
    case 'ask.settled':
    case 'activation.settled':
      return event.outcome.status === 'completed'
        ? preview(event.outcome.output)
        : visibleLine(describeOutcome(event.outcome))
    case 'approval.requested':
      return `asks for approval of ${visible(event.tool)} with ${argumentsLine(event.input)}`
    case 'interrupt.raised':
      return `asks ${preview(event.question)}`
    case 'activation.started':
      return `begins with ${preview(event.input)}`
    case 'tool.called':
      return `calls ${visible(event.tool)}`
    case 'worker.started':
      return `starts ${visible(event.agent)}`
    default:
      return event.type
  }
}
