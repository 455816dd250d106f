/**
 * An activation's memory, read back from its log.
 */
import { ReeveError, type ActivationId } from '../../core/index.ts'
import { Activation, type Host } from '../../engine/index.ts'
import type { Claimed } from '../eventstore/index.ts'

/** Throws `journal.hole` if the log is not whole. */
export function restored(host: Host, id: ActivationId, { log, agent, version, path }: Claimed): Activation {
  const first = log[0]
  if (first?.event.type !== 'activation.started') throw new ReeveError('journal.hole', `the log of ${id} does not begin with its beginning`)
  const { input, copied, earlier } = first.event
  const activation = new Activation(host, { id, agent, version, input, path, accounts: [], at: first.at, copied, earlier })
  activation.seq = 1
  for (const { seq, at, event } of log) if (seq > 0) activation.restore(seq, at, event)
  return activation
}
