/**
 * A process that drives runs on PostgreSQL, for tests that kill it. Arguments: address, schema, lease in milliseconds.
 * Says `ready`.
 */
import { Client } from 'pg'
import { createPostgresEngine } from '@reeve/postgres'
import { registry, step, type Agent } from '../../../../test/crash/agents.ts'

const [postgres, schema, leaseMs] = process.argv.slice(2) as [string, string, string]
const witness = new Client({ connectionString: postgres })
await witness.connect()
const seen = (what: string): Promise<unknown> =>
  witness.query(`insert into ${schema}.witness(pid, what) values($1, $2)`, [process.pid, what])

/** A name, and how many steps: each of them is seen and takes a moment. */
const walker: Agent = async (ctx, input) => {
  const [name, steps] = input as [string, number]
  for (let i = 0; i < steps; i++)
    await step(ctx, `walk ${i}`, async () => {
      await seen(`${name} ${i}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
      return i
    })
  return name
}
/** Has the event loop for so many milliseconds. */
const hog: Agent = (ctx, input) =>
  step(ctx, 'hog', async () => {
    await seen('hog')
    const end = performance.now() + Number(input)
    while (performance.now() < end);
    return 'done'
  })

const engine = createPostgresEngine({ postgres, schema, leaseMs: Number(leaseMs), onWarning: () => {} })
await engine.drive(registry({ walker, hog }))
process.stdout.write('ready\n')
// whoever waits for runs of others is kept alive by them
const stay = setInterval(() => {}, 1_000)
process.once('SIGTERM', () => {
  clearInterval(stay)
  engine.close().then(
    () => witness.end(),
    () => process.exit(1),
  )
})
