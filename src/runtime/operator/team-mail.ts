/**
 * Mail from outside: an operator writes to members of a planned team.
 *
 * Owns: the check of the message, sending it to the team's leader. Does not own: finding the team (find-team.ts),
 * delivery (../team/mail).
 * Holds: K2: a message with one id is sent once, however many processes post it. Operators receive no reply; the
 * journal has the result (`mail.accepted`, `mail.refused`).
 */
import {
  described,
  hasNames,
  jsonProblem,
  newId,
  ReeveError,
  unknownNames,
  type NamesOf,
  type RunId,
} from '../../core/index.ts'
import { teamMessage, type MailToSend } from '../../agent/index.ts'
import type { Engine } from '../../engine/index.ts'
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

const names: NamesOf<PostFromOutside> = {
  to: true,
  content: true,
  kind: true,
  correlationId: true,
  by: true,
  team: true,
  id: true,
  signal: true,
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
  mustBeMail(given)
  const { by, team: named, id, signal, ...mail } = given
  signal?.throwIfAborted()
  const team = await teamOf(engine, run, named, signal)
  signal?.throwIfAborted()
  if (team === undefined) return 'closed'
  const body = teamMessage({ do: 'send', mail, receipt: false }, by)
  const result = await engine.post({
    type: 'message',
    activation: team.id,
    id: id === undefined ? newId('msg') : `mail:${id}`,
    body,
  })
  return result === 'accepted' || result === 'lost' ? 'accepted' : 'closed'
}

function mustBeMail(given: PostFromOutside): void {
  const problems = unknownNames(given, names, 'post')
  if (hasNames(given)) {
    const { to, content, ...texts } = given
    if (typeof to !== 'string' || to.trim() === '')
      problems.push(`post: "to" is ${described(to)}, expected a member, "role:<name>" or "*"`)
    const problem = content === undefined ? '"content" is missing' : jsonProblem(content, 'content')
    if (problem !== undefined) problems.push(`post: ${problem}`)
    for (const name of ['kind', 'correlationId', 'by', 'team', 'id'] as const) {
      const value: unknown = texts[name]
      if (value !== undefined && (typeof value !== 'string' || value === ''))
        problems.push(`post: "${name}" is ${described(value)}, expected a text that is not empty`)
    }
  }
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: 'Nothing was sent.' })
}
