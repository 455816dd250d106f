/**
 * Posting from outside: somebody who is no member writes to members of a planned team.
 *
 * Owns: the check of what is given, saying it to the team's leader. Does not own: which team is meant (find-team.ts),
 * whether and by whom it is taken (../team/mail).
 * K2: mail under one id is one message, from however many processes it comes. Nobody replies to people outside: what
 * became of it is in the journal (`mail.accepted`, `mail.refused`).
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
  /** Who says so, for the journal and for whoever reads it. The sender is `operator`, whatever stands here. */
  readonly by?: string
  /** The team's activation, or its agent if that works only once. Default: the root, else the only team there is. */
  readonly team?: string
  /** The same id twice is one message. Default: every call is another. */
  readonly id?: string
  /**
   * Ends the wait for a team that is not there yet: the call rejects with the signal's reason, and nothing was sent.
   */
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
 * Writes to members of a team. Resolves when that is durable: `accepted`, or `closed` where the team has ended. Waits
 * while the run has no team yet. Rejects with `run.unknown`, and with `input.invalid` for mail that is none, or where
 * it is not clear which team is meant.
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
    activation: team.activation,
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
    const problem = content === undefined ? 'there is no content' : jsonProblem(content, 'content')
    if (problem !== undefined) problems.push(`post: ${problem}`)
    for (const name of ['kind', 'correlationId', 'by', 'team', 'id'] as const) {
      const value: unknown = texts[name]
      if (value !== undefined && (typeof value !== 'string' || value === ''))
        problems.push(`post: "${name}" is ${described(value)}, expected a text that is not empty`)
    }
  }
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '), { hint: 'Nothing was sent.' })
}
