/**
 * Reviews: a human looks at a task before somebody begins it, or at its result before it counts (spec team ).
 *
 * Owns: what is shown, what of a verdict the work is told, how often something may be changed and looked at again. Does not own: whether somebody is asked (../../oversight), what follows for the
 * task (work.ts), for what it acts on (rework.ts).
 * Holds: K4: a scope for each task and question, so any number may be open at once; K6: what was approved is not asked again for the same attempt, also over a crash. Nothing is recorded where nothing is overseen.
 */
import { digestJson, failed, present, type Json, type JsonObject } from '../../core/index.ts'
import type { Edge, Oversight } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { goodUntil, review, Streak, type DecisionOption, type Verdict } from '../../oversight/index.ts'
import { oversightOf, subjectOf } from '../plan/overseen.ts'
import type { Book, Entry } from './book.ts'
import { editedTask } from './edited.ts'

/** What the work is told. */
export type Word =
  | {
      readonly type: 'given'
      /** Somebody was asked. */ readonly asked: boolean
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
  | { readonly type: 'again'; readonly feedback: string; readonly by?: string }
  /** What it acts on is not what was seen any more. */
  | { readonly type: 'stale' }
  | { readonly type: 'withdrawn' }

/** Who has to do with it. */
export interface ReviewParts {
  readonly ctx: Context
  readonly edge: Edge
  readonly book: Book
  /** Somebody is asked about this one (true), or not any more. */
  readonly asks: (entry: Entry, waits: boolean) => void
}

/** Where nobody says how often. */
const defaultRounds = 3
/** How often what somebody has edited may be impossible before that is an answer, too. */
const mostEdits = 3

type Kind = 'task' | 'result'

export class Reviews {
  readonly #parts: ReviewParts
  readonly #streak = new Streak()
  /** Of each kind: how often a task was to be changed. */
  readonly #rounds: Readonly<Record<Kind, Map<Entry, number>>> = { task: new Map(), result: new Map() }
  /** Those that are looked at: how that is called off. Of `false`, nobody was asked yet: they keep their permit. */
  readonly #open = new Map<Entry, { readonly ctx: Context; asked: boolean }>()

  constructor(parts: ReviewParts) {
    this.#parts = parts
  }

  /** How many are looked at of whom it is not known yet whether anybody is asked: a permit is kept for each. */
  get permits(): number {
    let permits = 0
    for (const { asked } of this.#open.values()) if (!asked) permits++
    return permits
  }

  /** Whether it is looked at now. */
  has(entry: Entry): boolean {
    return this.#open.has(entry)
  }

  /** Nobody is asked about it any more. */
  callOff(entry: Entry, reason: string): void {
    this.#open.get(entry)?.ctx.stopAll(reason)
  }

  /** A task has ended. */
  ended(entry: Entry): void {
    if (entry.status === 'succeeded') this.#streak.seen()
    else if (entry.status === 'failed' && entry.begun > 0 && entry.failure !== undefined && !isRefused(entry))
      this.#streak.note(failed(entry.failure))
  }

  /** Whether it is to be looked at before it begins. Where nothing is overseen it never is. */
  isDue(entry: Entry): boolean {
    return !entry.looked && (entry.task.requiresApproval === true || this.#oversight(entry) !== undefined)
  }

  #oversight({ task, role }: Entry): Oversight | undefined {
    return oversightOf(task, this.#parts.edge.oversight, role.oversight)
  }

  /** Looks at a task that may begin. `lapsed`: why it is asked again. Rejects only with `Cancelled`. */
  async before(entry: Entry, lapsed?: string): Promise<Word> {
    let problem = lapsed
    for (let edits = 0; ; edits++) {
      const { task } = entry
      const { id, description, input, toolParameters, action } = task
      const shown = { task: id, description, ...present({ action, input, toolParameters }) } as JsonObject
      const context = inputsOf(this.#parts.book, entry)
      const { verdict, reason } = await this.#ask(entry, 'task', shown, context, problem)
      if (verdict?.approved === true && !isSame(context, inputsOf(this.#parts.book, entry))) return { type: 'stale' }
      if (verdict?.approved !== true || !verdict.edited) return this.#wordOf(entry, 'task', verdict, reason)
      const edited = editedTask(task, verdict.input, entry.role.agent)
      if (edited.ok) {
        entry.task = edited.task
        return { type: 'given', asked: true, ...goodUntil(verdict) }
      }
      problem = `as it was edited it cannot be done: ${edited.problem}`
      if (edits + 1 >= mostEdits) return { type: 'refused', how: 'rejected', reason: `${reason}; ${problem}` }
    }
  }

  /** Looks at what came of a task. Rejects only with `Cancelled`. */
  async after(entry: Entry): Promise<Word> {
    const { verdict, reason } = await this.#ask(entry, 'result', entry.output ?? null, undefined, undefined)
    const word = this.#wordOf(entry, 'result', verdict, reason)
    return word.type === 'given' && verdict?.approved === true && verdict.edited ? { ...word, output: verdict.input } : word
  }

  async #ask(
    entry: Entry,
    kind: Kind,
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
    const always = kind === 'result' ? `the result of "${id}" is to be seen by a human` : `"${id}" always needs an approval`
    const subject =
      kind === 'result'
        ? { always: true, ...present({ risk: task.risk }) }
        : {
            ...subjectOf(task),
            ...(problem === undefined ? undefined : { always: true }),
            ...present({ failures: this.#streak.take(oversight) }),
          }
    const why = problem ?? (subject.always === true ? always : undefined)
    const verdict = await review(ctx, oversight, { subject: kind, name: id }, subject, {
      kind,
      tool: kind === 'task' ? (task.action ?? id) : id,
      toolVersion: ctx.place.version,
      input,
      task: id,
      description: task.description,
      ...present({ context, reason: why, ...task.approval }),
      options: this.#options(entry, kind),
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

  #options(entry: Entry, kind: Kind): readonly DecisionOption[] {
    return this.#mayChange(entry, kind) ? ['approve', 'reject', 'edit', 'retry'] : ['approve', 'reject', 'edit']
  }

  #mayChange(entry: Entry, kind: Kind): boolean {
    return (this.#rounds[kind].get(entry) ?? 0) < (this.#oversight(entry)?.approval?.rounds ?? defaultRounds)
  }

  #wordOf(entry: Entry, kind: Kind, verdict: Verdict | undefined, reason: string): Word {
    if (verdict === undefined) return { type: 'given', asked: false }
    if (verdict.approved) {
      if (verdict.by === 'human') this.#streak.seen()
      return { type: 'given', asked: true, ...goodUntil(verdict) }
    }
    const { how, approver, comment } = verdict
    const by = present({ by: approver, comment })
    if (how === 'cancelled') return { type: 'withdrawn' }
    if (how === 'timed-out') return { type: 'refused', how, reason }
    this.#streak.seen()
    if (how !== 'retry' || !this.#mayChange(entry, kind)) return { type: 'refused', how: 'rejected', reason, ...by }
    this.#rounds[kind].set(entry, (this.#rounds[kind].get(entry) ?? 0) + 1)
    return { type: 'again', feedback: comment ?? 'make it better', ...present({ by: approver }) }
  }
}

/** Whether a human, or nobody in time, has kept it from counting. */
export const isRefused = ({ failure }: Entry): boolean => failure?.code === 'task.rejected' || failure?.code === 'task.unanswered'

/** An approval holds for what was seen. */
const isSame = (one: Json | undefined, other: Json | undefined): boolean => digestJson(one ?? null) === digestJson(other ?? null)

/** What a task will act on: the outputs of those before it. Undefined: nothing. */
function inputsOf(book: Book, entry: Entry): Json | undefined {
  const outputs = Object.entries(book.inputs(entry, false)).flatMap(([id, { output }]) =>
    output === undefined ? [] : [[id, output] as const],
  )
  return outputs.length === 0 ? undefined : Object.fromEntries(outputs)
}
