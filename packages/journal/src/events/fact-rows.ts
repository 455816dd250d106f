/**
 * Rows of the facts of single agents, of leaders and of oversight. Every fact is a command (K4).
 */
import { preview } from '@reeve/core'
import { failure, file, kept, texts } from './value-shapes.ts'
import type { EventRows } from './event-row.ts'
import type { AgentTransferred, FactEvent } from './facts.ts'
import { brief, shown, why } from './line-text.ts'
import type { ResultAssessed } from './oversight-facts.ts'
import type { TeamFactEvent } from './team-facts.ts'

/** A transfer. `leader`: the agent that recorded it; `by: 'rule'` means that no agent chose the transfer. */
function transferred({ from, to, by, task }: AgentTransferred, leader: string): string {
  if (by !== 'rule') return `${from} transfers to ${to}${task === undefined ? '' : `: ${shown(task)}`}`
  return to === leader ? `${from} returns control to ${to}` : `${from} is followed by ${to}`
}

function assessed({ confidence, costUsd, proposedAction, cannotDo }: ResultAssessed): string {
  const said = [
    confidence === undefined ? undefined : `confidence ${confidence}`,
    costUsd === undefined ? undefined : `costs $${costUsd}`,
    proposedAction === undefined ? undefined : `proposes ${shown(proposedAction.name)}`,
    proposedAction?.input === undefined ? undefined : `with ${preview(proposedAction.input)}`,
    cannotDo === undefined ? undefined : `cannot be done: ${brief(cannotDo)}`,
  ].filter((each) => each !== undefined)
  return said.length === 0 ? 'nothing' : said.join(', ')
}

