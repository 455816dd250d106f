/**
 * A webhook as a channel: each notice as a signed JSON document, posted to an address of your own.
 *
 * Owns: the document, its headers. Does not own: the signature (signature.ts), what an answer means (post.ts), trying
 * again (the engine).
 */
import {
  described,
  duration,
  functionCheck,
  required,
  secret,
  systemClock,
  unchecked,
  visible,
  visibleLines,
  wholeNumber,
  type Check,
  type Checks,
} from '@reeve/core'
import type { Channel } from '@reeve/oversight'
import { addressCheck, attemptsMost, mustBeOptionsOf } from './options.ts'
import { post, type Fetch } from './post.ts'
import { signatureHeader, signed, type WebhookBody } from './signature.ts'

/** How a webhook is told. */
export interface WebhookOptions {
  readonly url: string
  /** Signs what is posted; at least 16 characters. Only the receiver knows it. */
  readonly secret: string
  /** Default `webhook`. */
  readonly name?: string
  /** Sent along, such as a token. Not those that Reeve sets. */
  readonly headers?: { readonly [name: string]: string }
  /** Milliseconds for one try. Default 10 seconds. */
  readonly timeoutMs?: number
  /** The maximum number of attempts, at most 5 minutes apart, while the request is open. Default 50: about 3 hours. */
  readonly attempts?: number
  /** Default: `fetch`. */
  readonly fetch?: Fetch
}

const ours = ['content-type', 'content-length', 'idempotency-key', 'user-agent', signatureHeader]

const headersCheck: Check = (given, where) =>
  typeof given === 'object' && given !== null
    ? Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
        if (ours.includes(name.toLowerCase())) return [`webhook: the header "${name}" is set by Reeve`]
        const fits =
          /^[\w!#$%&'*+.^`|~-]+$/u.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/u.test(value)
        return fits ? [] : [`webhook: header "${name}" has an invalid name or an invalid value`]
      })
    : [`${where} is ${described(given)}, expected names and texts`]
const secretCheck = secret(
  (given) => typeof given === 'string' && given.length >= 16,
  'must be a text of at least 16 characters',
)
const checks: Checks<WebhookOptions> = {
  url: required(addressCheck),
  secret: required(secretCheck),
  name: unchecked, // by the runtime
  headers: headersCheck,
  timeoutMs: duration,
  attempts: wholeNumber(1),
  fetch: functionCheck,
}

/** Throws `config.invalid` for invalid options. `what`: the function that was given them. */
export const mustBeWebhookOptions = (what: string, options: WebhookOptions): void =>
  mustBeOptionsOf(what, options, checks)

/**
 * A channel that posts `{ key, notice }` (title and text as they are shown, with escapes; `input` is the exact value:
 * show it with `visibleJson`) with the headers `reeve-signature` (see `verifyWebhook`) and `idempotency-key`, which is
 * the same for every try. Anything from 200 to 299 is a yes; 408, 425, 429, 5xx and a connection that fails are tried
 * again, not before the time that `retry-after` names; every other answer, redirects too, is final. The person who
 * decides posts the decision back by their own way to `runtime.decide`: there is no address in a notice that would.
 * Throws `config.invalid` for invalid options.
 */
export function webhook(options: WebhookOptions): Channel {
  mustBeWebhookOptions('webhook', options)
  const { url, secret, name = 'webhook', headers = {}, timeoutMs = 10_000, attempts = attemptsMost, fetch } = options
  return {
    name,
    timeoutMs,
    attempts,
    notify(notice, io) {
      const shown = { ...notice, title: visible(notice.title), text: visibleLines(notice.text).join('\n') }
      const body = JSON.stringify({ key: io.key, notice: shown } satisfies WebhookBody)
      const signature = { 'user-agent': 'reeve', [signatureHeader]: signed(secret, body, systemClock.now()) }
      return post({ address: url, body, headers: { ...headers, ...signature }, fetch }, io)
    },
  }
}
