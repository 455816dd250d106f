/**
 * Whether a store is redacted: what was kept out of it by one process must not be written into it by the next.
 *
 * Owns: the mark as a row among the values. Does not own: what is said
 * (../redaction-mark.ts), redaction (core/redact.ts, journal/redaction.ts).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { redactor, type Redaction } from '@reeve/core'
import { storeIsRedacted, storeMark } from '@reeve/engine'

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
      db.prepare(`INSERT OR IGNORE INTO value(stream, key, version, body) VALUES(?, ?, 1, 'true')`).run(
        storeMark.stream,
        storeMark.key,
      )
  }

  get #marked(): boolean {
    return this.#look.get(storeMark.stream, storeMark.key) !== undefined
  }

  /**
   * Throws `store.redacted` where this process was given no rules and another one was: looked at before each word,
   * because the other one may have come later.
   */
  mustHaveRules(): void {
    if (this.#rules !== undefined || !this.#marked) return
    throw storeIsRedacted(this.#file)
  }
}
