/**
 * Mail from outside: an operator writes to members of a planned team.
 *
 * Owns: the check of the message, sending it to the team's leader. Does not own: finding the team (find-team.ts),
 * delivery (../../team/mail).
 * Holds: K2: a message with one id is sent once, however many processes post it. Operators receive no reply; the
 * journal has the result (`mail.accepted`, `mail.refused`).
 */
import {
  expects,
  jsonCheck,
  mustNotBeReeveMessage,
  newId,
  optionProblems,
  present,
  refuseProblems,
  required,
  text,
  unchecked,
  type Checks,
  type RunId,
} from '@reeve/core'
import { teamMessage, type MailToSend } from '@reeve/agent'
import type { Engine } from '@reeve/engine'
import { teamOf } from './find-team.ts'

/** Mail to members of a planned team, from outside. */
export interface PostFromOutside extends MailToSend {
  /** The name of the user, recorded and shown to the recipients. The sender is always `operator`. */
  readonly by?: string
  /** The team: its activation, or its agent if that has one activation. Default: the root, else the only team. */
  readonly team?: string
  /** Makes the call idempotent: repeating an id sends no second message. Default: a new id. */
  readonly id?: string
  /** Ends the wait for a team that has not begun yet: the call rejects with the signal's reason, nothing was sent. */
  readonly signal?: AbortSignal
}

const checks: Checks<PostFromOutside> = {
  to: required(expects((given) => typeof given === 'string' && given.trim() !== '', 'a member, "role:<name>" or "*"')),
  content: required(jsonCheck),
  kind: text,
  correlationId: text,
  by: text,
  team: text,
  id: text,
  signal: unchecked,
}

/**
 * Sends a message to members of a team. Resolves when it is durable: `accepted`, or `closed` if the team has ended.
 * Waits while the run has no team yet. Rejects with `run.unknown`, and with `input.invalid` for an invalid message or
 * an ambiguous team.
 */
export async function postToTeam(
  { engine, run }: { readonly engine: Engine; readonly run: RunId },
  given: PostFromOutside,
): Promise<'accepted' | 'closed'> {
  refuseProblems('input.invalid', optionProblems(checks, given, 'post'), 'Nothing was sent.')
  const { by, team: named, id, signal, ...mail } = given
  signal?.throwIfAborted()
  const team = await teamOf(engine, run, named, signal)
  signal?.throwIfAborted()
  if (team === undefined) return 'closed'
  mustNotBeReeveMessage(mail.content, 'content')
  const body = teamMessage({ do: 'send', mail, receipt: false })
  const result = await engine.post({
    type: 'message',
    activation: team.id,
    id: id === undefined ? newId('msg') : `mail:${id}`,
    body,
    command: true,
    ...present({ by }),
  })
  return result === 'accepted' || result === 'lost' ? 'accepted' : 'closed'
}
