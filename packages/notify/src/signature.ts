/**
 * Signatures of webhooks: HMAC-SHA-256 over the time and the body, so that no third party can write one, change one, or
 * send an old one again.
 *
 * Owns: the header's form, signing, verifying. Pure, but for the clock where none is given.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { isObject, systemClock, type Json, type JsonObject } from '@reeve/core'
import type { FeedEvent } from '@reeve/engine'
import type { Notice } from '@reeve/oversight'

/** What a webhook posts. */
export interface WebhookBody {
  /** The same for every attempt of one notice: a receiver that has seen it drops it. */
  readonly key: string
  readonly notice: Notice
}

/** What `eventWebhook` posts. */
export interface EventBody {
  /** The id of the event: a receiver that has seen it drops it. */
  readonly key: string
  readonly event: FeedEvent
}

/** The header that holds the signature. */
export const signatureHeader = 'reeve-signature'

const hmac = (secret: string, seconds: string, body: string): string =>
  createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')

/** The value of the header: `t=<seconds since 1970>,v1=<hex>`. */
export function signed(secret: string, body: string, now: number): string {
  const seconds = String(Math.floor(now / 1_000))
  return `t=${seconds},v1=${hmac(secret, seconds, body)}`
}

/** What a receiver is given by its web framework: the names in any case. */
export type WebhookHeaders =
  Iterable<readonly [string, string]> | { readonly [name: string]: string | readonly string[] | undefined }

/** How strictly a receiver looks. */
export interface SignatureOptions {
  /** How old, or how far ahead, a signature may be. Milliseconds. Default five minutes. */
  readonly toleranceMs?: number
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: number
}

/**
 * What a webhook has posted, if it is signed with the secret (with several: one of them, while a secret is being
 * changed) and young enough; else undefined. Takes the same time for every wrong signature. `body` is the exact text
 * that arrived, before any parsing. Drop what has a `key` that you have seen: a try whose answer was lost is made
 * again.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: SignatureOptions = {},
): WebhookBody | undefined {
  const document = verified(headers, body, secret, options)
  return isObject(document?.['notice']) ? (document as unknown as WebhookBody) : undefined
}

/** The same for what `eventWebhook` has posted. */
export function verifyEvent(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: SignatureOptions = {},
): EventBody | undefined {
  const document = verified(headers, body, secret, options)
  return isObject(document?.['event']) ? (document as unknown as EventBody) : undefined
}

function verified(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  { toleranceMs = 5 * 60_000, now = systemClock.now() }: SignatureOptions,
): JsonObject | undefined {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const parts = (valueOf(headers, signatureHeader) ?? '').split(',').map((part) => part.trim())
  const seconds = parts.find((part) => part.startsWith('t='))?.slice(2) ?? ''
  if (!/^\d{1,12}$/u.test(seconds) || !(Math.abs(now - Number(seconds) * 1_000) <= toleranceMs)) return undefined
  const given = parts.filter((part) => part.startsWith('v1=')).map((part) => part.slice(3))
  const secrets = (typeof secret === 'string' ? [secret] : secret).filter((each) => each !== '')
  // none is left out once one has matched
  const matches = secrets.flatMap((each) => {
    const due = Buffer.from(hmac(each, seconds, text))
    return given.map((one) => isSame(Buffer.from(one), due))
  })
  return matches.includes(true) ? bodyIn(text) : undefined
}

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

function bodyIn(text: string): JsonObject | undefined {
  try {
    const body = JSON.parse(text) as Json
    return isObject(body) && typeof body['key'] === 'string' ? body : undefined
  } catch {
    return undefined
  }
}

function valueOf(headers: WebhookHeaders, name: string): string | undefined {
  const all: Iterable<readonly [string, unknown]> = Symbol.iterator in headers ? headers : Object.entries(headers)
  for (const [each, value] of all) {
    if (each.toLowerCase() !== name) continue
    const [first] = Array.isArray(value) ? (value as readonly unknown[]) : [value]
    return typeof first === 'string' ? first : undefined
  }
  return undefined
}
