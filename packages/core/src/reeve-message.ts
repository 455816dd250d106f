/**
 * Reeve message: a message that Reeve sends to itself. Its type begins with `$`.
 *
 * Owns: what such a message is, the refusal of one that a caller gives. Pure. Does not own: what each of them says
 * (engine/replay/channel.ts), who sent one: that is a field beside the body, which the runtime writes.
 */
import { ReeveError } from './errors.ts'
import { isObject, own, type Json, type JsonObject } from './json.ts'
import { beginning, visible } from './visible.ts'

/** How much of a type an error shows. Characters. */
const longestShown = 64

/** Whether a body is one of Reeve's own messages. */
export function isReeveMessage(body: unknown): body is JsonObject & { readonly type: string } {
  const type = isObject(body) ? own(body, 'type') : undefined
  return typeof type === 'string' && type.startsWith('$')
}

/** Throws `input.invalid` for a body from outside that would pass for a message of Reeve's own. `where`: its place. */
export function mustNotBeReeveMessage(body: Json, where: string): void {
  if (!isReeveMessage(body)) return
  const type = visible(beginning(body.type, longestShown))
  throw new ReeveError(
    'input.invalid',
    `${where}: type ${JSON.stringify(type)}: types that begin with "$" belong to Reeve`,
    {
      hint: "run.control.stop() stops a delegation; run.team.post({ to: '…', content: '…' }) writes to a team. Nothing was sent.",
    },
  )
}
