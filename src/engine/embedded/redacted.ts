/**
 * Whether a store is redacted: what was kept out of it by one process must not be written into it by the next.
 *
 * Owns: the mark in the store, and the refusal of a process that has no rules. Does not own: redaction (core/redact.ts, journal/redaction.ts).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { ReeveError, redactor, type Redaction } from '../../core/index.ts'

/** A row among the values, under a name that no stream can have: older versions of Reeve pass it over. Persistent. */
const mark = { stream: '!store', key: 'redacted' } as const

/** Guards a store that is redacted. */
export class RedactedStore {
  readonly #file: string
  readonly #rules: Redaction | undefined
  readonly #look: StatementSync

  /** A process with rules marks the store. */
  constructor(db: DatabaseSync, file: string, rules: Redaction | undefined) {
    this.#file = file
    this.#rules = rules
    this.#look = db.prepare('SELECT 1 AS marked FROM value WHERE stream = ? AND key = ?')
    if (redactor(rules) !== undefined && !this.#marked)
      db.prepare(`INSERT OR IGNORE INTO value(stream, key, version, body) VALUES(?, ?, 1, 'true')`).run(mark.stream, mark.key)
  }

  get #marked(): boolean {
    return this.#look.get(mark.stream, mark.key) !== undefined
  }

  /** Throws `store.redacted` where this process was given no rules and another one was: looked at before each word, because the other one may have come later. */
  mustHaveRules(): void {
    if (this.#rules !== undefined || !this.#marked) return
    throw new ReeveError(
      'store.redacted',
      `${this.#file} is redacted, and this process has no rules: it would record what others take out`,
      {
        hint: 'Give createRuntime the same `redact` as the processes that write to it; for a command, name the config that exports `redact` with --config. Reading needs no rules. Nothing was written.',
      },
    )
  }
}
