/**
 * Handoff context: how code takes part in a conversation of several agents: the history, what it says, and where
 * control goes when it ends.
 *
 * Owns: the third argument of a code agent's `run`, and the values it may return instead of an output. Does not own:
 * which agent is next (flow), how a model agent hands control on (transfer-tool.ts). Ends are returned values, so no
 * code can run after one.
 */
import type { Context } from '@reeve/engine'
import {
  asText,
  copy,
  described,
  optionProblems,
  present,
  ReeveError,
  refuseProblems,
  unchecked,
  type Action,
  type Checks,
  type HistoryEntry,
  type Json,
  type HandoffRecord,
} from '@reeve/core'
import { entriesOf, mayRead, type Candidate, type Edge } from '@reeve/edge'

/** The conversation of a code agent. */
export interface HandoffContext {
  /** Everything said before, oldest first. Entries without `agent` came from outside. */
  readonly history: readonly HistoryEntry[]
  /** The agents that control may be handed to from here. */
  readonly candidates: readonly Candidate[]
  /** Says something before the answer. The next agents see it, even if the code fails afterwards. Recorded once. */
  say(text: string): void
}

/** An end of a code agent other than a plain output. Made by `transferTo`, `exit` and `breakLoop`. */
export class CodeEnd<out O = unknown> {
  readonly output: Json
  readonly action:
    | { readonly type: 'transfer'; readonly to: string; readonly task?: string }
    | Extract<Action, { type: 'exit' }>
    | undefined
  readonly breaks: boolean
  /** The name of the human who gave the output. */
  readonly by: string | undefined
  /** For types only: the output of the agent. */
  readonly answers?: O

  constructor(output: Json, action: CodeEnd['action'], breaks = false, by?: string) {
    this.output = output
    this.action = action
    this.breaks = breaks
    this.by = by
  }
}

const handedOn: Checks<{ task: unknown; output: unknown }> = { task: unchecked, output: unchecked }

/**
 * Hands control to another agent of the same router, given by name or as the agent. `task`: its task. `output`: said
 * before the transfer. Throws `input.invalid` for a missing name or unknown options.
 */
export function transferTo(
  agent: string | { readonly kind: 'agent'; readonly name: string },
  options: { readonly task?: string; readonly output?: Json } = {},
): CodeEnd<never> {
  const to: unknown = typeof agent === 'object' && agent !== null && agent.kind === 'agent' ? agent.name : agent
  if (typeof to !== 'string' || to === '')
    throw new ReeveError('input.invalid', `transferTo() takes the name of an agent, not ${described(agent)}`)
  refuseProblems('input.invalid', optionProblems(handedOn, options, 'transferTo'))
  const { task, output = null } = options
  return new CodeEnd(output, { type: 'transfer', to, ...present({ task }) })
}

/** Ends with this output. `by`: the name of the person who gave it, if known. */
export const answerBy = (output: Json, by: string | undefined): CodeEnd => new CodeEnd(output, undefined, false, by)

/**
 * Ends the run with this output. With `supervisor`, ends only the work under the nearest router or round table. Never
 * leaves an agent called as a tool or by delegation.
 */
export const exit = <O>(output: O, scope: 'run' | 'supervisor' = 'run'): CodeEnd<O> =>
  new CodeEnd(output as Json, { type: 'exit', scope })

/** Ends with this output and asks the nearest loop to end. Outside a loop only the output counts. */
export const breakLoop = <O>(output: O): CodeEnd<O> => new CodeEnd(output as Json, undefined, true)

/** The handoff context of one activation. */
export class ActivationHandoffs implements HandoffContext {
  readonly candidates: readonly Candidate[]
  readonly #agent: string
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #said: HistoryEntry[] = []

  constructor(agent: string, ctx: Context, edge: Edge) {
    this.#agent = agent
    this.#ctx = ctx
    this.#edge = edge
    this.candidates = edge.flow?.to ?? []
  }

  get history(): readonly HistoryEntry[] {
    const entries = entriesOf(this.#edge).filter((entry) => mayRead(this.#agent, entry))
    return copy(entries as unknown as Json) as unknown as readonly HistoryEntry[]
  }

  readonly say = (text: string): void => {
    this.#ctx.emit({ type: 'text.said', text })
    this.#add(text)
  }

  /** The handoff record, including the answer. Records an exit or a break in the journal. */
  record(output: Json, end: CodeEnd | undefined): HandoffRecord {
    const action = end?.action
    const text = output === null ? '' : asText(output)
    // an agent that hands control on has no answer that records its text
    if (action?.type === 'transfer' && text !== '') this.say(text)
    else if (text !== '') this.#add(text, true)
    if (action?.type === 'exit') this.#ctx.emit({ type: 'exit.requested', scope: action.scope })
    if (end?.breaks === true) this.#ctx.emit({ type: 'break.requested' })
    return {
      said: this.#said,
      ...(action === undefined
        ? undefined
        : { action: action.type === 'exit' ? action : { ...action, path: this.#ctx.place.path } }),
      ...(end?.breaks === true ? { breaks: this.#agent } : undefined),
    }
  }

  #add(content: string, isAnswer = false): void {
    this.#said.push({
      agent: this.#agent,
      message: { role: 'assistant', content },
      ...(isAnswer ? { answer: true } : undefined),
    })
  }
}
