/**
 * Torture of several worker processes on one PostgreSQL, of the server that tells them what to do (three Restate nodes,
 * Temporal, or none), and of the database: `kill -9`, SIGSTOP and cut connections for all of them at random moments,
 * with this process as their operator. Everything that was promised holds in the end.
 *
 *   npm run chaos -- --engine postgres|restate|temporal [--seconds 60] [--seed n] [--runs 24] [--workers 3] [--kills worker=2,node=12,freeze=6,database=25,cut=5,partition=4] [--load 0] [--hosts] [--hostile 50] [--keep]
 *
 * `--runs`: so many are open at a time. `--kills`: mean seconds between two blows of a kind, 0 for none; with
 * `database=0` the PostgreSQL that runs is used. `--hosts`: each worker is on a host of its own (a network namespace:
 * needs root) and is cut off from the store or from the server now and then. `--hostile`: so many hostile clients are on a
 * server over the same store all the while. `--load`: so many processes beside it are always busy, and patience is
 * longer for it. Prints figures, the stalls that the stall detector has told, a line for each promise, then
 * `N passed, N failed`. Exit code 1 on a failure.
 */
import { parseArgs } from 'node:util'
import { sharedEngines } from '../servers/engines.ts'
import { loadOf, slowedBy } from '../servers/load.ts'
import { rhythmOf, Storm } from './storm.ts'

const { values: args } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    runs: { type: 'string', default: '24' },
    workers: { type: 'string', default: '3' },
    kills: { type: 'string', default: '' },
    patience: { type: 'string', default: '90' },
    load: { type: 'string', default: '0' },
    hosts: { type: 'boolean', default: false },
    hostile: { type: 'string', default: '0' },
    keep: { type: 'boolean', default: false },
  },
})

const engine = sharedEngines.find((each) => each === args.engine)
if (engine === undefined) throw new Error(`--engine is ${sharedEngines.join(', ')}`)
const load = Number(args.load)
const endLoad = loadOf(load)
const storm = new Storm({
  engine,
  seconds: Number(args.seconds),
  seed: Number(args.seed),
  runs: Number(args.runs),
  workers: Number(args.workers),
  patience: Number(args.patience) * slowedBy(load),
  rhythm: rhythmOf(args.kills),
  hosts: args.hosts,
  hostile: Number(args.hostile),
  keep: args.keep,
})
console.log(`${engine}, seed ${args.seed}, beside ${load} busy processes`)
const { figures, promises } = await storm.run()
for (const line of figures) console.log(line)
let failed = 0
for (const [promise, problems] of promises) {
  if (problems.length > 0) failed++
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${promise}`)
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`)
  if (problems.length > 10) console.log(`  … and ${problems.length - 10} more`)
}
endLoad()
await storm.dispose(failed === 0)
console.log(`${promises.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
