/**
 * Real processes, real `kill -9`, real SIGSTOP: nothing that was recorded is lost, nothing that was recorded is done
 * again, no `once` is repeated.
 *
 *   node test/crash/kill.ts [--kills 300] [--seed n] [--runs 12] [--workers 2] [--patience 20] [--durability full|strict|relaxed] [--freezes 0.12] [--load 0] [--keep]
 *
 * `--workers`: so many processes have a store open. `--patience`: seconds that runs have after the last kill. `--load`: so
 * many processes beside it are always busy, and patience is longer for it. Prints figures, the stalls that the stall
 * detector has told, a line for each promise, then `N passed, N failed`. Exit code 1 on a failure.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { expectations } from './kill/reference.ts'
import { Dice } from './kill/random.ts'
import { Round, type Figures, type Plan, type Problems } from './kill/round.ts'
import { World } from './kill/world.ts'
import { loadOf, slowedBy } from '../servers/load.ts'

const { values: args } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    runs: { type: 'string', default: '12' },
    workers: { type: 'string', default: '2' },
    patience: { type: 'string', default: '20' },
    durability: { type: 'string', default: 'full' },
    freezes: { type: 'string', default: '0.12' },
    load: { type: 'string', default: '0' },
    keep: { type: 'boolean', default: false },
  },
})

const budget = Number(args.kills)
const seed = Number(args.seed)
const load = Number(args.load)
const plan: Plan = {
  runs: Number(args.runs),
  processes: Number(args.workers),
  leaseMs: 400,
  blockMs: 0,
  freezes: Number(args.freezes),
  durability: args.durability as Plan['durability'],
  tortureMs: 6_000,
  patienceMs: Number(args.patience) * 1_000 * slowedBy(load),
}
const figures: Figures = {
  kills: 0,
  killsAtStart: 0,
  killsIdle: 0,
  freezes: 0,
  rounds: 0,
  runs: 0,
  entries: 0,
  steps: 0,
  done: 0,
  repeated: 0,
  doubts: 0,
  decided: 0,
  refused: 0,
  refusedRecorded: 0,
  refusedAlive: 0,
  mostLateMs: 0,
  mostFlapping: 0,
  stalls: [],
}
const problems: Problems = { lost: [], journal: [], once: [], epoch: [], outcome: [], operator: [] }
const promises: Record<keyof Problems, string> = {
  lost: 'no run is lost, no process falls over',
  journal: 'journals gapless, each step recorded once, one end each, indexes in step, integrity_check ok',
  once: 'every once effect happened exactly once, in-doubt ones answered truthfully',
  epoch: 'no step begun again after its end was recorded, no epoch held by two',
  outcome: 'every outcome equals that of an uncrashed run',
  operator: 'every decision taken exactly once',
}

const dir = mkdtempSync(join(tmpdir(), 'reeve-kill-'))
// Children start faster when what they import is compiled already.
process.env['NODE_COMPILE_CACHE'] ??= join(dir, 'cache')
const dice = new Dice(seed)
const start = performance.now()
const limitMs = (60_000 + (budget * plan.patienceMs) / 10) * slowedBy(load)
const endLoad = loadOf(load)
let left = budget
const mayKill = (): boolean => left > 0 && left-- > 0

const expected = await expectations()
const socket = join(dir, 'world.sock')
const world = new World(seed)
await world.listen(socket)
const fine = (): boolean => Object.values(problems).every((list) => list.length === 0)
let number = 0
/** Stalls that have been told. */
let told = 0

const many = Math.max(3, plan.processes)
/**
 * So many processes, whose tools block their event loops for longer than the lease; of every other such store the lease
 * is the default.
 */
const blocking = (round: number): Plan =>
  round % 2 === 0
    ? { ...plan, processes: many, runs: 4, freezes: 0, leaseMs: undefined, blockMs: 3_500 }
    : { ...plan, processes: many, runs: 4, blockMs: 1_000 }

/** One store after the other, until all kills are spent or something has gone wrong. */
async function lane(): Promise<void> {
  while (left > 0 && fine()) {
    if (performance.now() - start > limitMs) return void problems.lost.push(`not done after ${limitMs} ms`)
    const file = join(dir, `round${number}.db`)
    // Every third store has tools that block, and every third has few runs and processes that stand still often: then a
    // stale one is not stopped by what others have written meanwhile.
    const here = [plan, blocking(number), { ...plan, runs: 3, freezes: Math.max(plan.freezes, 0.6) }][number % 3]!
    await new Round({
      number: number++,
      file,
      socket,
      world,
      dice,
      plan: here,
      expected,
      figures,
      problems,
      mayKill,
    }).run()
    console.log(
      `${((performance.now() - start) / 1_000).toFixed(0)} s: ${figures.rounds} stores, ${figures.kills + figures.killsIdle + figures.killsAtStart} kills, ${figures.stalls.length} stalls`,
    )
    for (const stall of figures.stalls.slice(told)) console.log(`  ${stall}`)
    told = figures.stalls.length
    if (!args.keep && fine()) for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  }
}
// Two stores at a time, with several processes each: somebody is always at work while others start or stand still.
await Promise.all([lane(), lane()])
world.close()
endLoad()

const seconds = ((performance.now() - start) / 1_000).toFixed(1)
const f = figures
console.log(
  `seed ${seed} · ${f.kills} kill -9 of processes that held runs, ${f.killsIdle} of others, ${f.killsAtStart} while starting, ${f.freezes} freezes beyond the lease · ${f.rounds} stores, ${f.runs} runs, ${plan.processes} or ${many} processes each · ${seconds} s`,
)
console.log(
  `${f.entries} journal entries, ${f.steps} steps recorded · ${f.done} effects seen from outside, ${f.repeated} of them repeats of unrecorded ones · ${f.doubts} once in doubt, ${f.decided} decisions`,
)
console.log(
  `${f.refused} calls refused by their epoch, ${f.refusedRecorded} of them for recorded steps, ${f.refusedAlive} of processes that never stood still`,
)
console.log(
  `beside ${load} busy processes: event loops up to ${f.mostLateMs} ms late, up to ${f.mostFlapping} runs lost twice or more in a row at a time`,
)
console.log(
  f.stalls.length === 0
    ? 'no run without progress for longer than the delay of its holder explains'
    : `${f.stalls.length} stalls, told above`,
)
let failed = 0
for (const [name, list] of Object.entries(problems)) {
  if (list.length > 0) failed++
  console.log(`${list.length === 0 ? 'ok  ' : 'FAIL'} ${promises[name as keyof Problems]}`)
  for (const problem of list.slice(0, 10)) console.log(`  ${problem}`)
  if (list.length > 10) console.log(`  … and ${list.length - 10} more`)
}
if (failed === 0 && !args.keep) rmSync(dir, { recursive: true, force: true })
else console.log(`kept: ${dir}`)
console.log(`${Object.keys(problems).length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
