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

/** The response with these headers; what it says itself of one of them stands. */
export function withHeaders(response: Response, more: Readonly<Record<string, string>> = {}): Response {
  const headers = new Headers({ ...securityHeaders, ...more })
  for (const [name, value] of response.headers) if (name !== 'set-cookie') headers.set(name, value)
  for (const cookie of response.headers.getSetCookie()) headers.append('Set-Cookie', cookie)
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
