/**
 * Publishing: entries of topics that tasks add while the team works, or by their output.
 *
 * Owns: what is recorded of it. Does not own: what a topic takes (topics.ts), who waits for one (queue.ts).
 */
import type { Json } from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'
import type { Entry } from './book.ts'
import type { Topics } from './topics.ts'

export class Publishing {
  readonly #ctx: Context
  readonly #topics: Topics
  readonly #published: (topic: string, isFirst: boolean) => void

  /** `published`: hears of every new entry. */
  constructor(ctx: Context, topics: Topics, published: (topic: string, isFirst: boolean) => void) {
    this.#ctx = ctx
    this.#topics = topics
    this.#published = published
  }

  /** The output of a task is the entry in each topic that it produces and did not publish to. */
  output(entry: Entry): void {
    for (const topic of new Set(entry.task.produces))
      if (!this.#topics.hasOf(topic, entry.id)) this.enter(entry, topic, entry.output ?? null)
  }

  enter(entry: Entry, topic: string, value: Json): ReturnType<Topics['publish']> {
    const word = this.#topics.publish(topic, entry, value)
    const fact = { topic, task: entry.id }
    if (word.published) {
      this.#ctx.emit({ type: 'topic.published', ...fact, seq: word.seq, bytes: word.bytes })
      this.#published(topic, word.seq === 1)
    } else this.#ctx.emit({ type: 'topic.refused', ...fact, reason: word.reason })
    return word
  }
}
