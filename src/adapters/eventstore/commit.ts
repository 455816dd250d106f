/**
 * One commit of one activation: everything it has learned and intends, in one transaction that holds its run's row.
 *
 * Owns: the order of what is written. Does not own: what it means (the engine), single kinds of rows (entries.ts, births.ts, posting.ts, accounts.ts).
 * Holds: K1 (seq and position gapless, given here), K2 (fenced by the epoch), K7 (whoever has settled writes nothing more), K11.
 */
import { ReeveError, rootActivation, runOf, type ActivationId } from '../../core/index.ts'
import { charged, clocked, isClockToMove, otherWorkers, writeAccounts } from './accounts.ts'
import { bear } from './births.ts'
import { append } from './entries.ts'
import { lookAt, othersRest, seen, type Look } from './look.ts'
import type { Commit, Committed, Control, StoredAccount } from './port.ts'
import { deliver, lockOf } from './posting.ts'
import { ask, chunks, insert, marks, rowsOf, statement, tell, write, type Statement, type Work } from './sql.ts'

/** What of `look` can be different after this commit has written the rest. */
const changesMore = (c: Commit): boolean =>
  c.births.length + c.posts.length + c.opened.length + c.closed.length > 0 || c.settled !== undefined

export function* commit(c: Commit): Work<Committed> {
  const { activation } = c
  const run = runOf(activation)
  const length = c.entries.length + c.births.length
  const answers = yield* ask(
    ...lockOf(activation, c.posts),
    statement('UPDATE run SET position = position + $2 WHERE id = $1 RETURNING position, generation', run, length),
    ownRow(c),
    lookAt(activation, 'no mail'),
  )
  const [locked, moved, looked] = answers.slice(-3)
  const before = seen(looked)
  const held = locked?.[0] as { position: number; generation: number } | undefined
  if (held === undefined || before.self === undefined) return { status: 'gone' }
  if (moved?.length !== 1 || before.ended) return { status: before.self.epoch === c.epoch ? mustLookAgain(c, before.self.seq) : 'fenced' }
  const accounts = charged(before.accounts, c.accounts)
  if (accounts === undefined) return { status: 'moved' }
  const { position: end, generation } = held
  yield* writeLog(c, end - length + 1, generation)
  yield* writeQuestions(c)
  yield* take(c)
  const wakes = new Set(yield* deliver(activation, c.posts))
  if (c.control !== undefined) yield* wakeAll(c, c.control, wakes)
  if (c.settled !== undefined) yield* settle(c, c.settled)
  const after = changesMore(c) ? seen((yield* ask(lookAt(activation, 'no mail')))[0]) : before
  const clocks = yield* keepAccounts(c, before.accounts, accounts)
  const control = c.control === undefined || c.settled !== undefined ? after.control : (c.control ?? undefined)
  yield* wakeRoot(c, after, control, wakes)
  yield* tell(run, c.settled !== undefined && activation === rootActivation(run) ? 'end' : 'events')
  const rest = othersRest(after, activation)
  const unread = c.settled === undefined && (moved[0] as { notified: number }).notified === 1
  return { status: 'written', control, accounts: clocks, wakes: [...wakes], generation, othersRest: rest, due: after.due, unread }
}

/**
 * Its own row: only this epoch's, only where the log ends as this commit says, and never after its last word.
 * It does not rest while there is mail that it has been told of and has not looked at.
 */
function ownRow(c: Commit): Statement {
  const text = `UPDATE activation SET seq = seq + $3, working = $4, resting = CASE WHEN CAST($7 AS INTEGER) = 0 AND notified = 1 THEN 0 ELSE $5 END,
    touched = $6, settled = $7, stuck = CASE WHEN $8 = 1 THEN $9 ELSE stuck END
    WHERE id = $1 AND epoch = $2 AND settled = 0 AND (CAST($10 AS INTEGER) < 0 OR seq = $10) RETURNING seq, notified`
  const settled = c.settled === undefined ? 0 : 1
  return statement(
    text,
    c.activation,
    c.epoch,
    c.entries.length,
    c.working && settled === 0 ? 1 : 0,
    c.resting || settled === 1 ? 1 : 0,
    c.now,
    settled,
    c.stuck !== undefined || settled === 1 ? 1 : 0,
    settled === 1 ? null : (c.stuck ?? null),
    c.entries[0]?.seq ?? -1,
  )
}

