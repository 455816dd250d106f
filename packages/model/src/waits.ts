/**
 * Waits: when a provider wants to be asked again, as each of them says it: in headers, in the body of its error, or only
 * in the words of its message.
 *
 * Owns: the reading, for all wires and for errors inside a stream, which have no headers; the longest wait that is
 * believed. Does not own: the classes of failure (faults.ts), who waits (the engine).
 * What is read was written by others: lengths are bounded, and only numbers and dates come out of it.
 */
import { isObject, own, retryAfter, systemClock, untilDate } from '@reeve/core'

/** What an error says. */
export interface SaidOfWait {
  readonly headers: { readonly [name: string]: unknown }
  /** The body as text, if it was kept. */
  readonly body?: string | undefined
  /** The message. */
  readonly text: string
}

/** A longer wait is not believed, and taken for this one. Milliseconds: a day, the longest window of a quota. */
export const longestWaitMs = 86_400_000

const longestText = 4_000
const longestBody = 100_000

/**
 * Milliseconds until the next try, as the other side wants it; undefined if it does not say. The more exact source wins:
 * what is said for this very answer, then the body, then the words, then when the counters of the account begin anew.
 */
export function waitOf({ headers, body = '', text }: SaidOfWait): number | undefined {
  const header = headerOf(headers)
  const found = inHeaders(header) ?? saidByBody(body.slice(0, longestBody)) ?? waitInText(text) ?? untilReset(header)
  return found === undefined ? undefined : bounded(found)
}

const bounded = (ms: number): number => Math.ceil(Math.min(longestWaitMs, Math.max(0, ms)))

type Header = (name: string) => string | undefined

function headerOf(headers: { readonly [name: string]: unknown }): Header {
  const known = new Map<string, string>()
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && value.trim() !== '') known.set(name.toLowerCase(), value.trim().slice(0, 200))
  return (name) => known.get(name)
}

/** What the headers ask for; some write a duration (`2m30s`) where the standard has seconds. */
const inHeaders = (header: Header): number | undefined => retryAfter(header) ?? durationIn(header('retry-after') ?? '')

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined

/**
 * - `google.rpc.RetryInfo` among the details of an error: `{ "retryDelay": "17s" }`
 *   (https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto).
 * - OpenRouter hands on the headers of the provider behind it under `error.metadata.headers`
 *   (https://openrouter.ai/docs/api-reference/errors).
 * - `retry_after_seconds` or `retry_after`, in seconds, of the error or its metadata: OpenRouter, gateways.
 */
function saidByBody(body: string): number | undefined {
  if (!body.trimStart().startsWith('{') && !body.trimStart().startsWith('[')) return undefined
  let read: unknown
  try {
    read = JSON.parse(body)
  } catch {
    return undefined
  }
  return saidByError(Array.isArray(read) ? (read[0] as unknown) : read)
}

function saidByError(read: unknown): number | undefined {
  if (!isObject(read)) return undefined
  const inner = own(read, 'error')
  const error = isObject(inner) ? inner : read
  const details = own(error, 'details')
  for (const detail of Array.isArray(details) ? details.slice(0, 20) : []) {
    if (!isObject(detail)) continue
    const delay = own(detail, 'retryDelay')
    const found = typeof delay === 'string' ? durationIn(delay) : undefined
    if (found !== undefined) return found
  }
  const metadata = own(error, 'metadata')
  const headers = isObject(metadata) ? own(metadata, 'headers') : undefined
  const behind = isObject(headers) ? headerOf(headers) : undefined
  const told = behind && (inHeaders(behind) ?? untilReset(behind))
  if (told !== undefined) return told
  for (const at of [metadata, error])
    for (const name of ['retry_after_seconds', 'retry_after']) {
      const seconds = isObject(at) ? own(at, name) : undefined
      if (typeof seconds === 'number' && seconds >= 0) return seconds * 1000
    }
  const message = own(error, 'message')
  return typeof message === 'string' ? waitInText(message) : undefined
}

const unit = 'milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d'
const amount = String.raw`\d{1,12}(?:\.\d{1,12})?\s{0,3}(?:${unit})(?![a-z])`
const amounts = String.raw`${amount}(?:(?:\s{0,3}(?:,|and)?\s{0,3})${amount}){0,4}`

