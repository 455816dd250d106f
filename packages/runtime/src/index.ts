/** The composition root: createRuntime, run handles, sessions, decisions from outside. */
export { runtimeChecks as runtimeOptions, type RuntimeOptions } from './options.ts'
export type { LogFields, Logger } from './run-log.ts'
export { preparedModels, type PreparedModel } from './model-check.ts'
export { declareThem, undeclaredText, undeclaredTools, type UndeclaredTools } from './undeclared-tools.ts'
export { storeKind } from '@reeve/stores/store-name'
export { createRuntime } from './create-runtime.ts'
export { installationValues } from './installation-values.ts'
export type { OpenFilter, Runtime } from './runtime.ts'
export type { JournalOptions, Run, RunOutcome, RunWaiting } from './run-handle.ts'
export type { CancelOptions, RunControl } from './operator/run-control.ts'
export type { RunTeam } from './operator/run-team.ts'
export type {
  IssuedLink,
  LinkDecision,
  LinkedApproval,
  LinkRevocation,
  LinkRevoked,
  LinkView,
  LinkedDecision,
  LinkRequest,
  RuntimeLinks,
} from './operator/approval-links.ts'
export { mayContinue } from './operator/sessions.ts'
export type { RuntimeSessions, SessionAccess, SessionName, SharedSession } from './operator/sessions.ts'
export { isUsableBy, type TenantOptions, type Tenants } from './tenants.ts'
export { notRegistered } from './registry.ts'
export type { RuntimeGrants } from './operator/grants.ts'
export type { PostFromOutside } from './operator/team-mail.ts'
export type { RecruitFromOutside, RetireFromOutside } from './operator/team-staff.ts'
export type { Recruited, Retired } from '@reeve/agent'
export type { StopDelegation } from './operator/stop-delegation.ts'
export type { ForkOptions } from './operator/fork.ts'
export type {
  CompleteByHand,
  FinishByHand,
  HandBack,
  PauseOptions,
  ResumeOptions,
  TakenOver,
  TakeOverOptions,
} from './operator/takeover.ts'
export type { RunStream } from './feed/owned-run.ts'
export type { StreamItem } from './feed/reader-feed.ts'
export { startRequest, type StartOptions } from './start.ts'
export type { RegisteredAgent } from './registered-agents.ts'
export { registerAgents, type Agents } from './registry.ts'
export { findHook, type Hooks } from './hooks.ts'
export type {
  BusySession,
  ContextHook,
  RootContext,
  SessionMemory,
  SessionShown,
  SessionQuery,
  SessionTurn,
} from './session.ts'
export type { Incident, RuntimeTrust, TrustSetting, TrustView } from './operator/trust.ts'
export type { BoundedCount, SystemOptions, SystemView, WorkerView } from './system.ts'
export type { StallCause, StalledRun } from '@reeve/engine'
export type { AuditOptions } from './operator/audit.ts'
export {
  AuditChain,
  ChainCheck,
  clientCallIn,
  ed25519Signer,
  ed25519Verifier,
  newEd25519Key,
  notPermitted,
  verifyAudit,
} from '@reeve/oversight'
export type {
  ApprovalGrant,
  AuditDocument,
  AuditEntry,
  AuditHead,
  AuditReport,
  ClientCall,
  ControlState,
  Ed25519Key,
  Signer,
  TakeoverContext,
  TrustLevel,
  Verifier,
} from '@reeve/oversight'
export { choicesCheck } from './versions.ts'
export type { TrialChange, TrialChanges } from './trials.ts'
export type { TrialOfCall } from './operator/fork.ts'
export type {
  Chosen,
  KeptRevision,
  RevisionStatus,
  RuntimeVersions,
  VersionChoice,
  VersionChoices,
  VersionUse,
} from './versions.ts'
export { approvalsAmong, type Approval } from './operator/open-approvals.ts'
export { decideAll, mostDecided } from './operator/decisions.ts'
export type {
  Answer,
  Decision,
  DecisionResult,
  DecisionTogether,
  DivergenceSettlement,
  DoubtSettlement,
  MayDecide,
} from './operator/decisions.ts'
export type { RetryOptions, RetryScope } from './operator/retry.ts'
export { isInScope, isWithinScope, mustGoOnPublished, unpublished, type RunScope } from './operator/run-scope.ts'
export type { BatchRefusal, BatchResult } from './batch/batch-agent.ts'
export type { BatchCause, BatchView } from './batch/batch-view.ts'
export type { BatchHandle, BatchListOptions, RuntimeBatches } from './batch/batches.ts'
export {
  batchVerbs,
  mostInBatch,
  statusesOf,
  type BatchFilter,
  type BatchOptions,
  type BatchScope,
  type BatchVerb,
} from './batch/request.ts'
export type { FeedOptions } from './feed/all-runs.ts'
export { hasEnded, type MessagesOptions, type PartsOptions, type ReadOptions } from './feed/run-feed.ts'
export type { RunPart } from './feed/part-origin.ts'
export type { ContentPart, ContentRange } from './feed/run-contents.ts'
export { cursorIn, cursorOf, metadataValue } from './run-query.ts'
export { isDelta, mergeParts, runStatuses, unknownRun } from '@reeve/engine'
export type {
  Causes,
  CloseOptions,
  RunCounter,
  DiscardedWork,
  FailureGroup,
  FeedEvent,
  FiguresFilter,
  FiguresGroup,
  FiguresOfTime,
  LivePart,
  Percentiles,
  Question,
  RetryFrom,
  RunFigures,
  RunFilter,
  RunStatus,
  RunSummary,
  SummaryText,
  Totals,
  TotalsBy,
  TotalsOptions,
  UnderWay,
} from '@reeve/engine'
export { wholeFeed } from './feed/whole-feed.ts'
export { delegationsOf, DiffFold, diffOf, isNotice, pagesOf, planGraph, runView } from '@reeve/journal'
export type {
  ActivationView,
  ApprovalView,
  InterruptView,
  JournalEvent,
  OpenOperation,
  Recorded,
  ForkEdit,
  TrialEdit,
  RunDiff,
  RunDifference,
  RunView,
  Spoken,
  SpokenAction,
  TaskView,
  TeamView,
  ViewStatus,
} from '@reeve/journal'
