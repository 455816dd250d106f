/**
 * Signatures of Slack's requests (`v0`): HMAC-SHA-256 over the time and the exact body.
 *
 * Owns: checking them. Pure, but for the clock of the caller.
 * Holds: every secret is compared, in the same time whether it fits or not. What is older than five minutes, or as far
 * ahead, is no request.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** How old, or how far ahead, a request may be. Milliseconds. */
export const toleranceMs = 5 * 60_000

/** What Slack signs: the value of `X-Slack-Signature`. `seconds`: that of `X-Slack-Request-Timestamp`. */
const slackSignature = (secret: string, seconds: string, body: string): string =>
  `v0=${createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')}`

/** The signature of a request, if it is Slack's and of now; else undefined. */
export function signatureOf(
  headers: Headers,
  body: string,
  secrets: readonly string[],
  now: number,
): string | undefined {
  const [seconds = '', given = ''] = [headers.get('X-Slack-Request-Timestamp'), headers.get('X-Slack-Signature')].map(
    (each) => each ?? '',
  )
  const isOfNow = /^\d{1,12}$/.test(seconds) && Math.abs(now - Number(seconds) * 1_000) <= toleranceMs
  const matches = secrets.map((each) => isSame(given, slackSignature(each, seconds, body)))
  return isOfNow && matches.includes(true) ? given : undefined
}

function isSame(given: string, due: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(due)]
  return one.length === other.length && timingSafeEqual(one, other)
}
