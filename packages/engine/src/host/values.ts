/**
 * Values: small shared state on streams that may outlive runs (K1). Reads come from the store, writes are
 * compare-and-set.
 */
import { delay, ReeveError, type Json, type Now, type RunId } from '@reeve/core'
import { encode, valueShape } from '@reeve/journal'
import { mustBeWellFormed } from '../port.ts'
import type { Owner } from '../replay/operation.ts'
import type { EngineState } from './engine-state.ts'

/** How the store is called: `once` fails with it; `patiently` retries until it answers. */
export type StoreCall = <T>(ask: () => Now<T>) => Promise<T>

/** Milliseconds of real time between two attempts: the first, and at most. */
const againMs = 50
const longestMs = 5_000

/** A failure is an error of the store. */
const once =
  (engine: Pick<EngineState, 'store'>): StoreCall =>
  async (ask) => {
    try {
      return await ask()
    } catch (thrown) {
      throw engine.store.errorOf(thrown)
    }
  }

/**
 * For an effect of a run: a store that fails for a while, as one that fails over does, uses up no attempt of a step,
 * also if the run is read again meanwhile. Given up when the effect is not out here any more.
 */
export const patiently =
  (engine: Pick<EngineState, 'store' | 'effects' | 'dead' | 'closing'>, { id }: Owner): StoreCall =>
  async (ask) => {
    for (let ms = againMs; ; ms = Math.min(ms * 2, longestMs)) {
      try {
        return await ask()
      } catch (thrown) {
        const error = engine.store.errorOf(thrown)
        if (!error.retryable || engine.dead || engine.closing || !engine.effects.any(id)) throw error
        await delay(ms)
      }
    }
  }

export async function readValue(
  engine: Pick<EngineState, 'store'>,
  stream: string,
  key: string,
  asking = once(engine),
): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  return (await asking(() => engine.store.reader.value(stream, key))).value
}

export function valueKeys(
  engine: Pick<EngineState, 'store'>,
  stream: string,
  asking = once(engine),
): Promise<readonly string[]> {
  return asking(() => engine.store.reader.valueKeys(stream))
}

/**
 * A run writes once under its key: a repeated call returns what the first one wrote. Tries again while other writers
 * are faster.
 */
export async function updateValue(
  engine: Pick<EngineState, 'store' | 'options' | 'clock' | 'writeValue'>,
  stream: string,
  key: string,
  change: (value: Json) => Json,
  by: { readonly run: RunId; readonly once: string } | undefined,
  asking = once(engine),
): Promise<Json> {
  mustBeWellFormed(key, 'the key of a value')
  for (;;) {
    const { version, value } = await asking(() => engine.store.reader.value(stream, key))
    const body = engine.options.redact(JSON.stringify(change(value) ?? null), valueShape(stream, key))
    const changed = JSON.parse(body) as Json
    const event = encode({
      type: 'value.updated',
      key,
      value: changed,
      version: version + 1,
      ...(by === undefined ? undefined : { by: by.run }),
    })
    const write = { stream, key, expected: version, body: JSON.stringify(changed), by, event, at: engine.clock.now() }
    const result = await asking(async () => {
      const written = await engine.writeValue(write)
      if (written.status !== 'lost') return written
      // Another holder of the run writes it, or this process as soon as it has read the run again.
      throw new ReeveError('store.busy', `the run ${by?.run ?? ''} is not this process’s own at the moment`, {
        retryable: true,
      })
    })
    if (result.status === 'written') return changed
    if (result.status === 'repeated') return await asking(() => engine.store.reader.written(stream, result.seq))
  }
}
