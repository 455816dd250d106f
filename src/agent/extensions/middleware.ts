/**
 * Middleware: what stands around the work of a model agent, whatever its model says: it adds, looks on, changes or refuses.
 *
 * Owns: the interface that users implement, its checks. Does not own: when a hook is called and what becomes of its
 * word (middleware-chain.ts). Hooks are orchestration (K3): pure, or through `at.ctx`. What is uncertain is a `step`, so it
 * happens once, also across a crash and on replay (K10).
 */
import {
  described,
  isObject,
  unknownNames,
  type Action,
  type Check,
  type Json,
  type Outcome,
} from '../../core/index.ts'
import type { Message, ModelAnswer, ModelSettings, ToolCall } from '../../model/index.ts'
import { isName } from '../definition.ts'
import type { AgentContext } from '../code/agent-context.ts'
import type { HookReply } from './hook-call.ts'

/** Values of one activation that its middlewares share: gone when it ends, made again on replay. */
export interface MomentValues {
  /** Undefined if there is none. Read-only: what is kept is a copy of what was given. */
  get(key: string): Json | undefined
  /** Throws `input.not-json` at once for what JSON cannot hold. */
  set(key: string, value: Json): void
  /** True if there was one. */
  delete(key: string): boolean
}

/** Where in the work of an agent a hook is called. */
export interface Moment {
  readonly agent: string
  /** Names of this hook alone: two hooks may open the same step. `interrupt` and `approve` simply wait. */
  readonly ctx: AgentContext
  /** What the agent was asked to do. */
  readonly brief: Json
  /** The turn under way, from 1; 0 before the first. */
  readonly turn: number
  /**
   * The conversation as its model is shown it, the agent's own instructions first. Grows while the agent works; change
   * nothing in it.
   */
  readonly messages: readonly Message[]
  readonly values: MomentValues
  /** What becomes of control when the agent ends, if not by an answer alone. Known in `after`. */
  readonly action?: Action
}

/** What an activation begins with. */
export interface ActivationStart {
  /** The agent's own, without what Reeve's verbs add to them. */
  readonly instructions: string | undefined
  /** The names of its tools, without Reeve's own verbs. */
  readonly tools: readonly string[]
}

/** What a model is asked with. */
export interface ModelPrompt {
  readonly messages: readonly Message[]
  readonly settings: ModelSettings
}

/**
 * Does the call, or what the next middleware makes of it. With an input: with that one, checked and approved like any
 * other. May be left out, and repeated one after the other.
 */
export type RunTool = (input?: Json) => Promise<ToolResult>

/** What a model is told of a call. */
export interface ToolResult {
  readonly content: Json
  readonly isError?: boolean
}

/**
 * What stands around a model agent. Of several the first is outermost: it is asked first on the way in (`before`,
 * `beforeModel`, `wrapTool`) and last on the way out (`afterModel`, `after`). A hook that returns nothing changes
 * nothing. One that throws ends the agent, when calls under way have settled: it fails with `middleware.failed`, or
 * with exactly the failure of a FailureError, labelled with `details.middleware` and `details.hook`. What was said
 * before stays in the journal; of hooks only `after` is still asked. Its name is part of the agent's version, its
 * functions are not: raise `version` when they change their meaning.
 */
export interface MiddlewareHooks {
  /**
   * A letter or `_`, then up to 63 letters, digits, `_` or `-`. Unique in its list. Part of the addresses of what its
   * hooks do.
   */
  readonly name: string
  /**
   * Before anything else of an activation: other instructions, or fewer tools. Where control comes back to an agent,
   * that is another activation.
   */
  before?(begins: ActivationStart, at: Moment): HookReply<Partial<ActivationStart>>
  /** Before each call of the model: what it is shown this time. The conversation itself stays as it is recorded. */
  beforeModel?(asked: ModelPrompt, at: Moment): HookReply<Partial<ModelPrompt>>
  /**
   * After each answer of the model: `text` takes the place of its text, in the conversation and as the answer. `again`
   * rejects it: its calls are refused with these words, or they are said as a user, and the model is asked once more;
   * that is another turn. Nobody is shown the answer before, not while it is written either, and then as it holds: what
   * masks a text belongs here.
   */
  afterModel?(answer: ModelAnswer, at: Moment): HookReply<{ readonly text: string } | { readonly again: string }>
  /**
   * Around each call that is known and permitted, of a tool or an agent as a tool; Reeve's own verbs are not wrapped.
   * Its approval is asked for inside. The tool's `action` follows from what is returned here. What agents said
   * (`run.messages()`) has this result, once all calls of the turn have ended.
   */
  wrapTool?(call: ToolCall, run: RunTool, at: Moment): ToolResult | Promise<ToolResult>
  /**
   * When the agent has ended in whatever way but by a cancel, also by a hook that threw. Another outcome is that of the
   * agent, and what `outputKey` keeps. If it completed with another output, checked against `output`, that is the
   * answer: whoever comes after the agent is shown it in the place of the last words (files go with them) or of the
   * result that ended the agent, and an agent that answers hands no control on: its transfer is refused. An exit stays
   * one, with that output. An output equal to the one given changes nothing. The journal keeps what the model and the
   * tools said; `run.messages()` has the answer that was left, live parts what is written; what was said on the way to
   * the answer is passed on as it is: `afterModel` and `wrapTool` see to that.
   */
  after?(outcome: Outcome, at: Moment): HookReply<Outcome>
}

/** What may be wrong with the middlewares of one agent. `known`: the names of what one may have. */
export const middlewareCheck =
  (known: Readonly<Record<string, unknown>>): Check =>
  (given, where) => {
    if (!Array.isArray(given)) return [`${where} is ${described(given)}, expected a list`]
    const list = given as readonly unknown[]
    const names = list.map((each) => (each as MiddlewareHooks | null | undefined)?.name)
    return names.flatMap((name, i) => [
      // an instance of a class may keep whatever it likes
      ...(typeof list[i] === 'object' && list[i] !== null && !isObject(list[i]) && !Array.isArray(list[i])
        ? []
        : unknownNames(list[i], known, `${where}[${i}]`)),
      ...(isName(name)
        ? []
        : [
            `${where}[${i}]: the name of a middleware, "${String(name)}", is not a letter or "_", then up to 63 letters, digits, "_" or "-"`,
          ]),
      ...(names.indexOf(name) === i ? [] : [`${where}: two middlewares are called "${String(name)}"`]),
    ])
  }
