/**
 * Woven feeds: the journal of a run with those of its child runs, in one order.
 *
 * Owns: which runs those are, and the order, of journals that are there and of journals that are still read. Does not
 * own: reading them (the engine, whoever follows a run), what is made of the whole (fold.ts, fork.ts). Pure. The order
 * is a possible one: the events of a child run that has ended stand before its end in the leader's feed.
 */
import { childActivation, rootActivation, runOf, type RunId } from '@reeve/core'
import type { Recorded } from '../events/events.ts'

/** The child run that an event of its leader begins or ends. Undefined: none. */
function childRunOf({ activation, event }: Recorded): { readonly run: RunId; readonly isOver: boolean } | undefined {
  if (event.type !== 'worker.started' && event.type !== 'worker.settled') return undefined
  if (event.apart !== true || (event.type === 'worker.started' && event.refused !== undefined)) return undefined
  return { run: runOf(childActivation(activation, event.address, true)), isOver: event.type === 'worker.settled' }
}

/** The child runs that are begun in this feed. */
export const childRunsIn = (feed: Iterable<Recorded>): readonly RunId[] =>
  [...feed].flatMap((recorded) => {
    const child = childRunOf(recorded)
    return child === undefined || child.isOver ? [] : [child.run]
  })

/**
 * A run and its child runs while they are read: which there are, how far each was read, and their one order. Events of
 * child runs have positions between those of the run itself, in the order in which they are taken in.
 */
export class WovenReading {
  readonly root: RunId
  /** Position of the last event read of each run, in the order in which they began. */
  readonly #read: Map<RunId, number>
  readonly #over = new Set<RunId>()
  #last = 0

  constructor(root: RunId) {
    this.root = root
    this.#read = new Map([[root, 0]])
  }

  /** The run, then its child runs. One that is found while this is walked through follows. */
  runs(): IterableIterator<RunId> {
    return this.#read.keys()
  }

  /** Position of the last event read of this run; 0: none. */
  positionOf(run: RunId): number {
    return this.#read.get(run) ?? 0
  }

  /** Whether the last event of this run was read. */
  isOver(run: RunId): boolean {
    return this.#over.has(run)
  }

  /** The child run that an event ends: the rest of it is to be read before the event is taken in. */
  endedBy(recorded: Recorded): RunId | undefined {
    const child = childRunOf(recorded)
    return child?.isOver === true && this.#read.has(child.run) ? child.run : undefined
  }

  /** Takes the next event of one of the runs in, and returns it with its place in the whole. Undefined: it is known. */
  take(recorded: Recorded): Recorded | undefined {
    const { run, position, activation, event } = recorded
    if (position <= this.positionOf(run)) return undefined
    this.#read.set(run, position)
    const child = childRunOf(recorded)
    if (child?.isOver === false && !this.#read.has(child.run)) this.#read.set(child.run, 0)
    if (event.type === 'activation.settled' && activation === rootActivation(run)) this.#over.add(run)
    const isNext = run === this.root && position > this.#last
    this.#last = isNext ? position : this.#last + 2 ** -20
    return isNext ? recorded : { ...recorded, position: this.#last }
  }
}

/**
 * Everything of these runs as one feed. Its positions are those of the leader's feed, with fractions between them, and
 * numbers after its last for child runs that have not ended.
 */
export function woven(
  feed: readonly Recorded[],
  children: ReadonlyMap<RunId, readonly Recorded[]>,
): readonly Recorded[] {
  const open = new Set(childRunsIn(feed))
  const inside = (child: RunId): readonly Recorded[] => woven(children.get(child) ?? [], children)
  const whole: Recorded[] = []
  for (const recorded of feed) {
    const { position } = recorded
    const child = childRunOf(recorded)
    if (child?.isOver === true && open.delete(child.run)) {
      const before = inside(child.run)
      for (const [i, each] of before.entries())
        whole.push({ ...each, position: position - 1 + (i + 1) / (before.length + 1) })
    }
    whole.push(recorded)
  }
  let last = feed.at(-1)?.position ?? 0
  for (const child of open) for (const each of inside(child)) whole.push({ ...each, position: ++last })
  return whole
}
