/**
 * Records histories of the workflow for packages/temporal/test/temporal-replay.test.ts: `node packages/temporal/test/server/record.ts
 * <release>`. To be run once for a release whose workflow says something new; what is recorded is never recorded again:
 * it is what servers have.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { temporalServer } from '../../../../test/servers/temporal.ts'
import { Looking, openMover, run, serverAt, type HandProcess } from './hand.ts'
import type { TemporalMover } from '../../src/mover.ts'

const [release] = process.argv.slice(2)
if (release === undefined) throw new Error('say of which release')
const folder = join(import.meta.dirname, 'histories', release)
if (existsSync(folder)) throw new Error(`${folder} is there: what was recorded stays`)

await using server = await temporalServer('limit.historyCount.suggestContinueAsNew=40')
await using looking = new Looking(server)

/** What is played with each run, until its workflow (or the first of several) has ended. */
const plays: Readonly<Record<string, (id: string, workerProcess: HandProcess, mover: TemporalMover) => Promise<void>>> =
  {
    async 'one move'(_id, workerProcess) {
      ;(await workerProcess.next()).end('ended')
    },
    async 'parked and answered'(id, workerProcess, mover) {
      ;(await workerProcess.next()).end('parked')
      await atRest(id)
      mover.wake([run(id)])
      ;(await workerProcess.next()).end('ended')
    },
    async 'woken while it moves'(id, workerProcess) {
      const move = await workerProcess.next()
      for (let i = 0; i < 2; i++) await looking.handle(id).signal('wake')
      move.end('parked')
      ;(await workerProcess.next()).end('ended')
    },
    async 'cancelled while it waits'(id, workerProcess) {
      ;(await workerProcess.next()).end('parked')
      await atRest(id)
      await looking.handle(id).cancel()
      ;(await workerProcess.next()).end('ended')
    },
    async 'cancelled while it moves'(id, workerProcess) {
      const move = await workerProcess.next()
      await looking.handle(id).cancel()
      await seen(id, 'ActivityTaskCompleted')
      move.end('ended')
    },
    async 'continued as new'(id, workerProcess, mover) {
      const first = await execution(id)
      while ((await execution(id)) === first) {
        ;(await workerProcess.next()).end('parked')
        await atRest(id, first)
        mover.wake([run(id)])
      }
      ;(await workerProcess.next()).end('ended')
    },
    async 'continued while it moves'(id, workerProcess) {
      await workerProcess.next()
      const first = await execution(id)
      while ((await execution(id)) === first) {
        await looking.handle(id, first).signal('wake').catch(mustBeClosing)
      }
      ;(await workerProcess.next()).end('ended')
    },
  }

function mustBeClosing(thrown: unknown): void {
  if (!(
    thrown instanceof Error &&
    /closing|not found|already completed/.test(
      `${thrown.message} ${thrown.cause instanceof Error ? thrown.cause.message : ''}`,
    )
  ))
    throw thrown
}

const execution = async (id: string): Promise<string> => (await looking.handle(id).describe()).runId

/** Its workflow waits for a wake-up, or goes on in another one. */
async function atRest(id: string, first?: string): Promise<void> {
  for (;;) {
    if (first !== undefined && (await execution(id)) !== first) return
    const events = await looking.events(id)
    if (events.at(-1) === 'TimerStarted') return
  }
}

async function seen(id: string, event: string): Promise<void> {
  while (!(await looking.events(id)).includes(event));
}

mkdirSync(folder, { recursive: true })
for (const [name, play] of Object.entries(plays)) {
  const id = name.replaceAll(' ', '-')
  await using open = await openMover(serverAt(server, { taskQueue: id }))
  open.mover.wake([run(id)])
  while ((await looking.status(id)) === undefined);
  const first = await execution(id)
  await play(id, open.workerProcess, open.mover)
  while ((await looking.status(id)) === 'RUNNING');
  const history = await looking.handle(id, first).fetchHistory()
  const text = JSON.stringify(history, null, 2).replaceAll(`${process.pid}@${hostname()}`, 'worker')
  writeFileSync(join(folder, `${id}.json`), `${text}\n`)
}
