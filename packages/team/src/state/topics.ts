/**
 * Topics: entries that tasks publish for those that consume them (spec team R-5). Append-only; an entry has a number in
 * its topic, and at most 1 MiB.
 */
import { copy, digestJson, jsonBytes, type Json, type JsonObject } from '@reeve/core'
import type { TaskInput } from '@reeve/edge'
import type { Subtask } from '../plan/plan.ts'
import type { Entry } from './task-graph.ts'

/** Bytes of one entry as JSON. */
export const maxEntryBytes = 1024 * 1024

/** What became of an entry. */
export type TopicWord =
  | { readonly published: true; readonly seq: number; readonly bytes: number }
  | { readonly published: false; readonly reason: 'too_large' | 'undeclared' }

/** One entry, and whose it is. */
interface TopicEntry {
  readonly task: string
  readonly entry: Json
}

/** A topic as its consumer sees it. */
export interface ShownTopic {
  readonly topic: string
  readonly entries: readonly TopicEntry[]
  /** It has no entry. */
  readonly missing: boolean
}

/** What becomes of an entry, as its author is told. */
export function published(word: TopicWord, topic: string, { produces = [] }: Pick<Subtask, 'produces'>): JsonObject {
  if (word.published) return { ...word }
  const instead =
    produces.length === 0 ? 'it produces no topic' : `it produces ${produces.map((each) => `"${each}"`).join(', ')}`
  const message =
    word.reason === 'undeclared'
      ? `the task does not produce "${topic}"; ${instead}`
      : `the entry is larger than the ${maxEntryBytes} bytes that one of "${topic}" may have`
  return { ...word, message }
}

export class Topics {
  readonly #entries = new Map<string, TopicEntry[]>()

  has(topic: string): boolean {
    return (this.#entries.get(topic)?.length ?? 0) > 0
  }

  /** Oldest first. Copies. */
  entries(topic: string): readonly Json[] {
    return (this.#entries.get(topic) ?? []).map(({ entry }) => copy(entry))
  }

  /**
   * What a consumer of these topics is told: all entries, but for those that only repeat a result they are given
   * anyway.
   */
  shown(topics: readonly string[], inputs: Readonly<Record<string, TaskInput>>): readonly ShownTopic[] {
    const isGiven = ({ task, entry }: TopicEntry): boolean =>
      Object.hasOwn(inputs, task) &&
      inputs[task]!.output !== undefined &&
      digestJson(inputs[task]!.output) === digestJson(entry)
    return [...new Set(topics)].map((topic) => {
      const all = this.#entries.get(topic) ?? []
      return { topic, entries: all.filter((each) => !isGiven(each)), missing: all.length === 0 }
    })
  }

  /** Whether a task has published to it. */
  hasOf(topic: string, task: string): boolean {
    return this.#entries.get(topic)?.some((each) => each.task === task) === true
  }

  /** Adds an entry of a task that produces this topic. */
  publish(topic: string, { id: task, task: { produces } }: Pick<Entry, 'id' | 'task'>, entry: Json): TopicWord {
    if (produces?.includes(topic) !== true) return { published: false, reason: 'undeclared' }
    const bytes = jsonBytes(entry)
    if (bytes > maxEntryBytes) return { published: false, reason: 'too_large' }
    const list = this.#entries.get(topic) ?? []
    list.push({ task, entry: copy(entry) })
    this.#entries.set(topic, list)
    return { published: true, seq: list.length, bytes }
  }
}
