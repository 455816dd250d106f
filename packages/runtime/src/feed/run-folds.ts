/**
 * Run folds: what views need of a run, folded once for all who ask, and kept for the next one.
 *
 * Owns: which folds are kept, and reading each on to the end of its journal. Does not own: what an event changes
 * (journal, oversight), reading (whole-feed.ts).
 * Holds: K1: a fold that is dropped is made again from the journal. What is kept has a bounded size. Callers that come
 * while a fold is read wait for the next reading, together.
 */
import type { RunId } from '@reeve/core'
import { unknownRun, type Engine, type RunSummary } from '@reeve/engine'
import { foldDelegations, foldRun, newDelegationsFold, newRunFold, type Recorded } from '@reeve/journal'
import { WholeReading } from './whole-feed.ts'

/** A kind of fold. */
export interface FoldKind<F> {
  /** Its own among all kinds. */
  readonly name: string
  begin(): F
  take(fold: F, recorded: Recorded): unknown
  /** About how many activations and results it holds. */
  size(fold: F): number
}

/** A fold up to now, and the position of the run up to which it was read. It is shared: nothing of it may be changed. */
export interface FoldedRun<F> {
  readonly fold: F
  readonly position: number
  /** As it was before the fold was read on. */
  readonly summary: RunSummary
}

/** The state of a run. */
export const viewFold: FoldKind<ReturnType<typeof newRunFold>> = {
  name: 'view',
  begin: newRunFold,
  take: foldRun,
  size: ({ activations, messages, failedAttempts }) => activations.size + messages.size + failedAttempts.length,
}

/** Its delegations. */
export const delegationsFold: FoldKind<ReturnType<typeof newDelegationsFold>> = {
  name: 'delegations',
  begin: newDelegationsFold,
  take: foldDelegations,
  size: (fold) => viewFold.size(fold.run) + [...fold.calls.values()].reduce((sum, { tools }) => sum + tools.length, 0),
}

interface KeptFold {
  readonly fold: unknown
  readonly createdAt: number
  readonly reading: WholeReading
  size: number
  under: Promise<void> | undefined
  next: Promise<void> | undefined
}

/** How much all folds that are kept hold together, by their sizes. */
const mostKept = 50_000
const mostFolds = 256

/** The folds of one engine's runs. */
export class RunFolds {
  readonly #engine: Engine
  /** By kind and run. The one that was asked for last comes last. */
  readonly #kept = new Map<string, KeptFold>()
  #size = 0

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The fold of a run and its child runs, up to now. Rejects with `run.unknown`. */
  async of<F>(kind: FoldKind<F>, run: RunId): Promise<FoldedRun<F>> {
    const key = `${kind.name} ${run}`
    const summary = await this.#engine.summary(run)
    const kept = summary === undefined ? undefined : this.#keptFold(key, kind, run, summary.createdAt)
    try {
      if (kept === undefined) throw unknownRun(run)
      await this.#readOn(kind, kept)
    } catch (thrown) {
      this.#drop(key)
      throw thrown
    }
    this.#tidy(key, kind, kept)
    return { fold: kept.fold as F, position: kept.reading.position, summary: summary! }
  }

  /** A run of the same id that was begun later is another run. */
  #keptFold<F>(key: string, kind: FoldKind<F>, run: RunId, createdAt: number): KeptFold {
    const known = this.#kept.get(key)
    if (known?.createdAt === createdAt) {
      this.#kept.delete(key)
      this.#kept.set(key, known)
      return known
    }
    this.#drop(key)
    const reading = new WholeReading(this.#engine, run)
    const kept = { fold: kind.begin(), createdAt, reading, size: 0, under: undefined, next: undefined }
    this.#kept.set(key, kept)
    return kept
  }

  /** What was recorded before this call may come after the page that is being read: the next reading has it. */
  #readOn<F>(kind: FoldKind<F>, kept: KeptFold): Promise<void> {
    const read = async (): Promise<void> => {
      await kept.under
      kept.under = kept.next
      kept.next = undefined
      await kept.reading.readOn((recorded) => kind.take(kept.fold as F, recorded))
    }
    return (kept.next ??= read())
  }

  /** Drops what was not asked for longest. One fold is kept, whatever its size. */
  #tidy<F>(own: string, kind: FoldKind<F>, kept: KeptFold): void {
    if (this.#kept.get(own) !== kept) return
    const size = kind.size(kept.fold as F)
    this.#size += size - kept.size
    kept.size = size
    for (const key of this.#kept.keys()) {
      if (key === own || (this.#size <= mostKept && this.#kept.size <= mostFolds)) return
      this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }
}

const folds = new WeakMap<Engine, RunFolds>()

/** The folds of this engine's runs. */
export function foldsOf(engine: Engine): RunFolds {
  const known = folds.get(engine) ?? new RunFolds(engine)
  folds.set(engine, known)
  return known
}
