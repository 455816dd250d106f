/**
 * The body of the heartbeat thread: writes the process's heartbeat on a connection of its own.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { SchedulingDelay } from '@reeve/engine/host'
import { hungMs, leaseIn, shared, type HeartbeatData } from './heartbeat.ts'

const { file, process, memory } = workerData as HeartbeatData
const read = (what: keyof typeof shared): number => Number(Atomics.load(memory, shared[what]))
const write = (what: keyof typeof shared, value: number): void =>
  void Atomics.store(memory, shared[what], BigInt(value))

const db = new DatabaseSync(file)
// Waits here for the lock of another process: this thread blocks no other work. A heartbeat need not survive a power
// failure, and a checkpoint is the writer's.
db.exec('PRAGMA busy_timeout=1000; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0')
const beat = db.prepare('UPDATE process SET until = ? WHERE id = ?')

const delay = new SchedulingDelay()

/** Returns after how many milliseconds the next one is due. */
function next(): number {
  const now = Date.now()
  const leaseMs = leaseIn(read)
  const until = read('until')
  if (now - read('moved') > hungMs) return leaseMs
  if (now < until - (leaseMs * 2) / 3) return until - (leaseMs * 2) / 3 - now
  try {
    const isThere = beat.run(now + leaseMs, process).changes === 1
    // It came too late, or the process was taken for dead: what is still its own is looked at before anything leaves.
    if (!isThere || now >= until) write('stoodStill', 1)
    if (isThere) write('until', now + leaseMs)
    return leaseMs / 3
  } catch {
    return Math.min(50, leaseMs / 3)
  }
}

let timer: ReturnType<typeof setTimeout> | undefined
let due = performance.now()
/** What makes a heartbeat late is measured from when it was due until it is written: the machine, and locks. */
function run(): void {
  const waitMs = next()
  const now = performance.now()
  delay.note(now - due)
  write('delayMs', delay.p99Ms)
  due = now + waitMs
  timer = setTimeout(run, waitMs)
}
run()

// the only word that there is: nothing keeps the thread then
parentPort!.once('message', () => {
  clearTimeout(timer)
  db.close()
})
