/**
 * Failure cause: who failed, at what, and which answers did not fit.
 *
 * Owns: following a failure down to the agent in which it began, and reading the end of that agent's journal. Does not
 * own: reading it from the server, drawing (failure-view.tsx). Pure.
 */
import type { JournalRow, LiveActivation, LiveRun } from '@reeve/server/wire'

export type Failure = Extract<NonNullable<LiveActivation['outcome']>, { status: 'failed' }>['failure']
type Activations = LiveRun['activations']

/** The failure of an activation that failed. */
const failureOf = (view: LiveActivation | undefined): Failure | undefined =>
  view?.outcome?.status === 'failed' ? view.outcome.failure : undefined

/** Of a long message only the beginning is there. */
const comparedCharacters = 100
const isSame = (one: Failure, other: Failure | undefined): boolean =>
  other !== undefined &&
  one.code === other.code &&
  one.message.slice(0, comparedCharacters) === other.message.slice(0, comparedCharacters)

/** Where a failure began: below this activation, the deepest one that failed in the same way. */
export function failedAgent(activations: Activations, root: LiveActivation, failure: Failure): LiveActivation {
  const failedBelow = new Map<string, LiveActivation>()
  // the last one that began: earlier ones were tried again
  for (const view of Object.values(activations))
    if (view.parent !== undefined && isSame(failure, failureOf(view))) failedBelow.set(view.parent, view)
  let at = root
  // an activation is no leader of itself, whatever a journal says
  for (let left = failedBelow.size; left > 0; left -= 1) {
    const next = failedBelow.get(at.activation)
    if (next === undefined) break
    at = next
  }
  return at
}

/** An answer of a model that did not fit, why, and what the model was then told. */
export interface RejectedAnswer {
  readonly answer: string | undefined
  readonly problem: string
  readonly told?: string
}

export interface FailureCause {
  /** The effect that failed: a tool, a model, an address of a step. Absent: the agent itself failed. */
  readonly effect?: { readonly kind: 'tool' | 'model' | 'step'; readonly name: string; readonly attempts: number }
  readonly rejected: readonly RejectedAnswer[]
}

/** `rows`: the end of the journal of the activation that failed. */
export function causeIn(rows: readonly JournalRow[], failure: Failure): FailureCause {
  const begun = new Map<string, NonNullable<FailureCause['effect']>>()
  const rejected: RejectedAnswer[] = []
  let answer: string | undefined
  let effect: FailureCause['effect']
  for (const { event } of rows) {
    if (event.type === 'tool.called') begun.set(event.address, { kind: 'tool', name: event.tool, attempts: 1 })
    if (event.type === 'model.requested') begun.set(event.address, { kind: 'model', name: event.model, attempts: 1 })
    if (event.type === 'step.settled') {
      const { address, outcome, attempts = 1 } = event
      const what = begun.get(address) ?? { kind: 'step', name: address }
      if (outcome.status === 'failed' && isSame(failure, outcome.failure)) effect = { ...what, attempts }
      if (outcome.status === 'completed' && what.kind === 'model') answer = answerText(outcome.output)
    }
    if (event.type === 'output.rejected' && event.purpose === undefined)
      rejected.push({ answer, problem: event.problem, ...(event.told === undefined ? {} : { told: event.told }) })
  }
  // journals of before have the answer alone
  if (failure.code === 'output.invalid' && rejected.length === 0 && answer !== undefined)
    rejected.push({ answer, problem: failure.message })
  return { rejected, ...(effect === undefined ? {} : { effect }) }
}

function answerText(output: unknown): string | undefined {
  if (typeof output !== 'object' || output === null || !Object.hasOwn(output, 'text')) return undefined
  const { text } = output as { readonly text: unknown }
  return typeof text === 'string' ? text : undefined
}
