/**
 * A run as the event store of 0.1 keeps it, and what it is in a store of today. There, every activation had a place of
 * its own: a log, mail from its leader and its workers, a pause that each looked at. Today one process holds the run
 * with all of them.
 *
 * Owns: reading its rows, what is wrong with them, and their translation into one commit (`runBatch`, pure). Does not
 * own: values of streams (old-stream.ts), writing (migrate.ts).
 * Holds: K1 (every entry as it is, gapless, in its order; one transaction for a run), K2 (the epoch goes on above all
 * that were given out), K11 (what was spent stays spent).
 */
import { isWithin, present, ReeveError, rootActivation, type ActivationId, type RunId } from '@reeve/core'
import { decode, type JournalEvent } from '@reeve/journal'
import { type AccountState, unpack } from '@reeve/engine'
import { type Batch, callerIn, oldRunRow } from '@reeve/engine/storage'
import type { MigrationSource } from './source.ts'

export interface RunRow {
  readonly num: number
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string
  readonly position: number
  readonly created: number
  readonly status: string | null
  readonly ended: number | null
  /** Its pause: `next`, `now`, `after-model`, `after-tools`; `human`, `human-now`; `cancelled` while it was paused. */
  readonly control: string | null
  readonly reached: number
}

interface ActivationRow {
  readonly id: ActivationId
  readonly epoch: number
  readonly invocation: string | null
  readonly notified: number
  readonly working: number
  readonly resting: number
  readonly settled: number
  readonly seq: number
  readonly touched: number
  readonly stuck: string | null
}

export interface OldEntry {
  readonly act: ActivationId
  readonly seq: number
  readonly at: number
  /** The event as JSON, with its long strings. */
  readonly text: string
  readonly event: JournalEvent
}

interface OldInboxRow {
  readonly act: ActivationId
  readonly key: string
  readonly body: string | null
  readonly taken: number
}

interface OldQuestionRow {
  readonly id: string
  readonly act: ActivationId
  readonly address: string
  readonly key: string
  readonly kind: string
  readonly until: number | null
  readonly at: number
  readonly body: string
}

export interface OldRun {
  readonly row: RunRow
  /** In the order of their births. */
  readonly activations: readonly ActivationRow[]
  /** In the order of the feed. */
  readonly entries: readonly OldEntry[]
  readonly inbox: readonly OldInboxRow[]
  readonly questions: readonly OldQuestionRow[]
  readonly accounts: readonly {
    readonly act: ActivationId
    readonly state: AccountState
    readonly since: number | null
  }[]
}

export const runColumns = 'num, id, agent, version, caller, position, created, status, ended, control, reached'

interface OldEntryRow {
  readonly act: ActivationId
  readonly seq: number
  readonly at: number
  readonly body: string
  readonly blobs: string | null
}

/**
 * The entries of a run or of a stream. Throws `store.corrupt` where a long string is missing, and what `decode` says of
 * an event.
 */
export async function entriesOf(source: MigrationSource, run: string): Promise<readonly OldEntry[]> {
  const rows = await source.rows<OldEntryRow>(
    'SELECT act, seq, at, body, blobs FROM entry WHERE run = $1 ORDER BY position',
    [run],
  )
  const hashes = rows.some(({ blobs }) => blobs !== null)
    ? await source.rows<{ hash: string; body: string }>(
        'SELECT b.hash, b.body FROM blob_use u JOIN blob b ON b.hash = u.hash WHERE u.run = $1',
        [run],
      )
    : []
  const bodies = new Map(hashes.map(({ hash, body }) => [hash, body]))
  const read = (hash: string): string => {
    const body = bodies.get(hash)
    if (body === undefined)
      throw new ReeveError('store.corrupt', `the payload ${hash} is missing`, {
        hint: 'Restore the store from a backup.',
      })
    return body
  }
  return rows.map(({ act, seq, at, body, blobs }) => {
    const text = blobs === null ? body : whole(body, read)
    return { act, seq, at, text, event: decode(text) }
  })
}

function whole(body: string, read: (hash: string) => string): string {
  try {
    return unpack(body, read)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    throw new ReeveError('store.corrupt', `an entry is not JSON: ${thrown.message}`, {
      hint: 'Restore the store from a backup.',
    })
  }
}

/** Throws `journal.hole` where its logs are not whole, and as `entriesOf`. */
export async function oldRun(source: MigrationSource, row: RunRow): Promise<OldRun> {
  const of = [row.id]
  const run: OldRun = {
    row,
    activations: await source.rows<ActivationRow>(
      'SELECT id, epoch, invocation, notified, working, resting, settled, seq, touched, stuck FROM activation WHERE run = $1 ORDER BY num',
      of,
    ),
    entries: await entriesOf(source, row.id),
    inbox: await source.rows<OldInboxRow>('SELECT act, key, body, taken FROM inbox WHERE run = $1 ORDER BY num', of),
    questions: await source.rows<OldQuestionRow>(
      'SELECT id, act, address, key, kind, until, at, body FROM question WHERE run = $1 ORDER BY num',
      of,
    ),
    accounts: (
      await source.rows<{ act: ActivationId; state: string; since: number | null }>(
        'SELECT act, state, since FROM account WHERE run = $1 ORDER BY act',
        of,
      )
    ).map(({ act, state, since }) => ({ act, since, state: JSON.parse(state) as AccountState })),
  }
  mustBeWhole(run)
  return run
}

