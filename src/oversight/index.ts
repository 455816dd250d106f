/** Humans at the top: asking for a value, asking for a yes or no. */
export { approvalProblems, approve, defaultApprovalTimeoutMs, mayApproveOnTimeout, readDecision, verdictOf } from './approval.ts'
export type { ApprovalRequest, ApprovalTimeout, Decided, Risk, Verdict } from './approval.ts'
export { waitsNow } from './permit.ts'
export { interrupt, type InterruptOptions } from './interrupt.ts'
