/**
 * Posting: one JSON document to one address, once for each try.
 *
 * Owns: what an answer of the other side means for another try, that no redirect is followed and no failure names an
 * address: it may be a secret. Does not own: when it is tried again (the engine: a step), what is posted.
 */
import { createHash } from 'node:crypto'
import { failure, FailureError, fetchProblem, present, retryAfter, type Failure } from '@reeve/core'
import type { StepIO } from '@reeve/engine'

/** As much of `fetch` as is needed. */
export type Fetch = (address: string, init: RequestInit) => Promise<Response>

/** One document for one address. */
export interface Posting {
  readonly address: string
  readonly body: string
  readonly headers: { readonly [name: string]: string }
  /** Default `application/json`. */
  readonly type?: string
  readonly fetch?: Fetch | undefined
}

/** Posts. Rejects with a FailureError that says whether another try may help, and from when on. */
export async function post(posting: Posting, io: Pick<StepIO, 'key' | 'signal'>): Promise<void> {
  const headers = { ...posting.headers, 'idempotency-key': headerKey(io.key) }
  const answer = await sendJson({ ...posting, headers }, io.signal)
  // not needed; left unread it would hold the connection
  await answer.body?.cancel().catch(() => {})
}

/** Sends it, for those who read the answer: one that says yes. Rejects as `post`. */
export async function sendJson(
  { address, body, headers, type = 'application/json', fetch: send = fetch }: Posting,
  signal: AbortSignal,
): Promise<Response> {
  const { host } = new URL(address)
  let answer: Response
  try {
    answer = await send(address, {
      method: 'POST',
      redirect: 'manual',
      signal,
      body,
      headers: { ...headers, 'content-type': type },
    })
  } catch (thrown) {
    // the caller that aborted knows why
    if (signal.aborted) throw thrown
    throw new FailureError(
      failure('notice.failed', `${host} could not be reached: ${fetchProblem(thrown)}`, 'transport'),
      thrown,
    )
  }
  const what = refusal(answer, host)
  if (what === undefined) return answer
  await answer.body?.cancel().catch(() => {})
  throw new FailureError(what)
}

/** The key of a try as a header can hold it. */
const headerKey = (key: string): string =>
  /^[\x21-\x7e]{1,200}$/u.test(key) ? key : `sha256-${createHash('sha256').update(key).digest('hex')}`

/** What an answer means; undefined: it was taken. */
function refusal({ status, headers }: Response, host: string): Failure | undefined {
  if (status >= 200 && status < 300) return undefined
  const after = retryAfter((name) => headers.get(name), afterMost)
  const more = {
    details: { status },
    ...present({ retryAfterMs: after }),
  }
  const what = `${host} answered ${status}`
  if (status === 429) return failure('notice.failed', what, 'rate-limit', more)
  if (status >= 500 || status === 408 || status === 425) return failure('notice.failed', what, 'transport', more)
  const moved = status === 0 || (status >= 300 && status < 400)
  return failure('notice.failed', moved ? `${what}: redirects are not followed` : what, 'validation', {
    details: { status },
    hint: 'Check the address and the secret of the channel.',
  })
}

/** A quarter of an hour: a server that asks for a longer wait is given up. */
const afterMost = 15 * 60_000
