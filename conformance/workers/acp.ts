/** A real coding agent of ACP in a process of its own, as a worker that plays a part. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acpAgent } from 'reeve/acp'
import type { MakeWorker, WorkerHonours } from 'reeve/testing'
import { everything } from '../worker-report.ts'
import { bridge } from './bridge.ts'

const subject =
  (effect: 'once' | 'idempotent', mode: string, honours: WorkerHonours): MakeWorker =>
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'reeve-acp-'))
    const bridges: { close(): Promise<void> }[] = []
    return {
      honours,
      async worker(part) {
        const served = await bridge(part)
        bridges.push(served)
        return acpAgent({
          name: 'acp',
          description: 'Plays its part.',
          command: process.execPath,
          args: ['--no-warnings', new URL('./acp-agent.ts', import.meta.url).pathname, served.url, folder, mode],
          cwd: folder,
          effect,
        })
      },
      async close() {
        for (const served of bridges) await served.close()
        rmSync(folder, { recursive: true })
      },
    }
  }

const limits: WorkerHonours = {
  ...everything,
  edits: 'the protocol has no edited permissions: one that was edited is rejected',
  reasons: 'the protocol has no reasons',
  usage: 'the protocol reports the size of the context, and no usage of calls',
}

export const acp = subject('once', 'loads', limits)
export const acpIdempotent = subject('idempotent', 'loads', limits)
