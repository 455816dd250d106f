/**
 * The mailbox of a team: what was sent, who has it, what was given up (spec team 1.7, R-7). Pure but for being written to.
 *
 * Owns: numbers, bounds, inboxes, copies. Does not own: how mail comes in and goes out (office.ts).
 */
import type { Mail, MailToSend } from '../../agent/index.ts'
import type { TeamPolicy } from '../staff/policy.ts'

/** The bounds of a mailbox. */
export interface MailboxOptions {
  /** How many messages are kept in all. Default 1,000. */
  readonly maxMessages?: number
  /** How many one inbox may hold unread. Default 200. */
  readonly maxPerRecipient?: number
  /** What is given up above a bound. `keep-newest-half` (default): all but the newest half of the bound. `drop-oldest`, `drop-newest`: one. */
  readonly overflow?: 'keep-newest-half' | 'drop-oldest' | 'drop-newest'
  /** Bytes of the content of one message as JSON. Default 1 MiB. */
  readonly maxBytes?: number
  /** How many messages a member may send. Default 0: no limit. */
  readonly quota?: number
  /** How many replies may go to and fro between members while nothing else comes of it, before it is taken for a livelock. Default 100; 0: no limit. */
  readonly maxExchanges?: number
  readonly policy?: TeamPolicy
}

export type { Mail, MailToSend }
