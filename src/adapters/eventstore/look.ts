/**
 * One look at everything that an activation's next move depends on: its run, its accounts, who else moves, when it is due, what has come in.
 *
 * Owns: that question, asked as one statement so that it costs one round trip and sees one moment.
 */
import { runOf, type ActivationId } from '../../core/index.ts'
import type { AccountState } from '../../engine/index.ts'
import { lineOf } from './accounts.ts'
import type { Control, InboxRow, StoredAccount } from './port.ts'
import { marks, statement, type Rows, type Statement } from './sql.ts'

export interface Look {
  /** Undefined: there is no such activation. */
  readonly self:
    | {
        readonly epoch: number
        readonly seq: number
        readonly notified: boolean
        readonly settled: boolean
        readonly invocation: string | undefined
      }
    | undefined
  readonly control: Control | undefined
  readonly ended: boolean
  readonly accounts: readonly StoredAccount[]
  /** Up to three of those in the run that work or move: enough to say whether anybody does besides one or two. */
  readonly busy: readonly string[]
  readonly due: number | undefined
  readonly rows: readonly InboxRow[]
}

interface LookRow {
  readonly what: 'run' | 'self' | 'flags' | 'busy' | 'due' | 'account' | 'row'
  readonly a: string | null
  readonly b: string | null
  readonly n: number | null
  readonly m: number | null
}

/** An answer at the deadline still counts; a timer has no answers. */
export const dueMoment = "CASE WHEN kind = 'timer' THEN until ELSE until + 1 END"

const parts = {
  run: "SELECT 'run' AS what, control AS a, CAST(NULL AS TEXT) AS b, CAST(reached AS BIGINT) AS n, ended AS m FROM run WHERE id = $1",
  self: "SELECT 'self', NULL, NULL, epoch, seq FROM activation WHERE id = $2",
  flags: "SELECT 'flags', invocation, NULL, notified, settled FROM activation WHERE id = $2",
  busy: "SELECT 'busy', id, NULL, NULL, NULL FROM (SELECT id FROM activation WHERE run = $1 AND (working = 1 OR resting = 0) LIMIT 3) moving",
  due: `SELECT 'due', NULL, NULL, min(${dueMoment}), NULL FROM question WHERE act = $2 AND until IS NOT NULL`,
  row: "SELECT 'row', key, body, num, NULL FROM inbox WHERE act = $2 AND taken = 0",
}
const basis = [parts.run, parts.self, parts.flags, parts.busy, parts.due].join(' UNION ALL ')

/** First in every transaction that does not move the run's position: nobody else writes anything of the run until it is over. */
export const holdRun = (activation: ActivationId): Statement => statement('SELECT id FROM run WHERE id = $1 FOR UPDATE', runOf(activation))

/** `mail`: with what is unread. */
export function lookAt(activation: ActivationId, mail: 'mail' | 'no mail'): Statement {
  const line = lineOf(activation)
  const accounts = `SELECT 'account', act, state, since, NULL FROM account WHERE act IN (${marks(line.length, 2)})`
  const text = `${basis} UNION ALL ${accounts}${mail === 'mail' ? ` UNION ALL ${parts.row}` : ''}`
  return { text, params: [runOf(activation), activation, ...line] }
}

export function seen(rows: Rows | undefined): Look {
  const found = (rows ?? []) as unknown as readonly LookRow[]
  const one = (what: LookRow['what']): LookRow | undefined => found.find((row) => row.what === what)
  const all = (what: LookRow['what']): LookRow[] => found.filter((row) => row.what === what)
  const run = one('run')
  const self = one('self')
  const flags = one('flags')
  return {
    self:
      self === undefined
        ? undefined
        : { epoch: self.n!, seq: self.m!, notified: flags?.n === 1, settled: flags?.m === 1, invocation: flags?.a ?? undefined },
    control: controlOf(run?.a, run?.n),
    ended: (run?.m ?? null) !== null,
    accounts: accountsIn(all('account').map(({ a, b, n }) => ({ act: a!, state: b!, since: n }))),
    busy: all('busy').map(({ a }) => a!),
    due: one('due')?.n ?? undefined,
    rows: all('row')
      .sort((x, y) => x.n! - y.n!)
      .map(({ a, b }) => ({ key: a!, body: b! })),
  }
}

const controlOf = (control: string | null | undefined, reached: number | null | undefined): Control | undefined =>
  control === null || control === undefined ? undefined : { at: control as Control['at'], reached: reached === 1 }

/** The root's first: an activation's id is longer than those above it. */
function accountsIn(rows: readonly { readonly act: string; readonly state: string; readonly since: number | null }[]): StoredAccount[] {
  return rows
    .toSorted((x, y) => x.act.length - y.act.length)
    .map(({ act, state, since }) => ({ activation: act as ActivationId, state: JSON.parse(state) as AccountState, since }))
}

export const othersRest = (look: Look, activation: ActivationId): boolean => look.busy.every((id) => id === activation)
