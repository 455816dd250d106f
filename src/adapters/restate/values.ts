/**
 * Values on the event store: reads as they are now, writes by compare-and-set, and those of a run once under its key.
 */
import type { Clock, Json, RunId, Shape } from '../../core/index.ts'
import { encode, valueShape } from '../../journal/index.ts'
import type { EventStore } from '../eventstore/index.ts'

/** What values are written with. */
export interface ValueDesk {
  readonly clock: Clock
  readonly redact: (text: string, shape: Shape) => string
  /** Asks the store, and waits for one that is away. */
  persist<T>(work: (store: EventStore) => Promise<T>): Promise<T>
}

export async function readValue(desk: Pick<ValueDesk, 'persist'>, stream: string, key: string): Promise<Json> {
  const { value } = await desk.persist((store) => store.value(stream, key))
  return value
}

export async function valueKeys(desk: Pick<ValueDesk, 'persist'>, stream: string): Promise<readonly string[]> {
  return desk.persist((store) => store.valueKeys(stream))
}

/** Tries again while other writers are faster. A repeated call of a run gives what the first one wrote. */
export async function updateValue(
  desk: ValueDesk,
  stream: string,
  key: string,
  change: (value: Json) => Json,
  by: { readonly run: RunId; readonly once: string } | undefined,
): Promise<Json> {
  const who = by === undefined ? undefined : { by }
  for (;;) {
    const { version, value } = await desk.persist((store) => store.value(stream, key))
    const next = JSON.parse(desk.redact(JSON.stringify(change(value) ?? null), valueShape(stream, key))) as Json
    const event = encode({
      type: 'value.updated',
      key,
      value: next,
      version: version + 1,
      ...(by === undefined ? undefined : { by: by.run }),
    })
    const at = desk.clock.now()
    const written = await desk.persist((store) => store.writeValue({ stream, key, expected: version, value: next, ...who, event, at }))
    if (written.status === 'written') return written.value
  }
}
