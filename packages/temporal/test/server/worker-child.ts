/**
 * A process of its own: drives runs until its parent lets go of it; or, as a client, starts one, says how it ended and
 * which of Temporal's packages it has loaded.
 */
import Module from 'node:module'
import { temporal, type TemporalOptions } from '../../src/index.ts'
import { createRuntime } from '@reeve/public'
import { crew } from './crew.ts'

export interface Told {
  readonly options: TemporalOptions
  readonly notes: string
  /** The brief of a walker to start: then it drives nothing. */
  readonly start?: string
}

const { options, notes, start } = JSON.parse(process.argv[2]!) as Told
const { walker, all } = crew(notes)
const runtime = await createRuntime({
  engine: temporal({ ...options, onWarning: () => {} }),
  agents: [...all],
  drive: start === undefined,
})
if (start === undefined) {
  process.on('disconnect', () => void runtime.close().then(() => process.exit(0)))
  process.send!('ready')
} else {
  const { status } = await runtime.run(walker, start)
  const { _cache: loaded } = Module as unknown as { readonly _cache: object }
  const packages = Object.keys(loaded).flatMap((path) => /@temporalio\/[a-z-]+/.exec(path)?.[0] ?? [])
  process.send!({ status, packages: [...new Set(packages)] })
  await runtime.close()
  process.disconnect()
}
