/**
 * Several processes on one PostgreSQL: one line is different. It needs a database (`DATABASE_URL`) and the package
 * `pg`. Two workers share the store; the one that has the run is killed with SIGKILL in the middle of it, and the other
 * one ends it: no chapter is written twice. They could as well be on two hosts.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { agent, createRuntime, step } from 'reeve'

const { DATABASE_URL: database = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env

const author = agent({
  name: 'author',
  description: 'Writes a book, chapter by chapter.',
  run: async (ctx) => {
    const chapters: { readonly text: string; readonly by: number }[] = []
    for (const chapter of ['one', 'two', 'three']) {
      const text = await step(ctx, 'write', async () => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        return { text: `Chapter ${chapter}.`, by: process.pid }
      })
      chapters.push(text)
    }
    return chapters
  },
})

if (process.argv[2] === 'worker') await work()
else await ask()

async function work(): Promise<void> {
  // #region worker
  const runtime = await createRuntime({ store: database, agents: [author] }) // instead of store: 'reeve.db'
  // #endregion
  process.send?.('ready')
  await once(process, 'disconnect')
  await runtime.close()
}

async function ask(): Promise<void> {
  // #region client
  await using runtime = await createRuntime({ store: database, agents: [author], drive: false }) // starts, reads and decides; runs nothing
  const run = await runtime.start(author, 'Write.')
  // #endregion
  const workers = [worker(), worker()]
  await Promise.all(workers.map((each) => once(each, 'message')))
  for await (const { event } of run.events()) {
    if (event.type !== 'step.settled' || event.outcome.status !== 'completed') continue
    const { by } = event.outcome.output as { readonly by: number }
    workers.find(({ pid }) => pid === by)?.kill('SIGKILL') // the first chapter is recorded, the second is being written
    console.log('killed', by)
    break
  }
  const outcome = await run.outcome()
  for (const each of workers) if (each.connected) each.disconnect()
  console.log(outcome)
  assert.equal(outcome.status, 'completed')
  const chapters = outcome.output as { readonly text: string; readonly by: number }[]
  assert.deepEqual(
    chapters.map(({ text }) => text),
    ['Chapter one.', 'Chapter two.', 'Chapter three.'],
  )
  assert.equal(new Set(chapters.map(({ by }) => by)).size, 2)
}

function worker(): ChildProcess {
  return spawn(process.execPath, [import.meta.filename, 'worker'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}
