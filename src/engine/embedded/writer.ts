/**
 * The writer: where batches are committed. Inline while the disk answers fast, in a thread of its own above that, so
 * that a slow fsync never stops the event loop (DESIGN §3.4).
 *
 * Owns: the choice between the two, and nothing else; both apply batches with the same code (batch.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Batch, BatchResult } from '../store.ts'
import { SqliteBatchWriter } from './batch.ts'
import type { Identity } from './identity.ts'
import type { OpenOptions } from './schema.ts'
import { stopThread } from './stop-thread.ts'

/** `auto` measures; the others are for tests and for those who know their disk. */
export type WriterMode = 'auto' | 'inline' | 'thread'

/** Median time that the disk takes for a commit above which the thread takes over, in milliseconds. */
const inlineLimitMs = 1
const sampleSize = 31

/** What the thread answers. */
export type ThreadReply =
  | { readonly id: number; readonly result: BatchResult }
  | { readonly id: number; readonly error: { message: string; name: string | undefined; errcode: number | undefined } }

export class Writer {
  readonly #inline: SqliteBatchWriter
  readonly #options: OpenOptions
  readonly #identity: Identity
  #mode: WriterMode
  #samples: number[] = []
  #thread: Worker | undefined
  #next = 0
  #pending = new Map<number, { resolve: (result: BatchResult) => void; reject: (error: Error) => void }>()
  #moved = false

  constructor(db: DatabaseSync, identity: Identity, options: OpenOptions, mode: WriterMode) {
    this.#identity = identity
    this.#inline = new SqliteBatchWriter(db)
    this.#options = options
    this.#mode = mode
    if (this.#mode === 'thread') this.#startThread()
  }

  /** Where commits happen now. */
  get mode(): 'inline' | 'thread' {
    return this.#thread === undefined ? 'inline' : 'thread'
  }

  /** True if another writer has committed since this was last asked. With the thread, its own commits count, too. */
  moved(): boolean {
    const moved = this.#inline.moved() || this.#moved
    this.#moved = false
    return moved
  }

  /** A run was removed on this connection, which `moved` does not tell. */
  forget(): void {
    this.#inline.forget()
  }

  /**
   * Commits a batch: at once, or in the thread. Throws or rejects with what SQLite says; then nothing was written. What
   * was written to a file that is not the store any more counts as not written: it will not be read.
   */
  commit(batch: Batch): BatchResult | Promise<BatchResult> {
    if (this.#thread !== undefined) return this.#send(batch).then(this.#kept, this.#failed)
    let result: BatchResult
    try {
      result = this.#inline.apply(batch)
    } catch (thrown) {
      return this.#failed(thrown)
    }
    if (this.#mode === 'auto') this.#sample(this.#inline.commitMs)
    return this.#kept(result)
  }

  readonly #kept = (result: BatchResult): BatchResult => {
    const changed = this.#identity.fileChanged
    if (changed !== undefined) throw changed
    this.#identity.reached(result.position)
    return result
  }

  readonly #failed = (thrown: unknown): never => {
    throw this.#identity.fileChanged ?? thrown
  }

  #sample(ms: number): void {
    this.#samples.push(ms)
    if (this.#samples.length < sampleSize) return
    const median = this.#samples.sort((a, b) => a - b)[sampleSize >> 1]!
    this.#samples = []
    if (median > inlineLimitMs) this.#startThread()
  }

  #startThread(): void {
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js'
    this.#thread = new Worker(new URL(file, import.meta.url), { workerData: this.#options })
    this.#thread.unref()
    this.#thread.on('message', (reply: ThreadReply) => {
      const waiting = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      if (this.#pending.size === 0) this.#thread?.unref()
      if ('result' in reply) waiting?.resolve(reply.result)
      else waiting?.reject(Object.assign(new Error(reply.error.message), reply.error))
    })
    this.#thread.on('error', (error) => {
      for (const waiting of this.#pending.values())
        waiting.reject(error instanceof Error ? error : new Error(String(error)))
      this.#pending.clear()
      this.#thread = undefined
    })
  }

  #send(batch: Batch): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      const id = this.#next++
      this.#pending.set(id, { resolve, reject })
      this.#thread!.ref()
      this.#thread!.postMessage({ id, batch })
    })
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await stopThread(thread)
  }
}
