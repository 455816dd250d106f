/**
 * A process that only waits for a run and has nothing else that would keep it alive. Arguments: RestateOptions as JSON,
 * the run, how to wait.
 */
import { restate } from '../src/index.ts'
import { createRuntime } from '@reeve/runtime'

const [options, id, verb] = process.argv.slice(2) as [string, string, 'outcome' | 'until' | 'events' | 'text']
const engine = restate(JSON.parse(options) as Parameters<typeof restate>[0])
await using runtime = await createRuntime({ engine, drive: false })
const run = runtime.handle(id)
process.stdout.write('waits\n')
if (verb === 'outcome') await run.outcome()
else if (verb === 'until') await run.until('waiting')
else if (verb === 'events') for await (const _event of run.events());
else for await (const _piece of run.text());
process.stdout.write('done\n')
