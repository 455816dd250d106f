/** Processes that the tests of bad surroundings start: one role each, one line per thing that happened. */
import { writeSync } from 'node:fs'
import { ReeveError, type RunId } from '@reeve/core'
import { Archiver } from '../../packages/sqlite/src/archive.ts'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { SqliteStore } from '@reeve/sqlite/store'
import { DatabaseSync } from 'node:sqlite'
import { registry, step } from './agents.ts'

const [role, file, ...args] = process.argv.slice(2) as [string, string, ...string[]]
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const quiet = { onWarning: () => undefined }

/** Agents of the processes; `args[0]` is how they are driven. */
const roles: Record<string, () => void | Promise<void>> = {
  'open-as-nobody'() {
    process.setgid!(65534)
    process.setuid!(65534)
    try {
      createEmbeddedEngine({ file, ...quiet })
      say('opened')
    } catch (thrown) {
      say(ReeveError.is(thrown) ? thrown.code : String(thrown))
    }
    say('done')
  },

  /** Holds the file until it is told to let go. */
  lock() {
    const db = new DatabaseSync(file)
    db.exec('BEGIN EXCLUSIVE')
    say('locked')
    process.stdin.once('data', () => {
      db.exec('COMMIT')
      say('let go')
    })
  },

  /** Opens a store that may not exist yet and starts some runs, which nobody drives. */
  async create() {
    const engine = createEmbeddedEngine({ file, ...quiet })
    for (let k = 0; k < 10; k++)
      await engine.start({ run: `${args[0]!}-${k}` as RunId, agent: 'nobody', version: '1', input: k })
    say('created')
  },

  /** Drives a run whose only step never ends. */
  async hold() {
    const engine = createEmbeddedEngine({ file, ...quiet })
    engine.drive({
      find: (name) => ({
        name,
        version: '1',
        run: async (ctx) => {
          const { outcome } = await ctx.next(
            ctx.begin('work', () => (say('working'), new Promise<never>(() => undefined)), {
              effect: args[0] === 'once' ? 'once' : 'idempotent',
            }),
          )
          return outcome
        },
      }),
      onMissingVersion: 'move',
    })
    await engine.start({ run: 'held' as RunId, agent: 'holder', version: '1', input: null })
  },

  /** Drives a run whose only step says two words and never ends. */
  async speak() {
    const engine = createEmbeddedEngine({ file, ...quiet })
    engine.drive(
      registry({
        speaker: (ctx) =>
          step(ctx, 'say', ({ emit }) => {
            for (const text of ['old ', 'words ']) emit({ type: 'text.delta', id: '0', text })
            say('speaking')
            return new Promise<never>(() => undefined)
          }),
      }),
    )
    await engine.start({ run: 'spoken' as RunId, agent: 'speaker', version: '1', input: null })
  },

  /** Drives a run whose only step blocks the event loop for so many milliseconds, with a lease of so many. */
  async block() {
    const [blockMs, leaseMs] = args.map(Number) as [number, number]
    const engine = createEmbeddedEngine({ file, leaseMs, ...quiet })
    engine.drive(
      registry({
        blocker: (ctx) =>
          step(
            ctx,
            'work',
            () => {
              // written at once: the event loop gets no turn
              writeSync(1, 'working\n')
              Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs)
              return 'done'
            },
            { effect: 'once' },
          ),
      }),
    )
    await engine.start({ run: 'blocked' as RunId, agent: 'blocker', version: '1', input: null })
    say(JSON.stringify((await engine.outcome('blocked' as RunId)).outcome))
  },

  /** Archives what has ended, in chunks of so many entries; says each chunk. */
  archive() {
    const store = new SqliteStore({ file, durability: 'relaxed', ...quiet })
    const archiver = new Archiver(store.db, { entries: Number(args[0]) }, { chunks: 1 })
    const next = (): void => {
      const isMore = archiver.some(Number.MAX_SAFE_INTEGER)
      say(isMore ? 'a chunk' : 'archived')
      if (isMore) setImmediate(next)
    }
    next()
  },

  /** Drives runs of which one kills its process as soon as it is taken up. */
  async killer() {
    const engine = createEmbeddedEngine({ file, ...quiet })
    engine.drive(
      registry({
        killer: (ctx) =>
          step(ctx, 'work', () => (process.kill(process.pid, 'SIGKILL'), new Promise<never>(() => undefined))),
        innocent: (ctx) => step(ctx, 'work', () => new Promise((resolve) => setTimeout(() => resolve('fine'), 1_000))),
      }),
    )
    for (const agent of ['killer', 'innocent'])
      await engine.start({ run: agent as RunId, agent, version: '1', input: null })
    say('driving')
    await engine.outcome('innocent' as RunId)
    say('innocent has ended')
  },
}

await roles[role]!()
// A process that holds something ends only when it is killed.
setInterval(() => undefined, 1_000)
