/**
 * Event lines of planned teams: plan, tasks, members, mail, topics, budget. One line for an event.
 *
 * Owns: what such a line says. Does not own: the lines of other events (event-lines.ts).
 */
import { cut, visibleLine } from '@reeve/core'
import type { JournalEvent } from '@reeve/runtime'

const most = 120
const shown = (text: string): string => visibleLine(text)
/** A text that may be long. */
const brief = (text: string): string => cut(shown(text), most)
const list = (names: readonly string[]): string => names.map(shown).join(', ')
const by = (who: string | undefined): string => (who === undefined ? '' : ` by ${shown(who)}`)
const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** The line of a team event; undefined for all other events, and for events without a line. `agent`: the team. */
export function teamLine(event: JournalEvent, agent: string): string | undefined {
  switch (event.type) {
    case 'plan.created':
      return `${agent} has a plan of ${plural(event.tasks.length, 'task')} (${event.route}): ${list(event.tasks.map(({ task }) => task))}`
    case 'plan.rejected':
      return `${agent} rejects a plan${event.repair ? ' and asks once more' : ''}: ${event.problems.map(brief).join('; ')}`
    case 'plan.revised':
      return `${agent} adds to its plan${by(event.by)}: ${list(event.added.map(({ task }) => task))}`
    case 'plan.aborted':
      return `${agent} aborts its plan (${event.reason}): ${event.failed} of ${event.total} failed`
    case 'task.unblocked':
      return `${shown(event.task)} is ready`
    case 'task.started':
      return `${shown(event.member)} begins${event.task === event.member ? '' : ` ${shown(event.task)}`}${event.attempt === 1 ? '' : ` (attempt ${event.attempt})`}`
    case 'task.retried':
      return `${shown(event.task)}: attempt ${event.attempt} failed, the next starts in ${event.delayMs} ms: ${brief(event.failure.message)}`
    case 'task.reassigned':
      return `${shown(event.task)} is reassigned from ${shown(event.from)} to ${shown(event.to)}`
    case 'task.settled':
      return taskEnded(event)
    default:
      return membersLine(event, agent)
  }
}

function taskEnded(event: Extract<JournalEvent, { type: 'task.settled' }>): string {
  const { task, status, attempts, failure, reason, missing = [] } = event
  if (event.by !== undefined && status === 'succeeded') return `${shown(task)} was done by hand (${shown(event.by)})`
  const what =
    failure === undefined ? (reason === undefined ? '' : `: ${brief(reason)}`) : `: ${brief(failure.message)}`
  const tries = attempts > 1 ? ` after ${attempts} attempts` : ''
  return `${shown(task)} ${status}${tries}${what}${missing.length === 0 ? '' : ` (without ${list(missing)})`}`
}

/** Members that join and leave, recruits, mail. */
function membersLine(event: JournalEvent, agent: string): string | undefined {
  switch (event.type) {
    case 'teammate.joined':
      return joined(event, agent)
    case 'teammate.retired':
      return `${shown(event.member)} retires${event.mode === 'force' ? ' at once' : ''}${by(event.by)}${event.reason === undefined ? '' : `: ${brief(event.reason)}`}`
    case 'recruit.requested':
      return `${shown(event.by ?? agent)} asks for a ${shown(event.role)}: ${brief(event.description)}`
    case 'recruit.decided':
      if (event.admitted)
        return `${shown(event.member ?? '?')} ${event.duplicate === true ? 'already does that' : 'may join'}`
      return `recruit refused (${event.reason ?? 'refused'})${event.message === undefined ? '' : `: ${brief(event.message)}`}`
    case 'retire.refused':
      return `${shown(event.member)} is not retired (${event.reason}): ${brief(event.message)}`
    case 'mail.accepted':
      return `mail ${event.seq} from ${shown(event.by ?? event.from)} to ${shown(event.to)}${event.kind === undefined ? '' : ` (${shown(event.kind)})`}${event.recipients.length === 0 ? ': no such member' : ''}`
    case 'mail.refused':
      return `mail from ${shown(event.by ?? event.from)} to ${shown(event.to)} was refused (${event.reason})${event.message === undefined ? '' : `: ${brief(event.message)}`}`
    case 'mail.truncated':
      return `${plural(event.dropped, 'message')}${event.member === undefined ? '' : ` to ${shown(event.member)}`} dropped: the inbox is full (${event.total} in all)`
    case 'mail.forwarded':
      return `${shown(event.member)} receives ${mailNumbers(event.seqs)}`
    case 'mail.delivered':
      return `${shown(event.member)} reads ${mailNumbers(event.seqs)}`
    case 'mail.unread':
      return `${shown(event.member)} never read ${mailNumbers(event.seqs)}`
    default:
      return aroundLine(event, agent)
  }
}

function joined(
  { member, role, resolved, recruited, by: who, task }: Extract<JournalEvent, { type: 'teammate.joined' }>,
  agent: string,
): string {
  const why = recruited === true ? (who === undefined ? '' : `, recruited by ${shown(who)}`) : ` for ${shown(task)}`
  return `${shown(member)} joins ${agent}${why}${resolved === undefined ? '' : `, a ${shown(resolved)} in place of a ${shown(role)}`}`
}

/** The numbers of messages: `mail 3, 4`; above eight, only their count. */
const mailNumbers = (seqs: readonly number[]): string =>
  seqs.length > 8 ? plural(seqs.length, 'message') : `mail ${seqs.join(', ')}`

/** Amounts in words: `8000 tokens, 0.5 usd`. */
const amounts = (of: { readonly tokens?: number; readonly usd?: number }): string =>
  (['tokens', 'usd'] as const)
    .flatMap((each) => (of[each] === undefined || of[each] === 0 ? [] : [`${of[each]} ${each}`]))
    .join(', ') || 'nothing'

/** Topics, budget, advice, memory, the answer, deadlocks. */
function aroundLine(event: JournalEvent, agent: string): string | undefined {
  switch (event.type) {
    case 'topic.published':
      return `${shown(event.task)} adds entry ${event.seq} to ${shown(event.topic)} (${plural(event.bytes, 'byte')})`
    case 'topic.refused':
      return `an entry of ${shown(event.task)} to ${shown(event.topic)} was refused (${event.reason})`
    case 'budget.set':
      return event.raised === undefined
        ? `${agent} may use ${amounts(event.limits)}`
        : `${agent} may use ${event.raised.by} ${event.raised.of} more`
    case 'budget.moved':
      return event.move === 'reserved'
        ? `${amounts(event)} reserved for ${shown(event.task)}`
        : event.move === 'waiting'
          ? `${shown(event.task)} waits for budget that others have reserved`
          : `${shown(event.task)} used ${amounts(event)}`
    case 'budget.crossed':
      return `${agent} used ${event.percent}% of its ${event.of} (${event.spent} of ${event.limit})`
    case 'budget.warned':
      return `${shown(event.task)} begins with ${event.left} ${event.of} left, though it may need ${event.wanted}`
    case 'strategy.advised':
      return `learning advises ${shown(event.strategy)} (${event.confidence})${event.overrides ? ', which is binding' : ''}`
    case 'memory.unavailable':
      return `the memory of ${agent} failed to ${event.wanted === 'recall' ? 'recall' : 'record'}: ${brief(event.failure.message)}`
    case 'results.synthesised':
      return `${agent} combines ${plural(event.used.length, 'result')} into its answer (${event.by})${event.dropped.length === 0 ? '' : `, without ${list(event.dropped.map(({ task }) => task))}`}`
    case 'deadlock.found':
      return `${event.kind}: ${brief(event.message)}`
    default:
      return undefined
  }
}
