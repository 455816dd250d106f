/**
 * What telemetry costs: runs of a supervisor with 200 delegations, followed and exported live as OTLP, beside the same
 * runs alone; the receiver is in the same process, so its time counts, too. And the fold of a long journal to spans.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime } from 'reeve'
import { liveTelemetry } from 'reeve/otel'
import { RunTrace } from '../packages/otel/src/run-trace.ts'
import { inTurns, ownSeconds, type Row } from './measure.ts'
import { longTeam, timedRun } from './team.ts'

const delegations = 200

/** Takes everything and reads nothing of it. */
async function receiving(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end('{}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

export async function run(): Promise<Row[]> {
  const leader = longTeam(delegations)
  const { server, url } = await receiving()
  await using runtime = await createRuntime({ agents: [leader] })
  const cpuOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = ownSeconds()
    await work()
    return ((ownSeconds() - before) * 1e6) / delegations
  }
  const followed = async (): Promise<void> => {
    const telemetry = await liveTelemetry(runtime, { otlp: { url } })
    await timedRun(runtime, leader)
    await telemetry.close()
  }
  const cpu = await inTurns(15, { with: () => cpuOf(followed), without: () => cpuOf(() => timedRun(runtime, leader)) })
  const [{ run: id } = { run: '' }] = await runtime.runs({ limit: 1 })
  const events = await runtime.handle(id).journal()
  const fold = await inTurns(15, {
    ours: () => {
      const begun = performance.now()
      const trace = new RunTrace()
      for (const event of events) trace.take(event)
      trace.drain()
      return Promise.resolve(((performance.now() - begun) * 1000) / events.length)
    },
  })
  server.close()
  server.closeAllConnections()
  return [
    {
      figure: 'delegation in memory with live telemetry (OTLP, gzip), CPU time',
      value: cpu.with,
      unit: 'µs',
      side: { what: 'without', value: cpu.without },
    },
    { figure: 'fold of one event to spans', value: fold.ours, unit: 'µs' },
  ]
}
