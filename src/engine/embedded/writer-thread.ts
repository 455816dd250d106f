/**
 * The body of the writer thread: applies the batches that the engine sends, one after the other, on a connection of its
 * own.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/index.ts'
import type { Batch } from '../store.ts'
import { SqliteBatchWriter } from './batch.ts'
import { openStore, type OpenOptions } from './schema.ts'
import { stopWord } from './stop-thread.ts'
import type { ThreadReply } from './writer.ts'

const db = openStore(workerData as OpenOptions)
const writer = new SqliteBatchWriter(db)

parentPort!.on('message', (word: { readonly id: number; readonly batch: Batch } | typeof stopWord) => {
  if (word === stopWord) {
    db.close()
    return parentPort!.close()
  }
  const { id, batch } = word
  let reply: ThreadReply
  try {
    reply = { id, result: writer.apply(batch) }
  } catch (thrown) {
    const { name, errcode } = thrown as { name?: string; errcode?: number }
    reply = { id, error: { message: messageOf(thrown), name, errcode } }
  }
  parentPort!.postMessage(reply)
})
