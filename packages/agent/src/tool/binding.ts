/**
 * Binding: anything a model may call, as the turn loop sees it. Tools, delegation, forwarding and recruiting all look
 * the same.
 *
 * Owns: the interfaces between the loop and the providers of calls. Does not own: any such provider
 * (../approval/tool-gate.ts for tools, ../../supervisor).
 */
import { asText, type Failure, type Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { ToolCall, ToolSpec } from '@reeve/model'
import type { CallResult, WorkDeferrer } from '../conversation/call-result.ts'
import type { ConversationState } from '../conversation/conversation-state.ts'

/** Something a model may call. Made once per definition or per activation, never per turn. */
export interface Binding {
  readonly spec: ToolSpec
  /**
   * One of Reeve's own verbs. Permissions name users' tools, so for a verb only an explicit `deny` or `approval` holds.
   */
  readonly verb?: boolean
  /** How much the model is shown of a result, in tokens, where its author says so. */
  readonly resultTokens?: number | undefined
  /** What the model is offered instead of `spec` where the conversation has files. */
  readonly filesSpec?: ToolSpec | undefined
  /** Runs after all other calls of its turn have settled. */
  readonly last?: boolean
  /**
   * Runs the call in its own scope. Resolves to what the model is told. Rejects only with `Cancelled`, or for a defect
   * in the code.
   */
  run(ctx: Context, call: ToolCall, state: ConversationState): Promise<CallResult>
  /**
   * What two calls of one answer have in common that are made once: the arguments that they run with, as text.
   * Undefined: each is made. Absent: all are.
   */
  onceKey?(call: ToolCall): string | undefined
  /**
   * Takes the position of the call before its approval is decided: decisions arrive in any order, but calls count in
   * theirs.
   */
  placed?(call: ToolCall): Pick<Binding, 'run'>
}

/**
 * What a model may call in the next turn. `specs` may change after each turn; while nothing changes it is the same
 * object.
 */
export interface Toolbox {
  readonly specs: readonly ToolSpec[]
  find(name: string): Binding | undefined
}

/** Work that continues while the model agent does something else. */
export interface Background extends WorkDeferrer {
  /** Tells the model what has ended since its last call. Called before each turn. */
  deliver(state: ConversationState): void
  /**
   * Resolves to true when there is something to deliver, and to false at once if nothing is pending. Called where an
   * answer would end the work.
   */
  more(): Promise<boolean>
  /**
   * Resolves when all work has ended that an answer must wait for. Called before the last turn, because nothing can be
   * told after it.
   */
  rest(): Promise<void>
  /**
   * The final outcome of the leader. If it has answered, pending work is awaited; otherwise it is stopped. All work has
   * ended before the leader does, and its results are in the conversation.
   */
  end(outcome: Outcome, state: ConversationState): Promise<Outcome>
  /** The pending work, one line each, for a model whose prompt no longer shows how it began. */
  lines(): readonly string[]
}

/** What an activation of a model agent begins with. */
export interface Opening {
  readonly system: string | undefined
  readonly toolbox: Toolbox
  readonly background?: Background
  /** Its model may name files of the conversation. */
  readonly labelsFiles?: true
}

/** A toolbox that never changes. */
export function fixedToolbox(bindings: readonly Binding[]): Toolbox {
  const byName = new Map(bindings.map((binding) => [binding.spec.name, binding]))
  return { specs: bindings.map((binding) => binding.spec), find: (name) => byName.get(name) }
}

/** A toolbox without some tools of another: they are neither offered nor found. */
export const filteredToolbox = (inner: Toolbox, missing: ReadonlySet<string>): Toolbox =>
  derivedToolbox(
    inner,
    (specs) => specs.filter(({ name }) => !missing.has(name)),
    (name) => (missing.has(name) ? undefined : inner.find(name)),
  )

/** A toolbox with further tools. A tool of the inner toolbox takes precedence over one of the same name. */
export const mergedToolbox = (inner: Toolbox, more: readonly Binding[]): Toolbox =>
  derivedToolbox(
    inner,
    (specs) => [...specs, ...more.map(({ spec }) => spec).filter(({ name }) => inner.find(name) === undefined)],
    (name) => inner.find(name) ?? more.find(({ spec }) => spec.name === name),
  )

/** A toolbox made of another. Its list is the same object as long as the inner list is, so that it is sent once. */
function derivedToolbox(
  inner: Toolbox,
  derive: (specs: readonly ToolSpec[]) => readonly ToolSpec[],
  find: Toolbox['find'],
): Toolbox {
  let known: readonly ToolSpec[] | undefined
  let derived: readonly ToolSpec[] = []
  return {
    get specs() {
      const { specs } = inner
      if (specs !== known) derived = derive((known = specs))
      return derived
    },
    find,
  }
}

/**
 * A tool has run, but its action is not applied: records a fact, and tells the model the result with `why`. Not an
 * error, or the model would call the tool again.
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