function mustBeWhole({ row, activations, entries }: OldRun): void {
  const lengths = new Map<string, number>()
  for (const { act, seq } of entries) {
    const expected = lengths.get(act) ?? 0
    if (seq !== expected) throw hole(`the journal of ${act} goes on at ${seq} after ${expected} entries`)
    lengths.set(act, seq + 1)
  }
  const short = activations.find(({ id, seq }) => lengths.get(id) !== seq)
  if (short !== undefined)
    throw hole(`the journal of ${short.id} has ${lengths.get(short.id) ?? 0} entries, not ${short.seq}`)
  if (lengths.get(rootActivation(row.id)) === undefined) throw hole('its first entry is missing')
}

const hole = (what: string): ReeveError =>
  new ReeveError('journal.hole', what, { hint: 'Restore the source from a backup; other runs are not touched.' })

/** Adds to a batch everything that this run is in a store of today. */
export function addRun(batch: Batch, old: OldRun): void {
  const { row, activations, entries, questions } = old
  const { id: run } = row
  const epoch = Math.max(1, ...activations.map((each) => each.epoch))
  batch.runs.push({
    id: run,
    agent: row.agent,
    version: row.version,
    caller: row.caller === '{}' ? null : row.caller,
    at: row.created,
    owner: null,
    epoch,
  })
  batch.epochs.set(run, epoch)
  batch.acts.push(...activations.map(({ id }) => id))
  for (const { act, seq, at, text } of entries) batch.log.push({ act, run, seq, at, body: text })
  for (const { act, state, since } of old.accounts)
    batch.accounts.push({
      act,
      run,
      state: since === null ? state : stopped(state, since, act, activations),
    })
  if (row.ended !== null) {
    const { usage, why } = oldRunRow({ ...row, ended: row.ended }, () =>
      entries.flatMap(({ act, event }) =>
        act === rootActivation(run) && event.type === 'activation.settled' ? [{ activation: act, event }] : [],
      ),
    )
    const more = present({ usage, why: why === undefined ? undefined : JSON.stringify(why) })
    return void batch.ended.push({ run, status: row.status ?? 'failed', at: row.ended, ...more })
  }

  const { tenant } = callerIn(row)
  batch.questions.push(...questions.map((question) => ({ ...question, ...present({ tenant }) })))
  const mail = mailOf(old)
  for (const { act, key, body, taken } of mail) {
    batch.rows.push({ act, target: 'activation', key, kinds: undefined, body: body ?? '', at: row.created, from: run })
    if (taken === 1) batch.taken.push({ act, key })
  }
  const control = controlOf(row)
  if (control !== null) batch.control.push({ run, state: control })
  const stuck = activations.find((each) => each.settled === 0 && each.stuck !== null)?.stuck
  if (stuck !== undefined) batch.stuck.push({ run, reason: stuck })
  if (rests(old)) batch.parked.push({ run, heard: 0 })
}

/**
 * The mail of those at work. What was read stays, so that nothing else comes under its key. A worker's last word was
 * mail once; today its leader finds it in the worker's log, and would hear it twice.
 */
function mailOf({ activations, entries, inbox }: OldRun): readonly OldInboxRow[] {
  const open = new Set(activations.flatMap(({ id, settled }) => (settled === 0 ? [id] : [])))
  const over = new Set(entries.flatMap(({ act, event }) => (event.type === 'activation.settled' ? [act] : [])))
  return inbox.filter(
    ({ act, key }) =>
      open.has(act) && !(key.startsWith('end:') && over.has(`${act}>${key.slice('end:'.length)}` as ActivationId)),
  )
}

/** Whether nothing in it can move before the outside or the clock acts: then it need not be read before. */
const rests = ({ row, activations, inbox }: OldRun): boolean =>
  (row.control === null || row.reached === 1) &&
  inbox.every(({ taken }) => taken === 1) &&
  activations.every(
    (each) =>
      each.settled === 1 ||
      (each.resting === 1 && each.working === 0 && each.notified === 0 && each.invocation !== null),
  )

/**
 * What of its pause the run's row says; the rest is in its root's log. One that was cancelled while it was paused is
 * paused no more.
 */
function controlOf({ control, reached }: RunRow): string | null {
  if (control === null || control === 'cancelled') return null
  if (control === 'human' || control === 'human-now') return 'human_control'
  return reached === 1 ? 'paused' : 'pausing'
}

/** A clock that ran when its process died stands since that process was last heard of. */
function stopped(
  state: AccountState,
  since: number,
  act: ActivationId,
  activations: readonly ActivationRow[],
): AccountState {
  const working = activations.filter(({ id, working: works }) => works === 1 && isWithin(id, act))
  const heard = Math.max(since, ...working.map(({ touched }) => touched))
  return { ...state, ms: state.ms + heard - since }
}
