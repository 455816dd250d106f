/**
 * A worker process of the tests: drives a crew, says what it hears on stdout, ends with the process that started it.
 * Argument: WorkerSettings as JSON.
 */
import { restate } from '../src/index.ts'
import { ReeveError } from '@reeve/core'
import { createRuntime } from '@reeve/runtime'
import { crew } from './crew.ts'
import type { WorkerSettings } from './fleet.ts'
import { World } from './world.ts'

const {
  options,
  world,
  crew: version,
  earlier,
  onMissingVersion,
  label,
} = JSON.parse(process.argv[2]!) as WorkerSettings
const say = (line: string): void => void process.stdout.write(`${line.replaceAll('\n', ' ')}\n`)
const here = new World(world, label)

process.stdin.resume().once('end', () => process.exit(0))
process.on('unhandledRejection', (reason) => say(`unhandled ${String(reason)}`))
try {
  const runtime = await createRuntime({
    engine: restate({ ...options, onWarning: (code, message) => say(`${code} ${message}`) }),
    agents: crew(here, version),
    earlier: earlier.flatMap((each) => crew(here, each)),
    onMissingVersion,
  })
  process.once('SIGTERM', () => {
    runtime.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  })
  say('up')
} catch (thrown) {
  say(ReeveError.is(thrown) ? `${thrown.code} ${thrown.message}` : String(thrown))
  process.exit(1)
}
