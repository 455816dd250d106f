/**
 * The fold: takes a run's events in, one by one, and keeps what views need (K1).
 *
 * Owns: what each event changes. Does not own: the pictures made of it (projection.ts).
 * K1: the same events give the same fold. K7: an activation ends once, and what it had open is closed with it. K11:
 * usage is the sum of the rows recorded where they occurred; nothing is subtracted.
 */
import {
  addUsage,
  childActivation,
  parentOf,
  rootActivation,
  withoutTrail,
  type ActivationId,
  type Json,
  type MessageId,
  type Outcome,
  type RunId,
  type Usage,
} from '../../core/index.ts'
import {
  isNotice,
  pathOf,
  type AskOpened,
  type Caller,
  type CommandEvent,
  type InterruptRaised,
  type JournalEvent,
  type Recorded,
  type StepOpened,
  type WorkerStarted,
} from '../events/events.ts'
import type { ApprovalResolved } from '../events/facts.ts'
import { foldTeamFact, newTeamsFold, type TeamsFold } from './team-fold.ts'
import {
  approvalAsked,
  type ActivationView,
  type ApprovalView,
  type DoubtView,
  type FailedAttempt,
  type InterruptView,
  type MessageView,
  type OpenOperation,
  type RecruitView,
  type RunView,
} from './views.ts'

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/** @internal An activation while it is folded. */
export interface ActivationFold {
  readonly view: Draft<Omit<ActivationView, 'open' | 'state' | 'usage'>>
  readonly open: Map<string, Draft<OpenOperation>>
  /** Usage of its own steps, without its workers. Of an outline: all that was used by it and below it. */
  usage: Usage
  /** It is placed apart, and its own events were not folded: only what its leader knows of it is here. */
  readonly isOutline?: true
}

/** The state of the fold. Opaque: make one with `newRunFold`, feed it with `foldRun`, look at it with `viewOf`. */
export interface RunFold {
  run: RunId | undefined
  position: number
  input: Json
  caller: Caller
  readonly activations: Map<ActivationId, ActivationFold>
  readonly approvals: Map<string, Draft<ApprovalView>>
  readonly interrupts: Map<string, Draft<InterruptView>>
  readonly doubts: Map<string, DoubtView>
  /** Open questions by activation and address: their ids. */
  readonly asked: Map<string, string>
  readonly messages: Map<MessageId, Draft<MessageView>>
  readonly recruits: RecruitView[]
  /** Who handed control on to whom: by the leader that recorded it and the path it went to. */
  readonly handed: Map<string, NonNullable<ActivationView['handed']>>
  readonly teams: TeamsFold
  readonly failedAttempts: FailedAttempt[]
  pause: (NonNullable<RunView['pause']> & { readonly reached: boolean }) | undefined
  takeover: RunView['takeover']
  cancel: RunView['cancel']
  origin: RunView['origin']
}

