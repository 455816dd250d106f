/**
 * Versions of a store's tables: which upgrades make tables of one version into those of this Reeve, and what is said of
 * a store that none leads to.
 *
 * Owns: the rule, for every store alike. Does not own: tables and upgrades (the stores).
 * Holds: K12 (every schema that was released is upgraded; a newer one is refused, never guessed).
 */
import { ReeveError } from '@reeve/core'

/** The tables of a store: their version, and from each version the step that makes them of the one before. */
export interface SchemaVersions<Upgrade> {
  /** Raised with every change of the tables. */
  readonly version: number
  /** By the version that they lead to, without a gap down to the first one after the oldest released. */
  readonly upgrades: Readonly<Record<number, Upgrade>>
}

/**
 * The upgrades that tables of version `found` need, in order; empty for those of this version. `where`: the store, as
 * errors name it. Throws `store.newer`, and `store.older` where an upgrade is missing. Pure.
 */
export function upgradesFrom<Upgrade>(
  found: number,
  { version, upgrades }: SchemaVersions<Upgrade>,
  where: string,
): readonly Upgrade[] {
  if (found > version)
    throw new ReeveError(
      'store.newer',
      `${where} was written by a newer Reeve (schema ${found}, this one knows ${version})`,
      { hint: 'Upgrade Reeve in this process. Nothing was changed.' },
    )
  const steps = Array.from({ length: version - found }, (_, i) => upgrades[found + 1 + i])
  if (steps.every((step) => step !== undefined)) return steps
  throw new ReeveError(
    'store.older',
    `${where} was written by a Reeve that was never released (schema ${found}, this one knows ${version})`,
    { hint: 'Name another store, or let its runs end with the Reeve that wrote it. Nothing was changed.' },
  )
}
