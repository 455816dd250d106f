/**
 * Forks: a run that begins with what another one has recorded.
 *
 * Owns: reading the origin as it is at one moment, writing everything that the fork begins with. Does not own: what that is (engine/fork.ts).
 * Holds: K1 (all of it in one transaction, or nothing), K6 (whoever takes an activation of the fork over is told what the origin has done).
 */
import { rootActivation, type ActivationId, type RunId } from '../../core/index.ts'
import {
  doneBy,
  streamOf,
  unknownRun,
  valuesHeard,
  type AccountState,
  type ForkOrigin,
  type ForkRun,
  type Mail,
} from '../../engine/index.ts'
import type { Caller, DoneElsewhere } from '../../journal/index.ts'
import { columns, newRun, rowIn } from './births.ts'
import { append, decoded, type StoredBody } from './entries.ts'
import type { NewFork } from './port.ts'
import { read } from './reading.ts'
import { ask, chunks, insert, marks, rowOf, statement, tell, write, type Rows, type Statement, type Work } from './sql.ts'
import { writeValue } from './values.ts'

/** The key of the row, among those of what a run has done once, that says where in its root's log its origin is told. Persistent. */
const forkedKey = '!forked'

/** False if the fork exists. */
export function* fork({ run, at, to }: Pick<ForkRun, 'run' | 'at' | 'to'>, plan: (origin: ForkOrigin) => NewFork): Work<boolean> {
  const origin = yield* originOf(run, at)
  if ((yield* rowOf('SELECT id FROM run WHERE id = $1', to)) !== undefined) return false
  const made = plan(origin)
  const begin = yield* newRun(made, made.entries.length)
  if (begin === undefined) return false
  yield* insert(
    columns,
    made.activations.map((birth) => rowIn(begin.generation)(birth, birth.length)),
  )
  yield* append(made.entries.map((entry, i) => ({ ...entry, run: to, position: begin.position + i })))
  const settled = made.activations.flatMap((one) => (one.settled ? [one.id] : []))
  for (const some of chunks(settled))
    yield* write(`UPDATE activation SET settled = 1, resting = 1 WHERE id IN (${marks(some.length)})`, ...some)
  yield* write('INSERT INTO done(run, stream, once, body) VALUES($1, $1, $2, $3)', to, forkedKey, String(made.forked))
  yield* beside(made)
  yield* tell(to)
  return true
}

/** What lives beside the logs. */
function* beside({ run, at, accounts, questions, mail, stream, values }: NewFork): Work<void> {
  yield* insert(
    'account(act, run, state)',
    accounts.map(({ activation, state }) => [activation, run, JSON.stringify(state)]),
  )
  yield* insert(
    'question(id, run, act, address, key, kind, until, at, body)',
    questions.map((q) => [q.id, run, q.act, q.address, q.key, q.kind, q.until, q.at, q.body]),
  )
  yield* insert(
    'inbox(run, act, key, body)',
    mail.map(({ to, key, body }) => [run, to, key, body]),
  )
  for (const { key, value, event } of values) yield* writeValue({ stream, key, expected: 0, value, event, at })
}

/** The origin moves on when this transaction is over: what is in its inboxes is in no log yet, and the other way round. */
function* originOf(run: RunId, at: number): Work<ForkOrigin> {
  const [runs] = yield* ask(statement('SELECT agent, version, caller FROM run WHERE id = $1 FOR UPDATE', run))
  const row = runs?.[0] as { agent: string; version: string; caller: string } | undefined
  if (row === undefined) throw unknownRun(run)
  const caller = JSON.parse(row.caller) as Caller
  const stream = streamOf(caller, run)
  const [mail, accounts, written] = yield* ask(
    statement('SELECT body FROM inbox WHERE run = $1 AND taken = 0 ORDER BY num', run),
    statement('SELECT act, state FROM account WHERE run = $1', run),
    statement('SELECT at, body, blobs FROM entry WHERE run = $1 ORDER BY position', stream),
  )
  const feed = yield* read(run, 0)
  const entries = written as unknown as readonly (StoredBody & { at: number })[]
  const events = yield* decoded(entries)
  return {
    agent: row.agent,
    version: row.version,
    caller,
    feed,
    mail: (mail as unknown as readonly { body: string }[]).map(({ body }) => JSON.parse(body) as Mail),
    limits: new Map(
      (accounts as unknown as readonly { act: ActivationId; state: string }[]).map(({ act, state }) => [
        act,
        (JSON.parse(state) as AccountState).limits,
      ]),
    ),
    values: valuesHeard(
      { run, at },
      feed,
      entries.map((entry, i) => ({ at: entry.at, event: events[i]! })),
    ),
  }
}

/** Asks for what a forked run says of its origin; of another run there is nothing. */
export const forkedOf = (run: RunId): Statement =>
  statement(
    'SELECT e.body, e.blobs FROM done d JOIN entry e ON e.act = $2 AND e.seq = CAST(d.body AS INTEGER) WHERE d.run = $1 AND d.stream = $1 AND d.once = $3',
    run,
    rootActivation(run),
    forkedKey,
  )

/** What the origin of a run has done, by activation and address. */
export function* doneElsewhere(rows: Rows | undefined): Work<ReadonlyMap<string, DoneElsewhere> | undefined> {
  if (rows === undefined || rows.length === 0) return undefined
  const [event] = yield* decoded(rows as unknown as readonly StoredBody[])
  return event?.type === 'run.forked' ? doneBy(event) : undefined
}