/**
 * "Please try again in 1m30.5s", "retry after 26 seconds", "Please retry in 17.3s", "try again in about 10 minutes",
 * "wait 20 seconds", "Please wait 42 seconds before retrying": as OpenAI, Azure, Google, Groq and GitHub write.
 */
const waitPattern = new RegExp(
  String.raw`\b(?:(?:try|trying|retry|retrying|available|reset|resets|again|wait|waiting)[\s:-]{1,3}){1,3}` +
    String.raw`(?:(?:in|after|for|at|least|about|around|approximately|another|up|to)\s{1,3}){0,4}(${amounts})`,
  'i',
)
/** "retry after 30": seconds, as in the header of that name. */
const inBareSeconds = /\bretry[\s_-]after[\s:="']{1,4}(\d{1,9}(?:\.\d{1,9})?)(?![\w.])/i

function waitInText(text: string): number | undefined {
  const read = text.slice(0, longestText)
  const told = waitPattern.exec(read)?.[1]
  if (told !== undefined) return durationIn(told)
  const seconds = inBareSeconds.exec(read)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const unitMs: readonly (readonly [RegExp, number])[] = [
  [/^m(?:s$|illi)/, 1],
  [/^s/, 1_000],
  [/^m/, 60_000],
  [/^h/, 3_600_000],
  [/^d/, 86_400_000],
]

/** "6m0s", "20ms", "1h2m3.5s", "17s", "10 minutes": milliseconds. */
function durationIn(text: string): number | undefined {
  if (!new RegExp(`^\\s*${amounts}\\s*$`, 'i').test(text)) return undefined
  let ms = 0
  for (const [, count, of] of text.matchAll(new RegExp(`(\\d+(?:\\.\\d+)?)\\s*(${unit})(?![a-z])`, 'gi')))
    ms += Number(count) * unitMs.find(([form]) => form.test(of!.toLowerCase()))![1]
  return ms
}

/**
 * When the counters of the account begin anew, of those that are used up; if none says that it is, of all.
 *
 * - OpenAI and Groq: `x-ratelimit-{remaining,reset}-{requests,tokens}`, the reset as a duration ("6m0s", "20ms", "7.66s";
 *   https://platform.openai.com/docs/guides/rate-limits, https://console.groq.com/docs/rate-limits).
 * - Anthropic: `anthropic-ratelimit-…-{remaining,reset}`, the reset as RFC 3339
 *   (https://docs.anthropic.com/en/api/rate-limits).
 * - OpenRouter and others: `x-ratelimit-{remaining,reset}`, the reset as a moment in seconds or milliseconds since 1970,
 *   or in seconds from now; `ratelimit-reset` in seconds from now (draft-ietf-httpapi-ratelimit-headers).
 */
function untilReset(header: Header): number | undefined {
  const counters = [
    ...['requests', 'tokens'].map((of) => [`x-ratelimit-remaining-${of}`, `x-ratelimit-reset-${of}`] as const),
    ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
      (of) => [`anthropic-ratelimit-${of}-remaining`, `anthropic-ratelimit-${of}-reset`] as const,
    ),
    ['x-ratelimit-remaining', 'x-ratelimit-reset'] as const,
    ['ratelimit-remaining', 'ratelimit-reset'] as const,
  ]
  const known = counters.flatMap(([remaining, reset]) => {
    const said = header(reset)
    const ms = said === undefined ? undefined : resetMs(said, header)
    return ms === undefined ? [] : [{ ms, left: numberIn(header(remaining)) }]
  })
  const usedUp = known.filter(({ left }) => left === 0)
  if (usedUp.length > 0) return Math.max(...usedUp.map(({ ms }) => ms))
  // what is left was too little for this call: the counter that begins anew first may already let it through
  return known.length === 0 ? undefined : Math.min(...known.map(({ ms }) => ms))
}

function resetMs(said: string, header: Header): number | undefined {
  const count = numberIn(said)
  if (count === undefined) return durationIn(said) ?? untilDate(said, header)
  if (count < 1e8) return count * 1000
  return Math.max(0, (count < 1e11 ? count * 1000 : count) - systemClock.now())
}
