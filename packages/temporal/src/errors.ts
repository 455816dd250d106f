/**
 * What goes wrong between this process and a Temporal server, as errors that say what to do.
 *
 * Owns: what gRPC's codes mean. Holds: no message has the API key or anything of a certificate: of what a call failed
 * with, the code and the server's own words are repeated.
 */
import { connectionErrorText, messageOf, optionalPeer, ReeveError, tlsProblem } from '@reeve/core'
import type { Server } from './options.ts'
import type { Failed } from './wake-ups.ts'

/** Codes of gRPC. */
const deadlineExceeded = 4
const notFound = 5
const permissionDenied = 7
const resourceExhausted = 8
const unavailable = 14
const unauthenticated = 16

interface RpcError {
  readonly code: number
  readonly details: string
}

/** What the server, or the way to it, has said: the SDK wraps it, sometimes twice. */
function refusalIn(thrown: unknown): RpcError | undefined {
  for (let each = thrown; each instanceof Error; each = each.cause) {
    const { code, details } = each as Partial<RpcError> & Error
    if (typeof code === 'number') return { code, details: typeof details === 'string' ? details : each.message }
  }
  return undefined
}

/** A workflow that is just ending, and a server that has too much to do, are both busy. */
export function meaningOf(thrown: unknown): Failed {
  if (ReeveError.is(thrown)) return thrown.retryable ? 'away' : 'refused'
  if (tlsProblem(thrown) !== undefined) return 'refused'
  const code = refusalIn(thrown)?.code
  if (code === resourceExhausted) return 'busy'
  // what the SDK's worker says of the way to the server
  const isTransport = thrown instanceof Error && thrown.name === 'TransportError'
  return isTransport || code === unavailable || code === deadlineExceeded ? 'away' : 'refused'
}

export function serverError(thrown: unknown, server: Server): ReeveError {
  const { address, namespace } = server
  const wrongTls = tlsError(thrown, server)
  if (wrongTls !== undefined) return wrongTls
  const { code, details } = refusalIn(thrown) ?? { code: unavailable, details: messageOf(thrown) }
  if (code === notFound)
    return new ReeveError('config.invalid', `temporal: there is no namespace "${namespace}" at ${address}`, {
      hint: `Create it (temporal operator namespace create --namespace ${namespace}), or give another namespace or address.`,
      cause: thrown,
    })
  if (code === permissionDenied || code === unauthenticated)
    return new ReeveError(
      'engine.not-authorized',
      `the Temporal server at ${address} rejected this process: ${details}`,
      {
        hint: 'Give a valid apiKey, or a client certificate in tls.clientCertPair, for this namespace.',
        cause: thrown,
      },
    )
  return new ReeveError(
    'engine.unreachable',
    `the Temporal server at ${address} cannot be reached or is unavailable${overTls(server)}: ${connectionErrorText(details)}`,
    {
      retryable: true,
      hint: `Check that it is running and that the address is right. ${tlsHint(server)} Until then the processes of the store take up runs themselves, a few seconds later.`,
      cause: thrown,
    },
  )
}

/** Of a port that speaks otherwise a client may see no more than a dropped connection: so the setting is always named. */
const overTls = ({ tls, apiKey }: Server): string =>
  tls === false ? '' : ` over TLS, which ${apiKey === undefined ? 'tls' : 'apiKey'} switches on`
const tlsHint = ({ tls, apiKey }: Server): string =>
  tls === false
    ? 'If the server demands TLS, set tls.'
    : `If the server speaks without TLS, leave out ${apiKey === undefined ? 'tls' : 'apiKey and tls'}.`

/** A handshake that failed is a mistake of the set-up, which no retry mends. */
function tlsError(thrown: unknown, server: Server): ReeveError | undefined {
  const problem = tlsProblem(thrown)
  if (problem === undefined) return undefined
  const { address } = server
  const words = connectionErrorText(refusalIn(thrown)?.details ?? messageOf(thrown))
  if (problem === 'no-tls')
    return new ReeveError(
      'engine.wrong-address',
      `the Temporal server at ${address} cannot be reached${overTls(server)}: it answers without TLS: ${words}`,
      { hint: `${tlsHint(server)} Or name the port where it speaks TLS.`, cause: thrown },
    )
  if (problem === 'own-certificate')
    return new ReeveError('config.invalid', `temporal: a certificate or key in tls cannot be used: ${words}`, {
      hint: 'Each is the content of one PEM file, and the key is that of the certificate.',
      cause: thrown,
    })
  const what =
    problem === 'certificate'
      ? `the certificate of the Temporal server at ${address} is not trusted`
      : `the Temporal server at ${address} refused the TLS connection`
  return new ReeveError('engine.not-trusted', `${what}: ${words}`, {
    hint: 'Check the address and the expiry of the certificate. An authority of your own is named in tls.serverRootCACertificate, a client certificate in tls.clientCertPair.',
    cause: thrown,
  })
}

/** Loads one of Temporal's packages. Rejects with `config.invalid` where it is not installed. */
export const sdk = <T>(name: `@temporalio/${string}`): Promise<T> =>
  optionalPeer<T>(
    name,
    'All four of one version; a process that runs no agents needs the client only: npm install @temporalio/client @temporalio/worker @temporalio/workflow @temporalio/activity',
  )
