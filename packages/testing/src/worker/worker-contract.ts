/**
 * The contract of workers, as a list of cases that any test runner can bind: what a leader may rely on, whatever a worker
 * is made of.
 *
 * Owns: the binding of the cases to one worker. Does not own: the cases (cases.ts), the claims (claims.ts).
 */
import { own } from '@reeve/core'
import { workerPlays, type WorkerPlay } from './cases.ts'
import { workerClaims, type WorkerClaim, type WorkerHonours, type WorkerResult } from './claims.ts'
import { WorkerStage, type MakeWorker } from './stage.ts'

/** One case, bound to one worker. */
export interface WorkerCase {
  readonly name: string
  readonly claim: WorkerClaim
  /**
   * Plays the case with a new worker. Resolves to what came of it; rejects if the worker claims what it does not honour.
   * A case whose claim is not made is not played, and its result says so.
   */
  readonly run: () => Promise<WorkerResult>
}

/** How the cases are played. */
export interface WorkerContractOptions {
  /** The name in the results. Default: `worker`. */
  readonly name?: string
  /** How long a case waits for a condition, in milliseconds of real time. Default 10,000. */
  readonly patienceMs?: number
}

/**
 * All cases of the contract for one worker: brief, result, failure, cancel, timeout, approval, question, usage, streaming,
 * crash. `make` is called for every case: it makes a worker that plays the given part, and says what it claims to honour.
 *
 * Every case has a store of its own in the temporary folder, a supervisor as leader, and the embedded engine with
 * `strict: true`. A kill closes nothing in order: the process is cut off from its store, and another one goes on.
 */
export function workerContract(
  make: MakeWorker,
  { name = 'worker', patienceMs = 10_000 }: WorkerContractOptions = {},
): readonly WorkerCase[] {
  return workerPlays.map((play) => ({
    name: play.name,
    claim: play.claims[0],
    run: () => played(make, play, name, patienceMs),
  }))
}

async function played(make: MakeWorker, play: WorkerPlay, worker: string, patienceMs: number): Promise<WorkerResult> {
  const stage = await WorkerStage.open(make, play, patienceMs)
  try {
    const { honours } = stage.subject
    mustSpeakOfAll(worker, honours)
    const result = { worker, case: play.name, claim: play.claims[0] }
    const missing = play.claims.find((claim) => honours[claim] !== true)
    if (missing !== undefined) return { ...result, honoured: false, limit: limitOf(missing, honours, play) }
    await play.play(stage)
    return { ...result, honoured: true }
  } finally {
    await stage.dispose()
  }
}

function limitOf(missing: WorkerClaim, honours: WorkerHonours, { claims }: WorkerPlay): string {
  const said = honours[missing]
  const why = typeof said === 'string' ? said : 'not claimed'
  return missing === claims[0] ? why : `needs ${missing}: ${why}`
}

/** A claim that is left out would be skipped in silence. */
function mustSpeakOfAll(worker: string, honours: WorkerHonours): void {
  const silent = Object.keys(workerClaims).filter((claim) => own(honours, claim) === undefined)
  if (silent.length > 0)
    throw new Error(`"${worker}" does not say whether it honours ${silent.join(', ')}: give true, false, or the limit`)
}
