/**
 * A stream of the server that is kept open: read until it breaks, and opened again after a while.
 *
 * Owns: the wait between two connections, which is shorter than that of a client without a person before it. Does not own:
 * a connection (the client), what is read and what is shown of a gap.
 */
import type { StreamOptions } from '@reeve/client'

const firstWaitMs = 250
const longestWaitMs = 5_000

/** What is done with a stream. */
export interface Reader<Item> {
  /** A connection is open: what comes is of it. */
  readonly opened: () => void
  readonly take: (item: Item) => void
  /** It broke; with the error that the server gave, if it was refused. `false`: it is not opened again. */
  readonly lost: (error?: unknown) => void | false | { readonly waitMs: number }
}

/** Reads until what this returns is called. */
export function keepOpen<Item>(
  open: (options: StreamOptions) => AsyncIterable<Item>,
  reader: Reader<Item>,
): () => void {
  let wait = firstWaitMs
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  let connection = new AbortController()
  const read = async (): Promise<void> => {
    const { signal } = (connection = new AbortController())
    let refused: unknown
    try {
      const onState: StreamOptions['onState'] = (state) => {
        if (state === 'open') {
          wait = firstWaitMs
          reader.opened()
          // the client would wait by itself, and longer
        } else if (state === 'waiting') connection.abort()
      }
      for await (const item of open({ signal, onState })) reader.take(item)
    } catch (error) {
      refused = error
    }
    if (stopped) return
    const next = reader.lost(refused)
    if (next === false) return
    timer = setTimeout(start, next?.waitMs ?? wait)
    if (next === undefined) wait = Math.min(longestWaitMs, wait * 2)
  }
  const start = (): void => void read()
  start()
  return () => {
    stopped = true
    clearTimeout(timer)
    connection.abort()
  }
}
