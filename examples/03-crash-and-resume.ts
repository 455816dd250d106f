/**
 * A crash loses nothing. This file starts itself as a child, kills it with SIGKILL while its run is under way, opens
 * the store again and finishes the run: the chapters written before the kill are not written again.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, step } from 'reeve'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'reeve-example-'))
const witness = join(folder, 'witness.txt')

// #region author
const author = agent({
  name: 'author',
  description: 'Writes a book, chapter by chapter.',
  run: async (ctx) => {
    const chapters: string[] = []
    for (const chapter of ['one', 'two', 'three']) {
      const text = await step(ctx, 'write', async () => {
        appendFileSync(witness, `${chapter} `)
        await new Promise((resolve) => setTimeout(resolve, 100))
        return `Chapter ${chapter}.`
      })
      chapters.push(text)
    }
    return chapters.join(' ')
  },
})
// #endregion

await using runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [author] })
if (process.argv[2] !== undefined) await runtime.run(author, 'Write.', { runId: 'book' })
else {
  const child = spawn(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
  const run = await untilStarted()
  for await (const { event } of run.events()) {
    if (event.type !== 'step.settled') continue
    child.kill('SIGKILL') // the first chapter is recorded, the second is being written
    break
  }
  const outcome = await run.outcome()
  console.log(outcome.status === 'completed' ? outcome.output : outcome)
  const written = readFileSync(witness, 'utf8').trim().split(' ')
  console.log('written:', written.join(', '))
  if (written.filter((chapter) => chapter === 'one').length !== 1) process.exitCode = 1
}

async function untilStarted(): Promise<ReturnType<typeof runtime.handle>> {
  while ((await runtime.runs()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  return runtime.handle('book')
}
