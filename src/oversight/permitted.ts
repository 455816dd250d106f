/**
 * Who may decide an approval, and what: by what stands in the question itself.
 *
 * Owns: the rule, for those who post a decision and for those whom one reaches. Pure. Does not own: who somebody is (whoever calls; `mayDecide` of the runtime).
 */
import { isSamePerson, personName } from '../core/index.ts'
import type { ApprovalRequested } from '../journal/index.ts'
import type { DecisionOption } from './decided.ts'

/** What of a question says who may decide it. */
export type AskedOf = Pick<ApprovalRequested, 'approvers' | 'excludes' | 'options' | 'fourEyes'>

/** Why a decision does not count: `invalid`, it is not among those that are offered; `forbidden`, whoever decides may not. */
export interface NotPermitted {
  readonly kind: 'invalid' | 'forbidden'
  readonly problem: string
}

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/** Why this decision by this approver does not count; undefined if it does. Pure. Whoever has approved something may still take that back with a no. */
export function notPermitted(asked: AskedOf, decision: DecisionOption, approver: string | undefined): NotPermitted | undefined {
  const { approvers = [], excludes = [], options, fourEyes } = asked
  if (options !== undefined && !options.includes(decision))
    return { kind: 'invalid', problem: `"${decision}" is not offered, but ${list(options)}` }
  const says = decision === 'approve' || decision === 'edit'
  const name = personName(approver ?? '')
  if (name === '') {
    if (approvers.length > 0)
      return { kind: 'forbidden', problem: `it is to be decided by ${list(approvers)}, and nobody is named as the approver` }
    return fourEyes === true && says
      ? { kind: 'forbidden', problem: 'two people have to approve it, and nobody is named as the approver' }
      : undefined
  }
  if (approvers.length > 0 && !approvers.some((each) => personName(each) === name))
    return { kind: 'forbidden', problem: `it is to be decided by ${list(approvers)}, and not by "${name}"` }
  return says && excludes.some((each) => isSamePerson(each, name))
    ? { kind: 'forbidden', problem: `"${name}" has approved it already: somebody else has to look` }
    : undefined
}
