/**
 * The projection: a run's view out of its fold.
 *
 * Owns: the status that a journal shows, usage summed up the tree, and that every view is a copy. Does not own: what
 * events change (run-index.ts, fold.ts).
 * K1: a view says nothing that is not in the events before its position.
 */
import {
  addUsage,
  parentOf,
  present,
  rootActivation,
  type ActivationId,
  type RunId,
  type Usage,
} from '../../core/index.ts'
import { foldRun, handedKey, newRunFold, type ActivationFold, type RunFold } from './fold.ts'
import type { Recorded } from '../events/events.ts'
import type { IndexedOperation } from './run-index.ts'
import { teamViews } from './team-projection.ts'
import type { ActivationView, OpenOperation, RunView, ViewStatus } from './views.ts'

/** The view of a run's events, given in the order of their positions. */
export function runView(events: Iterable<Recorded>): RunView {
  const fold = newRunFold()
  for (const recorded of events) foldRun(fold, recorded)
  return viewOf(fold)
}

/** The view of the run as it is folded now. It shares nothing with the fold. */
export function viewOf(fold: RunFold): RunView {
  const run = fold.index.run ?? ('' as RunId)
  const root = fold.activations.get(rootActivation(run))
  const busy = busyTrees(fold)
  const usage = usageOfTrees(fold)
  const activations = [...fold.activations].map(([id, each]) =>
    activationView(fold, each, busy.has(id), usage.get(id) ?? []),
  )
  const { pause, cancel } = fold
  const status = statusOf(fold, root, busy)
  const teams = teamViews(fold.teams, {
    activations: new Map(activations.map((each) => [each.activation, each])),
    awaiting: awaitingTrees(fold),
    asked: askedTasks(fold),
    paused: status === 'paused' || (status === 'human_control' && pause?.reached === true),
    bodyOf: (id) => fold.messages.get(id)?.body,
  })
  return structuredClone({
    run,
    status,
    agent: root?.indexed.agent ?? '',
    version: root?.indexed.version ?? '',
    input: fold.input,
    caller: fold.caller,
    startedAt: root?.indexed.startedAt ?? 0,
    ...present({ endedAt: root?.indexed.endedAt, outcome: root?.outcome }),
    activations,
    approvals: [...fold.approvals.values()],
    interrupts: [...fold.interrupts.values()],
    doubts: [...fold.doubts.values()],
    messages: [...fold.messages.values()],
    recruits: fold.recruits,
    teams,
    failedAttempts: fold.failedAttempts,
    usage: usage.get(rootActivation(run)) ?? [],
    ...(pause === undefined
      ? {}
      : {
          pause: {
            at: pause.at,
            since: pause.since,
            ...(pause.reason === undefined ? {} : { reason: pause.reason }),
            ...(pause.by === undefined ? {} : { by: pause.by }),
          },
        }),
    ...(fold.takeover === undefined ? {} : { takeover: fold.takeover }),
    ...(cancel === undefined ? {} : { cancel }),
    ...(fold.origin === undefined ? {} : { origin: fold.origin }),
    position: fold.index.position,
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

function openOperation({ event, since, failedAttempts, inDoubt }: IndexedOperation): OpenOperation {
  const { kind, name } = kindOf(event)
  return { kind, name, address: event.address, since, failedAttempts, inDoubt }
}

function kindOf(event: IndexedOperation['event']): Pick<OpenOperation, 'kind' | 'name'> {
  switch (event.type) {
    case 'model.requested':
      return { kind: 'model', name: event.model }
    case 'tool.called':
      return { kind: 'tool', name: event.tool }
    case 'worker.started':
      return { kind: 'worker', name: event.agent }
    case 'interrupt.raised':
      return { kind: 'interrupt', name: event.id }
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
