/**
 * Security headers: what every response tells a browser not to do.
 *
 * Owns: the values. Pure.
 */

/** Nothing from elsewhere, nothing inline, no frames. */
const contentPolicy: Readonly<Record<string, string>> = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'font-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
}

/** A content security policy: the one of every response, with these directives instead. */
export const contentSecurityPolicy = (instead: Readonly<Record<string, string>> = {}): string =>
  Object.entries({ ...contentPolicy, ...instead })
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')

/** What every response says. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy(),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Cache-Control': 'no-store',
}

/**
 * The response with these headers; what it says itself of one of them stands. They are set on the response itself where
 * that is possible: a copy would have a stream for a body, and be written in pieces.
 */
export function withHeaders(response: Response, more: Readonly<Record<string, string>> = {}): Response {
  const missing = Object.entries({ ...securityHeaders, ...more }).filter(([name]) => !response.headers.has(name))
  try {
    for (const [name, value] of missing) response.headers.set(name, value)
    return response
  } catch {
    // one that was fetched from elsewhere cannot be changed
    const headers = new Headers(response.headers)
    for (const [name, value] of missing) headers.set(name, value)
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
  }
}
