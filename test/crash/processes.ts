/** Processes that the tests of bad surroundings start: one role each, one line per thing that happened. */
import { ReeveError, type RunId } from '../../src/core/index.ts'
import { createEmbeddedEngine } from '../../src/engine/embedded/index.ts'
import { DatabaseSync } from 'node:sqlite'

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
    for (let k = 0; k < 10; k++) await engine.start({ run: `${args[0]!}-${k}` as RunId, agent: 'nobody', version: '1', input: k })
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
}

await roles[role]!()
// A process that holds something ends only when it is killed.
setInterval(() => undefined, 1_000)
