/**
 * Attempts: the work of one delegation, from its slot to its final end.
 *
 * Owns: the slots of a leader, the order of attempts, stopping a delegation. Does not own: one attempt, its time limit
 * and the retry rule (../worker/worker-task.ts), what the leader's hooks do with an end (delegations.ts), background
 * delegations (../../agent/loop/background.ts).
 * Holds: K8: a stop reaches a delegation at every stage: before its slot, at work, between two attempts.
 */
import {
  andThen,
  failure,
  messageOf,
  type ActivationId,
  type Failure,
  type FailureClass,
  type HistoryEntry,
  type Json,
  type Now,
  type Outcome,
  type Usage,
  ChurnMap,
} from '@reeve/core'
import { unansweredOf, type CallResult, type ConversationState, type LeaderQuestion, type Reply } from '@reeve/agent'
import { briefValue, type Brief, type LeaderGrant, type Receiver, type Schema } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { failureCounterOf } from '@reeve/oversight'
import type { ToolCall } from '@reeve/model'
import { Slots, takeAll, type SlotWaiter } from '../worker/slots.ts'
import { Watch } from '../worker/watch.ts'
import { pauseBeforeRetry, retryDelay, startTask } from '../worker/worker-task.ts'
import type { HookLayers } from './delegation-hooks.ts'
import type { WorkerDelegation } from './options.ts'
import type { DelegationRetry } from './dispatch.ts'
import { withMemory, Threads } from './worker-memory.ts'
import { mayAsk } from './worker-questions.ts'

/** One delegation of a run. */
export interface DelegationEntry extends SlotWaiter {
  readonly worker: string
  readonly callId: string
  /** The label that models use. */
  readonly label: string
  /** The label that several share, `d1` of `d1.2`; undefined for one alone. */
  readonly group: string | undefined
  /** The activation of its last attempt. */
  id: ActivationId | undefined
  /** The outcome of its last attempt, without the handoff record. */
  outcome: Outcome | undefined
  /**
   * The output that may be forwarded, referred to and shown to later workers. Undefined until its hook has decided, and
   * if there is none.
   */
  output: Json | undefined
  /** What later work of its thread remembers of it, as its hook allows. Undefined without a memory. */
  remembered: string | undefined
  /** `pending`: waits for a slot or its next attempt. `waiting`: waits for a human. */
  state: 'pending' | 'running' | 'waiting' | 'ended'
  /** Why it is being stopped. */
  stopped: string | undefined
}

/** A delegation that has not begun. */
export const newEntry = (worker: string, callId: string, label: string, group?: string): DelegationEntry => ({
  worker,
  callId,
  label,
  group,
  id: undefined,
  outcome: undefined,
  output: undefined,
  remembered: undefined,
  state: 'pending',
  stopped: undefined,
  leave: undefined,
})

/** What a delegation needs of its leader: a model agent's conversation state, or the substitute of a code leader. */
export type LeaderState = Pick<ConversationState, 'edge' | 'turn' | 'tell' | 'view'> &
  Partial<Pick<ConversationState, 'messages' | 'hooks' | 'stopCalls'>>

/** The worker, as far as a delegation needs it. Every `Agent` is one. */
export type Worker = Receiver & { readonly inputSchema?: Schema }

/** A delegation in progress. */
export interface DelegationAttempt {
  readonly ctx: Context
  readonly call: ToolCall
  readonly state: LeaderState
  readonly worker: Worker
  readonly policy: WorkerDelegation
  readonly hooks: HookLayers
  readonly entry: DelegationEntry
  readonly turn: number
  /** It works in the background. */
  readonly deferred: boolean
  /** One of several under one call: what the leader's model is told is the result of all of them. */
  readonly isOneOfSeveral: boolean
  /** `leader`: the end of its worker alone does not say what the leader's model is told. */
  readonly toldBy: 'leader' | undefined
  brief: Brief
  /** Called when it begins (true) or ceases to wait for a human. */
  readonly onWait: ((waiting: boolean) => void) | undefined
  /** The activation that the next attempt follows. */
  after: ActivationId | undefined
  readonly grant: { -readonly [K in keyof LeaderGrant]: LeaderGrant[K] }
}

/** The end of one attempt. */
export interface AttemptEnd {
  readonly id: ActivationId
  readonly outcome: Outcome
  readonly said: readonly HistoryEntry[]
  readonly usage?: Usage
  readonly durationMs: number
  readonly attempt: number
}

/** An attempt that has ended, with the result for the leader's model. */
type Attempted = Pick<AttemptEnd, 'id' | 'outcome' | 'attempt'> & { readonly told: CallResult }

/** Listens to the ends of attempts. */
export interface AttemptListener {
  /** An attempt has ended. Returns the result for the leader's model, if no further attempt follows. */
  completed(job: DelegationAttempt, ended: AttemptEnd): Now<CallResult>
  /** No attempt began. Returns the result for the leader's model. */
  refused(job: DelegationAttempt, why: Failure): CallResult
  /** The leader was cancelled during the work: its hooks are told. */
  abandoned(job: DelegationAttempt, ended: AttemptEnd): Promise<void>
  /** The worker, or one below it, asks a question. */
  asked(job: DelegationAttempt, question: LeaderQuestion): Promise<Reply>
}

