/**
 * Control state: every command that operators gave to a run, and its result (spec team R-13).
 *
 * Owns: the list, derived from the journal. Does not own: carrying commands out (engine), posting them (runtime). Pure.
 */
import { isObject, isReeveMessage, present, type ActivationId, type Json } from '@reeve/core'
import {
  foldRun,
  newRunFold,
  viewOf,
  type JournalEvent,
  type Recorded,
  type RunFold,
  type RunView,
} from '@reeve/journal'

/** An operator's command to a run. */
export interface ControlOp {
  /**
   * `complete`: a worker or a pending task was completed by hand. `edit`: the plan was edited, or the edit was refused.
   */
  readonly op: 'pause' | 'resume' | 'takeover' | 'handback' | 'cancel' | 'finish' | 'complete' | 'edit'
  /** Milliseconds since 1970. */
  readonly at: number
  /** False: it had no effect, see `why`. */
  readonly accepted: boolean
  readonly why?: string
  readonly by?: string
  readonly reason?: string
  /** For `complete`: the worker's activation; for a pending task and for `edit`: the team's. */
  readonly activation?: ActivationId
}

/** The control state of a run, and every command so far. */
export interface ControlState {
  readonly state: RunView['status']
  /** When it was paused or taken over, by whom, and why. */
  readonly since?: number
  readonly by?: string
  readonly reason?: string
  readonly ops: readonly ControlOp[]
}

/** What the control state is made of. Opaque: make one with `newControlFold`, feed it with `foldControl`. */
export interface ControlFold {
  readonly run: RunFold
  readonly ops: ControlOp[]
  /** Edits of a plan that only give results. */
  readonly giving: Set<string>
  /** The last event of the root. */
  before: JournalEvent | undefined
  /** The first event is of the root. */
  root: ActivationId | undefined
}

/** The fold of no events. */
export const newControlFold = (): ControlFold => ({
  run: newRunFold(),
  ops: [],
  giving: new Set(),
  before: undefined,
  root: undefined,
})

/** Takes in the next event. */
export function foldControl(fold: ControlFold, recorded: Recorded): void {
  foldRun(fold.run, recorded)
  const { ops, giving, before } = fold
  const { activation, event } = recorded
  fold.root ??= activation
  const isRoot = activation === fold.root
  if (event.type === 'message.received' && event.from === undefined)
    for (const request of givenIn(event.body)) giving.add(request)
  // a takeover of a running run includes its pause, a hand back includes the resume: each is one command
  if (event.type === 'run.taken-over' && before?.type === 'run.pausing' && before.id === event.id) ops.pop()
  const op =
    event.type === 'run.resumed' && before?.type === 'run.handed-back' ? undefined : opOf(recorded, giving, isRoot)
  if (op !== undefined) ops.push(op)
  if (isRoot) fold.before = event
}

/** The control state of the events that were taken in. A copy. */
export function controlState({ run, ops }: ControlFold): ControlState {
  const view = viewOf(run)
  const held = view.takeover ?? view.pause
  return {
    state: view.status,
    ...(held === undefined ? {} : present({ since: held.since, by: held.by, reason: held.reason })),
    ops: [...ops],
  }
}

/** The id of an edit that only gives results. */
function givenIn(body: Json): readonly string[] {
  if (!isReeveMessage(body) || body['do'] !== 'edit' || typeof body['request'] !== 'string' || !isObject(body['edit']))
    return []
  const names = Object.keys(body['edit'])
  return names.length === 1 && names[0] === 'results' ? [body['request']] : []
}

function opOf(
  { activation, event, at }: Recorded,
  giving: ReadonlySet<string>,
  isRoot: boolean,
): ControlOp | undefined {
  // a pause reaches the child runs, too: it is one command
  if (!isRoot && (event.type.startsWith('run.') || event.type === 'control.ignored')) return undefined
  const done = (
    op: ControlOp['op'],
    { by, reason }: { readonly by?: string; readonly reason?: string },
  ): ControlOp => ({
    op,
    at,
    accepted: true,
    ...present({ by, reason }),
  })
  switch (event.type) {
    case 'run.pausing':
      return event.escalated === true ? undefined : done('pause', event)
    case 'run.resumed':
      return done('resume', event)
    case 'run.taken-over':
      return done('takeover', event)
    case 'run.handed-back':
      return done('handback', event)
    case 'control.ignored':
      return { ...done(event.command, event), accepted: false, ...present({ why: event.why }) }
    case 'cancel.received':
      if (event.limit !== undefined) return undefined
      if (isRoot) return done(event.outcome === undefined ? 'cancel' : 'finish', event)
      return event.outcome?.status === 'completed' ? { ...done('complete', event), activation } : undefined
    case 'plan.edited':
      return { ...done(giving.has(event.request) ? 'complete' : 'edit', event), activation }
    case 'plan.edit-refused':
      return {
        ...done(giving.has(event.request) ? 'complete' : 'edit', event),
        accepted: false,
        why: event.problems.join('; '),
        activation,
      }
    default:
      return undefined
  }
}
