/**
 * Where the suites of forks run: on which store, and whether the origins belong to a session. A file that runs a suite
 * once more says so, then imports it.
 */
import { createRuntime, type Runtime, type RuntimeOptions } from '@reeve/public'

export interface ForkPlace {
  /** The session of every origin. Default: none. */
  readonly session?: string
  /** An address of a new, empty store. Default: in memory. */
  readonly store?: () => Promise<string>
}

let place: ForkPlace = {}
/** To be called before a suite is imported. */
export const runsIn = (other: ForkPlace): void => {
  place = other
}

/** A runtime there. */
export async function runtimeThere(options: RuntimeOptions): Promise<Runtime> {
  const { store } = place
  return createRuntime({
    strict: true,
    parkAfterMs: 20,
    pollMs: 5,
    onWarning: () => {},
    ...options,
    ...(store === undefined ? {} : { store: await store() }),
  })
}

/** How an origin is started there. */
export const startedThere = (): { readonly session?: string } =>
  place.session === undefined ? {} : { session: place.session }
