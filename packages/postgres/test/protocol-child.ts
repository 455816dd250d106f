/** A process that serves every protocol over the runtime of a PostgreSQL store: `protocol-child.ts <store> <folder> <token> <drive>`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { a2a } from '../../protocols/src/a2a/index.ts'
import { agUi } from '../../protocols/src/ag-ui/index.ts'
import { uiMessages } from '../../protocols/src/ai-sdk/index.ts'
import { mcpServer } from '@reeve/mcp'
import { openai } from '../../protocols/src/openai/index.ts'
import { agent, createRuntime, supervisor, tool } from '@reeve/public'
import { createServer, listen } from '@reeve/server'

const [store = '', folder = '', token = '', drive] = process.argv.slice(2)

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  sensitive: true,
  effect: 'once',
  execute: ({ to }) => `paid ${to as string}`,
})
const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  tools: [pay],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input: { to: 'ann' } }] },
})
const bank = supervisor({
  name: 'bank',
  workers: [clerk],
  model: ({ messages, emit }) => {
    const isDone = messages.at(-1)?.role === 'tool'
    const text = isDone ? 'All is paid.' : 'I ask the clerk.'
    emit?.({ type: 'text.delta', id: '0', text })
    return isDone ? text : { text, calls: [{ name: 'delegate', input: { worker: 'clerk', instructions: 'Pay Ann.' } }] }
  },
})
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' })
/** Begins to speak, and goes on once the file of the name it was given is there. */
const slow = agent({
  name: 'slow',
  description: 'Waits.',
  tools: [look],
  model: async ({ messages, emit }) => {
    if (messages.at(-1)?.role === 'tool') return 'It is done.'
    emit?.({ type: 'text.delta', id: '0', text: 'I begin. ' })
    const name = messages.findLast(({ role }) => role === 'user')?.content as string
    while (!existsSync(join(folder, name))) await sleep(10)
    return { text: 'I begin. ', calls: [{ name: 'look', input: {} }] }
  },
})

const runtime = await createRuntime({ store, agents: [bank, slow], drive: drive === 'drive' })
const names = ['bank', 'slow']
const server = createServer({
  runtime,
  auth: { tokens: { [token]: { name: 'ann', roles: ['admin'] } } },
  protocols: [
    uiMessages({ agents: names }),
    openai(),
    agUi({ agents: names }),
    a2a({ agents: names }),
    mcpServer({ agents: names }),
  ],
})
const { url } = await listen(server, { port: 0 })
process.send!(url)
