/**
 * Part origin: the agent and path of live parts.
 *
 * Owns: the agent and path of each activation with parts, which of them hold the control of the run, the filter of a
 * reader. Does not own: the parts (live-parts.ts), following a run (run-feed.ts), messages
 * (journal/views/transcript.ts).
 * Holds: K9: one map for each reader, extended by the process that shows a part, else from the journal for unknown
 * activations; no agent waits for it.
 */
import { isToolOf, streamPartOf, type ActivationId, type RunId, type StreamPart } from '../../core/index.ts'
import type { Engine, LivePart, PartAuthor } from '../../engine/index.ts'
import { RunIndex, type IndexChange, type IndexedActivation, type Recorded } from '../../journal/index.ts'

/** A live part with its agent and path. */
export interface RunPart extends LivePart {
  readonly part: StreamPart
  /**
   * The agent. A tool with an activation of its own is named `<agent>.<tool>`. Empty for parts without one, such as
   * `parts.dropped`.
   */
  readonly agent: string
  /** The names of the agents from the root to this one. Empty for parts without an agent. */
  readonly path: readonly string[]
}

/** The filter of a reader; all given conditions must hold. */
export interface OriginFilter {
  readonly path?: readonly string[] | undefined
  readonly agent?: string | undefined
  /** Only agents that hold the control of the run. */
  readonly control?: boolean
}

interface Origin {
  readonly indexed: IndexedActivation
  /** The root, and agents that received control from it; not workers of calls or of code, nor those below them. */
  readonly holds: boolean
  /** At the wanted path, or below it. */
  readonly within: boolean
}

/** The activations of one run as one reader of its parts knows them. */
export class PartOrigins {
  readonly #engine: Engine
  readonly #run: RunId
  readonly #filter: OriginFilter
  readonly #index = new RunIndex()
  /** Those whose beginning was read. */
  readonly #known = new Map<ActivationId, Origin>()
  /** Those whose parts this process shows itself: for a reader without a filter, nothing has to be read. */
  readonly #heard = new Map<ActivationId, PartAuthor>()
  /** Whether every part is wanted, so that a part whose author is told needs nothing else. */
  readonly takesAll: boolean

  constructor(engine: Engine, run: RunId, wanted: OriginFilter) {
    this.#engine = engine
    this.#run = run
    this.#filter = wanted
    this.takesAll = wanted.path === undefined && wanted.agent === undefined && wanted.control !== true
  }

  /** A part comes from the process that shows it, which knows whose it is. */
  hear({ activation }: LivePart, author: PartAuthor): void {
    if (this.takesAll && !this.#heard.has(activation)) this.#heard.set(activation, author)
  }

  /** Whether the agent of the part is known. If not, `readOn` reads it from the journal. */
  knows({ activation, address }: LivePart): boolean {
    return address === '' || this.#heard.has(activation) || this.#known.has(activation)
  }

  /** The part with its agent and path; undefined if the filter excludes it. */
  place(part: LivePart): RunPart | undefined {
    if (part.address === '') return unplaced(part)
    const heard = this.#heard.get(part.activation)
    if (heard !== undefined) return partOf(part, heard.agent, heard.path)
    const placed = this.#known.get(part.activation)
    if (!this.#wants(placed)) return undefined
    return placed === undefined ? unplaced(part) : partOf(part, placed.indexed.agent, placed.indexed.path)
  }

  #wants(placed: Origin | undefined): boolean {
    const { path, agent, control = false } = this.#filter
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

  /** Whether the filter includes this activation. */
  isWanted(activation: ActivationId): boolean {
    return this.#wants(this.#known.get(activation))
  }

  #placed(indexed: IndexedActivation): Origin {
    const above = indexed.parent === undefined ? undefined : this.#known.get(indexed.parent)
    return {
      indexed,
      // in a child run, its root holds control
      holds: above === undefined || (indexed.isHandedControl && above.holds),
      within: above?.within === true || isSame(indexed.path, this.#filter.path ?? []),
    }
  }
}

/** A part without a known agent. */
const unplaced = (part: LivePart): RunPart => partOf(part, '', [])

/** The part as this agent's. Copies member by member: parts are frequent, and a spread takes several times as long. */
export function partOf(live: LivePart, agent: string, path: readonly string[]): RunPart {
  const { activation, address, epoch, attempt, offset } = live
  const part = streamPartOf(live)
  return offset === undefined
    ? { activation, address, epoch, attempt, part, agent, path }
    : { activation, address, epoch, attempt, offset, part, agent, path }
}

const isSame = (path: readonly string[], other: readonly string[]): boolean =>
  path.length === other.length && path.every((name, i) => name === other[i])
