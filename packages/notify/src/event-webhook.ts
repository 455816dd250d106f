/**
 * Events of the feed of all runs, posted to an address of your own: signed, with the id of the event as its key.
 *
 * Owns: the document, trying again. Does not own: which events are posted and where reading goes on (the caller), the
 * signature (signature.ts), what an answer means (post.ts).
 */
import { FailureError, pause, systemClock, timerMs } from '@reeve/core'
import { backoff, type FeedEvent } from '@reeve/engine'
import { mustBeWebhookOptions, type WebhookOptions } from './webhook.ts'
import { post } from './post.ts'
import { signatureHeader, signed, type EventBody } from './signature.ts'

/** How long is waited between two tries at most. Milliseconds. */
const latest = 60_000

/**
 * A function that posts `{ key, event }` with the headers of `webhook`, and resolves once it was taken. `key` is the id
 * of the event: a receiver drops what it has seen, since an event comes again after a restart. It tries again for as
 * long as that may help, up to a minute apart, until `signal` is aborted; rejects with the reason of the signal, or
 * with a failure that no other try would mend. `name` and `attempts` of the options are not used. Throws `config.invalid` for invalid
 * options.
 */
export function eventWebhook(options: WebhookOptions): (event: FeedEvent, signal?: AbortSignal) => Promise<void> {
  mustBeWebhookOptions('eventWebhook', options)
  const { url, secret, headers = {}, timeoutMs = 10_000, fetch } = options
  return async (event, signal = new AbortController().signal) => {
    const key = String(event.id)
    const body = JSON.stringify({ key, event } satisfies EventBody)
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const signature = { 'user-agent': 'reeve', [signatureHeader]: signed(secret, body, systemClock.now()) }
      try {
        const within = AbortSignal.any([signal, AbortSignal.timeout(timerMs(timeoutMs))])
        return await post({ address: url, body, headers: { ...headers, ...signature }, fetch }, { key, signal: within })
      } catch (thrown) {
        signal.throwIfAborted()
        if (thrown instanceof FailureError && !thrown.failure.retryable) throw thrown
        const after = thrown instanceof FailureError ? thrown.failure.retryAfterMs : undefined
        await pause(backoff({ attempts: Infinity, backoffMs: 500, maxBackoffMs: latest }, attempt, after), signal)
      }
    }
  }
}
