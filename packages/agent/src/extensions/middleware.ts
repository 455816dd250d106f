/**
 * Middleware: hooks around the work of a model agent. They add, observe, change or refuse, whatever its model says.
 *
 * Owns: the interface that users implement, its checks. Does not own: when a hook is called and what its reply does
 * (middleware-chain.ts). Hooks are orchestration (K3): pure, or through `at.ctx`. Effects belong in a `step`,
 * which runs once, also across a crash and on replay (K10).
 */
import {
  listOf,
  nameCheck,
  objectOrInstance,
  required,
  twiceIn,
  unchecked,
  type Action,
  type Check,
  type Checks,
  type Json,
  type Outcome,
} from '@reeve/core'
import type { Message, ModelAnswer, ModelSettings, ToolCall } from '@reeve/model'
import type { AgentContext } from '../code/agent-context.ts'
import type { ToolResult } from '../conversation/call-result.ts'
import type { HookReply } from '../hook-call.ts'

/** Values that the middlewares of one activation share. They are gone when it ends, and rebuilt on replay. */
export interface MomentValues {
  /** Undefined if there is none. Read-only: a copy of the value was kept. */
  get(key: string): Json | undefined
  /** Throws `input.not-json` for values that JSON cannot hold. */
  set(key: string, value: Json): void
  /** True if there was a value. */
  delete(key: string): boolean
}

/** The moment at which a hook is called. */
export interface Moment {
  readonly agent: string
  /** The scope of this hook alone: two hooks may use the same step names. `interrupt` and `approve` wait as usual. */
  readonly ctx: AgentContext
  /** The agent's brief. */
  readonly brief: Json
  /** The current turn, from 1; 0 before the first. */
  readonly turn: number
  /**
   * The conversation as the model sees it when this is read, the agent's own instructions first. A new list, frozen with
   * its messages: what is said later is in the next one that is read.
   */
  readonly messages: readonly Message[]
  readonly values: MomentValues
  /** Where control goes when the agent ends, if not with an answer. Known in `after`. */
  readonly action?: Action
}

/** What an activation begins with. */
export interface ActivationStart {
  /** The agent's own instructions, without the texts that Reeve adds. */
  readonly instructions: string | undefined
  /** The names of its tools, without Reeve's own verbs. */
  readonly tools: readonly string[]
}

/** The input of a model call. */
export interface ModelPrompt {
  readonly messages: readonly Message[]
  readonly settings: ModelSettings
}

/**
 * Runs the call, through the inner middlewares. With an input: runs with that input, validated and approved as usual.
 * May be left out, or repeated one after the other.
 */
export type RunTool = (input?: Json) => Promise<ToolResult>

/**
 * A middleware: hooks around a model agent. The first of a list is outermost: called first on the way in (`before`,
 * `beforeModel`, `wrapTool`) and last on the way out (`afterModel`, `after`). A hook that returns nothing changes
 * nothing. A hook that throws ends the agent once pending calls have settled (`wrapTool`
 * only before the call was made: after it, the result is withheld and the agent goes on): it fails with `middleware.failed`, or
 * with the failure of a FailureError, labelled with `details.middleware` and `details.hook`. The journal keeps what was
 * said before; of the hooks only `after` still runs. Its name is part of the agent's version, its functions are not:
 * change `version` when they change their meaning.
 */
export interface MiddlewareHooks {
  /**
   * A letter or `_`, then up to 63 letters, digits, `_` or `-`. Unique in its list. Part of the addresses of its
   * operations.
   */
  readonly name: string
  /**
   * Before everything else in an activation: changes the instructions, or removes tools. If control returns to an
   * agent, that is another activation.
   */
  before?(begins: ActivationStart, at: Moment): HookReply<Partial<ActivationStart>>
  /**
   * Before each model call: changes the prompt of this call. What it is given is frozen; what it returns is sent. The
   * recorded conversation stays as it is.
   */
  beforeModel?(asked: ModelPrompt, at: Moment): HookReply<Partial<ModelPrompt>>
  /**
   * After each answer of the model: `text` replaces its text, in the conversation and as the answer. `again` rejects
   * it: its calls are refused with this text, or the text is sent as a user's message, and the model is called in
   * another turn. The answer is not streamed or shown before this hook, and then only as changed, so hooks that mask
   * text belong here.
   */
  afterModel?(answer: ModelAnswer, at: Moment): HookReply<{ readonly text: string } | { readonly again: string }>
  /**
   * Around each known and permitted call of a tool, or of an agent as a tool. Reeve's own verbs are not wrapped.
   * Approvals are asked inside. The tool's `action` follows from the result returned here. `run.messages()` shows this
   * result once all calls of the turn have ended.
   */
  wrapTool?(call: ToolCall, run: RunTool, at: Moment): ToolResult | Promise<ToolResult>
  /**
   * After the agent has ended in any way but by a cancel, also by a hook that threw. Another outcome replaces that of
   * the agent, also for `outputKey`. If it completes with another output, which is checked against `output`, that
   * output is the answer: later agents see it instead of the last message (and its files), or of the result that ended
   * the agent. An agent that answers hands no control on, so its transfer is refused. An exit stays an exit, with that
   * output. An equal output changes nothing. The journal keeps what the model and the tools said, `run.messages()`
   * shows the final answer, and live parts show the text as it is written. Messages before the answer are passed on
   * unchanged: use `afterModel` and `wrapTool` for those.
   */
  after?(outcome: Outcome, at: Moment): HookReply<Outcome>
}

/** The check of the middlewares of one agent. `more`: the options that one may have besides hooks. */
export function middlewareCheck<T extends MiddlewareHooks>(more: Checks<Omit<T, keyof MiddlewareHooks>>): Check {
  const hooks: Checks<MiddlewareHooks> = {
    name: required(nameCheck),
    before: unchecked,
    beforeModel: unchecked,
    afterModel: unchecked,
    wrapTool: unchecked,
    after: unchecked,
  }
  const each = listOf(objectOrInstance({ ...hooks, ...more }), 'middlewares')
  return (given, where) => [
    ...each(given, where),
    ...twiceIn(
      Array.isArray(given) ? given.map((one) => (one as MiddlewareHooks | null | undefined)?.name) : [],
      where,
      'middlewares',
    ),
  ]
}
