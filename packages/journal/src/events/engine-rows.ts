/**
 * Rows of the events that the engine records: lifecycle, commands other than facts, arrivals, notes.
 */
import {
  argumentsLine,
  describeOutcome,
  durationText,
  handoffOf,
  isObject,
  own,
  preview,
  type Json,
  type Outcome,
  type Shape,
} from '@reeve/core'
import {
  answered,
  body,
  callerShape,
  doneShape,
  earlierShape,
  failure,
  failures,
  inputShape,
  kept,
  outcomeOf,
  texts,
} from './value-shapes.ts'
import { eventPlace, type EventRows } from './event-row.ts'
import type { ActivationStarted, JournalEvent, StepOpened } from './events.ts'
import type { FactEvent } from './facts.ts'
import {
  answeredText,
  brief,
  by,
  byHand,
  ended,
  failedForGood,
  keptLine,
  lastFailureText,
  list,
  person,
  shown,
  why,
  ranLine,
} from './line-text.ts'

/** An event inside another one: what was open, or had come in. No fact is either. */
function recordedEvent(value: Json): Shape {
  const row = isObject(value) && typeof value['type'] === 'string' ? own(engineRows, value['type']) : undefined
  return row === undefined ? 'payload' : { ...eventPlace, ...row.shape }
}

/** Whether the agent had control before. Transfers record their path; an agent that is on it already works again. */
const isBack = ({ agent, path }: ActivationStarted): boolean => path?.slice(0, -1).includes(agent) === true

/** The next line names the agent that received control. */
const isTransfer = (outcome: Outcome): boolean => handoffOf(outcome).action?.type === 'transfer'

const begun = ({ refused }: Pick<StepOpened, 'refused'>, agent: string, what: string): string =>
  refused === undefined ? `${agent} ${what}` : `${agent} ${what}, which is refused: ${brief(refused.message)}`

