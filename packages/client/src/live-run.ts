/**
 * The live state of a run: a snapshot, and patches applied to it.
 *
 * Owns: how a patch changes the state. Pure. Does not own: the stream (remote-run.ts).
 * Holds: what a patch does not name is the same object as before, so a page compares by identity.
 */
import type { LiveMessage, LivePatch, LiveRun, PartMessage } from '@reeve/server/wire'

/** The state of a run, and the pieces of text that came with this message. */
export interface LiveState {
  readonly run: LiveRun
  readonly parts: readonly PartMessage[]
}

/** The state after a patch. What the patch does not name is the same object; nothing is changed in place. */
export function applyPatch(run: LiveRun, patch: LivePatch): LiveRun {
  const next: Record<string, unknown> = { ...run }
  for (const [part, changes] of Object.entries(patch)) {
    if (!Object.hasOwn(run, part) || changes === undefined) continue
    next[part] =
      part === 'head' ? changes : applied(run[part as keyof LiveRun] as Readonly<Record<string, unknown>>, changes)
  }
  return next as unknown as LiveRun
}

/** By own members alone: a key may be called as a member that every object has. */
function applied<T>(values: Readonly<Record<string, T>>, changes: object): Readonly<Record<string, T>> {
  const kept = new Map(Object.entries(values))
  for (const [key, value] of Object.entries(changes) as [string, T | null][])
    if (value === null) kept.delete(key)
    else kept.set(key, value)
  return Object.fromEntries(kept)
}

const noParts: readonly PartMessage[] = []

/** The state after a message; undefined before the first snapshot. */
export function applyMessage(state: LiveRun | undefined, message: LiveMessage): LiveState | undefined {
  if (message.type === 'snapshot') return { run: message.run, parts: noParts }
  if (state === undefined) return undefined
  return message.type === 'patch'
    ? { run: applyPatch(state, message.patch), parts: noParts }
    : { run: state, parts: message.parts }
}
