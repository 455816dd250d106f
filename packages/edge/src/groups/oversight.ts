/**
 * Oversight of one activation: the policy that holds for it, and what approvers have seen of it already.
 *
 * Owns: the group of the edge and how it crosses. Does not own: the policy and which of two is stricter
 * (../oversight.ts), reviews (../../agent/approval).
 * Holds: oversight never gets looser on the way down.
 */
import type { LeaderGrant, MemberGrant, Receiver, RootGrant } from '../grant.ts'
import { stricter, type Oversight } from '../oversight.ts'

/** How closely approvers look at the work. */
export interface EdgeOversight {
  /** Holds here and below; never less than at the leader's. */
  readonly policy: Oversight
  /** So many of the leader's workers have failed in a row, unseen: an approver is shown that before the work begins. */
  readonly failures?: number
  /** Its beginning is approved already, or needs no approval. */
  readonly admitted?: true
}

/** The oversight of a root. */
export const oversightOfRoot = ({ oversight }: RootGrant, root: Receiver | undefined): EdgeOversight | undefined =>
  under(stricter(oversight, root?.oversight))

/** The oversight of a worker. */
export const oversightOfWorker = (
  above: EdgeOversight | undefined,
  worker: Receiver,
  { oversight, admitted }: LeaderGrant,
): EdgeOversight | undefined => under(stricter(stricter(above?.policy, oversight), worker.oversight), admitted)

/** The oversight of a member of a flow. */
export const oversightOfMember = (
  above: EdgeOversight | undefined,
  member: Receiver,
  { oversight }: MemberGrant,
): EdgeOversight | undefined => under(stricter(stricter(above?.policy, oversight), member.oversight))

/** The oversight of a tool: it is admitted, because its call was. */
export const oversightOfTool = (above: EdgeOversight | undefined): EdgeOversight | undefined =>
  under(above?.policy, true)

const under = (policy: Oversight | undefined, admitted?: true): EdgeOversight | undefined =>
  policy === undefined ? undefined : admitted === undefined ? { policy } : { policy, admitted }
