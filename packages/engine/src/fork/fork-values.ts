/**
 * Values at a fork point: a stream has positions of its own, and nothing says which of its entries came before which of
 * a run's.
 *
 * Owns: that rule. Does not own: reading (the engines). Pure. What the run itself has written counts as far as its
 * journal says so up to that point, in the order in which it was written; the step that it was written by is made again
 * if its end is not among what is copied. What others have written to the stream of its session counts if it was
 * written by the time of the last entry that is copied.
 * A fork's stream begins with the fork. At a position that the fork has copied itself, what was written behind that
 * position is as the copied part has told it by then; what it has not told is not known, and left out.
 */
import type { Json } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { addressName } from '../replay/operation.ts'
import type { ForkRun } from '../port.ts'

/** One entry of a stream. */
interface StreamEntry {
  readonly at: number
  readonly event: JournalEvent
}

/** The values of a stream, by key, as they were for this run at this position of its feed. */
export function valuesHeard(
  { run, at }: Pick<ForkRun, 'run' | 'at'>,
  feed: readonly Recorded[],
  stream: readonly StreamEntry[],
): Map<string, Json> {
  // a run that has none is the rule, and its feed may be long
  if (stream.every(({ event }) => event.type !== 'value.updated')) return new Map()
  const prefix = feed.filter(({ position }) => position <= at)
  const forked = feed.findLast(({ event }) => event.type === 'run.forked')
  const until = prefix.reduce((latest, each) => Math.max(latest, each.at), forked?.at ?? 0)
  // what a fork has copied it has not written itself
  const begin = forked?.position ?? 0
  const written = new Map<string, number>()
  for (const { position, event } of prefix) {
    if (event.type !== 'step.settled' || event.outcome.status !== 'completed' || position < begin) continue
    const name = stepName(event.address)
    written.set(name, (written.get(name) ?? 0) + 1)
  }
  const values = new Map<string, Json>()
  for (const { at: then, event } of stream) {
    if (event.type !== 'value.updated') continue
    const name = addressName(`value.update:${event.key}`)
    const left = written.get(name) ?? 0
    if (event.by === run) written.set(name, left - 1)
    if (event.by === run ? left > 0 : then <= until) values.set(event.key, event.value)
  }
  return at < begin ? before(values, feed, at, begin) : values
}

/** The name of a step, as its code gave it. */
const stepName = (address: string): string => address.slice(address.lastIndexOf('/') + 1).replace(/#\d+$/, '')

/** Values as they were at a copied position, made of those at the fork. */
function before(values: Map<string, Json>, feed: readonly Recorded[], at: number, begin: number): Map<string, Json> {
  const told = (names: readonly string[], from: number, to: number): Json | undefined => {
    const last = feed.findLast(
      ({ position, event }) =>
        position > from &&
        position <= to &&
        event.type === 'step.settled' &&
        event.outcome.status === 'completed' &&
        names.includes(stepName(event.address)),
    )?.event
    return last?.type === 'step.settled' && last.outcome.status === 'completed' ? last.outcome.output : undefined
  }
  return new Map(
    [...values].flatMap(([key, value]) => {
      const [updated, read] = [addressName(`value.update:${key}`), addressName(`value.get:${key}`)]
      if (told([updated], at, begin) === undefined) return [[key, value] as const]
      const known = told([updated, read], 0, at)
      return known === undefined || known === null ? [] : [[key, known] as const]
    }),
  )
}
