/**
 * Lines: what happened, one line for an event, for people who read a log instead of a tree.
 *
 * Owns: which events are worth a line and what it says. Does not own: the NDJSON form, which is the event itself.
 */
import { describeOutcome, type Outcome, trailOf, visible, visibleLine } from '../core/index.ts'
import { isNotice, type Recorded } from '../runtime/index.ts'
import { answeredText, argumentsLine, shortly } from './asking.ts'
import { humanLine } from './human-lines.ts'
import { teamLine } from './team-lines.ts'

/**
 * The lines of a run, for its events from the first on: a function that remembers who is who. Undefined for events that
 * only matter to the engine.
 */
export function eventLines(): (recorded: Recorded) => string | undefined {
  const agents = new Map<string, string>()
  const asked = new Map<string, string>()
  return ({ activation, at, event }) => {
    if (event.type === 'activation.started') agents.set(activation, event.agent)
    // whoever tells people is nobody; whether they were told is said of whoever asks
    if (isNotice(agents.get(activation) ?? '') && event.type !== 'step.attempt-failed') return undefined
    if (event.type === 'interrupt.raised') asked.set(`${activation} ${event.address}`, event.id)
    const text =
      event.type === 'ask.settled'
        ? interruptEnded(asked.get(`${activation} ${event.address}`), event.outcome)
        : whatHappened(event, agents.get(activation) ?? '?')
    return text === undefined ? undefined : `${clock(at)}  ${visible(text)}`
  }
}

/** How approvals came out is an event of its own, and timers are nobody's business. */
const interruptEnded = (id: string | undefined, outcome: Outcome): string | undefined =>
  id === undefined ? undefined : `interrupt ${id} ${answeredText(outcome)}`

const clock = (at: number): string => new Date(at).toISOString().slice(11, 19)

function whatHappened(event: Recorded['event'], agent: string): string | undefined {
  switch (event.type) {
    case 'notice.sent':
      return `${agent} told ${event.channel} of ${event.id}`
    case 'notice.failed':
      return `${agent} could not tell ${event.channel} of ${event.id}: ${visibleLine(event.failure.message)}`
    case 'activation.started':
      return isBack(event) ? `${agent} goes on` : `${agent} started`
    case 'activation.settled':
      // to whom it handed control is the next line, and says more
      return trailOf(event.outcome).action?.type === 'transfer'
        ? undefined
        : `${agent} ${describeOutcome(event.outcome)}${byHand(event.outcome)}`
    case 'tool.called':
      return `${agent} calls ${event.tool}`
    case 'agent.transferred':
      return handedOver(event, agent)
    case 'text.said':
      return `${agent} says: ${visibleLine(event.text)}`
    case 'break.requested':
      return `${agent} asks the loop around it to end`
    case 'exit.requested':
      return `${agent} ends the ${event.scope === 'run' ? 'run' : 'work of its supervisor'}`
    case 'loop.broken':
      return `${agent} ends after iteration ${event.iteration + 1}, as ${event.from} asked`
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
      return `${agent} asks (${event.id}): ${shortly(event.question)}`
    case 'step.attempt-failed':
      return `${agent}: try ${event.attempt} of ${event.address} failed: ${event.failure.message}`
    case 'effect.in-doubt':
      if (event.madeBy !== undefined)
        return `${agent}: an earlier attempt (${event.madeBy}) has done ${event.address}, or has begun it: is it to be done again? (${event.id})`
      return event.doneIn === undefined
        ? `${agent}: nobody knows whether ${event.address} happened (${event.id})`
        : `${agent}: the run ${event.doneIn} has done ${event.address}, or has begun it: is it to be done again? (${event.id})`
    case 'model.requested':
      return event.refused?.details?.['later'] === true
        ? `${agent} waits: ${visibleLine(event.refused.message)}`
        : undefined
    case 'agent.moved':
      return `${agent} goes on with version ${event.to}`
    default:
      return whatStoodAround(event, agent)
  }
}

/** What hooks, scorers and whoever leads a conversation did. */
function whatStoodAround(event: Recorded['event'], agent: string): string | undefined {
  switch (event.type) {
    case 'hook.failed':
      return `${agent}: ${visibleLine(event.failure.message)}`
    case 'delegation.deferred':
      return `${agent} goes on while ${event.worker} works in the background (${event.delegation})`
    case 'delegation.decided':
      return `${agent} has decided (${event.rule}): ${event.kept.length} kept, ${event.stopped.length} stopped`
    case 'completion.scored':
      return `the answer of ${agent} ${event.passed ? 'passed' : 'was refused'}: ${event.results.map(({ scorer, score }) => `${scorer} ${score}`).join(', ')}`
    case 'context.compacted':
      return `${agent} goes on with a summary of ${event.replaced} messages`
    case 'speaker.chosen':
      return `${agent} lets ${event.speaker} speak (round ${event.round})`
    case 'approval.granted':
      return `${agent} may call ${event.tool} without asking: it was granted (${event.id})`
    default:
      return humanLine(event, agent) ?? teamLine(event, agent)
  }
}

const byHand = (outcome: Outcome): string =>
  outcome.status === 'completed' && outcome.by !== undefined ? `: done by hand by ${visibleLine(outcome.by)}` : ''

/**
 * A path is recorded where control was handed on; one that is on it already works again, and is shown what it said
 * before.
 */
const isBack = ({ agent, path }: Extract<Recorded['event'], { type: 'activation.started' }>): boolean =>
  path?.slice(0, -1).includes(agent) === true

/** The one whose event it is leads; what comes back to it by rule nobody chose. */
function handedOver(
  { from, to, by, task }: Extract<Recorded['event'], { type: 'agent.transferred' }>,
  leader: string,
): string {
  if (by !== 'rule') return `${from} hands over to ${to}${task === undefined ? '' : `: ${visibleLine(task)}`}`
  return to === leader ? `${from} gives control back to ${to}` : `${from} is followed by ${to}`
}
