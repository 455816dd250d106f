/**
 * Session values: small shared state on a stream that may outlive its runs (K1). Reads come from the store, writes are compare-and-set.
 */
import { ReeveError, runOf, type Json } from '../../core/index.ts'
import { encode, type Caller } from '../../journal/index.ts'
import type { Owner } from '../operation.ts'
import { streamOf } from '../stream.ts'
import type { Desk } from './desk.ts'

export function readValue(desk: Desk, caller: Caller, owner: Owner, key: string): Promise<Json> {
  return Promise.resolve(desk.reader.value(streamOf(caller, runOf(owner.id)), key).value)
}

/** Writes once under `once`: a repeated call returns what the first one wrote. Tries again while other writers are faster. */
export async function updateValue(
  desk: Desk,
  caller: Caller,
  owner: Owner,
  key: string,
  change: (value: Json) => Json,
  once: string,
): Promise<Json> {
  const stream = streamOf(caller, runOf(owner.id))
  for (;;) {
    const { version, value } = desk.reader.value(stream, key)
    const body = desk.options.redact(JSON.stringify(change(value) ?? null))
    const changed = JSON.parse(body) as Json
    const event = encode({ type: 'value.updated', key, value: changed, version: version + 1, by: runOf(owner.id) })
    const result = await desk.writeValue({
      stream,
      key,
      expected: version,
      body: JSON.stringify(changed),
      once,
      from: runOf(owner.id),
      event,
      at: desk.clock.now(),
    })
    if (result.status === 'written') return changed
    if (result.status === 'repeated') return desk.reader.written(stream, result.seq)
    // Another holder of the run writes it, or this process as soon as it has read the run again.
    if (result.status === 'lost')
      throw new ReeveError('store.busy', `the run ${runOf(owner.id)} is not this process’s own at the moment`, { retryable: true })
  }
}
