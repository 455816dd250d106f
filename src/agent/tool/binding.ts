/**
 * Binding: what the turn loop knows of anything a model may call. Tools, delegation, forwarding and recruiting all look
 * the same to it.
 *
 * Owns: the interfaces between the loop and whoever contributes calls. Does not own: any contribution (tool-gate.ts for
 * tools, ../supervisor).
 */
import { asText, type Failure, type Outcome } from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'
import type { ToolCall, ToolSpec } from '../../model/index.ts'
import type { CallResult, WorkDeferrer } from './call-result.ts'
import type { ConversationState } from '../loop/conversation-state.ts'

export type { CallResult } from './call-result.ts'

/** Something a model may call. Made once per definition or per activation, never per turn. */
export interface Binding {
  readonly spec: ToolSpec
  /**
   * A verb of Reeve's own: permissions name the tools of users, so of them only an explicit `deny` or `approval` holds
   * for it.
   */
  readonly verb?: boolean
  /** Runs after all other calls of its turn have settled. */
  readonly last?: boolean
  /**
   * Does the work, in a scope of its own. Resolves to what the model is told; rejects only with `Cancelled` or for a
   * defect in the code.
   */
  run(ctx: Context, call: ToolCall, state: ConversationState): Promise<CallResult>
  /**
   * Takes the call's place among others before somebody decides whether it may run: decisions come in any order, calls
   * count in theirs.
   */
  placed?(call: ToolCall): Pick<Binding, 'run'>
}

/**
 * What a model may call in the next turn. `specs` may be another list after each turn; while nothing changes it is the
 * same object.
 */
export interface Toolbox {
  readonly specs: readonly ToolSpec[]
  find(name: string): Binding | undefined
}

/** Work that goes on while the model agent that asked for it does something else. */
export interface Background extends WorkDeferrer {
  /** Tells the model what has ended since it was asked last. Called before each turn. */
  deliver(state: ConversationState): void
  /**
   * Resolves when there is something to deliver: to true; to false at once if nothing is under way. Called where an
   * answer would end the work.
   */
  more(): Promise<boolean>
  /**
   * Resolves when everything has ended whose end an answer has to wait for. Called before a turn that is the last,
   * because nothing can be told after it.
   */
  rest(): Promise<void>
  /**
   * How the leader ends that is about to end like this: whoever is still at work is waited for where it has answered,
   * else stopped, and has ended before it does. Their results stand in its conversation then.
   */
  end(outcome: Outcome, state: ConversationState): Promise<Outcome>
  /** What is under way, one line each, for a model that is not shown any more how it began. */
  lines(): readonly string[]
}

/** What an activation of a model agent begins with. */
export interface Opening {
  readonly system: string | undefined
  readonly toolbox: Toolbox
  readonly background?: Background
}

/** A toolbox that never changes. */
export function fixedToolbox(bindings: readonly Binding[]): Toolbox {
  const byName = new Map(bindings.map((binding) => [binding.spec.name, binding]))
  return { specs: bindings.map((binding) => binding.spec), find: (name) => byName.get(name) }
}

/** Another toolbox without some of its tools: they are neither offered nor found. */
export class FilteredToolbox implements Toolbox {
  readonly #inner: Toolbox
  readonly #missing: ReadonlySet<string>
  #known: readonly ToolSpec[] | undefined
  #specs: readonly ToolSpec[] = []

  constructor(inner: Toolbox, missing: ReadonlySet<string>) {
    this.#inner = inner
    this.#missing = missing
  }

  get specs(): readonly ToolSpec[] {
    const inner = this.#inner.specs
    if (inner !== this.#known) {
      this.#known = inner
      this.#specs = inner.filter(({ name }) => !this.#missing.has(name))
    }
    return this.#specs
  }

  find(name: string): Binding | undefined {
    return this.#missing.has(name) ? undefined : this.#inner.find(name)
  }
}

/** Another toolbox with more tools. One of its own under the same name stays what it is. */
export class MergedToolbox implements Toolbox {
  readonly #inner: Toolbox
  readonly #more: readonly Binding[]
  #known: readonly ToolSpec[] | undefined
  #specs: readonly ToolSpec[] = []

  constructor(inner: Toolbox, more: readonly Binding[]) {
    this.#inner = inner
    this.#more = more
  }

  get specs(): readonly ToolSpec[] {
    const inner = this.#inner.specs
    if (inner !== this.#known) {
      this.#known = inner
      const more = this.#more.filter(({ spec: { name } }) => this.#inner.find(name) === undefined)
      this.#specs = [...inner, ...more.map(({ spec }) => spec)]
    }
    return this.#specs
  }

  find(name: string): Binding | undefined {
    return this.#inner.find(name) ?? this.#more.find(({ spec }) => spec.name === name)
  }
}

/** Refuses a call: a fact for the journal, and for the model a text that says why. */
export function refuse(ctx: Context, call: ToolCall, failure: Failure, told: string): CallResult {
  ctx.emit({ type: 'tool.refused', tool: call.name, callId: call.id, failure })
  return { content: told, isError: true }
}

/**
 * A tool has done its work, and what was to follow from its result does not: a fact for the journal, and for the model
 * the result with `why`. No error, or it would call the tool again.
 */
export function withoutAction(
  ctx: Context,
  call: ToolCall,
  result: CallResult,
  failure: Failure,
  why = failure.message,
): CallResult {
  ctx.emit({ type: 'tool.refused', tool: call.name, callId: call.id, failure })
  const { finish: _finish, ...told } = result
  return { ...told, content: `[${why}. The result was: ${asText(told.content)}]` }
}
