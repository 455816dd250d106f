/**
 * Births of runs that another process, or this one later, takes up: a run that is started where no process drives its
 * agent, and a child run.
 *
 * Owns: what stands in a run's first commit. Does not own: births in memory (command-handler.ts), who takes the run up
 * (run-cache.ts).
 */
import { present, rootActivation, type RunId } from '@reeve/core'
import { callerShape, encode, type ActivationStarted, type JournalEvent } from '@reeve/journal'
import { Account } from '../replay/account.ts'
import { birthOf, type StartRun } from '../port.ts'
import type { NewRun } from '../store.ts'
import type { EngineState } from './engine-state.ts'

/** A run to be begun, and what else stands in the birth of a child run. */
export interface RunBirth extends StartRun, Pick<ActivationStarted, 'path' | 'under' | 'earlier'> {}

/** The row of a run. `from`: of a child run, the run of its leader. */
export function newRun(
  engine: EngineState,
  { run: id, agent, version, caller }: StartRun,
  owner: string | null,
  from?: RunId,
): NewRun {
  const text = caller === undefined ? null : engine.options.redact(JSON.stringify(caller), callerShape)
  return { id, agent, version, caller: text, at: engine.clock.now(), owner, ...(from === undefined ? {} : { from }) }
}

/** Writes a run for any process that drives, with the next commit. */
export function writeBirth(engine: EngineState, born: RunBirth, from?: RunId): void {
  const { batch, options, clock } = engine
  const { run, path, under, earlier, limits } = born
  const event: JournalEvent = { ...birthOf(born), ...present({ path, under, earlier }) }
  const act = rootActivation(run)
  const text = encode(event)
  batch.runs.push(newRun(engine, born, null, from))
  batch.acts.push(act)
  batch.log.push({ act, run, seq: 0, at: clock.now(), body: options.redactEntry?.(text, event) ?? text })
  if (limits !== undefined && Object.keys(limits).length > 0)
    batch.accounts.push({ act, run, state: new Account(act, limits).state() })
}
