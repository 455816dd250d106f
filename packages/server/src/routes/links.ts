/**
 * Routes of approval links: issuing, listing and revoking them, and the page behind one.
 *
 * A link decides in its approver's name, and whoever issues it has it in hand: so an approver issues links in their own
 * name, and an admin in that of others.
 *
 * The page needs no cookie and no header: the token in its address is the authority, and a forged request would have to
 * know it, so there is nothing that a form of another site could borrow (CSRF). An `Origin` that is sent is checked all
 * the same. GET and HEAD change nothing: mail scanners open links.
 */
import { personName, ReeveError, visible } from '@reeve/core'
import type { LinkDecision, LinkRevoked, LinkView } from '@reeve/runtime'
import { allows } from '../access/principal.ts'
import { linkPage, linkPageHeaders, longestComment, messagePage } from '../access/link-page.ts'
import { errorStatuses } from '../error-status.ts'
import { answered, route, type RequestContext, type Route } from '../route.ts'
import { choice, list, name, nothing, object, optional, text, whole } from '../wire-schema.ts'
import type { ApprovalLink, LinkBody, Principal } from '../wire.ts'

/** A form is its fields: a decision and a comment, each character as up to 12 bytes of `%XX`. */
const largestForm = longestComment * 12 + 1_000

/** Where the link was opened: it was issued for this host alone. */
const audienceOf = (url: string): string => new URL(url).host

const html = (status: number, content: string): Response => new Response(content, { status, headers: linkPageHeaders })

/** What is said to a person whose link does not decide. */
const titles: Readonly<Record<string, string>> = {
  'link.unknown': 'This link is not known',
  'link.expired': 'This link has expired',
  'link.revoked': 'This link was revoked',
  'approval.already-decided': 'This was decided already',
  'approval.expired': 'This is over',
  'approval.unknown': 'This is over',
  'approval.forbidden': 'This was not decided',
  'input.invalid': 'This was not decided',
  'input.too-large': 'This was not decided',
}

/** What a person outside can do, where the hint of the error is for those who run Reeve. */
const nextSteps: Readonly<Record<string, string>> = {
  'approval.expired': 'Nothing is left to decide. You can close this page.',
  'approval.unknown': 'Nothing is left to decide. You can close this page.',
  'approval.forbidden': 'Nothing was decided. Ask for another link, or let someone else decide.',
}

/** The page for an error that a person can do something about; anything else is thrown on. */
function errorPage(thrown: unknown): Response {
  if (!ReeveError.is(thrown) || !Object.hasOwn(titles, thrown.code)) throw thrown
  const next = nextSteps[thrown.code] ?? thrown.hint
  const said = `${thrown.message}.${next === undefined ? '' : `\n${next}`}`
  return html(errorStatuses[thrown.code], messagePage(titles[thrown.code]!, said))
}

async function decided({ runtime, request, body }: RequestContext, token: string): Promise<Response> {
  const fields = await body.form(largestForm)
  const comment = fields.get('comment')?.slice(0, longestComment)
  const decision = fields.get('decision') as LinkDecision
  const audience = audienceOf(request.url)
  await runtime.links.decide({
    token,
    audience,
    decision,
    ...(comment === undefined || comment.trim() === '' ? undefined : { comment }),
  })
  const what = decision === 'approve' ? 'You have approved it' : 'You have rejected it'
  return html(200, messagePage(what, 'The decision is recorded. You can close this page.'))
}

/** Whether a link is a matter of this principal: an admin has all of them. */
const isOwn = (principal: Principal, { by, approver }: LinkView): boolean =>
  allows(principal, 'admin') || by === principal.name || approver === principal.name

/** Throws `request.forbidden` where a principal would have the decision of somebody else in hand. */
function mustIssueFor(principal: Principal, approver: string): void {
  if (allows(principal, 'admin') || personName(approver) === principal.name) return
  throw new ReeveError(
    'request.forbidden',
    `${JSON.stringify(principal.name)} may not issue a link in the name of ${JSON.stringify(visible(approver))}`,
    { hint: 'An approver issues links in their own name; an admin in that of others. No link was issued.' },
  )
}

