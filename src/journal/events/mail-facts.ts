/**
 * Facts of a team's mail and topics: what was taken, given up, read, published.
 *
 * Owns: these events. Does not own: who emits them (../team/mail, ../team/work), what is made of them (team-fold.ts).
 * Spec team R-7.
 */
import type { Json, MessageId } from '../../core/index.ts'

interface Fact {
  readonly op: 'fact'
  readonly address: string
}

/** Mail was taken. */
export interface MailAccepted extends Fact {
  readonly type: 'mail.accepted'
  /** Strictly increasing in the team, from 1. */
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  /** Who it is, as they say: only with `operator`. */
  readonly by?: string
  /** A member, `role:<name>` or `*`. */
  readonly to: string
  /** Whose inboxes it is in. Empty: nobody of that name is there (yet). */
  readonly recipients: readonly string[]
  /** The message that brought it; its body has the content. */
  readonly message?: MessageId
  /** Where no message brought it. */
  readonly content?: Json
  readonly kind?: string
  readonly correlationId?: string
}
/** Mail was not taken. */
export interface MailRefused extends Fact {
  readonly type: 'mail.refused'
  readonly from: string
  readonly by?: string
  readonly to: string
  readonly reason: 'too_large' | 'quota' | 'closed' | 'full' | 'invalid' | 'policy' | 'loop' | 'livelock'
  readonly message?: string
}
/** There was too much: what is older than `from` was given up there. */
export interface MailTruncated extends Fact {
  readonly type: 'mail.truncated'
  /** In whose inbox; absent: in the whole mailbox, and so in every inbox. */
  readonly member?: string
  /** The oldest that is kept; undefined if none is. */
  readonly from?: number
  /** How many were given up there. */
  readonly dropped: number
  /** How many messages of the team were ever given up, wherever; each counts once. */
  readonly total: number
}
/** Mail that had waited for somebody to come is in their inbox. */
export interface MailForwarded extends Fact {
  readonly type: 'mail.forwarded'
  readonly member: string
  readonly seqs: readonly number[]
}
/** A member has taken mail out of its inbox. */
export interface MailDelivered extends Fact {
  readonly type: 'mail.delivered'
  readonly member: string
  readonly seqs: readonly number[]
}
/** A member has ended, and never read this. */
export interface MailUnread extends Fact {
  readonly type: 'mail.unread'
  readonly member: string
  readonly seqs: readonly number[]
}

/** An entry was added to a topic. */
export interface TopicPublished extends Fact {
  readonly type: 'topic.published'
  readonly topic: string
  /** From 1 in its topic. */
  readonly seq: number
  readonly task: string
  readonly bytes: number
}
/** An entry was refused; the task goes on. */
export interface TopicRefused extends Fact {
  readonly type: 'topic.refused'
  readonly topic: string
  readonly task: string
  readonly reason: 'too_large' | 'undeclared'
}

/** All of them. */
export type MailFactEvent =
  | MailAccepted
  | MailRefused
  | MailTruncated
  | MailForwarded
  | MailDelivered
  | MailUnread
  | TopicPublished
  | TopicRefused
