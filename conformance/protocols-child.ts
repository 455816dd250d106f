/**
 * A process of its own that serves a team over AG-UI and A2A, until it is killed. Its arguments: the folder of its
 * store, the port, the token. In the folder, `log` has a line for each model call and each effect; a file `open-<name>`
 * lets go what waits for it, `hold-effect` makes the effect wait.
 */
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { join } from 'node:path'
import { a2a } from '../packages/protocols/src/a2a/index.ts'
import { agUi } from '../packages/protocols/src/ag-ui/index.ts'
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import { createServer, listen } from '@reeve/server'

const [folder = '', port = '0', token = ''] = process.argv.slice(2)
const log = (line: string): void => appendFileSync(join(folder, 'log'), `${line}\n`)
const opened = async (name: string): Promise<void> => {
  while (!existsSync(join(folder, `open-${name}`))) await setTimeout(10)
}

const publish = tool({
  name: 'publish',
  description: 'Publishes a text.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  sensitive: true,
  execute: async () => {
    log('effect publish')
    if (existsSync(join(folder, 'hold-effect'))) await opened('effect')
    return { published: true }
  },
})
const writer = agent({
  name: 'writer',
  description: 'Publishes.',
  tools: [publish],
  model: async ({ messages, emit }) => {
    const isFirst = messages.at(-1)?.role !== 'tool'
    log(`model writer ${isFirst ? 'first' : 'last'}`)
    if (!isFirst) emit?.({ type: 'text.delta', id: '0', text: 'It is ' })
    await opened(isFirst ? 'first' : 'last')
    return isFirst ? { calls: [{ name: 'publish', input: { text: 'Ravens.' } }] } : 'It is out.'
  },
})
const chief = supervisor({
  name: 'chief',
  description: 'Leads.',
  workers: [writer],
  model: ({ messages }) => {
    const isLast = messages.at(-1)?.role === 'tool'
    log(`model chief ${isLast ? 'last' : 'first'}`)
    return isLast
      ? 'All is done.'
      : { text: 'I delegate.', calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'Publish.' } }] }
  },
})

const runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [chief], leaseMs: 500 })
const auth = { tokens: { [token]: { name: 'ann', roles: ['admin'] } } } as const
const protocols = [agUi({ agent: chief }), a2a({ agents: [chief] })]
const { url } = await listen(createServer({ runtime, auth, protocols }), { port: Number(port) })
process.stdout.write(`${url}\n`)
