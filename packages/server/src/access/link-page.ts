/**
 * The page of an approval link: what a person outside is asked, and the answer.
 *
 * Owns: its HTML. Pure. Does not own: deciding (runtime), the path (routes/links.ts).
 * Holds: everything that a model, a tool or a person wrote goes through `visible` and is escaped. No script, no form but
 * its own, nothing from elsewhere. The two forms post; to open the page decides nothing.
 */
import { createHash } from 'node:crypto'
import { visible, visibleJson, visibleLines } from '@reeve/core'
import type { LinkedApproval } from '@reeve/runtime'
import { contentSecurityPolicy } from './security-headers.ts'

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid; border-radius: 6px; padding: .75rem; margin: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
form { border-top: 1px solid; margin-top: 1.5rem; padding-top: 1rem; }
label { display: block; margin-bottom: .75rem; } textarea { display: block; width: 100%; box-sizing: border-box; font: inherit; }
button { font: inherit; font-weight: 600; padding: .5rem 1.25rem; border-radius: 6px; border: 1px solid; cursor: pointer; }
`
const styleHash = createHash('sha256').update(style).digest('base64')

/**
 * Its headers. The style is named by its hash. The referrer goes to this server alone: without one, a browser would send
 * `Origin: null` with the form.
 */
export const linkPageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy({
    'script-src': "'none'",
    'connect-src': "'none'",
    'style-src': `'sha256-${styleHash}'`,
  }),
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow',
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (each) => entities[each]!)
const line = (text: string): string => escaped(visible(text))
const lines = (text: string): string => escaped(visibleLines(text).join('\n'))

/** How much of a comment is taken, in characters. */
export const longestComment = 10_000

/** The page that asks. It posts to its own address. */
export function linkPage({ approval, approver, decisions, expiresAt }: LinkedApproval): string {
  const { tool, path, risk, reason, description, input, brief, hits = [], until } = approval
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Asked by', path.join(' > ')],
    ['Action', tool],
    ['Risk', risk],
    ['Why', reason],
    ['Description', description],
    ['Its task', brief],
    ...hits.map(({ detail }): readonly [string, string] => ['Because', detail]),
    ['Decision of', approver],
    ['Deadline', until === undefined ? 'none: it waits until it is decided' : new Date(until).toISOString()],
    ['Link ends', new Date(expiresAt).toISOString()],
  ]
  return page(
    'Approval requested',
    `<dl>${rows.map(([name, value]) => (value === undefined || value === '' ? '' : `<dt>${name}</dt><dd>${line(value)}</dd>`)).join('\n')}</dl>
<h2 id="arguments">Exactly these arguments</h2>
<pre aria-labelledby="arguments" tabindex="0">${escaped(visibleJson(input, 2))}</pre>
${decisions.map(form).join('\n')}`,
  )
}

const labels = { approve: 'Approve', reject: 'Reject' } as const

const form = (decision: keyof typeof labels): string => `<form method="post">
<input type="hidden" name="decision" value="${decision}">
<label>${decision === 'approve' ? 'Comment (optional)' : 'Reason (optional)'}<textarea name="comment" rows="2" maxlength="${longestComment}"></textarea></label>
<button type="submit">${labels[decision]}</button>
</form>`

/** A page that says how it is, and asks nothing. */
export const messagePage = (title: string, text: string): string => page(title, `<p>${lines(text)}</p>`)

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}
</main></body>
</html>
`
