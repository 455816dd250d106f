/**
 * An attack: what must hold, and how it is tried, as data.
 *
 * Owns: the form of an attack, how it says that something fell. Does not own: the world that it is tried on (world.ts),
 * any attack (attacks/), the order in which they run (suite.ts).
 * Holds: an attack says what must not happen, and leaves open by which words it is refused.
 */
import type { World } from './world.ts'

/** What an attack needs beside a server: then it runs by command alone. */
export type Need = 'browser' | 'load' | 'minute' | 'postgres'

export interface Attack {
  /** Unique, in kebab case: the name for `--only`. */
  readonly id: string
  /** The heading it stands under. */
  readonly area: string
  /** What holds, as a sentence. */
  readonly holds: string
  readonly needs?: Need
  /** It works, and why it is left open, as docs/how-to/security.md says. The suite tells when it works no more. */
  readonly leftOpen?: string
  /** Tries it. Rejects with `Fell` where it works, with `Skipped` where what it needs is not there. */
  readonly run: (world: World) => Promise<void>
}

/** An attack worked. */
export class Fell extends Error {
  override readonly name = 'Fell'
}

/** What an attack needs is not there. */
export class Skipped extends Error {
  override readonly name = 'Skipped'
}

/** Throws `Fell` where this does not hold. `what`: what was seen instead. */
export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Fell(what)
}

/** The attacks of an area. */
export const area = (name: string, attacks: readonly Omit<Attack, 'area'>[]): readonly Attack[] =>
  attacks.map((each) => ({ ...each, area: name }))

/** A text that is not too long for a line. */
export const short = (value: unknown, most = 160): string => {
  const said = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
  return said.length > most ? `${said.slice(0, most)}…` : said
}
