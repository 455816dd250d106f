/**
 * Control: every command that somebody outside has given to a run, and what became of it (spec team R-13).
 *
 * Owns: the list and how it is made of the journal. Does not own: carrying commands out (engine), giving them
 * (runtime). Pure.
 */
import { isObject, present, type ActivationId, type Json } from '../../core/index.ts'
import { viewOf, foldRun, newRunFold, type JournalEvent, type Recorded, type RunView } from '../../journal/index.ts'

/** An operator's command to a run. */
export interface ControlOp {
  /**
   * `complete`: one worker was finished by hand, or the result of tasks that nobody had begun was given. `edit`: the
   * plan was edited, or was to be.
   */
  readonly op: 'pause' | 'resume' | 'takeover' | 'handback' | 'cancel' | 'finish' | 'complete' | 'edit'
  /** Milliseconds since 1970. */
  readonly at: number
  /** False: it changed nothing, see `why`. */
  readonly accepted: boolean
  readonly why?: string
  readonly by?: string
  readonly reason?: string
  /** Of `complete`: whose work it was; of tasks that nobody had begun, and of `edit`: the team. */
  readonly activation?: ActivationId
}

/** What is commanded of a run now, and every command so far. */
export interface ControlState {
  readonly state: RunView['status']
  /** Since when it is paused or taken over; who said so, and why. */
  readonly since?: number
  readonly by?: string
  readonly reason?: string
  readonly ops: readonly ControlOp[]
}

/** The state of control, of the events of a run from the first on. */
export function controlState(events: Iterable<Recorded>): ControlState {
  const fold = newRunFold()
  const ops: ControlOp[] = []
  let before: JournalEvent | undefined
  // words that give results and change nothing else of a plan
  const giving = new Set<string>()
  for (const recorded of events) {
    foldRun(fold, recorded)
    const { activation, event } = recorded
    if (event.type === 'message.received') for (const request of givenIn(event.body)) giving.add(request)
    // a takeover of a run that runs begins with its pause, a hand back ends with its going on: each is one command
    if (event.type === 'run.taken-over' && before?.type === 'run.pausing' && before.id === event.id) ops.pop()
    const op = event.type === 'run.resumed' && before?.type === 'run.handed-back' ? undefined : opOf(recorded, giving)
    if (op !== undefined) ops.push(op)
    if (isRoot(activation)) before = event
  }
  const view = viewOf(fold)
  const held = view.takeover ?? view.pause
  return {
    state: view.status,
    ...(held === undefined ? {} : present({ since: held.since, by: held.by, reason: held.reason })),
    ops,
  }
}

const isRoot = (activation: ActivationId): boolean => !activation.includes('>')

/** The id of a word that gives results and is no other edit. */
function givenIn(body: Json): readonly string[] {
  if (!isObject(body) || body['do'] !== 'edit' || typeof body['request'] !== 'string' || !isObject(body['edit']))
    return []
  const names = Object.keys(body['edit'])
  return names.length === 1 && names[0] === 'results' ? [body['request']] : []
}

function opOf({ activation, event, at }: Recorded, giving: ReadonlySet<string>): ControlOp | undefined {
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
      if (isRoot(activation)) return done(event.outcome === undefined ? 'cancel' : 'finish', event)
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
