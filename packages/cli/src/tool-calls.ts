/**
 * Tool calls: which tool, with which arguments, stands behind an address of a journal.
 *
 * Owns: the arguments of a call, the calls that failed for good. Does not own: how a journal records them, the names of
 * effects (journal).
 */
import { argumentsLine, isObject, visible, type Json } from '@reeve/core'
import { EffectNames, failedForGood, lastFailureText } from '@reeve/journal'
import type { Recorded } from '@reeve/runtime'

/** A call of a tool. `input`: absent if its arguments are not in the journal. */
export interface RecordedCall {
  readonly tool: string
  readonly input?: Json
}

/** A call with its arguments on one line. */
export const callText = ({ tool, input }: RecordedCall): string =>
  `${visible(tool)}${input === undefined ? '' : ` with ${argumentsLine(input)}`}`

/** The call at an address; undefined if none is recorded there. */
export function callAt(events: readonly Recorded[], activation: string, address: string): RecordedCall | undefined {
  const own = events.filter((each) => each.activation === activation)
  const called = own.findLast(({ event }) => event.type === 'tool.called' && event.address === address)?.event
  if (called?.type !== 'tool.called') return undefined
  const {
    tool,
    callId,
    input = own.map(({ event }) => inputOf(event, callId)).findLast((each) => each !== undefined),
  } = called
  return { tool, ...(input === undefined ? {} : { input }) }
}

/** The arguments that a model gave a call in its answer. */
function inputOf(event: Recorded['event'], callId: string | undefined): Json | undefined {
  if (callId === undefined || event.type !== 'step.settled' || event.outcome.status !== 'completed') return undefined
  const { output } = event.outcome
  const calls: unknown = isObject(output) ? output['calls'] : undefined
  const call = Array.isArray(calls) ? calls.find((each) => isObject(each) && each['id'] === callId) : undefined
  return isObject(call) ? call['input'] : undefined
}

/** The most failed calls that are listed. */
const mostFailures = 10

/** A line for each tool call that failed for good, the newest last. `more`: the command that shows those left out. */
export function failedCallLines(events: readonly Recorded[], more: string): readonly string[] {
  const names = new EffectNames()
  const agents = new Map<string, string>()
  const tools = new Set<string>()
  const lines: string[] = []
  for (const { activation, event } of events) {
    names.take({ activation, event })
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    if (event.type === 'tool.called') tools.add(`${activation} ${event.address}`)
    if (event.type === 'step.settled' && failedForGood(event.outcome) && tools.has(`${activation} ${event.address}`))
      lines.push(
        `failed call: ${names.of(activation, event.address)} (${visible(agents.get(activation) ?? '?')}) ${lastFailureText(event.outcome, event.attempts)}`,
      )
  }
  const left = lines.length - mostFailures
  return left <= 0 ? lines : [`${left} more failed calls: ${more}`, ...lines.slice(left)]
}
