/**
 * The fold: takes a run's events in, one by one, and keeps what views need (K1).
 *
 * Owns: what each event changes. Does not own: activations and their open operations (run-index.ts), the view made of
 * it (projection.ts).
 * K1: the same events give the same fold. K7: an activation ends once, and what it had open is closed with it. K11:
 * usage is the sum of the rows recorded where they occurred; nothing is subtracted.
 */
import {
  present,
  addUsage,
  childActivation,
  rootActivation,
  withoutHandoff,
  type ActivationId,
  type Draft,
  type Json,
  type MessageId,
  type Outcome,
  type Usage,
} from '@reeve/core'
import type {
  AskOpened,
  Caller,
  CommandEvent,
  InterruptRaised,
  JournalEvent,
  Recorded,
  StepOpened,
} from '../events/events.ts'
import type { ApprovalResolved } from '../events/facts.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type IndexedOperation } from './run-index.ts'
import { foldTeamFact, newTeamsFold, type TeamsFold } from './team-fold.ts'
import {
  approvalAsked,
  type ActivationView,
  type ApprovalView,
  type DoubtView,
  type FailedAttempt,
  type InterruptView,
  type MessageView,
  type RecruitView,
  type RunView,
} from './views.ts'

/** @internal What the view of an activation has beyond the index. */
export interface ActivationFold extends Draft<
  Pick<ActivationView, 'modelCalls' | 'toolCalls' | 'failedAttempts' | 'recruited' | 'shortOf' | 'outcome'>
> {
  readonly indexed: IndexedActivation
  /** Usage of its own steps, without its workers. Of an outline: all that was used by it and below it. */
  usage: Usage
}

/** The state of the fold. Opaque: make one with `newRunFold`, feed it with `foldRun`, look at it with `viewOf`. */
export interface RunFold {
  readonly index: RunIndex
  input: Json
  caller: Caller
  readonly activations: Map<ActivationId, ActivationFold>
  readonly approvals: Map<string, Draft<ApprovalView>>
  readonly interrupts: Map<string, Draft<InterruptView>>
  readonly doubts: Map<string, DoubtView>
  readonly messages: Map<MessageId, Draft<MessageView>>
  readonly recruits: RecruitView[]
  /** By whose choice control was handed on, by the leader that recorded it and the path that got control. */
  readonly handed: Map<string, NonNullable<ActivationView['handed']>>
  readonly teams: TeamsFold
  readonly failedAttempts: FailedAttempt[]
  pause: (NonNullable<RunView['pause']> & { readonly reached: boolean }) | undefined
  takeover: RunView['takeover']
  cancel: RunView['cancel']
  origin: RunView['origin']
}

/** The fold of no events, over an index of the same events. */
export function newRunFold(index = new RunIndex()): RunFold {
  return {
    index,
    input: null,
    caller: {},
    activations: new Map(),
    approvals: new Map(),
    interrupts: new Map(),
    doubts: new Map(),
    messages: new Map(),
    recruits: [],
    handed: new Map(),
    teams: newTeamsFold(),
    failedAttempts: [],
    pause: undefined,
    takeover: undefined,
    cancel: undefined,
    origin: undefined,
  }
}

/** Takes in the next event: changes and returns the fold. An event that was taken in before changes nothing. */
export function foldRun(fold: RunFold, recorded: Recorded): RunFold {
  const change = fold.index.take(recorded)
  if (change !== undefined) foldChange(fold, recorded, change)
  return fold
}

/** Takes in an event that the index has taken in. */
export function foldChange(fold: RunFold, recorded: Recorded, { here: indexed, closed }: IndexChange): void {
  const { event } = recorded
  // a notice is part of how a question is put, and no worker of the run
  if (indexed === undefined || indexed.isNotice) return
  if (event.type === 'activation.started') {
    if (isRoot(fold, indexed.id)) {
      fold.input = event.input
      fold.caller = event.caller ?? {}
    }
    begin(fold, indexed)
    return
  }
  const here = fold.activations.get(indexed.id)
  if (here === undefined) return
  if ('op' in event) foldCommand(fold, here, recorded, event)
  else foldRest(fold, here, recorded, event, closed)
}

const isRoot = ({ index }: RunFold, id: ActivationId): boolean =>
  index.run !== undefined && id === rootActivation(index.run)

function begin(fold: RunFold, indexed: IndexedActivation): void {
  fold.activations.set(indexed.id, {
    indexed,
    modelCalls: 0,
    toolCalls: 0,
    failedAttempts: 0,
    recruited: fold.recruits.some((each) => each.worker === indexed.agent && each.by === indexed.parent),
    usage: [],
  })
}

