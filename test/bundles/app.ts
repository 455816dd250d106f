/**
 * The application that is bundled, as a program that serves: `app.ts <store>`. Prints its address, and every warning.
 */
import { createRuntime } from 'reeve'
import { createServer, listen } from 'reeve/server'
import { agents } from './agents.ts'
import { token } from './token.ts'

process.on('warning', (warning) =>
  process.stdout.write(`warning ${(warning as { code?: string }).code} ${warning.message}\n`),
)

async function serve(): Promise<void> {
  const runtime = await createRuntime({ store: process.argv[2]!, agents })
  const server = createServer({ runtime, auth: { tokens: { [token]: { name: 'ann', roles: ['admin'] } } } })
  const { url } = await listen(server, { port: 0 })
  process.stdout.write(`ready ${url}\n`)
}

serve().catch((thrown: unknown) => {
  process.stderr.write(`${String(thrown)}\n`)
  process.exit(1)
})
