/**
 * The mark of a store that is redacted: what was kept out of it by one process must not be written into it by the next.
 *
 * Owns: where the mark stands, and what is said to a process that has no rules. Does not own: when it is looked at
 * (each engine, before every word from outside), redaction (core/redact.ts).
 */
import { ReeveError } from '@reeve/core'

/** A value under a name that no stream can have. Persistent. */
export const storeMark = { stream: '!store', key: 'redacted' } as const

/** This process was given no rules, and another one was. */
export const storeIsRedacted = (name: string): ReeveError =>
  new ReeveError(
    'store.redacted',
    `${name} is redacted, and this process has no redaction rules: it would record what others remove`,
    {
      hint: 'Give createRuntime the same `redact` as the processes that write to it; for a command, name the config that exports `redact` with --config. Reading needs no rules. Nothing was written.',
    },
  )