/** By their types. */
export const engineRows: EventRows<Exclude<JournalEvent, FactEvent>> = {
  'activation.started': {
    kind: 'lifecycle',
    shape: {
      ...kept('agent version path under copied'),
      input: inputShape,
      caller: callerShape,
      earlier: earlierShape,
    },
    line: (event, { agent }) => (isBack(event) ? `${agent} continues` : `${agent} started`),
    span: undefined,
  },
  'activation.restarted': {
    kind: 'lifecycle',
    shape: {
      ...kept('open lost'),
      state: 'payload',
      unread: [recordedEvent],
      before: { usage: 'kept', version: 'kept', ...failures, begun: [recordedEvent] },
    },
    line: 'internal',
    entry: ({ segment }, { agent }) => `${agent} goes on in segment ${segment}`,
    span: ['segment'],
  },
  'activation.summed': {
    kind: 'lifecycle',
    shape: { state: 'payload' },
    line: 'internal',
    entry: ({ from }, { agent }) => `what ${agent} received from entry ${from} on is summed up`,
    span: undefined,
  },
  'agent.moved': {
    kind: 'lifecycle',
    shape: kept('from to'),
    line: ({ to }, { agent }) => `${agent} continues with version ${to}`,
    span: ['from', 'to'],
  },
  'activation.settled': {
    kind: 'lifecycle',
    shape: { ...kept('usage open lost'), outcome: outcomeOf('payload') },
    line: ({ outcome }, { agent }) =>
      isTransfer(outcome) ? undefined : `${agent} ${describeOutcome(outcome)}${byHand(outcome)}`,
    entry: (_, { agent }) => `${agent} hands control on`,
    span: undefined,
  },
  'step.begun': {
    shape: { ...kept('effect reserve'), refused: failure },
    line: 'internal',
    entry: (event, { agent, effect }) => begun(event, agent, `begins ${effect}`),
    span: undefined,
  },
  'model.requested': {
    shape: {
      ...kept('model purpose effect reserve contentKey'),
      ...texts('instead changeable'),
      refused: failure,
    },
    line: ({ refused }, { agent }) =>
      refused?.details?.['later'] === true ? `${agent} waits: ${shown(refused.message)}` : undefined,
    entry: (event, { agent }) =>
      begun(event, agent, `asks ${event.model}${event.purpose === undefined ? '' : ` for a ${event.purpose}`}`),
    span: undefined,
  },
  'tool.called': {
    shape: {
      ...kept('tool callId inputHash capability again effect reserve contentKey'),
      input: 'payload',
      refused: failure,
    },
    line: ({ tool }, { agent }) => `${agent} calls ${tool}`,
    span: undefined,
  },
  'worker.started': {
    shape: { ...kept('agent callId inputHash purpose toldBy version reserve contentKey'), refused: failure },
    line: 'told',
    entry: (event, { agent }) => begun(event, agent, `starts ${event.agent}`),
    span: undefined,
  },
  'timer.set': {
    shape: kept('retryOf'),
    line: 'internal',
    entry: ({ until }, { agent, effect }) =>
      until === undefined ? `${agent} waits (${effect})` : `${agent} waits until ${new Date(until).toISOString()}`,
    span: undefined,
  },
  'interrupt.raised': {
    shape: { ...kept('id path tool callId contentKey'), question: 'payload', schema: 'payload' },
    line: ({ id, tool, question }, { agent }) =>
      tool === undefined
        ? `${agent} asks (${id}): ${preview(question)}`
        : `${agent} waits for the client to run ${tool} (${id}): ${preview(question)}`,
    span: undefined,
  },
  'approval.requested': {
    shape: {
      ...kept('id path tool toolVersion callId inputHash risk onTimeout kind task delegation contentKey'),
      ...kept('options approvers excludes follows'),
      ...texts('reason brief'),
      input: 'payload',
      // its input may hold it, too, under the same name
      description: 'named',
      context: 'payload',
      hits: [{ code: 'kept', priority: 'kept' }],
      done: doneShape,
    },
    line: ({ tool, id, reason, input }, { agent }) =>
      `${agent} asks for approval of ${tool} (${id}): ${reason}; with ${argumentsLine(input)}`,
    span: undefined,
  },
  'message.sent': {
    shape: kept('to id'),
    line: 'internal',
    entry: ({ to }, { agent }) => `${agent} sends a message to ${to}`,
    span: ['id', 'to'],
  },
  'step.settled': {
    kind: 'arrival',
    shape: { ...kept('usage charge madeBy'), outcome: outcomeOf('payload') },
    line: ({ outcome, attempts }, { agent, effect, wasShown, wasInDoubt }) => {
      if (failedForGood(outcome) && wasShown) return `${agent}: ${effect} ${lastFailureText(outcome, attempts)}`
      if (outcome.status !== 'completed') return undefined
      return wasInDoubt
        ? `${agent}: ${effect} is settled as happened: ${preview(outcome.output)}`
        : (ranLine(outcome.output, agent) ?? keptLine(outcome.output, agent, effect))
    },
    entry: ({ outcome }, { agent, effect }) => `${agent}: ${effect} ${ended(outcome)}`,
    span: undefined,
  },
  'worker.settled': {
    kind: 'arrival',
    shape: { ...kept('usage charge'), outcome: outcomeOf('payload') },
    line: 'told',
    entry: ({ outcome }, { agent, effect }) => `${agent}: ${effect} ${ended(outcome)}`,
    span: undefined,
  },
  'ask.settled': {
    kind: 'arrival',
    shape: { outcome: outcomeOf(answered) },
    // approvals have an event of their own; timers have no line
    line: ({ outcome }, { interrupt }) =>
      interrupt === undefined ? undefined : `interrupt ${interrupt} ${answeredText(outcome)}`,
    entry: ({ outcome }, { agent, effect }) => `${agent}: ${effect} ${ended(outcome)}`,
    span: undefined,
  },
  'message.received': {
    kind: 'arrival',
    shape: { ...kept('id from'), ...texts('by'), body },
    line: 'internal',
    entry: ({ from, by: name, body: message }, { agent }) =>
      `${agent} receives a message${from === undefined ? by(name) : ` from ${from}`}: ${preview(message)}`,
    span: ['id', 'from'],
  },
  'message.refused': {
    kind: 'arrival',
    shape: kept('id reason'),
    line: 'internal',
    entry: ({ id, reason }, { agent }) => `a message of ${agent} was refused (${reason}): ${id}`,
    span: ['id', 'reason'],
  },
  'cancel.received': {
    kind: 'arrival',
    shape: { ...kept('limit'), ...texts('reason by'), outcome: outcomeOf('payload') },
    line: ({ outcome, keeps, reason }, { agent }) =>
      outcome === undefined
        ? `${agent} is cancelled${keeps === true ? ', nothing is undone' : ''}: ${brief(reason)}`
        : `${agent} is ${brief(reason)}`,
    span: ['limit', 'timedOutMs'],
  },
  'step.attempt-failed': {
    kind: 'note',
    shape: { ...kept('usage charge'), failure },
    line: ({ attempt, failure: { message }, delayMs }, { agent, effect }) =>
      `${agent}: attempt ${attempt} of ${effect} failed: ${message}${delayMs < 1_000 ? '' : `; the next one in ${durationText(delayMs)}`}`,
    span: undefined,
  },
  'effect.in-doubt': {
    kind: 'note',
    shape: { ...kept('id madeBy'), ...texts('doneIn') },
    line: ({ id, madeBy, doneIn, trial }, { agent, effect }) => {
      const who =
        madeBy !== undefined ? `an earlier attempt (${madeBy})` : doneIn === undefined ? undefined : `the run ${doneIn}`
      if (who === undefined && trial === true)
        return `${agent}: ${effect} is held back, because the run is a trial (${id})`
      return who === undefined
        ? `${agent}: unknown whether ${effect} happened (${id})`
        : `${agent}: ${who} did or began ${effect}; do it again? (${id})`
    },
    span: undefined,
  },
  'effect.cleared': {
    kind: 'note',
    shape: texts('by'),
    line: ({ by: name }, { agent, effect }) => `${agent}: ${effect} did not happen, according to ${person(name)}`,
    span: undefined,
  },
  'effect.held': {
    kind: 'note',
    shape: {},
    line: (_, { agent, effect }) => `${agent}: ${effect} is held back`,
    span: undefined,
  },
  'effect.released': {
    kind: 'note',
    shape: {},
    line: (_, { agent, effect }) => `${agent}: ${effect} is released`,
    span: undefined,
  },
  'run.pausing': {
    kind: 'note',
    shape: { ...kept('at id'), ...texts('reason by') },
    line: ({ escalated, by: name, reason }) =>
      escalated === true ? 'run pausing: steps in flight are stopped' : `run pausing${by(name)}${why(reason)}`,
    span: ['at', 'escalated'],
  },
  'run.paused': { kind: 'note', shape: {}, line: () => 'run paused', span: [] },
  'run.resumed': {
    kind: 'note',
    shape: { ...kept('id'), ...texts('by reason') },
    line: ({ by: name, reason }) => `run resumed${by(name)}${why(reason)}`,
    span: [],
  },
  'run.taken-over': {
    kind: 'note',
    shape: { ...kept('id'), ...texts('reason by') },
    line: ({ by: name, reason }) => `run taken over by ${person(name)}${why(reason)}`,
    span: [],
  },
  'run.handed-back': {
    kind: 'note',
    shape: { ...kept('id'), ...texts('reason by') },
    line: ({ by: name, reason }) => `run handed back by ${person(name)}${why(reason)}`,
    span: [],
  },
  'control.ignored': {
    kind: 'note',
    shape: { ...kept('command id'), ...texts('why reason by') },
    line: ({ command, by: name, why: cause }) => `${command}${by(name)} had no effect${why(cause)}`,
    span: undefined,
  },
  'run.forked': {
    kind: 'note',
    shape: {
      ...kept('run'),
      ...texts('edit reason by'),
      done: [{ ...kept('activation address work run'), outcome: outcomeOf('payload') }],
    },
    line: ({ run, at, by: name, reason }) => `forked from ${run} at ${at}${by(name)}${why(reason)}`,
    span: undefined,
  },
  'replay.diverged': {
    kind: 'note',
    shape: kept('unclaimed'),
    line: ({ unclaimed }, { agent, effect }) =>
      `${agent}: its code asks for ${effect}, and no longer for ${list(unclaimed)}`,
    span: ['address'],
  },
  'replay.resolved': {
    kind: 'note',
    shape: { ...kept('action to'), ...texts('by') },
    line: ({ action, to, by: name }, { agent, effect }) =>
      `${agent}: ${effect} is settled${by(name)}: ${action}${to === undefined ? '' : ` to ${shown(to)}`}`,
    span: ['address', 'action'],
  },
  'value.updated': {
    kind: 'note',
    shape: { ...kept('key'), ...texts('value by') },
    line: 'internal',
    entry: ({ key, value }) => `${key} is now ${preview(value)}`,
    span: undefined,
  },
}
