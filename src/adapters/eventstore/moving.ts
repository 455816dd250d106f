/**
 * For whoever moves an activation: taking it over, seeing what has come in, handing it on.
 *
 * Holds: K2 (taking over raises the epoch and so fences whoever had it; of two invocations of one generation the first has it; the clock's answer
 * competes for the same row as any other), K11 (minutes are not counted for whoever has gone).
 */
import { runOf, type ActivationId, type RunId } from '../../core/index.ts'
import type { Caller } from '../../journal/index.ts'
import { abandoned } from './accounts.ts'
import { decoded, type StoredBody } from './entries.ts'
import { doneElsewhere, forkedOf } from './forks.ts'
import { dueMoment, holdRun, lookAt, othersRest, seen, type Look } from './look.ts'
import { deadlineBody } from './outside.ts'
import type { Birth, Claimed, Pulled } from './port.ts'
import { ask, insert, rowOf, rowsOf, statement, tell, write, type Rows, type Statement, type Work } from './sql.ts'
import { holderOf, later } from './word.ts'

interface ClaimRow {
  readonly agent: string
  readonly version: string
  readonly path: string
  readonly epoch: number
  readonly generation: number
  readonly settled: number
  readonly stuck: string | null
  readonly invocation: string | null
  readonly working: number
  readonly touched: number
  readonly caller: string
  readonly ended: number | null
}

/** Everything but the log, which nobody else can write to from then on. */
export function* claim(
  activation: ActivationId,
  generation: number,
  invocation: string,
  now: number,
  build = '',
): Work<Omit<Claimed, 'log'> | undefined> {
  const run = runOf(activation)
  const who = `SELECT a.agent, a.version, a.path, a.epoch, a.generation, a.settled, a.stuck, a.invocation, a.working, a.touched, r.caller, r.ended
    FROM activation a JOIN run r ON r.id = a.run WHERE a.id = $1`
  const [, rows] = yield* ask(holdRun(activation), statement(who, activation))
  const row = rows?.[0] as unknown as ClaimRow | undefined
  if (row === undefined || row.generation !== generation) return undefined
  if (row.invocation !== null && holderOf(row.invocation) !== holderOf(invocation)) return undefined
  const { agent, version } = row
  const place = { run, agent, version, path: JSON.parse(row.path) as string[], caller: JSON.parse(row.caller) as Caller }
  const basis = { ...place, stuck: row.stuck !== null }
  if (row.settled === 1 || row.ended !== null) {
    // It may have died after its last word, before it could tell anybody.
    const wakes = row.ended === null ? invocationsIn((yield* ask(toldBesides(activation)))[0]) : []
    return { ...basis, ...nothingIn, epoch: row.epoch, settled: true, asked: [], unborn: [], wakes, doneElsewhere: undefined }
  }
  const taken = `UPDATE activation SET epoch = epoch + 1, invocation = ${later('$2')}, notified = 0, resting = 0, working = 0, touched = $3,
    build = NULLIF(CAST($4 AS TEXT), '') WHERE id = $1`
  const [unborn, told, asked, due, forked, , looked] = yield* ask(
    statement('SELECT id, generation FROM activation WHERE parent = $1 AND invocation IS NULL AND settled = 0 ORDER BY num', activation),
    toldBesides(activation),
    statement('SELECT id FROM question WHERE act = $1 ORDER BY num', activation),
    dueOf(activation, now),
    forkedOf(run),
    statement(taken, activation, invocation, now, build),
    lookAt(activation, 'mail'),
  )
  const rung = yield* ring(activation, run, (due ?? []) as unknown as Due[])
  const look = seen(rung ? (yield* ask(lookAt(activation, 'mail')))[0] : looked)
  const accounts = row.working === 1 ? yield* abandoned(activation, look.accounts, row.touched) : look.accounts
  return {
    ...basis,
    ...pulled({ ...look, accounts }, activation),
    epoch: row.epoch + 1,
    settled: false,
    asked: (asked as unknown as { id: string }[]).map(({ id }) => id),
    unborn: unborn as unknown as Birth[],
    wakes: invocationsIn(told),
    doneElsewhere: yield* doneElsewhere(forked),
  }
}

/** Whoever else of the run has unread mail, and may not have been told of it. */
const toldBesides = (activation: ActivationId): Statement =>
  statement(
    'SELECT invocation FROM activation WHERE run = $1 AND notified = 1 AND invocation IS NOT NULL AND settled = 0 AND id <> $2',
    runOf(activation),
    activation,
  )

