/**
 * Values: small shared state on streams that may outlive runs (K1). Reads come from the store, writes are compare-and-set.
 */
import { ReeveError, type Json, type RunId } from '../../core/index.ts'
import { encode, valueShape } from '../../journal/index.ts'
import { mustBeWellFormed } from '../port.ts'
import type { Desk } from './desk.ts'

export async function readValue(desk: Pick<Desk, 'store'>, stream: string, key: string): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  return desk.store.reader.value(stream, key).value
}

export async function valueKeys(desk: Pick<Desk, 'store'>, stream: string): Promise<readonly string[]> {
  return desk.store.reader.valueKeys(stream)
}

/** A run writes once under its key: a repeated call returns what the first one wrote. Tries again while other writers are faster. */
export async function updateValue(
  desk: Pick<Desk, 'store' | 'options' | 'clock' | 'writeValue'>,
  stream: string,
  key: string,
  change: (value: Json) => Json,
  by: { readonly run: RunId; readonly once: string } | undefined,
): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  for (;;) {
    const { version, value } = desk.store.reader.value(stream, key)
    const body = desk.options.redact(JSON.stringify(change(value) ?? null), valueShape(stream, key))
    const changed = JSON.parse(body) as Json
    const event = encode({
      type: 'value.updated',
      key,
      value: changed,
      version: version + 1,
      ...(by === undefined ? undefined : { by: by.run }),
    })
    const write = { stream, key, expected: version, body: JSON.stringify(changed), by, event, at: desk.clock.now() }
    const result = await desk.writeValue(write)
    if (result.status === 'written') return changed
    if (result.status === 'repeated') return desk.store.reader.written(stream, result.seq)
    // Another holder of the run writes it, or this process as soon as it has read the run again.
    if (result.status === 'lost')
      throw new ReeveError('store.busy', `the run ${by?.run ?? ''} is not this process’s own at the moment`, { retryable: true })
  }
}
