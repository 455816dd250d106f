/**
 * A server in a process of its own, to be killed: `server-child.ts <store> <port>`. Its agent writes a chapter in each
 * step, and shows it word by word.
 */
import { agent, createRuntime, step } from '@reeve/public'
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

const runtime = await createRuntime({ store: store!, agents: [author] })
const { url } = await listen(
  createServer({
    runtime,
    auth: { tokens: { 'a-token-of-the-test-of-the-client': { name: 'operator', roles: ['admin'] } } },
  }),
  { port: Number(port) },
)
process.send?.(url)
