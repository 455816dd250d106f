/** The composition root: createRuntime, run handles, sessions, decisions from outside. */
export { createRuntime, type Runtime, type RuntimeOptions } from './runtime.ts'
export type { PauseOptions, Run, RunOutcome, RunWaiting } from './handle.ts'
export type { PostFromOutside } from './posting.ts'
export type { RecruitFromOutside, RetireFromOutside } from './staffing.ts'
export type { StopDelegation } from './stopping.ts'
export type { RunStream, StreamItem } from './stream.ts'
export { startRequest, type StartOptions } from './start.ts'
export { registerAgents } from './registry.ts'
export type { BusySession, SessionMemory, SessionQuery, SessionTurn } from './session.ts'
export type { KeptRevision, RevisionStatus, VersionChoice, VersionChoices } from './versions.ts'
export type { Approval } from './approval.ts'
export type { Answer, Decision, DivergenceSettlement, DoubtSettlement } from './decide.ts'
export { hasEnded, type MessagesOptions, type PartsOptions, type ReadOptions } from './feed.ts'
export type { RunPart } from './placing.ts'
export { isDelta, type PartsDropped } from './parts.ts'
export type { LivePart, Question, RunFilter, RunStatus, RunSummary } from '../engine/index.ts'
export { planGraph } from '../journal/index.ts'
export type {
  ActivationView,
  ApprovalView,
  InterruptView,
  JournalEvent,
  OpenOperation,
  Recorded,
  RunView,
  Spoken,
  SpokenAction,
  TaskView,
  TeamView,
  ViewStatus,
} from '../journal/index.ts'
