/**
 * Find a team: the planned team that an operator posts to, recruits for or retires from.
 *
 * Owns: waiting until there is one. Does not own: which one a name means (find.ts), what is said to it (team-mail.ts,
 * team-staff.ts, takeover.ts).
 * K1: the journal alone knows: a team is an activation that has made a plan, so this works in any process, with or
 * without the user's code.
 */
import { ReeveError, type RunId } from '@reeve/core'
import { unknownRun, type Engine } from '@reeve/engine'
import { RunIndex, type IndexedActivation } from '@reeve/journal'
import { hasEnded } from '../feed/run-feed.ts'
import { runPages } from '../feed/whole-feed.ts'
import { teamNamed } from './find.ts'

/**
 * The team of a run that is meant: the named one (by its activation, or by its agent), else the root, else the only one
 * that goes on, else the only one there was. Waits while the run goes on and has no team yet. Undefined: the run has
 * ended without one. Throws `run.unknown`, and `input.invalid` with the teams there are where it must be named, is
 * none, or the run waits for an answer before it has one. `mustBeThere`: there will be none before whoever asks goes
 * on, so nothing is waited for.
 */
export async function teamOf(
  engine: Engine,
  run: RunId,
  named?: string,
  signal?: AbortSignal,
  { mustBeThere = false } = {},
): Promise<IndexedActivation | undefined> {
  const index = new RunIndex()
  for (;;) {
    signal?.throwIfAborted()
    const summary = await engine.summary(run)
    if (summary === undefined) throw unknownRun(run)
    for await (const page of runPages(engine, run, index.position)) for (const recorded of page) index.take(recorded)
    const found = teamNamed(index, named)
    if (found !== undefined) return found
    if (hasEnded(summary.status)) return undefined
    if (mustBeThere)
      throw new ReeveError('input.invalid', `the run "${run}" has no planned team`, {
        hint: 'Without a team there is no plan to edit: hand it back without `plan`. Nothing was changed.',
      })
    if (summary.status === 'waiting' || summary.status === 'stuck')
      throw new ReeveError('input.invalid', `the run "${run}" has no planned team so far`, {
        hint: 'The run waits for an answer: reeve show <run>. Nothing was changed.',
      })
    await engine.changed(run, index.position, signal)
  }
}
