/**
 * What a Restate server answers, and which error it is.
 *
 * Owns: the marks by which an answer is known to be Restate's (headers of the ingress, fields of the admin API), and
 * the `engine.*` errors of its surroundings. Does not own: requests (client.ts), and the errors of handlers, which pass
 * through as `CallFailed`. An answer is believed only if it bears the marks, so that a wrong address is called that,
 * and not "not found".
 */
import { isObject, ReeveError, type TlsProblem } from '@reeve/core'

/** The two faces of a server. */
export type Side = 'ingress' | 'admin'

/** An answer, read to its end. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

/** The server, or the handler, answered that it did not do it: a terminal error of a handler comes as it was thrown. */
export class CallFailed extends Error {
  readonly status: number
  /** The answer's text. */
  readonly body: string

  constructor(status: number, message: string, body: string) {
    super(message)
    this.name = 'CallFailed'
    this.status = status
    this.body = body
  }
}

export function addressOf(side: Side, given: string): string {
  if (URL.canParse(given) && /^https?:/.test(given)) return given.replace(/\/+$/, '')
  throw new ReeveError('engine.wrong-address', `the ${side} address of Restate is not a URL: ${given}`, {
    hint: `It looks like ${usual[side]}.`,
  })
}

const usual: Readonly<Record<Side, string>> = { ingress: 'http://127.0.0.1:8080', admin: 'http://127.0.0.1:9070' }

export function shaped(
  answer: HttpAnswer,
  address: string,
  fields: readonly string[],
): Readonly<Record<string, unknown>> {
  const { json } = answer
  if (isObject(json) && fields.every((field) => field in json)) return json
  throw wrongAddress('admin', address, answer)
}

export function listOf(
  answer: HttpAnswer,
  address: string,
  field: string,
): readonly Readonly<Record<string, unknown>>[] {
  const list = shaped(answer, address, [field])[field]
  if (Array.isArray(list)) return list as readonly Readonly<Record<string, unknown>>[]
  throw wrongAddress('admin', address, answer)
}

export function textOf(value: unknown, field: string): string {
  const text = isObject(value) ? value[field] : undefined
  return typeof text === 'string' ? text : ''
}

/** The error that an answer is which is no success. */
export function refusal(side: Side, address: string, path: string, answer: HttpAnswer): Error {
  const { status, headers, text, json } = answer
  const source = headers.get('x-restate-error-source')
  const message = textOf(json, 'message')
  const isRestate = side === 'ingress' ? source !== null : source === null && message !== ''
  if (isRestate && source === 'invocation') return new CallFailed(status, message, text)
  if (!isRestate && (status === 401 || status === 403)) return notAuthorized(side, address, status)
  // a registration that fails is a 500 with a code; without one, the server itself is not well (no leader yet, shutting
  // down)
  const isUnwell = isRestate && status >= 500 && textOf(json, 'restate_code') === '' && !/non valid/.test(message)
  if (isUnwell || [429, 502, 503, 504].includes(status))
    return unreachable(side, address, `it answered ${status}${message === '' ? '' : `: ${message}`}`)
  if (side === 'ingress' && isRestate && status === 404 && /not found/.test(message)) return noWorker(path, message)
  return isRestate ? new CallFailed(status, message, text) : wrongAddress(side, address, answer)
}

export function unreachable(side: Side, address: string, why: string, cause?: unknown): ReeveError {
  return new ReeveError('engine.unreachable', `the Restate server cannot be reached at ${address} (${side}): ${why}`, {
    retryable: true,
    hint: 'Check that it is running and that the address is right: `reeve restate status`. To start one: `reeve restate dev`.',
    ...(cause === undefined ? {} : { cause }),
  })
}

/** A handshake that failed: a mistake of the set-up, which no retry mends. `words`: those of the TLS library. */
export function wrongTls(side: Side, address: string, problem: TlsProblem, words: string, cause: unknown): ReeveError {
  if (problem === 'no-tls')
    return new ReeveError('engine.wrong-address', `${address} (${side}) answers without TLS: ${words}`, {
      hint: `Write http:// instead of https:// for this ${side}, or name the port where it speaks TLS.`,
      cause,
    })
  const what =
    problem === 'certificate'
      ? 'the certificate of the Restate server is not trusted'
      : 'the Restate server refused the TLS connection'
  return new ReeveError('engine.not-trusted', `${what}, at ${address} (${side}): ${words}`, {
    hint: 'Check the host in the address, and the expiry of the certificate. For an authority of your own, name its file in the variable NODE_EXTRA_CA_CERTS before this process starts.',
    cause,
  })
}

export function wrongAddress(side: Side, address: string, { status, headers, text }: HttpAnswer): ReeveError {
  const other = side === 'ingress' ? 'admin' : 'ingress'
  const isOther = side === 'admin' ? headers.has('x-restate-error-source') : text === '' && status === 404
  const what = isOther ? `this looks like the ${other}` : 'this is no Restate server'
  return new ReeveError(
    'engine.wrong-address',
    `${address} is not the ${side} of a Restate server: it answered ${status}; ${what}`,
    {
      hint: `The ingress is usually at port 8080, the admin API at 9070. Check the addresses.`,
    },
  )
}

const notAuthorized = (side: Side, address: string, status: number): ReeveError =>
  new ReeveError('engine.not-authorized', `${address} (${side}) rejected the credentials of this process: ${status}`, {
    hint: 'Check the token given to restate({ … }), and whether it has expired.',
  })

const noWorker = (path: string, message: string): ReeveError =>
  new ReeveError('engine.no-worker', `no worker serves ${path.split('/')[1] ?? path}: ${message}`, {
    hint: 'Start a worker: a process that calls createRuntime({ engine: restate({ … }), agents }) and keeps running.',
  })

/** `retryable`: the server gave up waiting, which says nothing of the address. */
const workerUnreachable = (uri: string, why: string, retryable: boolean, cause: unknown): ReeveError =>
  new ReeveError('engine.worker-unreachable', `the Restate server cannot reach the worker at ${uri}: ${why}`, {
    retryable,
    hint: 'The address must be valid as seen from the server (not localhost if it runs in a container or elsewhere), open to it, and speak HTTP/2.',
    cause,
  })

/**
 * A registration that the server refused, by its words: META0003 it got no good answer, META0014 only HTTP/1.1,
 * META0013 no manifest.
 */
export function registrationFailed(uri: string, error: CallFailed): Error {
  const answered = /got status code '(\d+)/.exec(error.message)?.[1]
  if (answered === '401' || answered === '403') {
    return new ReeveError(
      'engine.worker-refused',
      `the worker at ${uri} refuses this Restate server (${answered}): identity keys do not match`,
      {
        hint: 'Give the worker the public key of this server (identityKeys), or remove the proxy in front of it.',
        cause: error,
      },
    )
  }
  if (!/META00(03|13|14)/.test(error.message)) return error
  const isLate = /timed? ?out|deadline/i.test(error.message)
  return workerUnreachable(uri, error.message.replace(/^(\[META\d+\] )+/, ''), isLate, error)
}
