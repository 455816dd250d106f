/**
 * What operators do with an installation on PostgreSQL: back it up and restore it while runs wait, and bring new code
 * out process by process. The recipes are in docs/how-to/engines.md.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agent, approve, createRuntime, step, type Agent, type Runtime } from '@reeve/public'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { freshPostgres, stoppablePostgres } from '../../../test/servers/postgres.ts'

const gate = {
  tool: 'publish',
  toolVersion: '1',
  input: 'a book',
  reason: 'it is for the public',
  timeoutMs: 3_600_000,
}

/** Writes, asks, and says who has published. `done`: what has been done, over all processes. */
const clerk = (version: string, done: string[]): Agent =>
  agent({
    name: 'clerk',
    version,
    run: async (ctx) => {
      await step(ctx, 'write', () => void done.push('write'), { effect: 'once' })
      const { approved } = await approve(ctx, gate)
      await step(ctx, 'publish', () => void done.push(`publish ${version}`), { effect: 'once' })
      return approved
    },
  })

async function letOn(runtime: Runtime, id: string): Promise<unknown> {
  const run = runtime.handle(id)
  const [approval] = await runtime.approvals({ run: run.id })
  await run.decide({ approvalId: approval!.id, decision: 'approve' })
  return run.outcome()
}

test('a dump of waiting runs restores all of them: each goes on and repeats nothing (K1)', async () => {
  await using here = await freshPostgres()
  await using elsewhere = await stoppablePostgres()
  const folder = temporaryFolder('dump')
  const done: string[] = []
  const store = `${here.server}?schema=${here.schema}`
  const runs = ['a', 'b', 'c']
  {
    await using runtime = await createRuntime({ store, agents: [clerk('1', done)] })
    for (const runId of runs) await (await runtime.start('clerk', 'go', { runId })).until('waiting')
    const dump = join(folder, 'dump.sql')
    execFileSync('pg_dump', ['--schema', here.schema, '--no-owner', '-f', dump, here.server], { stdio: 'pipe' })
    // what happens after it is not in it
    await letOn(runtime, 'a')
    execFileSync('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-f', dump, elsewhere.url], { stdio: 'pipe' })
  }
  expect(done).toEqual(['write', 'write', 'write', 'publish 1'])
  await using restored = await createRuntime({
    store: `${elsewhere.url}?schema=${here.schema}`,
    agents: [clerk('1', done)],
  })
  expect(new Map((await restored.runs()).map(({ run, status }) => [run as string, status]))).toEqual(
    new Map(runs.map((run) => [run, 'waiting'])),
  )
  for (const run of ['b', 'c']) expect(await letOn(restored, run)).toMatchObject({ status: 'completed', output: true })
  expect(done.filter((each) => each === 'write')).toHaveLength(3)
  expect(done.filter((each) => each === 'publish 1')).toHaveLength(3)
  removeFolder(folder)
})

test('a rolling restart: each process closes in order, the others take its runs, and none waits for it (K4)', async () => {
  await using place = await freshPostgres()
  const store = `${place.server}?schema=${place.schema}`
  const done: string[] = []
  let begun = 0
  const walker = (version: string): Agent =>
    agent({
      name: 'walker',
      version,
      run: async (ctx, brief) => {
        for (let i = 0; i < 10; i++)
          await step(ctx, `step${i}`, async () => {
            begun++
            await new Promise((resolve) => setTimeout(resolve, 20))
            done.push(`${String(brief)} ${i}`)
          })
        return version
      },
    })
  const open = (version: string): Promise<Runtime> =>
    createRuntime({ store, agents: [walker(version)], onWarning: () => {} })
  await using client = await createRuntime({ store, agents: [walker('1')], drive: false })
  const old = [await open('1'), await open('1')]
  const runs = await Promise.all(Array.from({ length: 20 }, (_, i) => client.start('walker', `r${i}`)))
  await expect.poll(() => begun).toBeGreaterThan(20)
  const fresh: Runtime[] = []
  for (const each of old) {
    fresh.push(await open('2'))
    await each.close()
  }
  for (const run of runs) expect(await run.outcome()).toMatchObject({ status: 'completed' })
  for (const each of fresh) await each.close()
  // an effect that was called back is done once more; one that was recorded is not
  expect(new Set(done).size).toBe(200)
}, 60_000)
