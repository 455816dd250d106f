/**
 * What one delegation in memory makes the machine do, counted: these are the same on every machine, however busy it is.
 * Prints them as JSON. Run with a young generation that holds a whole run, so that nothing is collected meanwhile.
 */
import { createHook } from 'node:async_hooks'
import { Session } from 'node:inspector/promises'
import { createRuntime } from 'reeve'
import { longTeam, timedRun } from './team.ts'

/** Delegations of a run; what a run itself takes is spread over them. */
const count = 100

const leader = longTeam(count)
const runtime = await createRuntime({ agents: [leader] })
const run = (): Promise<number> => timedRun(runtime, leader)
// caches and shapes of the first delegations are not what one takes
await run()

const before = process.memoryUsage().heapUsed
await run()
const bytes = process.memoryUsage().heapUsed - before

let promises = 0
const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) }).enable()
await run()
hook.disable()

const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await run()
const { result } = await inspector.post('Profiler.takePreciseCoverage')
const calls = result.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
await runtime.close()

console.log(
  JSON.stringify({
    calls: calls.reduce((sum, each) => sum + each, 0) / count,
    functions: calls.filter((each) => each >= count / 2).length,
    bytes: bytes / count,
    promises: promises / count,
  }),
)