function foldCommand(fold: RunFold, here: ActivationFold, recorded: Recorded, event: CommandEvent): void {
  switch (event.op) {
    case 'step':
      if (event.type === 'model.requested') modelAsked(here, event, recorded.at)
      if (event.type === 'tool.called') here.toolCalls++
      return
    case 'worker': {
      const child = childActivation(recorded.activation, event.address, event.apart)
      const indexed = fold.index.activations.get(child)
      if (indexed?.isOutline === true) begin(fold, indexed)
      return
    }
    case 'ask':
      foldQuestion(fold, here, recorded, event)
      return
    case 'send':
      fold.messages.set(event.id, {
        id: event.id,
        from: recorded.activation,
        to: event.to,
        sentAt: recorded.at,
        ...received(fold, event.id),
      })
      return
    case 'fact':
      if (event.type === 'worker.recruited')
        fold.recruits.push({ worker: event.worker, reason: event.reason, by: recorded.activation, at: recorded.at })
      if (event.type === 'approval.resolved') resolve(fold, event, recorded.at)
      if (event.type === 'agent.transferred')
        fold.handed.set(handedKey(recorded.activation, [...event.path, event.to]), event.by)
      foldTeamFact(fold.teams, recorded, event)
  }
}

/** A call without room in an account is not counted. */
function modelAsked(here: ActivationFold, { refused }: StepOpened, since: number): void {
  delete here.shortOf
  if (refused === undefined) here.modelCalls++
  const { later, limit, max, activation } = refused?.details ?? {}
  if (later === true) here.shortOf = { limit, max, activation, since } as NonNullable<ActivationView['shortOf']>
}

/** A receiver's log may be read before its sender's when both were committed at once. */
function received(fold: RunFold, id: MessageId): Pick<MessageView, 'state' | 'body'> {
  const known = fold.messages.get(id)
  return known === undefined
    ? { state: 'sent' }
    : { state: known.state, ...(known.body === undefined ? {} : { body: known.body }) }
}

function foldQuestion(fold: RunFold, here: ActivationFold, { activation, at }: Recorded, event: AskOpened): void {
  const { agent } = here.indexed
  const until = event.until === undefined ? {} : { until: event.until }
  const common = { activation, address: event.address, agent, askedAt: at, open: true, ...until }
  if (event.type === 'interrupt.raised') fold.interrupts.set(event.id, { ...common, ...pickInterrupt(event) })
  else if (event.type === 'approval.requested') fold.approvals.set(event.id, { ...common, ...approvalAsked(event) })
}

const pickInterrupt = ({
  id,
  path,
  question,
  schema,
  tool,
  callId,
}: InterruptRaised): Pick<InterruptView, 'id' | 'path' | 'question' | 'schema' | 'tool' | 'callId'> => ({
  id,
  path,
  question,
  ...present({ tool, callId }),
  ...(schema === undefined ? undefined : { schema }),
})

function resolve(fold: RunFold, event: ApprovalResolved, at: number): void {
  const approval = fold.approvals.get(event.id)
  if (approval === undefined) return
  approval.open = false
  approval.resolution = event.resolution
  approval.resolvedAt ??= at
  if (event.approver !== undefined) approval.approver = event.approver
  if (event.comment !== undefined) approval.comment = event.comment
  if (event.capability !== undefined) approval.capability = event.capability
}

function foldRest(
  fold: RunFold,
  here: ActivationFold,
  recorded: Recorded,
  event: Exclude<JournalEvent, CommandEvent>,
  closed: readonly IndexedOperation[],
): void {
  const { activation, at } = recorded
  switch (event.type) {
    case 'step.settled':
      here.usage = addUsage(here.usage, event.usage ?? [])
      fold.doubts.delete(key(activation, event.address))
      return
    case 'worker.settled': {
      fold.doubts.delete(key(activation, event.address))
      const child =
        event.apart === true ? fold.activations.get(childActivation(activation, event.address, true)) : undefined
      if (child?.indexed.isOutline !== true) return
      child.usage = event.usage ?? []
      child.outcome = withoutHandoff(event.outcome)
      return
    }
    case 'ask.settled':
      fold.doubts.delete(key(activation, event.address))
      for (const { event: asked } of closed) answered(fold, asked, event.outcome, at)
      return
    case 'message.received': {
      const known = fold.messages.get(event.id)
      const from = known?.from ?? event.from
      fold.messages.set(event.id, {
        id: event.id,
        to: activation,
        sentAt: known?.sentAt ?? at,
        state: 'received',
        body: event.body,
        ...present({ from, by: event.by }),
      })
      return
    }
    case 'message.refused': {
      const known = fold.messages.get(event.id)
      if (known !== undefined) known.state = 'refused'
      return
    }
    case 'cancel.received':
      if (!isRoot(fold, activation)) return
      fold.cancel ??= { reason: event.reason, ...(event.by === undefined ? {} : { by: event.by }) }
      // it goes on to its end: neither paused nor taken over any more
      fold.pause = fold.takeover = undefined
      return
    case 'activation.settled':
      here.usage = addUsage(here.usage, event.lost ?? [])
      delete here.shortOf
      here.outcome = withoutHandoff(event.outcome)
      for (const { event: asked } of closed) {
        fold.doubts.delete(key(activation, asked.address))
        answered(fold, asked, { status: 'cancelled', reason: 'its agent has ended' }, at)
      }
      return
    default:
      foldNote(fold, here, recorded, event, closed)
  }
}

