/** Every run as a trace, to any receiver of OTLP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { agent, createRuntime, supervisor } from 'reeve'
import { liveTelemetry } from 'reeve/otel'

const names: string[] = []
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
  request.on('end', () => {
    names.push(...[...body.matchAll(/"name":"((?:invoke|chat)[^"]*)"/g)].map(([, name]) => name!))
    response.end('{}')
  })
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const model = 'openai/gpt-5-mini'
const writer = agent({ name: 'writer', description: 'Writes.', model })
const desk = supervisor({ name: 'desk', workers: [writer], model })
const runtime = await createRuntime({ agents: [desk] })

// #region telemetry
const otlp = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, gzip: false }
const telemetry = await liveTelemetry(runtime, { otlp })
// #endregion

await runtime.run(desk, 'A sentence about ravens.')
await telemetry.close()
await runtime.close()
receiver.close()
console.log([...new Set(names)].toSorted().join(', '))
for (const name of ['invoke_workflow desk', 'invoke_agent writer']) assert.ok(names.includes(name), name)
