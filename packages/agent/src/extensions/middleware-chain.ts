/**
 * Middleware chain: the middlewares of one activation at work.
 *
 * Owns: the order of their hooks, the values they share, the effect of their replies, the failure of a hook that
 * throws. Does not own: the interface (middleware.ts), the loop that calls (../loop/turn-loop.ts). Lives in memory
 * only; replay rebuilds it from the same calls (K1).
 * Holds: K3, K4 (each hook of each middleware has its own scope, so removing one from the list moves no address of
 * another).
 */
import {
  copy,
  deepFreeze,
  failed,
  failure,
  failureFrom,
  isObject,
  jsonProblem,
  messageOf,
  present,
  ReeveError,
  takenFiles,
  withLines,
  type Action,
  type Failure,
  type Json,
  type JsonObject,
  type Outcome,
  type Sha256,
} from '@reeve/core'
import { Cancelled, type Context } from '@reeve/engine'
import { hookScope, type Changeable } from '@reeve/journal'
import { estimateTokens, MessagesContent, type Message, type ModelSettings, type ToolCall } from '@reeve/model'
import type { CallMiddleware, Prompt } from '../conversation/conversation-state.ts'
import type { Extension, TurnView } from './extension.ts'
import { agentContext } from '../code/agent-context.ts'
import type { ModelPrompt, ActivationStart, MiddlewareHooks, Moment, MomentValues } from './middleware.ts'
import type { ToolResult } from '../conversation/call-result.ts'

type Hook = 'before' | 'beforeModel' | 'afterModel' | 'wrapTool' | 'after'

/** The part of the activation that hooks see. */
interface MiddlewareActivation {
  readonly agent: string
  readonly ctx: Context
  readonly turn: number
  /** The prompt as it is now: a frozen list of frozen messages. */
  shown(): readonly Message[]
  readonly action: Action | undefined
  readonly tokens: number
  content(sha256: Sha256): string
}

/** A hook has thrown. The agent fails with this failure. */
class MiddlewareError extends Error {
  readonly failure: Failure

  constructor(what: Failure) {
    super(what.message)
    this.name = 'HookFailed'
    this.failure = what
  }
}

/** The failure of a hook that threw. Rethrows everything else. */
export function middlewareFailure(thrown: unknown): Failure {
  if (thrown instanceof MiddlewareError) return thrown.failure
  throw thrown
}

export class MiddlewareChain implements Extension, CallMiddleware {
  /** Whether any middleware wraps calls of tools. */
  readonly wrapsTools: boolean
  /** What hooks may change after it is recorded. */
  readonly changeable: readonly Changeable[]
  /** Absent if no middleware has such a hook. */
  readonly beforeModel?: (turn: TurnView) => Promise<void>
  readonly afterModel?: (turn: TurnView) => Promise<void>
  readonly #list: readonly MiddlewareHooks[]
  readonly #activation: MiddlewareActivation
  readonly #brief: Json
  readonly #values = new ActivationValues()

  constructor(
    list: readonly MiddlewareHooks[],
    activation: MiddlewareActivation,
    brief: Json,
    settings?: ModelSettings,
  ) {
    this.#list = list
    this.#activation = activation
    this.#brief = brief
    const ways = { answer: 'afterModel', results: 'wrapTool', end: 'after' } as const satisfies Record<Changeable, Hook>
    const has = (hook: Hook): boolean => list.some((each) => each[hook] !== undefined)
    this.wrapsTools = has('wrapTool')
    this.changeable = (Object.keys(ways) as Changeable[]).filter((what) => has(ways[what]))
    const beforeModel = async (turn: TurnView): Promise<void> => {
      turn.prompt = await this.shown(turn.ctx, settings)
    }
    const afterModel = (turn: TurnView): Promise<void> => this.#runAfterModel(turn)
    if (has('beforeModel')) this.beforeModel = beforeModel
    if (has('afterModel')) this.afterModel = afterModel
  }

  /** Runs `before` of each middleware. Tools can only be removed. */
  async begin(start: ActivationStart): Promise<ActivationStart> {
    let begins = start
    for (const middleware of this.#list) {
      if (middleware.before === undefined) continue
      const { instructions, tools } = begins
      const at = this.#at('before', middleware, this.#activation.ctx)
      const word = await callMiddleware('before', middleware, () =>
        middleware.before!({ instructions, tools: [...tools] }, at),
      )
      if (word === undefined) continue
      const strange = word.tools?.find((name) => !tools.includes(name))
      if (strange !== undefined)
        throw middlewareError('before', middleware, `there is no tool "${strange}" to begin with`)
      begins = {
        instructions: 'instructions' in word ? word.instructions : instructions,
        tools: word.tools === undefined ? tools : tools.filter((name) => word.tools!.includes(name)),
      }
    }
    return begins
  }