/** How many workers may work at once. Absent: all. */
export interface Concurrency {
  readonly all: number | undefined
  /** For background work. */
  readonly background: number | undefined
}

export class Attempts {
  /** Why no further delegation may begin. */
  bailed: string | undefined
  /** The slots that a delegation takes, in this order; those without a limit are none. */
  readonly #slots: { readonly awaited: readonly Slots[]; readonly deferred: readonly Slots[] }
  readonly #threads = new Threads()
  readonly #watch: Watch
  readonly #hearing: AttemptListener
  readonly #open = new ChurnMap<DelegationEntry, Context>()

  constructor({ all, background }: Concurrency, hearing: AttemptListener) {
    const awaited = all === undefined ? [] : [new Slots(all)]
    this.#slots = { awaited, deferred: background === undefined ? awaited : [new Slots(background), ...awaited] }
    this.#hearing = hearing
    this.#watch = new Watch((name) => {
      const running = this.find(name)
      return running.length === 0 ? undefined : (reason) => running.forEach((entry) => this.stop(entry, reason))
    })
  }

  /** The wait of its leader; also for timers. */
  get watch(): Watch {
    return this.#watch
  }

  /**
   * The pending delegations of this name: the id of an activation, a label (for a hedge or a race: all of its
   * delegations), or the model's id of a call.
   */
  find(name: string): readonly DelegationEntry[] {
    const open = [...this.#open.keys()]
    const ways: readonly ((each: DelegationEntry) => boolean)[] = [
      ({ id }) => id === name,
      ({ label, group }) => label === name || group === name,
      ({ callId }) => callId === name,
    ]
    return ways.map((is) => open.filter(is)).find(({ length }) => length > 0) ?? []
  }

  /** Stops one delegation, unless it has ended. Its end is still reported. */
  stop(entry: DelegationEntry, reason: string): void {
    const ctx = this.#open.get(entry)
    if (ctx === undefined || entry.stopped !== undefined) return
    entry.stopped = reason
    // before its worker begins, a hook or a memory runs, which may never answer
    if (entry.id === undefined) ctx.stopFunctions(reason)
    else if (entry.outcome === undefined) ctx.stop(entry.id, reason)
    entry.leave?.()
  }

  /** Stops all pending delegations; no further ones may begin. */
  bail(why: string): void {
    this.bailed = why
    for (const [entry, ctx] of this.#open) {
      this.stop(entry, why)
      // the reply of a hook to this end is no longer needed
      if (entry.outcome !== undefined) ctx.stopFunctions(why)
    }
  }

  /** The leader has ended: stops all pending delegations, but hooks still receive ends. Returns the stopped ones. */
  leave(why: string): readonly DelegationEntry[] {
    this.bailed ??= why
    const open = [...this.#open.keys()]
    for (const entry of open) this.stop(entry, why)
    return open
  }

  /** Registers a delegation, so that it can be stopped before it begins. */
  open(entry: DelegationEntry, ctx: Context): void {
    this.#open.set(entry, ctx)
  }

  close(entry: DelegationEntry): void {
    entry.state = 'ended'
    this.#open.delete(entry)
  }

  /** Runs the attempts up to the final one, and closes the delegation. */
  async work(job: DelegationAttempt): Promise<CallResult> {
    const { entry } = job
    let result: CallResult | undefined
    let last: Attempted | undefined
    try {
      for (let attempt = 1; ; attempt++) {
        entry.state = 'pending'
        const acquired = takeAll(job.deferred ? this.#slots.deferred : this.#slots.awaited, entry)
        const slots = (acquired instanceof Promise ? await acquired : acquired) ?? noSlots
        let delayMs: number | undefined
        try {
          const refused = this.refusal(entry)
          if (refused !== undefined) return result ?? this.#hearing.refused(job, refused)
          const ended = await withMemory(
            job,
            this.#threads,
            () => this.refusal(entry) ?? this.#attempt(job, slots, attempt),
            () => entry.remembered,
          )
          if (!('told' in ended)) return result ?? this.#hearing.refused(job, ended)
          last = ended
          result = ended.told
          delayMs = result.finish === undefined ? this.#retryDelay(job, ended) : undefined
          if (delayMs === undefined) {
            failureCounterOf(job.ctx).note(ended.outcome)
            return result
          }
          job.after = ended.id
        } finally {
          for (const each of slots) each.give()
        }
        if (!(await this.#pause(job, job.after, delayMs))) return result
      }
    } finally {
      if (last !== undefined) noteEnd(job, last)
      this.close(entry)
    }
  }

  /** Why it may not begin, or not begin again. */
  refusal({ stopped }: DelegationEntry): Failure | undefined {
    if (this.bailed !== undefined) return failure('delegation.refused', this.bailed, 'policy')
    return stopped !== undefined
      ? failure('delegation.refused', `it was stopped before it began: ${stopped}`, 'policy')
      : undefined
  }

  /** One attempt: one worker, from its start to the result for the leader's model. */
  #attempt(job: DelegationAttempt, slots: readonly Slots[], attempt: number): Promise<Attempted> | Failure {
    const { ctx, state, worker, brief, grant, entry, call, toldBy, deferred, onWait, after, policy, hooks } = job
    const begunAt = ctx.now().getTime()
    const started = startTask({
      ctx,
      watch: this.#watch,
      edge: state.edge,
      worker,
      brief,
      grant,
      callId: call.id,
      toldBy,
      after,
      follows: unansweredOf(ctx).follows(worker.name, briefValue(brief)),
      timeoutMs: policy.timeoutMs,
      slots,
      reportsWaits: deferred || onWait !== undefined,
      onWait: (waiting) => {
        entry.state = waiting ? 'waiting' : 'running'
        onWait?.(waiting)
      },
      answer: mayAsk(policy) ? (question) => this.#hearing.asked(job, question) : undefined,
      wasStopped: () => entry.stopped !== undefined,
    })
    if (!('ended' in started)) return started
    const { id } = started
    entry.id = id
    entry.outcome = entry.remembered = undefined
    entry.state = 'running'
    if (hooks.onComplete.length > 0) this.#tellIfAbandoned(job, id, begunAt, attempt)
    return started.ended().then(({ outcome, said, usage }) => {
      entry.outcome = outcome
      const end = { id, outcome, said, usage, durationMs: ctx.now().getTime() - begunAt, attempt }
      return andThen(this.#hearing.completed(job, end), (told): Attempted => ({ id, outcome, attempt, told }))
    })
  }

  /** A cancelled leader receives no more ends, but its hook does. */
  #tellIfAbandoned(job: DelegationAttempt, id: ActivationId, begunAt: number, attempt: number): void {
    job.ctx.onCancel(
      `onComplete:${attempt}`,
      async (undo) => {
        if (job.entry.id !== id || job.entry.outcome !== undefined) return
        const outcome: Outcome = { status: 'cancelled', reason: 'its leader was cancelled' }
        await this.#hearing.abandoned(
          { ...job, ctx: undo },
          { id, outcome, said: [], durationMs: undo.now().getTime() - begunAt, attempt },
        )
      },
      { always: true },
    )
  }

  /** Milliseconds until the next attempt; undefined: no further attempt. */
  #retryDelay(
    { policy: { retry }, ctx, entry, call }: DelegationAttempt,
    { outcome, attempt }: Attempted,
  ): number | undefined {
    if (retry === undefined || entry.stopped !== undefined || this.bailed !== undefined) return undefined
    if (outcome.status !== 'failed' && outcome.status !== 'timed-out') return undefined
    const isWorthIt = (): boolean => {
      try {
        return (retry.when ?? mayPass)(outcome)
      } catch (thrown) {
        const what = failure('hook.failed', `retry.when failed: ${messageOf(thrown)}`, 'internal')
        ctx.emit({
          type: 'hook.failed',
          hook: 'retry.when',
          worker: entry.worker,
          callId: call.id,
          delegation: entry.label,
          failure: what,
        })
        return false
      }
    }
    const retryAfterMs = outcome.status === 'failed' ? outcome.failure.retryAfterMs : undefined
    return retryDelay(ctx, retry, { attempt, retryAfterMs, isWorthIt })
  }

  /** Waits before the next attempt. False if it was stopped meanwhile. */
  #pause({ ctx, entry }: DelegationAttempt, attempt: ActivationId, delayMs: number): Promise<boolean> {
    entry.state = 'pending'
    return new Promise((resolve, reject) => {
      const end = (goesOn: boolean): void => {
        entry.leave = undefined
        resolve(goesOn)
      }
      const callOff = pauseBeforeRetry(ctx, this.#watch, attempt, delayMs, { over: () => end(true), reject })
      const leave = (): void => {
        callOff()
        end(false)
      }
      entry.leave = leave
    })
  }
}

/** What this worker has done is known to the next one, unless it has answered. Who loses a race has none after it. */
function noteEnd({ ctx, worker, brief, isOneOfSeveral }: DelegationAttempt, { id, outcome, told }: Attempted): void {
  if (isOneOfSeveral && outcome.status === 'cancelled') return
  const isAnswered = outcome.status === 'completed' && told.isError !== true
  unansweredOf(ctx).ended(worker.name, { activation: id, brief: briefValue(brief) }, isAnswered)
}

const noSlots: readonly Slots[] = []
const finalClasses: ReadonlySet<FailureClass> = new Set(['validation', 'policy', 'budget', 'rejected'])
/** Whether another attempt may succeed. */
const mayPass: NonNullable<DelegationRetry['when']> = (outcome) =>
  outcome.status !== 'failed' || !finalClasses.has(outcome.failure.class)
