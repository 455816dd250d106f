/**
 * Births: the rows of a run's root and of its workers.
 */
import { parentOf, rootActivation, runOf, type ActivationId } from '../../core/index.ts'
import { newAccount } from './accounts.ts'
import { append } from './entries.ts'
import type { NewBirth, NewRun } from './port.ts'
import { insert, inserted, rowOf, tell, write, type Param, type Work } from './sql.ts'

const columns = 'activation(id, run, parent, agent, version, path, seq, touched, generation)'

const rowIn =
  (generation: number) =>
  ({ id, agent, version, path, at }: NewBirth): readonly Param[] => [
  id,
  runOf(id),
  parentOf(id)?.parent ?? null,
  agent,
  version,
  JSON.stringify(path),
  1,
  at,
  generation,
]

/** False if the run exists. One that is created again after it was removed goes on above what was given out before: positions, and names of workflows. */
export function* create({ run, agent, version, caller, limits, first, at }: NewRun): Work<boolean> {
  const floor = yield* rowOf<{ position: number; generation: number }>('SELECT position, generation FROM floor WHERE one = 1')
  const { position = 0, generation = 0 } = floor ?? {}
  const values = [run, agent, version, JSON.stringify(caller ?? {}), position + 1, generation, at]
  const fresh = yield* inserted('run(id, agent, version, caller, position, generation, created)', [values], 'ON CONFLICT(id) DO NOTHING RETURNING id')
  if (fresh.length === 0) return false
  const root = rootActivation(run)
  const birth = { id: root, agent, version, path: [agent], limits, first, at }
  yield* insert(columns, [rowIn(generation)(birth)])
  yield* settleIn([birth], position + 1)
  yield* tell(run)
  return true
}

/** Workers, from a position on. Returns how many of them were not there yet. */
export function* bear(births: readonly NewBirth[], position: number, generation: number): Work<number> {
  if (births.length === 0) return 0
  const rows = yield* inserted<{ id: ActivationId }>(columns, births.map(rowIn(generation)), 'ON CONFLICT(id) DO NOTHING RETURNING id')
  const ids = new Set(rows.map(({ id }) => id))
  yield* settleIn(
    births.filter(({ id }) => ids.has(id)),
    position,
  )
  return ids.size
}

function* settleIn(births: readonly NewBirth[], position: number): Work<void> {
  yield* append(births.map(({ id, at, first }, i) => ({ run: runOf(id), position: position + i, act: id, seq: 0, at, text: first })))
  for (const { id, limits } of births)
    if (limits !== undefined)
      yield* write('INSERT INTO account(act, run, state) VALUES($1, $2, $3)', id, runOf(id), JSON.stringify(newAccount(id, limits)))
}
