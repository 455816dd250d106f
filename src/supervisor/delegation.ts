/**
 * Delegation: call and return. A brief goes in, one result comes out (DESIGN §2). The options by which a leader says what crosses, and the work of one.
 *
 * Owns: the leader's edge policy, the checks before a worker is started, what is remembered of each delegation for `forward_message`.
 * Does not own: the tools by which a model delegates (verbs.ts), what an edge is (../edge).
 * Hooks (onStart, onComplete, filterMessages) will stand in `Delegation` and act here, on the leader's side.
 */
import { asText, failure, messageOf, type ActivationId, type Failure, type Outcome } from '../core/index.ts'
import { refuse, startWorker, type CallResult, type Desk } from '../agent/index.ts'
import {
  crossing,
  narrow,
  tighter,
  workerTold,
  type Brief,
  type ContextPolicy,
  type EdgeMessage,
  type Grant,
  type Limits,
  type Permissions,
} from '../edge/index.ts'
import type { Context } from '../engine/index.ts'
import type { ToolCall } from '../model/index.ts'
import { Permits } from './permits.ts'
import type { Roster } from './roster.ts'

/** Names that users' tools may not have. Persistent: models and journals know them. */
export const verbNames = { delegate: 'delegate', forward: 'forward_message', recruit: 'recruit' } as const
/** The tool of a worker that takes a typed input. */
export const typedVerb = (worker: string): string => `${verbNames.delegate}_${worker}`

/** What crosses to one worker. */
export interface WorkerDelegation {
  /** Default: that of the whole team, else `brief`. */
  readonly context?: ContextPolicy
  /** What this worker may do. Never more than its leader may. */
  readonly permissions?: Permissions
  /** Hard limits of each delegation to this worker. The tighter of these and the worker's own. */
  readonly limits?: Limits
}

/** What crosses from a leader to its workers. */
export interface Delegation<Workers extends string = string> extends WorkerDelegation {
  /** Exceptions by worker. */
  readonly workers?: { readonly [Name in Workers]?: WorkerDelegation }
}

/** One delegation of a run. */
export interface Delegated {
  readonly worker: string
  readonly callId: string
  id: ActivationId | undefined
  outcome: Outcome | undefined
}

/** Where a call to delegate stands among the others. Empty until it has become a delegation. */
export interface Place {
  readonly callId: string
  entry: Delegated | undefined
}

/** How a model may name the nth delegation. */
export const labelOf = (i: number): string => `d${i + 1}`

/** All delegations of one activation of a leader. Lives in memory; replay makes it again. */
export class Delegations {
  readonly #leader: string
  readonly #policy: Delegation
  readonly #permits: Permits
  readonly #places: Place[] = []

  constructor(leader: string, policy: Delegation, concurrency: number | undefined) {
    this.#leader = leader
    this.#policy = policy
    this.#permits = new Permits(concurrency)
  }

  /** In the order of the calls. */
  get list(): readonly Delegated[] {
    return this.#places.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  }

  /** Taken as soon as a call is known, so that the order of the calls counts, not that of approvals or ends. */
  place(call: ToolCall): Place {
    const place: Place = { callId: call.id, entry: undefined }
    this.#places.push(place)
    return place
  }

  /** Starts a worker and waits for its end. */
  async run(ctx: Context, call: ToolCall, desk: Desk, roster: Roster, worker: string, brief: Brief, place: Place): Promise<CallResult> {
    const entry: Delegated = (place.entry = { worker, callId: call.id, id: undefined, outcome: undefined })
    const known = roster.find(worker)
    const grant = this.#grant(desk, worker, brief)
    if ('code' in grant) return refuseDelegation(ctx, call, worker, grant)
    const waiting = this.#permits.take()
    if (waiting !== undefined) await waiting
    try {
      const held = this.#permits.limited ? { ...grant, permit: ctx.place.activation } : grant
      const started = startWorker(ctx, desk.edge, known ?? { name: worker }, brief, held, call.id)
      if (typeof started !== 'string') return refuseDelegation(ctx, call, worker, started)
      entry.id = started
      const outcome = (entry.outcome = await this.#permits.end(ctx, started))
      return workerTold(worker, outcome)
    } finally {
      this.#permits.give()
    }
  }

  #grant(desk: Desk, worker: string, brief: Brief): Grant | Failure {
    const { context, permissions, limits, workers } = this.#policy
    const own = workers?.[worker]
    if (own === undefined && context === undefined && permissions === undefined && limits === undefined) return nothing
    const policy = own?.context ?? context
    const grant: { -readonly [K in keyof Grant]: Grant[K] } = {}
    const allowed = narrow(permissions, own?.permissions)
    const limited = tighter(limits, own?.limits)
    if (allowed !== undefined) grant.permissions = allowed
    if (limited !== undefined) grant.limits = limited
    try {
      const crossed = crossing(policy, this.#leader, () => ({
        worker,
        brief: 'instructions' in brief ? brief.instructions : JSON.stringify(brief.input),
        messages: this.#said(desk),
      }))
      if (crossed !== undefined) grant.context = crossed
    } catch (thrown) {
      return failure('delegation.refused', `what "${worker}" may see could not be decided: ${messageOf(thrown)}`, 'internal')
    }
    return grant
  }

  /** The leader's conversation as it may cross, with the workers' answers where their calls stood. */
  #said(desk: Desk): readonly EdgeMessage[] {
    let next = 0
    return desk.view(({ name, callId }) => {
      const place = this.#places[next]
      if (!name.startsWith(verbNames.delegate) || place?.callId !== callId) return undefined
      next++
      const { entry } = place
      return entry?.outcome?.status === 'completed'
        ? { role: 'assistant', text: asText(entry.outcome.output), agent: entry.worker }
        : undefined
    })
  }
}

const nothing: Grant = {}

/** Refuses a delegation: a fact for the journal, and for the model a text that says why. */
export function refuseDelegation(ctx: Context, call: ToolCall, worker: string, what: Failure): CallResult {
  ctx.emit({ type: 'delegation.refused', worker, callId: call.id, failure: what })
  return { content: `[not delegated: ${what.message}]`, isError: true }
}

/** Refuses a call of one of Reeve's verbs for a reason of its own. */
export const refuseVerb = (ctx: Context, call: ToolCall, what: Failure): CallResult => refuse(ctx, call, what, `[${what.message}]`)
