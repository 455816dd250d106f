/**
 * The words between Reeve and a Temporal server: names of workflow, activities and signal, and what is said of a run.
 *
 * Owns: wire format. Workflows that are open now were started with these words: none of them may change. Does not own:
 * what the workflow does (workflow.ts).
 * Holds: nothing but ids is ever sent; inputs, results and messages stay in the store. Imports nothing: the workflow's
 * sandbox loads it.
 */

/** Which run a workflow is for. `store` keeps runs of equal ids in different stores apart. */
export interface RunPlace {
  readonly store: string
  readonly run: string
}

/** The type of a run's workflow: the name of the function that workflow.ts exports. */
export const workflowType = 'reeveRun'
/** Tells a run's workflow that the run may have something to do. */
export const wakeSignal = 'wake'

/** One run, one workflow: beginning it twice finds the first. */
export const workflowIdOf = ({ store, run }: RunPlace): string => `reeve:${store}:${run}`

/** What the workflow asks of a worker. */
export interface RunActivities {
  /**
   * Takes the run up, and answers when it has left memory. Fails, to be tried again, where the run is another
   * process's.
   */
  move(place: RunPlace): Promise<'ended' | 'parked'>
  /** Cancels the run, as an operator does. */
  cancel(place: RunPlace): Promise<void>
}
