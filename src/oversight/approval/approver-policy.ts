/**
 * Approver policy: who may decide an approval, and which decisions are offered, by the question itself.
 *
 * Owns: the rule, for the process that posts a decision and for the run that receives it. Pure. Does not own: who an
 * approver is (the caller; `mayDecide` of the runtime).
 */
import { isSamePerson, personName } from '../../core/index.ts'
import type { ApprovalRequested } from '../../journal/index.ts'
import type { DecisionOption } from './decision.ts'

/** What of a question says who may decide it. */
export type AskedOf = Pick<ApprovalRequested, 'approvers' | 'excludes' | 'options' | 'fourEyes'>

/** Why a decision does not count: `invalid`, it is not offered; `forbidden`, this approver may not make it. */
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
    return { kind: 'invalid', problem: `"${decision}" is not offered, but ${list(options)}` }
  const says = decision === 'approve' || decision === 'edit'
  const name = personName(approver ?? '')
  if (name === '') {
    if (approvers.length > 0)
      return {
        kind: 'forbidden',
        problem: `it is to be decided by ${list(approvers)}, and nobody is named as the approver`,
      }
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
