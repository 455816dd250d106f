/**
 * A process of its own on a store: `serve` drives and serves it, `drive` drives it alone. Says where it listens, on one
 * line, and goes on until it is killed.
 */
import { createRuntime } from '../../src/runtime/index.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { childToken, stepper } from './stepper.ts'

const [, , role, store] = process.argv
const runtime = await createRuntime({ store: store!, agents: [stepper], leaseMs: 500 })
const auth = { tokens: { [childToken]: { name: 'operator', roles: ['admin'] } } } as const
const said = role === 'serve' ? (await listen(createServer({ runtime, auth }), { port: 0 })).url : 'driving'
process.stdout.write(`${said}
`)
setInterval(() => {}, 60_000)
