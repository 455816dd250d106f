/** The process behind the studio's tests: a real store in a file, a real server on a socket. Says its address. */
import { join } from 'node:path'
import type { Json } from '@reeve/core'
import { createRuntime } from '@reeve/runtime'
import { createServer, listen } from '@reeve/server'
import { agents } from './agents.ts'
import { chatAgents, paid } from './chat-agents.ts'
import { crews, openDoor } from './crew.ts'
import { runAgents } from './run-agents.ts'
import { people } from './people.ts'

const [file = '', port = '0'] = process.argv.slice(2)
const runtime = await createRuntime({
  store: file,
  trialModels: ['openai/gpt-5-mini'],
  agents: [...agents, ...crews, ...runAgents, ...chatAgents],
})
const server = createServer({
  runtime,
  auth: { tokens: Object.fromEntries(people.map(({ token, ...person }) => [token, person])) },
  session: { secret: 'a secret of the tests of the studio, long enough' },
  assets: join(import.meta.dirname, '../../../dist/studio'),
})
const listening = await listen(server, { port: Number(port) })
process.send?.({ url: listening.url, port: listening.port })
type Message =
  | {
      readonly start: string
      readonly count?: number
      /** A run for each, instead of `count` runs. */
      readonly inputs?: readonly Json[]
      readonly user?: string
      readonly session?: string
    }
  /** What was really paid so far. */
  | { readonly paid: 'all' }
  /** A door at which agents of crew.ts wait. */
  | { readonly open: string }
  | { readonly cancel: 'all' }
  /** A run, until something of this name is under way. */
  | { readonly waiting: string; readonly name: string }
  /** A run, until so many workers have ended. */
  | { readonly settled: string; readonly workers: number }
  /** A run, to its end. */
  | { readonly ended: string }

async function answer(message: Message): Promise<object> {
  if ('paid' in message) return { paid }
  if ('open' in message) {
    await openDoor(message.open)
    return { opened: message.open }
  }
  if ('waiting' in message) {
    const run = runtime.handle(message.waiting)
    for await (const { event } of run.events())
      if ('op' in event && event.op === 'step' && 'tool' in event && event.tool === message.name) break
    return { waiting: message.name }
  }
  if ('settled' in message) {
    let left = message.workers
    for await (const { event } of runtime.handle(message.settled).events())
      if (event.type === 'worker.settled' && --left === 0) break
    return { settled: message.settled }
  }
  if ('ended' in message) return { status: (await runtime.handle(message.ended).outcome()).status }
  if ('cancel' in message) {
    const open = await runtime.runs({ status: ['running', 'waiting', 'paused', 'human_control'] })
    for (const { run } of open) {
      const handle = runtime.handle(run)
      await handle.control.cancel('the test has ended')
      await handle.outcome()
    }
    return { cancelled: open.length }
  }
  const { start, count = 1, user = 'mia@example.com', session } = message
  const inputs = message.inputs ?? Array.from({ length: count }, () => 'Please see to it.')
  const caller = { user, ...(session === undefined ? {} : { session }) }
  const runs = await Promise.all(inputs.map((input) => runtime.start(start, input, caller)))
  return { runs: runs.map(({ id }) => id) }
}
process.on('message', (message: Message) => {
  answer(message).then(
    (said) => process.send?.(said),
    (error: unknown) => process.send?.({ failed: String(error) }),
  )
})
