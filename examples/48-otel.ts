/**
 * Telemetry without an SDK: a receiver of OTLP, a run that is seen live, and the same run exported after the fact, under
 * the same ids.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { agent, createRuntime, supervisor, tool } from 'reeve'
import { exportRun, liveTelemetry } from 'reeve/otel'

interface Traces {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly { readonly name: string; readonly spanId: string }[] }[]
  }[]
}
const came: { readonly name: string; readonly spanId: string }[] = []

// #region receiver
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
  request.on('end', () => (take(JSON.parse(body) as Traces), response.end('{}')))
})
// #endregion
const take = ({ resourceSpans = [] }: Traces): void => {
  for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) came.push(...spans)
}
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const otlp = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, gzip: false }

const lookUp = tool({ name: 'look_up', description: 'Looks up.', effect: 'read', execute: () => 'Ravens plan ahead.' })
const researcher = agent({
  name: 'researcher',
  description: 'Finds facts.',
  tools: [lookUp],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Ravens plan.' : { calls: [{ name: 'look_up', input: {} }] },
})
const editor = supervisor({
  name: 'editor',
  workers: [researcher],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'Ravens plan ahead.'
      : { calls: [{ name: 'delegate', input: { worker: 'researcher', instructions: 'What is new about ravens?' } }] },
})

await using runtime = await createRuntime({ agents: [editor] })
// #region live
const telemetry = await liveTelemetry(runtime, { from: 0, intervalMs: 10, otlp })
const run = await runtime.start(editor, 'A sentence about ravens.', {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', // of the request that asked for it
})
await run.outcome()
// #endregion
while (!came.some(({ name }) => name === 'invoke_workflow editor'))
  await new Promise((resolve) => setTimeout(resolve, 5))
await telemetry.close()
const live = came.splice(0)
console.log(live.map(({ name, spanId }) => `${spanId}  ${name}`).join('\n'))

// #region after
const { traceId, spans } = await exportRun(runtime, run.id, otlp)
// #endregion
assert.equal(traceId, '0af7651916cd43dd8448eb211c80319c')
// a span may come twice, with the same id: it is sent again where nobody heard that it has arrived
const ids = (all: typeof came): readonly string[] => [...new Set(all.map(({ spanId }) => spanId))].sort()
assert.equal(spans, ids(live).length)
assert.deepEqual(ids(came), ids(live))
console.log(`exported again: the same ${spans} ids`)
receiver.close()
receiver.closeAllConnections()
