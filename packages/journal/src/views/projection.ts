/**
 * The projection: a run's view out of its fold.
 *
 * Owns: the status that a journal shows, usage summed up the tree, and that every view is a copy. Does not own: what
 * events change (run-index.ts, fold.ts).
 * K1: a view says nothing that is not in the events before its position.
 */
import { addUsage, parentOf, present, rootActivation, type ActivationId, type RunId, type Usage } from '@reeve/core'
import { foldRun, handedKey, newRunFold, type ActivationFold, type RunFold } from './fold.ts'
import type { Recorded } from '../events/events.ts'
import type { IndexedOperation } from './run-index.ts'
import { teamViews } from './team-projection.ts'
import type { TeamView } from './team-views.ts'
import type { ActivationView, OpenOperation, RunView, RunViewHead, ViewStatus } from './views.ts'

/** The view of a run's events, given in the order of their positions. */
export function runView(events: Iterable<Recorded>): RunView {
  const fold = newRunFold()
  for (const recorded of events) foldRun(fold, recorded)
  return viewOf(fold)
}

/** What follows from a whole fold, before any part of it is shown. */
export interface FoldState {
  readonly status: ViewStatus
  /** The activations that work, or lead one that works. */
  readonly busy: ReadonlySet<ActivationId>
  /** Of each activation and everything below it. */
  readonly usage: ReadonlyMap<ActivationId, Usage>
}

/** The state of a fold as it is now. Costs one pass over all activations. */
export function foldState(fold: RunFold): FoldState {
  const busy = busyTrees(fold)
  return { status: statusOf(fold, rootOf(fold), busy), busy, usage: usageOfTrees(fold) }
}

const rootOf = ({ index: { run }, activations }: RunFold): ActivationFold | undefined =>
  run === undefined ? undefined : activations.get(rootActivation(run))

/** One activation of the run as it is folded now; undefined if it has none of this id. Shares its values with the fold. */
export function activationViewOf(fold: RunFold, id: ActivationId, state: FoldState): ActivationView | undefined {
  const each = fold.activations.get(id)
  return each === undefined ? undefined : activationView(fold, each, state.busy.has(id), state.usage.get(id) ?? [])
}

/** The planned teams of the run as it is folded now. Share their values with the fold. */
export function teamViewsOf(fold: RunFold, state: FoldState): readonly TeamView[] {
  const leaders = [...fold.teams.teams.keys()].flatMap((id) => activationViewOf(fold, id, state) ?? [])
  return teamViews(fold.teams, {
    activations: new Map(leaders.map((each) => [each.activation, each])),
    awaiting: awaitingTrees(fold),
    asked: askedTasks(fold),
    paused: state.status === 'paused' || (state.status === 'human_control' && fold.pause?.reached === true),
    bodyOf: (id) => fold.messages.get(id)?.body,
  })
}

/** The run itself, without what is in it. Shares its values with the fold. */
export function headOf(fold: RunFold, { status, usage }: FoldState): RunViewHead {
  const { pause, takeover, cancel, origin } = fold
  const run = fold.index.run ?? ('' as RunId)
  const root = rootOf(fold)
  return {
    run,
    status,
    agent: root?.indexed.agent ?? '',
    version: root?.indexed.version ?? '',
    input: fold.input,
    caller: fold.caller,
    startedAt: root?.indexed.startedAt ?? 0,
    ...present({ endedAt: root?.indexed.endedAt, outcome: root?.outcome }),
    usage: usage.get(rootActivation(run)) ?? [],
    ...(pause === undefined
      ? {}
      : { pause: { at: pause.at, since: pause.since, ...present({ reason: pause.reason, by: pause.by }) } }),
    ...present({ takeover, cancel, origin }),
    position: fold.index.position,
  }
}

/** The view of the run as it is folded now. It shares nothing with the fold. */
export function viewOf(fold: RunFold): RunView {
  const state = foldState(fold)
  const { usage, pause, takeover, cancel, origin, position, ...head } = headOf(fold, state)
  return structuredClone({
    ...head,
    activations: [...fold.activations.keys()].flatMap((id) => activationViewOf(fold, id, state) ?? []),
    approvals: [...fold.approvals.values()],
    interrupts: [...fold.interrupts.values()],
    doubts: [...fold.doubts.values()],
    messages: [...fold.messages.values()],
    recruits: fold.recruits,
    teams: teamViewsOf(fold, state),
    failedAttempts: fold.failedAttempts,
    usage,
    ...present({ pause, takeover, cancel, origin }),
    position,
  })
}

