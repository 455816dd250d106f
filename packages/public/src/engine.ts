/** `reeve/engine`: the port of engines, the governor of models, backups of a store. Few applications need it. */
export { Cancelled, Governor, governorOf } from '@reeve/engine'
export type {
  AccountLimits,
  Arrival,
  AskOptions,
  Engine,
  GovernedModel,
  Matcher,
  Orchestration,
  Post,
  PostResult,
  Registry,
  SessionValues,
  StartRun,
} from '@reeve/engine'
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
