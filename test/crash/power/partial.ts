/**
 * A process in which a checkpoint stops at what a reader sees, and the sync of the store's file fails in the next one.
 * Arguments: the folder of the disk (shim.c), the name of the store's folder on it, the second sync as the shim is told
 * of it: the log's is the first. When it ends, the store is closed.
 */
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { SqliteStore } from '@reeve/sqlite/store'
import { partialKeys, partialStream } from './script.ts'

const [disk, name, fault] = process.argv.slice(2) as [string, string, string]
const folder = join(disk, name)
mkdirSync(folder)
const file = join(folder, 'store.db')
const engine = createEmbeddedEngine({ file, onWarning: () => undefined })
const { store } = engine
if (!(store instanceof SqliteStore)) throw new Error('no store in a file')
const { log } = store

async function write(of: keyof typeof partialKeys): Promise<void> {
  log.checkpointPages = Infinity
  const values = engine.stream(partialStream)
  for (const key of partialKeys[of]) await values.update(key, () => of.repeat(3_000))
}
function checkpoint(): void {
  log.checkpointPages = 1
  // it looks once in so many
  for (let i = 0; i < 16; i++) log.wrote()
}

await write('a')
checkpoint()
await write('b')
{
  using reader = new DatabaseSync(file, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM log')
  await write('c')
  checkpoint()
}
try {
  openSync(join(disk, `!${fault}`), 'r')
} catch {
  // the shim has heard it
}
checkpoint()
if (log.failed?.code !== 'store.unsynced') throw new Error('no sync has failed')
await engine.close().catch(() => undefined)
// what has become of its files is on disk, too
const descriptor = openSync(folder, 'r')
fsyncSync(descriptor)
closeSync(descriptor)
process.exit(0)
