/**
 * Options of the mailbox of a planned team, their defaults, and what of them is data.
 *
 * Owns: the types. Does not own: what any of them does (mailbox.ts), their check (../checks.ts).
 */
import type { Json } from '@reeve/core'
import type { TeamPolicy } from '../policy.ts'

/** The bounds of a mailbox. */
export interface MailboxOptions {
  /** How many messages are kept in total, read or not. Default 1,000. */
  readonly maxMessages?: number
  /** How many unread messages one inbox may hold. Default 200. */
  readonly maxPerRecipient?: number
  /**
   * What happens to a message above a bound. `keep-newest-half` (default): all but the newest half of the bound,
   * rounded down, is dropped; the new message is kept. `drop-oldest`: the oldest message is dropped. `drop-newest`: the
   * new message is refused (`full`); with several recipients only the full inboxes miss it.
   */
  readonly overflow?: 'keep-newest-half' | 'drop-oldest' | 'drop-newest'
  /** Largest content of one message, in bytes of JSON. Default 1 MiB. */
  readonly maxBytes?: number
  /** How many messages one member may send. Default 0: no limit. */
  readonly quota?: number
  /**
   * How many replies members may exchange without other progress before this counts as a livelock. Default 100; 0: no
   * limit.
   */
  readonly maxExchanges?: number
  /** Decides on each message of a member or an operator outside, before the team's own policy is asked. */
  readonly policy?: TeamPolicy
}

/** The data part of these options, for a team's version. */
export const mailboxData = ({ policy: _policy, ...data }: MailboxOptions = {}): Json => data

/** Defaults (spec team 1.22). */
export const mailDefaults = {
  maxMessages: 1_000,
  maxPerRecipient: 200,
  overflow: 'keep-newest-half',
  maxBytes: 1024 * 1024,
  maxExchanges: 100,
} as const
