/**
 * Event lines: one line for an event, for people who read a log instead of a tree.
 *
 * Owns: which events have a line and what it says. Does not own: the NDJSON form, which is the event itself.
 */
import { duration } from './tree.ts'
import { describeOutcome, type Outcome, handoffOf, visible, visibleLine } from '@reeve/core'
import { isNotice, type Recorded } from '@reeve/runtime'
import { answeredText, argumentsLine, preview } from './request-text.ts'
import { humanLine } from './oversight-lines.ts'
import { teamLine } from './team-lines.ts'
import { EffectNames, failedForGood, lastFailureText } from './tool-calls.ts'

/**
 * Formats the events of a run, from the first on. The function remembers which agent each activation runs. Undefined
 * for events that only matter to the engine.
 */
export function eventLines(): (recorded: Recorded) => string | undefined {
  const agents = new Map<string, string>()
  const asked = new Map<string, string>()
  const names = new EffectNames()
  const doubted = new Set<string>()
  // effects whose failure would be missed: tools, and what has a line for a failed attempt
  const told = new Set<string>()
  return ({ activation, at, event }) => {
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    // notices run in an activation of their own; their result is an event of the agent that asks
    if (isNotice(agents.get(activation) ?? '') && event.type !== 'step.attempt-failed') return undefined
    if (event.type === 'interrupt.raised') asked.set(`${activation} ${event.address}`, event.id)
    names.take({ activation, event })
    const agent = agents.get(activation) ?? '?'
    const effect = 'address' in event && event.address !== undefined ? names.of(activation, event.address) : ''
    if (event.type === 'tool.called' || event.type === 'step.attempt-failed') told.add(`${activation} ${event.address}`)
    if (event.type === 'effect.in-doubt') doubted.add(`${activation} ${event.address}`)
    const text =
      event.type === 'ask.settled'
        ? interruptEnded(asked.get(`${activation} ${event.address}`), event.outcome)
        : event.type === 'step.settled'
          ? effectEnded(event, `${agent}: ${effect}`, {
              isTold: told.delete(`${activation} ${event.address}`),
              wasInDoubt: doubted.delete(`${activation} ${event.address}`),
            })
          : agentLine(event, agent, effect)
    if (event.type === 'effect.cleared') doubted.delete(`${activation} ${event.address}`)
    return text === undefined ? undefined : `${clock(at)}  ${visible(text)}`
  }
}

/** The end of an interrupt. Approvals have an event of their own; timers have no line. */
const interruptEnded = (id: string | undefined, outcome: Outcome): string | undefined =>
  id === undefined ? undefined : `interrupt ${id} ${answeredText(outcome)}`

/** The end of an effect: one that was in doubt and is settled as happened, or one that failed for good (`isTold`). */
function effectEnded(
  { outcome, attempts }: Extract<Recorded['event'], { type: 'step.settled' }>,
  what: string,
  { isTold, wasInDoubt }: { readonly isTold: boolean; readonly wasInDoubt: boolean },
): string | undefined {
  if (failedForGood(outcome) && isTold) return `${what} ${lastFailureText(outcome, attempts)}`
  return wasInDoubt && outcome.status === 'completed'
    ? `${what} is settled as happened: ${preview(outcome.output)}`
    : undefined
}

const clock = (at: number): string => new Date(at).toISOString().slice(11, 19)

