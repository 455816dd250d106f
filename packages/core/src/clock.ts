/**
 * Time and randomness: the two things orchestration may take only from its context (K3). Everything else in `src/`
 * takes them from here.
 */

/** Where time comes from. `now` is milliseconds since 1970; `timer` calls back once and returns how to call it off. */
export interface Clock {
  now(): number
  timer(atMs: number, callback: () => void): () => void
}

/**
 * Timers count time that the machine slept through as not passed, so the wall clock is asked at least this often.
 * Milliseconds.
 */
const longest = 60_000

/** The real clock. Its timers do not keep a process alive by themselves. */
export const systemClock: Clock = {
  now: () => Date.now(),
  timer(atMs, callback) {
    let handle: ReturnType<typeof setTimeout> | undefined
    const arm = (): void => {
      // a timer of Node cuts fractions off, and would ring too early
      const wait = Math.ceil(atMs - Date.now())
      handle = setTimeout(wait > longest ? arm : callback, Math.max(0, Math.min(wait, longest)))
      handle.unref()
    }
    arm()
    return () => clearTimeout(handle)
  },
}

/** The longest wait of a timer of Node or a browser, about 24.8 days: a longer one would end at once. Milliseconds. */
const longestTimer = 2 ** 31 - 1

/** So many milliseconds, as a timer can wait for them. */
export const timerMs = (ms: number): number => Math.min(ms, longestTimer)

/**
 * Resolves after so many milliseconds of real time, at most about 24.8 days, or when the signal is aborted. Outside
 * orchestration only. `ref` (default) keeps a process alive meanwhile, since it has work to do; `unref` does not.
 */
export function pause(ms: number, signal?: AbortSignal, hold: 'ref' | 'unref' = 'ref'): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, timerMs(ms))
    if (hold === 'unref') timer.unref()
    signal?.addEventListener('abort', over)
    if (signal?.aborted === true) over()
  })
}

/**
 * Resolves after so many milliseconds of real time. Outside orchestration only; does not keep a process alive by
 * itself.
 */
export const delay = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(systemClock.now() + ms, resolve))

/** A monotonic stopwatch in milliseconds, for measuring only. */
export const stopwatch = (): number => performance.now()

/**
 * A deterministic random number in [0, 1) from a seed text and an ordinal: replay draws the same numbers (mulberry32
 * over an FNV-1a seed).
 */
export function seededRandom(seed: string, ordinal: number): number {
  let h = 0x811c9dc5 ^ ordinal
  for (let i = 0; i < seed.length; i++) h = Math.imul(h ^ seed.charCodeAt(i), 0x01000193)
  h = (h + 0x6d2b79f5) | 0
  let t = Math.imul(h ^ (h >>> 15), 1 | h)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/** A random number in [0, 1) for jitter outside orchestration. */
export const jitter = (): number => Math.random()
