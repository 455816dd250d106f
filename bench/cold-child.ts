/** A new process of the cold bench: prints the microseconds of a delegation in each of so many runs of fifty. */
import { createRuntime } from 'reeve'
import { longTeam, timedRun } from './team.ts'

/** Delegations of a run. */
const count = 50
const runs = Number(process.argv[2])

const leader = longTeam(count)
const runtime = await createRuntime({ agents: [leader] })
const each: number[] = []
for (let i = 0; i < runs; i++) each.push(((await timedRun(runtime, leader)) * 1000) / count)
await runtime.close()
console.log(JSON.stringify(each))
