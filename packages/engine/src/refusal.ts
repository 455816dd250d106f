/** What every store says of content that it refuses: it would fail again. */
import { messageOf, ReeveError } from '@reeve/core'

/** `run`: whose entry it was; undefined: a post from outside. */
export function refusedBy(thrown: unknown, store: string, run: string | undefined): ReeveError {
  const whose = run === undefined ? 'a post from outside' : `an entry of the run "${run}"`
  return new ReeveError('store.refused', `${store} refuses ${whose}: ${messageOf(thrown)}`, {
    hint: 'Nothing of it was recorded, and no other run is affected. Retry only after the agent or its input has changed.',
    cause: thrown,
  })
}
