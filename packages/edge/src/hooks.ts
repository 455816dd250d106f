/**
 * Hooks of a start: functions that stand around one run, by the names under which a runtime has them.
 *
 * Owns: what is recorded of them: names and data. Does not own: the functions (../runtime/hooks.ts), when they are
 * asked (../agent/extensions, ../supervisor/delegation), which of them an agent asks (`Agent.hooked`). Functions are
 * not durable: the name is what another process finds them by.
 */

/**
 * Around the delegations of the agent that is started. Names of functions of the forms that `delegation` of a
 * supervisor takes.
 */
export interface StartDelegation {
  readonly onStart?: string
  readonly filterMessages?: string
  readonly onComplete?: string
  /** Whether a delegation fails with a hook of this start. Default `strict`. */
  readonly hookErrors?: 'strict' | 'lenient'
}

/** When an answer in this run is the end. */
export interface StartCompletion {
  /** Names of functions that measure, or of registered agents. */
  readonly scorers: readonly string[]
  readonly strategy?: 'all' | 'any'
  readonly parallel?: boolean
  readonly timeoutMs?: number
  /** The name of a function. */
  readonly onScored?: string
}

/**
 * What stands around one run, on top of what the definition of its agent says. For the agent that is started, not for
 * those below it.
 */
export interface StartHooks {
  /**
   * Asked after the agent's own: they are shown what those have left, and their word comes on top of it. Either may
   * refuse, either may bail.
   */
  readonly delegation?: StartDelegation
  /** Asked after the agent's own. Its `continue` goes before that of the agent's own, feedback of both is told. */
  readonly onIterationComplete?: string
  /** Measures what the agent's own scorers let pass: an answer must pass both. */
  readonly isComplete?: StartCompletion
}
