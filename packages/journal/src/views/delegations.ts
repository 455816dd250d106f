/**
 * Delegations as applications see them: one row for each, at any depth, out of a run's events.
 *
 * Owns: what a row says and how it is folded. Does not own: what agents said (transcript.ts), the state of activations
 * (run-index.ts) and their usage (projection.ts).
 * K1: the same events give the same rows. They hold what workers answered and did, whatever their leaders' models were
 * shown of it.
 *
 * A delegation is known by its leader's label for it, which crosses to the worker. Workers that were begun in another
 * way (members of flows, agents as tools, `delegate` in code) have no label, and no row.
 */
import { isObject, present, type ActivationId, type Failure, type Json, type Outcome, type Usage } from '@reeve/core'
import type { Recorded } from '../events/events.ts'
import { foldChange, newRunFold, type RunFold } from './fold.ts'
import { viewOf } from './projection.ts'
import { RunIndex, type IndexedActivation } from './run-index.ts'
import type { RunView } from './views.ts'
import { newTranscriptFold, transcribeChange, type Spoken, type TranscriptFold } from './transcript.ts'

/** A tool call of a worker and its result. */
export interface DelegatedToolResult {
  readonly tool: string
  readonly callId: string
  readonly input: Json
  /** If `isError`, it says why. */
  readonly result: Json
  readonly isError: boolean
}

/** One delegation. */
export interface DelegationView {
  /** The activation that delegated. */
  readonly leader: ActivationId
  /** The leader's label for it: `d1`, `d2`, … Absent for one that was refused before it had one. */
  readonly label?: string
  readonly worker: string
  readonly callId?: string
  /** The worker's activation, of the last attempt. Absent while no attempt has begun. */
  readonly activation?: ActivationId
  /**
   * `pending`: the worker has not begun. `waiting`: everything in it waits for an answer or a decision. `refused`:
   * it never began, see `failure`.
   */
  readonly status: 'pending' | 'running' | 'waiting' | 'refused' | Outcome['status']
  /** How often it was begun. */
  readonly attempts: number
  /** What the worker was asked to do: its instructions, or its typed input. */
  readonly brief?: Json
  /** What it answered, whatever its leader's model was shown. Only of a completed one. */
  readonly output?: Json
  readonly outcome?: Outcome
  /** Why it was refused. */
  readonly failure?: Failure
  /** Of the last attempt and everything below it. */
  readonly usage?: Usage
  readonly startedAt: number
  readonly endedAt?: number
  /** The results of the worker's tool calls, in the order in which they ended. Its own delegations are among them. */
  readonly tools: readonly DelegatedToolResult[]
  /** Hooks of the leader that failed for it. */
  readonly hookFailures: readonly { readonly hook: string; readonly failure: Failure }[]
}

type DelegationRow = {
  -readonly [
    K in 'leader' | 'label' | 'worker' | 'callId' | 'activation' | 'brief' | 'failure' | 'startedAt' | 'attempts'
  ]: DelegationView[K]
} & {
  readonly hookFailures: { readonly hook: string; readonly failure: Failure }[]
}

interface WorkerCalls {
  /** Arguments of the calls of its last answer, by their ids. */
  inputs: Map<string, Json>
  readonly tools: DelegatedToolResult[]
}

/**
 * The state of the fold. Opaque: make one with `newDelegationsFold`, feed it with `foldDelegations`, look at it with
 * `delegationsIn`.
 */
export interface DelegationsFold {
  readonly index: RunIndex
  readonly run: RunFold
  readonly spoken: TranscriptFold
  readonly rows: DelegationRow[]
  /** The newest row by leader and label. */
  readonly named: Map<string, DelegationRow>
  /** Failed hooks from before there was a row, by leader and label. */
  readonly early: Map<string, DelegationRow['hookFailures']>
  readonly calls: Map<ActivationId, WorkerCalls>
}

/** The fold of no events. */
export function newDelegationsFold(): DelegationsFold {
  const index = new RunIndex()
  return {
    index,
    run: newRunFold(index),
    spoken: newTranscriptFold(index),
    rows: [],
    named: new Map(),
    early: new Map(),
    calls: new Map(),
  }
}

/** The delegations of a run, from its events in the order of their positions, beginning with the first. */
export function delegationsOf(events: Iterable<Recorded>): readonly DelegationView[] {
  const fold = newDelegationsFold()
  for (const recorded of events) foldDelegations(fold, recorded)
  return delegationsIn(fold)
}

/** Takes in the next event and returns what it says. An event that was taken in before changes nothing. */
export function foldDelegations(fold: DelegationsFold, recorded: Recorded): readonly Spoken[] {
  const change = fold.index.take(recorded)
  if (change === undefined) return []
  foldChange(fold.run, recorded, change)
  noted(fold, recorded, change.here)
  const said = transcribeChange(fold.spoken, recorded, change)
  for (const each of said) heard(fold, each)
  return said
}

const nameOf = (leader: ActivationId, label: string): string => `${leader} ${label}`

