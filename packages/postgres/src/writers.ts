/**
 * Commits under way, as readers of the feed of all runs see them.
 *
 * Entries get their numbers (`entry.num`) when they are written, and become visible when their transaction commits: a
 * later number may be visible before an earlier one. So each commit says before it takes a number which one was the
 * last: by a shared advisory lock that lasts as long as its transaction. It says so to all sessions at once, also while
 * the commit is not visible yet, and it is gone with the session, however that ends.
 *
 * Owns: the lock's key. Does not own: what is written (commit.ts) or read (reader.ts). No other transaction of the
 * server delays readers, and no writer waits for another one or for a reader.
 */
/** The first half of the key: one for each schema. */
const half = (s: string): string => `hashtext('reeve feed ${s}')`
/** The second half has 31 bits of the number: the rest is known, since no commit lasts for 2^30 entries. */
const bits = 2_147_483_648

/** The last number that was given: a sequence that was never asked has its first one as `last_value`, to be given yet. */
export const lastGiven = 'CASE WHEN is_called THEN last_value ELSE last_value - 1 END'

/** Sent by a commit before its first entry. */
export const announce = (s: string): string =>
  `SELECT pg_advisory_xact_lock_shared(${half(s)}, ((${lastGiven}) % ${bits})::int) FROM ${s}.entry_num_seq`

/** `before`: no commit under way has a number up to it; null: no commit is under way. `$1`: the last number now. */
export const firstWriter = (s: string): string =>
  `SELECT min($1::bigint + CASE WHEN ahead < ${bits / 2} THEN ahead ELSE ahead - ${bits} END) AS before FROM (
    SELECT (objid::bigint - $1::bigint % ${bits} + ${bits}) % ${bits} AS ahead FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid = (${half(s)}::bigint & 4294967295)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) w`
