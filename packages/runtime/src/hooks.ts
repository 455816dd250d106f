/**
 * Hooks: the functions of a runtime that a start may name, so that a run has them in every process that drives it.
 *
 * Owns: what may be registered, what is wrong with the names that a start gives, the layer by which the code of a run
 * finds them. Does not own: what is recorded of them (../edge/hooks.ts), when they are asked.
 */
import { completionChecks, type Agent, type StartHookKind } from '@reeve/agent'
import {
  choice,
  described,
  functionCheck,
  isName,
  meantInstead,
  nameForm,
  object,
  own,
  recordOf,
  twiceIn,
  type Check,
  type Checks,
  type Rule,
} from '@reeve/core'
import type { Layer, StartCompletion, StartDelegation, StartHooks } from '@reeve/edge'
import { ContextView, type Context } from '@reeve/engine'
import type { RootContext } from './session.ts'

/**
 * Functions by name, for starts that name them: of the forms of `onStart`, `filterMessages` and `onComplete`
 * (`DelegationHooks`), `onIterationComplete` (`OnIterationComplete`), scorers (`ScorerFunction`), `onScored`, and
 * `context` (`ContextHook`). Every process that drives runs needs the same ones: one that is missing there fails when
 * it is asked, as a hook that throws.
 */
export interface Hooks {
  readonly [name: string]: (moment: never, io: never) => unknown
}

/** How the code of a run finds a hook, or an agent that measures. */
export type FindHook = (name: string) => unknown

/** Words that `context` of a start has for itself. */
const reservedNames: ReadonlySet<string> = new Set<RootContext>(['brief', 'conversation'])

/** The check of the hooks of a runtime. */
export const registeredCheck = recordOf(functionCheck, 'functions by name', (name, where) =>
  isName(name) && !reservedNames.has(name)
    ? undefined
    : `${where}: "${name}" is no name for a hook, expected ${nameForm}, and not ${[...reservedNames].join(' or ')}`,
)

/** What of a start is hooks. */
export interface Started extends StartHooks {
  readonly context?: RootContext
}

/** The name of a hook, or of something else that is found by a name. */
const hookName =
  (hooks: Hooks, isOther: (name: string) => boolean = () => false): Check =>
  (given, where) => {
    if (typeof given === 'function')
      return [
        `${where} is a function, expected the name of one: a function does not outlive its process. Give it to createRuntime({ hooks: { name: … } }), and its name here`,
      ]
    if (typeof given !== 'string') return [`${where} is ${described(given)}, expected the name of a hook`]
    return own(hooks, given) !== undefined || isOther(given)
      ? []
      : [
          `${where} names "${given}", which no hook is called that this runtime has${meantInstead(given, Object.keys(hooks), 'it has')}. Give it to createRuntime({ hooks })`,
        ]
  }

/** The checks of what of a start is hooks. */
export function startHookChecks(hooks: Hooks, find: (name: string) => Agent | undefined): Checks<Started> {
  const named = hookName(hooks)
  return {
    delegation: object<StartDelegation>({
      onStart: named,
      filterMessages: named,
      onComplete: named,
      hookErrors: choice('strict', 'lenient'),
    }),
    onIterationComplete: named,
    isComplete: object<StartCompletion>(
      { ...completionChecks(hookName(hooks, (name) => find(name) !== undefined)), onScored: named },
      ({ scorers }, where) => twiceIn(Array.isArray(scorers) ? scorers : [], where, 'scorers'),
    ),
    context: hookName(hooks, (name) => reservedNames.has(name)),
  }
}

/** What of it means nothing to this agent. */
export const startHookRule =
  (agent: Agent): Rule<Started> =>
  (given, where) => {
    const unusedHook = (kind: StartHookKind, option: keyof Started, who: string): string | false =>
      given[option] !== undefined &&
      agent.hooked?.includes(kind) !== true &&
      `${where}: ${option} is for ${who}, and "${agent.name}" is none`
    return [
      unusedHook('delegation', 'delegation', 'agents that delegate'),
      unusedHook('turns', 'onIterationComplete', 'agents that think with a model'),
      unusedHook('turns', 'isComplete', 'agents that think with a model'),
    ]
  }

/** Agents that a start lets measure: their models are paid for, too. */
export const measuringAgents = (
  { isComplete }: StartHooks,
  hooks: Hooks,
  find: (name: string) => Agent | undefined,
): readonly Agent[] =>
  (isComplete?.scorers ?? []).flatMap((name) => (own(hooks, name) === undefined ? (find(name) ?? []) : []))

/** What a name stands for in the code of a run. */
export const findHook =
  (hooks: Hooks, find: (name: string) => Agent | undefined): FindHook =>
  (name) =>
    own(hooks, name) ?? find(name)

/** The work finds the hooks that its edge names. */
export const hooksLayer =
  (find: FindHook | undefined): Layer =>
  (next) =>
    find === undefined
      ? next
      : (ctx, edge) => {
          const { hooks, extras } = edge.run
          const isAsked = hooks !== undefined || extras?.['context'] !== undefined
          return next(isAsked ? new HookedContext(ctx, find) : ctx, edge)
        }

class HookedContext extends ContextView {
  readonly #find: FindHook

  constructor(ctx: Context, find: FindHook) {
    super(ctx)
    this.#find = find
  }

  protected of(ctx: Context): Context {
    return new HookedContext(ctx, this.#find)
  }

  override hook(name: string): unknown {
    return this.#find(name)
  }
}
