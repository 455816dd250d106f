/** A process of its own that opens a store at the same moment as others, and then writes to a run that all of them share. */
import { openEventStore, type EventStoreOptions } from '../../src/adapters/eventstore/index.ts'
import { rootActivation, type RunId } from '../../src/core/index.ts'
import { encode } from '../../src/journal/index.ts'

const [options, run, name, count] = process.argv.slice(2) as [string, RunId, string, string]
const store = openEventStore(JSON.parse(options) as EventStoreOptions)
await store.open()
const first = encode({ type: 'activation.started', agent: 'a', version: '1', input: null })
await store.create({ run, agent: 'a', version: '1', caller: undefined, limits: undefined, first, at: 1 })
for (let i = 0; i < Number(count); i++) {
  const body = JSON.stringify({ type: 'message', id: `${name}${i}` })
  // One key for all processes and one of its own: the first has one winner, the second has none to lose against.
  await store.post({ target: 'run', to: rootActivation(run), key: `shared${i}`, body: JSON.stringify(name), now: 1 })
  await store.post({ target: 'activation', to: rootActivation(run), key: `msg:${name}${i}`, body, now: 1 })
}
await store.close()
