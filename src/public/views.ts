/** `reeve/views`: what is read of a run and its journal: views, transcripts, differences, plans, usage. */
export type { FeedOptions, MessagesOptions, PartsOptions, ReadOptions, RunPart, StreamItem } from '../runtime/index.ts'
export type { FeedEvent, LivePart, RunFilter, RunStatus, RunSummary } from '../engine/index.ts'
export { contentKeys, delegationsOf, diffOf, planGraph, runView, sameContent, spokenOf } from '../journal/index.ts'
export type {
  ActivationView,
  ApprovalView,
  BudgetView,
  Caller,
  DelegatedToolResult,
  DelegationView,
  ForkEdit,
  InterruptView,
  JournalEvent,
  MailboxView,
  MailView,
  MemberStatus,
  MemberView,
  MessageView,
  PlanView,
  Recorded,
  RecruitWishView,
  RunDiff,
  RunDifference,
  RunView,
  Spoken,
  SpokenAction,
  TaskView,
  TeamView,
  TopicView,
  ViewStatus,
} from '../journal/index.ts'
export { describeOutcome, totalUsage } from '../core/index.ts'
export type { UsageRow } from '../core/index.ts'
