/**
 * `reeve post`: writes to members of a planned team, without running anything. Owns: what counts as JSON and what as
 * text.
 */
import { thisUser, whereOf, type CommandContext, quoted } from '../context.ts'
import { exits, type Exit } from '../exit.ts'
import { look } from '../store.ts'
import { readValue } from './answer.ts'

/** What may be said besides the message. */
export interface PostCommandOptions {
  readonly kind?: string
  readonly about?: string
  readonly team?: string
  readonly text?: boolean
}

/**
 * Writes to a member, a role (`role:<name>`) or everybody (`*`). What reads as JSON is JSON, everything else a text;
 * with `text` everything is.
 */
export function post(
  { terminal, options, cwd, interrupted: signal }: CommandContext,
  run: string,
  to: string,
  given: string,
  { kind, about, team, text = false }: PostCommandOptions,
): Promise<Exit> {
  return look(options, cwd, async (runtime) => {
    const posted = await runtime.handle(run).team.post({
      to,
      content: text ? given : readValue(given),
      by: thisUser(),
      signal,
      ...(kind === undefined ? undefined : { kind }),
      ...(about === undefined ? undefined : { correlationId: about }),
      ...(team === undefined ? undefined : { team }),
    })
    if (posted !== 'accepted') {
      terminal.line(`Nothing was sent: the team of ${run} has ended.`)
      return exits.failed
    }
    terminal.line(
      `The team of ${run} has the message. Whose inbox it is in: reeve events ${quoted(run)}${whereOf(options)}`,
    )
    return exits.done
  })
}
