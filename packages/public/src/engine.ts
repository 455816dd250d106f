/**
 * `reeve/engine`: the port of engines, the governor of models, backups of a store, and what a store of your own is made
 * of. Few applications need it.
 */
export { Cancelled, Governor, governorOf } from '@reeve/engine'
export type {
  AccountLimits,
  Arrival,
  AskOptions,
  Engine,
  FailureCause,
  FeedPage,
  FiguresRow,
  GovernedModel,
  IndexedRun,
  Matcher,
  Orchestration,
  Post,
  PostResult,
  Registry,
  RunEnd,
  SessionValues,
  StartRun,
  StoredProcess,
  UnmovedRun,
  UsageShare,
} from '@reeve/engine'
export { createEngine, type HostOptions } from '@reeve/engine/host'
export { askKey, runStream, valuesHeard, type AccountState } from '@reeve/engine'
export {
  deadlineBody,
  missingCodeEnding,
  queriesOver,
  refusedBy,
  type AgentVersion,
  type Batch,
  type BatchResult,
  type ClaimCandidate,
  type Claimed,
  type ClaimFilter,
  type CommandsHeard,
  type DueQuestion,
  type InboxRow,
  type LogEntry,
  type NewQuestion,
  type NewRow,
  type NewIndexedRun,
  type NewRun,
  type Past,
  type PublishedParts,
  type ReleasedOwners,
  type RowTarget,
  type ScannedQuestion,
  type ScannedRun,
  type Store,
  type StoredEntry,
  type StoredOrigin,
  type StoredRun,
  type StoreIndex,
  type StoreLease,
  type StoreLog,
  type StoreParts,
  type StoreQueries,
  type StoreReader,
  type StoreScan,
  type SummaryRow,
  type Unread,
  type ValueResult,
  type ValueWrite,
} from '@reeve/engine/storage'
export { decode, isEndEvent } from '@reeve/journal'
export { rootActivation, runOf } from '@reeve/core'
export { backupStore, compactStore } from '@reeve/sqlite'
export type {
  ActivationId,
  ApprovalId,
  CapabilityId,
  Clock,
  InterruptId,
  MessageId,
  OpId,
  SessionId,
} from '@reeve/core'
