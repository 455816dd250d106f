/** What happened: the event union, its codec and the views folded from it. */
export * from './events.ts'
export * from './facts.ts'
export type * from './team-facts.ts'
export type * from './mail-facts.ts'
export type * from './oversight-facts.ts'
export type * from './earlier-events.ts'
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
export { childRunsIn, woven } from './woven.ts'
export { runView, viewOf } from './picture.ts'
export { namesLeaderLimit } from './older.ts'
export { diffOf, type RunDiff, type RunDifference } from './diff.ts'
export { contentKeys, questionContent, sameContent, workerContent, writtenKey } from './content-key.ts'
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
export {
  approvalAsked,
  type ActivationView,
  type ApprovalAsked,
  type ApprovalView,
  type DoubtView,
  type FailedAttempt,
  type InterruptView,
  type MessageView,
  type OpenOperation,
  type RecruitView,
  type RunView,
  type ViewStatus,
} from './views.ts'
export {
  answerShape,
  callerShape,
  copiedShape,
  earlierShape,
  editShape,
  eventShape,
  mailShape,
  questionShape,
  resultShape,
  valueShape,
  valuesShape,
  writtenPlan,
} from './redaction.ts'
