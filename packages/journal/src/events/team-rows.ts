/**
 * Rows of the facts of a team that is led by a plan: plan, tasks, members, mail, topics, budget.
 */
import { failure, kept, planned, texts } from './value-shapes.ts'
import type { EventRows } from './event-row.ts'
import { amounts, brief, by, list, mailNumbers, plural, shown, why } from './line-text.ts'
import type { PlanEdited, TaskSettled, TeamFactEvent, TeammateJoined } from './team-facts.ts'

function edited({ added, replaced, removed, settled, tolerance, maxFailures, concurrency }: PlanEdited): string {
  const tasks = [
    ['added', added.map(({ task }) => task)],
    ['replaced', replaced.map(({ task }) => task)],
    ['removed', removed],
    ['done by hand', settled],
  ] as const
  const said = [
    ...tasks.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what} ${list(names)}`])),
    ...Object.entries({ tolerance, maxFailures, concurrency }).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value}`],
    ),
  ]
  return said.length === 0 ? '' : `: ${said.join('; ')}`
}

function taskEnded({ task, status, attempts, failure: failed, reason, by: name, missing = [] }: TaskSettled): string {
  if (name !== undefined && status === 'succeeded') return `${shown(task)} was done by hand (${shown(name)})`
  const what = failed === undefined ? (reason === undefined ? '' : `: ${brief(reason)}`) : `: ${brief(failed.message)}`
  const tries = attempts > 1 ? ` after ${attempts} attempts` : ''
  return `${shown(task)} ${status}${tries}${what}${missing.length === 0 ? '' : ` (without ${list(missing)})`}`
}

function joined({ member, role, resolved, recruited, by: name, task }: TeammateJoined, team: string): string {
  const cause = recruited === true ? (name === undefined ? '' : `, recruited${by(name)}`) : ` for ${shown(task)}`
  return `${shown(member)} joins ${team}${cause}${resolved === undefined ? '' : `, a ${shown(resolved)} in place of a ${shown(role)}`}`
}

