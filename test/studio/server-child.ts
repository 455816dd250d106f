/** The process behind the studio's tests: a real store in a file, a real server on a socket. Says its address. */
import { join } from 'node:path'
import { createRuntime } from '../../src/runtime/index.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { agents } from './agents.ts'
import { people } from './people.ts'

const [file = '', port = '0'] = process.argv.slice(2)
const runtime = await createRuntime({ store: file, agents: [...agents] })
const server = createServer({
  runtime,
  auth: { tokens: Object.fromEntries(people.map(({ token, ...person }) => [token, person])) },
  session: { secret: 'a secret of the tests of the studio, long enough' },
  assets: join(import.meta.dirname, '../../dist/studio'),
})
const listening = await listen(server, { port: Number(port) })
process.send?.({ url: listening.url, port: listening.port })
process.on(
  'message',
  (message: { readonly start: string; readonly count?: number; readonly user?: string; readonly session?: string }) => {
    const { start, count = 1, user = 'mia@example.com', session } = message
    const ids = Array.from({ length: count }, () =>
      runtime.start(start, 'Please see to it.', { user, ...(session === undefined ? {} : { session }) }),
    )
    Promise.all(ids).then(
      (runs) => process.send?.({ runs: runs.map(({ id }) => id) }),
      (error: unknown) => process.send?.({ failed: String(error) }),
    )
  },
)
