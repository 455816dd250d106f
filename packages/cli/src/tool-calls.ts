/**
 * Tool calls: which tool, with which arguments, stands behind an address of a journal.
 *
 * Owns: names for addresses, the arguments of a call, the calls that failed for good. Does not own: how a journal
 * records them (journal).
 */
import { visible, visibleLine, describeOutcome, isObject, type Json, type Outcome } from '@reeve/core'
import type { Recorded } from '@reeve/runtime'
import { argumentsLine } from './request-text.ts'

/** A call of a tool. `input`: absent if its arguments are not in the journal. */
export interface RecordedCall {
  readonly tool: string
  readonly input?: Json
}

/** A call with its arguments on one line. */
export const callText = ({ tool, input }: RecordedCall): string =>
  `${visible(tool)}${input === undefined ? '' : ` with ${argumentsLine(input)}`}`

/** Names the effects of a run, from its first event on: a tool by its name, a model by its id, a step by its address. */
export class EffectNames {
  readonly #names = new Map<string, string>()

  /** Takes the next event. */
  take({ activation, event }: Pick<Recorded, 'activation' | 'event'>): void {
    if (event.type === 'tool.called') this.#names.set(`${activation} ${event.address}`, event.tool)
    if (event.type === 'model.requested') this.#names.set(`${activation} ${event.address}`, event.model)
  }

  /** The name of the effect at an address. */
  of(activation: string, address: string): string {
    return visible(this.#names.get(`${activation} ${address}`) ?? address)
  }
}

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

/** Whether an effect ended without a result and was not called off. */
export const failedForGood = ({ status }: Outcome): boolean => status === 'failed' || status === 'timed-out'

/** How an effect failed for good, after how many attempts. */
export const lastFailureText = (outcome: Outcome, attempts = 1): string =>
  `${visibleLine(describeOutcome(outcome))}${attempts === 1 ? '' : ` (attempt ${attempts}, the last)`}`

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
