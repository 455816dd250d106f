/** A real A2A server in a process of its own, as a worker that plays a part. */
import { ClientFactory } from '@a2a-js/sdk/client'
import { a2aAgent } from 'reeve/a2a/worker'
import type { MakeWorker } from 'reeve/testing'
import { everything } from '../worker-report.ts'
import { bridge, program } from './bridge.ts'

const none = 'the protocol has no approvals of exact actions'

export const a2a: MakeWorker = async (part) => {
  const served = await bridge(part)
  const server = await program('./a2a-server.ts', served.url)
  return {
    honours: { ...everything, approval: none, edits: none, reasons: none, usage: 'the protocol reports no usage' },
    worker: () =>
      a2aAgent({
        name: 'a2a',
        description: 'Plays its part.',
        client: () => new ClientFactory().createFromUrl(server.line),
      }),
    async close() {
      await server.close()
      await served.close()
    },
  }
}
