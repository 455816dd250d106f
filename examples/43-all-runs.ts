/**
 * All runs at once: a webhook that is told of the end of every run, whichever process drives it. It keeps the id of the
 * last event that was taken, so that nothing is lost over a restart: the process stops in the middle, and the next one
 * goes on there. What comes twice has the same key.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, type Runtime } from 'reeve'
import { eventWebhook, verifyEvent } from 'reeve/notify'

const secret = 'only you and your receiver know it'
const ended = new Map<string, string>()
let posts = 0
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
  request.on('end', () => {
    const told = verifyEvent(request.headers, body, secret)
    if (told === undefined) return response.writeHead(401).end()
    if (++posts === 2) return response.writeHead(503).end() // it is posted again, under the same key
    ended.set(told.key, told.event.run)
    return response.writeHead(204).end()
  })
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`

const folder = mkdtempSync(join(tmpdir(), 'reeve-all-runs-'))
const [store, note] = [join(folder, 'reeve.db'), join(folder, 'forwarded')]
writeFileSync(note, '0')

const poet = agent({
  name: 'poet',
  description: 'Writes a verse.',
  run: (_ctx, brief) => `${String(brief)}: nevermore`,
})

// #region forward
async function forward(runtime: Runtime, signal: AbortSignal): Promise<void> {
  const post = eventWebhook({ url, secret })
  for await (const event of runtime.feed({ from: Number(readFileSync(note, 'utf8')), signal })) {
    if (event.event.type === 'activation.settled') await post(event, signal) // tries again until it was taken
    writeFileSync(note, String(event.id)) // after it was taken: it may come twice, and is never left out
  }
}
// #endregion

/** Forwards until the receiver knows of so many ends. */
async function forwardUntil(runtime: Runtime, count: number): Promise<void> {
  const stop = new AbortController()
  const forwarding = forward(runtime, stop.signal).catch((thrown: unknown) => {
    if (!stop.signal.aborted) throw thrown
  })
  while (ended.size < count) await new Promise((resolve) => setTimeout(resolve, 5))
  stop.abort()
  await forwarding
}

{
  await using runtime = await createRuntime({ store, agents: [poet] })
  const forwarding = forwardUntil(runtime, 2)
  for (const bird of ['raven', 'crow']) await runtime.run(poet, bird, { runId: bird })
  await forwarding
}
{
  await using runtime = await createRuntime({ store, agents: [poet] })
  for (const bird of ['owl', 'heron']) await runtime.run(poet, bird, { runId: bird })
  await forwardUntil(runtime, 4)
}
receiver.close()
receiver.closeAllConnections()
rmSync(folder, { recursive: true, force: true })
console.log([...ended].map(([key, run]) => `${key}: ${run}`).join(', '))
assert.deepEqual([...ended.values()], ['raven', 'crow', 'owl', 'heron'])
