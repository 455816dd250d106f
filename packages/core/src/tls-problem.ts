/**
 * TLS problems: what a failed handshake says about the other side, or a failed preparation about this one. An address
 * that answers without TLS, a certificate that this process does not trust, and one of its own that cannot be read are
 * mistakes of the set-up: no retry mends them.
 *
 * Owns: telling these from an outage, and the words of a failed connection, for every client of a server. Does not own:
 * the error that each throws.
 */
import { messageOf } from './errors.ts'

/**
 * `certificate`: the server's certificate is not trusted here. `no-tls`: the server answered without TLS. `refused`: the
 * server ended the handshake; it may demand a certificate of the client. `own-certificate`: a certificate or key that
 * this process was given cannot be read, or the two do not belong together.
 */
export type TlsProblem = 'certificate' | 'no-tls' | 'refused' | 'own-certificate'

/** Codes of Node, which OpenSSL's are passed on in. */
const codes: readonly (readonly [RegExp, TlsProblem])[] = [
  [
    /^(CERT_|CRL_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_)/,
    'certificate',
  ],
  [
    /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|HTTPS_PROXY_REQUEST|UNKNOWN_PROTOCOL)$/,
    'no-tls',
  ],
  [/^ERR_SSL_/, 'refused'],
  [/^ERR_OSSL_/, 'own-certificate'],
]

/** Words of clients that pass on no code: gRPC's, in JavaScript and in Rust, and those of `pg`. */
const patterns: readonly (readonly [RegExp, TlsProblem])[] = [
  [/wrong version number|packet length too long|InvalidContentType|does not support SSL/i, 'no-tls'],
  [
    /self.signed certificate|UnknownIssuer|NotValidForName|certificate has expired|invalid peer certificate|unable to (?:get|verify)[^;]{0,40}certificate|certificate'?s altnames/i,
    'certificate',
  ],
  [/alert (?:handshake failure|certificate required|bad certificate)|AlertReceived/i, 'refused'],
  [/(?:PEM|DECODER|x509 certificate|asn1 encoding) routines/i, 'own-certificate'],
]

/** How deep causes are followed. */
const deepest = 8

/** What a failed connection says of TLS. Undefined: it failed for another reason. */
export function tlsProblem(thrown: unknown): TlsProblem | undefined {
  let each = thrown
  for (let depth = 0; depth < deepest && each instanceof Error; depth++) {
    const { code, cause } = each as Error & { readonly code?: unknown }
    const text = messageOf(each).slice(0, 2_000)
    const found =
      (typeof code === 'string' ? codes.find(([pattern]) => pattern.test(code)) : undefined) ??
      patterns.find(([pattern]) => pattern.test(text))
    if (found !== undefined) return found[1]
    each = cause
  }
  return undefined
}

/** How OpenSSL writes an error: code, library, function and its reason; of a connection, the thread and its source, too. */
const openSsl = /(?:[\dA-F]{1,32}:)?error:[\dA-F]{1,16}:[^:\n]*:[^:\n]*:([^:\n]*)(?::[^:\n]*:\d+:[^\n]*)?/g

/** What a library says of a failed connection, as one line of a message: of OpenSSL the reason alone. */
export const connectionErrorText = (text: string): string =>
  text.replaceAll(openSsl, '$1').replaceAll(/\s+/g, ' ').trim()
