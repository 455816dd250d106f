/**
 * Session values on the event store: reads as they are now, writes by compare-and-set and once under their key.
 */
import { runOf, type Json } from '../../core/index.ts'
import { encode } from '../../journal/index.ts'
import { streamOf, type Owner } from '../../engine/index.ts'
import type { Desk } from './desk.ts'

export async function readValue(seat: Desk, owner: Owner, key: string): Promise<Json> {
  const { value } = await seat.persist((store) => store.value(streamOf(seat.caller, runOf(owner.id)), key))
  return value
}

/** Tries again while other writers are faster. A repeated call gives what the first one wrote. */
export async function updateValue(seat: Desk, owner: Owner, key: string, change: (value: Json) => Json, once: string): Promise<Json> {
  const run = runOf(owner.id)
  const stream = streamOf(seat.caller, run)
  for (;;) {
    const { version, value } = await seat.persist((store) => store.value(stream, key))
    const next = JSON.parse(seat.place.options.redact(JSON.stringify(change(value) ?? null))) as Json
    const event = encode({ type: 'value.updated', key, value: next, version: version + 1, by: run })
    const at = seat.place.clock.now()
    const written = await seat.persist((store) => store.writeValue({ stream, key, expected: version, value: next, once, run, event, at }))
    if (written.status === 'written') return written.value
  }
}