export const linkRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/approvals/{id}/link',
    summary: 'A link by which one person outside decides this approval once. It is shown once.',
    body: object<LinkBody>('LinkBody', {
      approver: name({ description: 'Whose decision it is.' }),
      expiresInMs: optional(whole({ minimum: 1, maximum: 604_800_000, description: 'Default 24 hours.' })),
      decisions: optional(list(choice<LinkDecision>(['approve', 'reject']), { maxItems: 2 })),
    }),
    answer: object<ApprovalLink>('ApprovalLink', { url: text(), expiresAt: whole() }),
    statuses: [201],
    async handle({ runtime, principal, request }, { path, body }) {
      mustIssueFor(principal, body.approver)
      const audience = audienceOf(request.url)
      const { token, expiresAt } = await runtime.links.create({
        ...body,
        approvalId: path.id,
        by: principal.name,
        audience,
      })
      const url = new URL(request.url)
      // a proxy may have ended TLS: the page that asks knows how it was reached
      const origin = URL.parse(request.headers.get('Origin') ?? '')
      if (origin?.host === url.host) url.protocol = origin.protocol
      url.pathname = url.pathname.replace(/\/approvals\/[^/]*\/link$/, `/links/${token}`)
      url.search = ''
      return answered(201, { url: url.href, expiresAt } satisfies ApprovalLink)
    },
  }),
  route({
    method: 'GET',
    path: '/approvals/{id}/links',
    summary: 'The links of an approval that the caller issued or that are in their name; for an admin all. No tokens.',
    answer: list(
      object<LinkView>('LinkView', {
        id: name(),
        approvalId: name(),
        approver: name(),
        decisions: list(choice<LinkDecision>(['approve', 'reject'])),
        audience: optional(text()),
        by: optional(name()),
        issuedAt: whole(),
        expiresAt: whole(),
        revoked: optional(object<LinkRevoked>('LinkRevoked', { at: whole(), by: optional(name()) })),
      }),
    ),
    handle: async ({ runtime, principal }, { path }) =>
      (await runtime.links.list(path.id)).filter((link) => isOwn(principal, link)),
  }),
  route({
    method: 'DELETE',
    path: '/approvals/{id}/links/{link}',
    summary: 'Revoke a link that the caller issued or that is in their name; an admin any.',
    answer: nothing,
    statuses: [204],
    async handle({ runtime, principal }, { path: { id: approvalId, link: id } }) {
      const own = (await runtime.links.list(approvalId)).filter((link) => isOwn(principal, link))
      if (!own.some((link) => link.id === id))
        throw new ReeveError('link.unknown', `approval "${approvalId}" has no link ${JSON.stringify(id)}`, {
          hint: 'GET /api/approvals/{id}/links lists yours. No link was revoked.',
        })
      await runtime.links.revoke({ approvalId, id, by: principal.name })
      return answered(204)
    },
  }),
  route({
    method: 'GET',
    path: '/links/{token}',
    isPage: true,
    summary: 'The page of a link: what is asked. Decides nothing.',
    answer: text({ description: 'A page (text/html): what is asked, with a form for each decision.' }),
    async handle({ runtime, request }, { path }) {
      try {
        return html(200, linkPage(await runtime.links.of(path.token, audienceOf(request.url))))
      } catch (thrown) {
        return errorPage(thrown)
      }
    },
  }),
  route({
    method: 'POST',
    path: '/links/{token}',
    isPage: true,
    summary: 'Decide by a link: a form with decision and comment.',
    answer: text({ description: 'A page (text/html): what became of it.' }),
    async handle(context, { path }) {
      try {
        return await decided(context, path.token)
      } catch (thrown) {
        return errorPage(thrown)
      }
    },
  }),
]
