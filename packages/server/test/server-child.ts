/**
 * A process of its own on a store: `serve` drives and serves it, `drive` drives it alone. Says where it listens, on one
 * line, and goes on until it is killed. `heldAt`: the step of the stepper that does not end in this process.
 */
import { createRuntime } from '@reeve/runtime'
import { createServer, listen } from '../src/index.ts'
import { childToken, stepperHeldAt } from './stepper.ts'

const [, , role, store, heldAt] = process.argv
const stepper = stepperHeldAt(Number(heldAt))
const runtime = await createRuntime({ store: store!, agents: [stepper], leaseMs: 500 })
const auth = { tokens: { [childToken]: { name: 'operator', roles: ['admin'] } } } as const
const said = role === 'serve' ? (await listen(createServer({ runtime, auth }), { port: 0 })).url : 'driving'
process.stdout.write(`${said}
`)
setInterval(() => {}, 60_000)