function noted(fold: DelegationsFold, { activation, event, at }: Recorded, here: IndexedActivation | undefined): void {
  switch (event.type) {
    case 'activation.started':
      if (here !== undefined) begun(fold, here, event.input)
      return
    case 'delegation.deferred':
      rowOf(fold, activation, event.delegation, event.worker, at).callId = event.callId
      return
    case 'delegation.refused': {
      const row = rowOf(fold, activation, event.delegation, event.worker, at)
      row.failure = event.failure
      if (event.callId !== undefined) row.callId = event.callId
      return
    }
    case 'hook.failed':
      if (event.delegation !== undefined)
        hookFailuresOf(fold, activation, event.delegation).push({ hook: event.hook, failure: event.failure })
      return
    case 'tool.called':
      if (event.callId !== undefined && event.input !== undefined && isShown(fold, activation))
        callsOf(fold, activation).inputs.set(event.callId, event.input)
      return
    default:
      return
  }
}

/** A worker that was begun under a label. */
function begun(fold: DelegationsFold, worker: IndexedActivation, input: Json): void {
  const { parent, delegation, agent, begunBy, startedAt, id } = worker
  if (parent === undefined || delegation === undefined) return
  const row = rowOf(fold, parent, delegation, agent, startedAt)
  if (begunBy?.callId !== undefined && begunBy.purpose === undefined) row.callId = begunBy.callId
  const brief =
    isObject(input) && isObject(input['brief'])
      ? (input['brief']['instructions'] ?? input['brief']['input'])
      : undefined
  if (brief !== undefined) row.brief = brief
  if (row.attempts === 0) row.startedAt = startedAt
  row.attempts++
  row.activation = id
}

/** The newest row of this label; a new one if that is another worker's, or is still at work. */
function rowOf(
  fold: DelegationsFold,
  leader: ActivationId,
  label: string | undefined,
  worker: string,
  at: number,
): DelegationRow {
  const known = label === undefined ? undefined : fold.named.get(nameOf(leader, label))
  if (known?.worker === worker && !fold.index.works(known.activation)) return known
  const hookFailures = label === undefined ? [] : (fold.early.get(nameOf(leader, label)) ?? [])
  const row: DelegationRow = {
    leader,
    label,
    worker,
    callId: undefined,
    activation: undefined,
    brief: undefined,
    failure: undefined,
    startedAt: at,
    attempts: 0,
    hookFailures,
  }
  fold.rows.push(row)
  if (label !== undefined) {
    fold.named.set(nameOf(leader, label), row)
    fold.early.delete(nameOf(leader, label))
  }
  return row
}

function hookFailuresOf(
  { named, early }: DelegationsFold,
  leader: ActivationId,
  label: string,
): DelegationRow['hookFailures'] {
  const name = nameOf(leader, label)
  const list = named.get(name)?.hookFailures ?? early.get(name) ?? []
  if (!named.has(name)) early.set(name, list)
  return list
}

/** Whether a row shows what this activation does. */
const isShown = ({ index }: DelegationsFold, activation: ActivationId): boolean =>
  index.activations.get(activation)?.delegation !== undefined

function callsOf({ calls }: DelegationsFold, activation: ActivationId): WorkerCalls {
  const known = calls.get(activation) ?? { inputs: new Map(), tools: [] }
  calls.set(activation, known)
  return known
}

function heard(fold: DelegationsFold, said: Spoken): void {
  if (!isShown(fold, said.activation)) return
  if (said.type === 'assistant')
    callsOf(fold, said.activation).inputs = new Map(said.calls?.map(({ id, input }) => [id, input]))
  if (said.type !== 'tool' || said.callId === undefined) return
  const { tools, inputs } = callsOf(fold, said.activation)
  const { tool, callId, content: result, isError = false } = said
  tools.push({ tool, callId, input: inputs.get(callId) ?? null, result, isError })
}

/**
 * The rows as they are now, in the order in which they were begun or refused. They share nothing with the fold. `view`:
 * that of the same fold, if it is there already.
 */
export function delegationsIn(fold: DelegationsFold, view?: RunView): readonly DelegationView[] {
  if (fold.rows.length === 0) return []
  view ??= viewOf(fold.run)
  const activations = new Map(view.activations.map((each) => [each.activation, each]))
  return structuredClone(
    fold.rows.map((row): DelegationView => {
      const { leader, worker, startedAt, attempts, hookFailures } = row
      const at = row.activation === undefined ? undefined : activations.get(row.activation)
      const outcome = at?.outcome
      const isOver = activations.get(leader)?.outcome !== undefined
      const notBegun = row.failure !== undefined ? 'refused' : isOver ? 'cancelled' : 'pending'
      return {
        leader,
        ...present({
          label: row.label,
          callId: row.callId,
          activation: row.activation,
          brief: row.brief,
          failure: row.failure,
        }),
        worker,
        status: outcome?.status ?? at?.state ?? notBegun,
        attempts,
        ...present({ outcome, endedAt: at?.endedAt, usage: at?.usage }),
        ...(outcome?.status === 'completed' ? { output: outcome.output } : {}),
        startedAt,
        tools: (row.activation === undefined ? undefined : fold.calls.get(row.activation)?.tools) ?? [],
        hookFailures,
      }
    }),
  )
}
