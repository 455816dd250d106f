/**
 * Stores of 0.1 that are read no more: the event stores of its Restate engine.
 *
 * Owns: what is said of one. Does not own: how it is recognised (the stores), its migration (migration/).
 */
import { ReeveError } from '@reeve/core'

/** Marks such a file ("Rees"). */
export const eventStoreId = 0x52656573

/** `from`: as the command takes it. */
export const olderStore = (where: string, from: string): ReeveError =>
  new ReeveError('store.older', `${where} is an event store that the Restate engine of 0.1 wrote`, {
    hint: `Migrate its runs into a new store: stop its workers, then \`reeve migrate ${from} reeve.db\` (or a postgres://… with another schema instead of reeve.db). Nothing was changed.`,
  })
