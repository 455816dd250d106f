/**
 * Hooks: the functions of a runtime that a start may name, so that a run has them in every process that drives it.
 *
 * Owns: what may be registered, what is wrong with the names that a start gives, the layer by which the code of a run
 * finds them. Does not own: what is recorded of them (../edge/hooks.ts), when they are asked.
 */
import { completionProblems, isName, type Agent, type StartHookKind } from '../agent/index.ts'
import { described, hasNames, meantInstead, own, unknownNames, type NamesOf } from '../core/index.ts'
import type { Edge, Layer, StartDelegation, StartHooks } from '../edge/index.ts'
import { ContextView, type Context } from '../engine/index.ts'
import { extrasIn, type RootContext } from './session.ts'

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
const taken: ReadonlySet<RootContext> = new Set(['brief', 'conversation'])

/** What is wrong with the hooks of a runtime, one sentence each. */
export function registeredProblems(given: unknown, where: string): string[] {
  if (given === undefined) return []
  if (!hasNames(given)) return [`${where} is ${described(given)}, expected functions by name`]
  return Object.entries(given).flatMap(([name, hook]) => [
    ...(isName(name) && !taken.has(name)
      ? []
      : [
          `${where}: "${name}" is no name for a hook: a letter or "_", then up to 63 letters, digits, "_" or "-", and not ${[...taken].join(' or ')}`,
        ]),
    ...(typeof hook === 'function' ? [] : [`${where}.${name} is ${described(hook)}, expected a function`]),
  ])
}

/** What of a start is hooks. */
export interface Started extends StartHooks {
  readonly context?: RootContext
}

const delegationNames: NamesOf<StartDelegation> = {
  onStart: true,
  filterMessages: true,
  onComplete: true,
  hookErrors: true,
}

/** What is wrong with the hooks of a start of this agent, one sentence each. */
export function startHookProblems(
  given: Started,
  agent: Agent,
  hooks: Hooks,
  find: (name: string) => Agent | undefined,
): string[] {
  const { delegation, onIterationComplete, isComplete, context } = given
  const known = Object.keys(hooks)
  const problemOf = (option: string, name: unknown): string[] => {
    if (typeof name === 'function')
      return [
        `start: ${option} is a function, expected the name of one: a function does not outlive its process. Give it to createRuntime({ hooks: { name: … } }), and its name here`,
      ]
    if (typeof name !== 'string') return [`start: ${option} is ${described(name)}, expected the name of a hook`]
    return own(hooks, name) === undefined
      ? [
          `start: ${option} names "${name}", which no hook is called that this runtime has${meantInstead(name, known, 'it has')}. Give it to createRuntime({ hooks })`,
        ]
      : []
  }
  const named = (options: { readonly [option: string]: unknown }): string[] =>
    Object.entries(options).flatMap(([option, name]) => (name === undefined ? [] : problemOf(option, name)))
  const unheard = (kind: StartHookKind, option: string, who: string): string[] =>
    agent.hooked?.includes(kind) === true ? [] : [`start: ${option} is for ${who}, and "${agent.name}" is none`]
  const scorers: readonly unknown[] =
    hasNames(isComplete) && Array.isArray(isComplete.scorers) ? isComplete.scorers : []
  return [
    ...(delegation === undefined ? [] : unheard('delegation', 'delegation', 'agents that delegate')),
    ...(delegation === undefined ? [] : unknownNames(delegation, delegationNames, 'start: delegation')),
    ...(hasNames(delegation) ? delegationHookProblems(delegation, named) : []),
    ...(onIterationComplete === undefined
      ? []
      : unheard('turns', 'onIterationComplete', 'agents that think with a model')),
    ...named({ onIterationComplete }),
    ...(isComplete === undefined ? [] : unheard('turns', 'isComplete', 'agents that think with a model')),
    ...scorers.flatMap((name, i) =>
      typeof name === 'string' && find(name) !== undefined ? [] : problemOf(`isComplete.scorers[${i}]`, name),
    ),
    ...(hasNames(isComplete) ? named({ 'isComplete.onScored': isComplete.onScored }) : []),
    ...completionProblems(completionLike(isComplete), 'start'),
    ...(context === undefined || (taken.has(context) && typeof context === 'string')
      ? []
      : problemOf('context', context)),
  ]
}

function delegationHookProblems(
  { onStart, filterMessages, onComplete, hookErrors }: StartDelegation,
  named: (options: { readonly [option: string]: unknown }) => string[],
): string[] {
  return [
    ...named({
      'delegation.onStart': onStart,
      'delegation.filterMessages': filterMessages,
      'delegation.onComplete': onComplete,
    }),
    ...(hookErrors === undefined || hookErrors === 'strict' || hookErrors === 'lenient'
      ? []
      : [`start: delegation.hookErrors is ${JSON.stringify(hookErrors)}, expected "strict" or "lenient"`]),
  ]
}

/** With functions in the place of names, for everything else that may be wrong with it. */
function completionLike(given: unknown): Parameters<typeof completionProblems>[0] {
  if (!hasNames(given)) return given as undefined
  const { scorers, onScored: _onScored, ...rest } = given as { readonly scorers?: unknown; readonly onScored?: unknown }
  const score = (): boolean => true
  const list = Array.isArray(scorers)
    ? scorers.map((name: unknown) => ({ name: typeof name === 'string' ? name : 'a', score }))
    : scorers
  return { ...rest, scorers: list } as never
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
    find === undefined ? next : (ctx, edge) => next(namesHooks(edge) ? new HookedContext(ctx, find) : ctx, edge)

const namesHooks = ({ run }: Edge): boolean => run.hooks !== undefined || extrasIn(run).context !== undefined

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
