/** What happened: the event union, its codec and the views folded from it. */
export * from './events.ts'
export * from './facts.ts'
export type * from './team-facts.ts'
export type * from './mail-facts.ts'
export type * from './oversight-facts.ts'
export type * from './fork-events.ts'
export { decode, encode, upcasters, versions, type OldEvent, type Upcaster } from './codec.ts'
export {
  delegationsIn,
  delegationsOf,
  foldDelegated,
  newDelegated,
  type DelegatedFold,
  type DelegatedToolResult,
  type DelegationView,
} from './delegated.ts'
export { foldRun, newRunFold, type RunFold } from './fold.ts'
export { runView, viewOf } from './picture.ts'
export { diffOf, type RunDiff, type RunDifference } from './diff.ts'
export { planGraph } from './plan-graph.ts'
export { newSpoken, speak, spokenOf, type Spoken, type SpokenAction, type SpokenFold } from './spoken.ts'
export type {
  BudgetView,
  MailboxView,
  MailView,
  MemberStatus,
  MemberView,
  Noted,
  PlanView,
  RecruitWishView,
  TaskView,
  TeamView,
  TopicView,
} from './team-views.ts'
export type {
  ActivationView,
  ApprovalView,
  DoubtView,
  FailedAttempt,
  InterruptView,
  MessageView,
  OpenOperation,
  RecruitView,
  RunView,
  ViewStatus,
} from './views.ts'