/** By their types. The agent of each is the team. */
export const teamRows: EventRows<TeamFactEvent> = {
  'plan.created': {
    shape: { ...kept('route strategy'), ...texts('reasons warnings'), tasks: [planned], fallback: failure },
    line: ({ tasks, route }, { agent }) =>
      `${agent} has a plan of ${plural(tasks.length, 'task')} (${route}): ${list(tasks.map(({ task }) => task))}`,
    // the plan is a span of its own
    span: undefined,
  },
  'plan.rejected': {
    shape: texts('problems warnings'),
    line: ({ repair, problems }, { agent }) =>
      `${agent} rejects a plan${repair ? ' and asks once more' : ''}: ${problems.map(brief).join('; ')}`,
    span: ['repair'],
  },
  'plan.revised': {
    shape: { ...texts('by warnings'), added: [planned] },
    line: ({ by: name, added }, { agent }) =>
      `${agent} adds to its plan${by(name)}: ${list(added.map(({ task }) => task))}`,
    span: [],
  },
  'plan.edited': {
    shape: {
      ...kept('request removed settled'),
      ...texts('by reason warnings'),
      added: [planned],
      replaced: [planned],
    },
    line: (event, { agent }) =>
      `the plan of ${agent} was edited${by(event.by)}${edited(event)}${event.reason === undefined ? '' : ` (${brief(event.reason)})`}`,
    span: ['request'],
  },
  'plan.edit-refused': {
    shape: { ...kept('request'), ...texts('by reason problems') },
    line: ({ by: name, problems }, { agent }) =>
      `an edit of the plan of ${agent}${by(name)} was refused: ${problems.map(brief).join('; ')}`,
    span: undefined,
  },
  'plan.aborted': {
    shape: { ...kept('reason'), failures: [{ task: 'kept', failure }] },
    line: ({ reason, failed, total }, { agent }) =>
      `${agent} aborts its plan (${reason}): ${failed} of ${total} failed`,
    span: ['reason', 'failed', 'total'],
  },
  'task.unblocked': { shape: kept('task'), line: ({ task }) => `${shown(task)} is ready`, span: ['task'] },
  'task.started': {
    shape: kept('task member activation'),
    line: ({ member, task, attempt }) =>
      `${shown(member)} begins${task === member ? '' : ` ${shown(task)}`}${attempt === 1 ? '' : ` (attempt ${attempt})`}`,
    span: ['task', 'member', 'attempt'],
  },
  'task.retried': {
    shape: { ...kept('task'), failure },
    line: (event) =>
      `${shown(event.task)}: attempt ${event.attempt} failed, the next starts in ${event.delayMs} ms: ${brief(event.failure.message)}`,
    span: ['task', 'attempt', 'failure', 'delayMs'],
  },
  'task.reassigned': {
    shape: kept('task from to'),
    line: ({ task, from, to }) => `${shown(task)} is reassigned from ${shown(from)} to ${shown(to)}`,
    span: ['task', 'from', 'to'],
  },
  'task.reopened': {
    shape: { ...kept('task'), ...texts('feedback by') },
    line: ({ task, by: name, round, feedback }) =>
      `${shown(task)} was sent back${by(name)} (round ${round})${why(feedback)}`,
    span: ['task', 'round'],
  },
  'task.settled': {
    shape: {
      ...kept('task member status missing usage'),
      ...texts('reason by'),
      failure,
      output: 'payload',
    },
    line: taskEnded,
    span: ['task', 'member', 'status', 'attempts', 'failure'],
  },
  'teammate.joined': {
    shape: { ...kept('member role resolved task parent join'), ...texts('by') },
    line: (event, { agent }) => joined(event, agent),
    span: ['member', 'role', 'task', 'recruited'],
  },
  'teammate.retired': {
    shape: { ...kept('member mode request'), ...texts('reason by') },
    line: ({ member, mode, by: name, reason }) =>
      `${shown(member)} retires${mode === 'force' ? ' at once' : ''}${by(name)}${reason === undefined ? '' : `: ${brief(reason)}`}`,
    span: ['member', 'mode'],
  },
  'recruit.requested': {
    shape: { ...kept('request role parent'), ...texts('description by') },
    line: ({ by: name, role, description }, { agent }) =>
      `${shown(name ?? agent)} asks for a ${shown(role)}: ${brief(description)}`,
    span: ['request', 'role'],
  },
  'recruit.decided': {
    shape: { ...kept('request member role reason'), ...texts('description message') },
    line: ({ admitted, member, duplicate, reason, message }) =>
      admitted
        ? `${shown(member ?? '?')} ${duplicate === true ? 'already does that' : 'may join'}`
        : `recruit refused (${reason ?? 'refused'})${message === undefined ? '' : `: ${brief(message)}`}`,
    span: ['request', 'admitted', 'member', 'reason'],
  },
  'retire.refused': {
    shape: { ...kept('request member reason'), ...texts('message by') },
    line: ({ member, reason, message }) => `${shown(member)} is not retired (${reason}): ${brief(message)}`,
    span: ['member', 'reason'],
  },
  'mail.accepted': {
    shape: { ...kept('from to recipients message'), ...texts('by kind correlationId'), content: 'payload' },
    line: ({ seq, by: name, from, to, kind, recipients }) =>
      `mail ${seq} from ${shown(name ?? from)} to ${shown(to)}${kind === undefined ? '' : ` (${shown(kind)})`}${recipients.length === 0 ? ': no such member' : ''}`,
    span: ['from', 'to', 'recipients'],
  },
  'mail.refused': {
    shape: { ...kept('from to reason'), ...texts('by message') },
    line: ({ by: name, from, to, reason, message }) =>
      `mail from ${shown(name ?? from)} to ${shown(to)} was refused (${reason})${message === undefined ? '' : `: ${brief(message)}`}`,
    span: ['from', 'to', 'reason'],
  },
  'mail.truncated': {
    shape: kept('member'),
    line: ({ dropped, member, total }) =>
      `${plural(dropped, 'message')}${member === undefined ? '' : ` to ${shown(member)}`} dropped: the inbox is full (${total} in all)`,
    span: ['member', 'dropped'],
  },
  'mail.forwarded': {
    shape: kept('member seqs'),
    line: ({ member, seqs }) => `${shown(member)} receives ${mailNumbers(seqs)}`,
    span: ['member'],
  },
  'mail.delivered': {
    shape: kept('member seqs'),
    line: ({ member, seqs }) => `${shown(member)} reads ${mailNumbers(seqs)}`,
    span: ['member'],
  },
  'mail.unread': {
    shape: kept('member seqs'),
    line: ({ member, seqs }) => `${shown(member)} never read ${mailNumbers(seqs)}`,
    span: ['member'],
  },
  'topic.published': {
    shape: kept('topic task'),
    line: ({ task, seq, topic, bytes }) =>
      `${shown(task)} adds entry ${seq} to ${shown(topic)} (${plural(bytes, 'byte')})`,
    span: ['topic', 'task', 'bytes'],
  },
  'topic.refused': {
    shape: kept('topic task reason'),
    line: ({ task, topic, reason }) => `an entry of ${shown(task)} to ${shown(topic)} was refused (${reason})`,
    span: ['topic', 'task', 'reason'],
  },
  'budget.set': {
    shape: { ...kept('limits mode'), ...texts('raised') },
    line: ({ limits, raised }, { agent }) =>
      raised === undefined ? `${agent} may use ${amounts(limits)}` : `${agent} may use ${raised.by} ${raised.of} more`,
    span: ['mode'],
  },
  'budget.moved': {
    shape: kept('task move spent reserved'),
    line: (event) =>
      event.move === 'reserved'
        ? `${amounts(event)} reserved for ${shown(event.task)}`
        : event.move === 'waiting'
          ? `${shown(event.task)} waits for budget that others have reserved`
          : `${shown(event.task)} used ${amounts(event)}`,
    span: undefined,
  },
  'budget.crossed': {
    shape: kept('of'),
    line: ({ percent, of, spent, limit }, { agent }) => `${agent} used ${percent}% of its ${of} (${spent} of ${limit})`,
    span: ['percent', 'of', 'spent'],
  },
  'budget.warned': {
    shape: kept('task of'),
    line: ({ task, left, of, wanted }) => `${shown(task)} begins with ${left} ${of} left, though it may need ${wanted}`,
    span: ['task', 'of', 'wanted', 'left'],
  },
  'strategy.advised': {
    shape: { ...kept('strategy'), ...texts('source warnings') },
    line: ({ strategy, confidence, overrides }) =>
      `learning advises ${shown(strategy)} (${confidence})${overrides ? ', which is binding' : ''}`,
    span: ['strategy', 'confidence', 'overrides'],
  },
  'memory.unavailable': {
    shape: { ...kept('wanted'), failure },
    line: (event, { agent }) =>
      `the memory of ${agent} failed to ${event.wanted === 'recall' ? 'recall' : 'record'}: ${brief(event.failure.message)}`,
    span: ['wanted', 'failure'],
  },
  'results.synthesised': {
    shape: { ...kept('by used'), dropped: [{ task: 'kept' }], fallback: failure },
    line: ({ used, by: way, dropped }, { agent }) =>
      `${agent} combines ${plural(used.length, 'result')} into its answer (${way})${dropped.length === 0 ? '' : `, without ${list(dropped.map(({ task }) => task))}`}`,
    span: ['by', 'used'],
  },
  'deadlock.found': {
    shape: { ...kept('kind cycle'), ...texts('message') },
    line: ({ kind, message }) => `${kind}: ${brief(message)}`,
    span: ['kind', 'cycle'],
  },
}
