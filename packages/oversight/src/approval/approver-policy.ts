/**
 * Approver policy: who may decide an approval, which decisions it allows, and whether it is decided by itself.
 *
 * Owns: the rule, both for the process that posts a decision and for the run that receives it. Pure. Does not own:
 * authentication of an approver (the caller; `mayDecide` of the runtime).
 */
import { isSamePerson, personName } from '@reeve/core'
import type { ApprovalRequested } from '@reeve/journal'
import type { DecisionOption } from './decision.ts'

/** The fields of a request that say who may decide it. */
export type AskedOf = Pick<ApprovalRequested, 'approvers' | 'excludes' | 'options' | 'fourEyes'>

/** Why an approval is decided by itself, and never together with others in one call. */
export type AloneReason = 'critical-risk' | 'four-eyes'

/** Why this approval is decided by itself; undefined if it may be decided together with others. Pure. */
export function aloneReason({
  risk,
  fourEyes,
  excludes = [],
}: Pick<ApprovalRequested, 'risk' | 'fourEyes' | 'excludes'>): AloneReason | undefined {
  if (risk === 'critical') return 'critical-risk'
  return fourEyes === true || excludes.length > 0 ? 'four-eyes' : undefined
}

/** Why a decision does not count. `invalid`: not allowed by the request; `forbidden`: not by this approver. */
export interface NotPermitted {
  readonly kind: 'invalid' | 'forbidden'
  readonly problem: string
}

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/**
 * Why this decision by this approver does not count; undefined if it does. Pure. An approver may still reject what they
 * have approved.
 */
export function notPermitted(
  asked: AskedOf,
  decision: DecisionOption,
  approver: string | undefined,
): NotPermitted | undefined {
  const { approvers = [], excludes = [], options, fourEyes } = asked
  if (options !== undefined && !options.includes(decision))
    return { kind: 'invalid', problem: `decision "${decision}" is not allowed; allowed: ${list(options)}` }
  const says = decision === 'approve' || decision === 'edit'
  const name = personName(approver ?? '')
  if (name === '') {
    if (approvers.length > 0)
      return {
        kind: 'forbidden',
        problem: `the approver is missing; allowed approvers: ${list(approvers)}`,
      }
    return fourEyes === true && says
      ? { kind: 'forbidden', problem: 'the approver is missing; two named approvers are required' }
      : undefined
  }
  if (approvers.length > 0 && !approvers.some((each) => personName(each) === name))
    return { kind: 'forbidden', problem: `"${name}" is not an approver; allowed approvers: ${list(approvers)}` }
  return says && excludes.some((each) => isSamePerson(each, name))
    ? { kind: 'forbidden', problem: `"${name}" has already approved it; a second approver must decide` }
    : undefined
}
