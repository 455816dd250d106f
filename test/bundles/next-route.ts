/** The same application as a route of Next.js, as docs/how-to/server.md says it. The store is named by STORE. */
import { createRuntime } from 'reeve'
import { createServer, type ReeveServer } from 'reeve/server'
import { agents } from './agents.ts'
import { token } from './token.ts'

process.on('warning', (warning) =>
  process.stdout.write(`warning ${(warning as { code?: string }).code} ${warning.message}\n`),
)

async function open(): Promise<ReeveServer> {
  const runtime = await createRuntime({ store: process.env['STORE']!, agents })
  return createServer({ runtime, auth: { tokens: { [token]: { name: 'ann', roles: ['admin'] } } } })
}

let server: Promise<ReeveServer> | undefined
/** Made with the first request: `next build` loads this file, too, and opens no store. */
const handle = async (request: Request): Promise<Response> => (await (server ??= open())).fetch(request)
export { handle as DELETE, handle as GET, handle as POST }
