/**
 * Mail: what can stand in an activation's inbox, and which of it the activation is given as an arrival.
 *
 * Owns: the shape of rows and their translation. Does not own: operators' commands, which an engine carries out itself.
 */
import type { ActivationId, Json, MessageId, Outcome, Usage } from '@reeve/core'
import type { ArrivalEvent, Charge, ControlIgnored } from '@reeve/journal'
import type { Post } from './port.ts'
import type { StopCause } from './replay/activation-host.ts'
import { unanswered } from './question-record.ts'

/** What a row's body can be: what was posted from outside, and what activations and the clock put there. */
export type InboxMail =
  | Exclude<Post, { readonly type: 'message' | 'cancel' }>
  /** `from`: the activation that sent it; absent: it came from outside, `by` whom its caller said. */
  | {
      readonly type: 'message'
      readonly id: string
      readonly from?: ActivationId
      readonly by?: string
      readonly body: Json
    }
  | ({ readonly type: 'cancel'; readonly reason: string; readonly by?: string; readonly limit?: 'minutes' } & StopCause)
  | { readonly type: 'deadline'; readonly address: string }
  | { readonly type: 'refused'; readonly id: string; readonly reason: 'unknown' | 'closed' }
  /**
   * The last word of a worker that is placed apart: a run of its own, which does not share its leader's transactions.
   */
  | {
      readonly type: 'end'
      readonly address: string
      readonly outcome: Outcome
      readonly usage?: Usage
      readonly charge?: Charge
    }

/** An operator's command: not for the code, but for the engine. */
export type CommandMail = Extract<
  InboxMail,
  { readonly type: 'pause' | 'resume' | 'settle-doubt' | 'settle-divergence' }
>

/** The author of a command, as its event tells them. */
export const by = (mail: { readonly by?: string }): { by?: string } => (mail.by === undefined ? {} : { by: mail.by })

/** What an activation is given of a row; undefined for an operator's command. */
export function arrivalOfMail(mail: InboxMail): ArrivalEvent | undefined {
  switch (mail.type) {
    case 'answer':
      return { type: 'ask.settled', address: mail.address, outcome: mail.outcome }
    case 'deadline':
      return { type: 'ask.settled', address: mail.address, outcome: unanswered }
    case 'message': {
      const sender = mail.from === undefined ? by(mail) : { from: mail.from }
      return { type: 'message.received', id: mail.id as MessageId, ...sender, body: mail.body }
    }
    case 'refused':
      return { type: 'message.refused', id: mail.id as MessageId, reason: mail.reason }
    case 'end':
      return {
        type: 'worker.settled',
        address: mail.address,
        outcome: mail.outcome,
        ...(mail.usage === undefined ? {} : { usage: mail.usage }),
        apart: true,
        ...(mail.charge === undefined ? {} : { charge: mail.charge }),
      }
    case 'cancel':
      return {
        type: 'cancel.received',
        reason: mail.reason,
        ...by(mail),
        ...(mail.limit === undefined ? {} : { limit: mail.limit }),
        ...(mail.timedOutMs === undefined ? {} : { timedOutMs: mail.timedOutMs }),
        ...(mail.outcome === undefined ? {} : { outcome: mail.outcome }),
        ...(mail.keeps === undefined ? {} : { keeps: mail.keeps }),
      }
    default:
      return undefined
  }
}

/** The reason and the author of a command, as its event tells them. */
export const said = (mail: { readonly reason?: string; readonly by?: string }): { reason?: string; by?: string } =>
  mail.reason === undefined ? by(mail) : { reason: mail.reason, ...by(mail) }

/** The time that a pause was given, as its event tells it. */
export const within = (mail: { readonly withinMs?: number }): { withinMs?: number } =>
  mail.withinMs === undefined ? {} : { withinMs: mail.withinMs }

/**
 * Why a command to a run that is paused, taken over or neither changes nothing; undefined: it is carried out (spec team
 * Pure.
 */
export function whyIgnored(
  mail: Extract<CommandMail, { type: 'pause' | 'resume' }>,
  held: 'none' | 'pause' | 'human',
): string | undefined {
  if (mail.type === 'pause') {
    if (held === 'none' || (held === 'pause' && mail.takeover === true)) return undefined
    return held === 'human' ? 'a human has it already' : 'it is paused already'
  }
  if (mail.handBack === true) return held === 'human' ? undefined : 'no human has taken it over'
  return held === 'pause'
    ? undefined
    : held === 'human'
      ? 'a human has taken it over, and must hand it back'
      : 'it is not paused'
}

/** A command that changes nothing, as it is noted. */
export const ignored = (mail: Extract<CommandMail, { type: 'pause' | 'resume' }>, why: string): ControlIgnored => ({
  type: 'control.ignored',
  command:
    mail.type === 'pause'
      ? mail.takeover === true
        ? 'takeover'
        : 'pause'
      : mail.handBack === true
        ? 'handback'
        : 'resume',
  why,
  ...commandId(mail),
  ...said(mail),
})

/** The idempotency key of a command, as its event tells it. */
export const commandId = (mail: { readonly id?: string }): { id?: string } =>
  mail.id === undefined ? {} : { id: mail.id }
