/**
 * Lines about planned teams: what happened to a plan, its tasks, its members and its mail, one line for an event.
 *
 * Owns: what such a line says. Does not own: which events of other families have one (lines.ts).
 */
import { cut, visibleLine } from '../core/index.ts'
import type { JournalEvent } from '../runtime/index.ts'

const most = 120
const shown = (text: string): string => visibleLine(text)
/** A text that may be long. */
const brief = (text: string): string => cut(shown(text), most)
const list = (names: readonly string[]): string => names.map(shown).join(', ')
const by = (who: string | undefined): string => (who === undefined ? '' : ` by ${shown(who)}`)
const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/**
 * What a team's fact says; undefined for all other events, and for those that say nothing to people. `agent`: the team.
 */
export function teamLine(event: JournalEvent, agent: string): string | undefined {
  switch (event.type) {
    case 'plan.created':
      return `${agent} has a plan of ${plural(event.tasks.length, 'task')} (${event.route}): ${list(event.tasks.map(({ task }) => task))}`
    case 'plan.rejected':
      return `${agent} refuses a plan${event.repair ? ', and asks once more' : ''}: ${event.problems.map(brief).join('; ')}`
    case 'plan.revised':
      return `${agent} adds to its plan${by(event.by)}: ${list(event.added.map(({ task }) => task))}`
    case 'plan.aborted':
      return `${agent} gives its plan up (${event.reason}): ${event.failed} of ${event.total} failed`
    case 'task.unblocked':
      return `everything is there for ${shown(event.task)}`
    case 'task.started':
      return `${shown(event.member)} begins${event.task === event.member ? '' : ` ${shown(event.task)}`}${event.attempt === 1 ? '' : ` (try ${event.attempt})`}`
    case 'task.retried':
      return `${shown(event.task)}: try ${event.attempt} failed, another follows in ${event.delayMs} ms: ${brief(event.failure.message)}`
    case 'task.reassigned':
      return `${shown(event.task)} goes from ${shown(event.from)} to ${shown(event.to)}`
    case 'task.settled':
      return taskEnded(event)
    default:
      return membersLine(event, agent)
  }
}

function taskEnded(event: Extract<JournalEvent, { type: 'task.settled' }>): string {
  const { task, status, attempts, failure, reason, missing = [] } = event
  if (event.by !== undefined && status === 'succeeded') return `${shown(task)} is done by hand${by(event.by)}`
  const what =
    failure === undefined ? (reason === undefined ? '' : `: ${brief(reason)}`) : `: ${brief(failure.message)}`
  const tries = attempts > 1 ? ` after ${attempts} tries` : ''
  return `${shown(task)} ${status}${tries}${what}${missing.length === 0 ? '' : ` (without ${list(missing)})`}`
}

/** Who joins and leaves, and what they write to each other. */
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
        return `${shown(event.member ?? '?')} ${event.duplicate === true ? 'does that already' : 'may join'}`
      return `nobody joins (${event.reason ?? 'refused'})${event.message === undefined ? '' : `: ${brief(event.message)}`}`
    case 'retire.refused':
      return `${shown(event.member)} stays (${event.reason}): ${brief(event.message)}`
    case 'mail.accepted':
      return `mail ${event.seq} from ${shown(event.by ?? event.from)} to ${shown(event.to)}${event.kind === undefined ? '' : ` (${shown(event.kind)})`}${event.recipients.length === 0 ? ': nobody of that name is there' : ''}`
    case 'mail.refused':
      return `mail from ${shown(event.by ?? event.from)} to ${shown(event.to)} was refused (${event.reason})${event.message === undefined ? '' : `: ${brief(event.message)}`}`
    case 'mail.truncated':
      return `${plural(event.dropped, 'message')}${event.member === undefined ? '' : ` to ${shown(event.member)}`} given up, there were too many (${event.total} in all)`
    case 'mail.forwarded':
      return `${shown(event.member)} finds ${mailNumbers(event.seqs)}`
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
  const why = recruited === true ? (who === undefined ? '' : `, asked for by ${shown(who)}`) : ` for ${shown(task)}`
  return `${shown(member)} joins ${agent}${why}${resolved === undefined ? '' : `, a ${shown(resolved)} in place of a ${shown(role)}`}`
}

/** Numbers of mail: `mail 3, 4` or, where there are many, how many. */
const mailNumbers = (seqs: readonly number[]): string =>
  seqs.length > 8 ? plural(seqs.length, 'message') : `mail ${seqs.join(', ')}`

/** What there is, or is used, of either: `8000 tokens, 0.5 usd`. */
const amounts = (of: { readonly tokens?: number; readonly usd?: number }): string =>
  (['tokens', 'usd'] as const)
    .flatMap((each) => (of[each] === undefined || of[each] === 0 ? [] : [`${of[each]} ${each}`]))
    .join(', ') || 'nothing'

/** Topics, budgets, the past, the answer, and who went round in circles. */
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
        ? `${amounts(event)} set aside for ${shown(event.task)}`
        : event.move === 'waiting'
          ? `${shown(event.task)} waits until others have used less than was set aside for them`
          : `${shown(event.task)} has used ${amounts(event)}`
    case 'budget.crossed':
      return `${agent} has used ${event.percent}% of its ${event.of} (${event.spent} of ${event.limit})`
    case 'budget.warned':
      return `${shown(event.task)} begins though it may need ${event.wanted} ${event.of}, and ${event.left} are left`
    case 'strategy.advised':
      return `the past advises ${shown(event.strategy)} (${event.confidence})${event.overrides ? ', and that decides' : ''}`
    case 'memory.unavailable':
      return `the memory of ${agent} could not be ${event.wanted === 'recall' ? 'asked' : 'told'}: ${brief(event.failure.message)}`
    case 'results.synthesised':
      return `${agent} makes its answer of ${plural(event.used.length, 'result')} (${event.by})${event.dropped.length === 0 ? '' : `, without ${list(event.dropped.map(({ task }) => task))}`}`
    case 'deadlock.found':
      return `${event.kind}: ${brief(event.message)}`
    default:
      return undefined
  }
}
