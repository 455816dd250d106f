/**
 * The server that hostile clients have before them: over the store that is tortured, in a process of its own, which
 * drives nothing. Tells its parent the port, and every error that was its own.
 *
 * Arguments: options of the engine as JSON.
 */
import { createRuntime } from '@reeve/runtime'
import { createServer, listen } from '@reeve/server'
import { engineAt, type Place } from '../servers/engines.ts'
import { hostileTokens } from './hostile.ts'

const engine = engineAt(JSON.parse(process.argv[2]!) as Place, () => undefined)
const runtime = await createRuntime({ engine, drive: false })
const handler = createServer({
  runtime,
  auth: { tokens: hostileTokens },
  onError: (error) => void process.send?.({ error: String(error) }),
})
const { port } = await listen(handler, { port: 0 })
process.send?.({ port })
process.on('disconnect', () => process.exit(0))
