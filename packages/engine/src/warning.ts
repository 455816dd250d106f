/**
 * Warnings: where a process says what is no failure of a run.
 *
 * Owns: the default. Does not own: what is warned of, `onWarning`.
 */

/** Where warnings go by default. */
export const warning = (code: string, message: string): void =>
  process.emitWarning(message, { type: 'ReeveWarning', code })
