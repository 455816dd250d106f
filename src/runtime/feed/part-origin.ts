/**
 * Placing: whose a live part is.
 *
 * Owns: the agent and the path of each activation that has shown something, who of them holds the control of the run,
 * which of them a reader wants. Does not own: the parts themselves (live-parts.ts), following a run (run-feed.ts), what
 * is said in messages (journal/views/transcript.ts).
 * K9: one map per reader, read on from the journal only for an activation that is not in it; whoever shows something
 * waits for none of this.
 */
import { isToolOf, type ActivationId, type RunId } from '../../core/index.ts'
import type { Engine, LivePart } from '../../engine/index.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type Recorded } from '../../journal/index.ts'

/** A live part and whose it is. */
export interface RunPart extends LivePart {
  /**
   * Who shows it. A tool that is an activation of its own is called `<agent>.<tool>`. Empty: nobody, as for
   * `parts.dropped`.
   */
  readonly agent: string
  /** Agents' names from the root to this one. Empty: nobody's. */
  readonly path: readonly string[]
}

/** Whose parts are wanted; of several wishes all must hold. */
export interface Wanted {
  readonly path?: readonly string[] | undefined
  readonly agent?: string | undefined
  /** Only of those who hold the control of the run. */
  readonly control?: boolean
}

interface Placed {
  readonly indexed: IndexedActivation
  /**
   * The root, and whoever was handed control from there: all but those who work for a call or for code that delegates,
   * and those below them.
   */
  readonly holds: boolean
  /** It works at the wanted path or below somebody who does. */
  readonly within: boolean
}

/** The activations of one run as one reader of its parts knows them. */
export class Placing {
  readonly #engine: Engine
  readonly #run: RunId
  readonly #wanted: Wanted
  readonly #index = new RunIndex()
  /** Those whose beginning was read. */
  readonly #known = new Map<ActivationId, Placed>()

  constructor(engine: Engine, run: RunId, wanted: Wanted) {
    this.#engine = engine
    this.#run = run
    this.#wanted = wanted
  }

  /** Whether it is known whose it is. If not, the journal tells: `readOn`. */
  knows({ activation, address }: LivePart): boolean {
    return address === '' || this.#known.has(activation)
  }

  /** The part with whose it is; undefined if it is not wanted. */
  place(part: LivePart): RunPart | undefined {
    if (part.address === '') return nobodys(part)
    const placed = this.#known.get(part.activation)
    if (!this.#wants(placed)) return undefined
    return placed === undefined ? nobodys(part) : partOf(part, placed.indexed.agent, placed.indexed.path)
  }

  #wants(placed: Placed | undefined): boolean {
    const { path, agent, control = false } = this.#wanted
    if (path !== undefined && placed?.within !== true) return false
    const name = placed?.indexed.agent
    if (agent !== undefined && name !== agent && !isToolOf(name ?? '', agent)) return false
    return !control || placed?.holds === true
  }

  async readOn(): Promise<void> {
    for (const recorded of await this.#engine.read(this.#run, this.#index.position)) this.note(recorded)
  }

  /** The index of the events that were read. */
  get index(): RunIndex {
    return this.#index
  }

  /** Takes the next event in. Undefined: it was taken in before. */
  note(recorded: Recorded): IndexChange | undefined {
    const change = this.#index.take(recorded)
    if (recorded.event.type === 'activation.started' && change?.here !== undefined)
      this.#known.set(change.here.id, this.#placed(change.here))
    return change
  }

  /** Whether what this activation says is wanted. */
  isWanted(activation: ActivationId): boolean {
    return this.#wants(this.#known.get(activation))
  }

  #placed(indexed: IndexedActivation): Placed {
    const above = indexed.parent === undefined ? undefined : this.#known.get(indexed.parent)
    return {
      indexed,
      // of a run that is a worker placed apart, its root speaks
      holds: above === undefined || (indexed.isHandedControl && above.holds),
      within: above?.within === true || isSame(indexed.path, this.#wanted.path ?? []),
    }
  }
}

/** What stands for parts of several, or of somebody of whom nothing is recorded. */
const nobodys = (part: LivePart): RunPart => partOf(part, '', [])

/** Member by member: there are very many parts, and a spread takes several times as long. */
const partOf = (
  { activation, address, epoch, attempt, offset, part }: LivePart,
  agent: string,
  path: readonly string[],
): RunPart =>
  offset === undefined
    ? { activation, address, epoch, attempt, part, agent, path }
    : { activation, address, epoch, attempt, offset, part, agent, path }

const isSame = (path: readonly string[], other: readonly string[]): boolean =>
  path.length === other.length && path.every((name, i) => name === other[i])
