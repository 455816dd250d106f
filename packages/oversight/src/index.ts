/** Humans at the top: asking for a value, asking for a yes or no. */
export {
  approvalProblems,
  approvalTimeoutCheck,
  untimedProblems,
  approvalQuestion,
  approve,
  deadlineProblems,
  holdsFor,
  mayApproveUnseen,
} from './approval/approval.ts'
export {
  capabilityFor,
  CapabilityHolder,
  capabilityProblem,
  defaultValidForMs,
  lapseIn,
  signCapability,
  verifyCapability,
  type Approved,
  type Capability,
  type CapabilityExpected,
  type CapabilityUse,
  type CapabilityVerdict,
  type UsedCapability,
  type VerifyOptions,
} from './approval/capability.ts'
export {
  goodUntil,
  readDecision,
  verdictOf,
  type ApprovedVerdict,
  type Decided,
  type DecidedOn,
  type DecisionOption,
  type RefusedVerdict,
  type Verdict,
} from './approval/decision.ts'
export { approvedBefore, refusalFailure, refusalOf, type Proposal } from './approval/refusal.ts'
export { quotedComment, reviewNote, shownComment } from './approval/review-note.ts'
export {
  aloneReason,
  notPermitted,
  type AloneReason,
  type AskedOf,
  type NotPermitted,
} from './approval/approver-policy.ts'
export {
  ed25519Signer,
  ed25519Verifier,
  hmacSigner,
  newEd25519Key,
  readSigned,
  signDocument,
  type Ed25519Key,
  type SignedDocument,
  type Signer,
  type Verifier,
} from './audit/signer.ts'
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
} from './approval/grants.ts'
export type { ApprovalRequest, ApprovalTimeout, Risk } from './approval/approval.ts'
export {
  evaluateEscalation,
  gateOf,
  type Escalation,
  type GateDecision,
  type Subject,
} from './escalation/escalation.ts'
export {
  channelOf,
  channelsCheck,
  channelWork,
  missingChannel,
  unregistered,
  type Channel,
  type Notice,
} from './notice.ts'
export {
  escalate,
  escalateToBegin,
  expiredBy,
  noteHits,
  reasonOf,
  review,
  reviewRequest,
  type Escalated,
  type EscalationRequest,
  type Fits,
} from './approval/review.ts'
export {
  controlState,
  foldControl,
  newControlFold,
  type ControlFold,
  type ControlOp,
  type ControlState,
} from './control/control.ts'
export {
  takeoverContext,
  type TakeoverContext,
  type TakeoverPlan,
  type TakeoverSources,
  type TakeoverStep,
  type TakeoverSuggestion,
} from './control/takeover.ts'
export { sensitiveWord, sensitiveWords } from './escalation/sensitive-words.ts'
export { afterFailures, FailureCounter, failureCounterOf } from './escalation/failure-counter.ts'
export {
  currentMode,
  readableTrust,
  successOf,
  trustLayer,
  trustKey,
  trustNames,
  trustStream,
  withName,
  type TrustPresets,
} from './trust/trust.ts'
export {
  canUpgrade,
  modeOfLevel,
  newTrust,
  opened,
  readTrust,
  recordIncident,
  recordRun,
  setLevel,
  trustLevels,
  trustPresets,
  trustRulesCheck,
  trustRules,
  type CountedRun,
  type IncidentSeverity,
  type TrustEntry,
  type TrustLevel,
  type TrustPreset,
  type TrustRecord,
  type TrustRule,
  type TrustRules,
  type TrustState,
  type TrustReason,
  type UpgradeMiss,
  type UpgradeCheck,
} from './trust/trust-record.ts'
export { passOnWaiting, waitingMessage, waitsNow } from './approval/concurrency-slot.ts'
export { stopAsked, stopMessage, stoppedBy, workerEnd, type ArrivalListener } from './control/stop.ts'
export {
  clientAnswer,
  clientAnswerProblem,
  clientAnswerSchema,
  clientCallIn,
  clientQuestion,
  type ClientAnswer,
  type ClientCall,
} from './client-call.ts'
export {
  inquire,
  inquiryQuestion,
  interrupt,
  rulesOf,
  type Answered,
  type Inquiry,
  type InterruptOptions,
} from './interrupt.ts'
export {
  AuditChain,
  auditOf,
  auditType,
  signAudit,
  type AuditActor,
  type AuditDocument,
  type AuditEntry,
  type AuditHead,
} from './audit/audit.ts'
export { ChainCheck, verifyAudit, type AuditCheck, type AuditProblem, type AuditReport } from './audit/audit-check.ts'