/** By their types. */
export const factRows: EventRows<Exclude<FactEvent, TeamFactEvent>> = {
  'fact.noted': {
    shape: { ...kept('name'), data: 'payload' },
    line: 'internal',
    entry: ({ name, data }, { agent }) => `${agent} notes ${shown(name)}: ${preview(data)}`,
    span: undefined,
  },
  'delegation.refused': {
    shape: { ...kept('worker callId delegation toldBy'), failure },
    line: (event, { agent }) => `${agent} could not delegate to ${event.worker}: ${event.failure.message}`,
    span: ['delegation', 'failure'],
  },
  'output.forwarded': {
    shape: kept('worker delegation'),
    line: 'told',
    entry: ({ worker }, { agent }) => `${agent} answers with the output of ${worker}`,
    span: ['worker', 'delegation'],
  },
  'worker.recruited': {
    shape: { ...kept('worker'), ...texts('reason') },
    line: ({ worker, reason }, { agent }) => `${agent} recruits ${worker}: ${reason}`,
    span: ['worker'],
  },
  'tool.refused': {
    shape: { ...kept('tool callId'), failure, content: 'payload' },
    line: (event, { agent }) => `${agent} was refused ${event.tool}: ${event.failure.message}`,
    span: ['failure'],
  },
  'output.rejected': {
    shape: { ...kept('purpose'), ...texts('problem told') },
    line: ({ problem, told }, { agent }) =>
      `${agent}: its answer does not fit${told === undefined ? '' : ', it is asked again'}: ${brief(problem)}`,
    span: [],
  },
  'approval.resolved': {
    shape: { ...kept('id resolution inputHash capability repeat'), ...texts('approver comment') },
    line: ({ id, resolution, approver }) =>
      `approval ${id} ${resolution}${approver === undefined ? '' : ` by ${approver}`}`,
    span: undefined,
  },
  'approval.granted': {
    shape: { ...kept('id tool callId inputHash capability'), ...texts('approver') },
    line: ({ tool, id }, { agent }) => `${agent} may call ${tool} without approval: granted before (${id})`,
    span: ['id', 'tool'],
  },
  'escalation.raised': {
    shape: { ...kept('subject name mode callId'), hits: [{ code: 'kept', priority: 'kept' }] },
    line: ({ subject, name, asks, hits }, { agent }) => {
      const reasons = hits.map(({ code, priority, detail }) => `${code} (${priority}): ${brief(detail)}`)
      return `${agent}: the ${subject} ${shown(name)} is escalated${asks ? '' : ' (no approval needed)'}${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`
    },
    span: ['subject', 'name', 'mode', 'asks'],
  },
  'result.assessed': {
    shape: { ...texts('cannotDo'), proposedAction: { name: 'kept', input: 'payload' } },
    line: (event, { agent }) => `${agent} assesses its result: ${assessed(event)}`,
    span: ['confidence', 'costUsd'],
  },
  'notice.sent': {
    shape: { ...kept('channel id'), message: 'payload' },
    line: ({ channel, id }, { agent }) => `${agent} notified ${channel} of ${id}`,
    span: ['channel', 'id'],
  },
  'notice.failed': {
    shape: { ...kept('channel id'), failure },
    line: (event, { agent }) =>
      `${agent} could not notify ${event.channel} of ${event.id}: ${shown(event.failure.message)}`,
    span: ['channel', 'id', 'failure'],
  },
  'trust.updated': {
    shape: { ...kept('trust level'), ...texts('reason') },
    line: ({ trust, level, succeeded, tasks, reason }) =>
      `trust in ${shown(trust)}: ${level}, ${succeeded} of ${tasks} succeeded${why(reason)}`,
    span: ['trust', 'level', 'tasks', 'succeeded'],
  },
  'text.said': {
    shape: texts('text'),
    line: ({ text }, { agent }) => `${agent} says: ${shown(text)}`,
    span: undefined,
  },
  'agent.transferred': {
    shape: { ...kept('from path to by callId'), ...texts('task') },
    line: (event, { agent }) => transferred(event, agent),
    span: ['from', 'to', 'by'],
  },
  'exit.requested': {
    shape: kept('scope callId'),
    line: ({ scope }, { agent }) => `${agent} ends the ${scope === 'run' ? 'run' : 'work of its supervisor'}`,
    span: ['scope'],
  },
  'break.requested': { shape: kept('callId'), line: (_, { agent }) => `${agent} asks its loop to end`, span: [] },
  'loop.broken': {
    shape: kept('from'),
    line: ({ iteration, from }, { agent }) => `${agent} ends after iteration ${iteration + 1}, requested by ${from}`,
    span: ['from', 'iteration'],
  },
  'hook.failed': {
    shape: { ...kept('hook worker callId delegation'), failure },
    line: (event, { agent }) => `${agent}: ${shown(event.failure.message)}`,
    span: ['hook', 'worker', 'failure'],
  },
  'delegation.deferred': {
    shape: kept('worker callId delegation'),
    line: ({ worker, delegation }, { agent }) =>
      `${agent} continues while ${worker} works in the background (${delegation})`,
    span: ['worker', 'delegation'],
  },
  'delegation.decided': {
    shape: kept('callId rule kept stopped'),
    line: (event, { agent }) =>
      `${agent} has decided (${event.rule}): ${event.kept.length} kept, ${event.stopped.length} stopped`,
    span: ['rule', 'kept', 'stopped'],
  },
  'result.told': {
    shape: { ...kept('callId'), content: 'payload', files: [file] },
    line: 'internal',
    entry: ({ content }, { agent }) => `${agent} is told: ${preview(content)}`,
    span: undefined,
  },
  'completion.scored': {
    shape: { ...kept('strategy'), results: [{ scorer: 'kept' }] },
    line: ({ passed, results }, { agent }) =>
      `the answer of ${agent} ${passed ? 'passed' : 'was refused'}: ${results.map(({ scorer, score }) => `${scorer} ${score}`).join(', ')}`,
    span: ['turn', 'passed', 'strategy', 'timedOut'],
  },
  'context.compacted': {
    shape: {},
    line: ({ replaced }, { agent }) => `${agent} continues with a summary of ${replaced} messages`,
    span: ['turn', 'replaced', 'kept'],
  },
  'speaker.chosen': {
    shape: { ...kept('speaker'), ...texts('by instruction') },
    line: ({ speaker, round }, { agent }) => `${agent} lets ${speaker} speak (round ${round})`,
    span: ['speaker', 'round', 'by'],
  },
}
