/**
 * Event lines: what the events of a run say to people, one line each.
 *
 * Owns: what sentences are told besides their event: the agent, the name of the effect, what was said before. Does not
 * own: the sentences (events/event-table.ts), the time before a line, and where it is printed or drawn. Pure.
 * Holds: every control character is visible.
 */
import { visible } from '@reeve/core'
import type { EventRow, LineContext } from './events/event-row.ts'
import { rowOf } from './events/event-table.ts'
import { isNotice, type JournalEvent } from './events/events.ts'
import { answeredText, failedForGood, lastFailureText } from './events/line-text.ts'

export { answeredText, failedForGood, lastFailureText }

/** An event, and whose it is. `agent`: where it is not known from the events before. */
export interface SaidEvent {
  readonly activation: string
  readonly event: JournalEvent
  readonly agent?: string
}

/** Names the effects of a run: a tool by its name, a model by its id, a step by its address. */
export class EffectNames {
  readonly #names = new Map<string, string>()

  /** Takes the next event. */
  take({ activation, event }: SaidEvent): void {
    if (event.type === 'tool.called') this.#names.set(`${activation} ${event.address}`, event.tool)
    if (event.type === 'model.requested') this.#names.set(`${activation} ${event.address}`, event.model)
  }

  /** The name of the effect at an address. */
  of(activation: string, address: string): string {
    return visible(this.#names.get(`${activation} ${address}`) ?? address)
  }
}

type RowText = (row: EventRow<JournalEvent>, event: JournalEvent, context: LineContext) => string | undefined

/** Takes the events of a run in their order, and says of each what `textOf` makes of its row. */
function lines(textOf: RowText): (given: SaidEvent) => string | undefined {
  const agents = new Map<string, string>()
  const asked = new Map<string, string>()
  const names = new EffectNames()
  const doubted = new Set<string>()
  // effects whose failure would be missed: tools, and what has a line for a failed attempt
  const shown = new Set<string>()
  return (given) => {
    const { activation, event } = given
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    names.take(given)
    const address = 'address' in event ? event.address : undefined
    const place = `${activation} ${address}`
    if (event.type === 'interrupt.raised') asked.set(place, event.id)
    if (event.type === 'tool.called' || event.type === 'step.attempt-failed') shown.add(place)
    if (event.type === 'effect.in-doubt') doubted.add(place)
    const hasEnded = event.type === 'step.settled'
    const text = textOf(rowOf(event), event, {
      agent: given.agent ?? agents.get(activation) ?? '?',
      effect: address === undefined ? '' : names.of(activation, address),
      interrupt: event.type === 'ask.settled' ? asked.get(place) : undefined,
      wasShown: hasEnded && shown.delete(place),
      wasInDoubt: hasEnded && doubted.delete(place),
    })
    if (event.type === 'effect.cleared') doubted.delete(place)
    return text === undefined ? undefined : visible(text)
  }
}

const lineOf: RowText = ({ line }, event, context) => (typeof line === 'string' ? undefined : line(event, context))

/**
 * The lines of a log: a function that takes the events of a run, from the first on. Undefined for what only matters to
 * the engine, and for what another line says.
 */
export const eventLines = (): ((given: SaidEvent) => string | undefined) =>
  // notices run in an activation of their own; their result is an event of the agent that asks
  lines((row, event, context) =>
    isNotice(context.agent) && event.type !== 'step.attempt-failed' ? undefined : lineOf(row, event, context),
  )

/**
 * A line for every event, where each is shown: that of the log, else what its row says for this. The events may be a part
 * of a run: an effect that began before is called by its address.
 */
export const entryLines = (): ((given: SaidEvent) => string) => {
  const toText = lines((row, event, context) => lineOf(row, event, context) ?? row.entry?.(event, context))
  return (given) => toText(given) ?? ''
}
