/** Humans at the top: asking for a value, asking for a yes or no. */
export { approvalProblems, approve, defaultApprovalTimeoutMs, mayApproveUnseen, readDecision, verdictOf } from './approval.ts'
export {
  grantFor,
  grantProblem,
  grantsKey,
  keepGrant,
  readGrants,
  type ApprovalGrant,
  type GatedCall,
  type Granting,
  type SessionGrant,
} from './grants.ts'
export type { ApprovalRequest, ApprovalTimeout, Decided, Risk, Verdict } from './approval.ts'
export { passOnWaiting, waitsNow } from './permit.ts'
export { isStopWord, stopAsked, stopMessage, stoppedBy, workerEnd } from './stop.ts'
export { interrupt, type InterruptOptions } from './interrupt.ts'
