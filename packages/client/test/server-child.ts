/**
 * A server in a process of its own, to be killed: `server-child.ts <store> <port>`. Its agent writes a chapter in each
 * step, and shows it word by word; another one has the client pick a file.
 */
import { agent, clientTool, createRuntime, step } from '@reeve/public'
import { createServer, listen } from '@reeve/server'

const [, , store, port] = process.argv

const author = agent({
  name: 'author',
  run: async (ctx) => {
    let written = 0
    for (let chapter = 0; chapter < 30; chapter++)
      written += await step(ctx, 'write', async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return 1
      })
    return `${written} chapters`
  },
})

const picker = agent({
  name: 'picker',
  tools: [clientTool({ name: 'pick', description: 'Lets the user pick a file.' })],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `picked ${JSON.stringify(messages.at(-1)!.content)}`
      : { calls: [{ name: 'pick', input: {} }] },
})

const runtime = await createRuntime({ store: store!, agents: [author, picker] })
const { url } = await listen(
  createServer({
    runtime,
    auth: { tokens: { 'a-token-of-the-test-of-the-client': { name: 'operator', roles: ['admin'] } } },
  }),
  { port: Number(port) },
)
process.send?.(url)
