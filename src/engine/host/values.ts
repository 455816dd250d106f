/**
 * Values: small shared state on streams that may outlive runs (K1). Reads come from the store, writes are compare-and-set.
 */
import { delay, ReeveError, type Json, type Now, type RunId } from '../../core/index.ts'
import { encode, valueShape } from '../../journal/index.ts'
import { mustBeWellFormed } from '../port.ts'
import type { Owner } from '../operation.ts'
import type { Desk } from './desk.ts'

/** How the store is asked: `once` fails with it; `patiently` waits until it is well again. */
export type Asking = <T>(ask: () => Now<T>) => Promise<T>

/** Milliseconds of real time between two attempts: the first, and at most. */
const againMs = 50
const longestMs = 5_000

/** A failure is an error of the store. */
const once =
  (desk: Pick<Desk, 'store'>): Asking =>
  async (ask) => {
    try {
      return await ask()
    } catch (thrown) {
      throw desk.store.errorOf(thrown)
    }
  }

/** For an effect of a run: a store that fails for a while, as one that fails over does, uses up no attempt of a step, also if the run is read again meanwhile. Given up when the effect is nobody's any more. */
export const patiently =
  (desk: Pick<Desk, 'store' | 'effects' | 'dead' | 'closing'>, { id }: Owner): Asking =>
  async (ask) => {
    for (let ms = againMs; ; ms = Math.min(ms * 2, longestMs)) {
      try {
        return await ask()
      } catch (thrown) {
        const error = desk.store.errorOf(thrown)
        if (!error.retryable || desk.dead || desk.closing || !desk.effects.any(id)) throw error
        await delay(ms)
      }
    }
  }

export async function readValue(desk: Pick<Desk, 'store'>, stream: string, key: string, asking = once(desk)): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  return (await asking(() => desk.store.reader.value(stream, key))).value
}

export function valueKeys(desk: Pick<Desk, 'store'>, stream: string, asking = once(desk)): Promise<readonly string[]> {
  return asking(() => desk.store.reader.valueKeys(stream))
}

/** A run writes once under its key: a repeated call returns what the first one wrote. Tries again while other writers are faster. */
export async function updateValue(
  desk: Pick<Desk, 'store' | 'options' | 'clock' | 'writeValue'>,
  stream: string,
  key: string,
  change: (value: Json) => Json,
  by: { readonly run: RunId; readonly once: string } | undefined,
  asking = once(desk),
): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  for (;;) {
    const { version, value } = await asking(() => desk.store.reader.value(stream, key))
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
    const result = await asking(async () => {
      const written = await desk.writeValue(write)
      if (written.status !== 'lost') return written
      // Another holder of the run writes it, or this process as soon as it has read the run again.
      throw new ReeveError('store.busy', `the run ${by?.run ?? ''} is not this process’s own at the moment`, { retryable: true })
    })
    if (result.status === 'written') return changed
    if (result.status === 'repeated') return await asking(() => desk.store.reader.written(stream, result.seq))
  }
}
