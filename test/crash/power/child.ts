/**
 * A process whose disk is traced, or fails (shim.c). Arguments: the folder, the witness, and as JSON a list of parts, one
 * store each; `fault`: what is to fail, as the shim reads it. A copy of each store is left in `kept` as a killed process
 * leaves it. With `watch` it is another process that shows the feed of a store. A part that `goesOn` was left by another
 * process: this one goes on with what the kernel has of it, on a disk that is well again.
 */
import { appendFileSync, cpSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RunId } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { Durability } from '@reeve/sqlite/store'
import { Player, runs, seenIn, watch } from './script.ts'

export interface Part {
  readonly name: string
  readonly fault?: string
  readonly durability?: Durability
  readonly isWatched?: boolean
  /** It is left as it is when it has failed, as by a killed process: the store is not closed. */
  readonly isKilled?: boolean
  /** A reader looks at the store for some time, so that a checkpoint stops at what it sees. */
  readonly isRead?: boolean
  readonly goesOn?: boolean
}

/** Reads one state of the store from when it has some runs until half of what happens has happened. */
async function readFor(store: string, player: Player, played: Promise<void>): Promise<void> {
  let isOver = false
  played.then(
    () => (isOver = true),
    () => (isOver = true),
  )
  const until = async (count: number): Promise<void> => {
    while (!isOver && player.seen.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  await until(1)
  if (isOver) return
  using reader = new DatabaseSync(store, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM log')
  await until(15)
}

const [disk, witness, what, kept] = process.argv.slice(2) as [string, string, string, string]

if (what === 'watch') {
  const store = join(disk, kept, 'store.db')
  while (!existsSync(store)) await new Promise((resolve) => setTimeout(resolve, 1))
  const engine = createEmbeddedEngine({ file: store, pollMs: 2, onWarning: () => undefined })
  const never = new AbortController().signal
  const see = (sight: object): void => appendFileSync(witness, `${JSON.stringify({ part: kept, ...sight })}\n`)
  const has = async (run: string): Promise<boolean> => (await engine.read(run as RunId, 0, 1)).length > 0
  process.send!('ready')
  for (const run of runs) {
    while (!(await has(run))) await new Promise((resolve) => setTimeout(resolve, 1))
    watch(engine, run as RunId, see, never)
  }
} else {
  for (const { name, fault, isKilled, isRead, goesOn, ...rest } of JSON.parse(what) as Part[]) {
    const folder = join(disk, name)
    mkdirSync(folder, { recursive: true })
    const arm = (): void => {
      if (fault === undefined) return
      try {
        openSync(join(disk, `!${fault}`), 'r')
      } catch {
        // the shim has heard it
      }
    }
    const before = goesOn === true ? seenIn(readFileSync(witness, 'utf8')).filter(({ part }) => part === name) : []
    const player = new Player({ store: join(folder, 'store.db'), witness, part: name, ...rest }, before)
    arm()
    const late = setTimeout(() => {
      console.error(`${name} (${fault}) is not at an end`)
      process.exit(1)
    }, 30_000)
    const played = player.play()
    if (isRead === true) await readFor(join(folder, 'store.db'), player, played)
    await played
    clearTimeout(late)
    player.see({ saw: 'the end' })
    if (goesOn !== true) cpSync(folder, join(kept, name), { recursive: true, filter: (path) => !path.endsWith('-shm') })
    if (isKilled !== true) await player.close().catch(() => undefined)
  }
  process.exit(0)
}
