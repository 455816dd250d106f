/**
 * The body of the writer thread: applies the batches that the engine sends, one after the other, on a connection of its own.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/index.ts'
import type { Batch } from '../store.ts'
import { BatchWriter } from './batch.ts'
import { openStore, type OpenOptions } from './schema.ts'
import type { ThreadReply } from './writer.ts'

const writer = new BatchWriter(openStore(workerData as OpenOptions), true)

parentPort!.on('message', ({ id, batch }: { id: number; batch: Batch }) => {
  let reply: ThreadReply
  try {
    reply = { id, result: writer.apply(batch) }
  } catch (thrown) {
    const { name, errcode } = thrown as { name?: string; errcode?: number }
    reply = { id, error: { message: messageOf(thrown), name, errcode } }
  }
  parentPort!.postMessage(reply)
})