/** Its epoch holds, and still it cannot be written: it or its run has settled, or this commit was written before, unheard. */
function mustLookAgain(c: Commit, seq: number): 'moved' {
  const first = c.entries[0]?.seq ?? 0
  if (first > seq) throw new ReeveError('journal.hole', `${c.activation} would go on at ${first}, but its log ends before ${seq}`)
  return 'moved'
}

function* writeLog(c: Commit, position: number, generation: number): Work<void> {
  const run = runOf(c.activation)
  yield* append(c.entries.map(({ seq, at, text }, i) => ({ run, position: position + i, act: c.activation, seq, at, text })))
  const born = yield* bear(c.births, position + c.entries.length, generation)
  if (born < c.births.length) yield* write('UPDATE run SET position = position - $2 WHERE id = $1', run, c.births.length - born)
}

/** Before the posts: what this commit withdraws is not answered by it. */
function* writeQuestions({ activation, opened, closed }: Commit): Work<void> {
  const rows = opened.map((q) => [q.id, runOf(activation), activation, q.address, q.key, q.kind, q.until, q.at, q.body])
  yield* insert('question(id, run, act, address, key, kind, until, at, body)', rows, 'ON CONFLICT(id) DO NOTHING')
  for (const some of chunks(closed))
    yield* write(`DELETE FROM question WHERE act = $1 AND address IN (${marks(some.length, 1)})`, activation, ...some)
}

/** A row that is used up stays, without its body: nothing else may come under its key. */
function* take({ activation, taken }: Commit): Work<void> {
  const rows = [...new Set(taken)].map((key) => [runOf(activation), activation, key, null, 1])
  yield* insert('inbox(run, act, key, body, taken)', rows, 'ON CONFLICT(act, key) DO UPDATE SET taken = 1, body = NULL')
}

/**
 * The run's pause has changed: everybody in it has to see that, also if nobody lives to tell them. Until they have, nobody can say that they rest: they may
 * have held something back.
 */
function* wakeAll(c: Commit, control: Control | null, wakes: Set<string>): Work<void> {
  const run = runOf(c.activation)
  yield* write('UPDATE run SET control = $2, reached = $3 WHERE id = $1', run, control?.at ?? null, control?.reached === true ? 1 : 0)
  const others =
    'UPDATE activation SET notified = 1, resting = 0 WHERE run = $1 AND id <> $2 AND settled = 0 AND invocation IS NOT NULL RETURNING invocation'
  for (const { invocation } of yield* rowsOf<{ invocation: string }>(others, run, c.activation)) wakes.add(invocation)
}

/** Somebody's last word leaves nothing open of it; the root's leaves nothing open of the run. */
function* settle(c: Commit, status: string): Work<void> {
  const run = runOf(c.activation)
  const isRoot = c.activation === rootActivation(run)
  const [column, whose] = isRoot ? ['run', run] : ['act', c.activation]
  yield* write(`DELETE FROM question WHERE ${column} = $1`, whose)
  yield* write(`UPDATE inbox SET taken = 1, body = NULL WHERE ${column} = $1 AND taken = 0`, whose)
  if (isRoot) yield* write('UPDATE run SET ended = $2, status = $3, control = NULL, reached = 0 WHERE id = $1', run, c.now, status)
}

function* keepAccounts(c: Commit, before: readonly StoredAccount[], after: readonly StoredAccount[]): Work<readonly StoredAccount[]> {
  const working = c.working && c.settled === undefined
  const others = working || !isClockToMove(after, working) ? [] : yield* otherWorkers(c.activation)
  const accounts = isClockToMove(after, working) ? clocked(after, working, others, c.now) : after
  yield* writeAccounts(before, accounts)
  return accounts
}

/** Everybody but the root rests: a pause that was asked for is reached when the root says so. */
function* wakeRoot(c: Commit, after: Look, control: Control | undefined, wakes: Set<string>): Work<void> {
  const root: ActivationId = rootActivation(runOf(c.activation))
  if (control === undefined || control.reached || c.activation === root || after.busy.some((id) => id !== root)) return
  const told = 'UPDATE activation SET notified = 1 WHERE id = $1 AND settled = 0 AND invocation IS NOT NULL RETURNING invocation'
  for (const { invocation } of yield* rowsOf<{ invocation: string }>(told, root)) wakes.add(invocation)
}
