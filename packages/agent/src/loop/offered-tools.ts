/**
 * Offered tools: what a model is offered of a toolbox in a turn.
 *
 * Owns: which tools permissions take out, which tools of a provider are withheld because a person would have to be asked
 * about their calls. Does not own: the toolbox (../tool/binding.ts), the approval of a call (../approval).
 * Holds: K3: the mode of oversight is read by recorded steps, and only where a tool of a provider stands in the toolbox.
 */
import { failure } from '@reeve/core'
import { allowsTool, denies, needsApproval } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { answerShape } from '@reeve/journal'
import type { ToolSpec } from '@reeve/model'
import { currentMode, gateOf } from '@reeve/oversight'
import type { ConversationState } from '../conversation/conversation-state.ts'
import { fixedToolbox, type Toolbox } from '../tool/binding.ts'

const noTools = fixedToolbox([])

/**
 * The tools that the model is offered, without those that the edge forbids. The same list again while nothing changes.
 */
export function offeredTools(
  specs: readonly ToolSpec[],
  state: ConversationState,
  isVerb?: (name: string) => boolean,
): readonly ToolSpec[] {
  const { permissions } = state.edge.bounds
  if (permissions === undefined || (permissions.tools === undefined && permissions.deny === undefined)) return specs
  return specs.filter(({ name }) =>
    isVerb?.(name) === true ? !denies(permissions, name) : allowsTool(permissions, name),
  )
}

/** The tools offered in each turn. The same list again while nothing changes. */
export class OfferedTools {
  toolbox: Toolbox
  readonly #state: ConversationState
  #known: Toolbox['specs'] | undefined
  #specs: Toolbox['specs'] = []
  /** Tools of a provider that are not offered in this turn. */
  #withheld: ReadonlySet<string> = new Set()
  /** Those that the journal has said so of. */
  readonly #told = new Set<string>()

  /** Whether this is one of Reeve's own verbs. */
  readonly #isVerb = (name: string): boolean => this.toolbox.find(name)?.verb === true
  /** What of an answer is structure. */
  readonly answerShape = answerShape(this.#isVerb)

  constructor(state: ConversationState, toolbox: Toolbox) {
    this.#state = state
    this.toolbox = toolbox
  }

  get specs(): Toolbox['specs'] {
    const { specs } = this.toolbox
    if (specs !== this.#known) {
      this.#known = specs
      const offered = offeredTools(specs, this.#state, this.#isVerb)
      this.#specs = this.#withheld.size === 0 ? offered : offered.filter(({ name }) => !this.#withheld.has(name))
    }
    return this.#specs
  }

  /** Offers no tools from now on. */
  nothing(): void {
    this.toolbox = noTools
  }

  /**
   * Withholds the tools of a provider about whose calls a person would have to be asked: a provider runs them inside the
   * call of the model, so nobody can be. Undefined: there are none, and nothing is waited for.
   */
  withhold(turn: Context): Promise<void> | undefined {
    const provided = this.toolbox.specs.filter(({ provider }) => provider !== undefined)
    return provided.length === 0 ? undefined : this.#withhold(turn, provided)
  }

  async #withhold(turn: Context, provided: readonly ToolSpec[]): Promise<void> {
    const { permissions } = this.#state.edge.bounds
    const oversight = this.#state.edge.oversight?.policy
    const mode = oversight === undefined ? undefined : await currentMode(turn, oversight)
    const withheld = new Map<string, string>()
    for (const { name, description } of provided) {
      if (!allowsTool(permissions, name)) continue
      if (needsApproval(permissions, name)) withheld.set(name, 'the leader requires an approval for every call of it')
      else if (gateOf(oversight, { action: name, sensitive: false, description, always: false }, mode).asks)
        withheld.set(name, 'oversight asks about every call of it')
    }
    const isSame =
      withheld.size === this.#withheld.size && [...withheld.keys()].every((name) => this.#withheld.has(name))
    if (!isSame) this.#known = undefined
    this.#withheld = new Set(withheld.keys())
    for (const [name, why] of withheld) {
      if (this.#told.has(name)) continue
      this.#told.add(name)
      const message = `"${name}" is not offered: ${why}, and its provider runs it where nobody can be asked`
      turn.emit({ type: 'tool.refused', tool: name, failure: failure('permission.denied', message, 'policy') })
    }
  }
}
