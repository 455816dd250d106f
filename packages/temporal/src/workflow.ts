/**
 * The workflow of a run. It has a worker move the run; while the run waits for a person, or for the clock, it waits for
 * a wake-up; it ends with the run.
 *
 * Owns: what Temporal's history says of a run. Does not own: the run. What has happened is in the store, so it does not
 * matter if a wake-up comes twice or for nothing. Wire format: a workflow that is open was begun by earlier code and
 * goes on in this one. What is changed here goes behind `patched`; the tests replay histories of every release.
 * Temporal's worker bundles this file and runs it in a sandbox: it imports nothing of Reeve but names.
 */
import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import { wakeSignal, type RunActivities, type RunPlace } from './names.ts'

/**
 * A worker that says nothing for five seconds is taken for dead, and another one moves its runs. Tried again without
 * end: a run that cannot be moved now is not lost. Attempts of an activity are no events of the history.
 */
const { move, cancel } = proxyActivities<RunActivities>({
  startToCloseTimeout: '30 days',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 1 },
})

/**
 * Temporal keeps at most 10,000 signals of a workflow, and advises against long histories. A park and its answer are 12
 * events, a wake-up of a run that is moving 4.
 */
const manyEvents = 2_000
/**
 * A run that has ended without its workflow (a process had taken it up by itself, and the wake-up was lost) is found
 * after so long.
 */
const looksAgainAfter = '1 day'

export async function reeveRun(place: RunPlace): Promise<void> {
  let wakeUps = 0
  setHandler(defineSignal(wakeSignal), () => void wakeUps++)

  // Cancelling the workflow cancels the run: the end of the run is the end of the workflow.
  let cancelled: Promise<void> | undefined
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = CancellationScope.nonCancellable(() => cancel(place)).then(() => void wakeUps++)
  })

  const isLong = (): boolean => workflowInfo().continueAsNewSuggested || workflowInfo().historyLength >= manyEvents
  const hasEnded = await CancellationScope.nonCancellable(async () => {
    const long = condition(isLong).then(() => 'parked' as const)
    for (;;) {
      const heard = wakeUps
      const moved = await Promise.race([move(place), long])
      if (moved === 'ended' || isLong()) return moved === 'ended'
      await condition(() => wakeUps > heard, looksAgainAfter)
    }
  })
  await cancelled
  // The next one begins with a move; one that is still going on is joined there.
  if (!hasEnded) await continueAsNew<typeof reeveRun>(place)
  if (cancelled !== undefined) throw new CancelledFailure('the run was cancelled')
}
