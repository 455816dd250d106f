/**
 * `npm run bench:contents`: a text of 80 million characters through `io.contents`: kept, kept again, read whole and in a
 * hundred places. Of each: the time, the longest stall of the event loop, and how far memory rose above what the process
 * had with the text itself. `REDACT=1`: with a rule of redaction, which reads the text as a whole.
 *
 * In memory, SQLite, and PostgreSQL where one answers: DATABASE_URL, or the one on this machine. SIZE: characters.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { join } from 'node:path'
import { Client } from 'pg'
import { agent, createRuntime } from '@reeve/public'
import { inFolder, megabytes, sleep } from './measure.ts'

const size = Number(process.env['SIZE'] ?? 80_000_000)
const redacts = process.env['REDACT'] === '1'

/** What no compression and no rope makes small: words that differ. One byte a character, or two. */
function textOf(length: number, wide: boolean): string {
  const words: string[] = []
  for (let i = 0, written = 0; written < length; i++) {
    const word = `{"row":${i},"sum":${(i * 2_654_435_761) % 4_294_967_296},"name":"${wide ? 'Größe и ž' : 'a name'}"}\n`
    words.push(word)
    written += word.length
  }
  // flat, as a text that was received is
  return Buffer.from(words.join('').slice(0, length)).toString()
}

interface Figure {
  readonly ms: number
  readonly stallMs: number
  readonly risenMb: number
  /** What is left of it after a collection. */
  readonly leftMb: number
}

/** Beside some work: its time, the longest stall, and the highest memory above that of before. */
async function measured(work: () => Promise<unknown>): Promise<Figure> {
  globalThis.gc?.()
  await sleep(50)
  const before = process.memoryUsage.rss()
  let highest = before
  const look = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 2)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const begun = performance.now()
  await work()
  const ms = performance.now() - begun
  // work that never gave way has held up what comes now
  await sleep(5)
  delay.disable()
  clearInterval(look)
  highest = Math.max(highest, process.memoryUsage.rss())
  globalThis.gc?.()
  await sleep(50)
  const leftMb = megabytes(process.memoryUsage.rss() - before)
  return { ms, stallMs: delay.max / 1e6, risenMb: megabytes(highest - before), leftMb }
}

async function bench(what: string, store: string): Promise<void> {
  for (const wide of [false, true]) {
    const text = textOf(size, wide)
    const figures: [string, Figure][] = []
    const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      figures.push([name, await measured(work)])
    }
    const keeper = agent({
      name: 'keeper',
      run: (ctx) =>
        ctx.step('all', async ({ contents }) => {
          let name = ''
          await measure('keep', async () => (name = (await contents.keep(text, 'text')).$content))
          await measure('keep again', () => contents.keep(text, 'text'))
          await measure('read whole', async () => {
            let length = 0
            for await (const piece of contents.pieces(name)) length += piece.length
            if (!redacts && length !== size) throw new Error(`${length} characters instead of ${size}`)
          })
          await measure('100 slices of 10,000', async () => {
            for (let i = 0; i < 100; i++) {
              const from = Math.floor((size * i) / 100)
              const slice = await contents.slice(name, from, from + 10_000)
              if (!redacts && slice !== text.slice(from, from + 10_000)) throw new Error(`${from} is not what was kept`)
            }
          })
          return null
        }),
    })
    {
      await using runtime = await createRuntime({
        store,
        agents: [keeper],
        ...(redacts ? { redact: { values: ['s3cret-of-nobody'] } } : {}),
      })
      const { status } = await runtime.run(keeper, 'go')
      if (status !== 'completed') throw new Error(`the run ${status}`)
    }
    for (const [name, { ms, stallMs, risenMb, leftMb }] of figures)
      console.log(
        `${what}, ${wide ? 'two bytes' : 'one byte'} a character, ${name}: ${ms.toFixed(0)} ms, longest stall ${stallMs.toFixed(0)} ms, memory +${risenMb.toFixed(0)} MB, then ${leftMb.toFixed(0)} MB`,
      )
  }
}

/** The address of a PostgreSQL that answers, with a schema that is made anew. */
async function postgres(): Promise<string | undefined> {
  const address = process.env['DATABASE_URL'] ?? 'postgres://root@127.0.0.1:5432/test'
  const client = new Client({ connectionString: address })
  try {
    await client.connect()
    await client.query('DROP SCHEMA IF EXISTS bench_contents CASCADE')
    return `${address}?schema=bench_contents`
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => undefined)
  }
}

console.log(`${size.toLocaleString('en')} characters${redacts ? ', with a rule of redaction' : ''}`)
await bench('in memory', ':memory:')
await inFolder((folder) => bench('SQLite', join(folder, 'reeve.db')))
const address = await postgres()
if (address === undefined) console.log('PostgreSQL: none answers')
else {
  await bench('PostgreSQL', address)
  await postgres()
}
