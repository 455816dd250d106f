/**
 * Times, durations, countdowns: relative, living, with the exact time as their title.
 *
 * Holds: they are measured against the server's clock, which may differ from the browser's.
 */
import { useSyncExternalStore } from 'react'

let offset = 0
/** Sets the browser's clock right by the server's. */
export const setServerTime = (now: number): void => void (offset = now - Date.now())
/** The server's clock, in milliseconds since 1970. */
export const serverNow = (): number => Date.now() + offset

const listeners = new Set<() => void>()
let tick = 0
let timer: ReturnType<typeof setInterval> | undefined
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  timer ??= setInterval(() => {
    tick += 1
    for (const each of listeners) each()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Draws again every second, as long as it is on the page. Gives the server's time. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => tick)
  return serverNow()
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A duration in its two largest units: `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function durationText(ms: number): string {
  const two = (large: number, unit: string, small: number, smaller: string): string => {
    const rest = Math.floor((ms % large) / small)
    return `${Math.floor(ms / large)} ${unit}${rest > 0 ? ` ${rest} ${smaller}` : ''}`
  }
  if (ms < second) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < minute) return ms < 10 * second ? `${(ms / second).toFixed(1)} s` : `${Math.floor(ms / second)} s`
  if (ms < hour) return two(minute, 'min', second, 's')
  if (ms < day) return two(hour, 'h', minute, 'min')
  return two(day, 'd', hour, 'h')
}

const coarse = (ms: number): string =>
  ms < minute
    ? `${Math.floor(ms / second)} s`
    : ms < hour
      ? `${Math.floor(ms / minute)} min`
      : ms < day
        ? `${Math.floor(ms / hour)} h`
        : `${Math.floor(ms / day)} d`

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

export const exactTime = (at: number): string => exact.format(at)
export const clockTime = (at: number): string => clock.format(at)

/** When something was: "3 min ago". `form`: `clock` shows the time of day. */
export function Time({ at, form = 'ago' }: { readonly at: number; readonly form?: 'ago' | 'clock' | 'since' }) {
  const now = useNow()
  const past = Math.max(0, now - at)
  const text =
    form === 'clock'
      ? clockTime(at)
      : past < 2 * second
        ? 'now'
        : form === 'since'
          ? coarse(past)
          : `${coarse(past)} ago`
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {text}
    </time>
  )
}

/** How long something took, or has taken so far. */
export function Duration({ from, to }: { readonly from: number; readonly to?: number | undefined }) {
  return to === undefined ? <RunningDuration from={from} /> : <>{durationText(to - from)}</>
}

function RunningDuration({ from }: { readonly from: number }) {
  const now = useNow()
  return <>{durationText(Math.floor((now - from) / second) * second)}</>
}

/** How much time is left. */
export function Countdown({ until }: { readonly until: number }) {
  const left = until - useNow()
  return (
    <time dateTime={new Date(until).toISOString()} title={exactTime(until)}>
      {left <= 0 ? 'deadline passed' : `${durationText(Math.ceil(left / second) * second)} left`}
    </time>
  )
}
