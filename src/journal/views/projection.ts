/**
 * The pictures: a run's view out of its fold.
 *
 * Owns: the status a journal shows, usage rolled up the tree, and that whatever is handed out is a copy. Does not own:
 * what events change (fold.ts). K1: a view says nothing that is not in the events before its position.
 */
import { addUsage, parentOf, rootActivation, type ActivationId, type RunId, type Usage } from '../../core/index.ts'
import { foldRun, handedKey, newRunFold, type ActivationFold, type RunFold } from './fold.ts'
import type { Recorded } from '../events/events.ts'
import { teamViews } from './team-projection.ts'
import type { ActivationView, RunView, ViewStatus } from './views.ts'

/** The view of a run's events, given in the order of their positions. */
export function runView(events: Iterable<Recorded>): RunView {
  const fold = newRunFold()
  for (const recorded of events) foldRun(fold, recorded)
  return viewOf(fold)
}

/** A picture of the fold as it is now. It shares nothing with it. */
export function viewOf(fold: RunFold): RunView {
  const run = fold.run ?? ('' as RunId)
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
    agent: root?.view.agent ?? '',
    version: root?.view.version ?? '',
    input: fold.input,
    caller: fold.caller,
    startedAt: root?.view.startedAt ?? 0,
    ...(root?.view.endedAt === undefined ? {} : { endedAt: root.view.endedAt }),
    ...(root?.view.outcome === undefined ? {} : { outcome: root.view.outcome }),
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
    position: fold.position,
  })
}

function activationView(fold: RunFold, { view, open }: ActivationFold, busy: boolean, usage: Usage): ActivationView {
  const { outcome } = view
  const handed = fold.handed.get(handedKey(view.parent, view.path))
  const { recruited = false, ...assigned } = fold.teams.assigned.get(view.activation) ?? {}
  return {
    ...view,
    ...assigned,
    recruited: view.recruited || recruited,
    state: outcome?.status ?? (busy ? 'running' : 'waiting'),
    open: [...open.values()],
    usage,
    ...(handed === undefined ? undefined : { handed }),
  }
}

function statusOf(fold: RunFold, root: ActivationFold | undefined, busy: ReadonlySet<ActivationId>): ViewStatus {
  if (root?.view.outcome !== undefined) return root.view.outcome.status
  if (fold.takeover !== undefined) return 'human_control'
  if (fold.pause !== undefined) return fold.pause.reached ? 'paused' : 'pausing'
  if (root === undefined || busy.has(root.view.activation)) return 'running'
  return [...fold.doubts.values()].some((each) => each.kind === 'diverged') ? 'stuck' : 'waiting'
}

/** The activations that work, or have somebody below them who does. The others wait for somebody outside. */
function busyTrees(fold: RunFold): ReadonlySet<ActivationId> {
  const busy = new Set<ActivationId>()
  const withLiveWorkers = new Set<ActivationId>()
  for (const [id, { view, open }] of [...fold.activations].reverse()) {
    if (view.outcome !== undefined) continue
    if (view.parent !== undefined) withLiveWorkers.add(view.parent)
    const stopped = fold.doubts.size > 0 && [...fold.doubts.values()].some((each) => each.activation === id)
    const works = [...open.values()].some(
      (each) => ['model', 'tool', 'step', 'timer'].includes(each.kind) && !each.inDoubt,
    )
    const asks = [...open.values()].some(
      (each) => each.kind === 'approval' || each.kind === 'interrupt' || each.inDoubt,
    )
    const onWorkers = withLiveWorkers.has(id)
    if (works || !(asks || onWorkers || stopped)) busy.add(id)
    if (busy.has(id) && view.parent !== undefined) busy.add(view.parent)
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
  for (const [id, { view, usage }] of [...fold.activations].reverse()) {
    const total = addUsage(usage, totals.get(id) ?? [])
    totals.set(id, total)
    if (view.parent !== undefined) totals.set(view.parent, addUsage(total, totals.get(view.parent) ?? []))
  }
  return totals
}
