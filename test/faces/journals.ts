/**
 * The golden journals as events with their places, for the faces.
 *
 * Owns: reading them, and ids that are the same however often a journal is recorded anew.
 */
import { runOf, type ActivationId } from '@reeve/core'
import { decode, type Recorded } from '@reeve/journal'
import { goldens } from '../replay/golden.ts'

export interface NamedJournal {
  readonly name: string
  readonly events: readonly Recorded[]
}

/** Drawn ids and digests. What follows the prefix is drawn, or derived from what was drawn. */
const drawn = /\b(?:([a-z]{2,5})_[0-9a-z]{16,20}|[0-9a-f]{64})\b/g

/** A text in which each id is numbered in the order of its first appearance: `msg_1`, `apr_2`, `digest_1`. */
export function numberedIds(): (text: string) => string {
  const known = new Map<string, string>()
  const counts = new Map<string, number>()
  return (text) =>
    text.replaceAll(drawn, (id, prefix: string = 'digest') => {
      const before = known.get(id)
      if (before !== undefined) return before
      const count = (counts.get(prefix) ?? 0) + 1
      counts.set(prefix, count)
      known.set(id, `${prefix}_${count}`)
      return `${prefix}_${count}`
    })
}

/** A row of a log. */
interface Row {
  readonly position: number
  readonly act: number
  readonly seq: number
  readonly at: number
  readonly body: string
}

/** Every golden journal, by name. The streams of sessions are left out: they are no events of a run. */
export const goldenJournals = (): readonly NamedJournal[] =>
  goldens()
    .map(({ name, commits }) => {
      const activations = new Map(
        commits.flatMap(({ tables }) =>
          tables['activation']!.map(({ num, id }) => [num as number, id as ActivationId] as const),
        ),
      )
      const events = commits
        .flatMap(({ log }) => log)
        .flatMap((row): readonly Recorded[] => {
          const { position, act, seq, at, body } = row as unknown as Row
          const activation = activations.get(act)
          if (activation?.startsWith('act_') !== true) return []

          return [{ position, run: runOf(activation), activation, seq, at, event: decode(body) }]
        })
      return { name, events }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
