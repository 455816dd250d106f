/**
 * Facts of a team's mail and topics: what was accepted, dropped, read, published.
 *
 * Owns: these events. Does not own: who emits them (../../team), their view (team-fold.ts).
 * Spec team R-7.
 */
import type { Json, MessageId } from '@reeve/core'
import type { FactCommand } from './fact-command.ts'

/** The team accepted mail. */
export interface MailAccepted extends FactCommand {
  readonly type: 'mail.accepted'
  /** Strictly increasing in the team, from 1. */
  readonly seq: number
  /** A member, `lead`, or `operator`. */
  readonly from: string
  /** The operator's name, as given. Only with `operator`. */
  readonly by?: string
  /** A member, `role:<name>` or `*`. */
  readonly to: string
  /** The members whose inboxes have it. Empty: the team has no such member so far. */
  readonly recipients: readonly string[]
  /** The message that brought it; its body has the content. */
  readonly message?: MessageId
  /** Where no message brought it. */
  readonly content?: Json
  readonly kind?: string
  readonly correlationId?: string
}
/** The team refused mail. */
export interface MailRefused extends FactCommand {
  readonly type: 'mail.refused'
  readonly from: string
  readonly by?: string
  readonly to: string
  readonly reason: 'too_large' | 'quota' | 'closed' | 'full' | 'invalid' | 'policy' | 'loop' | 'livelock'
  readonly message?: string
}
/** A bound was reached: mail older than `from` was dropped. */
export interface MailTruncated extends FactCommand {
  readonly type: 'mail.truncated'
  /** The member whose inbox it was. Absent: the whole mailbox, and so every inbox. */
  readonly member?: string
  /** The oldest message that is kept. Absent: none is kept. */
  readonly from?: number
  /** How many messages were dropped this time. */
  readonly dropped: number
  /** How many messages of the team were dropped so far. Each counts once. */
  readonly total: number
}
/** Mail that waited for a member to join was put into the member's inbox. */
export interface MailForwarded extends FactCommand {
  readonly type: 'mail.forwarded'
  readonly member: string
  readonly seqs: readonly number[]
}
/** A member has read mail from its inbox. */
export interface MailDelivered extends FactCommand {
  readonly type: 'mail.delivered'
  readonly member: string
  readonly seqs: readonly number[]
}
/** A member has ended without reading this mail. */
export interface MailUnread extends FactCommand {
  readonly type: 'mail.unread'
  readonly member: string
  readonly seqs: readonly number[]
}

/** An entry was added to a topic. */
export interface TopicPublished extends FactCommand {
  readonly type: 'topic.published'
  readonly topic: string
  /** From 1 in its topic. */
  readonly seq: number
  readonly task: string
  readonly bytes: number
}
/** An entry was refused; the task goes on. */
export interface TopicRefused extends FactCommand {
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
