/** `reeve/engine`: the port of engines, the governor of models, backups of a store. Few applications need it. */
export { Cancelled, Governor, governorOf } from '../engine/index.ts'
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
} from '../engine/index.ts'
export { backupStore, compactStore } from '../engine/embedded/index.ts'
export type {
  ActivationId,
  ApprovalId,
  CapabilityId,
  Clock,
  InterruptId,
  MessageId,
  OpId,
  SessionId,
} from '../core/index.ts'
