/**
 * Approval links: one person outside decides one approval once.
 *
 * Owns: issuing, listing and revoking links, what one shows, deciding by it. Does not own: the address under which it is reached (server), the
 * rules of the decision (decisions.ts): the approval's own and `mayDecide` hold here as everywhere.
 * Holds: a link is 256 random bits, and the store has their hash alone: who reads the store can use none. (A signed link
 * would need a key that all processes share over restarts, and a list of used links beside it.) It holds for its
 * approval, the arguments that were asked about, its approver and its audience, until it expires. It decides once,
 * because the first decision of an approval wins (K2): a crash in between neither loses nor doubles it. A revocation is
 * in the store: it holds in every process.
 */
import {
  choice,
  digest,
  expects,
  isObject,
  listOf,
  mustBeOptions,
  newSecret,
  number,
  optionProblems,
  personName,
  present,
  ReeveError,
  refuseProblems,
  required,
  string,
  text,
  underName,
  type Checks,
  type Json,
  type JsonObject,
} from '@reeve/core'
import type { Question } from '@reeve/engine'
import type { ApprovalRequested } from '@reeve/journal'
import { notPermitted } from '@reeve/oversight'
import { closedApproval, decide, openQuestion, storeTime, type DecisionAccess } from './decisions.ts'
import { approvalsAmong, type Approval } from './open-approvals.ts'

/** What a link may decide. Arguments are edited by those who are signed in. */
export type LinkDecision = 'approve' | 'reject'

/** For whom a link is, and for what. */
export interface LinkRequest {
  readonly approvalId: string
  /** Whose decision it is: recorded as the approver. */
  readonly approver: string
  /** Milliseconds, at most 7 days; never beyond the deadline of the approval. Default 24 hours. */
  readonly expiresInMs?: number
  /** Default: approve and reject. */
  readonly decisions?: readonly LinkDecision[]
  /** Where the link may be used, such as the host of its address. Default: everywhere. */
  readonly audience?: string
  /** Who issues it: recorded with the decision. */
  readonly by?: string
}

