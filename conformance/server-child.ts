/** A server in a process of its own, to be killed: `server-child.ts <store> <port>`. Its author takes a moment for each word. */
import { createRuntime } from '@reeve/public'
import { uiMessages } from '../packages/protocols/src/ai-sdk/index.ts'
import { openai } from '../packages/protocols/src/openai/index.ts'
import { createServer, listen } from '@reeve/server'
import { office } from './chat-team.ts'
import { auth } from './chat-serving.ts'

const [, , store, port] = process.argv
const { agents } = office(() => new Promise((resolve) => setTimeout(resolve, 15)))
const runtime = await createRuntime({ store: store!, agents })
const protocols = [uiMessages({ agents: ['office', 'asker', 'author', 'failing'] }), openai()]
const { url } = await listen(createServer({ runtime, auth, protocols }), { port: Number(port) })
process.send?.(url)
