/**
 * Task reviews: an approver sees a task before it begins, or its result before it counts (spec team ).
 *
 * Owns: what is shown, what of a verdict the work is told, how often a task may be sent back. Does not own: whether an
 * approver is asked (../../oversight), what follows for the task (scheduler.ts), for what it acts on (rework.ts).
 * Holds: K4: a scope for each task and question, so any number may be open at once; K6: what was approved is not asked
 * again for the same attempt, also over a crash. Nothing is recorded where nothing is overseen.
 */
import { digestJson, failed, present, type Json } from '@reeve/core'
import { defaultApprovalTimeoutMs, type Edge, type Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { DoneEffect } from '@reeve/journal'
import {
  escalate,
  goodUntil,
  review,
  reviewNote,
  FailureCounter,
  type DecisionOption,
  type Verdict,
} from '@reeve/oversight'
import { oversightOf, subjectOf } from '../plan/task-oversight.ts'
import type { TaskGraph, Entry } from '../state/task-graph.ts'
import { editedTask } from '../plan/task-edit.ts'
import { actedOn, type ReworkOrder } from './rework.ts'

/** What the work is told. */
export type Word =
  | {
      readonly type: 'given'
      /** An approver was asked. */ readonly asked: boolean
      /** Until when it may begin. */ readonly until?: number
      readonly output?: Json
    }
  | {
      readonly type: 'refused'
      readonly how: 'rejected' | 'timed-out'
      readonly reason: string
      readonly by?: string
      readonly comment?: string
    }
  | ({ readonly type: 'again' } & ReworkOrder)
  /** It, or what it acts on, is not what was seen any more. */
  | { readonly type: 'stale' }
  | { readonly type: 'withdrawn' }

/** Who has to do with it. */
export interface ReviewParts {
  readonly ctx: Context
  readonly edge: Edge
  readonly graph: TaskGraph
  /** An approver is asked about this one (true), or not any more. */
  readonly asks: (entry: Entry, waits: boolean) => void
}

/** How often a task may be sent back, by default. */
const defaultRounds = 3

type ReviewedPart = 'task' | 'result'

export class Reviews {
  readonly #parts: ReviewParts
  readonly #failures = new FailureCounter()
  /** Of each kind: how often a task was to be changed. */
  readonly #rounds: Readonly<Record<ReviewedPart, Map<Entry, number>>> = { task: new Map(), result: new Map() }
  /** Open reviews: how each is called off. Before its approver is asked, a task keeps its permit. */
  readonly #open = new Map<Entry, { readonly ctx: Context; asked: boolean }>()

  constructor(parts: ReviewParts) {
    this.#parts = parts
  }

  /** How many reviews have not asked an approver yet: a permit is kept for each. */
  get permits(): number {
    let permits = 0
    for (const { asked } of this.#open.values()) if (!asked) permits++
    return permits
  }

  /** Whether it is under review now. */
  has(entry: Entry): boolean {
    return this.#open.has(entry)
  }

  /** Withdraws its question. */
  callOff(entry: Entry, reason: string): void {
    this.#open.get(entry)?.ctx.stopAll(reason)
  }

  /** A task has ended. */
  ended(entry: Entry): void {
    if (entry.status === 'succeeded') this.#failures.seen()
    else if (entry.status === 'failed' && entry.begun > 0 && entry.failure !== undefined && !isRefused(entry))
      this.#failures.note(failed(entry.failure))
  }

  /** Whether it is to be reviewed before it begins. Never without oversight or an approval of its own. */
  isDue(entry: Entry): boolean {
    return !entry.looked && (entry.task.requiresApproval === true || this.#oversight(entry) !== undefined)
  }

  #oversight({ task, role }: Entry): Oversight | undefined {
    return oversightOf(task, this.#parts.edge.oversight?.policy, role.oversight)
  }

  /** Reviews a task that may begin. `lapsed`: why it is asked again. Rejects only with `Cancelled`. */
  async before(entry: Entry, lapsed?: string): Promise<Word> {
    const { graph } = this.#parts
    const { task } = entry
    const { id, description, input: given, toolParameters, action } = task
    let [edited, reason] = [task, '']
    let context: Json | undefined
    // the inputs, or the task itself: an edit of the plan replaces it
    const isStale = (): boolean => entry.task !== task || !isSame(context, inputsOf(graph, entry))
    const verdict = await review({
      input: { task: id, description, ...present({ action, input: given, toolParameters }) },
      misfit: 'as it was edited it cannot be done',
      ask: async ({ input, again = lapsed }) => {
        context = inputsOf(graph, entry)
        const asked = await this.#ask(entry, 'task', input, context, again)
        reason = asked.reason
        return asked.verdict
      },
      fits: (input) => {
        const checked = editedTask(task, input, entry.role.agent)
        if (checked.ok) edited = checked.task
        // a stale yes begins nothing, whatever was edited
        return checked.ok || isStale() ? undefined : checked.problem
      },
    })
    if (entry.task !== task || (verdict?.approved === true && isStale())) return { type: 'stale' }
    if (verdict?.approved === false && verdict.misfit === true)
      return { type: 'refused', how: 'rejected', reason: `${reason}; ${verdict.comment}` }
    if (verdict?.approved === true) entry.note = reviewNote({ what: 'this task', ran: verdict.input }, verdict)
    if (verdict?.approved !== true || !verdict.edited) return this.#wordOf(entry, 'task', verdict, reason)
    entry.task = edited
    return { type: 'given', asked: true, ...goodUntil(verdict) }
  }

  /** Reviews the result of a task. Rejects only with `Cancelled`. */
  async after(entry: Entry): Promise<Word> {
    const { verdict, reason } = await this.#ask(entry, 'result', entry.output ?? null, undefined, undefined)
    const word = this.#wordOf(entry, 'result', verdict, reason)
    return word.type === 'given' && verdict?.approved === true && verdict.edited
      ? { ...word, output: verdict.input }
      : word
  }

  async #ask(
    entry: Entry,
    kind: ReviewedPart,
    input: Json,
    context: Json | undefined,
    problem: string | undefined,
  ): Promise<{ readonly verdict: Verdict | undefined; readonly reason: string }> {
    const { ctx: above, asks } = this.#parts
    const ctx = above.scope(kind === 'task' ? 'approval' : 'result').scope(entry.id)
    const { id, task } = entry
    const open = { ctx, asked: false }
    this.#open.set(entry, open)
    let reason = ''
    const oversight = this.#oversight(entry)
    const always =
      kind === 'result' ? `the result of "${id}" is to be seen by a human` : `"${id}" always needs an approval`
    const subject =
      kind === 'result'
        ? { always: true, ...present({ risk: task.risk }) }
        : {
            ...subjectOf(task),
            ...(problem === undefined ? undefined : { always: true }),
            ...present({ failures: this.#failures.take(oversight) }),
          }
    const why = problem ?? (subject.always === true ? always : undefined)
    const verdict = await escalate(ctx, oversight, { subject: kind, name: id }, subject, {
      kind,
      tool: kind === 'task' ? (task.action ?? id) : id,
      toolVersion: ctx.place.version,
      input,
      task: id,
      description: task.description,
      ...present({ context, reason: why, ...task.approval }),
      options: this.#options(entry, kind),
      defaultTimeoutMs: defaultApprovalTimeoutMs,
      doneSoFar: () => this.#doneSoFar(ctx, entry, kind),
      asking: (said) => {
        reason = said
        open.asked = true
        asks(entry, true)
      },
    })
    this.#open.delete(entry)
    if (open.asked) asks(entry, false)
    return { verdict, reason }
  }

  /** What was done by those whom `retry` would have begin again, and for this task before. */
  async #doneSoFar(ctx: Context, entry: Entry, kind: ReviewedPart): Promise<readonly DoneEffect[]> {
    const found: DoneEffect[] = []
    for (const { id, last } of kind === 'task' ? [...actedOn(this.#parts.graph, entry), entry] : [entry])
      if (last !== undefined) found.push(...(await ctx.doneBy(last)).map((effect) => ({ ...effect, task: id })))
    return found
  }

  #options(entry: Entry, kind: ReviewedPart): readonly DecisionOption[] {
    return this.#mayChange(entry, kind) ? ['approve', 'reject', 'edit', 'retry'] : ['approve', 'reject', 'edit']
  }

  #mayChange(entry: Entry, kind: ReviewedPart): boolean {
    return (this.#rounds[kind].get(entry) ?? 0) < (this.#oversight(entry)?.approval?.rounds ?? defaultRounds)
  }

  #wordOf(entry: Entry, kind: ReviewedPart, verdict: Verdict | undefined, reason: string): Word {
    if (verdict === undefined) return { type: 'given', asked: false }
    if (verdict.approved) {
      if (verdict.by === 'human') this.#failures.seen()
      return { type: 'given', asked: true, ...goodUntil(verdict) }
    }
    const { how, approver, comment } = verdict
    const by = present({ by: approver, comment })
    if (how === 'cancelled') return { type: 'withdrawn' }
    if (how === 'timed-out') return { type: 'refused', how, reason }
    this.#failures.seen()
    if (how !== 'retry' || !this.#mayChange(entry, kind)) return { type: 'refused', how: 'rejected', reason, ...by }
    this.#rounds[kind].set(entry, (this.#rounds[kind].get(entry) ?? 0) + 1)
    return {
      type: 'again',
      feedback: comment ?? 'make it better',
      ...present({ by: approver, repeat: verdict.repeat }),
    }
  }
}

/** Whether an approver, or an expired deadline, has kept it from counting. */
export const isRefused = ({ failure }: Entry): boolean =>
  failure?.code === 'task.rejected' || failure?.code === 'task.unanswered'

/** An approval holds for what was seen. */
const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  digestJson(one ?? null) === digestJson(other ?? null)

/** What a task will act on: the outputs of those before it. Undefined: nothing. */
function inputsOf(graph: TaskGraph, entry: Entry): Json | undefined {
  const outputs = Object.entries(graph.inputs(entry, false)).flatMap(([id, { output }]) =>
    output === undefined ? [] : [[id, output] as const],
  )
  return outputs.length === 0 ? undefined : Object.fromEntries(outputs)
}
