/**
 * Span events: which events of a journal are shown as events of the span of their agent or run, and what of them.
 *
 * Owns: the table. Holds: only structure (names, ids, states, numbers) is shown: what a model, a tool, a file or a person
 * wrote is content.
 */
import { isObject, type Json } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import { errorType, reeve, type AttributeValue, type SpanAttributes } from './attributes.ts'

/** Members by the type of the event. Those of `run.*` stand in the span of the run. */
const shown: { readonly [Type in JournalEvent['type']]?: string } = {
  'activation.restarted': 'segment',
  'agent.moved': 'from to',
  'message.sent': 'id to',
  'message.received': 'id from',
  'message.refused': 'id reason',
  'mail.accepted': 'from to recipients',
  'mail.refused': 'from to reason',
  'mail.truncated': 'member dropped',
  'mail.forwarded': 'member',
  'mail.delivered': 'member',
  'mail.unread': 'member',
  'topic.published': 'topic task bytes',
  'topic.refused': 'topic task reason',
  'cancel.received': 'limit timedOutMs',
  'delegation.refused': 'delegation failure',
  'delegation.deferred': 'worker delegation',
  'delegation.decided': 'rule kept stopped',
  'output.forwarded': 'worker delegation',
  'worker.recruited': 'worker',
  'agent.transferred': 'from to by',
  'exit.requested': 'scope',
  'break.requested': '',
  'loop.broken': 'from iteration',
  'tool.refused': 'failure',
  'approval.granted': 'id tool',
  'escalation.raised': 'subject name mode asks',
  'result.assessed': 'confidence costUsd',
  'notice.sent': 'channel id',
  'notice.failed': 'channel id failure',
  'trust.updated': 'trust level tasks succeeded',
  'hook.failed': 'hook worker failure',
  'completion.scored': 'turn passed strategy timedOut',
  'context.compacted': 'turn replaced kept',
  'speaker.chosen': 'speaker round by',
  'plan.rejected': 'repair',
  'plan.revised': '',
  'plan.edited': 'request',
  'plan.aborted': 'reason failed total',
  'task.unblocked': 'task',
  'task.started': 'task member attempt',
  'task.retried': 'task attempt failure delayMs',
  'task.reassigned': 'task from to',
  'task.reopened': 'task round',
  'task.settled': 'task member status attempts failure',
  'teammate.joined': 'member role task recruited',
  'teammate.retired': 'member mode',
  'recruit.requested': 'request role',
  'recruit.decided': 'request admitted member reason',
  'retire.refused': 'member reason',
  'budget.set': 'mode',
  'budget.crossed': 'percent of spent',
  'budget.warned': 'task of wanted left',
  'strategy.advised': 'strategy confidence overrides',
  'memory.unavailable': 'wanted failure',
  'results.synthesised': 'by used',
  'deadlock.found': 'kind cycle',
  'run.pausing': 'at escalated',
  'run.paused': '',
  'run.resumed': '',
  'run.taken-over': '',
  'run.handed-back': '',
  'replay.diverged': 'address',
  'replay.resolved': 'address action',
}

const members = new Map(
  Object.entries(shown).map(([type, names]) => [type, names.split(' ').filter((name) => name !== '')]),
)

/** The name and the attributes of the span event; undefined: it is none. */
export function spanEventOf(
  event: JournalEvent,
): { readonly name: string; readonly attributes: SpanAttributes } | undefined {
  const names = members.get(event.type)
  if (names === undefined) return undefined
  const all = event as unknown as { readonly [member: string]: Json | undefined }
  const attributes: { [name: string]: AttributeValue } = {}
  for (const name of names) {
    const value = all[name]
    if (name === 'failure') Object.assign(attributes, failureAttributes(value))
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      attributes[`reeve.${snake(name)}`] = value
    else if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
      attributes[`reeve.${snake(name)}`] = value
  }
  return { name: `reeve.${snake(event.type)}`, attributes }
}

/** The code and the class of a failure; its message is content. */
export const failureAttributes = (failure: Json | undefined): SpanAttributes =>
  isObject(failure) && typeof failure['code'] === 'string'
    ? {
        [errorType]: failure['code'],
        ...(typeof failure['class'] === 'string' ? { [reeve.failureClass]: failure['class'] } : {}),
      }
    : {}

const snake = (name: string): string =>
  name.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
