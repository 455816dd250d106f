/** The composition root: createRuntime, run handles, sessions, decisions from outside. */
export { optionNames as runtimeOptions, type RuntimeOptions } from './options.ts'
export { placeNamed } from '../engine/store-name.ts'
export { createRuntime, type Runtime } from './runtime.ts'
export type { CancelOptions, Run, RunOutcome, RunWaiting } from './handle.ts'
export type { PostFromOutside } from './posting.ts'
export type { RecruitFromOutside, RetireFromOutside } from './staffing.ts'
export type { StopDelegation } from './stopping.ts'
export type { ForkOptions } from './fork.ts'
export type { CompleteByHand, FinishByHand, HandBack, PauseOptions, ResumeOptions, TakenOver, TakeOverOptions } from './takeover.ts'
export type { RunStream, StreamItem } from './stream.ts'
export { startRequest, type StartOptions } from './start.ts'
export { registerAgents, type Agents } from './registry.ts'
export { findHook, type Hooks } from './hooks.ts'
export type { BusySession, ContextHook, RootContext, SessionMemory, SessionShown, SessionQuery, SessionTurn } from './session.ts'
export type { Incident, TrustSetting, TrustView } from './trust.ts'
export type { AuditOptions } from './audit.ts'
export { ed25519Signer, ed25519Verifier, newEd25519Key, verifyAudit } from '../oversight/index.ts'
export type { AuditDocument, AuditEntry, AuditHead, AuditReport, Ed25519Key, Signer, TrustLevel, Verifier } from '../oversight/index.ts'
export type { KeptRevision, RevisionStatus, VersionChoice, VersionChoices } from './versions.ts'
export type { Approval } from './approval.ts'
export type { Answer, Decision, DivergenceSettlement, DoubtSettlement, MayDecide } from './decide.ts'
export { hasEnded, type MessagesOptions, type PartsOptions, type ReadOptions } from './feed.ts'
export type { RunPart } from './placing.ts'
export type { PartsDropped } from './parts.ts'
export { isDelta } from '../engine/index.ts'
export type { LivePart, Question, RunFilter, RunStatus, RunSummary } from '../engine/index.ts'
export { backupStore, compactStore } from '../engine/embedded/index.ts'
export { migrateStore, type Migrated } from '../engine/migration/index.ts'
export { diffOf, isNotice, planGraph } from '../journal/index.ts'
export type {
  ActivationView,
  ApprovalView,
  InterruptView,
  JournalEvent,
  OpenOperation,
  Recorded,
  ForkEdit,
  RunDiff,
  RunDifference,
  RunView,
  Spoken,
  SpokenAction,
  TaskView,
  TeamView,
  ViewStatus,
} from '../journal/index.ts'