function agentLine(event: Recorded['event'], agent: string, effect: string): string | undefined {
  switch (event.type) {
    case 'notice.sent':
      return `${agent} notified ${event.channel} of ${event.id}`
    case 'notice.failed':
      return `${agent} could not notify ${event.channel} of ${event.id}: ${visibleLine(event.failure.message)}`
    case 'activation.started':
      return isBack(event) ? `${agent} continues` : `${agent} started`
    case 'activation.settled':
      // the next line names the agent that received control
      return handoffOf(event.outcome).action?.type === 'transfer'
        ? undefined
        : `${agent} ${describeOutcome(event.outcome)}${byHand(event.outcome)}`
    case 'tool.called':
      return `${agent} calls ${event.tool}`
    case 'agent.transferred':
      return handedOver(event, agent)
    case 'text.said':
      return `${agent} says: ${visibleLine(event.text)}`
    case 'break.requested':
      return `${agent} asks its loop to end`
    case 'exit.requested':
      return `${agent} ends the ${event.scope === 'run' ? 'run' : 'work of its supervisor'}`
    case 'loop.broken':
      return `${agent} ends after iteration ${event.iteration + 1}, requested by ${event.from}`
    case 'worker.recruited':
      return `${agent} recruits ${event.worker}: ${event.reason}`
    case 'delegation.refused':
      return `${agent} could not delegate to ${event.worker}: ${event.failure.message}`
    case 'tool.refused':
      return `${agent} was refused ${event.tool}: ${event.failure.message}`
    case 'approval.requested':
      return `${agent} asks for approval of ${event.tool} (${event.id}): ${event.reason}; with ${argumentsLine(event.input)}`
    case 'approval.resolved':
      return `approval ${event.id} ${event.resolution}${event.approver === undefined ? '' : ` by ${event.approver}`}`
    case 'interrupt.raised':
      return `${agent} asks (${event.id}): ${preview(event.question)}`
    case 'step.attempt-failed':
      return `${agent}: attempt ${event.attempt} of ${effect} failed: ${event.failure.message}${event.delayMs < 1_000 ? '' : `; the next one in ${duration(event.delayMs)}`}`
    case 'effect.in-doubt':
      if (event.madeBy !== undefined)
        return `${agent}: an earlier attempt (${event.madeBy}) did or began ${effect}; do it again? (${event.id})`
      return event.doneIn === undefined
        ? `${agent}: unknown whether ${effect} happened (${event.id})`
        : `${agent}: the run ${event.doneIn} did or began ${effect}; do it again? (${event.id})`
    case 'model.requested':
      return event.refused?.details?.['later'] === true
        ? `${agent} waits: ${visibleLine(event.refused.message)}`
        : undefined
    case 'agent.moved':
      return `${agent} continues with version ${event.to}`
    default:
      return policyLine(event, agent, effect)
  }
}

/** Hooks, scorers, background delegations, compaction, speakers, grants. */
function policyLine(event: Recorded['event'], agent: string, effect: string): string | undefined {
  switch (event.type) {
    case 'hook.failed':
      return `${agent}: ${visibleLine(event.failure.message)}`
    case 'delegation.deferred':
      return `${agent} continues while ${event.worker} works in the background (${event.delegation})`
    case 'delegation.decided':
      return `${agent} has decided (${event.rule}): ${event.kept.length} kept, ${event.stopped.length} stopped`
    case 'completion.scored':
      return `the answer of ${agent} ${event.passed ? 'passed' : 'was refused'}: ${event.results.map(({ scorer, score }) => `${scorer} ${score}`).join(', ')}`
    case 'context.compacted':
      return `${agent} continues with a summary of ${event.replaced} messages`
    case 'speaker.chosen':
      return `${agent} lets ${event.speaker} speak (round ${event.round})`
    case 'approval.granted':
      return `${agent} may call ${event.tool} without approval: granted before (${event.id})`
    default:
      return humanLine(event, agent, effect) ?? teamLine(event, agent)
  }
}

const byHand = (outcome: Outcome): string =>
  outcome.status === 'completed' && outcome.by !== undefined ? `: done by hand (${visibleLine(outcome.by)})` : ''

/** Whether the agent had control before. Transfers record their path; an agent that is on it already works again. */
const isBack = ({ agent, path }: Extract<Recorded['event'], { type: 'activation.started' }>): boolean =>
  path?.slice(0, -1).includes(agent) === true

/** A transfer. `leader`: the agent that recorded it; `by: 'rule'` means that no agent chose the transfer. */
function handedOver(
  { from, to, by, task }: Extract<Recorded['event'], { type: 'agent.transferred' }>,
  leader: string,
): string {
  if (by !== 'rule') return `${from} transfers to ${to}${task === undefined ? '' : `: ${visibleLine(task)}`}`
  return to === leader ? `${from} returns control to ${to}` : `${from} is followed by ${to}`
}
