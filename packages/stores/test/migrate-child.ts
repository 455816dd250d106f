/**
 * A process that works on stores of 0.1 in tests. `migrate <from> <to>`: migrates, and says each commit. `hold <file>`:
 * keeps an SQLite file open, as a worker does, with something in its log.
 */
import { DatabaseSync } from 'node:sqlite'
import { migrateStore } from '../src/migration/index.ts'

const [work, from, to] = process.argv.slice(2) as [string, string, string]
const say = (line: string): void => void process.stdout.write(`${line}\n`)
if (work === 'migrate') {
  const { written, there, refused } = await migrateStore({
    from,
    to,
    onProgress: (done, of) => say(`${done} of ${of}`),
  })
  say(`written ${written}, there ${there}, refused ${refused.length}`)
} else {
  const db = new DatabaseSync(from)
  db.exec('PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; UPDATE activation SET touched = touched + 1')
  say('open')
  setInterval(() => db.isOpen, 1_000)
}