type Note = Exclude<
  JournalEvent,
  | CommandEvent
  | {
      type:
        | 'step.settled'
        | 'worker.settled'
        | 'ask.settled'
        | 'message.received'
        | 'message.refused'
        | 'cancel.received'
        | 'activation.settled'
    }
>

function foldNote(
  fold: RunFold,
  here: ActivationFold,
  { activation, at }: Recorded,
  event: Note,
  closed: readonly IndexedOperation[],
): void {
  // a pause reaches the child runs, too: what is said of it there is of those runs
  if (event.type.startsWith('run.') && !isRoot(fold, activation)) return
  switch (event.type) {
    case 'activation.restarted': {
      here.usage = addUsage(here.usage, event.lost ?? [])
      for (const { event: left } of closed) fold.doubts.delete(key(activation, left.address))
      return
    }
    case 'step.attempt-failed': {
      here.failedAttempts++
      here.usage = addUsage(here.usage, event.usage ?? [])
      const { address, attempt, failure, delayMs } = event
      fold.failedAttempts.push({ activation, address, attempt, failure, delayMs, at })
      return
    }
    case 'effect.in-doubt':
    case 'replay.diverged': {
      const unclaimed = event.type === 'replay.diverged' ? event.unclaimed : []
      fold.doubts.set(key(activation, event.address), {
        kind: event.type === 'replay.diverged' ? 'diverged' : 'in-doubt',
        activation,
        address: event.address,
        since: at,
        unclaimed,
        ...('doneIn' in event ? { doneIn: event.doneIn } : {}),
        ...('madeBy' in event ? { madeBy: event.madeBy } : {}),
        ...('trial' in event ? { trial: event.trial } : {}),
      })
      return
    }
    case 'effect.cleared':
    case 'replay.resolved':
      fold.doubts.delete(key(activation, event.address))
      return
    case 'run.pausing':
      fold.pause = {
        at: event.at,
        since: event.escalated === true ? (fold.pause?.since ?? at) : at,
        reached: false,
        ...(event.reason === undefined ? {} : { reason: event.reason }),
        ...(event.by === undefined ? {} : { by: event.by }),
      }
      return
    case 'run.paused':
      if (fold.pause !== undefined) fold.pause = { ...fold.pause, reached: true }
      return
    case 'run.resumed':
      fold.pause = fold.takeover = undefined
      return
    case 'run.forked': {
      const { run, at, reason, by } = event
      fold.origin = { run, at, ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) }
      return
    }
    case 'run.taken-over': {
      const { reason, by } = event
      fold.takeover = { since: at, ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) }
      return
    }
    case 'activation.started':
    case 'activation.summed':
    case 'agent.moved':
    case 'control.ignored':
    case 'run.handed-back':
    case 'effect.held':
    case 'effect.released':
    case 'value.updated':
      return
  }
}

/** @internal The key of a path that a leader has handed control to. */
export const handedKey = (leader: ActivationId | undefined, path: readonly string[]): string =>
  JSON.stringify([leader ?? '', ...path])

const key = (activation: ActivationId, address: string): string => `${activation}|${address}`

/** A question has its answer; how an approval came out is a fact of its own that follows. */
function answered(fold: RunFold, event: IndexedOperation['event'], outcome: Outcome, at: number): void {
  const asked =
    event.type === 'interrupt.raised'
      ? fold.interrupts.get(event.id)
      : event.type === 'approval.requested'
        ? fold.approvals.get(event.id)
        : undefined
  if (asked === undefined) return
  asked.open = false
  asked.resolvedAt = at
  if ('question' in asked) asked.outcome = outcome
  else if (outcome.status === 'cancelled') asked.resolution = 'cancelled'
}
