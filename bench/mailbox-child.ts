/**
 * A process of the mailbox bench: goes on with the run, or begins it, and tells its parent where it stands. Killed at
 * any moment.
 *
 * Arguments: the store, how many messages.
 */
import { createRuntime } from '@reeve/public'
import type { RunId } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import { crew } from './mailbox-team.ts'
import { peakMegabytes } from './measure.ts'

/** What a child tells. */
export interface Told {
  /** The newest message that was read. */
  readonly seen: number
  /**
   * Milliseconds since its process began, when everything of an earlier one had been gone through again; undefined: not
   * yet.
   */
  readonly recoveredMs?: number
  readonly peakMb: number
  readonly ended?: boolean
}

const [file, messages] = process.argv.slice(2) as [string, string]
let seen = 0
let recoveredMs: number | undefined
const root = crew(Number(messages), (number) => (seen = number))
// it is killed on purpose, and often
const engine = createEmbeddedEngine({ file, lossLimit: Number.MAX_SAFE_INTEGER })
const runtime = await createRuntime({ engine, agents: [root] })
const run = await runtime.start(root, 'Go', { runId: 'run_mail' })

const tell = (ended?: true): void => {
  const here = engine.driver.runs.get('run_mail' as RunId)
  if (
    recoveredMs === undefined &&
    here !== undefined &&
    ![...here.activations.values()].some(({ replaying }) => replaying)
  )
    recoveredMs = performance.now()
  const told: Told = {
    seen,
    peakMb: peakMegabytes(),
    ...(recoveredMs === undefined ? undefined : { recoveredMs }),
    ...(ended === undefined ? undefined : { ended }),
  }
  process.send?.(told, undefined, undefined, () => {}) // whoever listened may be gone
}
process.on('disconnect', () => process.exit(0))
const timer = setInterval(tell, 10)
await run.outcome()
clearInterval(timer)
tell(true)
await runtime.close()
if (process.connected) process.disconnect()
