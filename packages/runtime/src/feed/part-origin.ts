/**
 * Part origin: the agent and path of live parts.
 *
 * Owns: the agent and path of each activation with parts, which of them hold the control of the run, the filter of a
 * reader. Does not own: the parts (live-parts.ts), following a run (run-feed.ts), messages
 * (journal/views/transcript.ts).
 * Holds: K9: one map for each reader, extended by the process that shows a part, else from the journal for unknown
 * activations; no agent waits for it.
 */
import { isToolOf, streamPartOf, type ActivationId, type RunId, type StreamPart } from '@reeve/core'
import type { Engine, LivePart, PartAuthor } from '@reeve/engine'
import { holdsControl, RunIndex, type IndexChange, type IndexedActivation, type Recorded } from '@reeve/journal'
import { stepKey } from './live-parts.ts'
import { foldsOf, viewFold } from './run-folds.ts'

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

/** The activations of one run as one reader of its parts knows them. */
export class PartOrigins {
  readonly #engine: Engine
  readonly #run: RunId
  readonly #filter: OriginFilter
  /** Of the events that this reader has noted. */
  readonly #index = new RunIndex()
  /** That of all who look at the run, as it was when it was last needed. */
  #shared: RunIndex | undefined
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
  knows({ activation, address }: Pick<LivePart, 'activation' | 'address'>): boolean {
    return address === '' || this.#heard.has(activation) || this.#indexed(activation) !== undefined
  }

  /** The part with its agent and path; undefined if the filter excludes it. */
  place(part: LivePart): RunPart | undefined {
    if (part.address === '') return unplaced(part)
    const heard = this.#heard.get(part.activation)
    if (heard !== undefined) return partOf(part, heard.agent, heard.path)
    const indexed = this.#indexed(part.activation)
    if (!this.#wants(indexed)) return undefined
    return indexed === undefined ? unplaced(part) : partOf(part, indexed.agent, indexed.path)
  }

  #indexed(id: ActivationId): IndexedActivation | undefined {
    return this.#index.activations.get(id) ?? this.#shared?.activations.get(id)
  }

  #wants(indexed: IndexedActivation | undefined): boolean {
    const { path, agent, control = false } = this.#filter
    if (path !== undefined && (indexed === undefined || !this.#isWithin(indexed, path))) return false
    const name = indexed?.agent
    if (agent !== undefined && name !== agent && !isToolOf(name ?? '', agent)) return false
    return !control || (indexed !== undefined && holdsControl((id) => this.#indexed(id), indexed))
  }

  /** At this path, or below it. */
  #isWithin(indexed: IndexedActivation, path: readonly string[]): boolean {
    const above = indexed.parent === undefined ? undefined : this.#indexed(indexed.parent)
    return isSame(indexed.path, path) || (above !== undefined && this.#isWithin(above, path))
  }

  /** Reads what the journal says by now, together with all who look at the run. */
  async readOn(): Promise<void> {
    this.#shared = (await foldsOf(this.#engine).of(viewFold, this.#run)).fold.index
  }

  /** The steps that are open and have begun up to a position. */
  async openAt(from: number): Promise<readonly string[]> {
    await this.readOn()
    return [...this.#shared!.activations.values()].flatMap(({ id, open }) =>
      [...open.values()].flatMap(({ event, position }) =>
        event.op === 'step' && position <= from ? [stepKey(id, event.address)] : [],
      ),
    )
  }

  /** The index of the events that were noted. */
  get index(): RunIndex {
    return this.#index
  }

  /** Takes the next event in. Undefined: it was taken in before. */
  note(recorded: Recorded): IndexChange | undefined {
    return this.#index.take(recorded)
  }

  /** Whether the filter includes this activation. */
  isWanted(activation: ActivationId): boolean {
    return this.#wants(this.#indexed(activation))
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
