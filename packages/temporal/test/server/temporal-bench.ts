/**
 * The engine on Temporal as the contract suite needs it: one server for a file of tests, a task queue for every case.
 */
import { temporalEngine } from '../../src/temporal.ts'
import type { EngineSubject } from '../../../contract/src/index.ts'
import { moved, type stores } from '../../../contract/test/moved-bench.ts'
import { temporalServer, type TemporalTestServer } from '../../../../test/servers/temporal.ts'

let server: Promise<TemporalTestServer> | undefined
let cases = 0

export const onTemporal = (store: keyof typeof stores): EngineSubject & { readonly durable: boolean } =>
  moved(store, async () => {
    const { address } = await (server ??= temporalServer())
    const taskQueue = `case-${++cases}`
    return { open: (options) => temporalEngine({ ...options, address, taskQueue }) }
  })
