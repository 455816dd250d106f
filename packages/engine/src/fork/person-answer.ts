/**
 * A person's answer at a fork point: an edit cannot give it in another's place.
 *
 * Owns: whether the end at the fork point is what a person answered, and what the fork has without that answer. Does not
 * own: what becomes of a question that is open there (fork-cut.ts). Pure.
 * Holds: an answer is given by whoever may answer, in the run that asks: whoever forks may have less right than that.
 */
import { childActivation } from '@reeve/core'
import { isNotice, type JournalEvent, type Recorded } from '@reeve/journal'
import { isValueStep } from '../replay/value-steps.ts'

/**
 * The prefix without the answer in which its last event consists: the end of the question itself, or of workers whose
 * last arrival it was (a person as an agent, a tool that asks). The question is open then, and the fork asks it again.
 * Undefined: that end is no person's answer.
 */
export function withoutAnswer(prefix: readonly Recorded[]): readonly Recorded[] | undefined {
  const out = new Set<Recorded>()
  for (let end = prefix.at(-1); end !== undefined;) {
    out.add(end)
    if (end.event.type === 'ask.settled')
      return isOfPerson(prefix, end) ? prefix.filter((each) => !out.has(each)) : undefined
    const ended = endedBy(end)
    if (ended === undefined) return undefined
    const log = prefix.filter(({ activation }) => activation === ended)
    const last = log.findLastIndex((each) => isCause(prefix, each))
    for (const each of last === -1 ? [] : log.slice(last)) out.add(each)
    end = log[last]
  }
  return undefined
}

/** The activation whose end this event tells. */
const endedBy = ({ activation, event }: Recorded): string | undefined =>
  event.type === 'worker.settled'
    ? childActivation(activation, event.address)
    : event.type === 'activation.settled'
      ? activation
      : undefined

/** An arrival by which work goes on: none of the clock, of a notice, of a value that was read or written. */
function isCause(prefix: readonly Recorded[], recorded: Recorded): boolean {
  const { event } = recorded
  if (event.type === 'ask.settled') return isOfPerson(prefix, recorded)
  if (event.type === 'worker.settled') return !isNotice(event.address.slice(event.address.lastIndexOf('/') + 1))
  return event.type === 'step.settled' && !isValueStep(event.address)
}

/** Whether the question that has ended was put to a person. */
const isOfPerson = (prefix: readonly Recorded[], { activation, event }: Recorded): boolean =>
  event.type === 'ask.settled' &&
  prefix.some(
    (each) => each.activation === activation && isQuestion(each.event) && each.event.address === event.address,
  )

const isQuestion = (event: JournalEvent) => event.type === 'approval.requested' || event.type === 'interrupt.raised'