/** The fold of nothing. */
export function newRunFold(): RunFold {
  return {
    run: undefined,
    position: 0,
    input: null,
    caller: {},
    activations: new Map(),
    approvals: new Map(),
    interrupts: new Map(),
    doubts: new Map(),
    asked: new Map(),
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

/** Takes one more event in: changes and returns the fold. Events already folded (by position) change nothing. */
export function foldRun(fold: RunFold, recorded: Recorded): RunFold {
  if (recorded.position <= fold.position) return fold
  fold.position = recorded.position
  fold.run ??= recorded.run
  const { event } = recorded
  if (event.type === 'activation.started') {
    // whoever tells people is nobody's worker: its facts are in the journal of whoever asks
    if (!isNotice(event.agent)) begin(fold, recorded, event)
    return fold
  }
  const at = fold.activations.get(recorded.activation)
  if (at === undefined) return fold
  if ('op' in event) foldCommand(fold, at, recorded, event)
  else foldRest(fold, at, recorded, event)
  return fold
}

function begin(
  fold: RunFold,
  { run, activation, at }: Recorded,
  event: Extract<JournalEvent, { type: 'activation.started' }>,
): void {
  const born = parentOf(activation)
  const parent = born?.parent
  const above = parent === undefined ? undefined : fold.activations.get(parent)?.view
  if (activation === rootActivation(fold.run ?? run)) {
    fold.input = event.input
    fold.caller = event.caller ?? {}
  }
  fold.activations.set(activation, {
    view: {
      activation,
      agent: event.agent,
      version: event.version,
      ...(parent === undefined ? {} : { parent }),
      path: pathOf(event, above?.path),
      ...(born?.apart === true ? { apart: true } : {}),
      startedAt: at,
      modelCalls: 0,
      toolCalls: 0,
      failedAttempts: 0,
      recruited: fold.recruits.some((each) => each.worker === event.agent && each.by === parent),
    },
    open: new Map(),
    usage: [],
  })
}

/** What a leader's journal says of a worker that is placed apart. Its own events, in its own run, say the rest. */
function outline(fold: RunFold, here: ActivationFold, { activation, at }: Recorded, event: WorkerStarted): void {
  const id = childActivation(activation, event.address, true)
  fold.activations.set(id, {
    view: {
      activation: id,
      agent: event.agent,
      version: event.version ?? '',
      parent: activation,
      path: [...here.view.path, event.agent],
      apart: true,
      startedAt: at,
      modelCalls: 0,
      toolCalls: 0,
      failedAttempts: 0,
      recruited: fold.recruits.some((each) => each.worker === event.agent && each.by === activation),
    },
    open: new Map(),
    usage: [],
    isOutline: true,
  })
}

function foldCommand(fold: RunFold, here: ActivationFold, recorded: Recorded, event: CommandEvent): void {
  switch (event.op) {
    case 'step':
      if (event.type === 'model.requested') modelAsked(here.view, event, recorded.at)
      if (event.type === 'tool.called') here.view.toolCalls++
      here.open.set(event.address, operation(stepKind(event), stepName(event), event.address, recorded.at))
      return
    case 'worker':
      if (event.purpose === 'notice') return
      here.open.set(event.address, operation('worker', event.agent, event.address, recorded.at))
      if (event.apart === true && event.refused === undefined) outline(fold, here, recorded, event)
      return
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

/** A call for which there is no room is none. */
function modelAsked(view: ActivationFold['view'], { refused }: StepOpened, since: number): void {
  delete view.shortOf
  if (refused === undefined) view.modelCalls++
  const { later, limit, max, activation } = refused?.details ?? {}
  if (later === true) view.shortOf = { limit, max, activation, since } as NonNullable<ActivationView['shortOf']>
}

/** A receiver's log may be read before its sender's when both were committed at once. */
function received(fold: RunFold, id: MessageId): Pick<MessageView, 'state' | 'body'> {
  const known = fold.messages.get(id)
  return known === undefined
    ? { state: 'sent' }
    : { state: known.state, ...(known.body === undefined ? {} : { body: known.body }) }
}

const stepKind = (event: StepOpened): OpenOperation['kind'] =>
  event.type === 'model.requested' ? 'model' : event.type === 'tool.called' ? 'tool' : 'step'
const stepName = (event: StepOpened): string =>
  event.type === 'model.requested' ? event.model : event.type === 'tool.called' ? event.tool : event.address

function operation(kind: OpenOperation['kind'], name: string, address: string, since: number): Draft<OpenOperation> {
  return { kind, name, address, since, failedAttempts: 0, inDoubt: false }
}

function foldQuestion(fold: RunFold, here: ActivationFold, { activation, at }: Recorded, event: AskOpened): void {
  const { agent } = here.view
  const until = event.until === undefined ? {} : { until: event.until }
  const common = { activation, address: event.address, agent, askedAt: at, open: true, ...until }
  if (event.type === 'timer.set') {
    here.open.set(event.address, operation('timer', event.address, event.address, at))
  } else if (event.type === 'interrupt.raised') {
    here.open.set(event.address, operation('interrupt', event.id, event.address, at))
    fold.asked.set(key(activation, event.address), event.id)
    fold.interrupts.set(event.id, { ...common, ...pickInterrupt(event) })
  } else {
    here.open.set(event.address, operation('approval', event.tool, event.address, at))
    fold.asked.set(key(activation, event.address), event.id)
    fold.approvals.set(event.id, { ...common, ...approvalAsked(event) })
  }
}

const pickInterrupt = ({ id, path, question }: InterruptRaised): Pick<InterruptView, 'id' | 'path' | 'question'> => ({
  id,
  path,
  question,
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
): void {
  const { activation, at } = recorded
  switch (event.type) {
    case 'step.settled':
      here.usage = addUsage(here.usage, event.usage ?? [])
      close(fold, here, activation, event.address)
      return
    case 'worker.settled': {
      close(fold, here, activation, event.address)
      const worker =
        event.apart === true ? fold.activations.get(childActivation(activation, event.address, true)) : undefined
      if (worker?.isOutline !== true) return
      worker.usage = event.usage ?? []
      settle(fold, worker, worker.view.activation, event.outcome, at)
      return
    }
    case 'ask.settled':
      close(fold, here, activation, event.address)
      answered(fold, activation, event.address, event.outcome, at)
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
        ...(from === undefined ? {} : { from }),
      })
      return
    }
    case 'message.refused': {
      const known = fold.messages.get(event.id)
      if (known !== undefined) known.state = 'refused'
      return
    }
    case 'cancel.received':
      if (activation !== rootActivation(fold.run ?? recorded.run)) return
      fold.cancel ??= { reason: event.reason, ...(event.by === undefined ? {} : { by: event.by }) }
      // it goes on, to its end: nobody holds it any more
      fold.pause = fold.takeover = undefined
      return
    case 'activation.settled':
      here.usage = addUsage(here.usage, event.lost ?? [])
      settle(fold, here, activation, event.outcome, at)
      return
    default:
      foldNote(fold, here, recorded, event)
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

function foldNote(fold: RunFold, here: ActivationFold, { activation, at }: Recorded, event: Note): void {
  switch (event.type) {
    case 'activation.restarted': {
      here.usage = addUsage(here.usage, event.lost ?? [])
      const kept = new Set(event.open.map((each) => each.address))
      for (const address of here.open.keys()) if (!kept.has(address)) close(fold, here, activation, address)
      return
    }
    case 'agent.moved':
      here.view.version = event.to
      return
    case 'step.attempt-failed': {
      here.view.failedAttempts++
      const open = here.open.get(event.address)
      if (open !== undefined) open.failedAttempts++
      const { address, attempt, failure, delayMs } = event
      fold.failedAttempts.push({ activation, address, attempt, failure, delayMs, at })
      return
    }
    case 'effect.in-doubt':
    case 'replay.diverged': {
      const open = here.open.get(event.address)
      if (open !== undefined && event.type === 'effect.in-doubt') open.inDoubt = true
      const unclaimed = event.type === 'replay.diverged' ? event.unclaimed : []
      fold.doubts.set(key(activation, event.address), {
        kind: event.type === 'replay.diverged' ? 'diverged' : 'in-doubt',
        activation,
        address: event.address,
        since: at,
        unclaimed,
        ...('doneIn' in event ? { doneIn: event.doneIn } : {}),
        ...('madeBy' in event ? { madeBy: event.madeBy } : {}),
      })
      return
    }
    case 'effect.cleared':
    case 'replay.resolved': {
      fold.doubts.delete(key(activation, event.address))
      const open = here.open.get(event.address)
      if (open !== undefined) open.inDoubt = false
      return
    }
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
    case 'control.ignored':
    case 'run.handed-back':
    case 'effect.held':
    case 'effect.released':
    case 'value.updated':
      return
  }
}

/** @internal Names a place to which a leader's workers handed control. */
export const handedKey = (leader: ActivationId | undefined, path: readonly string[]): string =>
  JSON.stringify([leader ?? '', ...path])

const key = (activation: ActivationId, address: string): string => `${activation}|${address}`

function close(fold: RunFold, here: ActivationFold, activation: ActivationId, address: string): void {
  here.open.delete(address)
  fold.doubts.delete(key(activation, address))
}

/** A question has its answer; how an approval came out is a fact of its own that follows. */
function answered(fold: RunFold, activation: ActivationId, address: string, outcome: Outcome, at: number): void {
  const id = fold.asked.get(key(activation, address))
  if (id === undefined) return
  fold.asked.delete(key(activation, address))
  const asked = fold.interrupts.get(id) ?? fold.approvals.get(id)
  if (asked === undefined) return
  asked.open = false
  asked.resolvedAt = at
  if ('question' in asked) asked.outcome = outcome
  else if (outcome.status === 'cancelled') asked.resolution = 'cancelled'
}

function settle(fold: RunFold, here: ActivationFold, activation: ActivationId, outcome: Outcome, at: number): void {
  here.view.endedAt = at
  delete here.view.shortOf
  here.view.outcome = withoutTrail(outcome)
  for (const address of here.open.keys()) {
    close(fold, here, activation, address)
    answered(fold, activation, address, { status: 'cancelled', reason: 'its agent has ended' }, at)
  }
}
