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
export type { ApprovalRequest, ApprovalTimeout, Decided, DecisionOption, Risk, Verdict } from './approval.ts'
export { evaluateEscalation, gateOf, type Escalation, type GateWord, type Subject } from './escalation.ts'
export { channelOf, channelWork, type Channel, type Notice } from './notice.ts'
export { noteHits, reasonOf, review, type Reviewed, type ReviewRequest } from './review.ts'
export { sensitiveWord, sensitiveWords } from './sensitive.ts'
export { currentMode } from './trust.ts'
export { passOnWaiting, waitsNow } from './permit.ts'
export { isStopWord, stopAsked, stopMessage, stoppedBy, workerEnd } from './stop.ts'
export { interrupt, type InterruptOptions } from './interrupt.ts'