const invocationsIn = (rows: Rows | undefined): string[] =>
  ((rows ?? []) as unknown as readonly { invocation: string }[]).map(({ invocation }) => invocation)

/** What there is to see of somebody who has settled. */
const nothingIn: Pulled = { control: undefined, rows: [], accounts: [], othersRest: false, due: undefined }

export function* logOf(activation: ActivationId): Work<Claimed['log']> {
  const rows = yield* rowsOf<StoredBody & { seq: number; at: number }>(
    'SELECT seq, at, body, blobs FROM entry WHERE act = $1 ORDER BY seq',
    activation,
  )
  const events = yield* decoded(rows)
  return rows.map(({ seq, at }, i) => ({ seq, at, event: events[i]! }))
}

const pulled = (look: Look, activation: ActivationId): Pulled => ({
  control: look.control,
  rows: look.rows,
  accounts: look.accounts,
  othersRest: othersRest(look, activation),
  due: look.due,
})

const holdsIt = ({ self }: Look, epoch: number): boolean => self?.epoch === epoch

/** Most looks find that nobody has told it anything and nothing is due: then there is nothing to write, and no lock is needed. */
export function* glance(activation: ActivationId, epoch: number, now: number, invocation = ''): Work<Pulled | 'fenced' | 'look closer'> {
  const look = seen((yield* ask(lookAt(activation, 'mail')))[0])
  if (!holdsIt(look, epoch)) return 'fenced'
  if (invocation !== '' && look.self?.invocation !== invocation) return 'look closer'
  if (look.self?.notified === true || (look.due !== undefined && look.due <= now)) return 'look closer'
  return pulled(look, activation)
}

export function* pull(activation: ActivationId, epoch: number, now: number, invocation = ''): Work<Pulled | 'fenced'> {
  const run = runOf(activation)
  // Whoever posts holds the run: what is posted from here on finds that this activation has not been told of it. Where no invocation is known any more
  // the row waits for its successor, and this one must not stand in its way.
  const [, mine, due, looked] = yield* ask(
    holdRun(activation),
    statement(
      `UPDATE activation SET notified = 0, invocation = CASE WHEN CAST($3 AS TEXT) = '' OR invocation IS NULL THEN invocation ELSE ${later('$3')} END
        WHERE id = $1 AND epoch = $2 RETURNING id`,
      activation,
      epoch,
      invocation,
    ),
    dueOf(activation, now),
    lookAt(activation, 'mail'),
  )
  if (mine?.length !== 1) return 'fenced'
  const rung = yield* ring(activation, run, (due ?? []) as unknown as Due[])
  return pulled(seen(rung ? (yield* ask(lookAt(activation, 'mail')))[0] : looked), activation)
}

const dueOf = (activation: ActivationId, now: number): Statement =>
  statement(
    `SELECT id, key, address FROM question WHERE act = $1 AND until IS NOT NULL AND ${dueMoment} <= $2 ORDER BY num`,
    activation,
    now,
  )

interface Due {
  readonly id: string
  readonly key: string
  readonly address: string
}

/** The clock answers. False: there was nothing to answer. */
function* ring(activation: ActivationId, run: RunId, due: readonly Due[]): Work<boolean> {
  if (due.length === 0) return false
  const rows = due.map(({ key, address }) => [run, activation, key, deadlineBody(address)])
  yield* insert('inbox(run, act, key, body)', rows, 'ON CONFLICT(act, key) DO NOTHING')
  for (const { id } of due) yield* write('UPDATE question SET until = NULL WHERE id = $1', id)
  yield* tell(run)
  return true
}

export function* holds(activation: ActivationId, epoch: number): Work<boolean> {
  const found = yield* rowOf('SELECT id FROM activation WHERE id = $1 AND epoch = $2 AND settled = 0', activation, epoch)
  return found !== undefined
}

/** Of an epoch that has handed over already no invocation is known: it may not have heard the answer, and gets it again. */
export function* handOver(activation: ActivationId, epoch: number): Work<number | undefined> {
  const next = `UPDATE activation SET generation = CASE WHEN invocation IS NULL THEN generation ELSE generation + 1 END, invocation = NULL
    WHERE id = $1 AND epoch = $2 AND settled = 0 RETURNING generation`
  const [, rows] = yield* ask(holdRun(activation), statement(next, activation, epoch))
  return (rows?.[0] as { generation: number } | undefined)?.generation
}
