/**
 * The invariants of every journal, of any version of Reeve (K1, K7). Pure.
 *
 * Owns: the checks that need no replay. Does not own: replay (replay.ts).
 */
import { isCommand, type Recorded } from '@reeve/journal'
import { parentOf, rootActivation } from '@reeve/core'

/** The problems of a run's journal, one sentence each. `ended`: the run has ended. */
export function checkJournal(events: readonly Recorded[], ended = true): string[] {
  const problems: string[] = []
  const logs = Map.groupBy(events, ({ activation }) => activation)
  for (let i = 1; i < events.length; i++) {
    if (events[i]!.position <= events[i - 1]!.position)
      problems.push(`position ${events[i]!.position} comes after ${events[i - 1]!.position}`)
  }
  for (const [activation, log] of logs) {
    log.forEach(({ seq, event, at }, i) => {
      if (seq !== i) problems.push(`${activation}: entry ${i} has seq ${seq}`)
      if ((event.type === 'activation.started') !== (i === 0))
        problems.push(`${activation}: ${event.type} is entry ${i}`)
      if (event.type === 'activation.settled' && i !== log.length - 1)
        problems.push(`${activation}: ${log.length - 1 - i} entries after its end`)
      if (isCommand(event) === false && i > 0 && at < log[0]!.at)
        problems.push(`${activation}: entry ${i} is older than the activation`)
    })
    if (ended && log.at(-1)!.event.type !== 'activation.settled') problems.push(`${activation} has no end`)
    problems.push(...checkAddresses(activation, log), ...checkBirth(activation, logs))
  }
  if (ended && events.length > 0 && events.at(-1)!.activation !== rootActivation(events[0]!.run))
    problems.push('the last event is not the end of the run')
  return problems
}

/** Every address is opened once in a segment and ends at most once. */
function checkAddresses(activation: string, log: readonly Recorded[]): string[] {
  const problems: string[] = []
  const opened = new Set<string>()
  const closed = new Set<string>()
  for (const { event } of log) {
    if (isCommand(event)) {
      if (opened.has(event.address)) problems.push(`${activation}: ${event.address} is opened twice`)
      opened.add(event.address)
    } else if (event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled') {
      if (!opened.has(event.address)) problems.push(`${activation}: ${event.address} ends and was never opened`)
      if (closed.has(event.address)) problems.push(`${activation}: ${event.address} ends twice`)
      closed.add(event.address)
    }
  }
  return problems
}

/** A worker was born of an operation of its leader. The leader of a child run's root is in another run. */
function checkBirth(
  activation: Recorded['activation'],
  logs: ReadonlyMap<Recorded['activation'], readonly Recorded[]>,
): string[] {
  const from = parentOf(activation)
  if (from === undefined || from.apart) return []
  const leader = logs.get(from.parent) ?? []
  return leader.some(({ event }) => event.type === 'worker.started' && event.address === from.address)
    ? []
    : [`${activation} was not started by its leader`]
}