/** A link that was issued. The token is in no store and no journal: it cannot be shown again. */
export interface IssuedLink {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** What a link decides. */
export interface LinkedApproval {
  readonly approval: Approval
  readonly approver: string
  readonly decisions: readonly LinkDecision[]
  readonly expiresAt: number
}

/** A decision by a link. */
export interface LinkedDecision {
  readonly token: string
  readonly decision: LinkDecision
  readonly comment?: string
  /** Where it is used; must be that for which the link was issued. */
  readonly audience?: string
}

/** A link as those see it who issue links. It has no token: who sees it cannot use it. */
export interface LinkView {
  /** Names it in `revoke`: the hash of its token. */
  readonly id: string
  readonly approvalId: string
  readonly approver: string
  readonly decisions: readonly LinkDecision[]
  readonly audience?: string
  /** Who issued it. */
  readonly by?: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
  readonly revoked?: LinkRevoked
}

/** When a link was revoked (milliseconds since 1970), and by whom. */
export interface LinkRevoked {
  readonly at: number
  readonly by?: string
}

/** Which link is revoked. */
export interface LinkRevocation {
  readonly approvalId: string
  /** `id` of the link in `list`. */
  readonly id: string
  /** Who revokes it: recorded. */
  readonly by?: string
}

/** Decisions by people outside. */
export interface RuntimeLinks {
  /**
   * Issues a link. Rejects with `input.invalid`, `approval.unknown`, `approval.already-decided`, `approval.expired`, and
   * with `approval.forbidden` if this approver may not decide it, or two people must: they sign in.
   */
  create(request: LinkRequest): Promise<IssuedLink>
  /**
   * What a link would decide. Changes nothing. Rejects with `link.unknown`, `link.expired`, `link.revoked`, or as `decide` does for an
   * approval that is not open.
   */
  of(token: string, audience?: string): Promise<LinkedApproval>
  /** Decides by a link, as `runtime.decide` does. Rejects as `of` and `runtime.decide` do. */
  decide(decision: LinkedDecision): Promise<void>
  /** The links that were issued for an approval, the oldest first, revoked and expired ones, too. Never a token. */
  list(approvalId: string): Promise<readonly LinkView[]>
  /**
   * Revokes a link: it decides nothing from then on, in every process (`link.revoked`). Once more changes nothing. What
   * it has decided stays. Rejects with `link.unknown`.
   */
  revoke(revocation: LinkRevocation): Promise<void>
}

const day = 86_400_000
const longest = 7 * day

const requestChecks: Checks<LinkRequest> = {
  approvalId: required(text),
  approver: required(expects((given) => typeof given === 'string' && personName(given) !== '', 'the name of a person')),
  expiresInMs: number((given) => given > 0 && given <= longest, 'milliseconds above 0, at most 7 days'),
  decisions: listOf(choice('approve', 'reject'), 'decisions'),
  audience: text,
  by: string,
}
const decisionChecks: Checks<LinkedDecision> = {
  token: required(string),
  decision: required(choice('approve', 'reject')),
  comment: string,
  audience: text,
}
const revocationChecks: Checks<LinkRevocation> = { approvalId: required(text), id: required(text), by: text }

/** What the store has of a link, under the hash of its token. */
interface KeptLink {
  readonly approval: string
  readonly run: string
  readonly inputHash: string
  readonly approver: string
  readonly decisions: readonly LinkDecision[]
  readonly audience?: string
  readonly by?: string
  readonly issuedAt: number
  readonly expiresAt: number
  readonly revoked?: LinkRevoked
}

/** Where links are kept. No run writes it. */
const linkStream = 'reg_approval-links'

/** The key of the links of an approval: their hashes, in the order in which they were issued. */
const linksOf = (approvalId: string): string => `of:${approvalId}`

const hashesIn = (value: Json): readonly string[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((each) => typeof each === 'string') : []

/** The links of one runtime. */
export function runtimeLinks(access: () => DecisionAccess): RuntimeLinks {
  return {
    create: (request) => createLink(access(), request),
    of: async (token, audience) => (await linkOf(access(), token, audience)).shown,
    decide: (decision) => decideByLink(access(), decision),
    list: (approvalId) => listLinks(access(), approvalId),
    revoke: (revocation) => revokeLink(access(), underName(revocation)),
  }
}

async function listLinks({ engine }: DecisionAccess, approvalId: string): Promise<readonly LinkView[]> {
  refuseProblems('input.invalid', required(text)(approvalId, 'links.list(): the id of the approval'))
  const stream = engine.stream(linkStream)
  const found: LinkView[] = []
  for (const id of hashesIn(await stream.get(linksOf(approvalId)))) {
    const link = readLink(await stream.get(id))
    if (link === undefined || link.approval !== approvalId) continue
    const { approver, decisions, audience, by, issuedAt, expiresAt, revoked } = link
    found.push({ id, approvalId, approver, decisions, issuedAt, expiresAt, ...present({ audience, by, revoked }) })
  }
  return found
}

async function revokeLink(access: DecisionAccess, given: LinkRevocation): Promise<void> {
  mustBeOptions(given, 'links.revoke', 'input.invalid')
  refuseProblems('input.invalid', optionProblems(revocationChecks, given, 'links.revoke()'), 'No link was revoked.')
  const { approvalId, id, by } = given
  const stream = access.engine.stream(linkStream)
  const isThere = hashesIn(await stream.get(linksOf(approvalId))).includes(id)
  if (!isThere || readLink(await stream.get(id)) === undefined)
    throw new ReeveError('link.unknown', `approval "${approvalId}" has no link ${JSON.stringify(id)}`, {
      hint: 'runtime.links.list(approvalId) lists them. No link was revoked.',
    })
  const revoked = { at: storeTime(access), ...present({ by }) }
  // the first revocation stays
  await stream.update(id, (link) => ({ revoked, ...(link as unknown as JsonObject) }))
}

async function createLink(access: DecisionAccess, request: LinkRequest): Promise<IssuedLink> {
  mustBeOptions(request, 'links.create', 'input.invalid')
  const problems = optionProblems(requestChecks, request, 'links.create()', ({ decisions }) => [
    Array.isArray(decisions) && decisions.length === 0 && 'links.create(): decisions is empty',
  ])
  refuseProblems('input.invalid', problems, 'No link was issued.')
  const { approvalId, expiresInMs = day, decisions = ['approve', 'reject'], audience, by } = request
  const approver = personName(request.approver)
  const { run, until, body } = await openApproval(access, approvalId)
  const asked = body as ApprovalRequested
  const refused = decisions.map((each) => notPermitted(asked, each, approver)).find((each) => each !== undefined)
  if (refused !== undefined) throw notIssued(approvalId, refused.problem)
  // whoever issues a link could use it, and would be both of them
  if (asked.fourEyes === true) throw notIssued(approvalId, 'two people must decide it, and each must be signed in')
  const now = storeTime(access)
  const expiresAt = Math.min(now + expiresInMs, until ?? Infinity)
  const token = newSecret()
  const kept: KeptLink = {
    approval: approvalId,
    run,
    inputHash: asked.inputHash,
    approver,
    decisions: [...new Set(decisions)],
    issuedAt: now,
    expiresAt,
    ...present({ audience, by: by === undefined ? undefined : personName(by) }),
  }
  const [stream, hash] = [access.engine.stream(linkStream), digest(token)]
  // listed before it can be used: no crash leaves a link that nobody can find and revoke
  await stream.update(linksOf(approvalId), (value) => [...hashesIn(value), hash])
  await stream.update(hash, () => kept as unknown as Json)
  return { token, expiresAt }
}

async function linkOf(
  access: DecisionAccess,
  token: string,
  audience: string | undefined,
): Promise<{ readonly link: KeptLink; readonly shown: LinkedApproval }> {
  const link =
    typeof token === 'string' && /^[\w-]{43}$/.test(token)
      ? readLink(await access.engine.stream(linkStream).get(digest(token)))
      : undefined
  if (link === undefined || (link.audience !== undefined && link.audience !== audience)) throw unknownLink()
  if (link.revoked !== undefined)
    throw new ReeveError('link.revoked', `this link was revoked at ${new Date(link.revoked.at).toISOString()}`, {
      hint: 'Ask for a new one. Nothing was decided.',
    })
  if (link.expiresAt <= storeTime(access))
    throw new ReeveError('link.expired', `this link expired at ${new Date(link.expiresAt).toISOString()}`, {
      hint: 'Ask for a new one. Nothing was decided.',
    })
  const question = await openApproval(access, link.approval)
  const [approval] = approvalsAmong([question])
  if (approval === undefined || approval.inputHash !== link.inputHash || approval.run !== link.run) throw unknownLink()
  const { approver, decisions, expiresAt } = link
  return { link, shown: { approval, approver, decisions, expiresAt } }
}

async function decideByLink(access: DecisionAccess, given: LinkedDecision): Promise<void> {
  mustBeOptions(given, 'links.decide', 'input.invalid')
  refuseProblems('input.invalid', optionProblems(decisionChecks, given, 'links.decide()'), 'Nothing was decided.')
  const { token, decision, comment, audience } = given
  const { link } = await linkOf(access, token, audience)
  if (!link.decisions.includes(decision))
    throw new ReeveError('approval.forbidden', `this link may not ${decision}`, { hint: 'Nothing was decided.' })
  const { approval: approvalId, approver, by } = link
  await decide(access, { approvalId, decision, approver, ...present({ comment }) }, { link: present({ by }) })
}

async function openApproval(access: DecisionAccess, id: string): Promise<Question> {
  const question = await openQuestion(access, id, 'approval')
  if (question === undefined || question.answered === true) throw await closedApproval(access, id)
  return question
}

/** What is kept of a link; undefined for what is none. */
function readLink(given: Json): KeptLink | undefined {
  if (!isObject(given)) return undefined
  const { approval, run, inputHash, approver, decisions, expiresAt } = given
  const areTexts = [approval, run, inputHash, approver].every((each) => typeof each === 'string')
  return areTexts && Array.isArray(decisions) && typeof expiresAt === 'number'
    ? (given as unknown as KeptLink)
    : undefined
}

/** The same for a link that never was, one for another audience, and one whose approval is another one now. */
const unknownLink = (): ReeveError =>
  new ReeveError('link.unknown', 'this link is not known', {
    hint: 'Open it exactly as it was sent, or ask for a new one. Nothing was decided.',
  })

const notIssued = (id: string, problem: string): ReeveError =>
  new ReeveError('approval.forbidden', `approval "${id}": ${problem}`, { hint: 'No link was issued.' })
