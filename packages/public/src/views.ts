/** `reeve/views`: what is read of a run and its journal: views, transcripts, differences, plans, usage. */
export type { FeedOptions, MessagesOptions, PartsOptions, ReadOptions, RunPart, StreamItem } from '@reeve/runtime'
export type { FeedEvent, LivePart, RunFilter, RunStatus, RunSummary } from '@reeve/engine'
export { contentKeys, delegationsOf, diffOf, planGraph, runView, sameContent, spokenOf } from '@reeve/journal'
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
  RecruitRequestView,
  RunDiff,
  RunDifference,
  RunView,
  Spoken,
  SpokenAction,
  TaskView,
  TeamView,
  TopicView,
  ViewStatus,
} from '@reeve/journal'
export { describeOutcome, totalUsage } from '@reeve/core'
export type { UsageRow } from '@reeve/core'
