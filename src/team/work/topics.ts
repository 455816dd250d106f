/**
 * Topics: entries that tasks publish for those that consume them (spec team R-5). Append-only; an entry has a number in its topic, and at most 1 MiB.
 */
import type { Json } from '../../core/index.ts'

/** Bytes of one entry as JSON. */
export const maxEntryBytes = 1024 * 1024

/** What became of an entry. */
export type TopicWord =
  | { readonly published: true; readonly seq: number; readonly bytes: number }
  | { readonly published: false; readonly reason: 'too_large' | 'undeclared' }

export class Topics {
  readonly #entries = new Map<string, { readonly task: string; readonly entry: Json }[]>()

  has(topic: string): boolean {
    return (this.#entries.get(topic)?.length ?? 0) > 0
  }

  entries(topic: string): readonly Json[] {
    return (this.#entries.get(topic) ?? []).map(({ entry }) => entry)
  }

  /** Whether a task has published to it. */
  hasOf(topic: string, task: string): boolean {
    return this.#entries.get(topic)?.some((each) => each.task === task) === true
  }

  publish(topic: string, task: string, entry: Json): TopicWord {
    const bytes = new TextEncoder().encode(JSON.stringify(entry)).length
    if (bytes > maxEntryBytes) return { published: false, reason: 'too_large' }
    const list = this.#entries.get(topic) ?? []
    list.push({ task, entry })
    this.#entries.set(topic, list)
    return { published: true, seq: list.length, bytes }
  }
}
