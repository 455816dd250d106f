/**
 * Rollback: undoes ended tasks when a working team is cancelled (spec team R-13, C74).
 *
 * Owns: registering what undoes each of them, with the end of its task. Does not own: when it runs, in which order, for
 * how long (engine/replay/cancellation.ts), what undoes those who are still at work: their own `onCancel`, before this.
 * Holds: K8 (last ended first, each once, each in its own time), K3 (what is registered follows from recorded ends).
 */
import { present, type Json, type Outcome, type Failure } from '@reeve/core'
import { agentContext, type AgentContext } from '@reeve/agent'
import { isLeaving, type Context } from '@reeve/engine'
import type { AtWork } from './at-work.ts'
import type { Entry } from '../state/task-graph.ts'

/** A task that has ended and is to be undone. */
export interface EndedTask {
  /** Its id: of a recruit, the member. */
  readonly task: string
  readonly role: string
  readonly member: string
  readonly description: Json
  readonly input?: Json
  readonly status: 'succeeded' | 'failed'
  /** Its output; of a failed task, what there was. */
  readonly output?: Json
  readonly failure?: Failure
  /** The human who finished it by hand. */
  readonly by?: string
}

/**
 * Undoes an ended task. Orchestration: every effect goes through `ctx`. A throw is reported in the outcome of the team;
 * the other tasks are undone all the same.
 */
export type UndoTask = (ctx: AgentContext, task: EndedTask) => Promise<void> | void

export class Rollback {
  readonly #ctx: Context
  readonly #undo: UndoTask | undefined
  /** By task: which of its ends counts. One that was done again is undone once, as it ended last. */
  readonly #ends = new Map<Entry, EndedTask>()

  constructor(ctx: Context, undo: UndoTask | undefined) {
    this.#ctx = ctx
    this.#undo = undo
  }

  /** A task has ended. A task never begun needs no undoing, and a stopped member has undone its own. */
  ended(entry: Entry): void {
    const { status } = entry
    if (entry.begun > 0 && (status === 'succeeded' || status === 'failed'))
      this.#register(entry, endedTask(entry, status))
  }

  /**
   * Waits for the work. Where it is cancelled, also those are undone who were at work then and have ended well before
   * they heard of it.
   */
  async around(done: () => Promise<void>, atWork: () => readonly AtWork[]): Promise<void> {
    try {
      await done()
    } catch (thrown) {
      if (isLeaving(thrown) && this.#undo !== undefined) for (const at of atWork()) this.#late(at)
      throw thrown
    }
  }

  #late({ entry, activation }: AtWork): void {
    this.#ctx.onCancel(`undo:${entry.id}`, async (ctx) => {
      const came = told((await ctx.next(activation)).outcome)
      if (came === undefined) return
      const end = { ...endedTask(entry, came.status), ...came }
      this.#ends.set(entry, end)
      await this.#undo?.(agentContext(ctx), end)
    })
  }

  #register(entry: Entry, end: EndedTask): void {
    if (this.#undo === undefined) return
    this.#ends.set(entry, end)
    this.#ctx.onCancel(`undo:${entry.id}`, async (ctx) => {
      if (this.#ends.get(entry) === end) await this.#undo?.(agentContext(ctx), end)
    })
  }
}

function endedTask({ id, role, member, task, output, failure, by }: Entry, status: EndedTask['status']): EndedTask {
  const { description, input } = task
  return { task: id, role: role.role, member, description, status, ...present({ input, output, failure, by }) }
}

/** How an attempt ended of which the team has not heard; undefined: it was stopped, and has undone its own. */
function told(outcome: Outcome): Pick<EndedTask, 'status' | 'output' | 'failure'> | undefined {
  if (outcome.status === 'completed') return { status: 'succeeded', output: outcome.output }
  return outcome.status === 'failed' ? { status: 'failed', failure: outcome.failure } : undefined
}