  /** The prompt of this call; undefined if it is the conversation as it stands. */
  async shown(turn: Context, settings: ModelSettings = {}): Promise<Prompt | undefined> {
    const { tokens } = this.#activation
    const messages = this.#activation.shown()
    let asks: ModelPrompt = { messages, settings }
    for (const middleware of this.#list) {
      if (middleware.beforeModel === undefined) continue
      const before = asks
      const at = this.#at('beforeModel', middleware, turn)
      const word = await callMiddleware('beforeModel', middleware, () => middleware.beforeModel!(before, at))
      if (word !== undefined)
        asks = { messages: ownList(word.messages, before.messages), settings: { ...before.settings, ...word.settings } }
    }
    if (asks.messages === messages)
      return asks.settings === settings
        ? undefined
        : { ...asks, content: (sha256) => this.#activation.content(sha256), tokens }
    return {
      ...asks,
      content: (sha256) => new MessagesContent().of(asks.messages, sha256),
      tokens: estimateTokens(asks.messages),
    }
  }

  /** Runs `afterModel`: sets the final answer, or why the model must answer again. */
  async #runAfterModel(turn: TurnView): Promise<void> {
    for (const middleware of this.#list.toReversed()) {
      if (middleware.afterModel === undefined) continue
      const at = this.#at('afterModel', middleware, turn.ctx)
      const before = turn.answer
      const word = await callMiddleware('afterModel', middleware, () => middleware.afterModel!(before, at))
      if (word === undefined) continue
      const words = 'again' in word ? word.again : word.text
      if (typeof words !== 'string')
        throw middlewareError('afterModel', middleware, 'it returned neither a text nor why to ask again')
      if ('again' in word) {
        noteChange(at, 'afterModel', middleware, { again: words })
        turn.again = words
        return
      }
      if (words === before.text) continue
      noteChange(at, 'afterModel', middleware, { text: words })
      // the reasoning belongs to the text before the change
      const { reasoning: _reasoning, ...rest } = before
      turn.answer = { ...rest, text: words }
    }
  }

  /**
   * Runs a call through all middlewares. `run` does the call. The result is its object, or what a middleware replaced
   * it with.
   */
  around<R extends ToolResult>(
    ctx: Context,
    call: ToolCall,
    run: (call: ToolCall) => Promise<R>,
  ): Promise<R | ToolResult> {
    const through = (i: number, passed: ToolCall): Promise<R | ToolResult> => {
      const middleware = this.#list[i]
      if (middleware === undefined) return run(passed)
      return middleware.wrapTool === undefined
        ? through(i + 1, passed)
        : this.#runWrapTool(ctx, middleware, passed, (next) => through(i + 1, next))
    }
    return through(0, call)
  }

  async #runWrapTool<R extends ToolResult>(
    ctx: Context,
    middleware: MiddlewareHooks,
    call: ToolCall,
    next: (call: ToolCall) => Promise<R | ToolResult>,
  ): Promise<R | ToolResult> {
    const at = this.#at('wrapTool', middleware, ctx)
    let last: R | ToolResult | undefined
    let begun: Promise<ToolResult> | undefined
    let inner: unknown
    const done = async (input: Json | undefined): Promise<ToolResult> => {
      try {
        return (last = await next(
          input === undefined ? call : { ...call, input: mustBeJson('wrapTool', middleware, 'the input', input) },
        ))
      } catch (thrown) {
        inner = thrown
        throw thrown
      }
    }
    const run = (input?: Json): Promise<ToolResult> => {
      const result = (begun = done(input))
      result.catch(() => undefined) // handled below, even if the hook does not await it
      return result
    }
    let result: R | ToolResult
    try {
      const given = await callMiddleware('wrapTool', middleware, () => middleware.wrapTool!(call, run, at))
      // an outer middleware must not swallow a failure of an inner one
      if (inner instanceof MiddlewareError || inner instanceof Cancelled) throw inner
      if (given === last && given !== undefined) return given
      if (!isObject(given)) throw middlewareError('wrapTool', middleware, 'it returned no result')
      mustBeJson('wrapTool', middleware, 'the result', given.content)
      result = withOwnFiles(given, last)
    } catch (thrown) {
      if (inner !== undefined || begun === undefined || !(thrown instanceof MiddlewareError)) throw thrown
      // a call that is under way is done, or not, before anything is said of it
      await begun.catch(() => undefined)
      if (last === undefined) throw thrown
      return withheld(at, middleware, call, last, thrown.failure)
    }
    noteChange(at, 'wrapTool', middleware, {
      callId: call.id,
      content: result.content,
      ...(result.isError === true ? { isError: true } : {}),
      ...(result.files === undefined ? {} : { files: result.files }),
    })
    return result
  }

  /** The final outcome. If a hook throws, the outer middlewares receive that failure. */
  async end(given: Outcome): Promise<Outcome> {
    let outcome = given
    for (const middleware of this.#list.toReversed()) {
      if (middleware.after === undefined) continue
      outcome = await this.#runAfter(middleware, outcome).catch((thrown: unknown) => failed(middlewareFailure(thrown)))
    }
    return outcome
  }

  async #runAfter(middleware: MiddlewareHooks, outcome: Outcome): Promise<Outcome> {
    const at = this.#at('after', middleware, this.#activation.ctx)
    const word = await callMiddleware('after', middleware, () => middleware.after!(outcome, at))
    if (word === undefined || word === outcome) return outcome
    mustBeJson('after', middleware, 'the outcome', word as unknown as Json)
    if (word.status === 'completed') mustBeJson('after', middleware, 'the output', word.output)
    noteChange(at, 'after', middleware, { outcome: word as unknown as Json })
    return word
  }

  #at(hook: Hook, { name }: MiddlewareHooks, ctx: Context): Moment {
    const activation = this.#activation
    const { agent, turn, action } = activation
    return {
      agent,
      ctx: agentContext(ctx.scope(hookScope(hook, name))),
      brief: this.#brief,
      turn,
      get messages() {
        return activation.shown()
      },
      values: this.#values,
      ...present({ action }),
    }
  }
}

