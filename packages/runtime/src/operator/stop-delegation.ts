/**
 * Stopping one delegation from outside: the run goes on without it.
 *
 * Owns: the check of what is given, the message to the leader. Does not own: what its name means (find.ts), hearing it
 * (oversight/control/stop.ts, supervisor/worker/watch.ts).
 * K2: the stop is a message to the leader, so any process may ask for it, and the leader hears it in recorded order.
 * Whenever an error is thrown here, nothing was changed.
 */
import {
  expects,
  optionProblems,
  present,
  refuseProblems,
  required,
  string,
  type Checks,
  type RunId,
} from '@reeve/core'
import type { Engine } from '@reeve/engine'
import { workEnded, workToStop } from './find.ts'
import { stoppedBy, stopMessage } from '@reeve/oversight'
import { delegationsFold, foldsOf } from '../feed/run-folds.ts'

/** Which delegation is to be stopped, and what its leader is told. */
export interface StopDelegation {
  /**
   * The worker's activation; or the model's id of the call, also of one that has not begun, and of several under one id
   * the last; or its leader's name for it, `d1`, as long as one leader alone has an open delegation of that name. Of a
   * planned team: the task that a member works on, or that member, as long as one alone is called so.
   */
  readonly delegation: string
  readonly reason?: string
  /** Who asks for it. */
  readonly by?: string
}

const checks: Checks<StopDelegation> = {
  delegation: required(
    expects(
      (given) => typeof given === 'string' && given !== '',
      'the activation of the worker, the id of the call, or its name, d1',
    ),
  ),
  reason: string,
  by: string,
}

/**
 * Asks the leader of a delegation to stop it. Resolves when that is durable; the end follows, as the delegation's
 * outcome.
 */
export async function stopDelegation(
  { engine, run }: { readonly engine: Engine; readonly run: RunId },
  given: StopDelegation,
): Promise<void> {
  refuseProblems('input.invalid', optionProblems(checks, given, 'a stop'))
  const { fold } = await foldsOf(engine).of(delegationsFold, run)
  const { leader, delegation } = workToStop(fold, given.delegation)
  const body = stopMessage({ delegation, reason: stoppedBy(given.reason, given.by) })
  // one key for one delegation: a second stop changes nothing
  const result = await engine.post({
    type: 'message',
    activation: leader,
    id: `stop:${delegation}`,
    body,
    command: true,
    ...present({ by: given.by }),
  })
  if (result !== 'accepted' && result !== 'lost') throw workEnded(given.delegation)
}