function activationView(
  fold: RunFold,
  { indexed, usage: _own, outcome, ...counted }: ActivationFold,
  busy: boolean,
  usage: Usage,
): ActivationView {
  const { id: activation, agent, version, parent, path, apart, startedAt, endedAt, open } = indexed
  const handed = fold.handed.get(handedKey(parent, path))
  const { recruited = false, ...assigned } = fold.teams.assigned.get(activation) ?? {}
  return {
    activation,
    agent,
    version,
    ...present({ parent }),
    path,
    ...(apart ? { apart } : undefined),
    startedAt,
    ...counted,
    ...present({ endedAt, outcome }),
    ...assigned,
    recruited: counted.recruited || recruited,
    state: outcome?.status ?? (busy ? 'running' : 'waiting'),
    open: [...open.values()].filter(({ event }) => !isNoticeWork(event)).map(openOperation),
    usage,
    ...present({ handed }),
  }
}

const isNoticeWork = (event: IndexedOperation['event']): boolean => event.op === 'worker' && event.purpose === 'notice'

function openOperation({ event, since, failedAttempts, nextAttempt, inDoubt }: IndexedOperation): OpenOperation {
  const { kind, name } = kindOf(event)
  return {
    kind,
    name,
    address: event.address,
    since,
    failedAttempts,
    ...(nextAttempt === undefined ? {} : { nextAttempt: { ...nextAttempt } }),
    inDoubt,
  }
}

/** What an open operation is, and what it is called. */
export function kindOf(event: IndexedOperation['event']): Pick<OpenOperation, 'kind' | 'name' | 'tool'> {
  switch (event.type) {
    case 'model.requested':
      return { kind: 'model', name: event.model }
    case 'tool.called':
      return { kind: 'tool', name: event.tool }
    case 'worker.started':
      return { kind: 'worker', name: event.agent }
    case 'interrupt.raised':
      return { kind: 'interrupt', name: event.id, ...present({ tool: event.tool }) }
    case 'approval.requested':
      return { kind: 'approval', name: event.tool }
    case 'timer.set':
      return { kind: 'timer', name: event.address }
    case 'step.begun':
      return { kind: 'step', name: event.address }
  }
}

function statusOf(fold: RunFold, root: ActivationFold | undefined, busy: ReadonlySet<ActivationId>): ViewStatus {
  if (root?.outcome !== undefined) return root.outcome.status
  if (fold.takeover !== undefined) return 'human_control'
  if (fold.pause !== undefined) return fold.pause.reached ? 'paused' : 'pausing'
  if (root === undefined || busy.has(root.indexed.id)) return 'running'
  return [...fold.doubts.values()].some((each) => each.kind === 'diverged') ? 'stuck' : 'waiting'
}

/** The activations that work, or lead one that works. The others wait for an answer, a decision or an operator. */
function busyTrees(fold: RunFold): ReadonlySet<ActivationId> {
  const busy = new Set<ActivationId>()
  const withLiveWorkers = new Set<ActivationId>()
  const stopped = new Set([...fold.doubts.values()].map(({ activation }) => activation))
  for (const [id, { indexed, outcome }] of [...fold.activations].reverse()) {
    if (outcome !== undefined) continue
    const { parent } = indexed
    if (parent !== undefined) withLiveWorkers.add(parent)
    const open = [...indexed.open.values()]
    const works = open.some(({ event, inDoubt }) => !inDoubt && (event.op === 'step' || event.type === 'timer.set'))
    const asks = open.some(({ event, inDoubt }) => inDoubt || (event.op === 'ask' && event.type !== 'timer.set'))
    if (works || !(asks || withLiveWorkers.has(id) || stopped.has(id))) busy.add(id)
    if (busy.has(id) && parent !== undefined) busy.add(parent)
  }
  return busy
}

/** The activations that ask a human, or an operator what became of an effect, and those above them. */
function awaitingTrees({ approvals, interrupts, doubts }: RunFold): ReadonlySet<ActivationId> {
  const awaiting = new Set<ActivationId>()
  const asking = [...approvals.values(), ...interrupts.values()].filter(({ open }) => open)
  for (const { activation } of [...asking, ...[...doubts.values()].filter(({ kind }) => kind === 'in-doubt')]) {
    let at: ActivationId | undefined = activation
    for (; at !== undefined && !awaiting.has(at); at = parentOf(at)?.parent) awaiting.add(at)
  }
  return awaiting
}

/** The tasks of plans about which a human is asked now, by their leaders. */
function askedTasks({ approvals }: RunFold): ReadonlyMap<ActivationId, ReadonlySet<string>> {
  const asked = new Map<ActivationId, Set<string>>()
  for (const { open, activation, task } of approvals.values())
    if (open && task !== undefined) asked.set(activation, (asked.get(activation) ?? new Set()).add(task))
  return asked
}

/** Usage of each activation and everything below it. */
function usageOfTrees(fold: RunFold): ReadonlyMap<ActivationId, Usage> {
  const totals = new Map<ActivationId, Usage>()
  for (const [id, { indexed, usage }] of [...fold.activations].reverse()) {
    const { parent } = indexed
    const total = addUsage(usage, totals.get(id) ?? [])
    totals.set(id, total)
    if (parent !== undefined) totals.set(parent, addUsage(total, totals.get(parent) ?? []))
  }
  return totals
}