/**
 * The result of a call that was made, and that its middleware then failed to show. What was done stays done; but what a
 * middleware may have meant to take out of the result is not shown.
 */
function withheld(
  at: Moment,
  { name }: MiddlewareHooks,
  call: ToolCall,
  { isError }: ToolResult,
  failure: Failure,
): ToolResult & { readonly isWithheld: true } {
  const is = isError === true ? 'did not succeed' : 'is done'
  const content = `[this call of "${call.name}" ${is}. Its result is withheld: the middleware "${name}" failed afterwards]`
  const change = { callId: call.id, content, ...(isError === true ? { isError: true } : {}) }
  const data = { middleware: name, hook: 'wrapTool', ...change, failure: failure as unknown as Json }
  at.ctx.emit({ type: 'fact.noted', name: 'middleware.changed', data })
  return isError === true ? { content, isError, isWithheld: true } : { content, isWithheld: true }
}

/** What a middleware shows of files: those of the call, or others that are taken as those of a tool are. */
function withOwnFiles<R extends ToolResult>(given: R | ToolResult, last: ToolResult | undefined): R | ToolResult {
  if (given.files === undefined || given.files === last?.files) return given
  const { files, left } = takenFiles(given.files)
  return { ...given, content: withLines(given.content, left), files }
}

/** What a hook returned as a list that it cannot change later; the one before if it returned that, or nothing. */
const ownList = (given: readonly Message[] | undefined, before: readonly Message[]): readonly Message[] =>
  given === undefined || given === before ? before : [...given]

async function callMiddleware<T>(
  hook: Hook,
  middleware: MiddlewareHooks,
  ask: () => T,
): Promise<Exclude<Awaited<T>, void> | undefined> {
  try {
    return ((await ask()) ?? undefined) as Exclude<Awaited<T>, void> | undefined
  } catch (thrown) {
    if (thrown instanceof Cancelled || thrown instanceof MiddlewareError) throw thrown
    const what = failureFrom(thrown, 'middleware.failed')
    const message =
      what.code === 'middleware.failed'
        ? `the middleware "${middleware.name}" failed in ${hook}: ${messageOf(thrown)}`
        : what.message
    const details = { ...what.details, middleware: middleware.name, hook }
    throw new MiddlewareError({
      ...what,
      ...(what.code === 'middleware.failed' ? { class: 'internal', retryable: false } : {}),
      message,
      details,
    })
  }
}

const middlewareError = (hook: Hook, { name }: MiddlewareHooks, problem: string): MiddlewareError =>
  new MiddlewareError(
    failure('middleware.failed', `the middleware "${name}" failed in ${hook}: ${problem}`, 'internal', {
      details: { middleware: name, hook },
    }),
  )

/** What a middleware returns must be JSON. */
function mustBeJson(hook: Hook, middleware: MiddlewareHooks, what: string, value: Json): Json {
  const problem = value === undefined ? `${what} is missing` : jsonProblem(value, what)
  if (problem !== undefined) throw middlewareError(hook, middleware, problem)
  return value
}

/** Records a change by a middleware, because the journal holds what the model and the tools said before it. */
const noteChange = (at: Moment, hook: Hook, { name }: MiddlewareHooks, change: JsonObject): void =>
  at.ctx.emit({ type: 'fact.noted', name: 'middleware.changed', data: { middleware: name, hook, ...change } })

class ActivationValues implements MomentValues {
  readonly #kept = new Map<string, Json>()

  get(key: string): Json | undefined {
    return this.#kept.get(key)
  }

  set(key: string, value: Json): void {
    const problem = jsonProblem(value, `the value "${key}"`)
    if (problem !== undefined) throw new ReeveError('input.not-json', problem)
    this.#kept.set(key, deepFreeze(copy(value)))
  }

  delete(key: string): boolean {
    return this.#kept.delete(key)
  }
}
