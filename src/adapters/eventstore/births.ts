/**
 * Births: the rows of a run's root and of its workers.
 */
import { parentOf, rootActivation, runOf, type ActivationId } from '../../core/index.ts'
import { newAccount } from './accounts.ts'
import { append } from './entries.ts'
import type { NewBirth, NewRun } from './port.ts'
import { ask, insert, inserted, statement, tell, write, type Param, type Work } from './sql.ts'

export const columns = 'activation(id, run, parent, agent, version, path, seq, touched, generation, build)'

export const rowIn =
  (generation: number) =>
  ({ id, agent, version, path, at, build }: Omit<NewBirth, 'limits' | 'first'>, length = 1): readonly Param[] => [
    id,
    runOf(id),
    parentOf(id)?.parent ?? null,
    agent,
    version,
    JSON.stringify(path),
    length,
    at,
    generation,
    build ?? null,
  ]

/**
 * The row of a new run whose log begins with this many entries; undefined if the run exists. One that is created again after it was removed goes on above what was
 * given out before: positions, and names of workflows.
 */
export function* newRun(
  { run, agent, version, caller, at }: Pick<NewRun, 'run' | 'agent' | 'version' | 'caller' | 'at'>,
  length: number,
): Work<{ readonly position: number; readonly generation: number } | undefined> {
  const row = 'INSERT INTO run(id, agent, version, caller, created) VALUES($1, $2, $3, $4, $5) ON CONFLICT(id) DO NOTHING RETURNING id'
  // The floor is asked for when the row is in: its removal may have been waited for.
  const [fresh, floors] = yield* ask(
    statement(row, run, agent, version, JSON.stringify(caller ?? {}), at),
    statement('SELECT position, generation FROM floor WHERE one = 1'),
  )
  if (fresh?.length !== 1) return undefined
  const { position, generation } = floors![0] as { position: number; generation: number }
  yield* write('UPDATE run SET position = $2, generation = $3 WHERE id = $1', run, position + length, generation)
  return { position: position + 1, generation }
}

/** False if the run exists. */
export function* create(made: NewRun): Work<boolean> {
  const { run, agent, version, limits, first, at } = made
  const begin = yield* newRun(made, 1)
  if (begin === undefined) return false
  const { position, generation } = begin
  const root = rootActivation(run)
  const birth = { id: root, agent, version, path: [agent], limits, first, at }
  yield* insert(columns, [rowIn(generation)(birth)])
  yield* settleIn([birth], position)
  yield* tell(run)
  return true
}

/** Workers, from a position on. Returns how many of them were not there yet. */
export function* bear(births: readonly NewBirth[], position: number, generation: number): Work<number> {
  if (births.length === 0) return 0
  const rows = yield* inserted<{ id: ActivationId }>(
    columns,
    births.map((birth) => rowIn(generation)(birth)),
    'ON CONFLICT(id) DO NOTHING RETURNING id',
  )
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
